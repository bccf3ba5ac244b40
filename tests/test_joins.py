"""Where clauses meet: no click, no gap, no step, beside the same reply spoken in one go."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

import numpy as np
import pytest

from models.clauses import clauses
from models.pauses import AUDIBLE
from models.speaker_hibari import Hibari
from models.style import PLAIN
from models.types import WIRE_RATE, Samples, SpokenChunk

REPLIES = [
    "I'm so sorry to hear that, it must have been a very hard day for you.",
    "The sky is blue because of a process called scattering. It was first described long ago.",
    "I'm sorry for any misunderstanding, but I'm not much of a cook. I can help with a meal.",
    "That really is a lot to deal with on top of everything else that you do every day.",
    "Oh, that is wonderful news! You must be so proud of yourself, and you have every right to be.",
    "Losing someone you have loved for so many years is a hard thing, and there is no right way.",
    "Hello! How are you feeling today? I hope you slept well.",
    "You can fix a flat tire by calling a garage, or you can do it yourself if you have a spare.",
]
MS = WIRE_RATE // 1000


@dataclass(frozen=True, slots=True)
class Join:
    """The word before a join with its pause, the word after it, and how both sound in one go."""

    before: SpokenChunk
    after: SpokenChunk
    before_in_one: SpokenChunk
    after_in_one: SpokenChunk

    @property
    def sound(self) -> Samples:
        return np.concatenate([self.before.audio.samples, self.after.audio.samples])

    @property
    def at(self) -> int:
        return len(self.before.audio.samples)


@dataclass(frozen=True, slots=True)
class Take:
    """A reply spoken clause by clause, and in one go."""

    in_clauses: list[list[SpokenChunk]]
    in_one: list[SpokenChunk]

    @property
    def joins(self) -> list[Join]:
        found, at = [], 0
        for before, after in zip(self.in_clauses, self.in_clauses[1:], strict=False):
            at += len(before)
            found.append(Join(before[-1], after[0], self.in_one[at - 1], self.in_one[at]))
        return found


async def tokens(reply: str) -> AsyncGenerator[str, None]:
    for word in reply.split(" "):
        yield f"{word} "


async def say(voice: Hibari, clause: str) -> list[SpokenChunk]:
    async with aclosing(voice.speak(clause, PLAIN)) as chunks:
        return [chunk async for chunk in chunks]


async def record() -> list[Take]:
    voice = Hibari()
    try:
        return [
            Take(
                [await say(voice, clause) async for clause in clauses(tokens(reply))],
                await say(voice, reply),
            )
            for reply in REPLIES
        ]
    finally:
        voice.close()


@pytest.fixture(scope="module")
def takes() -> list[Take]:
    return asyncio.run(record())


@pytest.fixture(params=range(len(REPLIES)), ids=REPLIES)
def take(takes: list[Take], request: pytest.FixtureRequest) -> Take:
    number: int = request.param
    return takes[number]


def level(samples: Samples) -> float:
    """Loudness of what is audible, in dB."""
    frames = samples[: len(samples) // (10 * MS) * 10 * MS].reshape(-1, 10 * MS)
    power = np.square(frames, dtype=np.float64).mean(axis=1)
    return float(10 * np.log10(power[power > AUDIBLE**2].mean()))


def silence_ms(sound: Samples, at: int) -> float:
    """The silence around a place."""
    audible = np.flatnonzero(np.abs(sound) > AUDIBLE)
    return float(audible[audible >= at][0] - audible[audible < at][-1]) / MS


def test_each_word_has_its_chunk_however_it_is_cut(take: Take) -> None:
    in_clauses = [chunk.text for chunks in take.in_clauses for chunk in chunks]
    assert in_clauses == [chunk.text for chunk in take.in_one]
    assert take.joins


def test_no_click_is_heard_at_a_join(take: Take) -> None:
    for join in take.joins:
        around = np.abs(np.diff(join.sound[join.at - 2 * MS : join.at + 2 * MS]))
        assert abs(join.sound[join.at] - join.sound[join.at - 1]) < 1e-3
        assert around.max() < 0.1 * np.abs(np.diff(join.sound)).max()


def test_no_gap_is_heard_at_a_join(take: Take) -> None:
    for join in take.joins:
        longest = {".": 250, "!": 250, "?": 250, ",": 250}.get(join.before.text.rstrip()[-1], 110)
        assert 30 < silence_ms(join.sound, join.at) < longest


def test_loudness_makes_no_step_at_a_join_that_it_would_not_make_in_one_go(take: Take) -> None:
    for join in take.joins:
        step = level(join.after.audio.samples) - level(join.before.audio.samples)
        in_one = level(join.after_in_one.audio.samples) - level(join.before_in_one.audio.samples)
        assert abs(step - in_one) < 8


def test_a_reply_in_clauses_takes_about_as_long_as_in_one_go(take: Take) -> None:
    in_clauses = sum(chunk.audio.duration for chunks in take.in_clauses for chunk in chunks)
    in_one = sum(chunk.audio.duration for chunk in take.in_one)
    assert in_clauses == pytest.approx(in_one, rel=0.15)
