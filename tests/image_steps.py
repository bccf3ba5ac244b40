"""python -m tests.image_steps ROOT: do what the Dockerfile says in a plain folder, without Docker.

ROOT is a Debian with Python 3.11, made by
`debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm ROOT`;
everything is run in it with chroot, so this needs root. All stages share the folder: what one
copies from another lies at the same path. With --serve the image's command then runs as its user.
--build-arg NAME=VALUE is as Docker's.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from server.config import ROOT as CHECKOUT

VARIABLE = re.compile(r"\$\{?(\w+)\}?")


@dataclass(frozen=True)
class Step:
    """One instruction, its lines joined."""

    name: str
    rest: str


@dataclass
class Container:
    """What the steps so far have settled."""

    env: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    folder: str = "/"
    user: str = "0"
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)


def steps(text: str) -> Iterator[Step]:
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    for line in joined.splitlines():
        name, rest = line.split(None, 1)
        yield Step(name, rest.strip())


def filled(text: str, env: dict[str, str]) -> str:
    return VARIABLE.sub(lambda found: env.get(found[1], found[0]), text)


def words(text: str) -> list[str]:
    """An instruction's list, written as JSON or as plain words."""
    return shlex.split(text.strip("[]").replace('", "', '" "'))


def copied(text: str, env: dict[str, str]) -> tuple[list[str], str] | None:
    """What a COPY takes from the checkout, and where to; None if from another stage."""
    parts = [part for part in filled(text, env).split() if not part.startswith("--chown")]
    if any(part.startswith("--from") for part in parts):
        return None
    return parts[:-1], parts[-1]


class Building:
    def __init__(self, root: Path, args: dict[str, str]) -> None:
        self._root = root
        self._args = args
        self.made = Container()
        self._stages: dict[str, Container] = {}

    def follow(self, text: str) -> None:
        for step in steps(text):
            getattr(self, f"_{step.name.lower()}", self._pass)(step.rest)

    def run(self, command: list[str]) -> None:
        made = self.made
        inside = ["chroot", f"--userspec={made.user}:{made.user}", str(self._root), "sh", "-c"]
        script = f"cd {shlex.quote(made.folder)} && exec {shlex.join(command)}"
        subprocess.run([*inside, script], env=made.env, check=True)

    def _pass(self, rest: str) -> None:
        pass

    def _from(self, rest: str) -> None:
        base, _, name = rest.partition(" AS ")
        # A stage goes on from where the one it is made from ended.
        self.made = deepcopy(self._stages.get(base)) or Container()
        if name:
            self._stages[name] = self.made

    def _arg(self, rest: str) -> None:
        name, _, default = rest.partition("=")
        self.made.env[name] = self._args.get(name, "".join(shlex.split(default)))

    def _env(self, rest: str) -> None:
        for name, value in (part.split("=", 1) for part in shlex.split(rest)):
            self.made.env[name] = filled(value, self.made.env)

    def _workdir(self, rest: str) -> None:
        self.made.folder = rest
        (self._root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _user(self, rest: str) -> None:
        self.made.user = rest

    def _cmd(self, rest: str) -> None:
        self.made.command = words(rest)

    def _healthcheck(self, rest: str) -> None:
        self.made.health = words(rest.split("CMD", 1)[1].strip())

    def _run(self, rest: str) -> None:
        print(f"RUN {rest}", flush=True)
        self.run(["sh", "-c", rest])

    def _copy(self, rest: str) -> None:
        if (found := copied(rest, self.made.env)) is None:
            return  # it is there already
        sources, where = found
        target = self._root / self.made.folder.lstrip("/") / where
        for source in sources:
            taken = CHECKOUT / source
            if taken.is_dir():
                skip = shutil.ignore_patterns("__pycache__")
                shutil.copytree(taken, target, dirs_exist_ok=True, ignore=skip)
            else:
                into = target / taken.name if where.endswith("/") else target
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(taken, into)


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    if os.geteuid() or not (root / "usr/bin/python3").exists():
        sys.exit(
            "usage, as root: python -m tests.image_steps ROOT [--serve] [--build-arg NAME=VALUE];"
            " ROOT has a Python 3.11"
        )
    # The image has it under this name.
    if not (root / "usr/bin/python").exists():
        (root / "usr/bin/python").symlink_to("python3")
    given = [each for name, each in pairwise(sys.argv) if name == "--build-arg"]
    building = Building(root, dict(each.split("=", 1) for each in given))
    building.follow((CHECKOUT / "Dockerfile").read_text("utf-8"))
    print("every step has passed", flush=True)
    if "--serve" in sys.argv:
        building.run(building.made.command)
    if "--health" in sys.argv:
        building.run(building.made.health)


if __name__ == "__main__":
    main()
