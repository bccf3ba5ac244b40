"""What is to be played: each item in every way that was asked for. Pure."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

from server.scoring.annotation import Annotation, CueGiven, Prompt
from server.scoring.bench.conditions import Condition
from server.scoring.bench.errors import BenchmarkError
from server.scoring.bench.item import CONVERSED, Item

# What tells two plays of a data set apart.
KEY = (
    "benchmark", "item", "speech", "task", "variant", "condition", "context", "cue_given", "prompt",
)  # fmt: skip
TASKS = (CONVERSED, "asr", "mcq")


@dataclass(frozen=True, slots=True)
class Situation:
    """A context for every item, or for one; the right reply in it, if somebody knows it."""

    text: str
    item: str | None = None
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a data set is played, and how."""

    conditions: Sequence[Condition]
    variants: Sequence[str] = ("target", "neutral", "alternative")
    tasks: Sequence[str] = TASKS
    cues: Sequence[CueGiven] = ("perceived",)
    prompt: Prompt = "zero"
    situations: Sequence[Situation] = ()
    limit: int | None = None  # of items


@dataclass(frozen=True, slots=True)
class Play:
    item: Item
    condition: Condition
    annotation: Annotation  # the item's, and how it is played

    @property
    def key(self) -> tuple[Any, ...]:
        return key(self.annotation)

    @property
    def name(self) -> str:
        """For people; tells nothing that was said."""
        told = self.annotation
        ways = (told.task, told.variant, self.condition.name, told.cue_given)
        return " ".join([told.item or self.item.audio.stem, *(way for way in ways if way)])


def key(annotation: Annotation) -> tuple[Any, ...]:
    return tuple(getattr(annotation, name) for name in KEY)


def plays(items: Iterable[Item], wanted: Wanted) -> Iterator[Play]:
    fitting = (item for item in items if _tasks(item, wanted))
    for item in _limited(fitting, wanted.limit):
        for task in _tasks(item, wanted):
            for each in _situated(_as(item, task), wanted.situations):
                for condition in wanted.conditions:
                    for cue in _cues(each, wanted.cues):
                        yield _play(each, condition, cue, wanted.prompt)


def situations(file: Path) -> list[Situation]:
    """A line each, for all items; or a CSV with the columns `context` and `item`, `reference`."""
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise BenchmarkError(f"{file} cannot be read.") from None
    if file.suffix.lower() == ".csv":
        try:
            found = list(_rows(csv.DictReader(StringIO(text, newline="")), file))
        except csv.Error:
            raise BenchmarkError(f"{file} cannot be read as a table.") from None
    else:
        found = [Situation(line.strip()) for line in text.splitlines() if line.strip()]
    if not found:
        raise BenchmarkError(f"{file} holds no situation.")
    return found


def _rows(rows: "csv.DictReader[str]", file: Path) -> Iterator[Situation]:
    if "context" not in (rows.fieldnames or ()):
        raise BenchmarkError(f"{file} has no column 'context'.")
    for row in rows:
        if context := (row["context"] or "").strip():
            yield Situation(context, row.get("item") or None, row.get("reference") or None)


def _tasks(item: Item, wanted: Wanted) -> list[str]:
    """Of those wanted; what can be talked about can be written down, too."""
    told = item.annotation
    if told.variant is not None and told.variant not in wanted.variants:
        return []
    tasks = [item.task] if item.task in wanted.tasks else []
    if item.task == CONVERSED and told.text and "asr" in wanted.tasks:
        tasks.append("asr")
    return tasks


def _as(item: Item, task: str) -> Item:
    if task == item.task:
        return item
    unanswered = {"task": task, "reference": None, "alternative_reference": None}
    return replace(item, annotation=item.annotation.model_copy(update=unanswered))


def _limited(items: Iterable[Item], limit: int | None) -> Iterator[Item]:
    """So many at most; a group of known size is played whole or not at all."""
    left, begun = limit, set()
    for item in items:
        group = item.annotation.group if item.annotation.group_size else None
        size = item.annotation.group_size or 1
        if left is None or group in begun:
            yield item
        elif size <= left:
            left -= size
            if group is not None:
                begun.add(group)
            yield item
        elif left == limit:
            raise BenchmarkError(f"--limit {limit} is too few: {size} items belong together.")
        elif not begun:
            return


def _situated(item: Item, found: Sequence[Situation]) -> Iterator[Item]:
    told = item.annotation
    suits = [each for each in found if each.item in (None, told.item)]
    if not suits or item.task != CONVERSED:
        yield item
        return
    for each in suits:
        # A reply that was right without the situation need not be right in it.
        context = {"context": each.text, "setting": "context", "reference": each.reference}
        context["alternative_reference"] = None
        yield replace(item, annotation=told.model_copy(update=context))


def _cues(item: Item, wanted: Sequence[CueGiven]) -> Sequence[CueGiven]:
    """Words are found without any cue; and no true one is given where none is known."""
    if item.task == "asr":
        return ("perceived",)
    if item.annotation.cue is None:
        known: list[CueGiven] = [each for each in wanted if each != "true"]
        return known
    return wanted


def _play(item: Item, condition: Condition, cue: CueGiven, prompt: Prompt) -> Play:
    made = {"condition": condition.name, "cue_given": cue}
    if item.task == CONVERSED:
        made["prompt"] = prompt
    return Play(item, condition, item.annotation.model_copy(update=made))
