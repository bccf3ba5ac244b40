"""What is written down of a vote: no word and no sound of anybody."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from server.arena.strength import DRAWS, SEED, Strength, Tally, strengths
from server.sessions.format import Shape

VOTES = "arena/votes"  # beside the runs
ROUND_ID = r"round_[0-9a-f]{20}"
Verdict = Literal["a", "b", "tie", "bad"]
Side = Literal["a", "b"]
Source = Literal["voice", "prepared", "session"]


class Entrant(Shape):
    name: str
    label: str
    mark: str = Field(description="Another once the system was set up otherwise.")


class Ballot(Shape):
    schema_version: Literal[1] = 1
    id: Annotated[str, Field(pattern=f"^{ROUND_ID}$")]
    wall: AwareDatetime
    software: str
    a: Entrant = Field(description="The system heard as A.")
    b: Entrant
    vote: Verdict
    source: Source
    latency_ms: dict[Side, float | None]
    seconds: dict[Side, float] = Field(description="How long each answer was.")
    secret_sha256: str


@dataclass(slots=True)
class Record:
    """Of one system, over all its rounds."""

    wins: int = 0
    losses: int = 0
    ties: int = 0
    bad: int = 0

    @property
    def rounds(self) -> int:
        return self.wins + self.losses + self.ties + self.bad


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems, and what came of their rounds; `bad`: neither was any good."""

    first: str
    second: str
    first_wins: int
    second_wins: int
    ties: int
    bad: int


@dataclass(frozen=True, slots=True)
class Standing:
    name: str
    record: Record
    strength: Strength


@dataclass(frozen=True, slots=True)
class Standings:
    systems: list[Standing]  # the strongest first
    pairs: list[Pair]
    rounds: int
    left_out: int  # on systems that are gone, or were set up otherwise


def newest(ballots: Iterable[Ballot]) -> list[Entrant]:
    """Every system that was voted on, as it was set up last."""
    found: dict[str, Entrant] = {}
    for ballot in sorted(ballots, key=lambda ballot: ballot.wall):
        found.update({each.name: each for each in (ballot.a, ballot.b)})
    return [found[name] for name in sorted(found)]


def counted(
    systems: Sequence[Entrant], ballots: Iterable[Ballot], draws: int = DRAWS, seed: int = SEED
) -> Standings:
    """The votes on these very systems."""
    marks = {each.name: each.mark for each in systems}
    outcomes: Counter[tuple[str, str, str]] = Counter()
    left_out = 0
    for ballot in ballots:
        if any(marks.get(each.name) != each.mark for each in (ballot.a, ballot.b)):
            left_out += 1
            continue
        outcomes[_outcome(ballot)] += 1
    names = [each.name for each in systems]
    pairs = [
        _pair(first, second, outcomes)
        for place, first in enumerate(names)
        for second in names[place + 1 :]
    ]
    tallies = {
        (names.index(each.first), names.index(each.second)): Tally(
            each.first_wins, each.second_wins, each.ties
        )
        for each in pairs
    }
    found = [
        Standing(name, _record(name, pairs), strength)
        for name, strength in zip(names, strengths(len(names), tallies, draws, seed), strict=True)
    ]
    found.sort(key=lambda each: -each.strength.value)
    return Standings(found, pairs, sum(outcomes.values()), left_out)


def met(ballots: Iterable[Ballot], systems: Sequence[Entrant]) -> Counter[frozenset[str]]:
    """How often each two of these met."""
    marks = {each.name: each.mark for each in systems}
    return Counter(
        frozenset((each.a.name, each.b.name))
        for each in ballots
        if marks.get(each.a.name) == each.a.mark and marks.get(each.b.name) == each.b.mark
    )


def _outcome(ballot: Ballot) -> tuple[str, str, str]:
    """Two names in their order, and the winner's name, "tie" or "bad"."""
    first, second = sorted((ballot.a.name, ballot.b.name))
    match ballot.vote:
        case "a":
            return first, second, f"won:{ballot.a.name}"
        case "b":
            return first, second, f"won:{ballot.b.name}"
    return first, second, ballot.vote


def _pair(first: str, second: str, outcomes: Counter[tuple[str, str, str]]) -> Pair:
    low, high = sorted((first, second))

    def often(what: str) -> int:
        return outcomes[low, high, what]

    won = often(f"won:{first}"), often(f"won:{second}")
    return Pair(first, second, *won, often("tie"), often("bad"))


def _record(name: str, pairs: Iterable[Pair]) -> Record:
    record = Record()
    for pair in pairs:
        if name not in (pair.first, pair.second):
            continue
        won, lost = pair.first_wins, pair.second_wins
        if name == pair.second:
            won, lost = lost, won
        record.wins += won
        record.losses += lost
        record.ties += pair.ties
        record.bad += pair.bad
    return record
