"""One reply on the session's clock: what is known of where it sounded, and what is expected."""

from typing import NamedTuple

from models.types import WIRE_RATE
from server.recording.entries import SAMPLE_BYTES

NOISE = WIRE_RATE * 5 // 1000  # reports that differ by less say the same
# A client that reports so soon was still waiting for more when a piece came late, or would have
# reported before.
JUST_BEGUN = WIRE_RATE // 4
MAX_EARLY = WIRE_RATE  # nothing plays so long before it is expected to


class Run(NamedTuple):
    """From a sample of the reply on it should sound at a position, or as soon as it can."""

    offset: int
    position: int


class Placed(NamedTuple):
    """Samples of the reply that lie together."""

    offset: int
    position: int
    length: int

    @property
    def end(self) -> int:
        return self.position + self.length


class ReplyPlace:
    """Places one reply. Offsets are its samples; positions, session time."""

    def __init__(self, begin: int) -> None:
        self.begin = self.forgotten = begin  # the first sample, and the first still kept
        self.placed: list[Placed] = []  # as last written
        self.limit: int | None = None  # nothing from this sample on sounded
        self.complete = False  # all of it was sent
        self.over_at: int | None = None  # where the clock stood when it ended
        self.reported_at = 0  # ... and when the client last told of it
        self._pcm = bytearray()
        self._runs: list[Run] = []
        self._origin: float | None = None
        self._delay = 0  # by how much it sounds later than we expect
        self._played = begin  # the client says
        self._known: int | None = None  # so far its place is known, not expected
        self._exact = False  # the client itself said where it ended

    @property
    def sent(self) -> int:
        return self.forgotten + self.kept

    @property
    def kept(self) -> int:
        return len(self._pcm) // SAMPLE_BYTES

    @property
    def interrupted(self) -> bool:
        return self.limit is not None and (self.limit < self.sent or not self.complete)

    def pcm(self, part: Placed) -> bytes:
        begin = (part.offset - self.forgotten) * SAMPLE_BYTES
        return bytes(self._pcm[begin : begin + part.length * SAMPLE_BYTES])

    def missing(self, offset: int, pcm: bytes) -> bytes:
        """What has to be added: nothing twice, and silence for what was never given."""
        surplus = self.sent - offset
        if surplus >= 0:
            return pcm[surplus * SAMPLE_BYTES :]
        return bytes(-surplus * SAMPLE_BYTES) + pcm

    def take(self, pcm: bytes, at: int, origin: float) -> None:
        if not self._runs or origin != self._origin:
            if self._origin is not None or not self._runs:
                self._runs.append(Run(self.sent, at + self._delay))
            self._origin = origin
        self._pcm += pcm

    def expected_from(self, offset: int, earliest: int) -> int:
        """Where a sample sounds that is the last run's first, or follows in it."""
        run = self._runs[-1]
        return max(run.position, earliest) if run.offset == offset else earliest

    def lay_more(self, offset: int, position: int, count: int) -> None:
        last = self.placed[-1] if self.placed else None
        if last and last.end == position:
            self.placed[-1] = last._replace(length=last.length + count)
        else:
            self.placed.append(Placed(offset, position, count))

    def arranged(self, floor: int, until: int | None = None) -> list[Placed]:
        """Where all of it sounds up to a sample: by the runs, and nothing before the floor."""
        if until is None:
            until = self.sent if self.limit is None else min(self.limit, self.sent)
        placed: list[Placed] = []
        for at, (offset, position) in enumerate(self._runs):
            end = self._runs[at + 1].offset if at + 1 < len(self._runs) else until
            count = min(end, until) - offset
            if count <= 0:
                break
            position = max(position, floor)
            floor = position + count
            if placed and placed[-1].end == position:
                placed[-1] = placed[-1]._replace(length=placed[-1].length + count)
            else:
                placed.append(Placed(offset, position, count))
        return placed

    def acknowledge(self, played: int, at: int | None, floor: int) -> bool:
        """The client's report; False if it changes nothing."""
        if self._exact or played < self._played or played <= self.begin:
            return False
        if played > self.sent:
            played, at = self.sent, None
        self._played = played
        if self.limit is not None:
            self.limit = max(self.limit, played)
        if at is not None:
            self._anchor(played, at, floor)
        return True

    def _anchor(self, played: int, at: int, floor: int) -> None:
        placed = self.arranged(floor, played)
        differs = at - end_of(placed, floor)
        if self._known is None:
            if differs < -MAX_EARLY:
                return
            self._runs = [
                Run(part.offset, part.position + differs)
                for part in self.arranged(floor, self.sent)
            ]
            self._delay = differs
            if played - self.begin <= JUST_BEGUN:
                later = [run for run in self._runs if run.offset >= played]
                self._runs = [Run(self.begin, at - played + self.begin), *later]
        elif played < self._known:
            return
        else:
            expected = placed[-1].offset >= self._known  # nobody has told yet where this run is
            if abs(differs) > (0 if expected else NOISE):
                self._pause(played, at, floor)
        self._known = played

    def _pause(self, played: int, at: int, floor: int) -> None:
        """Between the sample known last and this one, it stood still."""
        known = self._known or self.begin
        before, between = self.arranged(floor, known), self.arranged(floor, played)
        end = end_of(before, floor)
        # Where it was seen to stand, or else where a piece came late, or else at once.
        dry = [
            (after.offset == known, after.position - part.end, after.offset)
            for part, after in zip(between, between[1:], strict=False)
            if after.offset >= known
        ]
        offset = max(dry)[2] if dry else known
        paused = (at - played) - (end - known)  # less than nothing cannot be: see `arranged`
        later = [run for run in self._runs if run.offset >= max(played, known)]
        resumed = Run(offset, end + offset - known + paused)
        if later and later[0].offset == offset:
            first = later.pop(0)
            resumed = Run(offset, max(resumed.position, first.position))
        self._runs = [*(Run(p.offset, p.position) for p in before), resumed, *later]

    def stop(self, heard: int) -> None:
        if not self._exact:
            self.limit = max(min(heard, self.sent), self._played)

    def truncate(self, heard: int) -> None:
        self._exact = True
        self.limit = min(heard, self.sent)

    def resume(self, at: int) -> None:
        """What was kept from the limit on sounds from a position on."""
        if self.limit is None or self._exact:
            return
        self._runs = [run for run in self._runs if run.offset < self.limit]
        self._runs.append(Run(self.limit, at + self._delay))
        self.limit = None
        self._origin = None  # whatever it is now, the next piece follows

    def freeze(self) -> None:
        """Let all of it lie as it does."""
        self._known = self.sent
        self.forget_known()

    def forget_known(self) -> None:
        if self._known is not None and self._known > self.forgotten:
            del self._pcm[: (self._known - self.forgotten) * SAMPLE_BYTES]
            self.forgotten = self._known


def end_of(placed: list[Placed], floor: int) -> int:
    return placed[-1].end if placed else floor
