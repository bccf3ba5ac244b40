"""A loudspeaker that nobody hears, in step with the microphone beside it. Pure.

Its clock is the microphone: whenever that has captured so many samples, it has had time to play as
many. So both sides of a recording lie as they would in a room, however fast the call is played.
"""

from dataclasses import dataclass
from typing import Any

from models.types import WIRE_RATE

REPORT = WIRE_RATE // 10  # samples between two reports of one reply


@dataclass(slots=True)
class Heard:
    """A reply as far as it has come, and as far as it was played."""

    response_id: str
    item_id: str = ""
    received: int = 0
    played: int = 0
    reported: int = -1

    @property
    def waiting(self) -> int:
        return self.received - self.played


@dataclass(frozen=True, slots=True)
class Report:
    """What is told the server of a reply's playback."""

    response_id: str
    item_id: str
    played_samples: int
    input_samples: int


class Loudspeaker:
    def __init__(self) -> None:
        self._replies: dict[int, Heard] = {}  # by the sequence that marks their sound
        self._held = False
        self._captured = 0
        self._stopped: list[Heard] = []  # cut off, and not yet reported

    @property
    def silent(self) -> bool:
        """Whether all that came has been played."""
        return not any(reply.waiting for reply in self._replies.values())

    def told(self, event: dict[str, Any]) -> None:
        """What the server says of its replies."""
        match event["type"]:
            case "response.created":
                response = event["response"]
                sequence = (response.get("attune") or {}).get("sequence")
                if sequence is not None:
                    self._replies[sequence] = Heard(response["id"])
            case "response.output_item.added":
                for reply in self._replies.values():
                    if reply.response_id == event["response_id"]:
                        reply.item_id = event["item"]["id"]
            case "attune.hold":
                self._held = True
            case "attune.resume":
                self._held = False
            case "conversation.item.truncated":
                self._cut(event["item_id"])

    def receive(self, sequence: int, offset: int, samples: int) -> None:
        """Sound of a reply; of one that was cut off it comes too late."""
        reply = self._replies.get(sequence)
        if reply is not None:
            reply.received = max(reply.received, offset + samples)

    def advance(self, samples: int) -> list[Report]:
        """The microphone has captured so much more; tells what is to be reported."""
        left = 0 if self._held else samples
        due: list[Heard] = []
        for reply in self._replies.values():
            playing = min(left, reply.waiting)
            reply.played += playing
            left -= playing
            dry = playing > 0 and not reply.waiting
            overdue = playing > 0 and reply.played - reply.reported >= REPORT
            halted = self._held and reply.waiting > 0 and reply.reported != reply.played
            if dry or overdue or halted:
                due.append(reply)
        self._captured += samples
        due += self._stopped
        self._stopped = []
        for reply in due:
            reply.reported = reply.played
        return [
            Report(reply.response_id, reply.item_id, reply.played, self._captured)
            for reply in due
            if reply.item_id
        ]

    def _cut(self, item_id: str) -> None:
        for sequence, reply in list(self._replies.items()):
            if reply.item_id == item_id:
                self._held = False
                self._stopped.append(reply)
                del self._replies[sequence]
