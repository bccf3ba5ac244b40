"""The ids a talker was told: each belongs to one conversation, and to no other talker's. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Ids:
    """What began in a talker's conversations, and what was told of things that had not."""

    own: set[str] = field(default_factory=set)
    strays: list[str] = field(default_factory=list)  # kinds of events about nothing of ours

    def note(self, event: dict[str, Any]) -> None:
        """In the order of arrival: a thing is told of when it begins, then by its id."""
        match event["type"]:
            case "session.created":
                self.own.add(event["session"]["id"])
            case "response.created":
                self.own.add(event["response"]["id"])
            case "conversation.item.added" | "response.output_item.added":
                self.own.add(event["item"]["id"])
            case "response.output_audio.delta" | "response.output_audio_transcript.done":
                self._expect(event, "response_id")
            case "response.done":
                if event["response"]["id"] not in self.own:
                    self.strays.append(event["type"])

    def _expect(self, event: dict[str, Any], name: str) -> None:
        if event[name] not in self.own:
            self.strays.append(event["type"])


def shared(everybody: Sequence[set[str]]) -> int:
    """Ids that more than one talker was told."""
    once: set[str] = set()
    twice: set[str] = set()
    for ids in everybody:
        twice |= once & ids
        once |= ids
    return len(twice)
