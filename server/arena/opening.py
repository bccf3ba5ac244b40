"""The arena of a server, as its settings have it."""

from models.protocols import Models
from server.arena.archive import Archive
from server.arena.arena import Arena, House
from server.arena.stable import Stable
from server.arena.systems import contestants
from server.config import Config, choices
from server.sessions.library import Library


def opened(config: Config, models: Models, library: Library, house: House, software: str) -> Arena:
    """Loads nothing yet; ConfigError where a system cannot be made of what is there."""
    return Arena(
        contestants(config),
        Stable(models, choices(config)),
        Archive(library),
        house,
        software,
        models.perceiver,
        children=config.recording.children,
        keeps=config.recording.enabled,
    )
