"""DREAM: questions on everyday dialogues, answered by the likeliest of the given choices.

DREAM is by Sun and others (TACL 2019), for research only; it is not part of this project.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.thinking.told import SYSTEM
from models.tuning.evaluation.errors import EvaluationError
from models.tuning.evaluation.intervals import figure
from models.tuning.evaluation.weighing import Weigher
from models.types import Turn


@dataclass(frozen=True, slots=True)
class Choice:
    """One question, and which of its answers is right."""

    asked: str
    answers: tuple[str, ...]
    right: int


@dataclass(frozen=True, slots=True)
class Dialogue:
    lines: tuple[str, ...]
    choices: tuple[Choice, ...]


def read(file: Path) -> list[Dialogue]:
    try:
        return [
            Dialogue(
                tuple(lines),
                tuple(
                    Choice(
                        each["question"],
                        tuple(each["choice"]),
                        each["choice"].index(each["answer"]),
                    )
                    for each in questions
                ),
            )
            for lines, questions, _ in json.loads(file.read_text("utf-8"))
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise EvaluationError(f"{file.name} is not a file of DREAM's.") from error


def some(dialogues: Sequence[Dialogue], most: int, seed: int) -> list[Dialogue]:
    """So many of them, by chance; 0 takes all."""
    if not most or most >= len(dialogues):
        return list(dialogues)
    return random.Random(seed).sample(list(dialogues), most)


def accuracy(
    dialogues: Sequence[Dialogue],
    weigher: Weigher,
    seed: int,
    report: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    right = []
    for number, dialogue in enumerate(dialogues, 1):
        said = "\n".join(dialogue.lines)
        row = []
        for choice in dialogue.choices:
            turns = [Turn("system", SYSTEM), Turn("user", f"{said}\n\n{choice.asked}")]
            weights = weigher.answers(turns, choice.answers)
            row.append(float(max(range(len(weights)), key=weights.__getitem__) == choice.right))
        right.append(row)
        report(number)
    choices = [len(each.answers) for dialogue in dialogues for each in dialogue.choices]
    by_chance = sum(1 / count for count in choices) / max(1, len(choices))
    return {"accuracy": figure(right, seed), "by chance": round(by_chance, 4)}
