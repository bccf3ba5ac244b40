"""Plain questions with short answers: who learns to listen should not forget what it knows."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from models.corpus.exchange import FOLDER, CorpusError

FILE = "plain.jsonl"


class Plain(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    question: Annotated[str, Field(min_length=1)]
    answer: Annotated[str, Field(min_length=1)]


def load(folder: Path = FOLDER) -> list[Plain]:
    lines = (folder / FILE).read_text("utf-8").splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(Plain.model_validate_json(line))
        except ValidationError as error:
            problem = error.errors()[0]["msg"]
            raise CorpusError(f"{FILE}, line {number}: {problem}") from None
    return found
