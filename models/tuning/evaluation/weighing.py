"""How likely a model finds given words: what is asked of it, and a memory for what it answered."""

from collections.abc import Callable, Sequence
from typing import Protocol

from models.tuning.evaluation.kept import Kept, key
from models.types import Turn


class Weigher(Protocol):
    """A model that is not asked to speak, but how likely it would have said something."""

    def answers(self, turns: Sequence[Turn], answers: Sequence[str]) -> list[float]:
        """The mean log-probability of each answer's tokens, its end among them."""
        ...

    def endings(self, turns: Sequence[Turn], begun: str, endings: Sequence[str]) -> list[float]:
        """The whole log-probability of each way to go on from a begun answer."""
        ...


class Remembered:
    """A Weigher that is asked nothing twice, and made only when it is asked at all."""

    def __init__(self, make: Callable[[], Weigher], kept: Kept, model: str) -> None:
        self._make = make
        self._made: Weigher | None = None
        self._kept = kept
        self._model = model

    def answers(self, turns: Sequence[Turn], answers: Sequence[str]) -> list[float]:
        return self._once(
            lambda weigher: weigher.answers(turns, answers), "answers", turns, "", answers
        )

    def endings(self, turns: Sequence[Turn], begun: str, endings: Sequence[str]) -> list[float]:
        return self._once(
            lambda weigher: weigher.endings(turns, begun, endings), "endings", turns, begun, endings
        )

    def _once(
        self,
        ask: Callable[[Weigher], list[float]],
        what: str,
        turns: Sequence[Turn],
        begun: str,
        texts: Sequence[str],
    ) -> list[float]:
        said = [[turn.role, turn.text] for turn in turns]
        place = key(self._model, what, said, begun, list(texts))
        record = self._kept.get(place)
        if record is None:
            self._made = self._made or self._make()
            record = {"weights": [round(value, 6) for value in ask(self._made)]}
            self._kept.add(place, record)
        return [float(value) for value in record["weights"]]
