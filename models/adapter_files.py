"""An adapter as it lies in a folder: its numbers, how they are scaled, and their hash."""

from pathlib import Path

from models.digest import sha256

FILE, CONFIG, SUM = "adapter_model.safetensors", "adapter_config.json", "adapter_model.sha256"


class AdapterError(Exception):
    """An adapter that cannot be used; the message is a sentence for people."""


def check(folder: Path) -> None:
    """Fails unless the adapter is whole."""
    if missing := [name for name in (FILE, CONFIG, SUM) if not (folder / name).is_file()]:
        raise AdapterError(f"There is no adapter in {folder}: it lacks {missing[0]}.")
    if sha256(folder / FILE) != (folder / SUM).read_text("utf-8").split()[0]:
        raise AdapterError(f"The adapter in {folder} is not what its hash says.")


def seal(folder: Path) -> None:
    """Write down the hash of the numbers that are there now."""
    (folder / SUM).write_text(f"{sha256(folder / FILE)}  {FILE}\n", encoding="utf-8")
