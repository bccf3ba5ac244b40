"""What a set of packages needs in turn, as far as the packages installed here tell."""

from collections.abc import Iterable, Iterator
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(asked: Iterable[Requirement]) -> Iterator[tuple[str, Requirement]]:
    """Each requirement that follows, with the name of the package that has it.

    A package that is not installed here cannot be asked, and one that is counts in the version it
    is installed in.
    """
    waiting = list(asked)
    seen: set[tuple[str, str]] = set()
    while waiting:
        one = waiting.pop()
        for extra in ("", *sorted(one.extras)):
            if (one.name, extra) in seen:
                continue
            seen.add((one.name, extra))
            for need in _direct(one.name, extra):
                yield canonicalize_name(one.name), need
                waiting.append(need)


def _direct(name: str, extra: str) -> Iterator[Requirement]:
    try:
        told = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return
    for need in map(Requirement, told):
        if need.marker is None or need.marker.evaluate({"extra": extra}):
            yield need
