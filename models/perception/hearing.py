"""The network at work: windows of many conversations go through it together, in its own thread."""

import json
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import BackendError
from models.inference import session
from models.perception.windows import Weights
from models.types import Samples
from models.worker import Worker

MOST = 8  # windows in one go: more gain nothing and keep others waiting

Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Card:
    """What the weights say of themselves."""

    weights: str  # "default" or "research"
    licence: str
    names: dict[str, tuple[str, ...]]  # each head's answers, in order
    temperature: dict[str, float]  # by which a head's logits are divided
    sure: dict[str, float]  # chance from which an answer may be relied on

    @staticmethod
    def read(text: str) -> "Card":
        plain: dict[str, Any] = json.loads(text)
        plain["names"] = {head: tuple(names) for head, names in plain["names"].items()}
        return Card(**plain)

    def write(self) -> str:
        return json.dumps(
            {slot: getattr(self, slot) for slot in self.__slots__}, ensure_ascii=False
        )


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of sound, and the spans of it that are asked about, as weights of its steps."""

    sound: Samples
    spans: Sequence[Weights]


Heard = dict[str, Logits]  # by head: a row for every span


class Hearing:
    def __init__(self, path: Path, threads: int = 1) -> None:
        try:
            self._session = session(path, threads)
            self.card = Card.read(self._session.get_modelmeta().custom_metadata_map["attune"])
        except Exception as error:  # onnxruntime's own have no common base
            raise BackendError(
                "perceiver", f"the perception weights {path.name} cannot be read: {error}"
            ) from error
        self._heads = [output.name for output in self._session.get_outputs()]
        self._waiting: deque[tuple[Window, Future[Heard]]] = deque()
        self._worker = Worker("hearing")

    async def hear(self, windows: Sequence[Window]) -> list[Heard]:
        """What is heard in each; whoever asks meanwhile, from any conversation, goes along."""
        results: list[Future[Heard]] = [Future() for _ in windows]
        self._waiting.extend(zip(windows, results, strict=True))
        try:
            while not all(result.done() for result in results):
                await self._worker.run(self._next)
        finally:
            for result in results:
                result.cancel()
        return [result.result() for result in results]

    def hear_now(self, windows: Sequence[Window]) -> list[Heard]:
        """The same, blocking."""
        return [heard for window in windows for heard in self._run([window])]

    def close(self) -> None:
        self._worker.close()

    def _next(self) -> None:
        """Hear the window that waits longest, with others of its size."""
        batch: list[tuple[Window, Future[Heard]]] = []
        left: list[tuple[Window, Future[Heard]]] = []
        while self._waiting and len(batch) < MOST:
            window, result = self._waiting.popleft()
            if batch and _shape(window) != _shape(batch[0][0]):
                left.append((window, result))
            elif result.set_running_or_notify_cancel():
                batch.append((window, result))
        self._waiting.extendleft(reversed(left))
        if not batch:
            return
        try:
            heard = self._run([window for window, _ in batch])
        except Exception as error:  # onnxruntime's own have no common base
            for _, result in batch:
                result.set_exception(BackendError("perceiver", f"perception failed: {error}"))
            return
        for (_, result), answer in zip(batch, heard, strict=True):
            result.set_result(answer)

    def _run(self, windows: Sequence[Window]) -> list[Heard]:
        feed = {
            "sound": np.stack([window.sound for window in windows]),
            "spans": np.stack([np.stack(window.spans) for window in windows]),
        }
        answers = dict(zip(self._heads, self._session.run(None, feed), strict=True))
        return [{head: answers[head][at] for head in self._heads} for at in range(len(windows))]


def _shape(window: Window) -> tuple[int, int]:
    return len(window.sound), len(window.spans)
