"""Full-Duplex-Bench 1 and 1.5: folders of one clip each, played on whatever is answered."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import orjson

from server.scoring.annotation import Annotation, Task
from server.scoring.bench.errors import BenchmarkError
from server.scoring.bench.item import DataSet, Item
from server.scoring.bench.loaders.reading import Record, records, seconds, text

NAME = "fullduplex"
# By what the name of the folder of folders holds; the longer ones first.
TASKS: Mapping[str, Task] = {
    "user_backchannel": "user_backchannel",
    "talking_to_other": "talking_to_other",
    "background_speech": "background_speech",
    "pause_handling": "pause",
    "turn_taking": "turn_taking",
    "user_interruption": "user_interruption",
    "backchannel": "backchannel",
}
MARKS = ("turn_taking.json", "interrupt.json", "pause.json")


def load(folder: Path) -> Iterator[Item]:
    for clip in sorted(folder.rglob("input.wav")):
        task = _task(clip.parent)
        if task:
            yield _item(clip, task)


def _task(folder: Path) -> Task | None:
    """Interruptions are in both versions: those of the first have an interrupt.json."""
    for name in (folder.parent.name.lower(), folder.parent.parent.name.lower()):
        for part, task in TASKS.items():
            if part in name:
                first = (folder / "interrupt.json").is_file()
                return "interruption" if task == "user_interruption" and first else task
    return None


def _item(clip: Path, task: Task) -> Item:
    folder = clip.parent
    family = folder.parent.name if folder.parent.name.lower() not in ("", ".") else task
    meta, marks = _meta(folder), _marks(folder)
    context, turn = text(meta, "context_text"), text(meta, "current_turn_text")
    if marks:
        context = context or text(marks[0], "context")
        turn = turn or text(marks[0], "interrupt")
    spoken = " ".join(each for each in (context, turn) if each)
    times = seconds(meta.get("timestamps")) or (seconds(marks[0].get("timestamp")) if marks else [])
    overlap = end = None
    if len(times) >= 2 and task not in ("turn_taking", "pause"):
        overlap = times[0], times[1]
    elif times and task == "turn_taking":
        end = times[0]
    return Item(
        Annotation(
            benchmark=NAME,
            item=f"{family}/{folder.name}",
            task=task,
            kind=family,
            speech=_speech(family),
            text=spoken or _transcript(folder),
            labels={"turn": turn} if turn else {},
        ),
        clip,
        overlap_sec=overlap,
        end_sec=end,
    )


def _speech(family: str) -> Literal["human", "synthetic"] | None:
    if "synthetic" in family:
        return "synthetic"
    return "human" if family.startswith(("candor", "icc")) else None


def _meta(folder: Path) -> Record:
    """`metadata.json`, or the only JSON in `metadata/`."""
    for file in (folder / "metadata.json", *sorted((folder / "metadata").glob("*.json"))):
        if file.is_file():
            return _object(file)
    return {}


def _marks(folder: Path) -> list[Record]:
    for name in MARKS:
        if (folder / name).is_file():
            return list(records(folder / name))
    return []


def _transcript(folder: Path) -> str | None:
    file = folder / "transcription.json"
    if not file.is_file():
        return None
    told = list(records(file))
    return text(_object(file), "text") or " ".join(
        word for each in told if (word := text(each, "text", "word"))
    )


def _object(file: Path) -> Record:
    try:
        told = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        raise BenchmarkError(f"{file} cannot be read.") from None
    return told if isinstance(told, dict) else {}


DATA_SET = DataSet(
    NAME,
    "Full-Duplex-Bench",
    "https://github.com/DanielLin94144/Full-Duplex-Bench",
    "synthetic parts MIT, Candor and ICC parts CC BY-NC 4.0",
    "it holds folders like synthetic_user_interruption/1/input.wav",
    load,
)
