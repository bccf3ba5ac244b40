"""All recorded sessions: finding them, adding to them, and taking them away for good."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from server.consent import Consent
from server.private_log import where
from server.recording.permitted import permitted
from server.recording.record import Unreadable
from server.recording.repair import left_behind, repair
from server.sessions import removal
from server.sessions.changing import Changes, Intent, Why
from server.sessions.deletion import Deletion, Recovery, StillRecording
from server.sessions.derived import Derived
from server.sessions.format import SESSION_FILE, Notes, Rating
from server.sessions.index import INDEX_FILE, Filter, Index, Page
from server.sessions.intake import Intake
from server.sessions.place import Place
from server.sessions.store import DATE, Store
from server.sessions.stored import BrokenSession, StoredSession, UnknownSession
from server.sessions.summary import Row
from server.sessions.withdrawals import Withdrawals

__all__ = [
    "Deletion",
    "Library",
    "Recovery",
    "RemarksNotAllowed",
    "StillRecording",
    "TooManyRatings",
]

log = logging.getLogger(__name__)

CHANGES = ".changing"


class RemarksNotAllowed(Exception):
    """The person allowed nothing but timings to be kept: what is written may tell more."""


class TooManyRatings(Exception):
    """There is no room for one more by such people."""


class Library:
    """Blocking, and safe for several threads and processes."""

    def __init__(self, store: Store, index: Index, derived: Derived) -> None:
        self.store = store
        self.index = index
        self.derived = derived
        self._intake = Intake(store, index)
        self._changes = Changes(store.home / CHANGES)
        self._withdrawals = Withdrawals(self._intake, derived, self._changes)

    @classmethod
    def open(cls, runs: str, spool: Path | None = None, roots: tuple[Path, ...] = ()) -> "Library":
        """Asks nothing of remote storage: `recover` or `sync` learns what is there.

        `roots` are further folders in which reports and the like may be made, and deleted.
        """
        store = Store.open(runs, spool)
        library = cls(store, Index(store.home / INDEX_FILE), Derived(store.runs, store.home, roots))
        if library.index.is_new and not store.is_remote:
            try:
                library.rebuild()
            except OSError as error:  # a conversation needs no list of earlier ones
                log.warning("the recorded sessions cannot be listed: %s", where(error))
        return library

    def close(self) -> None:
        self.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def local(self) -> Path:
        """Where sessions are recorded: the runs, or what waits to be uploaded to them."""
        return self.store.home

    # --- finding

    def find(self, sought: Filter) -> Page:
        return self.index.find(sought)

    def of_speaker(self, speaker: str) -> list[str]:
        """Theirs; those that are being recorded, too, whose speaker is not in the index."""
        found = [row.id for row in self.find(Filter(speaker=speaker, limit=None)).rows]
        for row in self.find(Filter(state="recording", limit=None)).rows:
            with suppress(UnknownSession, BrokenSession):
                if self.session(row.id).file().speaker == speaker:
                    found.append(row.id)
        return found

    def row(self, session_id: str) -> Row:
        return self._intake.row(session_id)

    def session(self, session_id: str) -> StoredSession:
        return self._intake.session(session_id)

    # --- adding

    def added(self, path: Path) -> Row:
        """Take in a folder that was recorded here; one still being recorded is only listed.

        What somebody wanted taken away while it was recorded goes now, before anything else.
        """
        return self._taken_in(path)[0]

    def rate(self, session_id: str, rating: Rating, most: int | None = None) -> Row:
        """`most`: how many there may be by users, and by experts."""
        with self._changes.alone(self.session(session_id).id):
            session = self._intake.living(session_id)
            _check_remarks(session, bool(rating.comment.strip() or rating.rater))
            alike = [each for each in session.ratings() if each.by == rating.by]
            if most is not None and len(alike) >= most:
                raise TooManyRatings(f"{session_id} has enough ratings")
            session.rate(rating)
            return self._intake.refresh(session)

    def annotate(self, session_id: str, notes: Notes) -> Row:
        with self._changes.alone(self.session(session_id).id):
            session = self._intake.living(session_id)
            _check_remarks(session, bool(notes.notes.strip() or notes.tags))
            session.annotate(notes)
            return self._intake.refresh(session)

    # --- taking away

    def delete(self, session_id: str, why: Why = "deleted") -> Deletion:
        """Leave a tombstone and nothing else, of its replays, too.

        Done again, it removes what is left.
        """
        return self._withdrawals.change(session_id, Intent(why=why))

    def delete_speaker(self, speaker: str, why: Why = "deleted") -> list[Deletion]:
        """All sessions of one speaker; a StillRecording comes after the others are gone."""
        self.index.sync(self.store)
        gone, busy = [], None
        for session_id in self.of_speaker(speaker):
            try:
                gone.append(self.delete(session_id, why))
            except StillRecording as error:
                busy = error
        if busy is not None:
            raise busy
        return gone

    def revoke(self, session_id: str, consent: Consent) -> Deletion:
        """Keep only what is still allowed; more than before never is."""
        return self._withdrawals.change(session_id, Intent.narrowing(consent))

    # --- keeping in order

    def rebuild(self) -> list[str]:
        """The index from the folders; says what could not be read."""
        return self.index.rebuild(self.store)

    def sync(self) -> list[str]:
        """The index from what changed in the folders, by other machines, too."""
        return self.index.sync(self.store)

    def recover(self) -> Recovery:
        """Finish what a crash left undone; what still cannot be is told, and tried again later."""
        recovery = Recovery()
        removal.tidy(self.store.home)
        self.store.discard_adopted()
        for path in left_behind(self.local):
            with _told(recovery):
                self._repair(path, recovery)
        for session_id in self._changes.unfinished():
            with _told(recovery):
                if self._finish_change(session_id):
                    recovery.changed.append(session_id)
        for path in self._waiting():
            with _told(recovery):
                if self._upload(path):
                    recovery.uploaded.append(path.name)
        with _told(recovery):
            recovery.problems.extend(self.sync())
            self.index.forget_deleted()  # it may have been read when it was to go
            self._purge_orphans()
        for row in self.index.rows():
            with _told(recovery):
                if self._withdrawals.as_its_source(row) is not row:
                    recovery.changed.append(row.id)
        return recovery

    def _purge_orphans(self) -> None:
        """What was made of sessions that another machine deleted, or may no longer be scored."""
        gone = [row.id for row in self.index.rows() if row.state == "deleted" or not row.research]
        for session_id in self.derived.sessions().intersection(gone):
            self.derived.purge(session_id)

    def _taken_in(self, path: Path) -> tuple[Row, bool]:
        """Its row, and whether something was taken away that was to be."""
        with self._changes.alone(path.name) as change:
            try:
                done = self._withdrawals.finish(change, path.name)
            except StillRecording:
                done = None
            row = self.row(path.name) if done else self._intake.take_in(path)
        if done:
            self._withdrawals.take_replays_along(done)
        return self._withdrawals.as_its_source(row), done is not None

    def _waiting(self) -> Iterator[Path]:
        """Finished folders that are not yet where they belong."""
        if self.store.is_remote:
            for date in filter(DATE.fullmatch, Place.at(self.local).folders()):
                yield from sorted(self.local.glob(f"{date}/sess_*"))

    def _repair(self, path: Path, recovery: Recovery) -> None:
        if not repair(path):
            return
        recovery.repaired.append(path.name)
        if (path / SESSION_FILE).exists() and not self.store.is_remote:
            _, is_changed = self._taken_in(path)
            if is_changed:
                recovery.changed.append(path.name)

    def _upload(self, path: Path) -> bool:
        return self.added(path).state != "recording"

    def _finish_change(self, session_id: str) -> bool:
        with self._changes.alone(session_id) as change:
            done = self._withdrawals.finish(change, session_id)
        if done:
            self._withdrawals.take_replays_along(done)
        return done is not None


def _check_remarks(session: StoredSession, is_remark: bool) -> None:
    if is_remark and not permitted(session.file()).personal:
        raise RemarksNotAllowed(f"nothing may be written about {session.id}")


@contextmanager
def _told(recovery: Recovery) -> Iterator[None]:
    """One session that cannot be helped is no reason to leave the others."""
    try:
        yield
    except (BrokenSession, StillRecording, UnknownSession, Unreadable, OSError) as error:
        log.warning("a session was left undone: %s", where(error))
        recovery.problems.append(str(error))
