"""Which exchanges a headline is over: what people get, not what was tried for comparison. Pure."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from server.scoring.results import Headline
from server.scoring.scored import Row

OWN_TALK = "own talk"
DATA, CUE, CONDITION = "benchmark", "cue_given", "condition"  # attributes that arms differ in
CUES = ("perceived", "none", "true")  # the first that was played is what people get
CLEAN = "clean"
POOLED = ("task", "variant", "prompt", "speech")  # may differ within a headline, which says so
WANT_REPLY = (None, "conversation", "mcq")  # tasks in which silence is no answer


@dataclass(frozen=True, slots=True)
class Arms:
    benchmarks: bool  # people's own talk is told apart from items that were played
    cue: str | None
    condition: str | None

    def has(self, row: Row, but: str = "") -> bool:
        """Whether it belongs to the headline, whatever it is of the attribute `but`."""
        return all(right for name, right in self._checks(row) if name != but)

    def headline(self, rows: Sequence[Row]) -> list[Row]:
        return [row for row in rows if self.has(row)]

    def told(self, rows: Sequence[Row]) -> Headline:
        mine = self.headline(rows)
        asked = [row for row in mine if row.user_item and row.annotation.task in WANT_REPLY]
        return Headline(
            data=sorted({data(row) for row in mine}),
            cue=self.cue,
            condition=self.condition,
            exchanges=len(mine),
            clusters=len({cluster(row) for row in mine}),
            drawn="scripts" if self.benchmarks else "sessions",
            pooled=_pooled(mine),
            aside=self._aside(rows),
            asked=len(asked),
            unanswered=sum(row.reply_item is None for row in asked),
        )

    def _checks(self, row: Row) -> tuple[tuple[str, bool], ...]:
        truth = row.annotation
        return (
            (DATA, (truth.benchmark is not None) == self.benchmarks),
            (CUE, truth.cue_given in (None, self.cue)),
            (CONDITION, (truth.condition or CLEAN) == (self.condition or CLEAN)),
        )

    def _aside(self, rows: Sequence[Row]) -> dict[str, int]:
        why: Counter[str] = Counter()
        for row in rows:
            wrong = next((name for name, right in self._checks(row) if not right), None)
            if wrong == DATA:
                why[OWN_TALK] += 1
            elif wrong == CUE:
                why[f"cue {row.annotation.cue_given}"] += 1
            elif wrong == CONDITION:
                why[row.annotation.condition or CLEAN] += 1
        return dict(why.most_common())


def arms(rows: Sequence[Row]) -> Arms:
    """The clean items with the perceived cue; of a run without them, what comes nearest."""
    benchmarks = any(row.annotation.benchmark is not None for row in rows)
    mine = [row for row in rows if (row.annotation.benchmark is not None) == benchmarks]
    conditions = Counter(row.annotation.condition or CLEAN for row in mine)
    condition = CLEAN if CLEAN in conditions or not mine else conditions.most_common(1)[0][0]
    cues = {
        row.annotation.cue_given for row in mine if (row.annotation.condition or CLEAN) == condition
    }
    cue = next((each for each in CUES if each in cues), None)
    return Arms(benchmarks, cue, condition if benchmarks else None)


def data(row: Row) -> str:
    return row.annotation.benchmark or OWN_TALK


def cluster(row: Row) -> Hashable:
    """What belongs together: every play of a script; of people's own talk, the session."""
    truth = row.annotation
    script = truth.group or truth.item
    return row.session_id if truth.benchmark is None or script is None else (data(row), script)


def _pooled(rows: Sequence[Row]) -> dict[str, list[str]]:
    found = {
        name: sorted({row.attributes[name] for row in rows if name in row.attributes})
        for name in POOLED
    }
    return {name: values for name, values in found.items() if len(values) > 1}
