"""A client at the other end of a bad line: its microphone, the network, its loudspeaker."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

import numpy as np
import numpy.typing as npt

from models.types import WIRE_RATE
from server.recording.entries import Hush, Sound
from server.recording.user_track import UserTrack
from server.timeline import STALL_SEC, Timeline

MS = WIRE_RATE // 1000
BLOCK = 32 * MS
BLANK = bytes(2 * BLOCK)
TICK_SEC = 0.1
Channel = npt.NDArray[np.uint16]


def ramp(begin: int, end: int) -> bytes:
    """Samples that tell which they are, and are never silence."""
    return (np.arange(begin, end, dtype=np.int64) % 65_535 + 1).astype("<u2").tobytes()


def channel(writes: Iterable[Sound | Hush], length: int) -> Channel:
    """What a disk would hold after these writes."""
    laid = np.zeros(length, np.uint16)
    for write in writes:
        if isinstance(write, Sound):
            assert write.position >= 0
            laid[write.position : write.position + len(write.pcm) // 2] = np.frombuffer(
                write.pcm, "<u2"
            )
        else:
            assert 0 <= write.begin < write.end
            laid[write.begin : write.end] = 0
    return laid


@dataclass(frozen=True, slots=True)
class Message:
    """Captured together, and when it arrives."""

    captured_sec: float  # when its first sample was captured
    begin: int  # which sample that was
    count: int
    arrives: float


@dataclass(slots=True)
class Line:
    """How a conversation's microphone and network behave."""

    random: Random
    seconds: float
    mute: float = 0.0  # chance per second that the microphone is switched off
    stall: float = 0.0  # chance per second that the network holds everything back
    jitter_sec: float = 0.03
    piece_sec: float = 0.04
    speed: float = 1.0  # of the client's clock, by ours

    def messages(self) -> Iterator[Message]:
        """What arrives, in order: nothing overtakes, nothing is lost."""
        random, piece = self.random, round(self.piece_sec * WIRE_RATE)
        capturing = begin = 0
        arrived = stalled_until = 0.0
        while (now := capturing / WIRE_RATE / self.speed) < self.seconds:
            if random.random() < self.mute * self.piece_sec:
                capturing += round(random.uniform(0.5, 8) * WIRE_RATE)
                now = capturing / WIRE_RATE / self.speed
            sent = (capturing + piece) / WIRE_RATE / self.speed
            if random.random() < self.stall * self.piece_sec:
                stalled_until = max(stalled_until, sent + random.uniform(0.1, 5))
            arrived = max(arrived, stalled_until, sent + 0.02 + random.random() * self.jitter_sec)
            yield Message(now, begin, piece, arrived)
            begin += piece
            capturing += piece


@dataclass(slots=True)
class Received:
    """A server's view of a line."""

    prompt: bool = False  # silence is counted in right before the sound that ends it
    content: bool = True  # lay samples that tell which they are
    track: UserTrack = field(default_factory=UserTrack)
    timeline: Timeline = field(default_factory=lambda: Timeline(0.0))
    writes: list[Sound | Hush] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    count: int = 0  # samples laid

    def listen(self, messages: Iterable[Message]) -> None:
        """Take everything in as a session does: block by block, with a tick when it is quiet."""
        tick, pending = TICK_SEC, 0
        for message in messages:
            while tick < message.arrives:
                last = self.timeline.last_arrival
                if pending and tick - last >= STALL_SEC:
                    self.take(pending, last)
                    pending = 0
                self.pass_silence(tick)
                tick += TICK_SEC
            if self.prompt:
                self.pass_silence(message.arrives)
            pending += message.count
            while pending >= BLOCK:
                self.take(BLOCK, message.arrives)
                pending -= BLOCK

    def take(self, count: int, now: float) -> list[Sound | Hush]:
        pcm = ramp(self.count, self.count + count) if self.content else BLANK[: 2 * count]
        repaid = self.timeline.arrived(count, now)
        laid = self.track.arrived(pcm, repaid, self.timeline, now)
        self.count += count
        self.writes += laid
        self.gaps += self.track.gaps()
        return laid

    def pass_silence(self, now: float) -> None:
        if missing := self.timeline.silence(now):
            self.track.passed(self.timeline.position - missing, self.timeline.position)

    def settle(self, now: float) -> list[Sound | Hush]:
        laid = self.track.settle(self.timeline, now)
        self.writes += laid
        self.gaps += self.track.gaps()
        return laid

    def positions(self) -> npt.NDArray[np.int64]:
        """Where each sample lies in the end; fails unless each lies somewhere, once, in order."""
        laid = channel(self.writes, self.timeline.position + WIRE_RATE)
        found = np.flatnonzero(laid)
        assert laid[found].tobytes() == ramp(0, self.count)
        return found
