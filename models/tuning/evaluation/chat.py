"""Plain questions: has a model that learned to listen forgotten the rest?

Each is asked twice: as a listener, which is what tuned models are told to be, and with no word
about that, as the base knows itself. What a person would hear is a third way, where that is asked
for: there the model is told a note, and kept from saying what it is not sure of.
"""

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

AS_LISTENER, UNTOLD, LIVE = "as a listener", "untold", "as it is live"
TABLE = Path(__file__).with_name("chat.toml")


@dataclass(frozen=True, slots=True)
class Plain:
    """A question, and words of which a sane answer has one."""

    question: Question
    words: tuple[str, ...]


def plain(file: Path = TABLE) -> dict[str, list[Plain]]:
    """The same questions in both ways of asking the model itself."""
    rows = tomllib.loads(file.read_text("utf-8"))["questions"]
    before = {AS_LISTENER: (Turn("system", SYSTEM),), UNTOLD: ()}
    return {
        way: [
            Plain(
                Question(f"{way}-{number}", (*told, Turn("user", row["ask"]))), tuple(row["words"])
            )
            for number, row in enumerate(rows, 1)
        ]
        for way, told in before.items()
    }


def live(file: Path = TABLE) -> list[Plain]:
    """The same questions as someone says them to the running system."""
    return [
        Plain(Question(f"{LIVE}-{number}", each.question.turns), each.words)
        for number, each in enumerate(plain(file)[UNTOLD], 1)
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
