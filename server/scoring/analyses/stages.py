"""What can go wrong on the way from somebody's words to our reply, one stage after the other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from server.scoring.analyses.plan_fit import fits
from server.scoring.scored import Row

Status = Literal["fine", "wrong", "unknown"]

MISHEARD = 20.0  # per cent of words
ILL_SUITED = 3.0  # of VocalBench's scale from 1 to 5
UNMOVED = 2.0  # of a judge's scale from 1 to 5
UNDECIDED = 50.0  # per cent
ACOUSTIC, ALIGNED = "vocalbench_acoustic", "emo_align"


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    title: str  # what went wrong if it did
    about: str
    status: Callable[[Row], Status]


def _words(row: Row) -> Status:
    return _below(row.values, wer=lambda value: value > MISHEARD)


def _cue(row: Row) -> Status:
    if row.annotation.cue_given == "true":  # it was told, and could not be mistaken
        return "fine"
    return _below(row.values, cue_recall=lambda value: value < UNDECIDED)


def _plan(row: Row) -> Status:
    if row.plan is None or row.annotation.cue is None:
        return "unknown"
    fitting = fits(row.plan, row.annotation.cue)
    return "unknown" if fitting is None else "fine" if fitting else "wrong"


def _voice(row: Row) -> Status:
    # VocalBench rates emotions by another table than ours: it is asked where ours says nothing.
    values = {name: value for name, value in row.values.items() if name != ACOUSTIC}
    return _below(
        values if ALIGNED in values else row.values,
        vocalbench_acoustic=lambda value: value < ILL_SUITED,
        emo_align=lambda value: value < UNDECIDED,
        prefers_ours_voice=lambda value: value < UNDECIDED,
        ves=lambda value: value <= UNMOVED,
    )


def _below(values: Mapping[str, float], **wrong: Callable[[float], bool]) -> Status:
    """Wrong if one metric says so; unknown if there is none."""
    told = [is_wrong(values[name]) for name, is_wrong in wrong.items() if name in values]
    return "unknown" if not told else "wrong" if any(told) else "fine"


STEPS: Final = (
    Step("words", "Words misheard", "More than 20 % of the words were recognised wrongly.", _words),
    Step("cue", "Cue misperceived", "The true cue was not named.", _cue),
    Step("plan", "Plan wrong", "The plan does not take up the true cue.", _plan),
    Step(
        "voice",
        "Voice does not suit",
        "An emotion outside the fitting ones (where none are known, less than 3 of 5 for it by"
        " VocalBench's table), a flat voice preferred, or a judge who gave it 2 or less.",
        _voice,
    ),
)
