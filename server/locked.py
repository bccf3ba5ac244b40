"""What the server is installed from: requirements.lock, every package with version and hashes."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from server.config import ROOT

LOCK = ROOT / "requirements.lock"
GPU_LOCK = ROOT / "requirements/gpu.lock"  # the same, and what the gpu profile needs besides
PROJECT = ROOT / "pyproject.toml"
_LINE = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)(?P<rest>.*)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")


class BadLock(Exception):
    """A line that names no package with its one version."""


@dataclass(frozen=True, slots=True)
class Locked:
    name: str
    version: Version
    hashes: tuple[str, ...]


def read(file: Path = LOCK) -> dict[str, Locked]:
    """Every package of a lock by its name."""
    text = re.sub(r"(?m)(^|\s)#.*$", "", file.read_text("utf-8")).replace("\\\n", " ")
    found: dict[str, Locked] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        match = _LINE.fullmatch(line)
        if match is None:
            raise BadLock(line)
        name = canonicalize_name(match["name"])
        found[name] = Locked(name, Version(match["version"]), tuple(_HASH.findall(match["rest"])))
    return found


def wanted(file: Path = PROJECT, extra: str | None = None) -> list[Requirement]:
    """What the project says it runs on, on this machine; with an extra, also what that adds."""
    project = tomllib.loads(file.read_text("utf-8"))["project"]
    more = project["optional-dependencies"][extra] if extra else []
    asked = map(Requirement, [*project["dependencies"], *more])
    return [each for each in asked if each.marker is None or each.marker.evaluate()]


def complaints(lock: dict[str, Locked], asked: Iterable[Requirement]) -> list[str]:
    """In what the lock is not what was asked for, or could be something else when installed."""
    said = [f"{each.name} has no hash" for each in lock.values() if not each.hashes]
    for need in asked:
        found = lock.get(canonicalize_name(need.name))
        if found is None:
            said.append(f"{need.name} is not locked")
        elif not need.specifier.contains(found.version, prereleases=True):
            said.append(f"{need.name} is locked to {found.version}, but wanted{need.specifier}")
    return said
