"""What a client may say: the eleven Realtime events, and two of our own."""

import asyncio
import binascii
from base64 import b64decode
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from models.types import WIRE_RATE
from server.bulk import apart
from server.errors import ClientError
from server.session_config import MAX_INSTRUCTIONS, AudioFormat
from server.validation import client_error

MAX_TEXT = 64_000  # characters in one item
MAX_SAMPLES = 24 * 3600 * WIRE_RATE  # a day
MAX_DEPTH = 32  # of nested objects and lists: JSON can be written only so deep
PIECE = 1024 * 1024  # letters of base64 decoded at once; a multiple of four
NESTING = (dict, list)
AROUND = 1024  # characters beside sound, of a message from which it is taken out


class Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    event_id: str | None = Field(None, max_length=512)


class SessionUpdate(Said):
    type: Literal["session.update"]
    session: dict[str, Any]  # merged before it is validated: see session_config.updated


class AudioAppend(Said):
    type: Literal["input_audio_buffer.append"]
    audio: str


class AudioCommit(Said):
    type: Literal["input_audio_buffer.commit"]


class AudioClear(Said):
    type: Literal["input_audio_buffer.clear"]


class OutputClear(Said):
    type: Literal["output_audio_buffer.clear"]


class Content(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    type: Literal["input_text", "input_audio", "output_text", "output_audio", "text", "input_image"]
    text: str | None = Field(None, max_length=MAX_TEXT)
    audio: str | None = None
    transcript: str | None = Field(None, max_length=MAX_TEXT)
    image_url: str | None = None
    detail: str | None = None


class NewItem(BaseModel):
    """An item as a client writes it; `server.items` gives it a life."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    type: Literal["message", "function_call", "function_call_output", "item_reference"]
    id: str | None = Field(None, min_length=1, max_length=64)
    object: Literal["realtime.item"] | None = None
    status: Literal["completed", "incomplete", "in_progress"] | None = None
    role: Literal["user", "assistant", "system"] | None = None
    content: list[Content] | None = Field(None, max_length=16)
    phase: str | None = Field(None, max_length=64)
    call_id: str | None = Field(None, max_length=256)
    name: str | None = Field(None, max_length=256)
    arguments: str | None = Field(None, max_length=MAX_TEXT)
    output: str | None = Field(None, max_length=MAX_TEXT)


class ItemCreate(Said):
    type: Literal["conversation.item.create"]
    item: NewItem
    previous_item_id: str | None = None


class ItemRetrieve(Said):
    type: Literal["conversation.item.retrieve"]
    item_id: str


class ItemDelete(Said):
    type: Literal["conversation.item.delete"]
    item_id: str


class ItemTruncate(Said):
    type: Literal["conversation.item.truncate"]
    item_id: str
    content_index: int = Field(ge=0)
    audio_end_ms: int = Field(ge=0)


class ResponseAudioOutput(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    format: AudioFormat | None = None
    voice: str | dict[str, Any] | None = None


class ResponseAudio(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    output: ResponseAudioOutput | None = None


class ResponseParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    instructions: str | None = Field(None, max_length=MAX_INSTRUCTIONS)
    output_modalities: list[Literal["text", "audio"]] | None = Field(
        None, min_length=1, max_length=1
    )
    audio: ResponseAudio | None = None
    conversation: Literal["auto", "none"] | None = None
    input: list[NewItem] | None = Field(None, max_length=256)
    max_output_tokens: Annotated[int, Field(ge=1, le=4096)] | Literal["inf"] | None = None
    metadata: dict[str, str] | None = Field(None, max_length=16)
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    prompt: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None


class ResponseCreate(Said):
    type: Literal["response.create"]
    response: ResponseParams = ResponseParams()


class ResponseCancel(Said):
    type: Literal["response.cancel"]
    response_id: str | None = None


class Playback(Said):
    """What was really heard: samples of the item played when `input_samples` had been captured."""

    type: Literal["attune.playback"]
    response_id: str
    item_id: str
    played_samples: int = Field(ge=0, le=MAX_SAMPLES)
    input_samples: int | None = Field(None, ge=0, le=MAX_SAMPLES)


class ConsentGiven(Said):
    """What may be kept from now on; what was kept and is not named goes."""

    type: Literal["attune.consent"]
    transcript: bool
    audio: bool
    research: bool
    name: str | None = Field(None, min_length=1, max_length=256)  # kept as a pseudonym


ClientEvent = Annotated[
    SessionUpdate
    | AudioAppend
    | AudioCommit
    | AudioClear
    | OutputClear
    | ItemCreate
    | ItemRetrieve
    | ItemDelete
    | ItemTruncate
    | ResponseCreate
    | ResponseCancel
    | Playback
    | ConsentGiven,
    Field(discriminator="type"),
]
CLIENT_EVENT: TypeAdapter[ClientEvent] = TypeAdapter(ClientEvent)
KINDS = frozenset(
    get_args(event.model_fields["type"].annotation)[0]
    for event in get_args(get_args(ClientEvent)[0])
)


def parse(raw: dict[str, Any]) -> ClientEvent:
    """The event a JSON object holds, or a ClientError saying why it holds none."""
    kind = raw.get("type")
    if kind == "input_audio_buffer.append" and isinstance(raw.get("audio"), str) and len(raw) == 2:
        # Most of what arrives: nothing left to validate, so do not pay for it.
        return AudioAppend.model_construct(type=kind, audio=raw["audio"], event_id=None)
    if not isinstance(kind, str):
        raise ClientError(
            "missing_required_parameter", "Missing required parameter: 'type'.", "type"
        )
    if kind not in KINDS:
        raise ClientError("invalid_value", f"Unknown event type '{kind[:64]}'.", "type")
    if _deeper(raw, MAX_DEPTH):
        raise ClientError("invalid_value", f"The event is nested over {MAX_DEPTH} deep.")
    try:
        return CLIENT_EVENT.validate_python(raw)
    except ValidationError as error:
        raise client_error(error) from None


def _deeper(value: Any, levels: int) -> bool:
    """Whether a JSON value is nested more than so many levels deep."""
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, NESTING)
        ]
        if not level:
            return False
    return True


def load(message: str) -> dict[str, Any]:
    """The JSON object of a message."""
    text, sounds = apart(message)
    if sounds and len(text) <= AROUND and not any("\\" in sound for sound in sounds):
        # There is nothing to be read in sound, and it is large.
        raw = _object(text)
        if len(places := list(_silent(raw))) == len(sounds):
            for place, sound in zip(places, sounds, strict=True):
                place["audio"] = sound
            return raw
    return _object(message)


def _silent(value: Any) -> Iterator[dict[str, Any]]:
    """The objects whose sound is empty, in the order they are written."""
    if isinstance(value, list):
        for inner in value:
            yield from _silent(inner)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name == "audio" and inner == "":
                yield value
            else:
                yield from _silent(inner)


def _object(message: str) -> dict[str, Any]:
    try:
        raw = orjson.loads(message)
    except orjson.JSONDecodeError:
        raise ClientError("invalid_json", "The message is not valid JSON.") from None
    if not isinstance(raw, dict):
        raise ClientError("invalid_json", "The message is not a JSON object.")
    return raw


async def decode_audio(text: str, param: str = "audio") -> bytes:
    """Sound as it was before it was written in letters. While there is much, others get a turn."""
    if len(text) <= PIECE:
        return _decoded(text, param)
    sound = bytearray()
    for at in range(0, len(text), PIECE):
        sound += _decoded(text[at : at + PIECE], param)
        if text[at + PIECE - 1 : at + PIECE] == "=" and at + PIECE < len(text):
            raise _no_base64(param)  # it may only end so
        await asyncio.sleep(0)
    return bytes(sound)


def _decoded(text: str, param: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _no_base64(param) from None


def _no_base64(param: str) -> ClientError:
    return ClientError("invalid_value", f"'{param}' is not valid base64.", param)
