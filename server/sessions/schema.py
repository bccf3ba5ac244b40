"""JSON Schema of the files of a session folder, for those who read them without this code.

`python -m server.sessions.schema` writes `schemas/session.schema.json` and `event.schema.json`.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.json_schema import models_json_schema

from server.sessions.format import SCHEMA_VERSION, Line, Position, SessionFile, Shape, TurnSpan

SCHEMAS = Path(__file__).with_name("schemas")
DIALECT = "https://json-schema.org/draft/2020-12/schema"

Span = tuple[Position, Position]
Messages = Annotated[int, Field(ge=0)]

Json = dict[str, Any]


class Turn(TurnSpan):
    """Where a turn lies; a later one for the same item replaces it."""

    type: Literal["recording.turn"]


class Heard(Shape):
    """The words that had sounded of a reply that was cut short."""

    type: Literal["recording.heard"]
    item_id: str | None = None  # None: a client named it, and names are not kept
    transcript: str | None = None  # None: no words may be kept


class Gap(Shape):
    """No audio came from the user here."""

    type: Literal["recording.gap"]
    start: Position
    end: Position


class Stop(Shape):
    """Recording broke off, though the conversation went on."""

    type: Literal["recording.stopped"]
    reason: Literal[
        "disk_full", "disk_unwritable", "disk_slow", "disk_error", "recorder_error", "child"
    ]


class Consent(Shape):
    """From here on this is allowed."""

    type: Literal["recording.consent"]
    transcript: bool
    audio: bool
    research: bool


class AudioReceived(Shape):
    """A stretch of the user's sound, in samples of session time."""

    type: Literal["input_audio_buffer.append"]
    samples: Span
    messages: Messages  # that brought it


class AudioSent(Shape):
    """A stretch of a reply, in samples of that reply."""

    type: Literal["response.output_audio.delta"]
    response_id: str
    item_id: str
    reply_samples: Span
    messages: Messages


RECORDER = (Turn, Heard, Gap, Stop, Consent)
SOUND = (AudioReceived, AudioSent)


def session_schema() -> Json:
    """Of `session.json`."""
    schema = _headed("session", SessionFile.model_json_schema())
    schema["required"] = ["schema_version", *schema["required"]]
    ended = {"properties": {"ended": {"type": "object"}}, "required": ["ended"]}
    schema["allOf"] = [
        _when("state", {"enum": ["finished", "repaired"]}, ended),
        _when("state", {"const": "deleted"}, _nothing_but_a_tombstone()),
    ]
    return schema


def event_schema() -> Json:
    """Of one line of `events.jsonl`."""
    schema = _headed("event", Line.model_json_schema())
    shapes = [(shape, "validation") for shape in (*RECORDER, *SOUND)]
    schema["$defs"] = models_json_schema(shapes)[1]["$defs"]  # type: ignore[arg-type]
    schema["properties"]["event"] = {
        "description": "As it crossed the wire, without sound, or one of the recorder's own.",
        "type": "object",
        "properties": {"type": {"type": "string"}},
        "required": ["type"],
    }
    schema["allOf"] = [
        _from("recorder", {"oneOf": [_reference(shape) for shape in RECORDER]}),
        _from("client", _of_type(AudioReceived)),
        _from("server", _of_type(AudioSent)),
    ]
    return schema


def _headed(name: str, schema: Json) -> Json:
    return {"$schema": DIALECT, "$id": f"urn:attune:{name}:{SCHEMA_VERSION}", **schema}


def _when(field: str, holds: Json, then: Json) -> Json:
    return {"if": {"properties": {field: holds}, "required": [field]}, "then": then}


def _from(source: str, event: Json) -> Json:
    return _when("from", {"const": source}, {"properties": {"event": event}})


def _of_type(shape: type[Shape]) -> Json:
    kind = shape.model_json_schema()["properties"]["type"]["const"]
    return _when("type", {"const": kind}, _reference(shape))


def _nothing_but_a_tombstone() -> Json:
    stays = {"schema_version", "id", "state", "software", "started", "tombstones"}
    gone: Json = {
        name: {"enum": [None, [], {}]} for name in SessionFile.model_fields if name not in stays
    }
    return {"properties": {**gone, "tombstones": {"minItems": 1}}, "required": ["tombstones"]}


def _reference(shape: type[Shape]) -> Json:
    return {"$ref": f"#/$defs/{shape.__name__}"}


def written() -> dict[Path, str]:
    """Each file and what it should hold."""
    found = {"session": session_schema(), "event": event_schema()}
    return {
        SCHEMAS / f"{name}.schema.json": json.dumps(schema, indent=2) + "\n"
        for name, schema in found.items()
    }


def main() -> None:
    SCHEMAS.mkdir(exist_ok=True)
    for path, text in written().items():
        path.write_text(text, "utf-8")
        print(path)


if __name__ == "__main__":
    main()
