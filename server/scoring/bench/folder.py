"""The folder of a benchmark's result: what was played, how, and what became of it."""

import os
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, Field, ValidationError

from server.recording.whole_files import PRIVATE_FOLDER
from server.scoring.bench.errors import BenchmarkError
from server.scoring.bench.fetching import public
from server.scoring.bench.planning import key
from server.scoring.played import BENCH_FILE, ITEMS_FILE, RUNS, Played
from server.scoring.results import FailedItem, PlayedSet
from server.sessions.place import Place

TOLD = 100  # failures that are told one by one


class Benchmark(PlayedSet):
    """`bench.json`, whole; a report tells the part of it that is a PlayedSet."""

    schema_version: int = 1
    url: Annotated[str, AfterValidator(public)]  # a login stays with whoever typed it
    began: datetime
    ended: datetime | None = None
    settings: dict[str, Any] = {}
    software: str | None = None
    models: dict[str, Any] = Field({}, description="The server's, as its sessions name them.")


@dataclass(slots=True)
class ResultFolder:
    path: Path
    about: Benchmark
    done: set[tuple[Any, ...]] = field(default_factory=set)
    _problems: Counter[str] = field(default_factory=Counter)

    @classmethod
    def open(cls, path: Path, about: Benchmark) -> "ResultFolder":
        """A new one, or one to go on with."""
        try:
            path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            before, played = _before(path), _mended(path / ITEMS_FILE)
        except OSError as error:
            raise BenchmarkError(f"{path} cannot be written to: {error.strerror}.") from None
        if before is not None:
            if before.name != about.name:
                raise BenchmarkError(f"{path} holds a run of {before.name}; choose another --out.")
            about = about.model_copy(
                update={"began": before.began, "software": before.software, "models": before.models}
            )
        folder = cls(path, about)
        folder.done = {key(each.annotation) for each in played}
        return folder

    @property
    def runs(self) -> Place:
        return Place.at(self.path / RUNS)

    def add(self, played: Played) -> None:
        """Its session lies in the runs already."""
        line = played.model_dump_json(exclude_defaults=True).encode() + b"\n"
        with (self.path / ITEMS_FILE).open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.done.add(key(played.annotation))

    def fail(self, item: str, problem: str) -> None:
        self._problems[problem] += 1
        self.about.failures.append(FailedItem(item=item, problem=problem))

    def write(self, wanted: int, *, over: bool = False) -> None:
        told = self.about.model_copy(
            update={
                "wanted": wanted,
                "played": len(self.done),
                "failed": self._problems.total(),
                "problems": dict(self._problems.most_common()),
                "failures": self.about.failures[:TOLD],
                "ended": datetime.now(UTC) if over else None,
            }
        )
        Place.at(self.path).write(BENCH_FILE, told.model_dump_json(indent=2).encode() + b"\n")


def _before(path: Path) -> Benchmark | None:
    try:
        return Benchmark.model_validate_json((path / BENCH_FILE).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        raise BenchmarkError(f"{path / BENCH_FILE} cannot be read; choose another --out.") from None


def _mended(file: Path) -> list[Played]:
    """The lines that are whole; one that was broken off by a crash is cut away."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return []
    kept = data[: data.rfind(b"\n") + 1]
    if kept != data:
        Place.at(file.parent).write(file.name, kept)
    try:
        return [Played.model_validate(orjson.loads(line)) for line in kept.splitlines() if line]
    except (ValidationError, orjson.JSONDecodeError):
        raise BenchmarkError(f"{file} has a line that cannot be read.") from None
