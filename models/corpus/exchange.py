"""One exchange of the corpus: a script, and a reply to each way of saying it."""

from collections.abc import Container, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from models.perception.labels import DIMENSIONS
from models.styles import styled
from models.thinking.plan import Heard, Intent, ReplyPlan, Said, Strategy

Record = TypeVar("Record", bound=BaseModel)
FOLDER = Path(__file__).parent
# Eleven of EchoMind's seventeen topics are published; the others are after what its scripts are
# about.
TOPICS = (
    "school", "work", "family", "health", "beauty", "games", "food", "finance", "sports",
    "entertainment", "technology", "travel", "shopping", "weather", "relationships", "pets", "home",
    "no_specific_topics",
)  # fmt: skip
DIMENSION_OF = {name: each.name for each in DIMENSIONS.values() for name in each.attributes}
SURE, UNSURE = 0.9, 0.6  # confidences that stand for "heard" and "perhaps"
KIND = Literal["neutral", "pleasant", "happy", "surprised", "comforting", "apologetic"]


class Split(StrEnum):
    TRAIN = "train"
    DEV = "dev"
    TEST = "test"


class Way(StrEnum):
    """How the last words of a script are said."""

    TARGET = "target"
    NEUTRAL = "neutral"
    ALTERNATIVE = "alternative"


class CorpusError(Exception):
    """The corpus cannot be read; the message says where and why."""


def _one_of(known: Container[str]) -> AfterValidator:
    def checked(value: str) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is not known")
        return value

    return AfterValidator(checked)


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Cue(_Record):
    """Something to be heard beside the words; `sure` is False where it is only a guess."""

    name: Annotated[str, _one_of(DIMENSION_OF)]
    sure: bool = True

    @property
    def heard(self) -> Heard:
        confidence = SURE if self.sure else UNSURE
        return Heard(DIMENSION_OF[self.name], self.name, confidence, self.sure)


class Line(_Record):
    """One turn of the dialogue before the reply; `cues` are those of a user's earlier turn."""

    role: Literal["user", "assistant"]
    text: Annotated[str, Field(min_length=1)]
    cues: tuple[Cue, ...] = ()


class Variant(_Record):
    """What is heard in the last turn, what is thought about it, and the reply."""

    cues: tuple[Cue, ...]
    need: Annotated[str, Field(min_length=1)]
    strategies: Annotated[tuple[Strategy, ...], Field(min_length=1, max_length=3)]
    emotion: KIND
    reply: Annotated[str, Field(min_length=1)]


class Exchange(_Record):
    """A script with its three ways of being said."""

    id: str
    topic: Annotated[str, _one_of(TOPICS)]
    intent: Intent
    about: str
    lines: Annotated[tuple[Line, ...], Field(min_length=1, max_length=7)]
    variants: dict[Way, Variant]

    @property
    def words(self) -> str:
        """What is said last, and in three ways."""
        return self.lines[-1].text

    @property
    def turns(self) -> int:
        """Of the user."""
        return sum(line.role == "user" for line in self.lines)

    def plan(self, way: Way) -> ReplyPlan:
        """The author's plan as the thinker would hand it on."""
        variant = self.variants[way]
        style = styled(variant.emotion)
        return ReplyPlan(
            said=Said(self.intent, variant.need, self.about, self.topic),
            heard=tuple(cue.heard for cue in variant.cues),
            strategies=variant.strategies,
            emotion=variant.emotion,
            target=style.target,
            style=style,
            source="author",
        )


def read(file: Path, shape: type[Record]) -> Iterator[Record]:
    """The records of a file, in its order."""
    if not file.is_file():
        raise CorpusError(f"There is no {file}.")
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield shape.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise CorpusError(f"{file.name}:{number}: {where}: {first['msg']}") from error


def load(split: Split, folder: Path = FOLDER) -> list[Exchange]:
    return list(read(folder / f"{split}.jsonl", Exchange))
