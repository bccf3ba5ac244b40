"""What EmpathyEval offers to choose from: words, or files of sound."""

import re
from collections.abc import Sequence
from pathlib import Path

from models.digest import sha256
from server.scoring.annotation import Annotation

LETTERED = re.compile(r"\s*([A-Z])[.):]\s+(.*)", re.DOTALL)
SOUNDS = frozenset({".wav", ".flac", ".mp3", ".ogg", ".m4a"})


def lettered(options: Sequence[str]) -> dict[str, str]:
    """Each by its own letter, or by its place."""
    return dict(_lettered(place, option) for place, option in enumerate(options))


def sound(option: str) -> Path | None:
    """The file, where it is one."""
    path = Path(option)
    return path if path.suffix.lower() in SOUNDS else None


def digest(truth: Annotation) -> str:
    """Of the sounds on offer, which are not in the session; nothing where there are none."""
    if truth.task != "empathy_choice":
        return ""
    paths = filter(None, map(sound, lettered(truth.options).values()))
    return "".join(f"\n{_content(path)}" for path in paths)


def _lettered(place: int, option: str) -> tuple[str, str]:
    found = LETTERED.fullmatch(option)
    return (found[1], found[2].strip()) if found else (chr(ord("A") + place), option)


def _content(path: Path) -> str:
    try:
        return sha256(path)
    except (OSError, ValueError):  # a name may hold what no name can
        return "missing"
