"""What contestants are asked: each script in its three ways, told as when it is live."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from models.corpus.exchange import Cue, Exchange, Way
from models.thinking.imagined import imagined
from models.thinking.plan import Heard, ReplyPlan
from models.thinking.report import Case, cases
from models.thinking.told import SYSTEM, Told, note
from models.tuning.examples import asked
from models.tuning.planned import heard, plan_of, planned
from models.types import Turn


class How(StrEnum):
    """How a contestant is made to reply."""

    PLAN = "plan"  # told what was heard and planned, and left to itself
    THINK = "think"  # told what was heard, and to think first
    LIVE = "live"  # as in the running system, with its openings and guards

    @property
    def told(self) -> Told | None:
        return None if self is How.LIVE else Told(self.value)


class Plans(StrEnum):
    """Whose plan the model is told, where it is told one."""

    RULES = "rules"  # as in the running system
    AUTHOR = "author"  # of the corpus: how well a perfect plan would be followed


@dataclass(frozen=True, slots=True)
class Question:
    """What a model reads up to where it speaks; the same question has the same id."""

    id: str
    turns: tuple[Turn, ...]
    told: Told | None = None  # None: nothing is told beside the words


def told_plan(exchange: Exchange, way: Way, told: Told, plans: Plans) -> ReplyPlan:
    """What the note is written from: the author's plan only where a plan is told, and theirs."""
    by_author = told is Told.PLAN and plans is Plans.AUTHOR
    return exchange.plan(way) if by_author else planned(exchange, way)


def of_corpus(exchanges: Iterable[Exchange], told: Told, plans: Plans) -> list[Question]:
    """Script by script, so that a model reads their common beginning once."""
    return [
        Question(
            name(exchange.id, way),
            asked(exchange, told_plan(exchange, way, told, plans), told),
            told,
        )
        for exchange in exchanges
        for way in Way
    ]


def name(script: str, way: Way) -> str:
    return f"{script}/{way}"


@dataclass(frozen=True, slots=True)
class Foreign:
    """A question from outside the corpus, with the answer its authors give."""

    question: Question
    said: str
    heard: str
    reference: str


def of_echomind(sample: Path, told: Told | None) -> list[Foreign]:
    """EchoMind's dialogues, asked alike; plans are by rules, for these have no author's."""
    found = []
    for name, case, cues in _echomind(sample):
        plan = replace(plan_of([_said(case, cues)]), heard=tuple(cues))
        words = f"{case.said} {note(plan, told)}".strip() if told else case.said
        question = Question(name, (Turn("system", SYSTEM), Turn("user", words)), told)
        found.append(Foreign(question, case.said, case.heard, case.reference))
    return found


def live_of_corpus(exchanges: Iterable[Exchange]) -> dict[str, Sequence[Turn]]:
    """The scripts as the running system would hear them, by the questions' names."""
    return {name(each.id, way): heard(each, way) for each in exchanges for way in Way}


def live_of_echomind(sample: Path) -> dict[str, Sequence[Turn]]:
    return {name: [_said(case, cues)] for name, case, cues in _echomind(sample)}


def _echomind(sample: Path) -> list[tuple[str, Case, list[Heard]]]:
    given = cases(sample=sample)[len(cases()) :]
    return [
        (f"echomind-{number}", case, [Cue(name=cue).heard for cue in case.cue.values()])
        for number, case in enumerate(given, 1)
    ]


def _said(case: Case, cues: Iterable[Heard]) -> Turn:
    return Turn("user", case.said, imagined(cues))


def in_json(question: Question) -> str:
    """All of a question that a model reads."""
    return json.dumps([[turn.role, turn.text] for turn in question.turns], ensure_ascii=False)
