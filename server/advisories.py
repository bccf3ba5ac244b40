"""Known weaknesses of packages, from files in the OSV form: no network is needed to match them."""

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from server.locked import Locked


@dataclass(frozen=True, slots=True)
class Weakness:
    id: str
    package: str
    version: Version
    summary: str
    fixed: tuple[str, ...]  # in these versions


def read(place: Path) -> Iterator[dict[str, Any]]:
    """Every advisory in a JSON file, a folder of them, or a zip file as OSV gives out."""
    if place.is_dir():
        for file in sorted(place.rglob("*.json")):
            yield json.loads(file.read_text("utf-8"))
    elif zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    yield json.loads(archive.read(name))
    else:
        told = json.loads(place.read_text("utf-8"))
        yield from told if isinstance(told, list) else [told]


def matched(
    advisories: Iterable[Mapping[str, Any]], lock: Mapping[str, Locked]
) -> Iterator[Weakness]:
    """Those that are about a version that is locked."""
    for advisory in advisories:
        if advisory.get("withdrawn"):
            continue
        for affected in advisory.get("affected", []):
            package = affected.get("package", {})
            found = lock.get(canonicalize_name(package.get("name", "")))
            if package.get("ecosystem") != "PyPI" or found is None:
                continue
            if _affects(affected, found.version):
                summary = str(advisory.get("summary") or advisory.get("details") or "")
                yield Weakness(
                    str(advisory["id"]),
                    found.name,
                    found.version,
                    summary.partition("\n")[0][:120],
                    tuple(_events(affected, "fixed")),
                )
                break


def _affects(affected: Mapping[str, Any], version: Version) -> bool:
    if any(_version(each) == version for each in affected.get("versions", [])):
        return True
    return any(
        _within(each.get("events", []), version)
        for each in affected.get("ranges", [])
        if each.get("type") in ("ECOSYSTEM", "SEMVER")
    )


def _within(events: Iterable[Mapping[str, str]], version: Version) -> bool:
    """Whether it lies between an introduction and its end; they come in no order."""
    inside = False
    for moment, kind in sorted(_moments(events), key=lambda each: each[0]):
        if moment > version or (kind == "last_affected" and moment == version):
            break
        inside = kind == "introduced"
    return inside


def _moments(events: Iterable[Mapping[str, str]]) -> Iterator[tuple[Version, str]]:
    for event in events:
        for kind in ("introduced", "fixed", "last_affected"):
            if (moment := _version(event.get(kind, ""))) is not None:
                yield moment, kind


def _events(affected: Mapping[str, Any], kind: str) -> Iterator[str]:
    for each in affected.get("ranges", []):
        if each.get("type") in ("ECOSYSTEM", "SEMVER"):
            yield from (event[kind] for event in each.get("events", []) if kind in event)


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None
