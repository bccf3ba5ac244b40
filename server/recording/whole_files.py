"""Files that are there whole or not at all, whenever the process dies."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
PART = ".part"  # ends the name of what is not whole yet


def part_of(path: Path) -> Path:
    """Where a file is written until it is whole: hidden, and in the same folder."""
    return path.with_name(f".{path.name}{PART}")


def is_part(name: str) -> bool:
    return name.startswith(".") and name.endswith(PART)


def replace(path: Path, data: bytes) -> None:
    """Readers find the old file or the new one, after a power cut, too."""
    write_whole(path, lambda file: file.write(data))


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """As `replace`, for what is too long to hold in memory."""
    part = part_of(path)
    try:
        with open(os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE), "wb") as file:
            write(file)
        settle(part, path)
    except BaseException:
        with suppress(OSError):  # a disk that cannot be written cannot be tidied, either
            part.unlink()
        raise


def settle(part: Path, path: Path) -> None:
    """What was written beside it takes the file's place."""
    handle = os.open(part, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(part, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make new names in it outlast a power cut, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
