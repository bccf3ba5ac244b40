"""One thing to play to the server, with the truth about it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from server.scoring.annotation import Annotation

CONVERSED = "conversation"  # of --tasks: all that are talked through, whatever is looked at


@dataclass(frozen=True, slots=True)
class Item:
    annotation: Annotation
    audio: Path
    about: str | None = None  # the coarse dimension that the script was written for
    overlap_sec: tuple[float, float] | None = None  # in the clip: where it talks over the reply
    end_sec: float | None = None  # where in the clip the turn ends, if the data set says so

    @property
    def task(self) -> str:
        """As --tasks names it."""
        task = self.annotation.task
        return task if task in ("asr", "mcq") else CONVERSED


@dataclass(frozen=True, slots=True)
class DataSet:
    """What is known of a data set before it is looked at; nothing is ever downloaded."""

    name: str
    title: str
    source: str  # where to get it
    licence: str
    looks: str  # what its folder holds
    load: Callable[[Path], Iterator[Item]]

    @property
    def where(self) -> str:
        return f"Get {self.title} at {self.source} ({self.licence})"
