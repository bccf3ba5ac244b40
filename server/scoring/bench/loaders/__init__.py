"""The data sets that can be played, by name."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from server.scoring.bench.errors import BenchmarkError
from server.scoring.bench.item import DataSet, Item

NAMES = ("echomind", "empathyeval", "echat", "vocalbench", "fullduplex", "csv")
_MODULES = {"csv": "table"}  # whose name would hide another


def data_set(name: str) -> DataSet:
    if name not in NAMES:
        raise BenchmarkError(f"There is no benchmark '{name[:40]}'; there are {', '.join(NAMES)}.")
    found: DataSet = import_module(f"{__name__}.{_MODULES.get(name, name)}").DATA_SET
    return found


def load(name: str, folder: Path) -> Iterator[Item]:
    """The items of a data set that lies in a folder; one sentence if it does not."""
    chosen = data_set(name)
    if not folder.exists():
        raise BenchmarkError(f"{folder} is not there. {chosen.where}; nothing is downloaded here.")
    found = False
    for item in chosen.load(folder):
        found = True
        yield item
    if not found:
        raise BenchmarkError(
            f"{folder} does not look like {chosen.title}: {chosen.looks}. {chosen.where}."
        )
