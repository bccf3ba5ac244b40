"""A network made for the tests: it answers from the sound alone, and remembers its runs."""

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from models.perception import hearing
from models.perception.hearing import Card, Logits
from models.perception.windows import powers
from models.types import Samples

CARD = Card(
    weights="default",
    licence="as you like",
    names={
        "emotion": ("happy", "sad", "angry", "neutral"),
        "gender": ("male", "female"),
        "age": ("child", "elderly", "adult"),
        "sounds": ("laughter", "sobbing", "rain", "music"),
    },
    temperature={"emotion": 1.0, "gender": 1.0, "age": 1.0, "sounds": 1.0},
    sure={"emotion": 0.4, "gender": 0.6, "age": 0.5},
)


class MadeNetwork:
    """In an onnxruntime session's place. No window's answer depends on what went in beside it."""

    def __init__(self, card: Card = CARD) -> None:
        self.batches: list[Samples] = []  # the sounds of every run
        self.threads: set[str] = set()
        self.failure: Exception | None = None
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()
        self._card = card

    def stands_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever file is to be heard with from now on, it is this network."""
        monkeypatch.setattr(hearing, "session", lambda path, threads: self)

    @property
    def sizes(self) -> list[int]:
        """How many windows went in together, run by run."""
        return [len(batch) for batch in self.batches]

    def get_modelmeta(self) -> Any:
        return SimpleNamespace(custom_metadata_map={"attune": self._card.write()})

    def get_outputs(self) -> list[Any]:
        return [SimpleNamespace(name=head) for head in self._card.names]

    def run(self, outputs: None, feed: dict[str, Samples]) -> list[Logits]:
        self.batches.append(feed["sound"])
        self.threads.add(threading.current_thread().name)
        begun, may_end = (
            self.begun,
            self.may_end,
        )  # of this run, should others be put in their place
        begun.set()
        assert may_end.wait(10)
        if self.failure:
            raise self.failure
        each = [
            [float(span @ np.log10(powers(sound))) for span in spans]
            for sound, spans in zip(feed["sound"], feed["spans"], strict=True)
        ]
        return [
            (np.array(each)[:, :, None] * np.linspace(-0.5, 0.5, len(names))).astype(np.float32)
            for names in self._card.names.values()
        ]
