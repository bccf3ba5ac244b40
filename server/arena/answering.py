"""One spoken turn put to one system, by the very code that holds conversations."""

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from models.audio import decode_pcm16, encode_pcm16
from models.protocols import Models
from models.types import WIRE_RATE, Samples
from server import ids
from server.arena.systems import Contestant
from server.client import HEADER
from server.clock import SampleClock
from server.commands import handle
from server.link import Wake
from server.recording.paper import Paper
from server.server_events import Event
from server.session import BLOCK, Session
from server.session_config import UNNAMED, Attune, SessionConfig
from server.sessions.exchanges import FIRST_SENT, TRANSCRIBED

LIVE_SEC = 1.0  # of the speech that is heard at the pace it was spoken; what is before, at once
PATIENCE_SEC = 5.0  # after the speech, for the first sound of an answer, in real time
QUIET_SEC = 2.5  # with nothing told, and nothing more comes
LONGEST_SEC = 120.0  # of an answer
MOST_SEC = 90.0  # on the wall, for all of it


class NoAnswer(Exception):
    """There was nothing to answer: no voice, or no words in it."""


class AnswerFailed(Exception):
    """The system broke off, or took too long."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one system said to it, as it came."""

    audio: Samples  # at WIRE_RATE
    text: str
    said: str  # the user's words, as this system understood them
    plan: dict[str, Any] | None
    percept: dict[str, Any] | None
    latency_ms: float | None  # from the end of speech to the first sound
    stages_ms: dict[str, float] = field(default_factory=dict)


class TurnClock(SampleClock):
    """Sound is the clock. While it is `live`, sound comes at its own pace and waits for nobody."""

    live = False

    async def settle(self) -> None:
        if not self.live:
            await super().settle()


@dataclass(slots=True)
class _Response:
    sequence: int
    begun: int  # samples of the speech, and of the silence after it, that had been said
    pieces: list[Samples] = field(default_factory=list)
    text: str = ""
    status: str = ""


class Speech:
    """A Link with one person at its end, who says one thing and then listens.

    The last second is said in real time, until the answer is heard: so its latency is that of a
    conversation. The rest goes as fast as the models do.
    """

    def __init__(self, speech: Samples, spoken: int, clock: TurnClock) -> None:
        self.events: list[Event] = []
        self.responses: dict[str, _Response] = {}
        self._speech = speech
        self._spoken = spoken  # samples, to the end of the voice
        self._clock = clock
        self._said = 0  # samples
        self._quiet_since = 0
        self._answered = False  # something of the answer has been heard
        self._woken = asyncio.Event()

    async def messages(self) -> AsyncGenerator[str | bytes | Wake, None]:
        live_from = self._spoken - round(LIVE_SEC * WIRE_RATE)
        live_until = self._spoken + round(PATIENCE_SEC * WIRE_RATE)
        due = 0.0
        while not self._over():
            live = live_from <= self._said < live_until and not self._answered
            if live != self._clock.live:
                due = time.monotonic()
                self._quiet_since = self._said
            self._clock.live = live
            if live:
                due += BLOCK / WIRE_RATE
                while (left := due - time.monotonic()) > 0:
                    if await self._woken_within(left):
                        yield Wake.NOTE
            yield self._next()

    def wake(self, why: Wake = Wake.NOTE) -> None:
        self._woken.set()

    async def tell(self, event: Event) -> None:
        self.events.append(event)
        self._quiet_since = self._said
        match event["type"]:
            case "response.created":
                told = event["response"]
                sequence = told["attune"]["sequence"]
                self.responses[told["id"]] = _Response(sequence, self._said)
            case "response.output_audio_transcript.done":
                self.responses[event["response_id"]].text = event["transcript"]
            case "response.done":
                self.responses[event["response"]["id"]].status = event["response"]["status"]

    async def play(self, frame: bytes) -> None:
        sequence = int.from_bytes(frame[:4], "little")
        for response in self.responses.values():
            if response.sequence == sequence:
                response.pieces.append(decode_pcm16(frame[HEADER:]))
        self._quiet_since = self._said
        self._answered = self._answered or self._said >= self._spoken

    async def _woken_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True

    def _next(self) -> bytes:
        piece = np.zeros(BLOCK, np.float32)
        part = self._speech[self._said : self._said + BLOCK]
        piece[: len(part)] = part
        self._said += BLOCK
        return encode_pcm16(piece)

    def _over(self) -> bool:
        if self._said < self._spoken:
            return False
        if self._said > self._spoken + LONGEST_SEC * WIRE_RATE:
            return True
        if any(not response.status for response in self.responses.values()):
            return False
        last = next(reversed(self.responses.values()), None)
        if last and last.status != "cancelled" and last.begun >= self._spoken:
            return True
        # While it is live nobody waits for the models: that they are quiet means nothing.
        quiet = self._said - max(self._quiet_since, self._spoken)
        return not self._clock.live and quiet > QUIET_SEC * WIRE_RATE

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["type"] == kind]


async def answer(system: Contestant, models: Models, speech: Samples, spoken: int) -> Answer:
    """Say it to the system as a person would, and take down the answer. Nothing is recorded.

    `spoken`: the sample at which the voice ends.
    """
    clock = TurnClock()
    line = Speech(speech, spoken, clock)
    session_id = ids.new("sess")
    config = SessionConfig(
        id=session_id,
        model=UNNAMED,
        instructions=system.instructions,
        attune=Attune(events=True, binary=True, perception=system.perception),
    )
    session = Session(line, models, clock, config, _no_paper(session_id))
    try:
        async with asyncio.timeout(MOST_SEC):
            await session.run(handle)
    except* Exception as errors:
        raise AnswerFailed(f"{system.name} broke off") from errors
    return await asyncio.to_thread(_taken_down, line)


def _taken_down(line: Speech) -> Answer:
    given = [(key, each) for key, each in line.responses.items() if each.status != "cancelled"]
    if not given:
        raise NoAnswer
    response_id, last = given[-1]
    if last.status == "failed" or not last.pieces:
        raise AnswerFailed(f"the reply was {last.status or 'too long'}")
    styles = [
        each["plan"] for each in line.of("attune.style") if each["response_id"] == response_id
    ]
    stages = [
        each["stages_ms"] for each in line.of("attune.timing") if each["response_id"] == response_id
    ]
    percepts = [each["percept"] for each in line.of("attune.percept") if each["final"]]
    return Answer(
        audio=np.concatenate(last.pieces),
        text=last.text.strip(),
        said=" ".join(each["transcript"] for each in line.of(TRANSCRIBED)).strip(),
        plan=styles[-1] if styles else None,
        percept=percepts[-1] if percepts else None,
        latency_ms=stages[-1].get(FIRST_SENT) if stages else None,
        stages_ms=stages[-1] if stages else {},
    )


def _no_paper(session_id: str) -> Paper:
    return Paper(
        session_id=session_id,
        secret="",
        started=datetime.now(UTC),
        software="",
        profile="",
        models={},
        user_agent=None,
        sheets=None,
        pseudonym=lambda _: None,
        loop=asyncio.get_running_loop(),
    )
