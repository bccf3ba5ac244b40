"""Exactly how scores were made: the command, the versions, the machine, the settings."""

import os
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson
import psutil

from server.scoring import secrecy
from server.scoring.results import Run, UsedModel
from server.scoring.settings import Settings
from server.scoring.telling import MODELS_USED
from server.scoring.working import Kit

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "hibari-tts", "jiwer", "nltk", "numpy", "onnxruntime", "orjson", "pyarrow", "pydantic", "ray",
    "rouge-score", "soundfile", "soxr", "tokenizers", "torch", "transformers",
)  # fmt: skip


def run(
    command: Sequence[str],
    settings: Settings,
    kit: Kit,
    sessions: Iterable[Mapping[str, Any]] = (),  # as server/scoring/telling.py tells them
) -> Run:
    told = settings.model_dump(mode="json", exclude={"judge": {"key"}})
    return Run(
        command=secrecy.command(_typed(command)),
        python=platform.python_version(),
        packages={name: found for name in PACKAGES if (found := _version(name))},
        machine=_machine(),
        settings=secrecy.everywhere(told),
        instruments=secrecy.everywhere({**kit.keys, **kit.unavailable}),
        commit=commit(ROOT),
        models=models(sessions),
    )


def models(sessions: Iterable[Mapping[str, Any]]) -> list[UsedModel]:
    """Every model that differs from another in its version or its files."""
    found: Counter[tuple[str, bytes]] = Counter()
    for told, times in Counter(each.get(MODELS_USED) for each in sessions).items():
        for role, used in orjson.loads(told or "{}").items():
            found[role, orjson.dumps(used)] += times
    roles = list(dict.fromkeys(role for role, _ in found))
    return [
        UsedModel(role=role, used=orjson.loads(used), sessions=n)
        for (role, used), n in sorted(found.items(), key=lambda each: roles.index(each[0][0]))
    ]


@lru_cache
def commit(root: Path) -> str | None:
    """With "-dirty" where files were changed since."""
    if not (root / ".git").exists():
        return None
    command = ("git", "--no-optional-locks", "-C", str(root), "describe", "--always", "--dirty")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


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
