"""The hash a file is known by."""

import hashlib
from pathlib import Path


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
