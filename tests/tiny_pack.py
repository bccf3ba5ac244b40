"""A manifest's rows, and a pack of recordings small enough to train on within a test."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile as sf

from models.perception.sounds import make
from models.types import EAR_RATE

COLUMNS = (
    *("role", "path", "dataset", "speaker", "gender", "age_group", "emotion", "event", "env"),
    *("split_orig", "ship_ok", "exclude"),
)
SPEECH = Path(__file__).with_name("data") / "speech"
EMOTIONS = ("happy", "sad", "angry", "neutral")  # as played in the tiny pack
NOT_THERE = "nowhere.flac"  # listed, and may not ship


def row(path: str, **cells: str) -> dict[str, str]:
    """A row that may be taught from, with nothing known of it but what is said."""
    plain = dict.fromkeys(COLUMNS, "")
    return plain | {"role": "train", "ship_ok": "yes", "path": path} | cells


def manifest(folder: Path, rows: Sequence[dict[str, str]]) -> Path:
    path = folder / "manifest.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    return path


def tiny_pack(folder: Path) -> Path:
    """The manifest of two actors, two readers and some rain, beside its recordings."""
    readers = sorted(SPEECH.glob("*.ogg"))
    rows = []
    for at, reader in enumerate(readers[:10]):
        samples, rate = sf.read(reader, frames=2 * EAR_RATE, dtype="float32")
        path = f"{reader.stem}.wav"
        sf.write(folder / path, samples, rate)
        known = {"gender": ("female", "male")[at % 2], "age_group": ("adult", "child")[at // 2 % 2]}
        if at < 8:  # two actors, who act the same emotions
            known |= {"dataset": "cremad", "speaker": f"actor {at // 4}"}
            known |= {"emotion": EMOTIONS[at % 4], "split_orig": "voice_vote=S;mm_vote=N"}
        else:
            known |= {"dataset": "librispeech", "speaker": reader.stem}
        rows.append(row(path, **known))
    sf.write(folder / "rain.wav", make("rain", np.random.default_rng(0), 2.0), EAR_RATE)
    rows.append(row("rain.wav", dataset="esc50", env="rain"))
    rows.append(row(NOT_THERE, dataset="deeply", event="laughing", ship_ok="no-NC"))
    return manifest(folder, rows)
