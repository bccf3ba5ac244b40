"""A dead backend is left alone, tried again ever more seldom, and found well again."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from models.backoff import Backoff
from models.breaker import TOGETHER_SEC, Attempt, Breaker
from models.errors import BackendError, Crowded, Hung, OutOfOrder, UnfitInput
from models.guarded import PATIENCE, Patience, breakers, guarded
from models.in_line import in_line
from models.protocols import Models
from models.style import PLAIN
from models.types import EAR_RATE, FRAME, AudioChunk, Samples, Turn
from models.worker import Worker
from server.ear import Ear
from server.probing import Prober
from server.turns import TurnOptions
from tests.serving import standins

SURE = Backoff(first_sec=1.0, longest_sec=8.0, dice=lambda: 0.5)
DEAD = BackendError("responder", "It is dead.")
SOUND = AudioChunk(np.zeros(EAR_RATE, np.float32))
BRIEF = {role: Patience(0.05, 0.05) for role in PATIENCE}


@dataclass
class Now:
    """A clock that is moved by hand."""

    time: float = 0.0

    def __call__(self) -> float:
        return self.time

    def passes(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def breaker(now: Now) -> Breaker:
    return Breaker(3, SURE, now)


def state(breaker: Breaker) -> str:
    return breaker.state  # by a call: it changes, which a type checker cannot know


def admitted(breaker: Breaker) -> Attempt:
    attempt = breaker.attempt()
    assert attempt is not None
    return attempt


def fail(breaker: Breaker, now: Now, times: int = 1) -> None:
    for _ in range(times):
        now.passes(TOGETHER_SEC)
        admitted(breaker).failed()


# ---- the breaker


def test_it_opens_after_failures_in_a_row_and_not_before(breaker: Breaker, now: Now) -> None:
    fail(breaker, now, 2)
    admitted(breaker).succeeded()
    fail(breaker, now, 2)
    assert state(breaker) == "closed"
    fail(breaker, now)
    assert state(breaker) == "open"
    assert breaker.attempt() is None


def test_what_fails_together_counts_once(breaker: Breaker) -> None:
    for attempt in [admitted(breaker) for _ in range(20)]:
        attempt.failed()
    assert (state(breaker), breaker.failures) == ("closed", 1)


def test_one_hang_is_enough(breaker: Breaker) -> None:
    admitted(breaker).failed(hung=True)
    assert state(breaker) == "open" and breaker.hung


def test_a_hang_while_others_are_answered_is_one_failure(breaker: Breaker, now: Now) -> None:
    hangs = admitted(breaker)
    now.passes(1)
    admitted(breaker).succeeded()
    now.passes(1)
    hangs.failed(hung=True)
    assert (state(breaker), breaker.failures) == ("closed", 1)


def test_one_at_a_time_may_try_and_ever_more_seldom(breaker: Breaker, now: Now) -> None:
    fail(breaker, now, 3)
    for wait in (1.0, 2.0, 4.0, 8.0, 8.0):
        assert breaker.due_sec == pytest.approx(wait)
        now.passes(wait - 0.01)
        assert breaker.attempt() is None
        now.passes(0.02)
        trial = admitted(breaker)
        assert state(breaker) == "half_open"
        assert breaker.attempt() is None and breaker.due_sec is None
        trial.failed()
        assert state(breaker) == "open"
    now.passes(9)
    admitted(breaker).succeeded()
    assert state(breaker) == "closed"
    fail(breaker, now, 2)
    assert state(breaker) == "closed"  # what was before is forgotten


def test_a_trial_that_is_given_up_leaves_it_to_the_next(breaker: Breaker, now: Now) -> None:
    fail(breaker, now, 3)
    now.passes(1)
    admitted(breaker).left()
    admitted(breaker).left(alive=True)
    assert state(breaker) == "closed"


def test_who_asked_before_the_trouble_neither_closes_nor_prolongs_it(
    breaker: Breaker, now: Now
) -> None:
    good, bad = admitted(breaker), admitted(breaker)
    fail(breaker, now, 3)
    good.succeeded()
    bad.failed(hung=True)
    assert state(breaker) == "open" and breaker.due_sec == pytest.approx(1.0)
    assert not breaker.hung


@pytest.mark.parametrize(("dice", "low", "high"), [(0.0, 0.75, 22.5), (0.999, 1.25, 37.5)])
def test_waiting_grows_up_to_a_limit_and_differs(dice: float, low: float, high: float) -> None:
    backoff = Backoff(1.0, 30.0, 0.5, lambda: dice)
    assert backoff.after(1) == pytest.approx(low, rel=0.01)
    assert backoff.after(10_000) == pytest.approx(high, rel=0.01)


# ---- every role behind one


class Told:
    """A Responder, Transcriber and Speaker that does what it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.hangs_at = -1  # the piece that never comes
        self.asked = 0
        self.open = 0

    async def transcribe(self, audio: AudioChunk) -> str:
        self.asked += 1
        if self.error:
            raise self.error
        if self.hangs_at == 0:
            await asyncio.Event().wait()
        return "yes"

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        self.asked += 1
        self.open += 1
        try:
            for piece in range(4):
                if piece == self.hangs_at:
                    await asyncio.Event().wait()
                if self.error:
                    raise self.error
                yield f"w{piece} "
        finally:
            self.open -= 1


def house(now: Now, **roles: Any) -> tuple[Models, dict[str, Breaker]]:
    kept = {role: Breaker(3, SURE, now) for role in breakers()}
    return guarded(standins(**roles), kept, BRIEF), kept


async def reply(models: Models) -> str:
    async with aclosing(models.responder.respond([Turn("user", "Hello.")], 9)) as pieces:
        return "".join([piece async for piece in pieces])


@pytest.mark.parametrize("piece", [0, 2])
async def test_a_reply_that_hangs_ends_as_a_failure_and_is_closed(now: Now, piece: int) -> None:
    told = Told()
    told.hangs_at = piece
    models, kept = house(now, responder=told)
    with pytest.raises(Hung, match="reply model did not answer within 0.05 seconds") as hung:
        await reply(models)
    assert hung.value.role == "responder" and told.open == 0
    assert state(kept["responder"]) == "open"
    with pytest.raises(OutOfOrder):
        await reply(models)
    assert told.asked == 1  # nobody waited for it again


async def test_only_the_time_the_model_takes_counts(now: Now) -> None:
    models, _ = house(now, responder=Told())
    async with aclosing(models.responder.respond([Turn("user", "Hello.")], 9)) as pieces:
        async for _ in pieces:
            await asyncio.sleep(0.06)  # longer than its reader may ever wait for it


async def test_an_input_at_fault_breaks_nothing(now: Now) -> None:
    told = Told(UnfitInput("responder", "It is too long."))
    models, kept = house(now, responder=told)
    for _ in range(10):
        now.passes(1)
        with pytest.raises(UnfitInput):
            await reply(models)
    assert state(kept["responder"]) == "closed"


async def test_a_line_of_our_own_that_is_too_long_breaks_nothing(now: Now) -> None:
    told = Told(Crowded("responder", "It is busy."))
    models, kept = house(now, responder=told)
    for _ in range(10):
        now.passes(1)
        with pytest.raises(Crowded):
            await reply(models)
    assert (state(kept["responder"]), kept["responder"].failures) == ("closed", 0)


class Queued(Told):
    """Has whoever comes wait in line first, for longer than anybody has patience."""

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        with in_line():
            await asyncio.sleep(2 * BRIEF["responder"].first)
        async with aclosing(super().respond(dialogue, max_tokens)) as pieces:
            async for piece in pieces:
                yield piece


async def test_patience_begins_where_the_line_ends_and_then_it_ends(now: Now) -> None:
    queued = Queued()
    models, kept = house(now, responder=queued)
    assert await reply(models) == "w0 w1 w2 w3 "
    queued.hangs_at = 0
    with pytest.raises(Hung, match="within 0.05 seconds"):
        await reply(models)
    assert state(kept["responder"]) == "open" and queued.open == 0


async def test_who_waits_in_line_for_somebody_who_has_left_disturbs_nobody(now: Now) -> None:
    """A task that reads ahead may be told to stop after whoever began it has had enough."""
    left = asyncio.Event()

    class ReadsAhead(Told):
        async def transcribe(self, audio: AudioChunk) -> str:
            self.reading = asyncio.create_task(self.stand())
            await asyncio.sleep(0)
            raise DEAD

        async def stand(self) -> None:
            with in_line():
                await left.wait()

    reads = ReadsAhead()
    models, _ = house(now, transcriber=reads)
    with pytest.raises(BackendError, match="It is dead"):
        await models.transcriber.transcribe(SOUND)
    left.set()
    await reads.reading


async def test_who_leaves_early_says_nothing_about_the_model(now: Now) -> None:
    told = Told()
    models, kept = house(now, responder=told)
    for _ in range(5):
        now.passes(1)
        async with aclosing(models.responder.respond([Turn("user", "Hello.")], 9)) as pieces:
            await anext(pieces)
    assert state(kept["responder"]) == "closed" and told.open == 0


async def test_a_failure_is_counted_for_the_role_that_failed(now: Now) -> None:
    models, kept = house(now, responder=Told(DEAD))
    plan = await models.thinker.think([Turn("user", "Hello.")], models.responder)
    for _ in range(3):
        now.passes(1)
        with pytest.raises(BackendError):
            async with aclosing(
                models.thinker.answer(plan, "", [Turn("user", "Hello.")], models.responder, 9)
            ) as pieces:
                await anext(pieces)
    assert state(kept["responder"]) == "open" and state(kept["thinker"]) == "closed"


async def test_a_bug_in_a_model_counts_and_comes_through_as_it_is(now: Now) -> None:
    models, kept = house(now, transcriber=Told(ZeroDivisionError("a bug")))
    for _ in range(3):
        now.passes(1)
        with pytest.raises(ZeroDivisionError):
            await models.transcriber.transcribe(SOUND)
    with pytest.raises(OutOfOrder):
        await models.transcriber.transcribe(SOUND)
    assert state(kept["transcriber"]) == "open"


async def test_a_model_stuck_in_its_thread_is_given_up_and_its_worker_still_closes(
    now: Now, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.worker.CLOSE_SEC", 0.01)
    worker, free = Worker("stuck"), threading.Event()

    class Stuck:
        async def transcribe(self, audio: AudioChunk) -> str:
            return await worker.run(lambda: str(free.wait(20)))

    models, kept = house(now, transcriber=Stuck())
    with pytest.raises(Hung):
        await models.transcriber.transcribe(SOUND)
    assert kept["transcriber"].hung
    worker.close()
    free.set()


async def test_a_guarded_voice_detector_is_still_asked_together_with_others(now: Now) -> None:
    class Together:
        """A VoiceDetector whose voices can be joined."""

        def open(self) -> "Together":
            return self

        def __call__(self, frame: Samples) -> float:
            return 0.25

        def soon(self, frame: Samples) -> "asyncio.Future[float]":
            answer: asyncio.Future[float] = asyncio.get_running_loop().create_future()
            if frame.any():
                answer.set_result(0.75)
            else:
                answer.set_exception(BackendError("voice_detector", "It heard nothing."))
            return answer

    models, breakers = house(now, voice_detector=Together())
    joined = Ear(models.voice_detector.open(), TurnOptions()).joined
    assert joined is not None
    assert await joined.soon(np.ones(FRAME, np.float32)) == 0.75
    with pytest.raises(BackendError):
        await joined.soon(np.zeros(FRAME, np.float32))
    await asyncio.sleep(0)  # whoever waits is told before the breaker is
    assert breakers["voice_detector"].failures == 1


async def test_all_roles_work_behind_their_guards(now: Now) -> None:
    models, kept = house(now)
    voice = models.voice_detector.open()
    assert voice(SOUND.samples[:512]) == 0.0
    assert await models.turn_judge.finished(SOUND) == 1.0
    assert await models.transcriber.transcribe(SOUND) == ""
    assert (await models.perceiver.attend().perceive(SOUND)).emotion == {"neutral": 1.0}
    assert await reply(models) == "I heard you, you said Hello."
    async with aclosing(models.speaker.speak("Hello there.", PLAIN)) as chunks:
        assert [chunk.text async for chunk in chunks] == ["Hello ", "there."]
    assert {state(breaker) for breaker in kept.values()} == {"closed"}


async def test_what_is_out_of_order_is_tried_until_it_works_without_anybody_asking(
    now: Now,
) -> None:
    told = Told(DEAD)
    models, kept = house(now, responder=told)
    for _ in range(3):
        now.passes(1)
        with pytest.raises(BackendError):
            await reply(models)
    prober = asyncio.create_task(Prober(models, kept).run())
    try:
        async with asyncio.timeout(20):
            now.passes(2)
            while told.asked < 4:  # noqa: ASYNC110 - nobody is told
                await asyncio.sleep(0.01)
            assert state(kept["responder"]) == "open"
            told.error = None
            now.passes(4)
            while state(kept["responder"]) != "closed":  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    finally:
        prober.cancel()
        await asyncio.gather(prober, return_exceptions=True)
    assert await reply(models)
