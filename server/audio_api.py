"""Our voice and our ears for programs: OpenAI's speech and transcription interface over HTTP."""

import asyncio
import json
import logging
import re
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, BinaryIO

import numpy as np
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from models.clauses import clauses
from models.errors import BackendError
from models.instructions import styled_by
from models.protocols import Models, Speaker
from models.types import AudioChunk, Samples
from models.worker import Worker
from server import recordings
from server.access import admitted
from server.audio_shapes import (
    SPOKEN,
    WRITTEN,
    Model,
    ModelList,
    Segment,
    SpeechRequest,
    Transcript,
    TranscriptFormat,
    TranscriptionRequest,
    Usage,
    VerboseTranscript,
)
from server.captions import Caption, srt, vtt
from server.http_refusals import Places, Refusal, Route, addresses
from server.http_streams import Streamed, limited, whole
from server.openapi import BINARY, asks, failures
from server.private_log import where
from server.session_config import UNNAMED
from server.speech_formats import MEDIA, encoded

log = logging.getLogger(__name__)

SPEECHES, TRANSCRIPTIONS = 4, 2  # at once; conversations share the models with them
MOST_JSON = 64 * 1024  # bytes
MOST_UPLOAD = 25 * 1024 * 1024  # bytes, as the official service has it
PLAIN_FIELDS = ("model", "language", "response_format", "stream", "temperature", "prompt")
MOST_FIELDS, MOST_FIELD = 40, 16 * 1024  # of a form; bytes
ENGLISH = re.compile(r"en(?:[-_]\w+)*|english", re.IGNORECASE)


def router(models: Models, admits: Callable[[Headers], bool]) -> APIRouter:
    """The routes, for requests whose headers are admitted."""
    speaking = Places(SPEECHES)
    listener = Listener(models)
    opened = int(time.time())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        yield
        listener.close()

    routes = APIRouter(
        prefix="/v1",
        route_class=Route,
        dependencies=[Depends(admitted(admits))],
        responses=failures(403),
        lifespan=lifespan,
    )

    @routes.get("/models")
    async def list_models() -> ModelList:
        return ModelList(data=[Model(id=UNNAMED, created=opened, owned_by=UNNAMED)])

    @routes.post(
        "/audio/speech",
        response_class=Response,
        responses={**SPOKEN, **failures(400, 413, 429, 503)},
        openapi_extra=asks(SpeechRequest),
    )
    async def speech(request: Request) -> Response:
        wanted = SpeechRequest.model_validate_json(await whole(request, MOST_JSON))
        sound = encoded(_speech(wanted, models.speaker, speaking), wanted.response_format)
        if wanted.stream_format == "sse":
            return await _while_there(request, _events(_speech_events(sound)))
        return await _while_there(request, _begun(sound, MEDIA[wanted.response_format]))

    @routes.post(
        "/audio/transcriptions",
        responses={**WRITTEN, **failures(400, 413, 429, 503)},
        openapi_extra=asks(TranscriptionRequest, "multipart/form-data", file=BINARY),
    )
    async def transcriptions(request: Request) -> Response:
        form = await _form(request)
        try:
            wanted, file = _transcription(form)
            return await _while_there(request, listener.answer(wanted, file))
        finally:
            await form.close()

    return routes


# ---- speaking


async def _speech(
    wanted: SpeechRequest, speaker: Speaker, places: Places
) -> AsyncGenerator[Samples, None]:
    style = styled_by(wanted.instructions)
    style = replace(style, pace=style.pace * wanted.speed)
    spoken = False
    with places.taken():
        async with aclosing(clauses(_once(wanted.input))) as said:
            async for clause in said:
                async with aclosing(speaker.speak(clause, style)) as chunks:
                    async for chunk in chunks:
                        spoken = True
                        yield chunk.audio.samples
    if not spoken:
        raise Refusal(400, "There is nothing in the input to say.", "invalid_value", "input")


async def _once(text: str) -> AsyncGenerator[str, None]:
    yield text


async def _speech_events(sound: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(sound):
        async for piece in sound:
            yield _event("speech.audio.delta", audio=b64encode(piece).decode())
    yield _event("speech.audio.done")


# ---- listening


@dataclass(slots=True)
class Hearing:
    """A recording that is listened to; how long it is, is known once it was read."""

    file: BinaryIO
    seconds: float = 0.0


class Listener:
    """Recordings to words, a few recordings at a time."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._places = Places(TRANSCRIPTIONS)
        self._worker = Worker("recordings")

    async def answer(self, wanted: TranscriptionRequest, file: BinaryIO) -> Response:
        """The words as they are wanted; the file has been read by then."""
        hearing = Hearing(file)
        captions = self._captions(hearing)
        if wanted.stream:
            return await _events(_transcript_events(captions))
        heard = [caption async for caption in captions]
        return _transcript(wanted.response_format, hearing.seconds, heard)

    async def _captions(self, hearing: "Hearing") -> AsyncGenerator[Caption, None]:
        """What was said, stretch by stretch."""
        with self._places.taken():
            recording = await self._read(hearing.file)
            hearing.seconds = recording.duration
            cuts = recordings.stretches(recording, self._models.voice_detector.open())
            async with aclosing(self._worker.stream(cuts)) as found:
                async for stretch in found:
                    if stretch is None:  # another recording has its turn
                        continue
                    # Given speech from its very first sample, Moonshine adds words at the end.
                    padded = AudioChunk(np.pad(stretch.audio.samples, (recordings.MARGIN, 0)))
                    text = (await self._models.transcriber.transcribe(padded)).strip()
                    if text:
                        yield Caption(stretch.start_sec, stretch.end_sec, text)

    async def _read(self, file: BinaryIO) -> AudioChunk:
        async with aclosing(self._worker.stream(recordings.read(file))) as read:
            pieces = [piece async for piece in read]
        return AudioChunk(await self._worker.run(partial(np.concatenate, pieces)))

    def close(self) -> None:
        self._worker.close()


def _transcription(form: FormData) -> tuple[TranscriptionRequest, BinaryIO]:
    file = form.get("file")
    if not isinstance(file, UploadFile):
        raise Refusal(400, "The form needs a file to listen to.", "missing_file", "file")
    fields = {name: value for name, value in form.multi_items() if name in PLAIN_FIELDS}
    marks = form.getlist("timestamp_granularities[]")
    wanted = TranscriptionRequest.model_validate({**fields, "timestamp_granularities[]": marks})
    if not ENGLISH.fullmatch(wanted.language):
        message = "This server hears English only."
        raise Refusal(400, message, "unsupported_language", "language")
    if wanted.stream and wanted.response_format not in ("json", "text"):
        message = "Only json and text can be streamed."
        raise Refusal(400, message, "unsupported_value", "response_format")
    return wanted, file.file


def _transcript(form: TranscriptFormat, seconds: float, captions: Sequence[Caption]) -> Response:
    text = " ".join(caption.text for caption in captions)
    usage = Usage(seconds=ceil(seconds))
    match form:
        case "text":
            return PlainTextResponse(text + "\n")
        case "srt":
            return PlainTextResponse(srt(captions))
        case "vtt":
            return PlainTextResponse(vtt(captions), media_type="text/vtt")
        case "json":
            return JSONResponse(Transcript(text=text, usage=usage).model_dump())
        case "verbose_json":
            segments = [
                Segment(
                    id=number,
                    start=round(each.start_sec, 3),
                    end=round(each.end_sec, 3),
                    text=each.text,
                )
                for number, each in enumerate(captions)
            ]
            length = round(seconds, 3)
            full = VerboseTranscript(text=text, usage=usage, duration=length, segments=segments)
            return JSONResponse(full.model_dump())


async def _transcript_events(
    captions: AsyncGenerator[Caption, None],
) -> AsyncGenerator[bytes, None]:
    text = ""
    async with aclosing(captions):
        async for caption in captions:
            delta = f" {caption.text}" if text else caption.text
            text += delta
            yield _event("transcript.text.delta", delta=delta)
    yield _event("transcript.text.done", text=text)


# ---- HTTP


async def _while_there(request: Request, answer: Coroutine[Any, Any, Response]) -> Response:
    """The answer; once the client has left, all work on it ends and its place is free."""
    working = asyncio.create_task(answer)
    watching = asyncio.create_task(_left(request))
    try:
        await asyncio.wait([working, watching], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise Refusal(499, "The client has left.", "client_left")  # nobody reads it
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.wait([working, watching])


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _begun(stream: AsyncGenerator[bytes, None], media_type: str) -> Streamed:
    return Streamed(await anext(stream), stream, media_type)


async def _events(stream: AsyncGenerator[bytes, None]) -> Streamed:
    return await _begun(_telling_failure(stream), "text/event-stream")


async def _telling_failure(stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The events; if a model fails after the first, an event tells it."""
    begun = False
    async with aclosing(stream):
        try:
            async for piece in stream:
                yield piece
                begun = True
        except BackendError as error:
            if not begun:
                raise
            log.error("a stream broke off: %s%s", where(error), addresses(error))
            yield _event("error", error=Refusal.of(error).error)


def _event(kind: str, **fields: Any) -> bytes:
    return f"data: {json.dumps({'type': kind, **fields})}\n\n".encode()


async def _form(request: Request) -> FormData:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise Refusal(400, "Send the recording as multipart/form-data.", "invalid_content_type")
    parser = MultiPartParser(
        request.headers,
        limited(request, MOST_UPLOAD),
        max_files=1,
        max_fields=MOST_FIELDS,
        max_part_size=MOST_FIELD,
    )
    try:
        return await parser.parse()
    except MultiPartException as error:
        raise Refusal(400, f"The form cannot be read: {error.message}", "invalid_form") from error
