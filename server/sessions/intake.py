"""Session folders and the index together: what is found in it, and what is put into it."""

from dataclasses import dataclass
from pathlib import Path

from server.sessions.index import Index
from server.sessions.place import Place
from server.sessions.store import Listed, Store
from server.sessions.stored import DeletedSession, StoredSession
from server.sessions.summary import Row, summary


@dataclass(frozen=True, slots=True)
class Intake:
    store: Store
    index: Index

    def session(self, session_id: str) -> StoredSession:
        known = self.index.row(session_id)
        return self.store.session(session_id, known.date if known else None)

    def living(self, session_id: str) -> StoredSession:
        session = self.session(session_id)
        if session.file().state == "deleted":
            raise DeletedSession(f"{session_id} was deleted")
        return session

    def row(self, session_id: str) -> Row:
        return self.index.row(session_id) or self.refresh(self.session(session_id))

    def refresh(self, session: StoredSession) -> Row:
        listed = Listed(session, session.stats())
        row = summary(listed)
        self.index.put(row, listed.stamp)
        return row

    def take_in(self, path: Path) -> Row:
        """A folder that was recorded here; one that is whole goes to where the runs are."""
        session = StoredSession(path.name, path.parent.name, Place.at(self.store.home))
        if not path.exists():  # somebody else has just uploaded it
            return self.refresh(self.session(path.name))
        if session.file().state != "recording":
            session = self.store.adopt(path)
        return self.refresh(session)
