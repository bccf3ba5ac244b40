"""A folder with EmoBank's files, for who only looks whether they are there."""

from pathlib import Path


def empty_emobank(folder: Path) -> Path:
    folder.mkdir()
    for name in ("emobank", "reader", "writer"):
        (folder / f"{name}.csv").touch()
    return folder
