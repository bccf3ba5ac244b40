"""The words of the pages: a folder for each language, a file for each part of the pages."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "strings"
LANGUAGES = ("en", "zh")
DEFAULT = "en"


@cache
def wording(language: str) -> Mapping[str, str]:
    """Every text by its name, as `talk.problem.denied.title`."""
    texts: dict[str, str] = {}
    for file in sorted((FOLDER / language).glob("*.toml")):
        texts |= _flat(tomllib.loads(file.read_text("utf-8")), file.stem)
    return texts


def spoken(accepted: str | None, language: str) -> str:
    """The language of a page: as the operator set it, or the first the browser asks for."""
    if language in LANGUAGES:
        return language
    for asked in (accepted or "").split(","):
        wanted = asked.partition(";")[0].strip().lower().partition("-")[0]
        if wanted in LANGUAGES:
            return wanted
    return DEFAULT


def _flat(tables: Mapping[str, Any], name: str) -> dict[str, str]:
    return dict(_leaves(tables, name))


def _leaves(tables: Mapping[str, Any], name: str) -> Iterator[tuple[str, str]]:
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{name}.{key}")
        else:
            yield f"{name}.{key}", str(value)
