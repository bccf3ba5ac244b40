"""What we say to a client: Realtime server events, as JSON objects."""

from typing import Any

from models.percept import Percept
from server import ids
from server.items import Item

Event = dict[str, Any]


def event(kind: str, **fields: Any) -> Event:
    return {"type": kind, "event_id": ids.event(), **fields}


def item_added(item: Item, previous: str | None) -> Event:
    return event("conversation.item.added", item=item.payload(), previous_item_id=previous)


def item_done(item: Item, previous: str | None) -> Event:
    return event("conversation.item.done", item=item.payload(), previous_item_id=previous)


def transcription_completed(item_id: str, transcript: str, seconds: float) -> Event:
    return event(
        "conversation.item.input_audio_transcription.completed",
        item_id=item_id,
        content_index=0,
        transcript=transcript,
        usage={"type": "duration", "seconds": round(seconds, 3)},
    )


def transcription_delta(item_id: str, delta: str) -> Event:
    return event(
        "conversation.item.input_audio_transcription.delta",
        item_id=item_id,
        content_index=0,
        delta=delta,
    )


def perceived(item_id: str, percept: Percept, at: int | None, *, final: bool) -> Event:
    return event("attune.percept", item_id=item_id, final=final, at=at, percept=percept.to_json())


def transcription_failed(item_id: str, message: str) -> Event:
    return event(
        "conversation.item.input_audio_transcription.failed",
        item_id=item_id,
        content_index=0,
        error={"type": "transcription_error", "code": "transcription_failed", "message": message},
    )
