"""How the user sounds: found out beside the words, and never waited for."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass

from models.audio import decode_pcm16, resample
from models.due import later, needed
from models.errors import BackendError
from models.percept import Percept
from models.perception.given import Given
from models.protocols import Attention
from models.thinking.noticing import is_child
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Samples
from server.clock import Task
from server.items import Item
from server.pressure import Level
from server.private_log import where
from server.room import Room
from server.server_events import perceived
from server.trace import Trace
from server.transcripts import Text

log = logging.getLogger(__name__)

FOLLOW_SEC = 0.5  # how often it is told while someone speaks
SELDOM = 4  # times as long while the machine is pressed
SHARE = 0.25  # of that time it may be in the making: a slow model is asked less often
# How long a reply, once it has the words, waits for them to be joined with the voice; and where
# the voice has not been made out either, so that on the samples clock no model is ever late.
JOIN_SEC, AT_ONCE_SEC = 0.02, 0.001
MAX_WAITING = 16  # items of one conversation being listened to at once; further ones are not


@dataclass(slots=True)
class Finding:
    """The final percept of a stretch of speech, in the making."""

    work: Task
    at: int | None  # the input's sample up to which it listens; None if it was no input
    percept: Percept | None = None  # of the voice alone, until it has been joined with the words


class Percepts:
    def __init__(self, room: Room) -> None:
        self._room = room
        self._awaited: dict[str, tuple[Item, Finding]] = {}
        self._has_failed = False

    @property
    def wanted(self) -> bool:
        return self._room.config.attune.perception

    def attend(self, item_id: str, start: int) -> "Impression":
        """Listen to an utterance that begins at this sample of the ear."""
        return Impression(self, self._room, item_id, start)

    def open(self) -> Attention:
        cue = self._room.config.attune.cue
        return Given(cue) if cue else self._room.models.perceiver.attend()

    async def hear(self, attention: Attention, audio: Samples, words: str = "") -> Percept | None:
        return await self._tried(attention.perceive(AudioChunk(audio, EAR_RATE), words))

    async def glance(self, attention: Attention, audio: Samples) -> Percept | None:
        return await self._tried(attention.glance(AudioChunk(audio, EAR_RATE)))

    async def _tried(self, percept: Awaitable[Percept]) -> Percept | None:
        try:
            return await percept
        except BackendError as error:  # the conversation goes on without
            if not self._has_failed:
                log.error("perception failed: %s", where(error))
            self._has_failed = True
            return None

    async def find(
        self, finding: Finding, attention: Attention, audio: Samples, words: Text
    ) -> None:
        """Listen while the words are found, and once more with them: little is left to do then."""
        finding.percept = await self.hear(attention, audio)
        if finding.percept is None:
            return
        await asyncio.wait([words])
        if not words.cancelled() and (text := words.result()):
            finding.percept = await self.hear(attention, audio, text) or finding.percept

    async def in_time(self, finding: Finding) -> Percept | None:
        """What is known now that a reply must begin to form; it waits for no more than the join."""
        if not finding.work.done():
            clock = self._room.clock
            patience = JOIN_SEC if finding.percept else AT_ONCE_SEC
            waited = self._room.spawn(clock.until(clock.time() + patience))
            await asyncio.wait([finding.work, waited], return_when=asyncio.FIRST_COMPLETED)
            waited.cancel()
        return finding.percept

    async def catch_up(self) -> None:
        """Give the newest item what is known of it in time, for a reply that begins to form."""
        if self._awaited:
            item, finding = list(self._awaited.values())[-1]
            item.percept = await self.in_time(finding)

    async def keep(self, item: Item, finding: Finding) -> None:
        """Give an item its percept and tell it, now or as soon as it is known."""
        if finding.work.done():
            await self._keep(item, finding)
        else:
            self._awaited[item.id] = item, finding
            self._room.spawn(self._keep(item, finding))

    async def _keep(self, item: Item, finding: Finding) -> None:
        await asyncio.wait([finding.work])
        self._awaited.pop(item.id, None)
        item.percept = finding.percept
        if item.percept:
            if is_child(item.percept.age, item.percept.unknown):  # first: nothing of it may be kept
                self._room.recorder.spare_child()
            await self._room.tell(perceived(item.id, item.percept, finding.at, final=True))

    async def perceive(self, item: Item, words: Text, at: int | None = None) -> None:
        """Listen to an item whose audio is whole already."""
        if not self.wanted or not item.audio or len(self._awaited) >= MAX_WAITING:
            return
        pcm = item.audio

        async def listen() -> None:
            audio = await asyncio.to_thread(_as_heard, pcm)
            await self.find(finding, self.open(), audio, words)

        finding = Finding(self._room.spawn(listen()), at)
        await self.keep(item, finding)


class Impression:
    """How one utterance sounds, as it becomes known while it is spoken."""

    def __init__(self, percepts: Percepts, room: Room, item_id: str, start: int) -> None:
        self.finding: Finding | None = None  # of the present pause
        self._percepts = percepts
        self._room = room
        self._item_id = item_id
        self._attention: Attention | None = None
        self._following: Task | None = None
        self._reached = start  # the ear's sample up to which it was last followed
        self._patience = FOLLOW_SEC

    def due(self, heard: int) -> bool:
        """Whether it is time to look at how it sounds so far."""
        if not self._percepts.wanted or (self._following and not self._following.done()):
            return False
        seldom = SELDOM if self._room.pressed.level >= Level.PERCEPTS else 1
        return heard - self._reached >= seldom * self._patience * EAR_RATE

    def follow(self, audio: Samples, heard: int) -> None:
        """Tell how it sounds so far; what is worked out for it will not be left for the end."""
        attention, clock = self._open(), self._room.clock
        begun, at = clock.time(), self._room.ear.position(heard)
        self._reached = heard

        async def follow() -> None:
            with needed(later):
                percept = await self._percepts.glance(attention, audio)
            self._patience = max(FOLLOW_SEC, (clock.time() - begun) / SHARE)
            if percept:
                await self._room.tell(perceived(self._item_id, percept, at, final=False))

        self._following = self._room.spawn(follow())

    def conclude(self, audio: Samples, heard: int, words: Text, trace: Trace) -> None:
        """It may have ended here: find out how all of it sounds, while the words are found."""
        self.drop()
        if not self._percepts.wanted:
            return
        attention = self._open()

        clock, vitals = self._room.clock, self._room.vitals
        begun = clock.time()

        async def conclude() -> None:
            await self._percepts.find(finding, attention, audio, words)
            trace.mark("percept")
            if finding.percept:
                vitals.perceived((clock.time() - begun) * 1000)

        finding = Finding(self._room.spawn(conclude()), self._room.ear.position(heard))
        self.finding = finding

    def drop(self) -> None:
        """What is being found out about the present pause no longer matters."""
        for work in (self._following, self.finding.work if self.finding else None):
            if work:
                work.cancel()
        self._following = self.finding = None

    def _open(self) -> Attention:
        if self._attention is None:
            self._attention = self._percepts.open()
        return self._attention


def _as_heard(pcm: bytes) -> Samples:
    return resample(decode_pcm16(pcm), WIRE_RATE, EAR_RATE)
