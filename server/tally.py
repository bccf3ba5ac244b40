"""What one process has counted of its conversations, in a form that adds up over processes."""

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


@dataclass(slots=True)
class Tally:
    opened: int = 0
    refused: int = 0
    recording: int = 0
    replies: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    stopped: Counter[str] = field(default_factory=Counter)
    stages: dict[str, StageTally] = field(default_factory=dict)

    @classmethod
    def of(cls, vitals: Vitals) -> "Tally":
        return cls(
            vitals.opened,
            vitals.refused,
            vitals.recording,
            vitals.replies,
            Counter(vitals.endings),
            Counter(vitals.failures),
            Counter(vitals.stopped),
            {n: StageTally(s.ever, s.lately.digest()) for n, s in vitals.stages.items()},
        )

    def joined(self, others: Iterable["Tally"]) -> "Tally":
        """All together; none of them is changed."""
        whole = Tally()
        for each in (self, *others):
            for name in ("opened", "refused", "recording", "replies"):
                setattr(whole, name, getattr(whole, name) + getattr(each, name))
            for name in ("endings", "failures", "stopped"):
                getattr(whole, name).update(getattr(each, name))
            for name, stage in each.stages.items():
                sum_of = whole.stages.setdefault(name, StageTally())
                sum_of.ever.join(stage.ever)
                sum_of.lately.join(stage.lately)
        return whole

    def to_json(self) -> dict[str, Any]:
        return {
            "opened": self.opened,
            "refused": self.refused,
            "recording": self.recording,
            "replies": self.replies,
            "endings": self.endings,
            "failures": self.failures,
            "stopped": self.stopped,
            "stages": {
                name: [stage.ever.to_json(), stage.lately.to_json()]
                for name, stage in self.stages.items()
            },
        }

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> "Tally":
        return cls(
            told["opened"],
            told["refused"],
            told["recording"],
            told["replies"],
            Counter(told["endings"]),
            Counter(told["failures"]),
            Counter(told["stopped"]),
            {
                name: StageTally(Digest.from_json(ever), Digest.from_json(lately))
                for name, (ever, lately) in told["stages"].items()
            },
        )
