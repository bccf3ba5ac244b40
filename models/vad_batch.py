"""Frames of many conversations heard in one call: all that came in the same turn of the loop."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from models.types import Samples

Voice = TypeVar("Voice")


@runtime_checkable
class Joinable(Protocol):
    """A VoiceActivity that can also be asked together with others."""

    def soon(self, frame: Samples) -> "asyncio.Future[float]":
        """The same probability, a turn of the loop later. Frames are given one at a time."""
        ...


class Batch(Generic[Voice]):
    """What conversations have asked since the loop's last turn, asked of the network at once.

    Nobody waits for others to come: a lone frame is heard at once. The busier the loop, the more
    frames come in each of its turns, and the less each of them costs.
    """

    def __init__(
        self, hear: Callable[[Sequence[Voice], Sequence[Samples]], NDArray[np.float32]]
    ) -> None:
        self._hear = hear
        self._asked: list[tuple[Voice, Samples, asyncio.Future[float]]] = []

    def ask(self, voice: Voice, frame: Samples) -> asyncio.Future[float]:
        loop = asyncio.get_running_loop()
        if not self._asked:
            loop.call_soon(self._answer)
        answer: asyncio.Future[float] = loop.create_future()
        self._asked.append((voice, frame, answer))
        return answer

    def _answer(self) -> None:
        asked, self._asked = self._asked, []
        waiting = [each for each in asked if not each[2].done()]  # the others have hung up
        if not waiting:
            return
        voices, frames, answers = zip(*waiting, strict=True)
        try:
            heard = self._hear(voices, frames).tolist()
        except Exception as error:  # whatever it is, those who wait must hear of it
            for answer in answers:
                answer.set_exception(error)
            return
        for answer, probability in zip(answers, heard, strict=True):
            answer.set_result(probability)
