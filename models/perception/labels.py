"""The names of what can be heard, read from `labels.toml`."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

UNSCORED = "unscored"

_TABLE = tomllib.loads(Path(__file__).with_name("labels.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Dimension:
    """One of EchoMind's twelve, with its attributes and the answer that is none of them."""

    name: str
    group: str
    field: str  # the percept's key that holds it
    attributes: tuple[str, ...]
    rest: str | None

    @property
    def exclusive(self) -> bool:
        """Whether exactly one answer is true: those have a rest, or leave no room for one."""
        return self.rest is not None or self.name == "gender"

    @property
    def answers(self) -> tuple[str, ...]:
        return self.attributes if self.rest is None else (*self.attributes, self.rest)


DIMENSIONS = {
    name: Dimension(name, row["group"], row["field"], tuple(row["attributes"]), row.get("rest"))
    for name, row in _TABLE["dimensions"].items()
}
BEYOND: dict[str, tuple[str, ...]] = {
    field: tuple(names) for field, names in _TABLE["beyond"].items()
}
EMOTIONS = DIMENSIONS["emotion"].answers
EVENTS = (*DIMENSIONS["nonverbal"].attributes, *BEYOND["events"])
VOCAL = (*EVENTS, "sobbing", "breath")  # what a person does at some moment, beside speaking
PHYSIOLOGICAL = DIMENSIONS["physiological"].attributes
ENVIRONMENT = tuple(
    attribute
    for dimension in DIMENSIONS.values()
    if dimension.field == "environment"
    for attribute in dimension.attributes
)

# A manifest's columns that can be scored.
COLUMNS = tuple(_TABLE["manifest"])


def attribute(column: str, spelling: str) -> str | None:
    """Our name for a manifest's cell; UNSCORED where we have none, None where it is not known."""
    found: str | None = _TABLE["manifest"][column].get(spelling.strip().lower())
    return found


def spellings(column: str, attribute: str) -> tuple[str, ...]:
    """How a manifest's column may spell one of our names."""
    return tuple(s for s, name in _TABLE["manifest"][column].items() if name == attribute)
