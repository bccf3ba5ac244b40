"""The replies of a conversation as its recording has them: where each lies, and what was heard."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from models.types import WIRE_RATE
from server.recording.entries import SAMPLE_BYTES, Hush, Sound
from server.recording.guarded import guarded
from server.recording.reply_place import NOISE
from server.recording.reply_track import ReplyTrack, Span
from server.timeline import Timeline

MAX_STEP = WIRE_RATE // 2  # from one report to the next, of a client that should be believed


@dataclass(slots=True)
class _Given:
    """A reply whose place may still be corrected."""

    item: str
    expected: int  # where it should begin
    sent: int = 0
    played: int = 0  # as the client says
    reports: int = 0  # how often it has said so
    over: bool = False
    spoken: bool = False  # all of it was sent, and should have sounded
    told: Span | None = None  # its place, as the log has it

    @property
    def told_to_its_end(self) -> bool:
        return 0 < self.sent == self.played


@dataclass(frozen=True, slots=True)
class Keeper:
    """Who puts it down, and knows what may be."""

    lay: Callable[[Iterable[Sound | Hush]], None]
    note: Callable[[dict[str, Any]], None]
    may_sound: Callable[[str], bool]  # whether the sound of a response may be kept
    sent: Callable[[str, str, int, int], None]
    fail: Callable[[Exception], None]


class RepliesGiven:
    """Told of everything that becomes of a reply, from its first piece on."""

    def __init__(self, timeline: Timeline, keeper: Keeper) -> None:
        self._timeline = timeline
        self._keeper = keeper
        self._track = ReplyTrack()
        self._given: dict[str, _Given] = {}
        self._reports = False  # the client goes on telling what it plays: nothing else has sounded
        self._reports_ends = False  # ... up to the last sample
        self._step = 0  # ... or at least after so many more

    def fail(self, error: Exception) -> None:
        self._keeper.fail(error)

    @guarded
    def sent(self, reply: str, item: str, offset: int, pcm: bytes, at: int, origin: float) -> None:
        """A piece of a reply went out, to sound at a position."""
        end = offset + len(pcm) // SAMPLE_BYTES
        given = self._given.setdefault(reply, _Given(item, at))
        laid = self._track.sent(reply, offset, pcm, at, origin)
        if self._reports and given.sent == 0:
            laid = self._track.held(reply, 0)  # until the client tells of it
        given.sent = end
        self._lay(laid)
        self._let_go()
        self._keeper.sent(reply, item, offset, end)
        if offset == 0:
            self._tell_place(reply, given)

    @guarded
    def played(self, reply: str, samples: int, at: int | None) -> None:
        """The client says so much has sounded, at a position if it said that, too."""
        given = self._given.get(reply)
        if given and (played := min(samples, given.sent)) > given.played:
            self._step = min(max(self._step, played - given.played), MAX_STEP)
            given.played = played
            given.reports += 1
            self._reports_ends |= given.over and given.told_to_its_end
            if not self._reports and given.reports > 1:
                self._wait_for_reports()
        self._lay(self._track.acknowledged(reply, samples, at))
        if given and given.reports == 1:
            self._tell_place(reply, given)

    @guarded
    def held(self, reply: str, samples: int) -> None:
        """The client fell silent after so many samples, and keeps the rest."""
        self._lay(self._track.held(reply, self._heard(reply, samples)))

    @guarded
    def resumed(self, reply: str, at: int) -> None:
        """It goes on where it fell silent."""
        self._lay(self._track.resumed(reply, at))
        if self._reports and (given := self._given.get(reply)):
            self._lay(self._track.held(reply, given.played))

    @guarded
    def cut_off(self, reply: str, samples: int, words: str) -> None:
        """No more than this was heard, as far as we can tell."""
        self._tell_heard(reply, words)
        self._lay(self._track.stopped(reply, self._heard(reply, samples)))
        self._over(reply)

    @guarded
    def truncated(self, item: str, samples: int, words: str) -> None:
        """No more than this was heard, the client says."""
        for reply, given in self._given.items():
            if given.item == item:
                self._tell_heard(reply, words)
                self._lay(self._track.truncated(reply, samples))
                self._over(reply)

    @guarded
    def spoken(self, reply: str) -> None:
        """All of it was sent, and should have sounded."""
        self._lay(self._track.ended(reply))
        if given := self._given.get(reply):
            given.spoken = True
        self._over(reply)

    def look_back(self) -> None:
        """Tell what has become certain of places, and let go of what can no longer change."""
        now = self._timeline.position
        for reply in self._track.past(now):
            self._round_up(reply, self._given[reply])
        for reply, given in self._given.items():
            self._tell_place(reply, given)
        self._track.passing(now)
        self._let_go()

    def close(self) -> None:
        """The conversation is over: what has not sounded will not."""
        for reply, given in self._given.items():
            self._round_up(reply, given)
            self._over(reply)

    def _wait_for_reports(self) -> None:
        """The client goes on telling what it plays: nothing else has sounded."""
        self._reports = True
        for reply, given in self._given.items():
            self._lay(self._track.held(reply, given.played))

    def _round_up(self, reply: str, given: _Given) -> None:
        """A client that never tells of ends has played this reply's, if there was time."""
        span, untold = self._track.span(reply), given.sent - given.played
        reported = self._reports and given.spoken and not self._reports_ends
        if span and reported and untold <= self._step:
            others = [other for name in self._given if (other := self._track.span(name))]
            later = (other.start for other in others if other.start >= span.end)
            if span.end + untold <= min(later, default=self._timeline.position) + NOISE:
                self._lay(self._track.stopped(reply, given.sent))

    def _let_go(self) -> None:
        """Tell of the replies that can no longer change where they lie."""
        for reply, span in self._track.gone():
            if given := self._given.pop(reply, None):
                self._tell(reply, given, span)

    def _lay(self, laid: Iterable[Sound | Hush]) -> None:
        self._keeper.lay(self._that_may_sound(laid))

    def _that_may_sound(self, laid: Iterable[Sound | Hush]) -> Iterator[Sound | Hush]:
        """Found out only if the keeper looks: mostly nothing is recorded."""
        spans = [
            self._track.span(reply) for reply in self._given if not self._keeper.may_sound(reply)
        ]
        # Where one is moved, others may be, too; but one never lies within another.
        for entry in laid:
            if isinstance(entry, Hush) or not any(
                span and span.start <= entry.position < span.end for span in spans
            ):
                yield entry

    def _heard(self, reply: str, estimate: int) -> int:
        """How much has sounded: of a client that reports, what it reported."""
        given = self._given.get(reply)
        return given.played if given and self._reports else estimate

    def _over(self, reply: str) -> None:
        if given := self._given.get(reply):
            given.over = True
            self._reports_ends |= given.told_to_its_end
            self._tell_place(reply, given)

    def _tell_heard(self, reply: str, words: str) -> None:
        if given := self._given.get(reply):
            about = {"item_id": given.item, "transcript": words}
            self._keeper.note({"type": "recording.heard", **about})

    def _tell_place(self, reply: str, given: _Given) -> None:
        self._tell(reply, given, self._track.span(reply))

    def _tell(self, reply: str, given: _Given, span: Span | None) -> None:
        """Where in session time a reply lies, unless the log knows."""
        if span is None:  # nothing of it sounded, or not yet
            start = given.told.start if given.told else given.expected
            span = Span(start, start, True)
        if span == given.told:
            return
        given.told = span
        start, end, interrupted = span
        turn = {"item_id": given.item, "role": "assistant", "response_id": reply}
        where = {"start": start, "end": end, "interrupted": interrupted}
        self._keeper.note({"type": "recording.turn", **turn, **where})
