"""Exactly how scores were made: the command, the versions, the machine, the settings."""

import os
import platform
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from server.scoring.results import Run
from server.scoring.settings import Settings
from server.scoring.working import Kit

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "hibari-tts", "jiwer", "nltk", "numpy", "onnxruntime", "orjson", "pyarrow", "pydantic", "ray",
    "rouge-score", "soundfile", "soxr", "tokenizers", "torch", "transformers",
)  # fmt: skip
HIDDEN = "…"
LOGIN = re.compile(r"(?<=://)[^/@\s]+@")  # of an address
QUERY = re.compile(r"(?<=\?)\S+")


def run(command: Sequence[str], settings: Settings, kit: Kit) -> Run:
    told = settings.model_dump(mode="json", exclude={"judge": {"key"}})
    if url := settings.judge.url:
        told["judge"]["url"] = without_secrets(url)
    return Run(
        command=[without_secrets(part) for part in _typed(command)],
        python=platform.python_version(),
        packages={name: found for name in PACKAGES if (found := _version(name))},
        machine=_machine(),
        settings=told,
        instruments={**kit.keys, **kit.unavailable},
    )


def without_secrets(part: str) -> str:
    """An address without its login and its query, which often holds a key."""
    if "://" not in part:
        return part
    return QUERY.sub(HIDDEN, LOGIN.sub(f"{HIDDEN}@", part))


def _typed(command: Sequence[str]) -> list[str]:
    """As one would type it: a module is called by its name, not by where it lies."""
    first, *rest = command or [""]
    path = Path(first)
    if path.name != "__main__.py":
        return list(command)
    with suppress(ValueError):
        return ["python", "-m", ".".join(path.parent.relative_to(ROOT).parts), *rest]
    return list(command)


@lru_cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _machine() -> str:
    memory = psutil.virtual_memory().total / 2**30
    return f"{platform.platform()}, {os.cpu_count()} cores, {memory:.0f} GB"
