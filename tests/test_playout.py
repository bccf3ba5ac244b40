import asyncio

import numpy as np
import pytest

from models.audio import encode_pcm16
from models.types import WIRE_RATE, AudioChunk, Samples, SpokenChunk
from server.clock import SampleClock
from server.playout import GAP_SEC, PIECE, Playout


class Loudspeaker:
    """Takes what is sent, and lets the test move the clock."""

    def __init__(self, keeps_buffer: bool = False) -> None:
        self.clock = SampleClock()
        self.sent: list[int] = []
        self.dry = 0
        self.playout = Playout(self.clock, self._take, 0.2, keeps_buffer, ran_dry=self._run_dry)

    async def _take(self, samples: Samples, pcm: bytes, offset: int) -> None:
        assert pcm == encode_pcm16(samples)
        assert offset == sum(self.sent)
        self.sent.append(len(samples))

    def _run_dry(self) -> None:
        self.dry += 1

    @property
    def seconds(self) -> float:
        return sum(self.sent) / WIRE_RATE

    async def at(self, time: float) -> None:
        """Let time pass, as fine as audio arrives."""
        while self.clock.time() < time - 1e-9:
            self.clock.advance(min(time, self.clock.time() + 0.02))
            await self.clock.settle()


def spoken(seconds: float, text: str) -> SpokenChunk:
    return SpokenChunk(AudioChunk(np.ones(round(seconds * WIRE_RATE), np.float32), WIRE_RATE), text)


async def playing(speaker: Loudspeaker, *chunks: SpokenChunk) -> "asyncio.Task[None]":
    async def play() -> None:
        for chunk in chunks:
            await speaker.playout.play(chunk)

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            speaker.clock.spawn(tasks, play())

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    await speaker.clock.settle()
    return task


async def test_sending_runs_ahead_of_the_loudspeaker_by_the_lead_and_no_more() -> None:
    speaker = Loudspeaker()
    task = await playing(speaker, spoken(1.0, "one "), spoken(1.0, "two "))
    for time in (0.0, 0.5, 1.0):
        await speaker.at(time)
        assert speaker.seconds == pytest.approx(time + 0.2, abs=PIECE / WIRE_RATE + 0.001)
    await speaker.at(2.0)
    assert speaker.seconds == 2.0
    await task


async def test_heard_is_what_had_time_to_sound() -> None:
    speaker = Loudspeaker()
    task = await playing(speaker, spoken(1.0, "one "), spoken(1.0, "two "))
    await speaker.at(1.2)
    assert speaker.playout.heard / WIRE_RATE == pytest.approx(1.2, abs=0.03)
    assert speaker.playout.words_until(speaker.playout.heard) == "one"
    task.cancel()


async def test_an_acknowledgement_is_believed_over_the_clock() -> None:
    speaker = Loudspeaker()
    task = await playing(speaker, spoken(1.0, "one "), spoken(1.0, "two "))
    await speaker.at(1.2)
    speaker.playout.acknowledge(12_000)
    assert speaker.playout.heard == 12_000
    speaker.playout.acknowledge(6_000)  # late
    speaker.playout.acknowledge(10**9)  # impossible
    assert speaker.playout.heard == speaker.playout.sent
    task.cancel()


async def test_nothing_is_sent_while_held() -> None:
    speaker = Loudspeaker()
    task = await playing(speaker, spoken(3.0, "one "))
    await speaker.at(0.5)
    speaker.playout.hold()
    before = speaker.seconds
    await speaker.at(2.0)
    assert speaker.seconds == before
    speaker.playout.resume()
    await speaker.at(2.5)
    assert speaker.seconds > before + 0.4
    task.cancel()


async def test_a_client_that_keeps_its_buffer_has_heard_nothing_while_held() -> None:
    speaker = Loudspeaker(keeps_buffer=True)
    task = await playing(speaker, spoken(3.0, "one "))
    await speaker.at(0.5)
    speaker.playout.hold()
    heard = speaker.playout.heard
    await speaker.at(2.0)
    assert speaker.playout.heard == heard
    speaker.playout.resume()
    await speaker.at(2.5)
    assert speaker.playout.heard - heard == pytest.approx(0.5 * WIRE_RATE, abs=800)
    task.cancel()


async def test_a_stock_client_plays_out_what_it_has_while_held() -> None:
    speaker = Loudspeaker(keeps_buffer=False)
    task = await playing(speaker, spoken(3.0, "one "))
    await speaker.at(0.5)
    speaker.playout.hold()
    await speaker.at(2.0)
    assert speaker.playout.heard == speaker.playout.sent
    task.cancel()


async def test_a_reply_that_has_nothing_to_go_on_with_has_run_dry() -> None:
    speaker = Loudspeaker()
    await playing(speaker, spoken(0.1, "Well "))
    await speaker.at(speaker.playout.ends_at + GAP_SEC / 2)
    await playing(speaker, spoken(0.1, "now "))
    assert speaker.dry == 0
    await speaker.at(speaker.playout.ends_at + 0.3)
    await playing(speaker, spoken(0.1, "then."))
    assert speaker.dry == 1


@pytest.mark.parametrize("keeps_buffer", [True, False])
async def test_a_held_reply_has_not_run_dry(keeps_buffer: bool) -> None:
    speaker = Loudspeaker(keeps_buffer)
    await playing(speaker, spoken(0.1, "Well "))
    speaker.playout.hold()
    await speaker.at(speaker.playout.ends_at + 2.0)
    speaker.playout.resume()
    await playing(speaker, spoken(0.1, "then."))
    assert speaker.seconds == pytest.approx(0.2)
    assert speaker.dry == 0
