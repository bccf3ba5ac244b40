"""A loudspeaker on the samples clock: it plays while the microphone captures, and knows when."""

from dataclasses import dataclass, field
from typing import Any

from models.types import WIRE_RATE

BUFFERED, PAUSE = WIRE_RATE * 60 // 1000, WIRE_RATE // 50  # how a loudspeaker spares the ear

Event = dict[str, Any]


@dataclass(slots=True)
class Reply:
    response_id: str
    item_id: str = ""
    played: int = 0
    waiting: bytearray = field(default_factory=bytearray)
    complete: bool = False  # nothing more will come
    silenced: bool = False
    flows: bool = False  # it has begun, and did not run dry since
    not_before: int = 0  # it ran dry, and listeners are spared a stutter

    def ready(self, at: int) -> bool:
        enough = self.flows or self.complete or len(self.waiting) >= 2 * BUFFERED
        return bool(self.waiting) and enough and at >= self.not_before


class Loudspeaker:
    """Plays what it has while the microphone captures, sample by sample."""

    def __init__(self) -> None:
        self.sounded: list[tuple[int, bytes]] = []  # where, and what
        self._replies: dict[str, Reply] = {}
        self._sequences: dict[int, Reply] = {}
        self._held = False

    def created(self, response: Event) -> None:
        reply = self._replies[response["id"]] = Reply(response["id"])
        if "attune" in response:
            self._sequences[response["attune"]["sequence"]] = reply

    def named(self, response_id: str, item_id: str) -> None:
        self._replies[response_id].item_id = item_id

    def receive(self, response: str | int, pcm: bytes) -> None:
        table: dict[Any, Reply] = self._sequences if isinstance(response, int) else self._replies
        reply = table[response]
        if not reply.silenced:
            reply.waiting += pcm

    def complete(self, response_id: str) -> None:
        self._replies[response_id].complete = True

    def hold(self) -> None:
        self._held = True

    def resume(self) -> None:
        self._held = False

    def stop(self) -> None:
        """Forget everything begun so far."""
        self._held = False
        for reply in self._replies.values():
            reply.silenced = True
            reply.waiting.clear()

    @property
    def busy(self) -> bool:
        return any(reply.waiting for reply in self._replies.values())

    def play(self, begin: int, count: int) -> list[tuple[Reply, int]]:
        """Sound for so many samples; which reply had been played when, exactly."""
        reports = []
        at, end = begin, begin + count
        for reply in self._replies.values():
            if self._held or at == end:
                break
            if reply.ready(at):
                pcm = bytes(reply.waiting[: 2 * (end - at)])
                del reply.waiting[: len(pcm)]
                self.sounded.append((at, pcm))
                at += len(pcm) // 2
                reply.played += len(pcm) // 2
                reports.append((reply, at))
                reply.flows = at == end
                reply.not_before = 0 if reply.flows else at + PAUSE
            if reply.waiting or not (reply.complete or reply.silenced):
                break  # the next one waits until this one has been played
        return reports
