"""How an evaluation was made: by which versions, on which machine, of which files."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

PACKAGES = (
    "nltk",
    "numpy",
    "onnxruntime",
    "peft",
    "rouge-score",
    "torch",
    "transformers",
    "xllamacpp",
)


def machine() -> dict[str, Any]:
    memory = psutil.virtual_memory().total / 2**30
    return {
        "machine": f"{platform.platform()}, {os.cpu_count()} cores, {memory:.0f} GB",
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "command": ["python", "-m", "models.evaluate_reply", *map(_named, sys.argv[1:])],
    }


def _named(argument: str) -> str:
    """An argument without the places of this machine."""
    name, equals, value = argument.rpartition("=")
    return (
        name
        + equals
        + ",".join(
            Path(part).name if Path(part).is_absolute() else part for part in value.split(",")
        )
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
