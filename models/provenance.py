"""Which models answered, to the byte: names, versions, hashes and licences, never a secret."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from models import weights
from models.registry import Choice

HASHED_MB = 64  # a larger file of the user's own is named only: starting must not wait for it
SECRET = re.compile(r"(^|[_-])(key|token|secret|password|authorization|auth|cookie)$")
METADATA = 14  # the field of an ONNX file in which it says what it is


@dataclass(frozen=True, slots=True)
class File:
    """One file a model is made of."""

    name: str
    sha256: str | None  # None: too large to hash at start
    licence: str | None = None


@dataclass(frozen=True, slots=True)
class Described:
    """One role's model, as one would have to find it again."""

    backend: str
    options: dict[str, Any] = field(default_factory=dict)
    version: str | None = None  # of its package, or the address of its server
    files: tuple[File, ...] = ()
    licence: str | None = None  # where it restricts what may be done with it


Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Makeup:
    """What a backend is made of, beside our own code."""

    package: str | None = None
    files: Callable[[Options], Iterator[File]] = lambda _: iter(())


def describe(choices: Mapping[str, Choice]) -> dict[str, Described]:
    """Each role's choice in full. Cheap once the models are loaded: pinned files are not read."""
    return {role: _described(role, choice) for role, choice in choices.items()}


def _described(role: str, choice: Choice) -> Described:
    makeup = MAKEUP.get((role, choice.backend), Makeup())
    address = _address(choice.options.get("url"))
    files = tuple(makeup.files(choice.options))
    restricted = choice.options.get("weights", "default") != "default"
    return Described(
        choice.backend,
        dict(_shown(choice.options)),
        address or (_version(makeup.package) if makeup.package else None),
        files,
        next((file.licence for file in files), None) if restricted else None,
    )


def _version(package: str) -> str | None:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return None


# --- options that may be shown


def _shown(options: Options) -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if not SECRET.search(name.lower()):
            yield name, _plain(value)


def _plain(value: Any) -> Any:
    """A value without secrets or places of this machine, fit for JSON."""
    match value:
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {str(name): shown for name, shown in _shown(value)}
        case list() | tuple():
            return [_plain(each) for each in value]
        case str() if address := _address(value):
            return address
        case Path() | str():
            return Path(value).name if Path(value).is_absolute() else str(value)
    return type(value).__name__


def _address(url: object) -> str | None:
    """A URL without who may use it: no name, no password, no query."""
    if not isinstance(url, str) or "://" not in url:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


# --- the files of each backend


def _pinned(name: str) -> File:
    """A file of the table of weights: whoever loads it has checked its hash."""
    row = weights.find(name)
    return File(row.file.name, row.sha256, row.licence)


def _tabled(*names: str, **replaced: str) -> Callable[[Options], Iterator[File]]:
    """Files of the table; `replaced` are those an option may put another in the place of."""

    def files(options: Options) -> Iterator[File]:
        for name in names:
            yield _pinned(name)
        for option, name in replaced.items():
            own = options.get(option)
            yield _local(Path(own)) if own else _pinned(name)

    return files


def _local(path: Path, licence: str | None = None) -> File:
    """A file that no table knows."""
    try:
        status = path.stat()
    except OSError:
        return File(path.name, None, licence)
    if status.st_size > HASHED_MB << 20:
        return File(path.name, None, licence)
    sha256, card = _read(path, status.st_mtime_ns, status.st_size)
    return File(path.name, sha256, licence or card)


@lru_cache(maxsize=32)
def _read(path: Path, changed: int, size: int) -> tuple[str, str | None]:
    """Its hash, and the licence it names itself; read again only when it has changed."""
    data = path.read_bytes()
    return hashlib.sha256(data).hexdigest(), _licence(data) if path.suffix == ".onnx" else None


def _perceiver(options: Options) -> Iterator[File]:
    from models.perception.perceiver import path
    from models.perception.words import FITTED

    yield _local(path(options.get("weights", "default")))
    yield _local(FITTED / "words-goemotions.npz", "Apache-2.0")
    yield _local(FITTED / "words-emobank.npz", "CC BY-SA 4.0")
    yield from map(_pinned, ("minilm", "minilm-tokenizer", "silero-vad"))


def _second_opinion(options: Options) -> Iterator[File]:
    yield from _perceiver(options)
    if model := options.get("model"):
        yield File(str(_plain(model)), None)


def _whisper(options: Options) -> Iterator[File]:
    own = options.get("model")
    rows = [row for row in weights.TABLE if row.name.split("-")[0] == "whisper"]
    if own in (None, rows[0].origin.name):
        yield from (_pinned(row.name) for row in rows)
    else:
        yield File(str(_plain(own)), None)


def _hibari(options: Options) -> Iterator[File]:
    from hibari.voices import voice_path

    voice = options.get("voice", "heart")
    if voice == "heart":  # the one that is shipped; to ask for another may go to the hub
        yield _local(Path(voice_path(voice)), "Apache-2.0")
    else:
        yield File(str(voice), None)


def _kokoro(options: Options) -> Iterator[File]:
    from models.speaker_kokoro import NETWORK

    folder = Path(options.get("folder") or weights.cache_dir() / "kokoro")
    yield _local(folder / NETWORK)
    yield _local(folder / "voices" / f"{options.get('voice', 'af_heart')}.bin")


_MOONSHINE = _tabled(
    encoder="moonshine-encoder", decoder="moonshine-decoder", tokenizer="moonshine-tokenizer"
)
MAKEUP: Mapping[tuple[str, str], Makeup] = {
    ("voice_detector", "silero"): Makeup("onnxruntime", _tabled(path="silero-vad")),
    ("turn_judge", "smart-turn"): Makeup("onnxruntime", _tabled(path="smart-turn")),
    ("transcriber", "moonshine"): Makeup("onnxruntime", _MOONSHINE),
    ("transcriber", "whisper"): Makeup("transformers", _whisper),
    ("perceiver", "attune"): Makeup("onnxruntime", _perceiver),
    ("perceiver", "attune+hf"): Makeup("transformers", _second_opinion),
    ("perceiver", "attune+emotion2vec"): Makeup("onnxruntime", _second_opinion),
    ("responder", "llamacpp"): Makeup("xllamacpp", _tabled(model="attune-reply")),
    ("speaker", "hibari"): Makeup("hibari-tts", _hibari),
    ("speaker", "kokoro"): Makeup("onnxruntime", _kokoro),
}


# --- what an ONNX file says of itself


def _licence(data: bytes) -> str | None:
    """The licence on our card in an ONNX file, without the cost of loading its network."""
    for number, entry in _fields(data):
        if number == METADATA:
            parts = dict(_fields(entry))
            if parts.get(1) == b"attune":
                said = json.loads(parts[2]).get("licence")
                return str(said) if said else None
    return None


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protocol buffer that hold bytes, with their numbers."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        match tag & 7:
            case 0:
                _, at = _varint(message, at)
            case 1:
                at += 8
            case 2:
                length, at = _varint(message, at)
                yield tag >> 3, message[at : at + length]
                at += length
            case 5:
                at += 4
            case _:
                return  # no protocol buffer


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            break
    return value, at
