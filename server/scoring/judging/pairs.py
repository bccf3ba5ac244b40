"""Which of two a judge prefers, asked in both orders so that a place decides nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from server.scoring.judging.judge import Verdict
from server.scoring.score import Score

CHOICE = "choice"
FIRST, SECOND, TIE = "first", "second", "equal"


@dataclass(frozen=True, slots=True)
class Preference:
    """Of ours over the other, and of the first over the second, in hundredths."""

    ours: float
    first: float
    why: str
    raw: str

    def scores(self, ours: str, first: str) -> dict[str, Score]:
        return {
            ours: Score(self.ours, self.why, raw=self.raw),
            first: Score(self.first),
        }


def preference(ask: Callable[[bool], Verdict]) -> Preference:
    """Asks with ours first, and with ours second."""
    leading, trailing = ask(True), ask(False)
    ours = [*_shares(leading, FIRST), *_shares(trailing, SECOND)]
    first = [*_shares(leading, FIRST), *_shares(trailing, FIRST)]
    why = (
        f"Ours first: {_told(leading)} Ours second: {_told(trailing)}"
        if leading.telling
        else f"Ours first: {_choices(leading)}. Ours second: {_choices(trailing)}."
    )
    return Preference(_mean(ours), _mean(first), why, f"{leading.raw}\n{trailing.raw}")


def _shares(verdict: Verdict, preferred: str) -> list[float]:
    worth: Mapping[str, float] = {preferred: 1.0, TIE: 0.5}
    return [worth.get(answer[CHOICE], 0.0) for answer in verdict.answers]


def _mean(shares: Sequence[float]) -> float:
    return 100 * sum(shares) / len(shares)


def _choices(verdict: Verdict) -> str:
    return ", ".join(str(answer[CHOICE]) for answer in verdict.answers)


def _told(verdict: Verdict) -> str:
    return f"{_choices(verdict)}. {verdict.why(CHOICE)}".strip()
