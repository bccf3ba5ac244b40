"""Who does a role's work: this process, a server on this machine, or somebody else's."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from inspect import signature
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from models.registry import BACKENDS, Choice

LOOPBACK = ("localhost", "127.0.0.1", "::1")  # this machine's names for itself


def is_this_machine(host: str) -> bool:
    """Whether a name or an address leads here, also as a socket of IPv6 writes one of IPv4."""
    if host in LOOPBACK:
        return True
    try:
        known = ip_address(host)
    except ValueError:
        return False
    mapped = known.ipv4_mapped if isinstance(known, IPv6Address) else None
    return (mapped or known).is_loopback


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
        if (name := host(role, choice)) and not is_this_machine(name)
    )
    return list(dict.fromkeys(found))
