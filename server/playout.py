"""Sending a reply at the pace it is played, and knowing how much of it was heard."""

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.audio import encode_pcm16
from models.types import WIRE_RATE, Samples, SpokenChunk
from server.clock import Clock, Gate

PIECE = WIRE_RATE * 40 // 1000  # samples in one message: 40 ms
GAP_SEC = 0.02  # a shorter one is lost in the client's own buffer
RECENT_PIECES = 8  # kept, because the client may not have played them: more than any lead
UNHEARD_PIECES = 750  # ... or as many as half a minute, of a client that fell silent

Hold = Literal["doubt", "away"]  # someone may be interrupting; nobody is there to hear it


@dataclass(frozen=True, slots=True)
class Spoken:
    """Where in the reply some words end."""

    end: int
    text: str


class Playout:
    """One reply's way to the loudspeaker. Positions are samples of the reply at WIRE_RATE.

    What has been heard is what the client acknowledged, or, from a client that acknowledges
    nothing, what it must have played by now at real-time pace.
    """

    def __init__(
        self,
        clock: Clock,
        send: Callable[[Samples, bytes, int], Awaitable[None]],
        lead_sec: float,
        keeps_buffer: bool,
        not_before: float = 0.0,
        ran_dry: Callable[[], None] = lambda: None,
    ) -> None:
        self.sent = 0
        self.started_at: float | None = None  # clock time of the first piece
        self._clock = clock
        self._send = send
        self._lead_sec = lead_sec
        self._ran_dry = ran_dry  # told when what was sent has sounded before there is more
        self._keeps_buffer = keeps_buffer  # on hold the client falls silent, and later goes on
        # Clock time at which sample 0 sounded, shifted by every pause since. At the earliest it
        # follows what the client was given before.
        self._origin = not_before
        self._held_at: float | None = None
        self._holds: set[Hold] = set()
        self._free = Gate(clock)
        self._free.open()
        self._acknowledged: int | None = None
        self._spoken: list[Spoken] = []
        self._recent: deque[Samples] = deque(maxlen=UNHEARD_PIECES)

    async def play(self, chunk: SpokenChunk) -> None:
        samples = chunk.audio.samples
        pcm = encode_pcm16(samples)  # all at once: a call for every piece costs more than its work
        self._spoken.append(Spoken(self.sent + len(samples), chunk.text))
        for begin in range(0, len(samples), PIECE):
            piece = samples[begin : begin + PIECE]
            await self._may_send(len(piece))
            now = self._clock.time()
            if self.started_at is None:
                self.started_at = now
            elif now - self.ends_at > GAP_SEC:
                self._ran_dry()
            # Nothing plays before it is there: after a wait the whole rest moves back.
            self._origin = max(self._origin, now - self.sent / WIRE_RATE)
            await self._send(piece, pcm[2 * begin : 2 * (begin + PIECE)], self.sent)
            self.sent += len(piece)
            self._keep(piece)

    def _keep(self, piece: Samples) -> None:
        self._recent.append(piece)
        kept, unheard = sum(map(len, self._recent)), self.sent - self.heard
        while len(self._recent) > RECENT_PIECES and kept - len(self._recent[0]) >= unheard:
            kept -= len(self._recent.popleft())

    async def finish(self) -> None:
        """Wait until everything sent has been played."""
        while True:
            await self._free.wait()
            if self.ends_at <= self._clock.time():
                break
            await self._clock.until(self.ends_at)
        self._recent.clear()

    async def _may_send(self, count: int) -> None:
        """Wait until so many samples more are no more than the client may have in hand."""
        while True:
            await self._free.wait()
            due = self.ends_at + count / WIRE_RATE - self._lead_sec
            if due <= self._clock.time():
                return
            await self._clock.until(due)

    def hold(self, why: Hold = "doubt") -> None:
        """Send nothing more until `resume`, for every reason there was."""
        self._holds.add(why)
        if self._held_at is None:
            self._held_at = self._clock.time()
            self._free.shut()

    def resume(self, why: Hold = "doubt") -> None:
        self._holds.discard(why)
        if self._held_at is not None and not self._holds:
            now = self._clock.time()
            if self._keeps_buffer:
                self._origin += now - self._held_at
            else:  # it may have played out what it had: we were silent, and did not run dry
                self._origin = max(self._origin, now - self.sent / WIRE_RATE)
            self._held_at = None
            self._free.open()

    def held(self, why: Hold = "doubt") -> bool:
        return why in self._holds

    def acknowledge(self, played: int) -> None:
        """The client says it has played this much; late and impossible reports are ignored."""
        self._acknowledged = max(self._acknowledged or 0, min(played, self.sent))

    @property
    def heard(self) -> int:
        """Samples of the reply that have sounded."""
        if self.started_at is None:
            return 0
        if self._acknowledged is not None:
            return self._acknowledged
        now = self._clock.time()
        if self._held_at is not None and self._keeps_buffer:
            now = self._held_at
        return max(0, min(self.sent, round((now - self._origin) * WIRE_RATE)))

    @property
    def sounding(self) -> bool:
        """Whether the client still has something of this reply to play."""
        return self.started_at is not None and self.heard < self.sent

    @property
    def waiting(self) -> Samples:
        """What the client has and has not played yet."""
        recent = np.concatenate([np.empty(0, np.float32), *self._recent])
        return recent[max(0, len(recent) - (self.sent - self.heard)) :]

    @property
    def ends_at(self) -> float:
        """Clock time at which all that was sent will have sounded."""
        return self._origin + self.sent / WIRE_RATE

    @property
    def origin(self) -> float:
        """Clock time at which sample 0 would have sounded, had there been no pause since."""
        return self._origin

    def sounds_at(self, sample: int) -> float:
        """Clock time at which a sample of the reply is expected to sound."""
        return self._origin + sample / WIRE_RATE

    def words_until(self, sample: int) -> str:
        """What had been said by then, to the word."""
        text, begin = "", 0
        for spoken in self._spoken:
            if spoken.end <= sample:
                text += spoken.text
            elif begin < sample:
                words = spoken.text.split(" ")
                share = (sample - begin) / (spoken.end - begin)
                text += " ".join(words[: int(len(words) * share)])
            begin = spoken.end
        return text.strip()
