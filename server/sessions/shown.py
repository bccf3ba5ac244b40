"""Sessions for people to read, in a terminal."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import compress
from statistics import median
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from models.types import WIRE_RATE
from server.consent import Consent
from server.recording.permitted import meant
from server.sessions.exchanges import RecordedTurn
from server.sessions.format import Notes, Rating, SessionFile
from server.sessions.heard import in_words
from server.sessions.index import Page
from server.sessions.summary import Row

ENDED = {
    "hung_up": "the client hung up",
    "lost": "the connection was lost",
    "failed": "it failed",
    "server_stopped": "the server was stopped",
    "crashed": "the server crashed; the recording was repaired",
}
STOPPED = {
    "disk_full": "the disk was full",
    "disk_unwritable": "the disk could not be written",
    "disk_slow": "the disk was too slow",
    "disk_error": "the disk failed",
    "recorder_error": "the recorder failed",
    "child": "a child was heard",
}
LEFT = {"deleted": "deleted", "revoked": "consent withdrawn", "retention": "kept long enough"}


def plain(text: str) -> str:
    """What anybody said or wrote may not steer the terminal."""
    return "".join(
        " " if letter in "\n\t" else "�" if unicodedata.category(letter) in ("Cc", "Cf") else letter
        for letter in text
    )


def clock(seconds: float) -> str:
    """As 1:05:09 or 0:42."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def scopes(consent: Consent) -> str:
    return ", ".join(consent.scopes) or "none"


COLUMNS = (  # name, wide enough only for wide terminals, to the right
    ("session", False, False), ("began (UTC)", False, False), ("length", False, True),
    ("turns", True, True), ("kept", False, False), ("replied by", True, False),
    ("emotion", False, False), ("latency", False, True), ("rating", True, True),
    ("tags", True, False),
)  # fmt: skip
WIDE = 110
KEPT = "kept: t transcript, a audio, r may be used for research, - neither"


def listing(page: Page, width: int) -> RenderableType:
    """A table of sessions, and how many there are."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    chosen = [width >= WIDE or not is_wide for _, is_wide, _ in COLUMNS]
    for (name, _, to_right), is_shown in zip(COLUMNS, chosen, strict=True):
        if is_shown:
            table.add_column(name, justify="right" if to_right else "left", no_wrap=True)
    for row in page.rows:
        cells = compress(_cells(row), chosen)
        table.add_row(*(Text(plain(cell)) for cell in cells))
    shown = len(page.rows)
    count = f"{page.total:,} session{'' if page.total == 1 else 's'}"
    told = count if shown == page.total else f"{shown:,} of {count}"
    return Group(table, Text(f"{told}; {KEPT}" if shown else told, "dim"))


def _cells(row: Row) -> list[str]:
    began = f"{row.started:%Y-%m-%d %H:%M}"
    if row.state in ("deleted", "broken"):
        return [row.id, began, row.state, *[""] * (len(COLUMNS) - 3)]
    return [
        row.id,
        began,
        "recording" if row.seconds is None else clock(row.seconds),
        str(row.turns),
        "".join(scope[0] for scope in row.consent.scopes) or "-",
        row.responder or "",
        row.emotion or "",
        "" if row.latency_p50_ms is None else f"{row.latency_p50_ms:.0f} ms",
        "" if row.rating is None else f"{row.rating:.1f}",
        " ".join(row.tags),
    ]


def session(
    file: SessionFile, turns: Sequence[RecordedTurn], ratings: Sequence[Rating], notes: Notes
) -> RenderableType:
    """All that is known of one session, in words."""
    facts = Table.grid(padding=(0, 2))
    for name, value in _facts(file, turns, notes):
        facts.add_row(Text(name, "bold"), Text(plain(value)))
    parts: list[RenderableType] = [Text(file.id, "bold"), facts]
    if turns:
        parts += [Text(), _spoken(turns)]
    if ratings:
        parts += [
            Text(),
            Text("Ratings", "bold"),
            *(Text(plain(_rating(each))) for each in ratings),
        ]
    return Group(*parts)


def _facts(
    file: SessionFile, turns: Sequence[RecordedTurn], notes: Notes
) -> Iterator[tuple[str, str]]:
    yield "began", _when(file.started)
    if file.ended:
        yield "took", f"{clock(file.ended.at / WIRE_RATE)}; {ENDED[file.ended.why]}"
    elif file.state == "recording":
        yield "took", "it is still being recorded, or waits for repair"
    for each in file.consent:
        given = scopes(meant(each))
        yield "consent", f"{given} (at {clock(each.at / WIRE_RATE)}, {_when(each.wall)})"
    if file.speaker:
        yield "speaker", file.speaker
    yield "software", file.software
    for role, used in sorted(file.models.items()):
        licences = sorted(
            {each.licence for each in used.files if each.licence} | {used.licence or ""}
        )
        told = [used.backend, used.version or "", *(f"({each})" for each in licences if each)]
        yield f"{role} model", " ".join(filter(None, told))
    if file.client:
        yield "client", _client(file)
    if file.prompts and file.prompts.instructions:
        yield "instructions", file.prompts.instructions
    if file.audio:
        yield "audio", _audio(file)
    waits = [turn.latency_ms for turn in turns if turn.latency_ms is not None]
    if waits:
        of = f"{len(waits)} {'reply' if len(waits) == 1 else 'replies'}"
        yield "latency", f"median {median(waits):.0f} ms, longest {max(waits):.0f} ms, {of}"
    for broken in file.stopped:
        at = clock(broken.at / WIRE_RATE)
        yield "not recorded", f"from {at} on: {STOPPED[broken.reason]}"
    if file.replay_of:
        yield "replay of", file.replay_of
    for stone in file.tombstones:
        yield "removed", f"{', '.join(stone.what)} ({LEFT[stone.why]}, {_when(stone.wall)})"
        for path in stone.exports:
            yield "export", path
    if notes.tags:
        yield "tags", " ".join(notes.tags)
    if notes.notes:
        yield "notes", notes.notes


def _client(file: SessionFile) -> str:
    assert file.client is not None, "it was looked at before"
    told = [file.client.user_agent or "of unknown make"]
    for name, value in file.client.capture.model_dump(exclude_none=True).items():
        shown = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
        told.append(f"{name.replace('_', ' ')} {shown}")
    return "; ".join(told)


def _audio(file: SessionFile) -> str:
    assert file.audio is not None, "it was looked at before"
    told = clock(file.audio.samples / file.audio.rate)
    if file.audio.recorded_from:
        told += f", silent before {clock(file.audio.recorded_from / file.audio.rate)}"
    if file.audio.gaps:
        missing = sum(end - begin for begin, end in file.audio.gaps) / file.audio.rate
        told += f"; nothing came from the user for {missing:.1f} s in all"
    return told


def _spoken(turns: Sequence[RecordedTurn]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("turn", "at", "who", "said", "heard, or planned"):
        table.add_column(name, overflow="fold", justify="right" if name == "turn" else "left")
    for turn in turns:
        who = "user" if turn.role == "user" else "reply"
        words = "(not kept)" if turn.text is None else turn.text
        cut = " …(interrupted)" if turn.interrupted else ""
        table.add_row(
            str(turn.number),
            clock(turn.start / WIRE_RATE),
            who,
            Text(plain(words + cut)),
            Text(plain(_beside(turn))),
        )
    return table


def _beside(turn: RecordedTurn) -> str:
    if turn.role == "user":
        return in_words(turn.percept)
    told = [str((turn.plan or {}).get("line") or "")]
    told += [] if turn.latency_ms is None else [f"{turn.latency_ms:.0f} ms"]
    return "; ".join(filter(None, told))


def _rating(rating: Rating) -> str:
    scores = ", ".join(f"{name} {score:g}" for name, score in rating.scores.items())
    of = f" of {rating.item_id}" if rating.item_id else ""
    by = f"{rating.by}{f' {rating.rater}' if rating.rater else ''}"
    return ": ".join(filter(None, [f"{by}{of}", scores, rating.comment]))


def _when(wall: datetime) -> str:
    return f"{wall:%Y-%m-%d %H:%M:%S} UTC"


def as_json(
    file: SessionFile, turns: Iterable[RecordedTurn], ratings: Iterable[Rating], notes: Notes
) -> Mapping[str, Any]:
    """The same for programs; without what would open it to somebody else."""
    return {
        "session": file.model_dump(mode="json", exclude={"secret_sha256"}),
        "turns": [
            {name: getattr(turn, name) for name in RecordedTurn.__dataclass_fields__}
            for turn in turns
        ],
        "ratings": [rating.model_dump(mode="json") for rating in ratings],
        "notes": notes.model_dump(mode="json"),
    }
