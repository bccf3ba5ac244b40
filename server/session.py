"""One conversation, from the first message to the last."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from models.audio import decode_pcm16
from models.protocols import Models
from models.types import WIRE_RATE
from server.clock import Clock
from server.floor import Floor
from server.input_buffer import InputBuffer
from server.link import Wake
from server.percepts import Percepts
from server.replies import Replies
from server.room import Link, Room, turn_options
from server.server_events import event
from server.session_config import SessionConfig
from server.transcripts import Transcripts
from server.wire_audio import Decoder

log = logging.getLogger(__name__)

BLOCK = WIRE_RATE * 32 // 1000  # samples the clock moves by at once: one frame of the ear
BLOCK_BYTES = BLOCK * 2
YIELD_BLOCKS = 16  # after so many in a row, others get their turn
KEEP_SEC = 3  # of input kept while nobody speaks: more than any pre-roll


class Session:
    """The story of one conversation: sound and messages in, one after the other.

    The floor finds out whose turn it is, the replies answer, and the room is what they share.
    """

    def __init__(self, link: Link, models: Models, clock: Clock, config: SessionConfig) -> None:
        self.room = Room(link, models, clock, config)
        self.buffer = InputBuffer()
        self.transcripts = Transcripts(self.room)
        self.percepts = Percepts(self.room)
        self.replies = Replies(self.room, self.transcripts, self.percepts)
        self.floor = Floor(self.room, self.buffer, self.transcripts, self.percepts, self.replies)
        self.decoder = Decoder(config.audio.input.format)
        self._pending = bytearray()  # received, and less than a block

    async def run(self, handle: "Handle") -> None:
        """Live until the client hangs up. `handle` answers the client's events."""
        room = self.room
        await room.tell(event("session.created", session=room.config.payload()))
        conversation = {"id": room.conversation.id, "object": "realtime.conversation"}
        await room.tell(event("conversation.created", conversation=conversation))
        async with asyncio.TaskGroup() as tasks, aclosing(room.link.messages()) as messages:
            room.open(tasks)
            async for message in messages:
                await room.take_notes()
                match message:
                    case str() | bytes():
                        await handle(self, message)
                    case Wake.TICK:
                        await self._pass_silence()
                    case Wake.NOTE:
                        pass
                await room.take_notes()
            room.close()

    async def receive(self, pcm: bytes) -> None:
        """Audio from the client, PCM16 at WIRE_RATE."""
        self.buffer.check_room(len(pcm))
        self._pending += pcm
        for count in range(len(self._pending) // BLOCK_BYTES):
            block = bytes(self._pending[:BLOCK_BYTES])
            del self._pending[:BLOCK_BYTES]
            repaid = self.room.timeline.arrived(BLOCK, self.room.clock.time())
            await self._hear(block, repaid)
            if count % YIELD_BLOCKS == YIELD_BLOCKS - 1:
                await asyncio.sleep(0)

    async def _pass_silence(self) -> None:
        """No audio came for a while, and the clock goes on."""
        missing = self.room.timeline.silence(self.room.clock.time())
        if not missing:
            return
        log.debug("no audio: %d samples of silence counted in", missing)
        if self.room.detection is None:  # what the client will commit holds only what it sent
            self.room.ear.skip(missing)
            return
        if not (self.floor.utterance or self.replies.speech):
            self.room.ear.skip(missing)  # nothing can come of silence now: spare the ear
            self.buffer.clear()
            await self.floor.idle()
            return
        while missing > 0:
            await self._hear(bytes(2 * min(BLOCK, missing)), 0)
            missing -= BLOCK

    async def _hear(self, pcm: bytes, repaid: int) -> None:
        room = self.room
        room.clock.advance(room.position / WIRE_RATE)
        self.buffer.append(pcm, room.position)
        if room.detection is None:
            room.ear.skip(len(pcm) // 2 - repaid)
            await self._let_others()
            return
        room.ear.turns.alert = self.replies.audible is not None
        for happened in room.ear.hear(decode_pcm16(pcm), repaid):
            await self.floor.on_frame(happened)
            await self._let_others()
        if self.floor.utterance is None:
            self.buffer.forget_before(room.position - KEEP_SEC * WIRE_RATE)

    async def _let_others(self) -> None:
        """On the samples clock, time stands still until the models are done."""
        await self.room.clock.settle()
        await self.room.take_notes()

    async def reconfigure(self, config: SessionConfig) -> None:
        old, self.room.config = self.room.config, config
        if config.audio.input.format != old.audio.input.format:
            self.decoder = Decoder(config.audio.input.format)
        if config.audio.input.turn_detection != old.audio.input.turn_detection:
            if config.audio.input.turn_detection is None:
                await self.floor.forget()
            self.room.ear.turns.options = turn_options(config)

    async def clear_input(self) -> None:
        self._pending.clear()
        self.buffer.clear()
        await self.floor.forget()


Handle = Callable[[Session, str | bytes], Awaitable[None]]
