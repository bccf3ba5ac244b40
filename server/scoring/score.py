"""A measure, a score, and the instruments that take the one to give the other."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from server.scoring.exchange import Exchange
    from server.scoring.scored import Usage

Family = Literal[
    "understanding", "words", "echomind", "aeq", "echat", "humdial", "vstyle", "vocalbench",
    "sound", "voice",
    "duplex", "latency", "perception", "counterfactual",
]  # fmt: skip


class Unscored(Exception):
    """Why one exchange has no score: a short phrase, the same for the same reason."""

    raw = ""  # a judge's answers, where it is they that are to blame


class Passing(Unscored):
    """A reason that may be gone the next time, though nothing that was recorded is another."""


class Unavailable(Exception):
    """Why an instrument cannot be built here, as a sentence: all its measures go unscored."""


@dataclass(frozen=True, slots=True)
class Score:
    """One value for one exchange, or why there is none."""

    value: float | None
    why: str = ""  # what the judge said, or what was counted; may tell what was said
    unscored: str | None = None
    raw: str = ""  # a judge's answers as they came, kept apart from the scores
    passing: bool = False  # the reason may be gone the next time: it is not cached

    @classmethod
    def none(cls, reason: str | Unscored, raw: str = "", *, passing: bool = False) -> "Score":
        if isinstance(reason, Unscored):
            raw, passing = raw or reason.raw, passing or isinstance(reason, Passing)
        return cls(None, unscored=str(reason), raw=raw, passing=passing)


def tried(names: Iterable[str], take: Callable[[], Mapping[str, Score]]) -> dict[str, Score]:
    """Some measures that stand or fall together, while others of the same exchange go on."""
    try:
        return dict(take())
    except Unscored as trouble:
        return dict.fromkeys(names, Score.none(trouble))


@dataclass(frozen=True, slots=True)
class Measure:
    """What is known of a metric before anything is scored."""

    name: str  # [a-z][a-z0-9_]*
    title: str  # for people
    family: Family
    about: str  # what it measures, in a sentence
    caveat: str = ""  # where it differs from what its authors published
    unit: str = ""
    higher_is_better: bool | None = None
    smallest: float | None = None
    largest: float | None = None


class Instrument(Protocol):
    """Takes some measures of an exchange at once, since they share a model, a call or a cut.

    A module of instruments has `MEASURES`, all it could ever give, and `build(settings)`, which
    loads what is needed or raises Unavailable.
    """

    @property
    def key(self) -> str:
        """All that its scores depend on beside the exchange: its version, models and settings."""
        ...

    @property
    def judge(self) -> "JudgeNamed | None":
        """Whose opinion its scores are; None where they are computed."""
        ...

    def measure(self, exchange: "Exchange") -> Mapping[str, Score]:
        """A score by name of measure. Unscored, raised, holds for all that are missing."""
        ...


@runtime_checkable
class Asking(Protocol):
    """An instrument that asks a judge and counts what it asked."""

    @property
    def usage(self) -> "Usage":
        """Of that judge, whoever asked it: others may share it."""
        ...


@dataclass(frozen=True, slots=True)
class JudgeNamed:
    """A network or a language model whose opinion scores are."""

    name: str
    version: str | None = None
    host: str | None = None  # None: it ran beside the scorer, on this machine
    licence: str | None = None
