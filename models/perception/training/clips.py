"""Recordings and what is known of each, read from a manifest."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile as sf
from numpy.typing import NDArray
from rich.progress import track

from models.audio import resample
from models.perception import labels
from models.perception.labels import ENVIRONMENT, UNSCORED, VOCAL
from models.types import EAR_RATE, Samples

GENDERS = labels.DIMENSIONS["gender"].answers
AGES = labels.DIMENSIONS["age"].answers
# What may sound beside the words. "other" is whatever has none of these names.
OTHER = "other"
SOUNDS = (*VOCAL, *ENVIRONMENT, OTHER)

_VOTES = {"A": "angry", "D": "disgust", "F": "fear", "H": "happy", "N": "neutral", "S": "sad"}


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """A recording. What nobody labelled is None."""

    pcm: NDArray[np.int16]
    corpus: str
    speaker: str
    emotion: str | None = None
    vote: str | None = None  # what listeners took the emotion for, by voice alone
    gender: str | None = None
    age: str | None = None
    sound: str | None = None  # of a recording without speech

    @property
    def samples(self) -> Samples:
        return self.pcm.astype(np.float32) / np.float32(32768)


def read(manifest: Path, audio: Path, role: str, *, shippable: bool) -> list[Clip]:
    """The manifest's clips of one role that may be used."""
    with manifest.open(newline="", encoding="utf-8") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["role"] == role
            and not row["exclude"]
            and (row["ship_ok"] == "yes" or not shippable)
        ]
    return list(_read(rows, audio, f"reading {role}"))


def held_out(found: Sequence[Clip]) -> list[Clip]:
    """Speakers kept back from teaching, to make chances honest by: every twelfth actor of CREMA-D,
    who act every emotion, and every twelfth speaker of speechocean762, who may be children."""
    kept: set[str] = set()
    for corpus in ("cremad", "speechocean762"):
        kept.update(sorted({clip.speaker for clip in found if clip.corpus == corpus})[::12])
    return [clip for clip in found if clip.speaker in kept]


def _read(rows: list[dict[str, str]], audio: Path, what: str) -> Iterator[Clip]:
    for row in track(rows, what):
        samples, rate = sf.read(audio / row["path"], dtype="float32")
        if samples.ndim > 1:
            samples = samples.mean(axis=1)
        samples = resample(samples, rate, EAR_RATE)
        yield Clip(
            (np.clip(samples, -1, 1) * 32767).astype(np.int16),
            row["dataset"],
            row["speaker"],
            emotion=_cell(row, "emotion"),
            vote=_vote(row["split_orig"]),
            gender=_cell(row, "gender"),
            age=_cell(row, "age_group"),
            sound=_sound(row),
        )


def _cell(row: dict[str, Any], column: str) -> str | None:
    name = labels.attribute(column, row[column]) if row[column] else None
    return None if name == UNSCORED else name


def _sound(row: dict[str, Any]) -> str | None:
    for column in ("event", "env"):
        if row[column]:
            return _cell(row, column) or OTHER
    return None


def _vote(original: str) -> str | None:
    marks = dict(part.split("=") for part in original.split(";") if "=" in part)
    return _VOTES.get(marks.get("voice_vote", ""))
