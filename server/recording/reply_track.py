"""Where replies lie: as they were played, as far as the client tells; as expected, where not."""

from collections.abc import Iterator
from typing import NamedTuple

from models.types import WIRE_RATE
from server.recording.entries import SAMPLE_BYTES, Hush, Sound
from server.recording.reply_place import Placed, ReplyPlace, end_of

# So long a client may be silent about a reply, and then still tell where it was played: after the
# reply's end, and after its last word on any before.
CORRECTABLE = 10 * WIRE_RATE
MAX_HELD = 64  # replies kept for it
MAX_KEPT = 600 * WIRE_RATE  # samples of them


class Span(NamedTuple):
    start: int
    end: int
    interrupted: bool


class ReplyTrack:
    """Lays replies one after the other; each call returns what to write over what was there.

    One loudspeaker plays one thing at a time: stretches never overlap, and where a correction
    would make them, what comes later gives way.
    """

    def __init__(self, begin: int = 0) -> None:
        self._floor = begin  # nothing may move to before this
        self._now = begin
        self._replies: dict[str, ReplyPlace] = {}  # in the order they are given
        self._gone: list[tuple[str, Span | None]] = []

    def sent(
        self, reply_id: str, offset: int, pcm: bytes, at: int, origin: float
    ) -> list[Sound | Hush]:
        """A piece went out, expected to sound at a position.

        The same origin as the last piece had: it follows that one, wherever it is expected.
        """
        reply = self._replies.get(reply_id)
        if reply is None:
            reply = self._begin(reply_id, offset)
        pcm = reply.missing(offset, pcm)
        if not pcm:
            return []
        first = reply.sent
        reply.take(pcm, at, origin)
        self._bound(reply)
        if reply is not next(reversed(self._replies.values())) or reply.limit is not None:
            return self._relaid()
        end = end_of(reply.placed, self._floor_of(reply))
        position = reply.expected_from(first, end)
        reply.lay_more(first, position, len(pcm) // SAMPLE_BYTES)
        return [Sound("reply", position, pcm)]

    def acknowledged(self, reply_id: str, played: int, at: int | None) -> list[Sound | Hush]:
        """The client had played so much of the reply at a position; None: it did not say when."""
        reply = self._replies.get(reply_id)
        if reply is None:
            return []
        reply.reported_at = self._now
        if not reply.acknowledge(played, at, self._floor_of(reply)):
            return []
        laid = self._relaid()
        self._forget()
        return laid

    def held(self, reply_id: str, heard: int) -> list[Sound | Hush]:
        """The client falls silent after a sample, and keeps the rest."""
        return self._stop(reply_id, heard)

    def resumed(self, reply_id: str, at: int) -> list[Sound | Hush]:
        """It goes on with what it kept."""
        if reply := self._replies.get(reply_id):
            reply.resume(at)
        return self._relaid()

    def stopped(self, reply_id: str, heard: int) -> list[Sound | Hush]:
        """Nothing after a sample was played, unless the client says otherwise."""
        laid = self._stop(reply_id, heard)
        self._end(reply_id)
        return laid

    def truncated(self, reply_id: str, heard: int) -> list[Sound | Hush]:
        """Nothing after a sample was played: the client says so."""
        if reply := self._replies.get(reply_id):
            reply.truncate(heard)
            self._end(reply_id)
        return self._relaid()

    def ended(self, reply_id: str) -> list[Sound | Hush]:
        """All of it was sent."""
        if reply := self._replies.get(reply_id):
            reply.complete = True
            self._end(reply_id)
        return []

    def passing(self, position: int) -> None:
        """Session time goes on: let go of the replies that will not be moved any more."""
        for reply_id in self.past(position):
            self._let_go(reply_id)

    def past(self, position: int) -> list[str]:
        """The replies of which nothing more will be told."""
        self._now = max(self._now, position)
        past: list[str] = []
        for reply_id, reply in self._replies.items():
            if reply.over_at is None:
                break
            quiet_since = max(reply.over_at, reply.reported_at, end_of(reply.placed, 0))
            if self._now <= quiet_since + CORRECTABLE:
                break  # those after it are still to come
            past.append(reply_id)
        return past

    def gone(self) -> list[tuple[str, Span | None]]:
        """The replies let go since this was last asked, and where they lie for good."""
        gone, self._gone = self._gone, []
        return gone

    def span(self, reply_id: str) -> Span | None:
        """Where a reply lies that can still be moved; None if nothing of it sounded."""
        reply = self._replies.get(reply_id)
        if reply is None or not reply.placed:
            return None
        return Span(reply.placed[0].position, end_of(reply.placed, 0), reply.interrupted)

    def _begin(self, reply_id: str, offset: int) -> ReplyPlace:
        for earlier in list(self._replies):
            self._end(earlier)
        while len(self._replies) >= MAX_HELD:
            self._let_go(next(iter(self._replies)))
        self._replies[reply_id] = reply = ReplyPlace(offset)
        return reply

    def _end(self, reply_id: str) -> None:
        reply = self._replies.get(reply_id)
        if reply and reply.over_at is None:
            reply.over_at = self._now

    def _stop(self, reply_id: str, heard: int) -> list[Sound | Hush]:
        if reply := self._replies.get(reply_id):
            reply.stop(heard)
        return self._relaid()

    def _let_go(self, reply_id: str) -> None:
        self._gone.append((reply_id, self.span(reply_id)))
        self._floor = self._floor_after(self._replies.pop(reply_id))

    def _floor_after(self, reply: ReplyPlace) -> int:
        return max(self._floor, end_of(reply.placed, self._floor))

    def _bound(self, reply: ReplyPlace) -> None:
        """Lay down for good what is more than we keep."""
        while sum(other.kept for other in self._replies.values()) > MAX_KEPT:
            oldest = next(iter(self._replies))
            if self._replies[oldest] is reply:
                reply.freeze()
                break
            self._let_go(oldest)

    def _forget(self) -> None:
        """What is known of the oldest reply cannot be moved any more, not even by another."""
        oldest = next(iter(self._replies.values()))
        oldest.forget_known()

    def _floors(self) -> Iterator[tuple[ReplyPlace, int]]:
        floor = self._floor
        for reply in self._replies.values():
            yield reply, floor
            floor = end_of(reply.placed, floor)

    def _floor_of(self, wanted: ReplyPlace) -> int:
        return next(floor for reply, floor in self._floors() if reply is wanted)

    def _relaid(self) -> list[Sound | Hush]:
        """What to write so that every reply lies where it is now thought to."""
        hushed: list[Sound | Hush] = []
        sounding: list[Sound | Hush] = []
        for reply, floor in self._floors():
            old, reply.placed = reply.placed, reply.arranged(floor)
            same = _same_until(old, reply.placed, reply.begin)
            hushed += [Hush("reply", part.position, part.end) for part in _from(same, old)]
            sounding += [
                Sound("reply", part.position, reply.pcm(part))
                for part in _from(max(same, reply.forgotten), reply.placed)
            ]
        return hushed + sounding


def _same_until(old: list[Placed], new: list[Placed], begin: int) -> int:
    """The sample of the reply up to which two arrangements agree."""
    same = begin
    for before, after in zip(old, new, strict=False):
        if (before.offset, before.position) != (after.offset, after.position):
            break
        same = before.offset + min(before.length, after.length)
        if before.length != after.length:
            break
    return same


def _from(offset: int, placed: list[Placed]) -> Iterator[Placed]:
    for part in placed:
        skipped = max(0, offset - part.offset)
        if skipped < part.length:
            yield Placed(part.offset + skipped, part.position + skipped, part.length - skipped)
