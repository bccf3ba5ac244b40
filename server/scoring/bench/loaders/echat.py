"""Data in the manner of EChat-eval: what was asked, how it sounded, and perhaps a right answer."""

from collections.abc import Iterator
from pathlib import Path

from models.perception.given import NEUTRAL
from server.scoring.annotation import Annotation
from server.scoring.bench.cues import coarse, cue, fine
from server.scoring.bench.item import DataSet, Item
from server.scoring.bench.loaders.reading import Record, records, text, within

NAME = "echat"
AUDIO = ("audio", "wav", "query_audio", "query_wav", "audio_path", "path", "input_wav")
WORDS = ("query", "text", "transcript", "query_text", "question")
REFERENCE = ("reference", "response", "answer", "reply", "response_text")
# By what they are labels of: where they are found.
LABELS = {
    "emotion": ("emotion", "user_emotion"),
    "event": ("event", "sound_event", "caption"),
    "age": ("age",),
    "gender": ("gender", "sex"),
    "style": ("style",),
}
PLAIN = {"neutral", "adult", "other", "unknown", "none", "everyday speech"}


def load(folder: Path) -> Iterator[Item]:
    for file in sorted([*folder.rglob("*.jsonl"), *folder.rglob("*.json")]):
        for number, record in enumerate(records(file)):
            if text(record, *AUDIO) and text(record, *WORDS):
                yield _item(record, f"{file.stem}-{number}", file)


def _item(record: Record, fallback: str, file: Path) -> Item:
    labels = _labels(record)
    telling = [name for kind, name in labels.items() if kind != "style" and name not in PLAIN]
    spoken = next((name for told in telling if (name := cue(told))), None)
    if spoken is None and labels.get("emotion") == NEUTRAL:
        spoken = NEUTRAL
    return Item(
        Annotation(
            benchmark=NAME,
            item=text(record, "id", "uid", "key", "item") or fallback,
            task="conversation",
            kind=text(record, "task", "family", "type") or file.stem,
            speech=_speech(record),
            text=text(record, *WORDS),
            cue=spoken,
            spoken_info=", ".join(telling) or None,
            dimension=fine(spoken),
            labels=labels,
            reference=text(record, *REFERENCE),
        ),
        within(file.parent, str(text(record, *AUDIO))),
        coarse(spoken),
    )


def _labels(record: Record) -> dict[str, str]:
    """By our names where we have one; what is not known is left out."""
    inner = record.get("labels")
    told = {**record, **inner} if isinstance(inner, dict) else record
    found: dict[str, str] = {}
    for kind, names in LABELS.items():
        value = (text(told, *names) or "").strip("<>& ").lower()
        if value:
            found[kind] = cue(value) or value
    return found


def _speech(record: Record) -> "str | None":
    told = (text(record, "speech", "source", "recording") or "").lower()
    if "real" in told or "human" in told:
        return "human"
    return "synthetic" if "synth" in told or "tts" in told else None


DATA_SET = DataSet(
    NAME,
    "data in the manner of EChat-eval",
    "https://huggingface.co/datasets/ASLP-lab/EChat-200K",
    "Apache-2.0",
    "it holds JSON or JSON lines with audio, query and labels (emotion, age, gender, event)",
    load,
)
