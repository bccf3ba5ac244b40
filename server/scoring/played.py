"""The files of a benchmark's result: what it says of itself, and each item that was played."""

from pydantic import BaseModel, ConfigDict, ValidationError

from server.scoring.annotation import Annotation, Number
from server.scoring.results import PlayedSet
from server.sessions.place import Place, StorageFailed

BENCH_FILE, ITEMS_FILE, RUNS = "bench.json", "items.jsonl", "runs"


class Played(BaseModel):
    """A line of `items.jsonl`: an exchange, and what is known of it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    session_id: str
    number: Number = 0
    annotation: Annotation = Annotation()


def played(runs: str) -> PlayedSet | None:
    """Of a result whose sessions lie there; None where nothing that can be read tells."""
    try:
        told = Place.at(runs.rpartition("/")[0]).read(BENCH_FILE)
        return PlayedSet.model_validate_json(told)
    except (OSError, StorageFailed, ValidationError):
        return None
