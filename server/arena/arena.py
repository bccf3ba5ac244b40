"""A round from the spoken turn to its two answers, and from the vote to what is kept of it."""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from secrets import SystemRandom
from typing import Literal, Protocol, TypeVar

from models.audio import wav
from models.protocols import Models, Perceiver
from models.types import WIRE_RATE, Samples
from server import ids
from server.arena.answering import Answer, AnswerFailed, NoAnswer, answer
from server.arena.archive import Archive
from server.arena.ballots import Ballot, Entrant, Side, Source, Standings, Verdict, counted, met
from server.arena.children import may_be_child
from server.arena.keepsakes import Keepsake
from server.arena.listening import matched
from server.arena.pairing import paired
from server.arena.rounds import Round, Waiting
from server.arena.stable import Stable, Unavailable
from server.arena.systems import Contestant
from server.client import voice_span
from server.consent import Consent
from server.http_refusals import Refusal
from server.private_log import where
from server.seats import Seats

log = logging.getLogger(__name__)

T = TypeVar("T")
QUEUE = 4  # rounds that may wait for the one that is being answered
SIDES: tuple[Side, Side] = ("a", "b")

_chance = SystemRandom()


class House(Protocol):
    """A round takes one of its seats while it is answered."""

    @property
    def seats(self) -> Seats: ...

    @property
    def full(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Terms:
    """Whose turn it is, and what may be kept of it."""

    consent: Consent
    source: Source = "voice"
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    stage: Literal["waiting", "preparing", "answering"]
    answered: int = 0


class Arena:
    """One round is answered at a time: two at once would slow each other down."""

    def __init__(
        self,
        systems: Sequence[Contestant],
        stable: Stable,
        archive: Archive,
        house: House,
        software: str,
        perceiver: Perceiver,
        children: bool = True,
        keeps: bool = True,
    ) -> None:
        self.systems = {each.name: each for each in systems}
        self.entrants = {each.name: Entrant(name=each.name, label=each.label, mark=each.mark)
                         for each in systems}  # fmt: skip
        self.stable = stable
        self.archive = archive
        self.waiting = Waiting()
        self._house = house
        self._software = software
        self._perceiver = perceiver
        self._children = children  # False: nothing is kept of a turn in which a child is heard
        self._keeps = keeps
        self._turn = asyncio.Lock()
        self._queued: list[str | None] = []  # where they come from
        self._counting = threading.Lock()
        self._counted: tuple[frozenset[str], Standings] | None = None

    async def play(
        self, speech: Samples, terms: Terms, run: "Run"
    ) -> AsyncGenerator[Progress | Round, None]:
        """How far it is, and at last the round, for one who has a place in the queue.

        `run` has blocking calls made elsewhere.
        """
        if self._turn.locked():
            yield Progress("waiting")
        async with self._turn:
            with self._seat():
                yield Progress("preparing")
                voice = await run(partial(voice_span, speech))
                systems = await self._chosen(await run(self.archive.ballots))
                yield Progress("answering")
                answers: dict[Side, Answer] = {}
                for side in _chance.sample(SIDES, 2):  # or the first would be A every time
                    answers[side] = await self._answer(*systems[side], speech, voice[1])
                    if len(answers) < len(SIDES):
                        yield Progress("answering", 1)
                consent = await self._keepable(terms.consent, speech[slice(*voice)], answers)
        made = await run(
            partial(self._made, systems, answers, speech, replace(terms, consent=consent))
        )
        self.waiting.add(made)
        yield made

    async def vote(self, waiting: Round, verdict: Verdict, comment: str, run: "Run") -> Ballot:
        """Once and for all; with it, what may be kept of the round is kept."""
        if waiting.heard != set(SIDES):
            raise Refusal(409, "Listen to both answers before you vote.", "not_heard")
        if waiting.deleted:
            raise unknown()
        if waiting.writing:
            raise already_voted()
        if comment and not waiting.consent.personal:
            message = "Nothing may be kept of this round, and so no comment, either."
            raise Refusal(409, message, "words_not_allowed", "comment")
        ballot = self._ballot(waiting, verdict)
        keepsake = None
        if waiting.consent.personal:
            keepsake = Keepsake(
                waiting.consent, waiting.turn, waiting.answers, comment, waiting.session_id
            )
        # What has begun is written to its end, also if nobody waits for it any more.
        waiting.writing = asyncio.create_task(self._write(waiting, ballot, keepsake, run))
        await asyncio.shield(waiting.writing)
        if waiting.deleted:
            raise unknown()
        return ballot

    async def delete(self, waiting: Round | None, ballot: Ballot | None, run: "Run") -> None:
        """The round and all that was kept of it, also what is just being written."""
        if waiting:
            waiting.deleted = True
            self.waiting.drop(waiting.id)
            if waiting.writing:
                await asyncio.wait([waiting.writing])
                ballot = await run(partial(self.archive.find, waiting.id))
        if ballot:
            await run(partial(self.archive.remove, ballot))

    def standings(self, ballots: Sequence[Ballot]) -> Standings:
        """Blocking; counted once for the same votes, however many ask."""
        votes = frozenset(each.id for each in ballots)
        with self._counting:
            if self._counted is None or self._counted[0] != votes:
                self._counted = votes, counted(list(self.entrants.values()), ballots)
            return self._counted[1]

    @contextmanager
    def place(self, address: str | None) -> Generator[None, None, None]:
        """In the queue, until the round is made; one for each address, where there is one."""
        if self._house.full:
            raise full()
        if address is not None and address in self._queued:
            message = "Your last round is still being answered; please try again in a moment."
            raise _later(message, "round_unfinished")
        if len(self._queued) > QUEUE:
            message = "Others are waiting for their answers; please try again in a minute."
            raise _later(message, "rate_limit_exceeded")
        self._queued.append(address)
        try:
            yield
        finally:
            self._queued.remove(address)

    @contextmanager
    def _seat(self) -> Generator[None, None, None]:
        seat = ids.new("round")
        if not self._house.seats.take(seat):
            raise full()
        try:
            yield
        finally:
            self._house.seats.give_back(seat)

    async def _chosen(self, ballots: Sequence[Ballot]) -> dict[Side, tuple[Contestant, Models]]:
        """Two that can answer and met least often."""
        often = met(ballots, list(self.entrants.values())) + self.waiting.pairs
        while True:
            there = [name for name, each in self.systems.items() if self.stable.available(each)]
            if len(there) < len(SIDES):
                message = "Fewer than two systems can answer just now; please try again later."
                raise Refusal(503, message, "arena_unavailable", kind="server_error")
            names = paired(there, often)
            both = [self.systems[name] for name in names]
            try:
                models = [await self.stable.models(each) for each in both]
            except Unavailable:
                continue  # it is no longer among those who are there
            return dict(zip(SIDES, zip(both, models, strict=True), strict=True))

    async def _answer(
        self, system: Contestant, models: Models, speech: Samples, spoken: int
    ) -> Answer:
        try:
            return await answer(system, models, speech, spoken)
        except NoAnswer:
            message = "No words could be made out. Please speak a little longer, or closer."
            raise Refusal(400, message, "no_words") from None
        except AnswerFailed as error:
            log.error("the arena's '%s' could not answer: %s", system.name, where(error))
            self.stable.failed(system)
            message = "One of the two could not answer; please try again."
            raise Refusal(503, message, "model_error", kind="server_error") from error

    async def _keepable(
        self, wanted: Consent, voice: Samples, answers: dict[Side, Answer]
    ) -> Consent:
        """What may be kept; where no child may be, a turn that could be one's is not."""
        if not self._keeps or not wanted.personal:
            return Consent()
        if self._children:
            return wanted
        heard = [each.percept for each in answers.values() if each.percept]
        return Consent() if await may_be_child(self._perceiver, voice, heard) else wanted

    async def _write(
        self, waiting: Round, ballot: Ballot, keepsake: Keepsake | None, run: "Run"
    ) -> Ballot:
        try:
            await run(partial(self.archive.add, ballot, keepsake))
            if waiting.deleted:
                await run(partial(self.archive.remove, ballot))
        except BaseException:
            waiting.writing = None
            raise
        self.waiting.drop(waiting.id)
        return ballot

    def _made(
        self,
        systems: dict[Side, tuple[Contestant, Models]],
        answers: dict[Side, Answer],
        speech: Samples,
        terms: Terms,
    ) -> Round:
        """Blocking: the sound is worked on."""
        sounds = matched(answers["a"].audio, answers["b"].audio)
        return Round(
            entrants={side: self.entrants[each.name] for side, (each, _) in systems.items()},
            answers={side: answers[side] for side in SIDES},  # in no telling order
            sounds={side: wav(each, WIRE_RATE) for side, each in zip(SIDES, sounds, strict=True)},
            consent=terms.consent,
            turn=speech if terms.consent.audio else None,
            source=terms.source,
            session_id=terms.session_id,
            begun=self.waiting.now(),
        )

    def _ballot(self, waiting: Round, verdict: Verdict) -> Ballot:
        return Ballot(
            id=waiting.id,
            wall=datetime.now(UTC),
            software=self._software,
            a=waiting.entrants["a"],
            b=waiting.entrants["b"],
            vote=verdict,
            source=waiting.source,
            latency_ms={side: each.latency_ms for side, each in waiting.answers.items()},
            seconds=waiting.seconds,
            secret_sha256=waiting.secret_sha256,
        )


class Run(Protocol):
    """Has a blocking call made in another thread."""

    def __call__(self, call: Callable[[], T]) -> Awaitable[T]: ...


def full() -> Refusal:
    message = "All seats are taken; please try again soon."
    headers = {"Retry-After": "30"}
    return Refusal(503, message, "session_limit_reached", kind="server_error", headers=headers)


def already_voted() -> Refusal:
    return Refusal(409, "There is a vote on this round already.", "already_voted")


def unknown() -> Refusal:
    message = "There is no such round, or this token does not open it."
    return Refusal(404, message, "round_not_found")


def _later(message: str, code: str) -> Refusal:
    headers = {"Retry-After": "30"}
    return Refusal(429, message, code, kind="rate_limit_error", headers=headers)
