"""Whether the judge prefers what we did to what we did not do, and whether it can tell at all."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from server.scoring.arms import cluster
from server.scoring.chance import SURE
from server.scoring.scored import Scored
from server.scoring.statistics import Difference, mean_interval, paired

PAIRS = {
    "voice": ("prefers_ours_voice", "prefers_first_voice"),
    "words": ("prefers_ours_words", "prefers_first_words"),
}
EVEN = 50.0
Finding = Literal["prefers ours", "prefers the other", "cannot tell", "too few"]


class Pair(BaseModel):
    """One kind of pair. `first` is how often the place decided for the first: 50 is none."""

    model_config = ConfigDict(frozen=True)

    of: Literal["voice", "words"]
    metric: str
    n: int
    mean: float
    low: float | None
    high: float | None
    ours: int  # preferred in both orders
    split: int
    other: int
    first: float | None
    first_low: float | None
    first_high: float | None
    finding: Finding
    sentence: str


class Counterfactual(BaseModel):
    """Voice and words apart: one says nothing of the other."""

    model_config = ConfigDict(frozen=True)

    pairs: list[Pair]


def analyse(scored: Scored) -> Counterfactual | None:
    pairs = [pair for of in ("voice", "words") if (pair := _pair(of, scored))]
    return Counterfactual(pairs=pairs) if pairs else None


def _pair(of: Literal["voice", "words"], scored: Scored) -> Pair | None:
    ours, first = PAIRS[of]
    found = list(scored.values(ours))
    if not found:
        return None
    values = [value for _, value in found]
    scripts = [cluster(row) for row, _ in found]
    estimate = mean_interval(values, scripts, scored.draws, scored.seed)
    places = [(cluster(row), value) for row, value in scored.values(first)]
    place = mean_interval(
        [value for _, value in places], [each for each, _ in places], scored.draws, scored.seed
    )
    finding = _finding(paired([EVEN] * len(values), values, scripts, scored.draws, scored.seed))
    mean = sum(values) / len(values)
    return Pair(
        of=of,
        metric=ours,
        n=len(values),
        mean=mean,
        low=estimate.low,
        high=estimate.high,
        ours=sum(value == 100 for value in values),
        split=sum(0 < value < 100 for value in values),
        other=sum(value == 0 for value in values),
        first=place.mean,
        first_low=place.low,
        first_high=place.high,
        finding=finding,
        sentence=_sentence(of, finding),
    )


def _finding(over_even: Difference) -> Finding:
    if over_even.p is None or over_even.mean is None:
        return "too few"
    if over_even.p >= SURE:
        return "cannot tell"
    return "prefers ours" if over_even.mean > 0 else "prefers the other"


def _sentence(of: Literal["voice", "words"], finding: Finding) -> str:
    other = "the same words in a flat voice" if of == "voice" else "a right reply to another cue"
    match finding:
        case "prefers ours":
            return f"The judge prefers our {of} to {other}."
        case "prefers the other":
            return f"The judge prefers {other} to our {of}: one of the two is at fault."
        case "too few":
            return "Too few pairs to say anything."
    return (
        f"The judge cannot tell our {of} from {other}: its grades of {of} say little here, or "
        f"our {of} does little."
    )
