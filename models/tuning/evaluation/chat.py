"""Plain questions: has a model that learned to listen forgotten the rest?"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.thinking.told import SYSTEM
from models.tuning.evaluation.intervals import figure
from models.tuning.evaluation.manner import loops
from models.tuning.evaluation.questions import Question
from models.tuning.evaluation.replies import Answer
from models.types import Turn

TABLE = Path(__file__).with_name("chat.toml")


@dataclass(frozen=True, slots=True)
class Plain:
    """A question, and words of which a sane answer has one."""

    question: Question
    words: tuple[str, ...]


def plain(file: Path = TABLE) -> list[Plain]:
    rows = tomllib.loads(file.read_text("utf-8"))["questions"]
    return [
        Plain(
            Question(f"chat-{number}", (Turn("system", SYSTEM), Turn("user", row["ask"]))),
            tuple(row["words"]),
        )
        for number, row in enumerate(rows, 1)
    ]


def sane(answer: str, words: Sequence[str]) -> bool:
    """Whether one of the words is there, and the answer does not go in circles."""
    listed = "|".join(map(re.escape, words))
    return bool(re.search(rf"\b(?:{listed})\b", answer, re.IGNORECASE)) and not loops(answer)


def sanity(asked: Sequence[Plain], answers: Mapping[str, Answer], seed: int) -> dict[str, Any]:
    right = {each.question.id: sane(answers[each.question.id].speech, each.words) for each in asked}
    return {
        "sane": figure([[float(each)] for each in right.values()], seed),
        "missed": [
            {"asked": each.question.turns[-1].text, "said": answers[each.question.id].speech}
            for each in asked
            if not right[each.question.id]
        ],
    }
