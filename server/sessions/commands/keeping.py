"""Keeping sessions in order: delete, repair, verify, rebuild."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from server.recording.repair import repair as repair_folder
from server.recording.verify import verify as problems_of
from server.sessions.commands.opened import (
    FAILURES,
    Ids,
    Json,
    complain,
    opened,
    print_json,
    progress,
    say,
    synced,
)
from server.sessions.format import SPEAKER_ID
from server.sessions.index import Filter
from server.sessions.library import Deletion, Library
from server.sessions.stored import StoredSession, UnknownSession


class Reason(StrEnum):
    DELETED = "deleted"
    REVOKED = "revoked"


def delete(
    context: typer.Context,
    whom: Annotated[
        list[str],
        typer.Argument(metavar="ID...", help="Sessions, or spk_… for all of a speaker's."),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    why: Annotated[Reason, typer.Option(help="What the tombstone says.")] = Reason.DELETED,
) -> None:
    """Delete sessions and everything made of them, for good."""
    with opened(context) as library:
        named = (each for name in whom for each in _meant(synced(library), name))
        ids = list(dict.fromkeys(named))
        count = "1 session" if len(ids) == 1 else f"{len(ids)} sessions"
        if not yes and not typer.confirm(f"Delete {count} for good?"):
            say("nothing was deleted")
            raise typer.Exit(1)
        failed = False
        for session_id in ids:
            try:
                _tell(library.delete(session_id, why.value))
            except FAILURES as error:  # the others can go all the same
                complain(error)
                failed = True
        if failed:
            raise typer.Exit(1)


def _meant(library: Library, name: str) -> list[str]:
    """The sessions somebody names; UnknownSession where there are none."""
    if not SPEAKER_ID.fullmatch(name):
        return [library.session(name).id]
    if found := library.of_speaker(name):
        return found
    raise UnknownSession(f"there is no session of {name}")


def _tell(deletion: Deletion) -> None:
    removed = ", ".join(deletion.removed) or "nothing was left to remove"
    lines = [f"{deletion.id}: {removed}"]
    lines += [f"  exported before, out of our hands: {path}" for path in deletion.exports]
    lines += [f"  made of it, please delete it yourself: {path}" for path in deletion.left]
    say("\n".join(lines))


def repair(context: typer.Context, ids: Ids = None) -> None:
    """Make whole what a crash left behind; all of it, or these sessions."""
    with opened(context) as library:
        if not ids:
            done = library.recover()
            mended = [*done.repaired, *done.changed, *done.uploaded]
            trouble = done.problems
        else:
            mended, trouble = [], []
            for session_id in ids:
                stored = library.session(session_id)
                folder = library.local / stored.folder
                if repair_folder(folder):
                    mended.append(session_id)
                    if folder.exists():
                        library.added(folder)
        for session_id in dict.fromkeys(mended):
            say(f"repaired {session_id}")
        if not mended and not trouble:
            say("nothing was left undone")
        for problem in trouble:
            complain(problem)
        if trouble:
            raise typer.Exit(1)


def verify(context: typer.Context, ids: Ids = None, as_json: Json = False) -> None:
    """Check that sessions are whole, and hold nothing they may not; all, or these."""
    with opened(context) as library:
        known = ids or list(library.store.ids())
        found: dict[str, list[str]] = {}
        for session_id in progress(known, len(known), "verifying"):
            with _folder(library.session(session_id)) as folder:
                found[session_id] = problems_of(folder)
        wrong = {session_id: problems for session_id, problems in found.items() if problems}
        if as_json:
            print_json({"checked": len(found), "problems": wrong})
        else:
            for session_id, problems in wrong.items():
                for problem in problems:
                    say(f"{session_id}: {problem}")
            say(f"{len(found):,} checked, {len(wrong):,} with problems")
        if wrong:
            raise typer.Exit(1)


@contextmanager
def _folder(stored: StoredSession) -> Iterator[Path]:
    """The session's folder, fetched for a moment if it lies elsewhere."""
    if stored.place.local is not None:
        yield stored.place.local / stored.folder
        return
    with tempfile.TemporaryDirectory(prefix="attune-") as place:
        folder = Path(place, stored.id)
        folder.mkdir()
        for name in stored.stats():
            stored.place.give(f"{stored.folder}/{name}", folder / name)
        yield folder


def rebuild(context: typer.Context) -> None:
    """Make the index anew from the folders."""
    with opened(context) as library:
        problems = library.rebuild()
        for problem in problems:
            complain(problem)
        say(f"{library.find(Filter(deleted=True, limit=0)).total:,} sessions")
        if problems:
            raise typer.Exit(1)
