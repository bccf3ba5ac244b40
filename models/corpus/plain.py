"""Plain questions with short answers: who learns to listen should not forget what it knows."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from models.corpus.exchange import FOLDER, read

FILE = "plain.jsonl"


class Plain(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    question: Annotated[str, Field(min_length=1)]
    answer: Annotated[str, Field(min_length=1)]


def load(folder: Path = FOLDER) -> list[Plain]:
    return list(read(folder / FILE, Plain))
