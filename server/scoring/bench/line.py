"""A call to the server with a loudspeaker at its end, that tells what of a reply was heard."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from struct import unpack_from

import numpy as np
import orjson
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidURI, WebSocketException

from models.audio import encode_pcm16
from models.types import WIRE_RATE, Samples
from server.client import (
    HEADER,
    PIECE,
    PIECE_SEC,
    Call,
    CallError,
    listened,
    token_header,
)
from server.scoring.bench.fetching import public
from server.scoring.bench.loudspeaker import Loudspeaker
from server.scoring.sources import PLAYER

ROOM = 10 ** (-70 / 20)  # a quiet room's noise; digital silence would be too easy an ear
SYNC = 10  # pieces between two looks at what the server did, where nobody waits for the clock


@dataclass(slots=True)
class Line(Call):
    """An open microphone: what is not said into it is a quiet room."""

    realtime: bool = True
    speaker: Loudspeaker = field(default_factory=Loudspeaker)
    sent: int = 0  # samples
    _due: float = 0.0
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def take(self, message: str | bytes, now: float) -> None:
        if isinstance(message, bytes):
            sequence, offset = unpack_from("<II", message)
            self.speaker.receive(sequence, offset, (len(message) - HEADER) // 2)
            return
        event = orjson.loads(message)
        self.speaker.told(event)
        self.events.append(event)
        self.times.append(now)

    async def say(self, pcm: bytes) -> None:
        """Play a clip into the microphone, at the pace it was spoken."""
        for begin in range(0, len(pcm), 2 * PIECE):
            await self._piece(pcm[begin : begin + 2 * PIECE])

    async def hush(self, seconds: float = PIECE_SEC) -> None:
        """Let the room be quiet for so long."""
        for _ in range(round(seconds / PIECE_SEC)):
            await self._piece(encode_pcm16(self._quiet()))

    def _quiet(self) -> Samples:
        return (ROOM * self._random.standard_normal(PIECE)).astype(np.float32)

    async def _piece(self, pcm: bytes) -> None:
        samples = len(pcm) // 2
        if self.realtime:
            now = time.monotonic()
            self._due = max(self._due, now - PIECE_SEC) + samples / WIRE_RATE
            await asyncio.sleep(self._due - now)
        await self.append_pcm(pcm)
        self.sent += samples
        for report in self.speaker.advance(samples):
            await self.send(type="attune.playback", **asdict(report))
        if not self.realtime and self.sent // PIECE % SYNC == 0:
            await self.settle()
        if self.lost:
            await self.until()  # says why

    async def settle(self) -> None:
        """Wait until the server has dealt with all that was sent."""
        mark = len(self.events)
        await self.send(type="session.update", session={})
        await self.until("session.updated", after=mark)


@asynccontextmanager
async def line(url: str, name: str, *, realtime: bool) -> AsyncGenerator[Line, None]:
    """The server notes by the benchmark's name that no person speaks here."""
    try:
        socket = await connect(
            url,
            max_size=None,
            compression=None,
            user_agent_header=PLAYER + name,
            additional_headers=token_header(),
            proxy=None,
        )
    except InvalidURI:  # which tells the whole of it, with login and query
        raise CallError(f"'{public(url)}' is no address of a server") from None
    except (OSError, WebSocketException, ValueError, TimeoutError) as error:
        raise CallError(
            f"cannot reach {public(url)}: {error}; is the server running (make run)?"
        ) from None
    async with listened(Line(socket, realtime=realtime)) as call:
        yield call
