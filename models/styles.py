"""From what a reply shall feel like to how it shall sound."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from models.percept import Affect
from models.style import MIDDLE, PLAIN, REPLY_EMOTIONS, Style
from models.voicing import within_limits

# What each step of arousal or valence, beyond what the emotion's own row strikes as, adds.
AROUSAL = {"pace": 0.05, "pitch": 0.3, "range": 0.1, "loudness": 1.2, "tilt": 0.4, "pause": -0.15}
VALENCE = {"pitch": 0.15, "range": 0.1, "slope": 0.15, "tilt": 0.15}


def styled(emotion: str, target: Affect | None = None, strength: float = 1.0) -> Style:
    """The style of an emotion, moved towards a target, within what the voice bears.

    Args:
        emotion: one of REPLY_EMOTIONS.
        target: how the reply should strike the listener; as the emotion does, unless given.
        strength: 0 is the voice's own way and 1 the emotion in full.
    """
    if emotion not in ROWS:
        raise ValueError(f"unknown reply emotion {emotion!r}; choose one of: {', '.join(ROWS)}")
    row = ROWS[emotion]
    target = target or row.target
    strength = min(1.0, max(0.0, strength))
    moved = {
        name: plain + strength * (getattr(row, name) - plain + beyond)
        for name, plain, beyond in _beyond(row, target)
    }
    contour = row.contour if strength >= 0.5 else "own"
    struck = _between(MIDDLE, target, strength)
    return within_limits(replace(row, target=struck, contour=contour, **moved))


def _beyond(row: Style, target: Affect) -> list[tuple[str, float, float]]:
    """Each number of a style: its name, its plain value, and what the target adds to it."""
    arousal = target.arousal - row.target.arousal
    valence = target.valence - row.target.valence
    return [
        (name, plain, arousal * AROUSAL.get(name, 0.0) + valence * VALENCE.get(name, 0.0))
        for name, plain in PLAIN.to_json().items()
        if isinstance(plain, float)
    ]


def _between(start: Affect, end: Affect, share: float) -> Affect:
    return Affect(
        start.valence + share * (end.valence - start.valence),
        start.arousal + share * (end.arousal - start.arousal),
        start.dominance + share * (end.dominance - start.dominance),
    )


def _rows(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Style]:
    rows = {}
    for emotion in REPLY_EMOTIONS:
        fields = dict(tables[emotion])
        strikes = Affect(*fields.pop("strikes"))
        rows[emotion] = Style(emotion=emotion, target=strikes, **fields)
    return rows


ROWS = _rows(tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")))
