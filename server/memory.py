"""How much memory is left: of the container's limit where there is one, else of the machine's."""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from server.private_log import where

log = logging.getLogger(__name__)

LOOK_SEC = 1.0
MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the two ways in which Linux tells of control groups."""

    mounted: tuple[str, ...]  # where, the usual place first
    controller: str  # as /proc/self/cgroup calls it
    limit: str
    usage: str
    cache: str  # in memory.stat: of files, and given back as soon as somebody wants it


KINDS = (
    Kind(
        ("sys/fs/cgroup", "sys/fs/cgroup/unified"),
        "",
        "memory.max",
        "memory.current",
        "inactive_file",
    ),
    Kind(
        ("sys/fs/cgroup/memory",),
        "memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


class MemoryWatch:
    """Looks once a second, in a thread: where memory is scarce, even looking may take a while."""

    def __init__(self, most_mb: float | None = None) -> None:
        self.free: float | None = None  # the share that is left; None: not known
        self._most = most_mb * MB if most_mb else None

    async def watch(self) -> None:
        """For as long as the server runs, also where there is no memory left to look with."""
        in_vain = False
        while True:
            try:
                self.free = await asyncio.to_thread(self._look)
                in_vain = False
            except Exception as error:  # no thread, no memory, or a file that reads as none should
                self.free = None
                if not in_vain:
                    log.error("how much memory is free cannot be told: %s", where(error))
                in_vain = True
            await asyncio.sleep(LOOK_SEC)

    def _look(self) -> float | None:
        found = free_share()
        if self._most is None:
            return found
        own = max(0.0, 1 - used_by_us() / self._most)
        return own if found is None else min(own, found)


def free_share(root: Path = Path("/")) -> float | None:
    """Of the limit that is nearest, or of all that the machine has."""
    machine = psutil.virtual_memory()
    limited = [free for free in _group_shares(root, machine.total) if free is not None]
    if limited:
        return min(limited)
    return float(machine.available / machine.total) if machine.total else None


def used_by_us() -> int:
    """Bytes in memory, of this process and all that it started; what they share counts in each."""
    used, me = 0, psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            used += process.memory_info().rss
        except psutil.Error:
            continue  # it has just ended
    return used


def _group_shares(root: Path, machine: int) -> Iterator[float | None]:
    """What is free in every group that we are in; None where there is no limit."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # no Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for kind in KINDS:
            if kind.controller in controllers.split(","):
                for mounted in kind.mounted:
                    for group in _upwards(root / mounted, path):
                        yield _free(group, kind, machine)


def _upwards(mounted: Path, path: str) -> Iterator[Path]:
    """A group and those it is in. In a container the path may be the host's: the rest is not."""
    group = mounted / path.strip("/")
    while group != mounted and mounted in group.parents:
        yield group
        group = group.parent
    yield mounted


def _free(group: Path, kind: Kind, machine: int) -> float | None:
    try:
        limit = int((group / kind.limit).read_text())
        used = int((group / kind.usage).read_text())
        stat = (group / "memory.stat").read_text()
    except (OSError, ValueError):  # no such group, or "max"
        return None
    if not 0 < limit < machine:
        return None
    told = dict(line.rsplit(" ", 1) for line in stat.splitlines() if " " in line)
    needed = max(0, used - int(told.get(kind.cache, 0)))
    return max(0.0, 1 - needed / limit)
