"""Conversations heard together are heard as each would be alone."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from models.types import FRAME, Samples
from models.vad_batch import Batch
from models.vad_silero import SileroDetector


class Echo:
    """A network that answers each frame with its first sample, and notes who was asked at once."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def hear(self, voices: Sequence[str], frames: Sequence[Samples]) -> NDArray[np.float32]:
        self.calls.append(list(voices))
        return np.array([frame[0] for frame in frames], np.float32)


async def talk(batch: Batch[str], name: str, levels: Sequence[float]) -> list[float]:
    return [await batch.ask(name, np.full(FRAME, level, np.float32)) for level in levels]


async def test_frames_of_one_turn_of_the_loop_are_heard_in_one_call_each_in_its_order() -> None:
    network = Echo()
    batch = Batch(network.hear)
    names = ("a", "b", "c")
    heard = await asyncio.gather(
        *(talk(batch, name, [i / 8 + at / 2 for i in range(3)]) for at, name in enumerate(names))
    )
    assert network.calls == [["a", "b", "c"]] * 3
    assert heard == [[i / 8 + at / 2 for i in range(3)] for at in range(3)]


async def test_who_hangs_up_is_not_asked_about_and_holds_nobody_up() -> None:
    network = Echo()
    batch = Batch(network.hear)
    gone, stays = (asyncio.ensure_future(talk(batch, name, [0.5])) for name in ("gone", "stays"))
    await asyncio.sleep(0)  # both have asked, neither has been answered
    gone.cancel()
    assert await stays == [0.5]
    assert network.calls == [["stays"]]


async def test_a_failure_is_told_to_all_who_waited_and_the_next_are_heard() -> None:
    network = Echo()

    def hear(voices: Sequence[str], frames: Sequence[Samples]) -> NDArray[np.float32]:
        if frames[0][0] > 1:
            raise ArithmeticError("of the network")
        return network.hear(voices, frames)

    batch = Batch(hear)
    failed = await asyncio.gather(
        talk(batch, "a", [2.0]), talk(batch, "b", [0.5]), return_exceptions=True
    )
    assert [type(each) for each in failed] == [ArithmeticError, ArithmeticError]
    assert await talk(batch, "a", [0.5]) == [0.5]


async def test_silero_hears_the_same_together_as_alone() -> None:
    detector = SileroDetector()
    dice = np.random.default_rng(1)
    talks = [
        (dice.standard_normal((12, FRAME)) * level).astype(np.float32)
        for level in (0.001, 0.05, 0.2, 0.4)
    ]

    async def together(frames: NDArray[np.float32]) -> list[float]:
        voice = detector.open()
        return [await voice.soon(frame) for frame in frames]

    alone = [[voice(frame) for frame in talk] for talk in talks for voice in [detector.open()]]
    assert await asyncio.gather(*map(together, talks)) == [
        pytest.approx(each, abs=1e-5) for each in alone
    ]
