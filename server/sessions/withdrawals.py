"""Taking away sessions, what was made of them, and their replays: whole, or as far as is wanted."""

import logging
from dataclasses import dataclass

from server.private_log import where
from server.recording.lock import Busy
from server.recording.permitted import permitted
from server.recording.record import Unreadable
from server.sessions import removal
from server.sessions.changing import Change, Changes, Intent
from server.sessions.deletion import Deletion, StillRecording
from server.sessions.derived import Derived, Purged
from server.sessions.intake import Intake
from server.sessions.stored import BrokenSession, StoredSession, UnknownSession
from server.sessions.summary import Row

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Withdrawals:
    intake: Intake
    derived: Derived
    changes: Changes

    def change(self, session_id: str, intent: Intent) -> Deletion:
        """Do it to a session and its replays. StillRecording: the session's turn comes later."""
        deletion = self._change_one(session_id, intent)
        self.take_replays_along(deletion)
        return deletion

    def finish(self, change: Change, session_id: str) -> Deletion | None:
        """Do what somebody set out to do to the session before; its replays are not touched."""
        intent = change.intended()
        if intent is None:
            return None
        try:
            deletion = self._carry_out(session_id, intent)
        except UnknownSession:
            deletion = Deletion(session_id, [], [])
        change.done()
        return deletion

    def take_replays_along(self, deletion: Deletion) -> None:
        """What was taken from a session is taken from its replays, and from theirs.

        Of these none is held while another is changed: they may claim to replay each other. What
        is left undone here, `as_its_source` does.
        """
        intent = self._due_to_replays(deletion.id)
        if intent is None:
            return
        for replay in self.intake.index.replays(deletion.id):
            try:
                done = self._change_one(replay.id, intent)
            except UnknownSession:
                continue
            except (StillRecording, BrokenSession, OSError) as error:
                log.warning("a replay was left undone: %s", where(error))
                deletion.left.append(f"its replay {replay.id}, which is tried again soon")
                continue
            after = self.intake.row(replay.id)
            is_changed = (replay.state, replay.consent) != (after.state, after.consent)
            deletion.take_along(done, is_changed=is_changed)

    def as_its_source(self, row: Row) -> Row:
        """A replay of which more is kept than of its source is cut down to that."""
        if row.replay_of is None or row.state not in ("finished", "repaired"):
            return row
        intent = self._due_to_replays(row.replay_of)
        if intent is None:
            return row
        if intent.consent is not None and row.consent.both(intent.consent) == row.consent:
            return row
        self.change(row.id, intent)
        return self.intake.row(row.id)

    def _due_to_replays(self, source: str) -> Intent | None:
        """What must be done to its replays; None if nobody can tell, or not yet."""
        row = self.intake.index.row(source)
        if row is None or row.state in ("recording", "broken"):
            return None
        if row.state != "deleted":
            return Intent.narrowing(row.consent)
        stones = self.intake.session(source).file().tombstones
        return Intent(why=stones[-1].why if stones else "deleted")

    def _change_one(self, session_id: str, intent: Intent) -> Deletion:
        known = self.intake.session(session_id)  # raises before anything is begun
        with self.changes.alone(known.id) as change:
            whole = intent.joined(change.intended())
            change.intend(whole)
            try:
                deletion = self._carry_out(known.id, whole)
            except UnknownSession:
                change.done()
                raise
            change.done()
            return deletion

    def _carry_out(self, session_id: str, intent: Intent) -> Deletion:
        """Each step can be done again. Copies go first: then the record speaks for all."""
        store, index = self.intake.store, self.intake.index
        session = self.intake.session(session_id)
        exports = self.derived.exports(session_id)
        purged = self.derived.purge(session_id) if _narrows(session, intent) else Purged()
        try:
            if intent.consent is None:
                removed = removal.bury(store.home, session, intent.why, exports)
            else:
                removed = removal.narrow(store.home, session, intent.consent, exports)
        except Busy:
            message = f"{session_id} is still being recorded; it is done once that is over"
            raise StillRecording(message) from None
        except Unreadable as error:
            raise BrokenSession(str(error)) from None
        if store.is_remote and session.place.local is not None:  # not uploaded, or in part
            self.intake.take_in(session.place.local / session.folder)
        else:
            self.intake.refresh(session)
        index.forget_deleted()
        left = [*purged.left, *self.derived.leftovers(session_id)]
        if not store.runs.forget_versions(session.folder):
            left.append(f"versions the bucket may keep of {store.runs.shown(session.folder)}")
        return Deletion(session_id, [*removed, *purged.removed], exports, left)


def _narrows(session: StoredSession, intent: Intent) -> bool:
    if intent.consent is None:
        return True
    before = permitted(session.file())
    return before.both(intent.consent) != before
