"""Who is compared: the packaged reply model, and what adapters make of it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.adapter_files import CONFIG, FILE, AdapterError, check
from models.digest import sha256
from models.tuning.evaluation.errors import EvaluationError


@dataclass(frozen=True, slots=True)
class Contestant:
    """A name, and the adapters it wears, the first put on first."""

    name: str
    adapters: tuple[Path, ...] = ()

    @property
    def is_base(self) -> bool:
        return not self.adapters


def parse(text: str) -> Contestant:
    """From NAME=ADAPTER[,ADAPTER…]; `base=` wears none."""
    name, equals, folders = text.partition("=")
    if not name or not equals:
        raise EvaluationError(f"{text!r} is no contestant: write NAME=ADAPTER, or base= for none.")
    adapters = tuple(Path(folder) for folder in folders.split(",") if folder)
    try:
        for folder in adapters:
            check(folder)
    except AdapterError as error:
        raise EvaluationError(str(error)) from None
    return Contestant(name, adapters)


def parse_all(texts: Sequence[str]) -> list[Contestant]:
    found = [parse(text) for text in texts]
    names = [each.name for each in found]
    if not found:
        raise EvaluationError("Nobody to evaluate: name a --contestant.")
    if twice := [name for name in names if names.count(name) > 1]:
        raise EvaluationError(f"There are two contestants called {twice[0]!r}.")
    return found


def hashes(contestant: Contestant) -> list[str]:
    """One for each adapter, of its numbers and of how they are to be scaled."""
    return [_digest(folder / FILE, folder / CONFIG) for folder in contestant.adapters]


def model_key(contestant: Contestant, base: Path) -> str:
    """What the contestant is made of, whatever it is called."""
    parts = [_digest(base), *hashes(contestant)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]


def gguf(contestant: Contestant, base: Path, folder: Path) -> Path:
    """The file to serve: the base's own, or one merged here before, or merged now."""
    if contestant.is_base:
        return base
    file = folder / f"{model_key(contestant, base)}.gguf"
    if not file.exists():
        merge(base, contestant.adapters, file)
    return file


def merge(base: Path, adapters: Sequence[Path], out: Path) -> None:
    from models import reply_gguf  # who wears no adapter needs no gguf package

    reply_gguf.merge(base, adapters, out)


def _digest(*files: Path) -> str:
    return hashlib.sha256(" ".join(map(sha256, files)).encode()).hexdigest()
