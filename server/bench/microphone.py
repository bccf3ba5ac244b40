"""An open microphone: what is said into it, and a quiet room in between, in real time."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import numpy as np

from models.types import WIRE_RATE, Samples

ROOM = 10 ** (-70 / 20)  # a quiet room's noise; digital silence would be too easy an ear


class Microphone:
    """Sends pieces as soon as their last sample would have been captured."""

    def __init__(self, send: Callable[[Samples], Awaitable[None]], piece_sec: float) -> None:
        self.sent = 0  # samples
        self._send = send
        self._piece = round(piece_sec * WIRE_RATE)
        self._said = np.empty(0, np.float32)  # and not yet sent
        self._begin = time.monotonic()
        self._random = np.random.default_rng(0)

    def say(self, samples: Samples) -> float:
        """Put sound before the microphone; returns when its first sample is captured."""
        start = self.sent + len(self._said)
        self._said = np.concatenate([self._said, samples])
        return self._begin + start / WIRE_RATE

    async def run(self) -> None:
        """Send until cancelled."""
        self._begin = time.monotonic()
        while True:
            due = self._begin + (self.sent + self._piece) / WIRE_RATE
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            piece = self._take()
            await self._send(piece)
            self.sent += len(piece)

    def _take(self) -> Samples:
        piece = (ROOM * self._random.standard_normal(self._piece)).astype(np.float32)
        said, self._said = self._said[: self._piece], self._said[self._piece :]
        piece[: len(said)] += said
        return piece


@asynccontextmanager
async def open_microphone(
    send: Callable[[Samples], Awaitable[None]], piece_sec: float
) -> AsyncGenerator[Microphone, None]:
    microphone = Microphone(send, piece_sec)
    running = asyncio.create_task(microphone.run())
    try:
        yield microphone
    finally:
        running.cancel()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # the call broke off: whoever waits on it hears of that
