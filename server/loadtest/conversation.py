"""The turns of one connection: said by the script, listened to, and looked back on."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from models.types import WIRE_RATE
from server.bench.barge import AFTERWARDS_SEC
from server.bench.listener import Listener
from server.client import Call, CallError
from server.loadtest.marks import mark, sentences
from server.loadtest.script import Person, Step
from server.loadtest.seen import Seen
from server.loadtest.speech import Repertoire
from server.loadtest.turn import Said, seen

PATIENCE_SEC = 20.0  # for a reply to begin
REPLY_SEC = 60.0  # and for it to end
NOTHING = np.empty(0, np.float32)
FORGOTTEN = {"type": "forgotten"}


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
            return await self._write(step, events, pieces, before)
        spoken = self._repertoire.pick(step.saying, step.place)
        begins = self._listener.microphone.say(spoken.samples)
        return Said(
            step.saying,
            spoken.name,
            begins + spoken.start / WIRE_RATE,
            begins + spoken.end / WIRE_RATE,
            events,
            pieces,
            before,
            interrupted=(spoken, self._listener.player) if taking else None,
            stalled=not call.reading.is_set(),
        )

    async def _write(self, step: Step, events: int, pieces: int, before: frozenset[str]) -> Said:
        texts = sentences(mark(self._person.number))
        text = texts[step.place % len(texts)]
        content = [{"type": "input_text", "text": text}]
        item = {"type": "message", "role": "user", "content": content}
        await self._call.send(type="conversation.item.create", item=item)
        await self._call.send(type="response.create")
        now = time.monotonic()
        return Said(step.saying, text, now, now, events, pieces, before)

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
        await asyncio.sleep(max(0.0, said.end - time.monotonic()))
        if step.stall_sec and call.reading.is_set():
            said.stalled = True
            self._stall = asyncio.create_task(self._stop_reading(step.stall_sec))
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
        await self._until(lambda: True if self._all_done(said) else None, REPLY_SEC)
        self._listener.catch_up()
        await asyncio.sleep(max(0.0, self._listener.player.empty_at - time.monotonic()))

    async def _until(self, happened: Callable[[], Any], patience: float = PATIENCE_SEC) -> Any:
        """What it returns once that is not None; None if that takes too long."""
        call, found = self._call, None

        def now() -> bool:
            nonlocal found
            found = happened()
            return found is not None or call.lost

        try:
            async with asyncio.timeout(patience), call.news:
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
