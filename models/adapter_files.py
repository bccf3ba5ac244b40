"""An adapter as it lies in a folder: its numbers, how they are scaled, and the hashes of both."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.digest import sha256

FILE, CONFIG, SUM = "adapter_model.safetensors", "adapter_config.json", "adapter_model.sha256"
TRAINED = "trained.json"  # what it learned from
SHARE_ALIKE = "cc-by-sa-4.0"  # EmoBank's licence, which what learned from it bears


class AdapterError(Exception):
    """An adapter that cannot be used; the message is a sentence for people."""


def check(folder: Path) -> None:
    """Fails unless the adapter is whole."""
    if missing := [name for name in (FILE, CONFIG, SUM) if not (folder / name).is_file()]:
        raise AdapterError(f"There is no adapter in {folder}: it lacks {missing[0]}.")
    if (folder / SUM).read_text("utf-8") != _sums(folder):
        raise AdapterError(f"The adapter in {folder} is not what its hashes say.")


def seal(folder: Path) -> None:
    """Write down the hashes of what is there now."""
    (folder / SUM).write_text(_sums(folder), encoding="utf-8")


def _sums(folder: Path) -> str:
    """As `sha256sum --check` reads them."""
    return "".join(f"{sha256(folder / name)}  {name}\n" for name in (FILE, CONFIG))


def card(folder: Path) -> dict[str, Any] | None:
    """What an adapter says of itself; None if it says nothing."""
    file = folder / TRAINED
    found: dict[str, Any] | None = json.loads(file.read_text("utf-8")) if file.exists() else None
    return found


def bears_share_alike(card: Mapping[str, Any] | None) -> bool:
    """Whether anything of EmoBank was learned; of an adapter made of several, by any of them."""
    if card is None:
        return False
    if "joined" in card:
        return any(bears_share_alike(each) for each in card["joined"])
    learned = card["learned_from"]
    return bool(learned.get("sentences")) and learned.get("perspectives") != "none"
