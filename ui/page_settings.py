"""What a page needs to know before anybody talks: names, words, and who will hear."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.perception import coverage, labels
from models.protocols import Perceiver
from models.registry import Choice
from server.config import Config, ConfigError, Recording, choices
from server.neighbours import elsewhere
from server.page import heard
from server.version import VERSION
from ui.demo_clips import Clip, clips
from ui.wording import LANGUAGES, wording

PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}


@dataclass(frozen=True, slots=True)
class PageSettings:
    """Read once at the start: a mistake is told then, and not to a visitor."""

    config: Config
    perception: dict[str, Any]
    services: list[dict[str, str]]
    consent: list[str] | None
    understands: str | None  # the one language, where there is but one
    clips: Mapping[str, Clip]

    @classmethod
    def of(cls, config: Config, perceiver: Perceiver) -> "PageSettings":
        if config.ui.logo and config.ui.logo.suffix.lower() not in PICTURES:
            raise ConfigError(f"ui.logo: {config.ui.logo} is neither an SVG nor a PNG")
        if config.ui.logo and not config.ui.logo.is_file():
            raise ConfigError(f"ui.logo: there is no {config.ui.logo}")
        _check_texts(config.ui.text)
        return cls(
            config,
            _perception(perceiver),
            [
                *({"role": role, "host": host} for role, host in elsewhere([choices(config)])),
                *storage(config.recording),
            ],
            _paragraphs(config.ui.consent_file),
            understood(choices(config)["transcriber"]),
            clips(config.ui),
        )

    def shown(self, language: str) -> dict[str, Any]:
        ui = self.config.ui
        strings = {**wording(language), **ui.text.get(language, {})}  # type: ignore[call-overload]
        return {
            "name": ui.name,
            "tagline": ui.tagline or strings.get("shell.tagline", ""),
            "logo": "/page/logo" if ui.logo else None,
            "greeting": ui.greeting if ui.greeting is not None else strings["shell.greeting"],
            "persona": ui.persona,
            "language": language,
            "languages": list(LANGUAGES) if ui.language == "auto" else [language],
            "kiosk": ui.kiosk,
            "demo": [
                {
                    "id": clip.id,
                    "title": clip.titled(language),
                    "url": f"/page/demo/{clip.id}",
                    "seconds": clip.seconds,
                    "interrupts": clip.interrupts,
                }
                for clip in self.clips.values()
            ],
            "show_age_gender": ui.show_age_gender,
            "recording": {
                "enabled": self.config.recording.enabled,
                "children": self.config.recording.children,
            },
            "services": self.services,
            "perception": self.perception,
            "understands": self.understands,
            "consent": {"paragraphs": self.consent} if self.consent else None,
            "arena": self.config.arena.enabled,
            "asks_for_tokens": self.config.asks_for_tokens,
            "version": VERSION,
            "profile": self.config.profile,
            "strings": strings,
        }


def storage(recording: Recording) -> list[dict[str, str]]:
    """Where what people let us keep goes to, if not to this machine."""
    scheme, there, rest = recording.runs.partition("://")
    if not recording.enabled or not there or scheme in ("file", "local", "memory"):
        return []
    return [{"role": "storage", "host": rest.partition("/")[0].rpartition("@")[2] or scheme}]


def understood(transcriber: Choice) -> str | None:
    """The language of whoever finds the words; None: any, or nobody knows."""
    if transcriber.backend == "moonshine":
        return "en"
    return str(transcriber.options.get("language") or "") or None


def _perception(perceiver: Perceiver) -> dict[str, Any]:
    weights: str | None = getattr(perceiver, "weights", None)
    return {
        "weights": weights,
        "licence": getattr(perceiver, "licence", None),
        "hears": _hears(weights),
    }


def _hears(weights: str | None) -> list[str]:
    if weights in coverage.WEIGHTS:
        return heard(weights)
    return list(labels.DIMENSIONS) if weights else []  # an operator's own: only they know


def _paragraphs(file: Path | None) -> list[str] | None:
    if file is None:
        return None
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"ui.consent_file: {file} cannot be read: {error}") from None
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    return [part for part in paragraphs if part] or None


def _check_texts(texts: Mapping[Any, Mapping[str, str]]) -> None:
    for language, given in texts.items():
        if unknown := sorted(set(given) - set(wording(language))):
            raise ConfigError(f"ui.text.{language}: there is no text named {', '.join(unknown)}")
