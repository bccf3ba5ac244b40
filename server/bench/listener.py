"""A client that hears: a simulated loudspeaker for each reply, led by the events that come."""

from dataclasses import dataclass, field
from typing import Any

from server.bench.microphone import Microphone
from server.bench.player import Player
from server.client import Call

Event = dict[str, Any]


@dataclass(slots=True)
class Listener:
    """Acts on what came, in the order of its arrival and as of then, however late it looks."""

    call: Call
    microphone: Microphone
    players: dict[str, Player] = field(default_factory=dict)  # by response, the latest last
    events: int = 0  # of the call's, already acted upon
    pieces: int = 0
    items: dict[str, str] = field(default_factory=dict)  # a response's spoken item

    @property
    def player(self) -> Player:
        """Of the reply that sounded last."""
        return next(reversed(self.players.values())) if self.players else Player()

    def catch_up(self) -> None:
        """Do what a client would have done at each arrival, at the time of the arrival."""
        pieces, self.pieces = self.call.pieces[self.pieces :], len(self.call.pieces)
        events = self.call.events[self.events :]
        times, self.events = self.call.times[self.events :], len(self.call.events)
        arrived: list[tuple[float, tuple[str, int] | Event]] = [
            (piece.at, (piece.response, len(piece.samples))) for piece in pieces
        ]
        arrived += zip(times, events, strict=True)
        for at, what in sorted(arrived, key=lambda arrival: arrival[0]):
            if isinstance(what, tuple):
                response, samples = what
                self.players.setdefault(response, Player()).receive(at, samples)
            else:
                self._obey(at, what)

    def _obey(self, at: float, event: Event) -> None:
        match event["type"]:
            case "attune.hold":
                self.player.hold(at)
            case "attune.resume":
                self.player.resume(at)
            case "input_audio_buffer.speech_started":
                self.player.stop(at)
            case "response.output_item.added":
                self.items.setdefault(event["response_id"], event["item"]["id"])

    async def acknowledge(self, at: float) -> None:
        """Tell how much has been played by now of the reply that sounds or sounded last."""
        self.catch_up()
        response = next(reversed(self.players), None)
        if response in self.items:
            await self.call.send(
                type="attune.playback",
                response_id=response,
                item_id=self.items[response],
                played_samples=self.player.played(at),
                input_samples=self.microphone.sent,
            )
