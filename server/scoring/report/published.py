"""The tables others have published, and what of ours may stand beside what of theirs."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

FILE = Path(__file__).with_name("published.toml")


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Column(Part):
    title: str
    unit: str = ""
    higher_is_better: bool | None = True
    ours: str | None = None  # our metric of the same definition; none: we have none
    tasks: tuple[str, ...] = ()  # of our items: the first that there are values of; none: any
    speech: Literal["human", "synthetic"] | None = None  # of our items; none: any
    encoder: str = ""  # the network theirs was made with, if it matters
    scale: float = 1.0  # ours times this is in their unit
    relation: Literal["computed", "judged", "caution"] = "computed"
    note: str = ""
    never: tuple[str, ...] = ()  # metrics of ours that look alike and must not stand here


class Published(Part):
    name: str
    title: str
    benchmark: str | None = None  # as annotations name it
    apart: tuple[str, ...] = (
        "cue_given",
        "prompt",
    )  # what makes a row of ours, beside the data set
    about: str
    source: str
    judge: str
    licence: str
    columns: tuple[Column, ...]
    rows: dict[str, tuple[float | str, ...]]  # "" where nothing was published


@cache
def tables() -> tuple[Published, ...]:
    told = tomllib.loads(FILE.read_text("utf-8"))
    return tuple(Published.model_validate(each) for each in told["tables"])
