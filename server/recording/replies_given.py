"""The replies of a conversation as its recording has them: where each lies, and what was heard."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from models.types import WIRE_RATE
from server.recording.entries import SAMPLE_BYTES, Hush, Sound, since
from server.recording.guarded import guarded
from server.recording.reply_track import ReplyTrack, Span
from server.timeline import Timeline

LAST_REPORT = WIRE_RATE // 2  # a client that has reported all but this has played it all
REPORTED = 2 * WIRE_RATE  # after its end, by when a client has reported what it played of a reply


@dataclass(slots=True)
class _Given:
    """A reply whose place may still be corrected."""

    item: str
    sent: int = 0
    played: int = 0  # as the client says
    reports: int = 0  # how often it has said so
    over_at: int | None = None  # where the clock stood when it ended
    told: Span | None = None  # its place, as the log has it


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
        self._silent_until = 0  # before it lie replies to what nobody allowed us to keep

    def fail(self, error: Exception) -> None:
        self._keeper.fail(error)

    @guarded
    def sent(self, reply: str, item: str, offset: int, pcm: bytes, at: int, origin: float) -> None:
        """A piece of a reply went out, to sound at a position."""
        end = offset + len(pcm) // SAMPLE_BYTES
        given = self._given.setdefault(reply, _Given(item))
        given.sent = end
        self._lay(self._track.sent(reply, offset, pcm, at, origin))
        self._keeper.sent(reply, item, offset, end)
        if offset == 0:
            self._tell_place(reply, given)

    @guarded
    def played(self, reply: str, samples: int, at: int | None) -> None:
        """The client says so much has sounded, at a position if it said that, too."""
        given = self._given.get(reply)
        if given and (played := min(samples, given.sent)) > given.played:
            given.played = played
            given.reports += 1
            self._reports = self._reports or given.reports > 1
        self._lay(self._track.acknowledged(reply, samples, at))

    @guarded
    def held(self, reply: str, samples: int) -> None:
        """The client fell silent after so many samples, and keeps the rest."""
        self._lay(self._track.held(reply, self._heard(reply, samples)))

    @guarded
    def resumed(self, reply: str, at: int) -> None:
        """It goes on where it fell silent."""
        self._lay(self._track.resumed(reply, at))

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
        self._over(reply)

    def look_back(self) -> None:
        """Tell what has become certain of places, and let go of what can no longer change."""
        now = self._timeline.position
        for reply, given in self._given.items():
            over = given.over_at is not None and now - given.over_at > REPORTED
            if over and self._reports and given.played < given.sent - LAST_REPORT:
                # Nothing more is reported of it: the rest has not sounded.
                self._lay(self._track.stopped(reply, given.played))
            self._tell_place(reply, given)
        for reply in self._track.passing(now):
            self._given.pop(reply, None)

    def close(self) -> None:
        """The conversation is over: what has not sounded will not."""
        for reply, given in self._given.items():
            if self._reports:
                self._lay(self._track.stopped(reply, given.played))
            self._over(reply)

    def _lay(self, laid: Iterable[Sound | Hush]) -> None:
        for reply in self._given:  # where one is moved, those after it may be, too
            span = self._track.span(reply)
            if span and not self._keeper.may_sound(reply):
                self._silent_until = max(self._silent_until, span.end)
        kept = (since(entry, self._silent_until) for entry in laid)
        self._keeper.lay(entry for entry in kept if entry)

    def _heard(self, reply: str, estimate: int) -> int:
        """How much has sounded: of a client that reports, what it reported."""
        given = self._given.get(reply)
        return given.played if given and self._reports else estimate

    def _over(self, reply: str) -> None:
        if given := self._given.get(reply):
            given.over_at = given.over_at or self._timeline.position
            self._tell_place(reply, given)

    def _tell_heard(self, reply: str, words: str) -> None:
        if given := self._given.get(reply):
            about = {"item_id": given.item, "transcript": words}
            self._keeper.note({"type": "recording.heard", **about})

    def _tell_place(self, reply: str, given: _Given) -> None:
        """Where in session time a reply lies, unless the log knows."""
        span = self._track.span(reply)
        if span is None and given.told:  # nothing of it sounded after all
            span = Span(given.told.start, given.told.start, True)
        if span is None or span == given.told:
            return
        given.told = span
        start, end, interrupted = span
        turn = {"item_id": given.item, "role": "assistant", "response_id": reply}
        where = {"start": start, "end": end, "interrupted": interrupted}
        self._keeper.note({"type": "recording.turn", **turn, **where})
