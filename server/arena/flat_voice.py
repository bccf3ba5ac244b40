"""A voice that does nothing of what is planned for it."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from models.protocols import Speaker
from models.style import PLAIN, Style
from models.types import SpokenChunk


@dataclass(frozen=True, slots=True)
class FlatVoice:
    """A Speaker in its own manner, whatever the style."""

    voice: Speaker

    def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        return self.voice.speak(clause, PLAIN)
