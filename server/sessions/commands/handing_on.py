"""Handing sessions on: export, replay."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from server.consent import Consent
from server.sessions.commands import asked
from server.sessions.commands.opened import Id, opened, progress, say, synced
from server.sessions.export.making import Form, Wanted, check_room
from server.sessions.export.making import export as make_export
from server.sessions.replay import replay as replay_session


def export(
    context: typer.Context,
    form: Annotated[Form, typer.Option("--format", help="What to make.")],
    out: Annotated[Path, typer.Option(help="A folder, new or empty.")],
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
    all_consented: Annotated[
        bool, typer.Option("--all-consented", help="Also without consent to research.")
    ] = False,
    each_turn: Annotated[bool, typer.Option("--turns", help="wav: a file for each turn.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="parquet: CSV beside it.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export.")] = False,
) -> None:
    """Hand out what people allow: only with consent to research, and only what else they allow."""
    with opened(context) as library:
        if each_turn and form is not Form.WAV:
            raise asked.BadOption("--turns belongs to --format wav")
        if csv and form is not Form.PARQUET:
            raise asked.BadOption("--csv belongs to --format parquet")
        wanted = Wanted(form, out, all_consented, each_turn, csv, over=force)
        check_room(wanted)
        which = asked.sought(since, until, model, consent, rating, longer, shorter, emotion,
                             slower, faster, tag, speaker, text)  # fmt: skip
        ids = [row.id for row in synced(library).find(replace(which, order="oldest")).rows]
        tally = make_export(
            progress(ids, len(ids), "exporting"),
            library.session,
            wanted,
            library.derived,
        )
        left = sum(tally.left_out.values())
        say(
            f"{len(tally.sessions):,} sessions with {tally.exchanges:,} exchanges are in {out}; "
            f"{left:,} left out, see DATASHEET.md"
        )


def replay(
    context: typer.Context,
    session_id: Id,
    url: Annotated[str, typer.Option(help="Of a live server, as ws://127.0.0.1:7860/v1/realtime.")],
    realtime: Annotated[
        bool, typer.Option(help="At the pace of speech; without, the server needs --clock samples.")
    ] = True,
    consent: Annotated[
        str | None,
        typer.Option(metavar="SCOPES", help="Keep less than the person allows."),
    ] = None,
) -> None:
    """Play a recorded user to a live server, which records a new session."""
    with opened(context) as library:
        try:
            less = None if consent is None else Consent.of(consent)
        except ValueError as error:
            raise asked.BadOption(str(error)) from None
        stored = library.session(session_id)
        say(asyncio.run(replay_session(stored, url, realtime=realtime, consent=less)))
