"""Pseudonyms: the same speaker gets the same id, and nobody without the key learns who it is."""

import hashlib
import hmac
import os
import secrets
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import Protocol

KEY_FILE = ".speaker-key"
KEY_BYTES = 32


class AtHome(Protocol):
    """Whatever keeps files of its own on this machine, as the library does."""

    @property
    def local(self) -> Path: ...


class Pseudonyms:
    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, name: str) -> str:
        """However it is written: case, spaces and forms of letters make no difference."""
        plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        said = " ".join(plain.split()).encode("utf-8", "surrogatepass")
        return "spk_" + hmac.new(self._key, said, hashlib.sha256).hexdigest()[:16]


def key_for(library: AtHome, configured: str | None) -> bytes:
    """The configured secret, else one that is made once and kept beside the local runs.

    Machines that share their runs must be given the same secret to agree on pseudonyms.
    """
    if configured is not None:
        return configured.encode()
    path = library.local / KEY_FILE
    if not path.exists():
        _make(path)
    key = path.read_bytes()
    if len(key) < KEY_BYTES:
        raise ValueError(f"{path} is no key; without it pseudonyms of before cannot be made again")
    return key


def _make(path: Path) -> None:
    """Whole or not at all, and only once, however many processes start at the same time."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another was first: its key is the one
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
