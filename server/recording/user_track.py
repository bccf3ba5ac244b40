"""Where the user's sound lies: late sound where it was captured, new sound where the clock is."""

from collections import deque
from dataclasses import dataclass, field

from models.types import WIRE_RATE
from server.recording.entries import SAMPLE_BYTES, Hush, Sound
from server.timeline import Timeline

FLOWING_SEC = 0.25  # so much at the pace of speech, and all that was held back has come
FLOWING = round(FLOWING_SEC * WIRE_RATE)
BURST_SHARE = 8  # a block of which more than an eighth repays a silence came in a burst
MAX_LAG = WIRE_RATE // 4  # the network became slower by at most this; more was a pause
MAX_UNDECIDED = 60 * WIRE_RATE
PIECES = 256  # stretches between pauses in which a captured sample can be found again
FORESEEN = WIRE_RATE  # so far ahead of what has arrived a client may have captured
DRIFT_SEC = 2.0  # so long the clock must be behind to have fallen behind for good


@dataclass(slots=True)
class _Stretch:
    """What came between two silences."""

    pcm: bytearray = field(default_factory=bytearray)
    moves: int = 0  # from where it would lie if it was late to where the clock stood


class UserTrack:
    """Places what arrives. Told of everything the timeline is told of, and just after it.

    The clock counts silence in while nothing arrives. What comes then was either held back by
    the network, and fills the silence, or was spoken after a pause, and follows it. Sound that
    fills comes in a burst, so only once it flows at the pace of speech is it known which of the
    two it was. Until then it is laid down as if late, and moved if it was not.
    """

    def __init__(self) -> None:
        self._captured = 0  # samples received
        self._pieces: deque[tuple[int, int]] = deque([(0, 0)], PIECES)  # captured, position
        self._gaps: list[tuple[int, int]] = []
        self._silent = False  # there was a silence, and it is not yet known what it was
        self._undecided: list[_Stretch] = []  # what came since
        self._count = 0  # samples of it
        self._repaid = 0  # those that repaid silence
        self._flowing, self._flowing_since = 0, 0.0  # those since the last in a burst
        self._least_late, self._late_since = MAX_LAG, 0.0

    def arrived(
        self, pcm: bytes, repaid: int, timeline: Timeline, now: float
    ) -> list[Sound | Hush]:
        """Lay down what the timeline has just counted in."""
        count = len(pcm) // SAMPLE_BYTES
        self._captured += count
        begin = timeline.position - timeline.owed - count
        laid: list[Sound | Hush] = [Sound("user", begin, pcm)]
        if not self._silent:
            if timeline.owed:
                self._watch_drift(timeline, now)
            return laid
        if not timeline.owed:  # the silence is filled
            self._decided(now)
            return laid
        self._keep(pcm, repaid, timeline.owed, now)
        # Right after a silence the clock may be a little behind, and the first of a burst seems
        # new: it is only flowing if it also took its time.
        flows = self._flowing >= FLOWING and now - self._flowing_since >= FLOWING_SEC / 2
        if flows:
            laid += self._decide(timeline, now)
        elif self._count > MAX_UNDECIDED:
            laid += self._decide_early(timeline, now)
        return laid

    def passed(self, begin: int, end: int) -> None:
        """Silence was counted in from one position to another."""
        if begin < end:
            self._silent = True
            self._flowing = 0
            if not self._undecided or self._undecided[-1].pcm:
                self._undecided.append(_Stretch())

    def settle(self, timeline: Timeline, now: float) -> list[Sound | Hush]:
        """Nothing that comes now belongs to the time before: decide on what has come."""
        moved = self._decide(timeline, now) if self._silent else []
        if timeline.owed:  # it was late, and a little is still missing
            self._pause([], timeline, now)
        return moved

    def gaps(self) -> list[tuple[int, int]]:
        """The spans found, since this was last asked, in which nothing came from the user."""
        found, self._gaps = self._gaps, []
        return found

    def position_of(self, captured: int) -> int | None:
        """Session position at which a client had captured so many samples.

        None while nobody can tell: during a silence and until it is known what it was, or for
        what is long ago or not yet possible.
        """
        if self._silent:
            known = captured < self._captured - self._count
        else:
            known = captured <= self._captured + FORESEEN
        if known:
            for begin, position in reversed(self._pieces):
                if begin <= captured:
                    return position + captured - begin
        return None

    def _keep(self, pcm: bytes, repaid: int, owed: int, now: float) -> None:
        """It may have to be moved."""
        count = len(pcm) // SAMPLE_BYTES
        stretch = self._undecided[-1]
        stretch.pcm += pcm
        stretch.moves = owed
        self._count += count
        self._repaid += repaid
        if repaid * BURST_SHARE > count:
            self._flowing = 0
        else:
            if not self._flowing:
                self._flowing_since = now
            self._flowing += count

    def _decide(self, timeline: Timeline, now: float) -> list[Sound | Hush]:
        late = self._repaid >= timeline.owed  # most of the silence was filled
        if not late:
            return self._pause(self._undecided, timeline, now)
        if timeline.owed <= MAX_LAG:
            self._decided(now)
            return []
        # What came in the burst was held back; after that there was a pause as well.
        new = self._undecided[-1].pcm
        new = new[len(new) - self._flowing * SAMPLE_BYTES :]
        return self._pause([_Stretch(new, timeline.owed)], timeline, now)

    def _decide_early(self, timeline: Timeline, now: float) -> list[Sound | Hush]:
        """It still comes in a burst, and is more than we keep."""
        if self._repaid < timeline.owed:
            return self._pause(self._undecided, timeline, now)
        self._undecided = [_Stretch()]
        self._count = self._flowing = 0
        return []

    def _pause(self, moved: list[_Stretch], timeline: Timeline, now: float) -> list[Sound | Hush]:
        """The silence was one: what came after it lies where the clock stood then."""
        count = sum(len(stretch.pcm) for stretch in moved) // SAMPLE_BYTES
        owed, captured = timeline.owed, self._captured - count
        begin = end = timeline.position - owed - count
        laid: list[Sound | Hush] = [Hush("user", begin, begin + count)] if count else []
        for at, stretch in enumerate(moved):
            if not stretch.pcm:
                continue
            # A later one that filled some of the silence takes the earlier ones with it.
            position = begin + min(later.moves for later in moved[at:] if later.pcm)
            self._leave(end, position, captured)
            laid.append(Sound("user", position, bytes(stretch.pcm)))
            samples = len(stretch.pcm) // SAMPLE_BYTES
            begin, end, captured = begin + samples, position + samples, captured + samples
        timeline.forgive(now)
        self._leave(end, timeline.position, captured)
        self._decided(now)
        return laid

    def _leave(self, begin: int, end: int, captured: int) -> None:
        """Nothing came from one position to another; then this sample."""
        if begin < end:
            self._gaps.append((begin, end))
            self._pieces.append((captured, end))

    def _decided(self, now: float) -> None:
        self._silent = False
        self._undecided = []
        self._count = self._repaid = self._flowing = 0
        self._least_late, self._late_since = MAX_LAG, now

    def _watch_drift(self, timeline: Timeline, now: float) -> None:
        """Keep a slow microphone from looking like a pause, when next there is a silence."""
        self._least_late = min(self._least_late, timeline.late(now))
        if now - self._late_since >= DRIFT_SEC:
            timeline.excuse(self._least_late)
            self._least_late, self._late_since = MAX_LAG, now
