"""Taking a session away, or a part of it, wherever it lies.

On this machine the folder itself is changed; in an object store its small files are fetched,
changed here, and put back: first the record, so that everyone who looks knows what is to go.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from server.consent import Consent
from server.recording.erasure import entomb, keep_only
from server.recording.whole_files import PRIVATE_FOLDER
from server.sessions.changing import Why
from server.sessions.format import AUDIO_FILE, EVENTS_FILE, SESSION_FILE, SessionFile
from server.sessions.stored import DeletedSession, StoredSession

WORK = ".working"  # copies of remote folders while they are changed


def bury(home: Path, session: StoredSession, why: Why, exports: Sequence[str]) -> list[str]:
    """Leave only a tombstone; what was removed."""
    return _changed(home, session, [SESSION_FILE], lambda folder: entomb(folder, why, exports))


def narrow(
    home: Path, session: StoredSession, consent: Consent, exports: Sequence[str]
) -> list[str]:
    """Leave only what is allowed; what was removed."""
    names = [name for name in session.stats() if name != AUDIO_FILE]
    return _changed(home, session, names, lambda folder: keep_only(folder, consent, exports))


def tidy(home: Path) -> None:
    """Copies that a crash left; they may hold what has been deleted since."""
    shutil.rmtree(home / WORK, ignore_errors=True)


def _changed(
    home: Path,
    session: StoredSession,
    names: Sequence[str],
    change: Callable[[Path], SessionFile],
) -> list[str]:
    before = session.stats()
    if session.place.local is not None:
        change(session.place.local / session.folder)
    else:
        with _fetched(home, session, names) as folder:
            _put_back(session, folder, change(folder))
    after = session.stats()
    removed = sorted(before.keys() - after.keys())
    if EVENTS_FILE in after and after[EVENTS_FILE].size < before[EVENTS_FILE].size:
        removed.append(f"parts of {EVENTS_FILE}")
    return removed


@contextmanager
def _fetched(home: Path, session: StoredSession, names: Sequence[str]) -> Iterator[Path]:
    folder = home / WORK / session.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True)
    try:
        for name in names:
            session.place.give(f"{session.folder}/{name}", folder / name)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _put_back(session: StoredSession, folder: Path, record: SessionFile) -> None:
    if record.state != "deleted" and session.file().state == "deleted":
        raise DeletedSession(f"{session.id} has just been deleted")  # by another machine
    here = {path.name for path in folder.iterdir()}
    if record.audio is not None:
        here.add(AUDIO_FILE)  # it was not fetched, and stays
    for name in sorted(here, key=lambda name: (name != SESSION_FILE, name)):
        if (folder / name).exists():
            session.place.write(f"{session.folder}/{name}", (folder / name).read_bytes())
    for name in session.place.stats(session.folder).keys() - here:
        session.place.remove(f"{session.folder}/{name}")
