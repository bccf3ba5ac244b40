"""A scripted person at the far end of the wire, who checks every event it is told."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import orjson
from openai.types.realtime import RealtimeServerEvent
from pydantic import TypeAdapter
from websockets.asyncio.client import ClientConnection, connect

from models.audio import encode_pcm16
from models.types import WIRE_RATE, Samples

OFFICIAL: TypeAdapter[Any] = TypeAdapter(RealtimeServerEvent)
VOICE, HUSH = 0.3, 0.0
NOISE = np.random.default_rng(0).choice([-1, 1], WIRE_RATE * 40 // 1000).astype(np.float32)

Event = dict[str, Any]


def sound(level: float, seconds: float) -> Samples:
    """Noise of that level, the same every 40 ms: a voice, to the stand-in ear.

    No tone: the stand-in voice is one, and the echo guard would take the two for each other.
    """
    return np.resize(level * NOISE, round(seconds * WIRE_RATE))


class Talker:
    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.events: list[Event] = []
        self.audio: list[bytes] = []  # binary frames
        self.sent_seconds = 0.0  # of audio

    async def send(self, kind: str, **fields: Any) -> None:
        await self.socket.send(orjson.dumps({"type": kind, **fields}).decode())

    async def say(self, level: float, seconds: float) -> None:
        await self.send_audio(sound(level, seconds))

    async def send_audio(self, samples: Samples) -> None:
        self.sent_seconds += len(samples) / WIRE_RATE
        await self.append(encode_pcm16(samples))

    async def append(self, data: bytes) -> None:
        await self.send("input_audio_buffer.append", audio=b64encode(data).decode())

    async def ask(self, voice: float = 1.0, hush: float = 1.0) -> None:
        """A turn: some voice, then silence enough to end it."""
        await self.say(VOICE, voice)
        await self.say(HUSH, hush)

    async def next(self) -> Event:
        while True:
            async with asyncio.timeout(20):
                message = await self.socket.recv()
            if isinstance(message, bytes):
                self.audio.append(message)
                continue
            event: Event = orjson.loads(message)
            if not event["type"].startswith("attune."):
                OFFICIAL.validate_python(event, strict=False)
            self.events.append(event)
            return event

    async def until(self, *kinds: str) -> Event:
        """The next event of one of these kinds."""
        while (event := await self.next())["type"] not in kinds:
            pass
        return event

    async def settle(self) -> list[Event]:
        """Everything told up to now: the answer to a marked mistake comes after it."""
        begun = len(self.events)
        await self.send("nonsense", event_id="settled")
        while True:
            event = await self.next()
            if event["type"] == "error" and event["error"]["event_id"] == "settled":
                return self.events[begun:-1]

    async def update(self, **session: Any) -> Event:
        await self.send("session.update", session={"type": "realtime", **session})
        return await self.until("session.updated", "error")

    def told(self, *prefixes: str) -> list[str]:
        """The kinds of events so far, audio deltas in a row counted once."""
        kinds: list[str] = []
        for event in self.events:
            kind = event["type"]
            if prefixes and not kind.startswith(prefixes):
                continue
            if not (kinds and kinds[-1] == kind and kind.endswith(".delta")):
                kinds.append(kind)
        return kinds

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["type"] == kind]


@asynccontextmanager
async def talking(url: str, query: str = "") -> AsyncGenerator[Talker, None]:
    async with connect(url + query, max_size=None) as socket:
        talker = Talker(socket)
        await talker.until("conversation.created")
        yield talker


async def play_until(talker: Talker, *kinds: str, seconds: float = 60.0) -> Event:
    """Let time pass in silence, as the samples clock counts it, until something is told."""
    step = 0.2
    for _ in range(round(seconds / step)):
        await talker.say(HUSH, step)
        for event in await talker.settle():
            if event["type"] in kinds:
                return event
    raise AssertionError(f"{kinds} not told within {seconds} s")
