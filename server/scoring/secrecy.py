"""Keys that people put into addresses and commands, kept out of what is written about a run."""

import re
from collections.abc import Iterable
from typing import Any

HIDDEN = "…"
SECRET_OPTIONS = ("--token",)
_ADDRESS = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?P<rest>[^\s'\"<>]+)", re.IGNORECASE)
_LOGIN = re.compile(r"^[^/]*@")  # up to the last @ before the path: a password may hold one
_QUERY = re.compile(r"[?#].*$")


def without_secrets(text: str) -> str:
    """Every address in it without its login and its query, which often holds a key."""
    return _ADDRESS.sub(_cleaned, text)


def command(parts: Iterable[str]) -> list[str]:
    """As it was typed, less what nobody else should know."""
    told: list[str] = []
    hide = False
    for part in parts:
        name, told_with, _ = part.partition("=")
        if hide:
            told.append(HIDDEN)
        elif name in SECRET_OPTIONS and told_with:
            told.append(f"{name}={HIDDEN}")
        else:
            told.append(without_secrets(part))
        hide = not hide and part in SECRET_OPTIONS
    return told


def everywhere(value: Any) -> Any:
    """The same value with every address in it cleaned, however deep."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {key: everywhere(each) for key, each in value.items()}
    if isinstance(value, list):
        return [everywhere(each) for each in value]
    return value


def _cleaned(found: re.Match[str]) -> str:
    rest = _LOGIN.sub(f"{HIDDEN}@", found["rest"])
    return found["scheme"] + _QUERY.sub(lambda query: query[0][0] + HIDDEN, rest)
