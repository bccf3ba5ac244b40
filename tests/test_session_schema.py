"""The schemas that ship describe what is really written, and the document's example works."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

import pytest
import soundfile
from jsonschema import Draft202012Validator, FormatChecker

from server import ids
from server.consent import Consent
from server.recording.entries import Said, Sound
from server.recording.folder import SessionFolder, entomb
from server.sessions.format import (
    EVENTS_FILE,
    SESSION_FILE,
    Consented,
    Ending,
    Line,
    SessionFile,
    Stopped,
)
from server.sessions.schema import SCHEMAS, event_schema, session_schema, written
from tests.made_sessions import folder_of, made_session
from tests.test_redaction import RECORDED, TYPES

DOCUMENT = Path(__file__).parent.parent / "docs" / "session-format.md"
SCOPES = ["none", "transcript", "audio", "transcript,audio", "transcript,audio,research"]
FORMATS = FormatChecker(["date-time"])
SESSION = Draft202012Validator(session_schema(), format_checker=FORMATS)
EVENT = Draft202012Validator(event_schema(), format_checker=FORMATS)
NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def lines(folder: Path) -> Iterator[dict[str, Any]]:
    for line in (folder / EVENTS_FILE).read_text("utf-8").splitlines():
        yield json.loads(line)


def record(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / SESSION_FILE).read_text("utf-8"))
    return found


def line(source: str, event: dict[str, Any]) -> dict[str, Any]:
    return {"n": 0, "at": 5, "wall": NOON.isoformat(), "from": source, "event": event}


def test_the_files_that_ship_are_in_step_with_the_code() -> None:
    assert {path.name for path in SCHEMAS.iterdir()} == {path.name for path in written()}
    for path, text in written().items():
        assert path.read_text("utf-8") == text, "run: python -m server.sessions.schema"


def test_they_are_schemas_of_the_dialect_they_name() -> None:
    for schema in (session_schema(), event_schema()):
        assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("scopes", SCOPES)
@pytest.mark.parametrize("state", ["recording", "finished", "repaired"])
def test_sessions_of_every_consent_and_state_are_valid(
    tmp_path: Path, scopes: str, state: Literal["recording", "finished", "repaired"]
) -> None:
    folder = folder_of(tmp_path, made_session(tmp_path, consent=scopes, state=state))
    SESSION.validate(record(folder))
    assert [EVENT.validate(each) for each in lines(folder)]


def test_what_the_recorder_writes_is_valid_from_its_beginning_to_its_tombstone(
    tmp_path: Path,
) -> None:
    consent = Consent(transcript=True, audio=True)
    given = Consented(at=0, wall=NOON, transcript=True, audio=True, research=False)
    session = SessionFile(
        id=ids.new("sess"),
        state="recording",
        software="attune 0.1.0",
        started=NOON,
        consent=[given],
    )
    folder = SessionFolder.create(tmp_path, session)
    SESSION.validate(record(folder.path))
    sources = {"input_audio_buffer.append": "client", "response.output_audio.delta": "server"}
    for event in RECORDED:
        source: Any = sources.get(event["type"], "recorder")
        folder.write([Said(5_000, NOON, source, event, consent)])
    folder.write([Sound("user", 0, bytes(9_600))])
    ending = Ending(at=24_000, wall=NOON, why="hung_up")
    stopped = Stopped(at=24_000, wall=NOON, reason="disk_full")
    folder.finish(session.model_copy(update={"ended": ending, "stopped": [stopped]}))
    assert record(folder.path)["state"] == "finished"
    SESSION.validate(record(folder.path))
    for each in lines(folder.path):
        EVENT.validate(each)
    entomb(folder.path, "deleted", ["an export"])
    assert record(folder.path)["state"] == "deleted"
    SESSION.validate(record(folder.path))


def test_of_a_deleted_session_nothing_but_a_tombstone_is_valid(tmp_path: Path) -> None:
    buried = record(folder_of(tmp_path, made_session(tmp_path, state="deleted")))
    whole = record(folder_of(tmp_path, made_session(tmp_path)))
    SESSION.validate(buried)
    assert not SESSION.is_valid(buried | {"tombstones": []})
    stays = {"schema_version", "id", "state", "software", "started", "tombstones"}
    for name in whole.keys() - stays:
        if whole[name]:
            assert not SESSION.is_valid(buried | {name: whole[name]}), name


@pytest.mark.parametrize(
    "change",
    [
        {"id": "sess_../../etc"},
        {"id": "../" + "a" * 20},
        {"schema_version": 2},
        {"state": "lost"},
        {"ended": None},
        {"started": "yesterday"},
        {"speaker": "Ada Lovelace"},
        {"name": "Ada Lovelace"},
        {
            "turns": [
                {"item_id": "item_00000000000000000000", "role": "user", "start": -1, "end": 5}
            ]
        },
        {"consent": [{"at": 0, "wall": NOON.isoformat(), "transcript": True}]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_no_session_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    whole = record(folder_of(tmp_path, made_session(tmp_path)))
    SESSION.validate(whole)
    assert not SESSION.is_valid(whole | change)
    assert not SESSION.is_valid({key: whole[key] for key in whole if key != "schema_version"})


@pytest.mark.parametrize(
    ("source", "event"),
    [
        (
            "recorder",
            {
                "type": "recording.turn",
                "item_id": "item_00000000000000000000",
                "start": 0,
                "end": 5,
            },
        ),
        ("recorder", {"type": "recording.gap", "start": -5, "end": 5}),
        ("recorder", {"type": "recording.stopped", "reason": "a cat"}),
        ("recorder", {"type": "recording.consent", "transcript": True, "audio": True}),
        ("recorder", {"type": "recording.consent", "name": "Ada", **RECORDED[3]}),
        ("recorder", {"type": "session.update"}),
        ("client", {"type": "input_audio_buffer.append", "audio": "AAAA"}),
        ("client", {"type": "input_audio_buffer.append", "samples": [0], "messages": 1}),
        ("server", {"type": "response.output_audio.delta", "delta": "AAAA"}),
        ("server", {"no": "type"}),
        ("nobody", {"type": "session.update"}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_no_line_of_a_log_is_refused(source: str, event: dict[str, Any]) -> None:
    assert not EVENT.is_valid(line(source, event))


def test_what_a_client_sends_under_a_name_of_the_recorder_is_a_line_of_its_own() -> None:
    EVENT.validate(line("client", {"type": "recording.turn", "hello": "Ada"}))


def test_a_line_is_what_its_noun_says() -> None:
    told = Line.model_validate(line("recorder", RECORDED[0]))
    EVENT.validate(json.loads(told.model_dump_json(by_alias=True)))
    assert not EVENT.is_valid(json.loads(told.model_dump_json()))  # `from`, not `source`


# -- the document


def test_the_documents_example_cuts_every_turn(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, made_session(tmp_path, turns=2))
    found = re.search(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    assert found
    exec(found.group(1), {"FOLDER": str(folder)})
    whole, _ = soundfile.read(folder / "audio.flac", dtype="int16")
    turns = record(folder)["turns"]
    assert len(turns) == 4
    for turn in turns:
        cut, rate = soundfile.read(folder / f"{turn['item_id']}.wav", dtype="int16")
        left_or_right = 0 if turn["role"] == "user" else 1
        assert rate == 24_000
        assert cut.any()
        assert (cut == whole[turn["start"] : turn["end"], left_or_right]).all()


def test_the_document_names_every_field_and_every_word_of_the_schemas() -> None:
    document = DOCUMENT.read_text("utf-8")
    schemas = [session_schema(), event_schema()]
    for name in {name for schema in schemas for name in named(schema)}:
        assert f"`{name}`" in document or f'"{name}"' in document, name


def test_the_document_says_of_every_type_of_event_what_is_kept() -> None:
    table = DOCUMENT.read_text("utf-8").split("### What each event keeps")[1].split("\n## ")[0]
    patterns: list[str] = []
    for row in re.findall(r"^\| ([^|]*`[^|]*) \|", table, re.MULTILINE):
        before = ""
        for token in re.findall(r"`([^`]+)`", row):
            whole = before.rsplit(".", 1)[0] + token if token.startswith(".") else token
            patterns.append(whole)
            before = whole
    missing = [kind for kind in TYPES if not any(fnmatch(kind, each) for each in patterns)]
    assert missing == []
    unused = [each for each in patterns if not any(fnmatch(kind, each) for kind in TYPES)]
    assert unused == []


def named(schema: Any) -> Iterator[str]:
    """Fields of objects, and the words of fixed lists."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        yield from (word for word in schema.get("enum", []) if isinstance(word, str))
        for inner in schema.values():
            yield from named(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from named(inner)
