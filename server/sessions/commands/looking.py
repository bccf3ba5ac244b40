"""Looking at sessions: list, show, play."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from server.sessions import shown
from server.sessions.commands import asked
from server.sessions.commands.opened import Id, Json, console, opened, print_json, say, synced
from server.sessions.exchanges import KINDS, RecordedTurn, turns
from server.sessions.export.clips import write_wav
from server.sessions.format import Notes
from server.sessions.player import play as play_sound
from server.sessions.stored import NoAudio


class Channel(StrEnum):
    USER = "user"
    REPLY = "reply"
    BOTH = "both"


def list_sessions(
    context: typer.Context,
    since: asked.Since = None,
    until: asked.Until = None,
    model: asked.Model = None,
    consent: asked.Scopes = None,
    rating: asked.Rated = None,
    longer: asked.Longer = None,
    shorter: asked.Shorter = None,
    emotion: asked.Emotion = None,
    slower: asked.Slower = None,
    faster: asked.Faster = None,
    tag: asked.Tag = None,
    speaker: asked.Speaker = None,
    text: asked.Text = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Tombstones, too.")] = False,
    order: Annotated[str, typer.Option(help="newest, oldest, longest, slowest, …")] = "newest",
    limit: Annotated[int, typer.Option(min=0, help="At most so many; 0: all.")] = 50,
    as_json: Json = False,
) -> None:
    """List sessions."""
    with opened(context) as library:
        wanted = asked.sought(since, until, model, consent, rating, longer, shorter, emotion,
                              slower, faster, tag, speaker, text)  # fmt: skip
        by = asked.order(order)
        page = synced(library).find(replace(wanted, deleted=deleted, order=by, limit=limit or None))
        if as_json:
            print_json({"total": page.total, "sessions": [asdict(row) for row in page.rows]})
        else:
            console.print(shown.listing(page, console.width))


def show(context: typer.Context, session_id: Id, as_json: Json = False) -> None:
    """Tell what is known of a session."""
    with opened(context) as library:
        stored = library.session(session_id)
        file = stored.file()
        gone = file.state == "deleted"
        said = [] if gone else turns(file, stored.lines(KINDS))
        told = [] if gone else stored.ratings(), Notes() if gone else stored.notes()
        if as_json:
            print_json(shown.as_json(file, said, *told))
        else:
            console.print(shown.session(file, said, *told))


def play(
    context: typer.Context,
    session_id: Id,
    turn: Annotated[str | None, typer.Option(help="A turn's number or item id; else all.")] = None,
    channel: Annotated[Channel, typer.Option(help="Whose sound.")] = Channel.BOTH,
    out: Annotated[Path | None, typer.Option(help="Write a WAV file here instead.")] = None,
) -> None:
    """Hear a session, or one turn of it."""
    with opened(context) as library:
        stored = library.session(session_id)
        file = stored.file()
        if file.audio is None:
            raise NoAudio(f"no audio is kept of {session_id}")
        begin, end = 0, file.audio.samples
        if turn is not None:
            found = _turn(turns(file, stored.lines(KINDS)), turn)
            begin, end = found.start, found.end
        samples = _of(channel, stored.cut(begin, end))
        if out:
            write_wav(out, samples)
            say(f"wrote {out}")
        else:
            play_sound(samples)


def _turn(said: Iterable[RecordedTurn], name: str) -> RecordedTurn:
    for turn in said:
        if name in (turn.item_id, str(turn.number)) and turn.spoken:
            return turn
    raise asked.BadOption(f"it has no spoken turn '{shown.plain(name)[:64]}'; show lists them")


def _of(channel: Channel, both: NDArray[np.int16]) -> NDArray[np.int16]:
    return both if channel is Channel.BOTH else both[:, 0 if channel is Channel.USER else 1]
