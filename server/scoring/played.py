"""What a benchmark run says of itself: the data set, its licence, and items that failed."""

from pydantic import ValidationError

from server.scoring.results import PlayedSet
from server.sessions.place import Place, StorageFailed

BENCH_FILE = "bench.json"


def played(runs: str) -> PlayedSet | None:
    """Of a result whose sessions lie there; None where nothing that can be read tells."""
    try:
        told = Place.at(runs.rpartition("/")[0]).read(BENCH_FILE)
        return PlayedSet.model_validate_json(told)
    except (OSError, StorageFailed, ValidationError):
        return None
