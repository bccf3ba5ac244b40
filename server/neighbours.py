"""Who does a role's work: this process, a server on this machine, or somebody else's."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from inspect import signature
from urllib.parse import urlsplit

from models.registry import BACKENDS, Choice

LOOPBACK = ("localhost", "127.0.0.1", "::1")  # this machine's names for itself


def address(role: str, choice: Choice) -> str | None:
    """Of the server that does a role's work, also where the backend knows it by itself."""
    url = choice.options.get("url")
    if url is None and (backend := BACKENDS[role].get(choice.backend)):
        module, name = backend.split(":")
        try:
            parameter = signature(getattr(import_module(module), name)).parameters.get("url")
        except ImportError:
            return None
        url = parameter.default if parameter else None
    return url if isinstance(url, str) else None


def host(role: str, choice: Choice) -> str | None:
    """The same without how to use it."""
    try:
        return urlsplit(address(role, choice) or "").hostname
    except ValueError:  # no address at all: its backend will say so
        return None


def elsewhere(systems: Iterable[Mapping[str, Choice]]) -> list[tuple[str, str]]:
    """Who beside this machine gets sound or words: each role with its host, once."""
    found = (
        (role, name)
        for chosen in systems
        for role, choice in chosen.items()
        if (name := host(role, choice)) and name not in LOOPBACK
    )
    return list(dict.fromkeys(found))
