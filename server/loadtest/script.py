"""What a scripted person does, step by step; the same seed gives the same people. Pure."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeVar

JOIN_SEC = 5.0  # over which people arrive, unevenly
PAUSE_SEC = (0.4, 2.5)  # between the end of a reply and the next turn
INTO_REPLY_SEC = (0.8, 1.8)  # how far into a reply someone speaks over it
STALL_SEC = (2.0, 5.0)  # for which a slow reader leaves its socket unread
STALL_EVERY = 3  # turns of a slow reader

T = TypeVar("T")
Saying = Literal["marked", "plain", "written"]
Over = Literal["barge_in", "backchannel"]

SAYINGS: tuple[Saying, ...] = ("marked", "plain", "marked", "plain", "plain")
OVERS: tuple[Over | None, ...] = (None, "barge_in", None, "backchannel", None, None)


@dataclass(frozen=True, slots=True)
class Person:
    """One of the talkers."""

    number: int  # from 0 on; the mark follows from it
    seed: int
    slow: bool = False  # leaves its socket unread now and then
    standin: bool = False  # talks to stand-ins, who tell no words from sound: marks are written


@dataclass(frozen=True, slots=True)
class Step:
    """A turn, and what is done over its reply."""

    saying: Saying
    place: int  # among the sounds of that sort; taken modulo how many there are
    pause_sec: float  # of quiet before it, unless it is said over the reply before it
    over: Over | None
    into_sec: float  # into the reply
    stall_sec: float = 0.0  # the socket is left unread for so long from the end of the turn on


def people(count: int, seed: int, slow_share: float, standin: bool) -> list[Person]:
    """So many, of whom a share, but at least one unless it is 0, are slow readers."""
    slow = min(count, max(1, round(count * slow_share))) if slow_share else 0
    chosen = set(Random(seed).sample(range(count), slow))
    return [Person(number, seed, number in chosen, standin) for number in range(count)]


def arrival(person: Person) -> float:
    """Seconds after the beginning."""
    return _random(person, "arrival").uniform(0, JOIN_SEC)


def binary(person: Person) -> bool:
    """Whether its sound travels as a page's does, in binary frames; every other one's does."""
    return person.number % 2 == 0


def steps(person: Person) -> Iterator[Step]:
    """For ever."""
    random = _random(person, "steps")
    sayings, overs = _dealt(SAYINGS, random), _dealt(OVERS, random)
    before: Step | None = None
    for count in itertools.count(2):  # a slow reader's second turn is its first stall
        saying, over = next(sayings), next(overs)
        if person.standin:
            saying = "written" if saying == "marked" else saying
            over = None if over == "backchannel" else over
        if before and before.over == "barge_in" and saying == "written":
            saying = "plain"  # one takes the word by voice
        stalls = person.slow and count % STALL_EVERY == 0
        before = Step(
            saying,
            random.randrange(1 << 16),
            random.uniform(*PAUSE_SEC),
            over,
            random.uniform(*INTO_REPLY_SEC),
            random.uniform(*STALL_SEC) if stalls else 0.0,
        )
        yield before


def _random(person: Person, what: str) -> Random:
    return Random(f"{person.seed}/{person.number}/{what}")


def _dealt(cards: tuple[T, ...], random: Random) -> Iterator[T]:
    """The cards in a new order each round: each comes as often as it should, soon."""
    while True:
        yield from random.sample(cards, len(cards))
