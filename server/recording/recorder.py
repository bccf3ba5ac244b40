"""One conversation on its way to the disk: only what the person allows, and never waiting."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from models.types import WIRE_RATE
from server.consent import SCOPES, Consent
from server.private_log import where
from server.recording.allowed import Setting, consented, described, lost
from server.recording.audio_lines import AudioLines
from server.recording.entries import (
    SAMPLE_BYTES,
    Closed,
    Described,
    Hush,
    Said,
    Sound,
    Withdrawn,
    since,
)
from server.recording.guarded import guarded
from server.recording.origins import NOTHING, Origins
from server.recording.paper import Paper, Reason, Sheet
from server.recording.replies_given import Keeper, RepliesGiven
from server.recording.user_track import UserTrack
from server.sessions.format import Ending, SessionFile, Stopped
from server.timeline import Timeline

# Told by the sound itself: in the log they are the samples they carried.
AUDIO_EVENTS = ("input_audio_buffer.append", "response.output_audio.delta")
MAX_CHANGES = 32  # of consent: each rewrites what was kept
LOOK_BACK = WIRE_RATE  # how often it is looked what has become certain

Source = Literal["client", "server", "recorder"]
Why = Literal["hung_up", "lost", "failed", "server_stopped"]
Gone = asyncio.Future[None]  # done once what was withdrawn has gone from the disk

log = logging.getLogger(__name__)


class Recorder:
    """Hears everything that crosses the wire, and keeps what it may.

    Sound is laid on the session's clock whether or not it is kept: where a later sample belongs
    depends on what came before it. Nothing is kept until somebody consents.
    """

    def __init__(self, paper: Paper, timeline: Timeline) -> None:
        self.consent: Consent | None = None  # None: nobody has said anything about it
        self.stopped: Reason | None = None
        self.broke_off: Reason | None = None  # what stopped it first
        self.deleted = False
        self.begun: asyncio.Future[None] | None = None  # done once the folder can be found
        self._paper = paper
        self._timeline = timeline
        self._user = UserTrack()
        self._looked_back = 0
        self._origins = Origins()
        self._audio_from: int | None = None  # nothing that sounded before it is kept
        self._sheet: Sheet | None = None
        self._session: SessionFile | None = None
        self._setting: Setting | None = None
        self._lines = AudioLines(self._note)
        self.replies = RepliesGiven(
            timeline,
            Keeper(
                self._lay,
                lambda event: self._note("recorder", event, self._origins.allow(event)),
                lambda reply: self._origins.of(reply).audio,
                self._lines.sent,
                self.fail,
            ),
        )
        self._when_changed: Callable[[], None] = lambda: None

    @property
    def session_id(self) -> str:
        return self._paper.session_id

    @property
    def secret(self) -> str:
        return self._paper.secret

    @property
    def user_agent(self) -> str | None:
        return self._paper.user_agent

    @property
    def possible(self) -> bool:
        return self._paper.sheets is not None and not self.deleted

    @property
    def recording(self) -> bool:
        return self._sheet is not None and self.stopped is None

    @property
    def spares_children(self) -> bool:
        """Whether nothing may be kept of a child: then every voice that is kept is perceived."""
        return not self._paper.children

    @property
    def listens_for_children(self) -> bool:
        """Whether something is being kept that would have to go if a child were heard."""
        kept = self.recording and self.consent is not None and self.consent.personal
        return kept and self.spares_children

    def when_changed(self, tell: Callable[[], None]) -> None:
        """Have somebody told, in the loop's thread, when it breaks off, or others withdraw."""
        self._when_changed = tell

    # -- consent

    def takes(self, consent: Consent) -> bool:
        """Whether it may be changed to this: to withdraw is possible always."""
        narrows = self.consent is not None and self.consent.both(consent) == consent
        return narrows or self._origins.changes < MAX_CHANGES

    @guarded
    def allow(
        self, consent: Consent, setting: Setting, name: str | None, now: float
    ) -> Gone | None:
        """From here on keep what this allows, and no longer what it does not.

        Whoever waits for what is returned knows that what has to go has gone.
        """
        if self._paper.sheets is None or self.deleted or self.stopped == "child":
            return None
        self._setting = setting
        try:
            self._lay(self._user.settle(self._timeline, now))
        except Exception as error:  # what someone withdraws has to go all the same
            self.fail(error)
        speaker = self._paper.pseudonym(name) if name and consent.personal else None
        return self._agree(consent, speaker)

    @guarded
    def narrow(self, consent: Consent) -> Gone | None:
        """Someone withdrew by another way: only what both allow is kept."""
        if self.consent is None:
            return None
        gone = self._agree(self.consent.both(consent), None)
        if gone:
            gone.add_done_callback(lambda _: self._when_changed())
        return gone

    @guarded
    def give_up(self) -> None:
        """Everything is to go, and nothing more is kept of this conversation."""
        if self.consent and self._sheet:
            self._agree(NOTHING, None)
            self._end("hung_up")
        self.deleted = True
        self._when_changed()

    @guarded
    def spare_child(self) -> None:
        """A child was heard: where none may be recorded all is to go, and nothing more is kept."""
        if self._paper.children or self._paper.sheets is None or self.stopped == "child":
            return
        gone = self._agree(NOTHING, None) if self._sheet else None
        self._mark_stopped("child")
        if gone:
            gone.add_done_callback(lambda _: self._when_changed())
        elif self._sheet:
            self._when_changed()

    @guarded
    def set(self, setting: Setting) -> None:
        """The client changed its settings."""
        self._setting = setting
        if self._session and self._sheet and self.consent:
            self._session = described(self._session, self.consent, setting, None)
            self._sheet.put(Described(self._session))

    def _agree(self, consent: Consent, speaker: str | None) -> Gone | None:
        assert self._paper.sheets and self._setting, "consent came with the client's settings"
        self._lines.flush()
        at, wall = self._timeline.position, datetime.now(UTC)
        gone = lost(self.consent, consent)
        self.consent = consent
        self._origins.agreed(at, consent)
        if not consent.audio:
            self._audio_from = None
        elif self._audio_from is None:
            self._audio_from = at
        session = consented(self._session or self._paper.session(), consent, at, wall, gone)
        self._session = described(session, consent, self._setting, speaker)
        erased: Gone | None = None
        if self._sheet is None:
            self.begun = self._paper.loop.create_future()
            self._sheet = self._paper.sheets.open(
                self._session, self._failed, partial(self._resolve, self.begun)
            )
        elif gone:
            erased = self._paper.loop.create_future()
            self._sheet.put(Withdrawn(self._session, consent, partial(self._resolve, erased)))
        else:
            self._sheet.put(Described(self._session))
        flags = {scope: scope in consent.scopes for scope in SCOPES}
        self._note("recorder", {"type": "recording.consent", **flags})
        return erased

    def _resolve(self, awaited: asyncio.Future[None]) -> None:
        """Called by the thread that writes."""
        with suppress(RuntimeError):  # the loop is gone, and whoever waited with it
            self._paper.loop.call_soon_threadsafe(_resolve, awaited)

    # -- what crosses the wire

    @guarded
    def asked(self, event: dict[str, Any]) -> None:
        """The client said this."""
        if event.get("type") == "input_audio_buffer.append":
            self._lines.message()
        else:
            self._note_event("client", event)

    @guarded
    def asked_in_sound(self) -> None:
        """The client sent a message that is sound and nothing else."""
        self._lines.message()

    @guarded
    def told(self, event: dict[str, Any]) -> None:
        """The client is told this, or would be if it had asked for such events."""
        if event["type"] not in AUDIO_EVENTS:
            self._note_event("server", event)

    @guarded
    def heard(self, pcm: bytes, repaid: int, now: float) -> None:
        """The user's sound, counted in."""
        new, *moved = self._user.arrived(pcm, repaid, self._timeline, now)
        self._lay([new, *moved])
        if isinstance(new, Sound):
            self._lines.heard(new.position, new.position + len(pcm) // SAMPLE_BYTES)
        self._look_back()

    @guarded
    def passed(self, count: int) -> None:
        """So much silence was counted in, because nothing came."""
        end = self._timeline.position
        self._user.passed(end - count, end)
        self._look_back()

    # -- turns

    @guarded
    def began(self, item: str, position: int) -> None:
        """The user begins to say something here: what is told of it later was said from here on."""
        self._origins.began(item, position)

    @guarded
    def turn(self, item: str, start: int, end: int) -> None:
        """The user said something from here to there."""
        self._origins.began(item, start)
        where = {"item_id": item, "role": "user", "start": start, "end": end}
        self._note("recorder", {"type": "recording.turn", **where})

    @guarded
    def played(self, reply: str, samples: int, captured: int | None) -> None:
        """The client says so much has sounded, when it had captured so many samples."""
        at = None if captured is None else self._user.position_of(captured)
        self.replies.played(reply, samples, at)

    def _look_back(self) -> None:
        """Now and then: tell what has become certain of places."""
        if self._timeline.position - self._looked_back < LOOK_BACK:
            return
        self._looked_back = self._timeline.position
        for start, end in self._user.gaps():
            self._note("recorder", {"type": "recording.gap", "start": start, "end": end})
        self.replies.look_back()

    # -- the end

    @guarded
    def close(self, why: Why, now: float) -> None:
        try:
            self._lay(self._user.settle(self._timeline, now))
            self.replies.close()
            self._looked_back = -LOOK_BACK
            self._look_back()
            self._lines.flush()
        finally:
            self._end(why)

    def _end(self, why: Why) -> None:
        if self._sheet and self._session:
            ending = Ending(at=self._timeline.position, wall=datetime.now(UTC), why=why)
            self._session = self._session.model_copy(update={"ended": ending})
            self._sheet.put(Closed(self._session))
        self._sheet = None

    # -- putting it down

    def _lay(self, laid: Iterable[Sound | Hush]) -> None:
        if self._audio_from is None or self._sheet is None or self.stopped:
            return
        for entry in laid:
            if kept := since(entry, self._audio_from):
                self._sheet.put(kept)

    def _note_event(self, source: Source, event: dict[str, Any]) -> None:
        allowed = self._origins.allow(event)
        if self.recording:
            self._lines.flush()
            if not self._origins.of(event.get("previous_item_id") or "").transcript:
                event = {name: event[name] for name in event if name != "previous_item_id"}
            self._note(source, event, allowed)

    def _note(self, source: Source, event: dict[str, Any], allowed: Consent = NOTHING) -> None:
        if self._sheet and not self.stopped:
            at, wall = self._timeline.position, datetime.now(UTC)
            self._sheet.put(Said(at, wall, source, event, allowed))

    def fail(self, error: Exception) -> None:
        """We made a mistake: nothing more is recorded, and the conversation goes on."""
        if self.stopped is None:
            log.error("recording of %s failed: %s", self.session_id, where(error))
            self._stop("recorder_error")

    def _failed(self, reason: Reason) -> None:
        """Called by the thread that writes: it can no longer."""
        with suppress(RuntimeError):  # the loop is gone, and the conversation with it
            self._paper.loop.call_soon_threadsafe(self._stop, reason)

    def _stop(self, reason: Reason) -> None:
        if self.stopped:
            return
        self._mark_stopped(reason)
        if self._sheet:
            self._when_changed()

    def _mark_stopped(self, reason: Reason) -> None:
        self.stopped = reason
        self.broke_off = self.broke_off or reason
        if self._sheet is None or self._session is None:
            return
        stopped = Stopped(at=self._timeline.position, wall=datetime.now(UTC), reason=reason)
        self._session = self._session.model_copy(
            update={"stopped": [*self._session.stopped, stopped]}
        )
        self._sheet.put(Described(self._session))


def _resolve(awaited: asyncio.Future[None]) -> None:
    if not awaited.done():
        awaited.set_result(None)
