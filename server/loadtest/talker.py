"""One talker: arrives, waits for a seat, talks by a script at the pace of life, and comes back."""

import asyncio
import socket as sockets
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from models.types import WIRE_RATE
from server.bench.barge import ACK_SEC, AFTERWARDS_SEC, BROWSER_PIECE_SEC
from server.bench.listener import Listener
from server.bench.microphone import open_microphone
from server.client import PIECE_SEC, Call, CallError, Unanswered, calling
from server.loadtest.ids import Ids
from server.loadtest.marks import mark, sentences
from server.loadtest.script import Person, Step, arrival, binary, steps
from server.loadtest.speech import Repertoire
from server.loadtest.turn import Said, TurnSeen, seen

PATIENCE_SEC = 20.0  # for a seat that is not queued for, for a session, for a reply
RETRY_SEC = 2.0  # from a refusal or a loss to the next attempt
REPLY_TOKENS = 64  # people do not listen for ever
SMALL_WINDOW = 8192  # bytes a slow reader's socket takes in unread
NOTHING = np.empty(0, np.float32)
FORGOTTEN = {"type": "forgotten"}
FULL, TRY_AGAIN_LATER = "session_limit_reached", 1013


class Refused(Exception):
    """All seats are taken, and the server has no queue."""


@dataclass(slots=True)
class Seen:
    """What one talker saw of the server."""

    number: int
    slow: bool
    opened_ms: list[float] = field(default_factory=list)  # to an open socket
    connect_ms: list[float] = field(default_factory=list)  # to a session, the queue not counted
    queued_sec: list[float] = field(default_factory=list)  # of those who had to wait
    positions: list[int] = field(default_factory=list)  # told while waiting
    turns: list[TurnSeen] = field(default_factory=list)
    cut: int = 0  # turns under way when time was up, or when the connection broke
    refused: int = 0
    lost: int = 0  # connections that broke
    stalls: int = 0
    errors: list[str] = field(default_factory=list)  # codes
    ids: Ids = field(default_factory=Ids)

    def take_down(self, events: Sequence[dict[str, Any]]) -> None:
        """What of these counts beyond the turn they belong to."""
        for event in events:
            self.ids.note(event)
            if event["type"] == "error":
                self.errors.append(_code(event))


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
                        code = f"http_{error.status}" if error.status else "cannot_connect"
                        self.seen.errors.append(code)
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
                full = any(_code(event) == FULL for event in call.of("error"))
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


class Conversation:
    """The turns of one connection."""

    def __init__(
        self,
        person: Person,
        repertoire: Repertoire,
        script: Iterator[Step],
        call: Call,
        listener: Listener,
        seen: Seen,
    ) -> None:
        self._person = person
        self._repertoire = repertoire
        self._script = script
        self._call = call
        self._listener = listener
        self._seen = seen
        self._stall: asyncio.Task[None] | None = None
        self._forgotten = 0, 0  # pieces and events

    async def go_on(self) -> None:
        """Until cancelled, or the connection breaks."""
        said: Said | None = None
        try:
            step = next(self._script)
            await asyncio.sleep(step.pause_sec)
            said = await self._say(step)
            while True:
                await self._listen(said, step)
                over, step = step, next(self._script)
                taking = over.over == "barge_in" and self._sounding()
                said.over = "barge_in" if taking else said.over
                if not taking:
                    await self._hear_out(said)
                    await asyncio.sleep(step.pause_sec)
                self._seen.turns.append(seen(said, self._call, self._listener))
                said = None
                self._forget()
                said = await self._say(step, taking=taking)
        finally:
            self._seen.cut += said is not None
            if self._stall:
                self._stall.cancel()

    async def _say(self, step: Step, taking: bool = False) -> Said:
        """Begin a turn; over the reply that sounds, if it takes the word."""
        call = self._call
        self._listener.catch_up()
        events, pieces = len(call.events), len(call.pieces)
        before = frozenset(self._listener.players)
        if step.saying == "written":
            said = await self._write(step, events, pieces, before)
            self._stop_reading_if(step, said)
            return said
        spoken = self._repertoire.pick(step.saying, step.place)
        begins = self._listener.microphone.say(spoken.samples)
        said = Said(
            step.saying,
            spoken.name,
            begins + spoken.start / WIRE_RATE,
            begins + spoken.end / WIRE_RATE,
            events,
            pieces,
            before,
            interrupted=(spoken, self._listener.player) if taking else None,
        )
        said.stalled = not call.reading.is_set()
        await asyncio.sleep(max(0.0, said.end - time.monotonic()))
        self._stop_reading_if(step, said)
        return said

    async def _write(self, step: Step, events: int, pieces: int, before: frozenset[str]) -> Said:
        texts = sentences(mark(self._person.number))
        text = texts[step.place % len(texts)]
        content = [{"type": "input_text", "text": text}]
        item = {"type": "message", "role": "user", "content": content}
        await self._call.send(type="conversation.item.create", item=item)
        await self._call.send(type="response.create")
        now = time.monotonic()
        return Said(step.saying, text, now, now, events, pieces, before)

    def _stop_reading_if(self, step: Step, said: Said) -> None:
        if step.stall_sec and self._call.reading.is_set():
            said.stalled = True
            self._stall = asyncio.create_task(self._stop_reading(step.stall_sec))

    async def _stop_reading(self, seconds: float) -> None:
        self._seen.stalls += 1
        self._call.reading.clear()
        try:
            await asyncio.sleep(seconds)
        finally:
            self._call.reading.set()

    async def _listen(self, said: Said, step: Step) -> None:
        """Wait for the reply, and do over it what the script says."""
        call = self._call
        begun = await self._until(lambda: self._first_sound(said))
        said.stalled |= not call.reading.is_set()
        if begun is None or step.over is None:
            return
        await asyncio.sleep(max(0.0, begun + step.into_sec - time.monotonic()))
        if step.over == "backchannel" and self._sounding():
            hum = self._repertoire.pick("backchannel", step.place)
            said.over, said.aside_events = "backchannel", len(call.events)
            begins = self._listener.microphone.say(hum.samples)
            said.aside = hum, begins + hum.start / WIRE_RATE
            await asyncio.sleep(len(hum.samples) / WIRE_RATE + AFTERWARDS_SEC)

    async def _hear_out(self, said: Said) -> None:
        """Wait for the end of the reply, and until all of it has been played."""
        if self._first_sound(said) is None:
            return
        await self._until(lambda: True if self._all_done(said) else None)
        self._listener.catch_up()
        await asyncio.sleep(max(0.0, self._listener.player.empty_at - time.monotonic()))

    async def _until(self, happened: Callable[[], Any]) -> Any:
        """What it returns once that is not None; None if that takes too long."""
        call, found = self._call, None

        def now() -> bool:
            nonlocal found
            found = happened()
            return found is not None or call.lost

        try:
            async with asyncio.timeout(PATIENCE_SEC), call.news:
                await call.news.wait_for(now)
        except TimeoutError:
            return None
        if found is None:
            raise CallError("the server hung up")
        return found

    def _first_sound(self, said: Said) -> float | None:
        """When the first answer to a turn began to be heard."""
        pieces = self._call.pieces[said.pieces :]
        return next((each.at for each in pieces if each.response not in said.before), None)

    def _all_done(self, said: Said) -> bool:
        """Whether every reply that sounded since has ended, one way or the other."""
        sounded = {piece.response for piece in self._call.pieces[said.pieces :]} - said.before
        since = self._call.events[said.events :]
        done = {e["response"]["id"] for e in since if e["type"] == "response.done"}
        return sounded <= done

    def _forget(self) -> None:
        """Let go of what has been looked at, but for its place: a talk may be long."""
        pieces, events = self._call.pieces, self._call.events
        gone_pieces, gone_events = self._forgotten
        for place in range(gone_pieces, len(pieces)):
            pieces[place] = replace(pieces[place], samples=NOTHING)
        self._seen.take_down(events[gone_events:])
        events[gone_events:] = [FORGOTTEN] * (len(events) - gone_events)
        self._forgotten = len(pieces), len(events)

    def _sounding(self) -> bool:
        self._listener.catch_up()
        return self._listener.player.sounding(time.monotonic())


def _code(event: dict[str, Any]) -> str:
    error = event.get("error", {})
    return str(error.get("code") or error.get("type") or "error")


async def _acknowledge(listener: Listener) -> None:
    """As a page does, until cancelled."""
    while True:
        await asyncio.sleep(ACK_SEC)
        await listener.acknowledge(time.monotonic())


def _loop_time(monotonic: float) -> float:
    return asyncio.get_running_loop().time() + monotonic - time.monotonic()
