"""The benchmark's figures of perception, with models whose cost is known."""

import asyncio

import numpy as np
import pytest

from models.perceiver_off import unknown
from models.percept import Percept
from models.protocols import Attention
from models.types import EAR_RATE, AudioChunk
from server.bench import perception
from server.bench.figures import judged
from server.bench.perception import Followed, Spent, figures, follow, speech, stretches, together

SPENT = 0.001  # seconds a percept takes, and half of that for every second that is new to it


class Clockwork:
    """A transcriber and a perceiver who take a known time, alone or with half the work shared."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[tuple[float, str]] = []  # seconds of sound, and words
        self.opened = 0
        self.within = 0
        self.most_within = 0

    def attend(self) -> Attention:
        self.opened += 1
        return Listening(self)

    async def transcribe(self, audio: AudioChunk) -> str:
        self.now += 0.01 * audio.duration
        return "some words"


class Listening:
    def __init__(self, clockwork: Clockwork) -> None:
        self._clockwork = clockwork
        self._heard = 0.0

    async def glance(self, audio: AudioChunk) -> Percept:
        return await self.perceive(audio)

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept:
        clockwork = self._clockwork
        clockwork.asked.append((audio.duration, words))
        clockwork.within += 1
        clockwork.most_within = max(clockwork.most_within, clockwork.within)
        await asyncio.sleep(0)
        share = 0.5 if clockwork.within > 1 else 1.0
        clockwork.now += share * SPENT * (1 + 0.5 * (audio.duration - self._heard))
        self._heard = audio.duration
        await asyncio.sleep(0)
        clockwork.within -= 1
        return unknown(audio.duration)


@pytest.fixture
def clockwork(monkeypatch: pytest.MonkeyPatch) -> Clockwork:
    made = Clockwork()
    for clock in ("process_time", "perf_counter"):
        monkeypatch.setattr(perception, clock, lambda: made.now)
    return made


def seconds_of(some: list[np.ndarray[tuple[int], np.dtype[np.float32]]]) -> list[float]:
    return [len(stretch) / EAR_RATE for stretch in some]


def test_stretches_follow_each_other_and_are_all_of_one_length() -> None:
    spoken = np.arange(10 * EAR_RATE, dtype=np.float32)
    some = stretches(spoken, 3)
    assert seconds_of(some) == [3.0] * 3
    assert [stretch[0] for stretch in some] == [0, 3 * EAR_RATE, 6 * EAR_RATE]
    assert len(stretches(spoken, 3, 2)) == 2
    assert seconds_of(stretches(spoken, 10)) == [10.0]
    assert stretches(spoken, 11) == []


def test_there_is_speech_for_every_length_and_for_all_who_speak_at_once() -> None:
    spoken = speech()
    assert len(stretches(spoken, 3)) >= perception.TOGETHER
    assert len(stretches(spoken, 30)) >= 2
    assert 0.01 < np.sqrt(np.mean(spoken**2)) < 0.5


async def test_a_turn_is_followed_in_one_go_and_its_end_is_timed_apart(
    clockwork: Clockwork,
) -> None:
    turn = await follow(clockwork, np.zeros(2 * EAR_RATE, np.float32), "its words")
    assert clockwork.opened == 1
    assert clockwork.asked == [(0.5, ""), (1.0, ""), (1.5, ""), (2.0, ""), (2.0, "its words")]
    assert turn.running.cpu == pytest.approx(3 * SPENT * 1.25)
    assert turn.voice.wall == pytest.approx(SPENT * 1.25)
    assert turn.joined.wall == pytest.approx(SPENT)


def test_the_final_percept_is_late_by_voice_and_words_together() -> None:
    turns = [Followed(Spent(0.2, 0.5), Spent(0.01, 0.02), Spent(0.005, late)) for late in (0, 0.01)]
    found = figures(turns)
    assert found["final_ms"] == {"p50": 25.0, "p95": 29.5, "n": 2}
    assert found["final_cpu_ms"]["p50"] == 15.0
    assert found["running_cpu_sec_per_sec"] == 0.02
    assert figures([])["running_cpu_sec_per_sec"] is None


async def test_many_are_heard_in_the_same_moment_and_what_that_saves_is_told(
    clockwork: Clockwork,
) -> None:
    some = [np.zeros(2 * EAR_RATE, np.float32)] * 4
    found = await together(clockwork, some)
    assert clockwork.most_within == 4
    assert clockwork.opened == 2 * 4 * perception.ROUNDS
    assert found["conversations"] == 4
    assert found["alone_cpu_ms"] == pytest.approx(2e3 * SPENT)
    assert found["batched_over_alone"] == pytest.approx(0.5)


async def test_the_section_sets_perception_beside_the_words_and_meets_its_targets(
    clockwork: Clockwork,
) -> None:
    found = await perception.measure(clockwork, clockwork, 2, lambda what: None)
    assert list(found["whole"]) == ["3_sec", "10_sec", "30_sec"]
    whole = found["whole"]["10_sec"]
    assert whole["n"] == 2
    assert whole["transcriber_cpu_sec_per_sec"] == 0.01
    assert whole["cpu_sec_per_sec"] == pytest.approx(SPENT * (1 + 0.5 * 10) / 10)
    assert whole["over_transcriber"] == pytest.approx(0.06)
    assert found["turn"]["final_ms"]["n"] == 2
    assert found["together"]["conversations"] == perception.TOGETHER
    met = [each["met"] for each in judged({"perception": found})]
    assert [m for m in met if m is not None] == [True, True]
