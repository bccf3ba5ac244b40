"""The replies of one conversation: forming, being given, cut short."""

import asyncio
import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from struct import pack

from models.due import later, needed
from models.errors import BackendError, OutOfOrder
from models.guarded import hears
from models.types import WIRE_RATE, Samples, Turn
from server.clock import Task
from server.errors import server_error
from server.percepts import Percepts
from server.playout import Playout
from server.private_log import where
from server.reply import Dialogue, Reply, ReplyOptions
from server.room import Room
from server.server_events import Event, event
from server.session_config import AudioFormat, VoiceId
from server.trace import Trace
from server.transcripts import Transcripts
from server.wire_audio import Encoder

log = logging.getLogger(__name__)

LEAD_SEC, BINARY_LEAD_SEC = 0.2, 0.1  # how far ahead of the loudspeaker we send


@dataclass(slots=True)
class Running:
    """A reply and the task that gives it."""

    reply: Reply
    task: Task


class Replies:
    def __init__(self, room: Room, transcripts: Transcripts, percepts: Percepts) -> None:
        self.thought: Running | None = None  # forming, unheard
        self.speech: Running | None = None  # the conversation's reply being given
        self.asides: dict[str, Running] = {}  # out-of-band responses
        self.has_spoken = False
        self.silent_since: int | None = None  # session position at which the last reply ended
        self.unanswered = False  # a turn ended while a reply that may not be interrupted went on
        self.away = False  # nobody is there to hear anything
        self._room = room
        self._transcripts = transcripts
        self._percepts = percepts
        self._reading: Task | None = None
        self._count = 0

    @property
    def active(self) -> bool:
        """Whether the conversation has a response that is not done."""
        speech = self.speech
        return speech is not None and not speech.task.done() and not speech.reply.ended

    @property
    def audible(self) -> Reply | None:
        """The reply the client hears now."""
        return self.speech.reply if self.speech and self.speech.reply.audible else None

    def options(self) -> ReplyOptions:
        """How the session's settings would have a reply."""
        config = self._room.config
        limit, output = config.max_output_tokens, config.audio.output
        return ReplyOptions(
            instructions=config.instructions,
            speaks=config.speaks,
            max_tokens=None if limit == "inf" else limit,
            speed=output.speed,
            audio_format=output.format,
            numbered=config.attune.binary,
            voice={"id": output.voice.id} if isinstance(output.voice, VoiceId) else output.voice,
        )

    def so_far(self, *more: Turn) -> Dialogue:
        """The conversation as it stands once everything said has been understood."""

        async def dialogue() -> list[Turn]:
            await self._transcripts.understood()
            why = self._room.conversation.unheard
            if why is not None and not hears(self._room.models.responder):
                raise BackendError("transcriber", why)
            await self._percepts.catch_up()
            return [*self._room.conversation.turns(with_audio=True), *more]

        return dialogue

    def read_ahead(self, text: str) -> None:
        """Have the reply model read what has been said so far.

        A model that keeps what it has read has little left to read when the turn is over. Its
        first word is asked for and thrown away: reading is all there is to gain.
        """
        turns = self._room.conversation.turns()
        if text:
            turns.append(Turn("user", text))
        if turns and (self._reading is None or self._reading.done()):
            self._reading = self._room.spawn(self._read(turns))

    async def _read(self, turns: list[Turn]) -> None:
        models = self._room.models
        if not (prompt := models.thinker.prompt(self._room.config.instructions, turns)):
            return
        try:
            with needed(later):
                async with aclosing(models.responder.respond(prompt, 1)) as tokens:
                    async for _ in tokens:
                        pass
        except OutOfOrder:
            pass
        except BackendError as error:  # the reply itself will tell, if it fails as well
            log.warning("reading ahead failed: %s", where(error))

    def think(self, dialogue: Dialogue, trace: Trace) -> None:
        """Begin to form a reply, unheard, while the turn may not even be over."""
        self.drop_thought()
        if self._reading:
            self._reading.cancel()
        self.thought = self._start(self.options(), dialogue, trace)

    def drop_thought(self) -> None:
        if self.thought:
            self.thought.task.cancel()
            self.thought = None

    def speak_thought(self, heard_sec: float) -> None:
        """The turn is over: what was thought may be heard."""
        assert self.thought is not None, "nothing was thought"
        thought, self.thought = self.thought, None
        if thought.task.done():  # there was nothing to answer
            self.silent_since = self._room.position
            return
        self.speech = thought
        self.speech.reply.hears(heard_sec)
        self._open(self.speech)

    async def answer(self, options: ReplyOptions, dialogue: Dialogue) -> None:
        """Give a reply now."""
        self.drop_thought()
        running = self._start(options, dialogue, Trace())
        if options.in_conversation:
            self.speech = running
        else:
            self.asides[running.reply.id] = running
        await running.reply.announce()
        self._open(running)

    def _open(self, running: Running) -> None:
        if running.reply.options.in_conversation:
            self.silent_since = None
            self.unanswered = False
        running.reply.trace.mark("gate")
        running.reply.gate.open()

    def _start(self, options: ReplyOptions, dialogue: Dialogue, trace: Trace) -> Running:
        room, config = self._room, self._room.config
        self._count += 1
        playout = Playout(
            room.clock,
            self._sender(lambda: reply, options.audio_format),
            BINARY_LEAD_SEC if config.attune.binary else LEAD_SEC,
            keeps_buffer=config.attune.events,
            ran_dry=room.vitals.ran_dry,
            not_before=self.speech.reply.playout.ends_at if self.speech else 0.0,
        )
        if self.away:
            playout.hold("away")
        reply = Reply(
            options,
            room.models,
            room.clock,
            room.tell,
            playout,
            room.conversation,
            self._count,
            trace,
        )
        return Running(reply, room.spawn(self._give(reply, dialogue)))

    async def _give(self, reply: Reply, dialogue: Dialogue) -> None:
        outcome = "completed"
        try:
            if not await reply.run(dialogue):
                outcome = "nothing to answer"
        except BackendError as error:
            outcome = "failed"
            log.error("reply failed: %s", where(error))
            await reply.gate.wait()
            self._room.vitals.failed(error.role)
            await reply.announce()
            await reply.apologise(error)
            await reply.tell_end("failed", error=str(error))
            await self._room.tell(event("error", error=server_error(str(error), "model_error")))
            await reply.playout.finish()
        self._room.vitals.over(reply.trace.moments, outcome)
        self._room.post(partial(self._over, reply))

    async def _over(self, reply: Reply) -> None:
        self.asides.pop(reply.id, None)
        self._room.recorder.replies.spoken(reply.id)
        if not self.speech or self.speech.reply is not reply:
            return
        self.speech = None
        self.silent_since = self._room.position
        await self._answer_what_waits()

    async def _answer_what_waits(self) -> None:
        """A turn that ended during a reply is answered after it, if it had words."""
        turns = self._room.conversation.turns()
        if self.unanswered and turns and turns[-1].role == "user":
            await self.answer(self.options(), self.so_far())
        self.unanswered = False

    async def hold(self) -> None:
        """Someone may be taking the word: fall silent first, then find out."""
        assert self.speech is not None, "nothing to hold"
        reply = self.speech.reply
        reply.playout.hold()
        if not reply.audible:
            return
        self._room.vitals.holds += 1
        if self._room.config.attune.events:  # others play out what they have
            self._silenced_now()
            self._room.recorder.replies.held(reply.id, reply.playout.heard)
        await self._room.tell(_held("attune.hold", reply))

    async def resume(self) -> None:
        """It was nothing: go on from the held sample."""
        if not self.speech or not self.speech.reply.playout.held():
            return
        reply = self.speech.reply
        if not reply.audible:
            reply.playout.resume()
            return
        if self._room.config.attune.events and not self.away:
            self._sounds_again(reply)
        reply.playout.resume()
        await self._room.tell(_held("attune.resume", reply))

    def fall_silent(self) -> None:
        """Nobody is there any more: what they have not heard waits until they are back."""
        self.away = True
        for running in self._running:
            running.reply.playout.hold("away")
        if reply := self.audible:
            self._silenced_now()
            self._room.recorder.replies.held(reply.id, reply.playout.heard)

    def go_on(self) -> None:
        """They are back, and have been sent again what they may have missed."""
        self.away = False
        if self.silent_since is not None:  # nobody could say anything since
            self.silent_since = self._room.position
        if (reply := self.audible) and not reply.playout.held():
            self._sounds_again(reply)
        for running in self._running:
            running.reply.playout.resume("away")

    def wind_up(self) -> Task | None:
        """Say no more than the sentence being said; returns what says it, if anything does."""
        self.drop_thought()
        if self.away or not (reply := self.audible):
            return None
        reply.finish_sentence()
        return self.speech.task if self.speech else None

    @property
    def _running(self) -> list[Running]:
        return [each for each in (self.thought, self.speech, *self.asides.values()) if each]

    def _sounds_again(self, reply: Reply) -> None:
        """The client goes on with what it kept."""
        now = self._room.position_at(self._room.clock.time())
        self._room.ear.sounds(reply.playout.waiting, now)
        self._room.recorder.replies.resumed(reply.id, now)

    async def interrupt(self, reason: str) -> None:
        """Stop the conversation's reply: thinking, speaking and queued sound, all at once."""
        if self.speech:
            running, self.speech = self.speech, None
            await self.stop(running, reason)
            if reason == "client_cancelled":
                await self._answer_what_waits()

    async def stop(self, running: Running, reason: str) -> None:
        """Cancel a reply; the conversation keeps what was heard of it."""
        reply = running.reply
        heard = reply.playout.heard
        cut = heard < reply.playout.sent or not reply.ended
        if running.task.cancel():  # else it was over just now, and counted
            self._room.vitals.over(reply.trace.moments, "cut short")
        await asyncio.wait([running.task])
        await reply.tell_end("cancelled", reason)
        if not reply.playout.sent or not cut or not reply.options.in_conversation:
            self._room.recorder.replies.spoken(reply.id)
            return
        self._room.recorder.replies.cut_off(reply.id, heard, reply.playout.words_until(heard))
        self._room.vitals.interruptions += reason == "turn_detected"
        reply.item.cut(heard)
        self._silenced_now()
        await self._room.tell(
            event(
                "conversation.item.truncated",
                item_id=reply.item.id,
                content_index=0,
                audio_end_ms=heard * 1000 // WIRE_RATE,
            )
        )

    def break_off(self) -> None:
        """The conversation is over in the middle of whatever was being said."""
        if self.speech:
            reply = self.speech.reply
            heard = reply.playout.heard
            words = reply.playout.words_until(heard)
            self._room.recorder.replies.cut_off(reply.id, heard, words)
            if self.speech.task.cancelled():  # else it was over before, and counted
                self._room.vitals.over(reply.trace.moments, "broken off")

    def _silenced_now(self) -> None:
        self._room.ear.silenced(self._room.position_at(self._room.clock.time()))

    def _sender(
        self, reply: Callable[[], Reply], audio_format: AudioFormat
    ) -> Callable[[Samples, bytes, int], Awaitable[None]]:
        """How a piece of a reply reaches the client."""
        encoder = Encoder(audio_format)
        room = self._room
        told_stages: set[str] = set()

        async def send(piece: Samples, pcm: bytes, offset: int) -> None:
            giving = reply()
            self.has_spoken = True
            giving.trace.mark("opened")
            # A planned pause before the first word is not an answer yet.
            if "first_sent" not in giving.trace.moments and piece.any():
                giving.trace.mark("first_sent")
            at = room.position_at(giving.playout.sounds_at(offset))
            if room.detection is not None:  # else the ear's time stands still, and nobody listens
                room.ear.sounds(piece, at)
            if giving.options.in_conversation:
                where = giving.id, giving.item.id, offset
                room.recorder.replies.sent(*where, pcm, at, giving.playout.origin)
            if room.config.attune.binary:
                header = pack("<II", giving.sequence, offset)
                await room.link.play(header + pcm)
            else:
                told = pcm if audio_format.type == "audio/pcm" else encoder(piece)
                delta = b64encode(told).decode()
                await giving.tell_part("output_audio.delta", delta=delta)
            # The opening sounds before the model's first token: what came later is told later.
            if new := giving.trace.moments.keys() - told_stages:
                stages = giving.trace.stages_ms()
                if offset == 0:
                    room.vitals.replied(stages, giving.trace.overhead_ms())
                else:
                    room.vitals.reached(stages, new)
                told_stages.update(new)
                await room.tell(_timing(giving))

        return send


def _held(kind: str, reply: Reply) -> Event:
    where = {"response_id": reply.id, "item_id": reply.item.id}
    return event(kind, **where, sample=reply.playout.sent)


def _timing(reply: Reply) -> Event:
    return event(
        "attune.timing",
        response_id=reply.id,
        stages_ms=reply.trace.stages_ms(),
        overhead_ms=reply.trace.overhead_ms(),
    )
