"""A server with OpenAI's interfaces for ears, mind and voice, which fails in every way it can."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Literal

import numpy as np
import orjson
import soundfile

from models.audio import encode_pcm16, resample
from models.types import EAR_RATE, WIRE_RATE, AudioChunk
from tests.fakes import loudest

Role = Literal["responder", "speaker", "transcriber"]
Fault = Literal["cut", "500", "busy", "hang", "stall", "drip", "cut_off", "garbage", "wrong_kind"]
Slowness = Literal["late", "half_pace"]  # which is no fault, but is noticed in real time
FAULTS: tuple[Fault, ...] = (
    *("cut", "500", "busy", "hang", "stall", "drip", "cut_off", "garbage", "wrong_kind"),
)
PATHS: dict[str, Role] = {
    "/v1/chat/completions": "responder",
    "/v1/audio/speech": "speaker",
    "/v1/audio/transcriptions": "transcriber",
}
LOUD, SOFT = 0.3, 0.2  # who speaks so says LOUD_SAYS or SOFT_SAYS
LOUD_SAYS, SOFT_SAYS = "alpha please tell me more", "bravo please tell me more"
WORD_SEC = 0.1
LATE_SEC = 2.5  # before the first piece
CHUNKED = b"Transfer-Encoding: chunked\r\nConnection: close\r\n"


@dataclass(slots=True)
class Answer:
    """What would be right to say."""

    kind: str
    pieces: list[bytes]


@dataclass(slots=True)
class FaultServer:
    """Fails, while told to, those requests that are about the loud one."""

    url: str = ""
    role: Role | None = None
    fault: Fault | Slowness | None = None
    everybody: bool = False  # the soft one's, and those that only try, fail as well
    asked: dict[str, int] = field(default_factory=dict)  # requests by role
    failed: int = 0
    answering: set[asyncio.Task[Any]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.answering.add(task)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side has left
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            self.answering.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split()[1]
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1]) if length else 0)
        if path == "/v1/models":
            await self._give(writer, Answer("application/json", [b'{"data":[{"id":"m"}]}']))
            return
        role = PATHS[path]
        self.asked[role] = self.asked.get(role, 0) + 1
        answer, loud = ANSWERS[role](body)
        if role == self.role and self.fault and (loud or self.everybody):
            self.failed += 1
            await self._fail(self.fault, reader, writer, answer)
        else:
            await self._give(writer, answer)

    async def _give(
        self, writer: asyncio.StreamWriter, answer: Answer, pause_sec: float = 0.0
    ) -> None:
        await _begin(writer, answer.kind)
        for piece in answer.pieces:
            await _chunk(writer, piece)
            await asyncio.sleep(pause_sec)
        await _chunk(writer, b"")

    async def _fail(
        self,
        fault: Fault | Slowness,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answer: Answer,
    ) -> None:
        begun = answer.pieces[: max(1, len(answer.pieces) // 2)]
        match fault:
            case "cut":
                writer.transport.abort()
            case "500":
                await _refuse(writer, b"500 Internal Server Error")
            case "busy":
                await _refuse(writer, b"503 Service Unavailable")
            case "hang":
                await reader.read()  # until the other side has had enough
            case "stall":
                await _begin(writer, answer.kind)
                for piece in begun[:-1] if answer.kind == "application/json" else begun:
                    await _chunk(writer, piece)
                await reader.read()
            case "late":
                await asyncio.sleep(LATE_SEC)
                await self._give(writer, answer)
            case "half_pace":
                await self._give(writer, answer, 2 * WORD_SEC)
            case "drip":
                pieces = [bytes([byte]) for piece in answer.pieces for byte in piece[:400]]
                if answer.kind.startswith("audio"):
                    pieces = [part for p in answer.pieces for part in (p[:333], p[333:])]
                await self._give(writer, Answer(answer.kind, pieces), 0.001)
            case "cut_off":
                await _begin(writer, answer.kind)
                for piece in begun[:-1] if answer.kind == "application/json" else begun:
                    await _chunk(writer, piece)
                await asyncio.sleep(0.05)
                writer.transport.abort()
            case "garbage":
                sound = answer.kind.startswith("audio")  # of which any byte may be a part
                pieces = [] if sound else [b"data: {]\x00\xff\n\n"]
                await self._give(writer, Answer(answer.kind, pieces))
            case "wrong_kind":
                await self._give(writer, Answer("text/html", [b"<h1>It works!</h1>"]))


async def _begin(writer: asyncio.StreamWriter, kind: str) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind.encode() + b"\r\n" + CHUNKED + b"\r\n")
    await writer.drain()


async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
    await writer.drain()


async def _refuse(writer: asyncio.StreamWriter, status: bytes) -> None:
    said = b'{"error":{"message":"no"}}'
    length = b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(said)
    writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Type: application/json\r\n" + length + said)
    await writer.drain()


# ---- what would be right


def _words(body: bytes) -> tuple[Answer, bool]:
    start = body.index(b"RIFF")
    samples, rate = soundfile.read(BytesIO(body[start:]), dtype="float32")
    level = loudest(AudioChunk(resample(samples, rate, EAR_RATE)))
    loud = level > (LOUD + SOFT) / 2
    said = LOUD_SAYS if loud else SOFT_SAYS if level > SOFT / 2 else ""
    return Answer("application/json", [orjson.dumps({"text": said})]), loud


def _reply(body: bytes) -> tuple[Answer, bool]:
    asked = orjson.loads(body)
    heard = [turn["content"] for turn in asked["messages"] if turn["role"] == "user"][-1]
    words = f"I heard you, you said {heard}.".split()[: asked["max_tokens"]]
    pieces = [_delta(word if number == 0 else f" {word}") for number, word in enumerate(words)]
    answer = Answer("text/event-stream", [*pieces, _delta("", "stop"), b"data: [DONE]\n\n"])
    return answer, heard.startswith(LOUD_SAYS[:5])


def _delta(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + orjson.dumps({"id": "x", "choices": [choice]}) + b"\n\n"


def _speech(body: bytes) -> tuple[Answer, bool]:
    said = orjson.loads(body)["input"]
    time = np.arange(round(WORD_SEC * WIRE_RATE), dtype=np.float32) / WIRE_RATE
    tone = encode_pcm16((0.25 * np.sin(2 * np.pi * 480 * time)).astype(np.float32))
    return Answer("audio/pcm", [tone] * len(said.split())), "alpha" in said


ANSWERS: dict[Role, Callable[[bytes], tuple[Answer, bool]]] = {
    "transcriber": _words,
    "responder": _reply,
    "speaker": _speech,
}


@asynccontextmanager
async def faulty(port: int = 0) -> AsyncGenerator[FaultServer, None]:
    peer = FaultServer()
    server = await asyncio.start_server(peer.serve, "127.0.0.1", port)
    peer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        async with server:
            yield peer
    finally:
        for task in list(peer.answering):
            task.cancel()
        await asyncio.gather(*peer.answering, return_exceptions=True)
