"""WordNet's own files: the words that mean the same as another. They are searched, not loaded."""

import hashlib
import mmap
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from server.scoring.score import Unavailable

DEBIAN = Path("/usr/share/wordnet")
NEEDED = ("index.noun", "data.noun")

_PARTS = ("noun", "verb", "adj", "adv")
# What inflected words end in, and their base form.
_ENDINGS = {
    "noun": (
        ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"),
        ("shes", "sh"), ("men", "man"), ("ies", "y"),
    ),
    "verb": (
        ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"),
        ("ing", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip
_USE = re.compile(rb"\((?:a|p|ip)\)$")  # where an adjective may stand
Content = bytes | mmap.mmap


@dataclass(frozen=True, slots=True)
class Lemma:
    word: str

    def name(self) -> str:
        return self.word


@dataclass(frozen=True, slots=True)
class Synset:
    """Words that share a sense; the methods are those that NLTK's METEOR asks for."""

    words: tuple[str, ...]

    def lemmas(self) -> list[Lemma]:
        return [Lemma(word) for word in self.words]


class WordNet:
    """A folder or a zip file with index.noun, data.noun and so on."""

    def __init__(self, place: Path) -> None:
        try:
            files = _contents(place)
            self._index = {part: files[f"index.{part}"] for part in _PARTS}
            self._data = {part: files[f"data.{part}"] for part in _PARTS}
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise Unavailable("the WordNet that was found is not whole") from error
        self._irregular = {part: _irregular(files.get(f"{part}.exc", b"")) for part in _PARTS}
        self.key = hashlib.sha256(self._index["noun"]).hexdigest()[:12]
        self.synsets = lru_cache(4096)(self._synsets)

    def _synsets(self, word: str) -> tuple[Synset, ...]:
        word = word.lower()
        return tuple(
            self._synset(part, offset)
            for part in _PARTS
            for offsets in self._senses(part, word)
            for offset in offsets
        )

    def _senses(self, part: str, word: str) -> Iterator[list[int]]:
        """Of the word and of its base forms."""
        bases = self._irregular[part].get(word)
        if bases is None:
            bases = [
                word.removesuffix(ending) + base
                for ending, base in _ENDINGS[part]
                if word.endswith(ending)
            ]
        for form in dict.fromkeys([word, *bases]):
            if offsets := _offsets(self._index[part], form):
                yield offsets

    def _synset(self, part: str, offset: int) -> Synset:
        data = self._data[part]
        fields = data[offset : data.find(b"\n", offset)].split(b" ")
        count = int(fields[3], 16)
        words = (_USE.sub(b"", word) for word in fields[4 : 4 + 2 * count : 2])
        return Synset(tuple(word.decode("ascii", "replace") for word in words))


@dataclass(frozen=True, slots=True)
class NoWordNet:
    """No word means the same as another."""

    def synsets(self, word: str) -> tuple[Synset, ...]:
        return ()


def find(given: Path | None, data_folders: Iterable[str]) -> Path:
    """The folder that is configured, else Debian's, else one of NLTK's data."""
    if given is not None:
        if not all((given / name).is_file() for name in NEEDED):
            raise Unavailable("there is no WordNet in the folder given as encoders.wordnet")
        return given
    corpora = [Path(folder) / "corpora" for folder in data_folders]
    for folder in (DEBIAN, *(each / "wordnet" for each in corpora)):
        if all((folder / name).is_file() for name in NEEDED):
            return folder
    for packed in (each / "wordnet.zip" for each in corpora):
        if packed.is_file():
            return packed
    raise Unavailable("WordNet was not found: apt-get install wordnet-base")


def _contents(place: Path) -> Mapping[str, Content]:
    if place.is_file():
        with zipfile.ZipFile(place) as packed:
            return {Path(name).name: packed.read(name) for name in packed.namelist()}
    found: dict[str, Content] = {}
    for path in place.iterdir():
        if path.name.startswith(("index.", "data.")) and path.stat().st_size:
            with path.open("rb") as file:
                found[path.name] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        elif path.suffix == ".exc":
            found[path.name] = path.read_bytes()
    return found


def _irregular(content: Content) -> dict[str, list[str]]:
    lines = (line.split() for line in bytes(content).decode("ascii", "replace").splitlines())
    return {line[0]: line[1:] for line in lines if line}


def _offsets(index: Content, word: str) -> list[int]:
    """Where its senses stand; the lines are sorted, those of the licence begin with a space."""
    wanted = word.encode()
    low, high = 0, len(index)
    while low < high:
        middle = (low + high) // 2
        begin = index.rfind(b"\n", 0, middle) + 1
        end = index.find(b"\n", begin)
        end = len(index) if end < 0 else end
        line = index[begin:end]
        lemma = line.split(b" ", 1)[0]
        if lemma == wanted and lemma:
            fields = line.split()
            return [int(offset) for offset in fields[-int(fields[2]) :]]
        if lemma < wanted:
            low = end + 1
        else:
            high = begin
    return []
