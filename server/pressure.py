"""How near the machine is to its limit, and what conversations do without meanwhile."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from math import exp
from typing import Protocol

from server.percentiles import Digest, Lately

STEP_SEC = 1.0  # how often it is looked at
SMOOTH_SEC = 4.0  # a single hiccup is no load
TURNS_SEC = 60.0  # turns of so long ago still tell something
ENOUGH = 5  # of fewer turns the worst is one unlucky turn: then the middle one counts
LAG_MS = 250.0  # an event loop as late as this breaks up sound
HARDLY = 1.2  # a target below so many times what a turn takes anyway would be missed by anybody
BUSY, MOST_BY_CPU = 0.75, 0.6  # a busy CPU alone, however busy, only thins the running percepts
RISE_SEC, FALL_SEC = 2.0, 8.0  # between two steps up, and two steps down
BACK = 0.15  # the strain must fall this far below what brought a level before it ends
PLENTY = 3.0  # times the memory that must be free: from there on less of it is a strain


class Level(IntEnum):
    """What is left out: each level leaves out what those before it do, too."""

    NONE = 0
    PERCEPTS = 1  # how somebody sounds is told less often while they speak
    PARTIALS = 2  # no words are looked for while somebody speaks
    SPECULATION = 3  # a reply is not thought of before the turn is over
    SEATS = 4  # nobody new is let in


# The strain from which each level holds. 1 is the limit, so nobody is let in at it.
RISES = {Level.PERCEPTS: 0.5, Level.PARTIALS: 0.65, Level.SPECULATION: 0.8, Level.SEATS: 0.9}


class Pressed(Protocol):
    """Where a conversation looks before it does what could be left out."""

    @property
    def level(self) -> Level: ...


class Calm:
    """No pressure, ever: on the samples clock models seem to take no time."""

    level = Level.NONE


class Lateness(Protocol):
    """Whoever watches the event loop."""

    @property
    def lag_ms(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Load:
    """How hard the machine works, as shares of all cores."""

    machine: float
    own: float  # by this process


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found last."""

    lag_ms: float
    latency_ms: float | None  # of turns lately; None if there were none
    target_ms: float
    strain: float  # 1 is the limit
    memory_free: float | None = None  # the share of it; None where nobody looks


@dataclass(frozen=True, slots=True)
class Memory:
    """How much of it is free, and how much has to be for anybody new."""

    free: Callable[[], float | None]  # shares of all there is; None: not known
    least: float


class Ladder:
    """The levels: up a step at a time, for each may be enough, or all at once if there is no time.

    Down it goes a step at a time always, and only after it has been calm for a while.
    """

    def __init__(self, now: float, rise_sec: float) -> None:
        self.level = Level.NONE
        self._rise_sec = rise_sec  # between two steps up
        self._moved = self._calm_since = now

    def move(self, strain: float, now: float) -> None:
        if self._rises(strain):
            self._calm_since = now
            while self._rises(strain) and now - self._moved >= self._rise_sec:
                self.level, self._moved = Level(self.level + 1), now
        elif self.level > Level.NONE and strain < RISES[self.level] - BACK:
            if now - max(self._calm_since, self._moved) >= FALL_SEC:
                self.level, self._moved = Level(self.level - 1), now
        else:
            self._calm_since = now

    def _rises(self, strain: float) -> bool:
        return self.level < Level.SEATS and strain >= RISES[Level(self.level + 1)]


class Pressure:
    """Looked at once a second; told of every turn. The time is given to it."""

    def __init__(
        self,
        lateness: Lateness,
        load: Callable[[], Load],
        target_ms: float,
        now: Callable[[], float] = time.monotonic,
        memory: Memory | None = None,
    ) -> None:
        self._lateness = lateness
        self._load = load
        self._target_ms = target_ms
        self._now = now
        self._turns = Lately(TURNS_SEC, 12, now)
        self._alone = Digest()  # turns while nobody else talked: what they take anyway
        self._late = 0.0  # the share of the limit that is reached, by what people would notice
        self._busy = 0.0  # and by a busy machine
        self._own = 0.0  # and by this process
        self._looked = now()
        self._memory = memory
        self._by_work = Ladder(self._looked, RISE_SEC)
        self._by_memory = Ladder(self._looked, 0.0)  # what is gone is gone: nothing to wait for
        self.reading = Reading(0.0, None, target_ms, 0.0)

    @property
    def level(self) -> Level:
        return max(self._by_work.level, self._by_memory.level)

    @property
    def short_of_memory(self) -> bool:
        """Whether nobody new is let in for want of it."""
        return self._by_memory.level >= Level.SEATS

    @property
    def used(self) -> float:
        """The share of the limit that conversations take up, by lateness or by work of ours."""
        return max(self._late, self._own)

    def turn(self, worked_ms: float, talkers: int) -> None:
        """A reply to something spoken began to sound."""
        self._turns.add(worked_ms)
        if talkers <= 1:
            self._alone.add(worked_ms)

    def step(self) -> Level:
        now, load = self._now(), self._load()
        keep = exp(-max(0.0, now - self._looked) / SMOOTH_SEC)
        self._looked = now
        latency, target = _typical(self._turns.digest()), self._target()
        lag = self._lateness.lag_ms
        busy = min(MOST_BY_CPU, max(0.0, load.machine - BUSY) / (1 - BUSY))
        late = min(2.0, max(lag / LAG_MS, self._beyond(latency, target)))
        self._late = keep * self._late + (1 - keep) * late
        self._busy = keep * self._busy + (1 - keep) * busy
        # What others leave us is ours, and half of the machine is, whatever they do.
        budget = max(0.5, 1 - max(0.0, load.machine - load.own))
        self._own = keep * self._own + (1 - keep) * load.own / budget
        strain = max(self._late, self._busy)
        self._by_work.move(strain, now)
        free = self._memory.free() if self._memory else None
        if self._memory:
            # Unknown for a moment changes nothing; for longer, it keeps nobody out.
            scarce = 0.0 if free is None else scarcity(free, self._memory.least)
            self._by_memory.move(scarce, now)
            strain = max(strain, scarce)
        self.reading = Reading(lag, latency, target, round(strain, 3), free)
        return self.level

    def _target(self) -> float:
        """What is aimed at; a machine that is slow by itself is not thought to be loaded."""
        return max(self._target_ms, HARDLY * (_typical(self._alone) or 0.0))

    def _beyond(self, latency: float | None, target: float) -> float:
        """How much of what a turn may take beyond what it takes anyway is used up."""
        if latency is None:
            return 0.0
        alone = _typical(self._alone)
        usual = target / 2 if alone is None else alone
        return max(0.0, latency - usual) / (target - usual)


def scarcity(free: float, least: float) -> float:
    """The strain of having so little memory: nobody new is let in where the least is free."""
    if least <= 0:
        return 0.0
    return RISES[Level.SEATS] * max(0.0, PLENTY - free / least) / (PLENTY - 1)


def _typical(turns: Digest) -> float | None:
    return turns.percentiles((0.95 if turns.count >= ENOUGH else 0.5,))[0]


def worked_ms(stages_ms: Mapping[str, float]) -> float | None:
    """From the end of speech to the first sound, less what was waited on purpose.

    A turn ends after a silence, which takes as long on an idle machine. Only the time in which
    something was still to be done tells of the load.
    """
    sent = stages_ms.get("first_sent")
    if sent is None or "speech_end" not in stages_ms:
        return None
    gate, ready = stages_ms.get("gate", sent), stages_ms.get("first_audio", sent)
    if ready > gate:
        begun = stages_ms.get("planned", stages_ms.get("first_token", sent))
        if begun <= gate:  # it was being thought of all the while
            return sent
        ready = max(stages_ms.get("words", gate), stages_ms.get("judged", 0.0))
    return sent - max(0.0, gate - ready)
