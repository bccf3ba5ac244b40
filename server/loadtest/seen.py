"""What one talker saw of the server, from its first call to its last."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from server.loadtest.ids import Ids
from server.loadtest.turn import TurnSeen


@dataclass(slots=True)
class Seen:
    """What one talker saw of the server."""

    number: int
    slow: bool
    opened_ms: list[float] = field(default_factory=list)  # to an open socket
    connect_ms: list[float] = field(default_factory=list)  # to a session, the queue not counted
    queued_sec: list[float] = field(default_factory=list)  # of those who had to wait
    positions: list[int] = field(default_factory=list)  # told while waiting
    turns: list[TurnSeen] = field(default_factory=list)
    cut: int = 0  # turns under way when time was up, or when the connection broke
    refused: int = 0
    lost: int = 0  # connections that broke
    stalls: int = 0
    errors: list[str] = field(default_factory=list)  # codes
    ids: Ids = field(default_factory=Ids)

    def take_down(self, events: Sequence[dict[str, Any]]) -> None:
        """What of these counts beyond the turn they belong to."""
        for event in events:
            self.ids.note(event)
            if event["type"] == "error":
                self.errors.append(code(event))


def code(event: dict[str, Any]) -> str:
    """By which an error is counted."""
    error = event.get("error", {})
    return str(error.get("code") or error.get("type") or "error")
