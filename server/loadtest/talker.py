"""One talker: arrives, waits for a seat, talks by a script at the pace of life, and comes back."""

import asyncio
import socket as sockets
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from server.bench.barge import ACK_SEC, BROWSER_PIECE_SEC
from server.bench.listener import Listener
from server.bench.microphone import open_microphone
from server.client import PIECE_SEC, Call, CallError, Unanswered, calling
from server.loadtest.conversation import Conversation
from server.loadtest.script import Person, arrival, binary, steps
from server.loadtest.seen import Seen, code
from server.loadtest.speech import Repertoire

PATIENCE_SEC = 20.0  # for a session that is not queued for
RETRY_SEC = 2.0  # from a refusal or a loss to the next attempt
REPLY_TOKENS = 64  # people do not listen for ever
SMALL_WINDOW = 8192  # bytes a slow reader's socket takes in unread
FULL, TRY_AGAIN_LATER = "session_limit_reached", 1013


class Refused(Exception):
    """All seats are taken, and the server has no queue."""


class Talker:
    """Talks until time is up, whatever happens to its connections."""

    def __init__(
        self, person: Person, url: str, token: str | None, repertoire: Repertoire, until: float
    ) -> None:
        self.seen = Seen(person.number, person.slow)
        self._person = person
        self._url = f"{url}{'&' if '?' in url else '?'}attune=1"
        self._token = token
        self._repertoire = repertoire
        self._until = until
        self._steps = steps(person)

    async def run(self) -> Seen:
        await asyncio.sleep(arrival(self._person))
        try:
            async with asyncio.timeout_at(_loop_time(self._until)):
                while True:
                    try:
                        await self._call()
                    except Refused:
                        self.seen.refused += 1
                    except Unanswered as error:
                        why = f"http_{error.status}" if error.status else "cannot_connect"
                        self.seen.errors.append(why)
                    except CallError:
                        self.seen.lost += 1
                    await asyncio.sleep(RETRY_SEC)
        except TimeoutError:
            pass  # the talk is over
        return self.seen

    async def _call(self) -> None:
        begun = time.monotonic()
        async with calling(self._url, self._token) as call:
            self.seen.opened_ms.append((time.monotonic() - begun) * 1e3)
            try:
                await self._seated(call, begun)
                async with self._at_the_wire(call) as listener:
                    await Conversation(
                        self._person, self._repertoire, self._steps, call, listener, self.seen
                    ).go_on()
            finally:
                self.seen.take_down(call.events)

    async def _seated(self, call: Call, begun: float) -> None:
        """Until the session is there; a server with a queue tells how long that may take."""
        queued: float | None = None
        seen = 0
        while True:
            patience = PATIENCE_SEC if queued is None else None
            try:
                async with asyncio.timeout(patience):
                    seen = await call.until("session.created", "attune.queue", "error", after=seen)
            except TimeoutError:
                raise CallError("no session came") from None
            except CallError:
                full = any(code(event) == FULL for event in call.of("error"))
                if full or call.socket.close_code == TRY_AGAIN_LATER:
                    raise Refused from None
                raise
            event, now = call.events[seen - 1], call.times[seen - 1]
            if event["type"] == "session.created":
                waited = 0.0 if queued is None else now - queued
                self.seen.connect_ms.append((now - begun - waited) * 1e3)
                self.seen.queued_sec += [] if queued is None else [waited]
                return
            if event["type"] == "attune.queue":
                queued = queued or now
                self.seen.positions.append(int(event.get("position", 0)))

    @asynccontextmanager
    async def _at_the_wire(self, call: Call) -> AsyncGenerator[Listener, None]:
        by_frames = binary(self._person)
        if self._person.slow:
            wire = call.socket.transport.get_extra_info("socket")
            wire.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, SMALL_WINDOW)
        wanted = {"type": "realtime", "max_output_tokens": REPLY_TOKENS}
        await call.send(type="session.update", session={**wanted, "attune": {"binary": by_frames}})
        await call.until("session.updated", "error")
        call.binary = by_frames and bool(call.of("session.updated"))
        piece_sec = BROWSER_PIECE_SEC if call.binary else PIECE_SEC
        async with open_microphone(call.append, piece_sec) as microphone:
            listener = Listener(call, microphone)
            acknowledging = asyncio.create_task(_acknowledge(listener))
            try:
                yield listener
            finally:
                acknowledging.cancel()
                await asyncio.gather(acknowledging, return_exceptions=True)


async def _acknowledge(listener: Listener) -> None:
    """As a page does, until cancelled."""
    while True:
        await asyncio.sleep(ACK_SEC)
        await listener.acknowledge(time.monotonic())


def _loop_time(monotonic: float) -> float:
    return asyncio.get_running_loop().time() + monotonic - time.monotonic()
