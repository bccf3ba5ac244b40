"""What each client event does to the conversation."""

from typing import Any

from models.types import WIRE_RATE, Turn
from server import ids
from server.bulk import bulk
from server.client_events import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    ClientEvent,
    ConsentGiven,
    ItemCreate,
    ItemDelete,
    ItemRetrieve,
    ItemTruncate,
    NewItem,
    OutputClear,
    Playback,
    ResponseCancel,
    ResponseCreate,
    ResponseParams,
    SessionUpdate,
    decode_audio,
    load,
    parse,
)
from server.consent import Consent
from server.errors import ClientError
from server.input_buffer import SAMPLE_BYTES
from server.items import Item, accepted, text_bytes, turns
from server.limits import BY_CODE, PassedOver
from server.replies import Running
from server.reply import Dialogue, ReplyOptions
from server.server_events import event, item_added, item_done
from server.session import Session
from server.session_config import check_size, updated

MAX_APPEND_BYTES = 15 * 1024 * 1024
MAX_APPEND_BASE64 = MAX_APPEND_BYTES // 3 * 4
MIN_COMMIT_MS = 100
MAX_ASIDES = 8  # out-of-band responses of one conversation at once


async def handle(session: Session, message: str | bytes) -> None:
    """Do what the client asks, or tell it why not; the session lives on either way."""
    event_id: str | None = None
    try:
        said_at, much = session.room.clock.time(), bulk(message)
        if session.meter:
            session.meter.message(said_at, much.weight)
        much.check()
        if isinstance(message, bytes):
            await _binary(session, message)
            return
        raw = load(message)
        said = raw.get("event_id")
        event_id = said if isinstance(said, str) else None
        understood = parse(raw)
        session.room.recorder.asked(raw)
        await obey(session, understood)
    except PassedOver:
        pass
    except ClientError as error:
        if limit := BY_CODE.get(error.code):
            session.room.vitals.limited(limit)
        await session.room.tell(event("error", error=error.payload(event_id)))


async def obey(session: Session, said: ClientEvent) -> None:
    match said:
        case AudioAppend(audio=audio):
            await _append(session, audio)
        case SessionUpdate(session=patch):
            await _update(session, patch)
        case AudioCommit():
            await _commit(session)
        case AudioClear():
            await session.clear_input()
            await session.room.tell(event("input_audio_buffer.cleared"))
        case OutputClear():
            await _clear_output(session)
        case ItemCreate():
            await _create_item(session, said)
        case ItemRetrieve(item_id=item_id):
            item = session.room.conversation.find(item_id, "item_retrieve_invalid_item_id")
            _weigh_answer(session, len(item.audio) + text_bytes([item]))
            shown = item.payload(with_audio=True)
            await session.room.tell(event("conversation.item.retrieved", item=shown))
        case ItemDelete(item_id=item_id):
            session.room.conversation.delete(item_id)
            await session.room.tell(event("conversation.item.deleted", item_id=item_id))
        case ItemTruncate():
            await _truncate(session, said)
        case ResponseCreate(response=params):
            await _respond(session, params)
        case ResponseCancel(response_id=response_id):
            await _cancel(session, response_id)
        case Playback():
            _acknowledge(session, said)
        case ConsentGiven(name=name):
            consent = Consent(said.transcript, said.audio, said.research)
            await session.consent(consent, name)


async def _update(session: Session, patch: dict[str, Any]) -> None:
    room = session.room
    knew_us = room.config.attune.events
    _weigh_answer(session, session.settings_weight)  # all are read, joined and echoed every time
    config = updated(room.config, patch, has_spoken=session.replies.has_spoken)
    written = check_size(config, room.limits.settings_bytes, "session")
    await session.reconfigure(config)
    session.settings_weight = bulk(written).weight
    await room.tell(event("session.updated", session=room.config.payload()))
    if room.config.attune.events and not knew_us:
        await session.introduce()


async def _append(session: Session, audio: str) -> None:
    if len(audio) > MAX_APPEND_BASE64:
        raise ClientError("invalid_value", "One append takes at most 15 MiB of audio.", "audio")
    data = await decode_audio(audio)
    size = len(data) * session.decoder.growth
    session.buffer.check_room(size)
    _weigh(session, size)
    await session.receive(session.decoder(data))


def _weigh_answer(session: Session, size: int) -> None:
    """A few words may ask for a long answer: it counts as what is said at length."""
    if session.meter:
        session.meter.weigh(size, session.room.clock.time())


def _weigh(session: Session, size: int) -> None:
    """Sound comes no faster than it can be spoken, or not for long."""
    if session.meter:
        session.meter.sound(size // SAMPLE_BYTES, session.room.clock.time())


async def _binary(session: Session, frame: bytes) -> None:
    if not session.room.config.attune.binary:
        raise ClientError(
            "invalid_value",
            "Binary frames are audio only after session.update with session.attune.binary true.",
        )
    if len(frame) % 2 or len(frame) > MAX_APPEND_BYTES:
        raise ClientError("invalid_value", "A binary frame is PCM16 of at most 15 MiB.")
    session.room.recorder.asked_in_sound()
    _weigh(session, len(frame))
    await session.receive(frame)


async def _commit(session: Session) -> None:
    """The client says the turn is over. No response follows unless it asks for one."""
    await session.catch_up()
    waiting_ms = len(session.buffer) * 1000 // WIRE_RATE
    if waiting_ms < MIN_COMMIT_MS:
        raise ClientError(
            "input_audio_buffer_commit_empty",
            "Error committing input audio buffer: the buffer is too small. Expected at least "
            f"{MIN_COMMIT_MS}ms of audio, but it only has {waiting_ms}ms.",
        )
    item_id = session.floor.utterance.item_id if session.floor.utterance else ids.new("item")
    end = session.buffer.end
    session.room.recorder.turn(item_id, session.buffer.first, end)
    audio = session.buffer.take(session.buffer.start, end)
    await session.floor.forget()
    words = session.transcripts.transcribe(item_id, audio)
    item = await session.transcripts.commit(item_id, audio, words)
    await session.percepts.perceive(item, words, end)


async def _clear_output(session: Session) -> None:
    if session.replies.speech is None:
        raise ClientError(
            "output_audio_buffer_clear_not_active", "There is no output audio to clear."
        )
    response_id = session.replies.speech.reply.id
    await session.replies.interrupt("client_cancelled")
    await session.room.tell(event("output_audio_buffer.cleared", response_id=response_id))


async def _create_item(session: Session, said: ItemCreate) -> None:
    item = await accepted(said.item)
    if session.floor.utterance and session.floor.utterance.item_id == item.id:
        raise ClientError(
            "item_create_duplicate_item_id", "That id belongs to what is being said.", "item.id"
        )
    previous = session.room.conversation.add(item, said.previous_item_id)
    await session.room.tell(item_added(item, previous))
    await session.room.tell(item_done(item, previous))
    if item.role == "user" and item.spoken:
        await _understand(session, item)


async def _understand(session: Session, item: Item) -> None:
    """Find out what was said in audio the client wrote, unless it says so itself, and how."""
    if item.text:
        words = session.transcripts.known(item.text)
    else:
        words = session.transcripts.transcribe(item.id, item.audio)
        await session.transcripts.write_down(item, words)
    await session.percepts.perceive(item, words)


async def _truncate(session: Session, said: ItemTruncate) -> None:
    item = session.room.conversation.find(said.item_id, "item_truncate_invalid_item_id")
    if item.role != "assistant" or not item.spoken:
        raise ClientError(
            "invalid_value", "Only the assistant's audio can be truncated.", "item_id"
        )
    if said.content_index != 0:
        raise ClientError("invalid_value", "The item has one content part: 0.", "content_index")
    if item.playout is not None:
        length_ms = -(-item.playout.sent * 1000 // WIRE_RATE)
        if said.audio_end_ms > length_ms:
            raise ClientError(
                "invalid_value",
                f"Audio content of {length_ms}ms is already shorter than {said.audio_end_ms}ms",
                "audio_end_ms",
            )
        heard = said.audio_end_ms * WIRE_RATE // 1000
        item.cut(heard)
        session.room.recorder.replies.truncated(item.id, heard, item.text)
    await session.room.tell(
        event(
            "conversation.item.truncated",
            item_id=item.id,
            content_index=0,
            audio_end_ms=said.audio_end_ms,
        )
    )


async def _respond(session: Session, params: ResponseParams) -> None:
    if session.room.config.type != "realtime":
        raise ClientError("invalid_value", "A transcription session gives no responses.", "type")
    out_of_band = params.conversation == "none"
    _check_free(session, out_of_band)
    settings = params.model_copy(update={"input": None})
    check_size(settings, session.room.limits.settings_bytes, "response")
    options = _options(session, params, out_of_band)
    dialogue = await _dialogue(session, params)
    _check_free(session, out_of_band)  # to read much sound takes its time, and others had theirs
    await session.replies.answer(options, dialogue)


def _check_free(session: Session, out_of_band: bool) -> None:
    """Whether a response may begin."""
    if out_of_band and len(session.replies.asides) >= MAX_ASIDES:
        raise ClientError(
            "too_many_responses",
            f"There are {MAX_ASIDES} out-of-band responses in progress; wait for one of them.",
        )
    if not out_of_band and session.replies.active:
        assert session.replies.speech is not None, "a reply is being given"
        raise ClientError(
            "conversation_already_has_active_response",
            "Conversation already has an active response in progress: "
            f"{session.replies.speech.reply.id}. Wait until it is finished, or cancel it.",
        )


def _options(session: Session, params: ResponseParams, out_of_band: bool) -> ReplyOptions:
    base = session.replies.options()
    limit = params.max_output_tokens
    output = params.audio.output if params.audio else None
    return ReplyOptions(
        instructions=base.instructions if params.instructions is None else params.instructions,
        speaks=base.speaks
        if params.output_modalities is None
        else params.output_modalities == ["audio"],
        max_tokens=base.max_tokens if limit is None else None if limit == "inf" else limit,
        speed=base.speed,
        in_conversation=not out_of_band,
        numbered=base.numbered,
        metadata=params.metadata,
        audio_format=output.format if output and output.format else base.audio_format,
        voice=output.voice if output and output.voice else base.voice,
    )


async def _dialogue(session: Session, params: ResponseParams) -> Dialogue:
    """What the response answers: the conversation, or the items the client gave instead."""
    if params.input is None:
        return session.replies.so_far()
    given: list[Item] = [await _given(session, new) for new in params.input]
    most = session.room.limits.conversation_bytes
    if text_bytes(given) > most:
        raise ClientError(
            "conversation_too_long",
            f"'response.input' may hold at most {most} bytes of text.",
            "response.input",
        )

    async def dialogue() -> list[Turn]:
        await session.transcripts.understood()
        return turns(given, with_audio=True)

    return dialogue


async def _given(session: Session, new: NewItem) -> Item:
    if new.type == "item_reference":
        if new.id is None:
            raise ClientError(
                "missing_required_parameter", "An item_reference needs an id.", "response.input"
            )
        return session.room.conversation.find(new.id, "item_reference_invalid_item_id")
    item = await accepted(new)
    if item.spoken and not item.text and item.audio:
        session.transcripts.fill_in(item)
    return item


async def _cancel(session: Session, response_id: str | None) -> None:
    running: Running | None = session.replies.speech if session.replies.active else None
    if response_id is not None and (running is None or running.reply.id != response_id):
        running = session.replies.asides.pop(response_id, None)
    if running is None or not running.reply.announced or running.reply.ended:
        raise ClientError(
            "response_cancel_not_active",
            "Cancellation failed: no active response found"
            + (f" with id '{response_id[:64]}'" if response_id else "")
            + ".",
        )
    if running is session.replies.speech:
        await session.replies.interrupt("client_cancelled")
    else:
        await session.replies.stop(running, "client_cancelled")


def _acknowledge(session: Session, said: Playback) -> None:
    """A report of playback; one about a reply long over is no error, only late."""
    session.room.recorder.played(said.response_id, said.played_samples, said.input_samples)
    running = session.replies.speech
    if running and running.reply.id == said.response_id:
        running.reply.playout.acknowledge(said.played_samples)
