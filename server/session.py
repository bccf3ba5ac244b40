"""One conversation, from the first message to the last."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from models.audio import decode_pcm16
from models.perceiver_off import Off
from models.protocols import Models
from models.types import WIRE_RATE
from server.clock import Clock, Task
from server.consent import Consent
from server.errors import ClientError, server_error
from server.floor import Floor
from server.input_buffer import InputBuffer
from server.limits import Ended, Limits, Meter
from server.link import Wake
from server.percepts import Percepts
from server.pressure import Pressed
from server.recording.allowed import Setting
from server.recording.paper import Paper
from server.replies import Replies
from server.room import Link, Room, turn_options
from server.server_events import Event, event
from server.session_config import SessionConfig
from server.sessions.format import Capture, Client, Prompts
from server.timeline import STALL_SEC
from server.transcripts import Transcripts
from server.vitals import Vitals
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

    def __init__(
        self,
        link: Link,
        models: Models,
        clock: Clock,
        config: SessionConfig,
        paper: Paper,
        vitals: Vitals | None = None,
        pressed: Pressed | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.room = Room(link, models, clock, config, paper, vitals, pressed, limits)
        self.buffer = InputBuffer()
        self.transcripts = Transcripts(self.room)
        self.percepts = Percepts(self.room)
        self.replies = Replies(self.room, self.transcripts, self.percepts)
        self.floor = Floor(self.room, self.buffer, self.transcripts, self.percepts, self.replies)
        self.decoder = Decoder(config.audio.input.format)
        self._pending = b""  # received, and less than a block
        self._received_at = clock.time()
        self._received = 0  # samples
        self.settings_weight = 0  # of what an update reads and echoes besides itself
        self.meter: Meter | None = None  # of what this client asks of us; None: it may ask anything
        self.ended: Ended | None = None  # why it has to end, if it has
        self.ticket: Callable[[], str | None] = lambda: None  # to come back with, once

    async def run(self, handle: "Handle") -> None:
        """Live until the client hangs up. `handle` answers the client's events."""
        room = self.room
        for said in self._opening():
            await room.tell(said)
        await self.introduce()
        room.recorder.when_changed(lambda: room.post(self._tell_recording))
        try:
            async with asyncio.TaskGroup() as tasks, aclosing(room.link.messages()) as messages:
                room.open(tasks)
                async for message in messages:
                    if await self._is_over():
                        break
                    await room.take_notes()
                    await self._pass_silence()
                    match message:
                        case str() | bytes():
                            await handle(self, message)
                        case Wake.LEFT:
                            log.info("session %s waits for its client", room.config.id)
                            self.replies.fall_silent()
                        case Wake.BACK:
                            log.info("session %s goes on", room.config.id)
                            self.replies.go_on()
                        case Wake():
                            pass
                    await room.take_notes()
                room.close()
        finally:
            self._count_in()
            self.replies.break_off()

    async def _is_over(self) -> bool:
        if self.meter is None:
            return False
        self.ended = self.meter.over(self.room.clock.time())
        if self.ended:
            problem = server_error(self.ended.message, self.ended.code)
            await self.room.tell(event("error", error=problem))
        return self.ended is not None

    async def introduce(self) -> None:
        """Tell the client how it can ask for, or delete, what is kept of this conversation."""
        await self.room.tell(self._introduction())

    def _introduction(self) -> Event:
        recorder = self.room.recorder
        who = {"id": recorder.session_id, "secret": recorder.secret}
        token = self.ticket() if self.room.config.attune.events else None
        return event("attune.session", **who, **({"resume_token": token} if token else {}))

    def welcome_back(self) -> list[Event]:
        """What a client that was lost is told first when it comes back."""
        told = [*self._opening(), self._introduction()]
        where = {"session_id": self.room.recorder.session_id, "input_samples": self._received}
        told.append(event("attune.resumed", **where))
        for said in told:
            self.room.recorder.told(said)
        return told

    def _opening(self) -> list[Event]:
        room = self.room
        conversation = {"id": room.conversation.id, "object": "realtime.conversation"}
        return [
            event("session.created", session=room.config.payload()),
            event("conversation.created", conversation=conversation),
        ]

    async def wind_up(self, seconds: float) -> Task | None:
        """The server is being stopped: returns what is still being said, if anything is."""
        await self.room.tell(event("attune.closing", reason="server_stopping", within_sec=seconds))
        return self.replies.wind_up()

    async def receive(self, pcm: bytes) -> None:
        """Audio from the client, PCM16 at WIRE_RATE."""
        self.buffer.check_room(len(pcm))
        self._received += len(pcm) // 2
        pcm = self._pending + pcm if self._pending else pcm
        whole = len(pcm) // BLOCK_BYTES
        self._pending = pcm[whole * BLOCK_BYTES :]
        for count in range(whole):
            block = pcm[count * BLOCK_BYTES : (count + 1) * BLOCK_BYTES]
            await self._hear(block, self._arrived(block))
            if count % YIELD_BLOCKS == YIELD_BLOCKS - 1:
                await asyncio.sleep(0)
        self._received_at = self.room.clock.time()

    def _arrived(self, pcm: bytes, at: float | None = None) -> int:
        """Count sound in; returns how many samples of it repaid a gap."""
        room = self.room
        now = room.clock.time() if at is None else at
        repaid = room.timeline.arrived(len(pcm) // 2, now)
        room.recorder.heard(pcm, repaid, now)
        return repaid

    def _count_in(self, at: float | None = None) -> tuple[bytes, int]:
        """Count in what is less than a block: what follows happened after it."""
        rest, self._pending = self._pending, b""
        return rest, self._arrived(rest, at) if rest else 0

    async def catch_up(self, at: float | None = None) -> None:
        """Hear all that was received, to the last sample."""
        rest, repaid = self._count_in(at)
        if rest:
            await self._hear(rest, repaid)

    async def _pass_silence(self) -> None:
        """If no audio has come for a while, the clock goes on."""
        timeline, now = self.room.timeline, self.room.clock.time()
        if now - self._received_at < STALL_SEC:
            return
        await self.catch_up(self._received_at)  # it came before the silence
        missing = timeline.silence(now)
        if not missing:
            return
        log.debug("no audio: %d samples of silence counted in", missing)
        self.room.recorder.passed(missing)
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
        ear = room.ear
        joined = ear.joined if room.clock.goes_on else None  # alone, a replay hears the same
        for clean in ear.frames(decode_pcm16(pcm), repaid):
            voice = await joined.soon(clean.frame) if joined else None
            await self.floor.on_frame(ear.turns.hear(clean.frame, clean.kept, voice))
            await self._let_others()
        if self.floor.utterance is None:
            self.buffer.forget_before(room.position - KEEP_SEC * WIRE_RATE)

    async def _let_others(self) -> None:
        """On the samples clock, time stands still until the models are done."""
        if not self.room.clock.goes_on:
            await self.room.clock.settle()
        await self.room.take_notes()

    async def reconfigure(self, config: SessionConfig) -> None:
        if not config.attune.listens and self.room.recorder.listens_for_children:
            raise ClientError(
                "recording_needs_perception",
                "Perception stays on while you are being recorded: stop the recording first.",
                f"session.attune.{'cue' if config.attune.perception else 'perception'}",
            )
        old, self.room.config = self.room.config, config
        if config.audio.input.format != old.audio.input.format:
            self.decoder = Decoder(config.audio.input.format)
        if config.audio.input.turn_detection != old.audio.input.turn_detection:
            if config.audio.input.turn_detection is None:
                await self.floor.forget()
            self.room.ear.turns.options = turn_options(config)
        self.room.recorder.set(self._setting())

    async def consent(self, consent: Consent, name: str | None) -> None:
        """The person says what may be kept: from this sample on."""
        if not self.room.recorder.takes(consent):
            raise ClientError(
                "too_many_consents",
                "Consent has been changed too often in this session; it can only be withdrawn.",
            )
        await self.catch_up()
        room = self.room
        if consent.personal and room.recorder.spares_children and not self._perceives:
            await self._tell_recording("perception_off")  # a child would not be noticed
            return
        gone = room.recorder.allow(consent, self._setting(), name, room.clock.time())
        if gone is None:
            await self._tell_recording()
            return

        async def tell() -> None:  # once it is true, however long the disk takes
            with room.clock.resting():
                await asyncio.wait([gone])
            room.post(self._tell_recording)

        room.spawn(tell())

    @property
    def _perceives(self) -> bool:
        listens = self.room.config.attune.listens
        return listens and not isinstance(self.room.models.perceiver, Off)

    async def _tell_recording(self, refused: str | None = None) -> None:
        recorder = self.room.recorder
        consent = recorder.consent or Consent()
        reason: str | None = recorder.stopped or refused
        if not recorder.possible:
            reason = "deleted" if recorder.deleted else "off"
        await self.room.tell(
            event(
                "attune.recording",
                session_id=recorder.session_id,
                recording=recorder.recording and consent.personal,
                scopes=consent.scopes,
                reason=reason,
            )
        )

    def _setting(self) -> Setting:
        config = self.room.config
        client = Client(
            user_agent=self.room.recorder.user_agent,
            model=config.model,
            binary=config.attune.binary,
            input_format=config.audio.input.format.type,
            output_format=config.audio.output.format.type,
            capture=config.attune.capture or Capture(),
        )
        strength = getattr(self.room.models.thinker, "strength", None)
        prompts = Prompts(
            instructions=config.instructions, strength=str(strength) if strength else None
        )
        return Setting(client, prompts, config.attune.replay_of)

    async def clear_input(self) -> None:
        await self.catch_up()
        self.buffer.clear()
        await self.floor.forget()


Handle = Callable[[Session, str | bytes], Awaitable[None]]
