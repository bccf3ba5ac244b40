"""Models of the hub: loaded from this machine, never fetched while someone waits."""

from pathlib import Path
from typing import Any

import torch
from transformers.utils.logging import disable_progress_bar

from models.errors import BackendError

disable_progress_bar()  # standard error is a log


def pretrained(role: str, kind: Any, model: str, **options: Any) -> Any:
    """`kind.from_pretrained` of a folder, or of a hub's model that was downloaded before."""
    try:
        return kind.from_pretrained(model, local_files_only=True, **options)
    except (OSError, ValueError) as error:
        if Path(model).is_dir():
            raise BackendError(role, f"the folder {model} holds no model of this kind") from error
        raise BackendError(
            role, f"{model} is not on this machine: run .venv/bin/hf download {model}"
        ) from error


def device(role: str, asked: str) -> torch.device:
    """The device of that name; "auto" is the GPU where there is one."""
    if asked == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(asked)
    except RuntimeError as error:
        raise BackendError(role, f"{asked!r} is no device; say auto, cpu or cuda") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise BackendError(role, f"there is no GPU for device {asked!r}; say auto or cpu")
    return found


def precision(place: torch.device) -> torch.dtype:
    """Half of it where that is fast."""
    return torch.float16 if place.type == "cuda" else torch.float32
