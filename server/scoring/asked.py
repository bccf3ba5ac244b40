"""What a command line asks for, as settings."""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from server.scoring.errors import ScoringError
from server.scoring.ray_pool import LOCAL
from server.scoring.settings import Settings

KEY = "ATTUNE_JUDGE_KEY"
RAY = "--ray"
ADDRESS = re.compile(r"auto|local|ray://\S+|[\w.-]+:\d+|\[[0-9a-fA-F:]+\]:\d+")


@dataclass(frozen=True, slots=True)
class Asked:
    """Options as they were given; None where they were not."""

    metrics: Sequence[str] | None = None
    judge: str | None = None
    judge_model: str | None = None
    judge_hears: bool | None = None
    judge_repeats: int | None = None
    allow_same_model: bool | None = None
    price_in: float | None = None
    price_out: float | None = None
    all_consented: bool | None = None
    seed: int | None = None
    device: str | None = None
    file: Path | None = None


def settings(asked: Asked, environment: Mapping[str, str] = os.environ) -> Settings:
    """Options go before the file. ScoringError where they make no sense."""
    told = _read(asked.file) if asked.file else {}
    judge = told.get("judge", {})
    if not isinstance(judge, dict):
        raise ScoringError("'judge' of the settings is a table: [judge], then url and model")
    judge = dict(judge)
    if "key" in judge:
        raise ScoringError(f"a judge's key belongs into {KEY}, not into a file")
    judge |= _given(
        url=asked.judge, model=asked.judge_model, hears=asked.judge_hears,
        repeats=asked.judge_repeats, allow_same_model=asked.allow_same_model,
        price_in=asked.price_in, price_out=asked.price_out, seed=asked.seed,
    )  # fmt: skip
    if judge.get("url") and not judge.get("model"):
        raise ScoringError("--judge needs --judge-model: which model is to judge")
    if judge.get("model") and not judge.get("url"):
        raise ScoringError("--judge-model needs --judge: where the judge is")
    if key := environment.get(KEY):
        judge["key"] = key
    told |= _given(
        metrics=asked.metrics, all_consented=asked.all_consented, seed=asked.seed,
        device=asked.device,
    )  # fmt: skip
    try:
        return Settings.model_validate({**told, "judge": judge})
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ScoringError(f"the setting {where} is not right: {first['msg']}") from None


def situation(context: str | None) -> str | None:
    """The text, or what is in the file of that name."""
    if context is None:
        return None
    try:
        if Path(context).is_file():
            return Path(context).read_text("utf-8").strip()
    except (OSError, ValueError) as error:  # a text too long to be a name is a text
        if isinstance(error, UnicodeDecodeError):
            raise ScoringError(f"{context} is no text") from None
    return context


def with_ray_address(arguments: Sequence[str]) -> list[str]:
    """`--ray` may stand alone; what follows it may be a path."""
    told: list[str] = []
    for place, argument in enumerate(arguments):
        told.append(argument)
        following = arguments[place + 1] if place + 1 < len(arguments) else ""
        if argument == RAY and not ADDRESS.fullmatch(following):
            told[-1] = f"{RAY}={LOCAL}"
    return told


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ScoringError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScoringError(f"{path} is not TOML: {error}") from None
