"""EmpathyEval: an utterance in a situation, and replies of which one is the most empathetic."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from server.scoring.annotation import Annotation
from server.scoring.bench.errors import BenchmarkError
from server.scoring.bench.item import DataSet, Item
from server.scoring.bench.loaders.echomind import ANSWERS, letter
from server.scoring.bench.loaders.reading import Record, records, text, within

NAME = "empathyeval"
# What ties the items of a group together, by the corpus a release is named after.
GROUPED = {"meld": re.compile(r"_\d+$"), "emovdb": re.compile(r"_e\d+$")}
OPTION = re.compile(r"opt-([A-Z])", re.IGNORECASE)


def load(folder: Path) -> Iterator[Item]:
    items = list(_items(folder))
    sizes = Counter(item.annotation.group for item in items)
    for item in items:
        size = {"group_size": sizes[item.annotation.group]}
        yield replace(item, annotation=item.annotation.model_copy(update=size))


def _items(folder: Path) -> Iterator[Item]:
    for file in sorted(folder.rglob("*.json")):
        for record in records(file):
            if text(record, "utterance_audio") and isinstance(record.get("options"), dict):
                yield _item(record, file)


def _item(record: Record, file: Path) -> Item:
    name, audio = text(record, "question_id"), str(text(record, "utterance_audio"))
    if name is None:
        raise BenchmarkError(f"An item of {file} has no question_id.")
    corpus = next((each for each in ("gigaspeech", "meld", "emovdb") if each in file.stem), "")
    options = {str(key): str(told) for key, told in record["options"].items()}
    return Item(
        Annotation(
            benchmark=NAME,
            item=name,
            group=_group(corpus, name, audio),
            task="empathy_choice",
            setting=_setting(file),
            topic=corpus or None,
            text=text(record, "utterance"),
            context=text(record, "context"),
            reference=text(record, "response"),
            question="Which reply is the most empathetic?",
            options=tuple(
                f"{_letter(key)}. {within(file.parent, told)}" for key, told in options.items()
            ),
            answer=_answer(record),
        ),
        within(file.parent, audio),
    )


def _group(corpus: str, name: str, audio: str) -> str:
    """Items on the same utterance, or of the same words."""
    if ending := GROUPED.get(corpus):
        return f"{corpus}/{ending.sub('', name)}"
    return f"{corpus}/{Path(audio).stem}"


def _setting(file: Path) -> Literal["context", "tone"]:
    return "tone" if any("emotion" in part or "emov" in part for part in file.parts) else "context"


def _letter(key: str) -> str:
    found = OPTION.fullmatch(key)
    return (found[1] if found else key[-1:]).upper()


def _answer(record: Record) -> str | None:
    told = text(record, *ANSWERS)
    found = OPTION.fullmatch(told) if told else None
    return found[1].upper() if found else letter(told)


DATA_SET = DataSet(
    NAME,
    "EmpathyEval",
    "https://huggingface.co/datasets/gracehuggingface/EmpathyEval",
    "see its card",
    "it holds …_release.json with question_id, context, utterance_audio and options",
    load,
)
