"""What one process has counted, and how it is just now, in a form that adds up over processes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from server.percentiles import Digest
from server.vitals import Vitals


@dataclass(slots=True)
class StageTally:
    ever: Digest = field(default_factory=Digest)
    lately: Digest = field(default_factory=Digest)


COUNTS = (
    "opened",
    "refused",
    "queued",
    "left_queue",
    "recordings_begun",
    "turns",
    "replies",
    "holds",
    "interruptions",
    "underruns",
    "resumed",
    "resumes_failed",
    "wrong_tokens",
    "stalls",
)
NOW = ("recording", "seats", "waiting", "not_ready")  # added up too
WORST = ("worst_stall_ms", "pressure")  # of these, the greatest
COUNTS_BY_NAME = ("endings", "failures", "stopped", "refusals", "openings")
BY_NAME = (*COUNTS_BY_NAME, "unable")


@dataclass(slots=True)
class Tally:
    opened: int = 0
    refused: int = 0
    queued: int = 0
    left_queue: int = 0
    recordings_begun: int = 0
    turns: int = 0
    replies: int = 0
    holds: int = 0
    interruptions: int = 0
    underruns: int = 0
    resumed: int = 0
    resumes_failed: int = 0
    wrong_tokens: int = 0
    stalls: int = 0
    worst_stall_ms: float = 0.0
    recording: int = 0
    seats: int = 0  # that a process has or would give, of those of the whole server
    waiting: int = 0
    pressure: int = 0
    not_ready: int = 0  # processes in which no conversation could be held now
    endings: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    stopped: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    openings: Counter[str] = field(default_factory=Counter)  # of breakers, by role
    unable: Counter[str] = field(default_factory=Counter)  # processes with an open one, by role
    percepts: Digest = field(default_factory=Digest)
    stages: dict[str, StageTally] = field(default_factory=dict)

    @classmethod
    def of(cls, vitals: Vitals) -> "Tally":
        counts: dict[str, Any] = {name: getattr(vitals, name) for name in COUNTS}
        return cls(
            **counts,
            recording=vitals.recording,
            endings=Counter(vitals.endings),
            failures=Counter(vitals.failures),
            stopped=Counter(vitals.stopped),
            refusals=Counter(vitals.refusals),
            worst_stall_ms=vitals.worst_stall_ms,
            percepts=vitals.percepts,
            stages={n: StageTally(s.ever, s.lately.digest()) for n, s in vitals.stages.items()},
        )

    def joined(self, others: Iterable["Tally"]) -> "Tally":
        """All together; none of them is changed."""
        whole = Tally()
        for each in (self, *others):
            for name in (*COUNTS, *NOW):
                setattr(whole, name, getattr(whole, name) + getattr(each, name))
            for name in WORST:
                setattr(whole, name, max(getattr(whole, name), getattr(each, name)))
            for name in BY_NAME:
                getattr(whole, name).update(getattr(each, name))
            whole.percepts.join(each.percepts)
            for name, stage in each.stages.items():
                sum_of = whole.stages.setdefault(name, StageTally())
                sum_of.ever.join(stage.ever)
                sum_of.lately.join(stage.lately)
        return whole

    def counted(self) -> "Tally":
        """What never falls, for it tells of all the time until now; the rest is of the moment."""
        names = (*COUNTS, "worst_stall_ms", *COUNTS_BY_NAME, "percepts")
        ever: dict[str, Any] = {name: getattr(self, name) for name in names}
        return Tally(**ever, stages={n: StageTally(s.ever) for n, s in self.stages.items()})

    def momentary(self) -> "Tally":
        """The rest: how it is just now."""
        names = (*NOW, "pressure", "unable")
        now: dict[str, Any] = {name: getattr(self, name) for name in names}
        stages = {n: StageTally(lately=s.lately) for n, s in self.stages.items()}
        return Tally(**now, stages=stages)

    def to_json(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in (*COUNTS, *NOW, *WORST, *BY_NAME)},
            "percepts": self.percepts.to_json(),
            "stages": {
                name: [stage.ever.to_json(), stage.lately.to_json()]
                for name, stage in self.stages.items()
            },
        }

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> "Tally":
        counts: dict[str, Any] = {name: told[name] for name in (*COUNTS, *NOW, *WORST)}
        named: dict[str, Any] = {name: Counter(told[name]) for name in BY_NAME}
        return cls(
            **counts,
            **named,
            percepts=Digest.from_json(told["percepts"]),
            stages={
                name: StageTally(Digest.from_json(ever), Digest.from_json(lately))
                for name, (ever, lately) in told["stages"].items()
            },
        )
