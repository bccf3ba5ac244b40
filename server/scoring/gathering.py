"""What comes of scoring, as it comes: light rows in memory, the rest on disk."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from server.scoring.planning import Plan
from server.scoring.scored import Broken, Row, Usage
from server.scoring.spool import Spool
from server.scoring.telling import MODELS_USED, light
from server.scoring.working import COUNTED, Over, Told
from server.sessions.format import Rating


@dataclass(slots=True)
class Gathered:
    exchanges: Spool
    answers: Spool
    broken: list[Broken]
    left_out: Counter[str]
    rows: list[Row] = field(default_factory=list)
    sessions: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    ratings: list[tuple[str, Rating]] = field(default_factory=list)
    usage: dict[str, Usage] = field(default_factory=dict)  # by judge

    @classmethod
    def of(cls, plan: Plan, exchanges: Spool, answers: Spool) -> "Gathered":
        return cls(exchanges, answers, list(plan.broken), Counter(plan.left_out))

    def add(self, told: Told) -> None:
        session_id = told.row.session_id
        self.rows.append(light(told.row))
        self.exchanges.add(session_id, told.line)
        for answer in told.answers:
            self.answers.add(session_id, answer)

    def end(self, over: Over) -> None:
        self.broken += over.problems
        if over.left_out is not None:
            self.left_out[over.left_out] += 1
        if over.session is not None:
            models = sys.intern(str(over.session.get(MODELS_USED, "")))
            self.sessions[over.session_id] = {**over.session, MODELS_USED: models}
        self.ratings += [(over.session_id, rating) for rating in over.ratings]
        for used in over.usage:
            self.usage[used.judge] = _sum(self.usage.get(used.judge), used)

    def arrange(self, session_ids: Sequence[str]) -> None:
        """In this order, whoever was done first: the same draws meet the same sessions."""
        places = {session_id: place for place, session_id in enumerate(session_ids)}
        self.rows.sort(key=lambda row: (places[row.session_id], row.number))
        self.ratings.sort(key=lambda each: places[each[0]])
        self.sessions = {each: self.sessions[each] for each in places if each in self.sessions}

    def drop(self, gone: set[str]) -> None:
        """Sessions that may no longer be scored, as if they had never been."""
        self.rows = [row for row in self.rows if row.session_id not in gone]
        self.ratings = [each for each in self.ratings if each[0] not in gone]
        self.broken = [each for each in self.broken if each.where not in gone]
        for session_id in gone:
            self.sessions.pop(session_id, None)

    def is_in(self, session_id: str) -> bool:
        return session_id in self.sessions


def _sum(before: Usage | None, used: Usage) -> Usage:
    if before is None:
        return used
    counts = {name: getattr(before, name) + getattr(used, name) for name in COUNTED}
    costs = before.cost, used.cost
    cost = None if None in costs else sum(each for each in costs if each is not None)
    return Usage(used.judge, **counts, cost=cost)
