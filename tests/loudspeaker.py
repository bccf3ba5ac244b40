"""A client's loudspeaker at the end of a bad line, and a server that talks through it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random

import numpy as np

from models.types import WIRE_RATE
from server.recording.entries import Hush, Sound
from server.recording.reply_track import ReplyTrack
from tests.far_end import MS, Channel, ramp

PIECE, LEAD, ACK = 40 * MS, 200 * MS, 100 * MS
UP = 17 * MS + 5  # from the client's microphone to us


@dataclass(slots=True)
class Given:
    """What the client has of a reply."""

    reply: str
    received: int = 0
    played: int = 0


@dataclass(slots=True)
class Player:
    """Plays what it has, one reply after the other; time is samples its microphone captured."""

    speaker: Channel
    report: Callable[[str, int, int], None]
    buffer_for: int  # how long it waits for more before it begins
    queue: list[Given] = field(default_factory=list)  # the last stays, to be added to
    now: int = 0
    begins: int | None = None  # when it goes on; None: it has nothing to play, or is held
    held: bool = False

    def advance(self, to: int) -> None:
        while self.begins is not None and self.begins < to:
            begin, playing = max(self.now, self.begins), self.queue[0]
            more = min(to - begin, playing.received - playing.played)
            sound = ramp(playing.played, playing.played + more)
            self.speaker[begin : begin + more] = np.frombuffer(sound, "<u2")
            playing.played += more
            self.now = begin + more
            if self.now == to:
                break
            self.tell()  # a client tells when it falls silent, and when a reply is over
            if len(self.queue) > 1:
                del self.queue[0]
            else:
                self.begins = None
        self.now = to

    def tell(self) -> None:
        if self.queue:
            self.report(self.queue[0].reply, self.queue[0].played, self.now)

    def receive(self, reply: str, samples: int) -> None:
        if not self.queue or self.queue[-1].reply != reply:
            if self.begins is None:
                self.queue.clear()
            self.queue.append(Given(reply))
        self.queue[-1].received += samples
        if self.begins is None and not self.held:
            self.begins = self.now + self.buffer_for

    def hold(self) -> None:
        self.held, self.begins = True, None
        self.tell()

    def resume(self) -> None:
        self.held = False
        if self.queue and self.queue[0].received > self.queue[0].played:
            self.begins = self.now

    def stop(self) -> None:
        """Drop what is waiting of the last reply; one before it plays on."""
        if self.queue:
            self.queue[-1].received = self.queue[-1].played
            if len(self.queue) == 1:
                self.begins = None
                self.tell()


@dataclass(slots=True)
class Exchange:
    """Replies given over a simulated line, and what was written down of them."""

    random: Random
    seconds: int
    reports: bool = True
    slow_model: float = 0.03  # chance that a piece is not ready when it should be
    slow_line: float = 0.02  # chance that it is held up on its way
    hold: float = 0.2  # chance per reply ...
    barge_in: float = 0.3
    track: ReplyTrack = field(default_factory=ReplyTrack)
    writes: list[Sound | Hush] = field(default_factory=list)
    interrupted: dict[str, bool] = field(default_factory=dict)
    spans: dict[str, tuple[int, int, bool]] = field(default_factory=dict)
    reply: str = ""
    heard: int = 0  # of it: as far as the client has told, or as it should be
    _events: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    _number: "count[int]" = field(default_factory=count)
    _delivered: int = 0

    def run(self) -> Channel:
        """Returns what the loudspeaker played."""
        length = self.seconds * WIRE_RATE
        speaker = np.zeros(length + 60 * WIRE_RATE, np.uint16)
        player = Player(speaker, self._report, self.random.choice([6, 20, 60, 150]) * MS)
        number = 0
        now = WIRE_RATE
        while now < length:
            number += 1
            now = self._reply(f"resp_{number}", player, now)
            now += self.random.choice([0, 30, 400, 3000]) * MS
        self._until(player, now + 10 * WIRE_RATE)
        return speaker

    def _at(self, time: int, do: Callable[[], None]) -> None:
        heappush(self._events, (time, next(self._number), do))

    def _until(self, player: Player, time: int) -> None:
        """Let everything happen that is due: to the client, and to us."""
        while player.now < time or (self._events and self._events[0][0] <= time):
            tick = (player.now // ACK + 1) * ACK
            due = min(tick, time, self._events[0][0] if self._events else time)
            player.advance(max(due, player.now))
            if player.now == tick:
                player.tell()
            while self._events and self._events[0][0] <= player.now:
                heappop(self._events)[2]()
            self.track.passing(player.now - UP)

    def _report(self, reply: str, played: int, captured: int) -> None:
        if self.reports:
            self._at(captured + UP, lambda: self._heard(reply, played, captured))

    def _heard(self, reply: str, played: int, captured: int) -> None:
        if reply == self.reply:
            self.heard = played
        self._write(self.track.acknowledged(reply, played, captured), reply)

    def _write(self, writes: list[Sound | Hush], reply: str) -> None:
        self.writes += writes
        if span := self.track.span(reply):
            self.spans[reply] = span

    def _down(self, time: int, do: Callable[[], None]) -> None:
        """Something reaches the client: late, and in order."""
        late = 15 * MS + self.random.randrange(10 * MS)
        if self.random.random() < self.slow_line:
            late += self.random.randrange(400 * MS)
        self._delivered = max(self._delivered, time + late)
        self._at(self._delivered, do)

    def _reply(self, reply: str, player: Player, now: int) -> int:
        """Give one, as the playout does; returns when it is over, for us."""
        random = self.random
        length = random.randrange(PIECE // 2, 12 * WIRE_RATE)
        hold_at = random.randrange(length) if random.random() < self.hold else length
        cut_at = random.randrange(length) if random.random() < self.barge_in else length
        origin, sent = now, 0
        self.reply, self.heard = reply, 0
        while sent < length:
            size = min(PIECE, length - sent)
            now = max(now, origin + sent + size - LEAD)
            if random.random() < self.slow_model:
                now += random.randrange(800 * MS)
            self._until(player, now)
            if sent >= hold_at:
                hold_at = length
                held = self._expected(origin, sent, now)
                self._write(self.track.held(reply, held), reply)
                self._down(now, player.hold)
                wait = random.randrange(100 * MS, 700 * MS)
                now += wait
                self._until(player, now)
                self._write(self.track.resumed(reply, now - UP), reply)
                self._down(now, player.resume)
                origin += wait
                continue
            if sent >= cut_at:
                heard = self._expected(origin, sent, now)
                self._write(self.track.stopped(reply, heard), reply)
                self._down(now, player.stop)
                self._until(player, now + WIRE_RATE // 2)
                return now + WIRE_RATE // 2
            origin = max(origin, now - sent)
            pcm = ramp(sent, sent + size)
            at = origin + sent - UP + random.randrange(-50, 50)
            self._write(self.track.sent(reply, sent, pcm, at, origin / WIRE_RATE), reply)
            self._down(now, lambda size=size: player.receive(reply, size))  # type: ignore[misc]
            sent += size
        now = max(now, origin + sent)
        self._until(player, now)
        self._write(self.track.ended(reply), reply)
        return now

    def _expected(self, origin: int, sent: int, now: int) -> int:
        return self.heard if self.reports else max(0, min(sent, now - origin))
