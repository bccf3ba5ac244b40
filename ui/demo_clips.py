"""Prepared recordings that speak as the user, for a demonstration without a microphone."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import soundfile

from server.config import ConfigError, Ui

OURS = Path(__file__).parent / "demo"
LIST = "demo.toml"


@dataclass(frozen=True, slots=True)
class Clip:
    id: str
    file: Path
    title: Mapping[str, str]  # by language
    seconds: float
    interrupts: bool = False  # it breaks into the answer to the one before

    def titled(self, language: str) -> str:
        return self.title.get(language) or next(iter(self.title.values()), self.id)


def clips(settings: Ui) -> dict[str, Clip]:
    """Those of the operator's folder, or ours; a ConfigError says what is wrong with them."""
    if not settings.demo:
        return {}
    folder = settings.demo_folder or OURS
    file = folder / LIST
    try:
        listed = tomllib.loads(file.read_text("utf-8")).get("clip", [])
        found = [_clip(folder, entry) for entry in listed]
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}") from None
    except (KeyError, TypeError, AttributeError):
        raise ConfigError(f"{file}: every [[clip]] needs an id and a file") from None
    except soundfile.LibsndfileError as error:
        raise ConfigError(f"{file} names a recording that cannot be read: {error}") from None
    return {clip.id: clip for clip in found}


def _clip(folder: Path, entry: Mapping[str, object]) -> Clip:
    title = entry.get("title", {})
    titles = {"en": title} if isinstance(title, str) else dict(title)  # type: ignore[call-overload]
    file = folder / str(entry["file"])
    seconds = round(soundfile.info(file).duration, 2)
    return Clip(str(entry["id"]), file, titles, seconds, entry.get("interrupts") is True)
