"""Whose turn it is: from the user's first sound to the moment the reply may be heard."""

import asyncio
import logging
import time
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from models.due import later, needed
from models.errors import BackendError
from models.guarded import hears
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Samples, Turn
from server import ids
from server.clock import Task
from server.endings import ending
from server.input_buffer import InputBuffer
from server.interruption import Doubt, Verdict
from server.percepts import Impression, Percepts
from server.pressure import Level
from server.private_log import where
from server.replies import Replies
from server.room import Room
from server.server_events import event, transcription_delta
from server.session_config import SemanticVad, ServerVad
from server.trace import Trace
from server.transcripts import Text, Transcripts
from server.turns import (
    ASK_MS,
    PAUSE_MS,
    SilenceGrew,
    SpeechEnded,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TurnEvent,
)
from server.words import Words

log = logging.getLogger(__name__)

PARTIAL_SEC = 0.5  # how often the words are looked at while someone speaks
STILL_THERE = "The user has been silent for a while. Ask in one short sentence if they are there."


@dataclass(slots=True)
class Utterance:
    """Something the user is saying, or was until just now."""

    start: int  # ear sample
    words: Words
    impression: Impression
    item_id: str
    trace: Trace = field(default_factory=Trace)
    doubt: Doubt | None = None  # it sounds over our reply, and may be no interruption
    final: Text | None = None  # the words up to the present pause
    unheard: str | None = None  # why nobody will know them, where the model failed
    sound: AudioChunk | None = None  # and what they were heard in
    finished: float | None = None  # the judge's word on the present pause
    listening: Task | None = None
    judging: Task | None = None
    listened: int = 0  # ear sample up to which it has been transcribed
    ended: SpeechEnded | None = None


class Floor:
    """Turns the ear's events into turns of the conversation."""

    def __init__(
        self,
        room: Room,
        buffer: InputBuffer,
        transcripts: Transcripts,
        percepts: Percepts,
        replies: Replies,
    ) -> None:
        self.utterance: Utterance | None = None
        self._room = room
        self._buffer = buffer
        self._transcripts = transcripts
        self._percepts = percepts
        self._replies = replies

    async def on_frame(self, happened: TurnEvent | None) -> None:
        """One frame of the ear, and what happened in it."""
        match happened:
            case None:  # nearly always: so it is asked first
                self._listen_along()
            case SpeechStarted(at):
                await self._started(at)
            case SpeechPaused():
                self._paused()
            case SpeechResumed():
                self._resumed()
            case SilenceGrew():
                self._judge()
            case SpeechEnded():
                await self._ended(happened)
        if self.utterance and self.utterance.doubt:
            await self._end_doubt()
        if self._replies.silent_since is not None:
            await self.idle()

    async def forget(self) -> None:
        """Whatever the user was saying, it is not a turn; a reply that waited for it goes on."""
        if self.utterance:
            self._stop_listening(self.utterance)
        self.utterance = None
        self._room.ear.turns.reset()
        self._replies.drop_thought()
        await self._replies.resume()

    # -- speaking and pausing

    async def _started(self, at: int) -> None:
        if self.utterance:  # over, but nobody knew yet whether it was anything
            self._stop_listening(self.utterance)
        item_id = ids.new("item")
        utterance = Utterance(
            at,
            Words(self._room.models.transcriber),
            self._percepts.attend(item_id, at),
            item_id,
            listened=at,
        )
        self.utterance = utterance
        self._room.recorder.began(item_id, self._room.ear.position(at - self._prefix))
        self._replies.silent_since = None
        if self._interrupts() and (self._replies.active or self._replies.audible):
            utterance.doubt = Doubt(at)
            await self._replies.hold()
        else:
            await self._give_floor(utterance)

    def _paused(self) -> None:
        """The first short silence: find the words, ask if it was the end, begin to think."""
        utterance = self._present()
        utterance.trace = Trace()
        utterance.trace.mark("speech_end", time.monotonic() - PAUSE_MS / 1000)
        utterance.trace.mark("paused")
        utterance.finished = None
        self._listen(utterance, self._room.ear.turns.utterance, final=True)
        if utterance.doubt is None:
            self._think_ahead(utterance)

    def _resumed(self) -> None:
        """It was only a breath: what was thought in it is thrown away, unheard."""
        utterance = self._present()
        if utterance.final and utterance.final.done():
            utterance.words.settle()
        self._stop_listening(utterance)
        self._replies.drop_thought()

    async def _ended(self, ended: SpeechEnded) -> None:
        utterance = self._present()
        utterance.ended = ended
        if utterance.final is None:  # cut off at the longest turn there may be
            self._listen(utterance, ended.utterance, final=True)
        if utterance.doubt is None:
            await self._commit(utterance)

    @property
    def _prefix(self) -> int:
        """Ear samples before its first sound that belong to an utterance."""
        return self._room.ear.turns.options.prefix_ms * EAR_RATE // 1000

    def _present(self) -> Utterance:
        assert self.utterance is not None, "the ear tells of speech that never began"
        return self.utterance

    # -- words

    def _listen_along(self) -> None:
        """Look at the words, and how they sound, now and then while they are spoken."""
        utterance, turns = self.utterance, self._room.ear.turns
        if utterance is None or turns.paused:
            return
        sounds = utterance.doubt is None and utterance.impression.due(turns.heard)
        if utterance.listening:
            words = False
        elif utterance.doubt:
            words = utterance.doubt.due(turns.heard, utterance.listened)
        elif self._room.pressed.level >= Level.PARTIALS:
            words = False
        else:
            words = turns.heard - utterance.listened >= PARTIAL_SEC * EAR_RATE
        if not (words or sounds):
            return
        audio = turns.utterance
        if words:
            self._listen(utterance, audio, final=False)
        if sounds:
            utterance.impression.follow(audio, turns.heard)

    def _listen(self, utterance: Utterance, audio: Samples, *, final: bool) -> None:
        if utterance.listening:
            utterance.listening.cancel()
        utterance.listened = self._room.ear.turns.heard
        found: Text | None = None
        if final:
            found = utterance.final = self._transcripts.expect(utterance.item_id)
            utterance.unheard = None
            utterance.sound = AudioChunk(audio, EAR_RATE)
            utterance.impression.conclude(audio, utterance.listened, found, utterance.trace)

        async def listen() -> None:
            try:
                with needed(time.monotonic if final or utterance.doubt else later):
                    text = await utterance.words.listen(audio)
            except BackendError as error:
                self._transcripts.note_failure(utterance.item_id, error, final=found is not None)
                text = ""
                if found is not None:
                    utterance.unheard = str(error)
            utterance.listening = None
            if found is not None and not found.done():
                utterance.trace.mark("words")
                found.set_result(text)
            self._room.post(partial(self._words_heard, utterance, text, found))

        utterance.listening = self._room.spawn(listen())

    async def _words_heard(self, utterance: Utterance, text: str, final: Text | None) -> None:
        if utterance is not self.utterance or (final and final is not utterance.final):
            return  # of a pause, or an utterance, that is over
        if utterance.doubt:
            await self._weigh(utterance, text, final is not None)
            return
        if self._room.config.audio.input.transcription and (news := utterance.words.news()):
            await self._room.tell(transcription_delta(utterance.item_id, news))
        if final:
            await self._consider_end(utterance)
        elif self._answers():
            self._replies.read_ahead(text)

    def _stop_listening(self, utterance: Utterance) -> None:
        """What is being found out about the present pause no longer matters."""
        for work in (utterance.listening, utterance.judging, utterance.final):
            if work:
                work.cancel()
        utterance.listening = utterance.judging = utterance.final = None
        utterance.impression.drop()
        self._transcripts.forget(utterance.item_id)

    # -- is the turn over?

    def _think_ahead(self, utterance: Utterance) -> None:
        """The turn may be over: ask, and begin to form the reply meanwhile."""
        self._judge()
        if self._answers() and self._room.pressed.level < Level.SPECULATION:
            self._think(utterance)

    def _judge(self) -> None:
        utterance, turns = self.utterance, self._room.ear.turns
        semantic = isinstance(self._room.detection, SemanticVad)
        if utterance is None or utterance.doubt or not semantic:
            return
        if utterance.judging:
            utterance.judging.cancel()
        audio = as_if_silent(turns.utterance, turns.silent_ms)

        async def judge() -> None:
            try:
                finished = await self._room.models.turn_judge.finished(AudioChunk(audio, EAR_RATE))
            except BackendError as error:  # the turn then ends at the eagerness' limit
                log.error("the turn judge failed: %s", where(error))
                return
            utterance.judging = None
            utterance.trace.mark("judged")
            self._room.post(partial(self._judged, utterance, finished))

        utterance.judging = self._room.spawn(judge())

    async def _judged(self, utterance: Utterance, finished: float) -> None:
        if utterance is self.utterance and self._room.ear.turns.paused:
            utterance.finished = finished
            await self._consider_end(utterance)

    async def _consider_end(self, utterance: Utterance) -> None:
        """Voice and words together say whether the turn is over; neither alone will do."""
        if utterance.finished is None or utterance.final is None or not utterance.final.done():
            return
        words = ending(utterance.final.result())
        if ended := self._room.ear.turns.judged(utterance.finished, words):
            await self._ended(ended)

    # -- does the user interrupt?

    def _interrupts(self) -> bool:
        detection = self._room.detection
        return detection is not None and detection.interrupt_response

    async def _weigh(self, utterance: Utterance, text: str, final: bool) -> None:
        """Words came of a sound over our reply: an interruption, or nothing?"""
        assert utterance.doubt is not None, "nothing to weigh"
        speech = self._replies.speech
        ours, voice = speech.reply.text if speech else "", self._room.ear.turns.voice
        verdict = utterance.doubt.weigh(text, ours, voice, final)
        # A reply nobody has heard, or has heard all of, gives way to any word at all.
        all_said = speech is None or speech.reply.ended or not speech.reply.audible
        if verdict is Verdict.REAL or (final and all_said and text):
            await self._take_seriously(utterance)
        elif verdict is Verdict.FALSE:
            await self.forget()

    async def _take_seriously(self, utterance: Utterance) -> None:
        """It was an interruption: from here on a turn like any other, however far it has come."""
        await self._give_floor(utterance)
        if utterance.ended:
            await self._commit(utterance)
        elif self._room.ear.turns.paused and utterance.final:
            self._think_ahead(utterance)

    async def _end_doubt(self) -> None:
        """The reply has waited long enough: give way to a word, or go on and keep an ear open."""
        doubt = self.utterance.doubt if self.utterance else None
        turns = self._room.ear.turns
        verdict = doubt.late(turns.heard, turns.voice) if doubt else None
        if verdict is Verdict.REAL:
            await self._take_seriously(self._present())
        elif doubt and verdict is Verdict.FALSE:
            doubt.holding = False
            await self._replies.resume()

    async def _give_floor(self, utterance: Utterance) -> None:
        utterance.doubt = None
        start = self._room.ear.position(utterance.start)
        await self._room.tell(
            event(
                "input_audio_buffer.speech_started",
                item_id=utterance.item_id,
                audio_start_ms=start * 1000 // WIRE_RATE,
            )
        )
        if self._interrupts():
            await self._replies.interrupt("turn_detected")
        else:
            await self._replies.resume()
        if self._answers():
            self._replies.read_ahead("")

    # -- the turn is over

    def _answers(self) -> bool:
        detection = self._room.detection
        realtime = self._room.config.type == "realtime"
        return realtime and detection is not None and detection.create_response

    def _think(self, utterance: Utterance) -> None:
        final, finding = utterance.final, utterance.impression.finding
        assert final is not None, "nothing to think about"

        async def dialogue() -> list[Turn] | None:
            await asyncio.wait([final])
            text = "" if final.cancelled() else final.result()
            if utterance.unheard is not None and not hears(self._room.models.responder):
                raise BackendError("transcriber", utterance.unheard)
            if not text and utterance.unheard is None:
                return None  # noise: there is nothing to answer
            percept = await self._percepts.in_time(finding) if finding else None
            before = self._room.conversation.turns(without=utterance.item_id, with_audio=True)
            return [*before, Turn("user", text, percept, utterance.sound)]

        self._replies.think(dialogue, utterance.trace)

    async def _commit(self, utterance: Utterance) -> None:
        """Make the utterance an item, and open the gate of the reply to it."""
        room, ended = self._room, utterance.ended
        assert ended is not None and utterance.final is not None, "the turn is not over"
        self.utterance = None
        room.vitals.turns += 1
        await room.tell(
            event(
                "input_audio_buffer.speech_stopped",
                item_id=utterance.item_id,
                audio_end_ms=room.ear.position(ended.end) * 1000 // WIRE_RATE,
            )
        )
        start = room.ear.position(utterance.start - self._prefix)
        audio = self._buffer.take(start, room.position)
        room.recorder.turn(utterance.item_id, start, room.ear.position(ended.end))
        item = await self._transcripts.commit(utterance.item_id, audio, utterance.final)
        if utterance.impression.finding:
            await self._percepts.keep(item, utterance.impression.finding)
        if not self._answers():
            self._replies.drop_thought()
        elif self._replies.active:
            self._replies.drop_thought()
            self._replies.unanswered = True  # it is answered once the reply that goes on is over
        else:
            if self._replies.thought is None:
                self._think(utterance)
            self._replies.speak_thought(len(audio) / 2 / WIRE_RATE)

    async def idle(self) -> None:
        """Nobody has said anything for as long as the client set: ask if they are there."""
        room, since = self._room, self._replies.silent_since
        detection = room.detection
        if since is None or not isinstance(detection, ServerVad) or self.utterance:
            return
        if self._replies.away:  # they are not, and could not answer
            return
        waited_ms = (room.position - since) * 1000 // WIRE_RATE
        if detection.idle_timeout_ms is None or waited_ms < detection.idle_timeout_ms:
            return
        item_id = ids.new("item")
        self._replies.silent_since = None
        await room.tell(
            event(
                "input_audio_buffer.timeout_triggered",
                item_id=item_id,
                audio_start_ms=since * 1000 // WIRE_RATE,
                audio_end_ms=room.position * 1000 // WIRE_RATE,
            )
        )
        nothing = self._transcripts.expect(item_id)
        nothing.set_result("")
        await self._transcripts.commit(item_id, self._buffer.take(since, room.position), nothing)
        dialogue = self._replies.so_far(Turn("system", STILL_THERE))
        await self._replies.answer(self._replies.options(), dialogue)


def as_if_silent(utterance: Samples, silent_ms: int) -> Samples:
    """The utterance as it will sound if the silence lasts: the judge may answer ahead of time.

    What is missing up to ASK_MS is filled with the silence there already is, so that a room's
    noise goes on rather than stopping dead.
    """
    missing = (ASK_MS - silent_ms) * EAR_RATE // 1000
    if missing <= 0:
        return utterance
    known = max(1, silent_ms) * EAR_RATE // 1000
    return np.concatenate([utterance, np.resize(utterance[-known:], missing)])
