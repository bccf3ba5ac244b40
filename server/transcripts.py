"""User items and their words: committed at once, understood as soon as may be."""

import asyncio
import logging

from models.audio import decode_pcm16
from models.errors import BackendError, OutOfOrder
from models.types import WIRE_RATE, AudioChunk
from server.errors import ClientError
from server.items import Item
from server.private_log import where
from server.room import Room
from server.server_events import (
    event,
    item_added,
    item_done,
    transcription_completed,
    transcription_failed,
)

log = logging.getLogger(__name__)

Text = asyncio.Future[str]
MAX_AWAITED = 16  # items of one conversation being transcribed at once


class Transcripts:
    def __init__(self, room: Room) -> None:
        self._room = room
        self._awaited: dict[str, Text] = {}  # items whose words are not known yet
        self._failures: dict[str, str] = {}  # items whose words nobody will know, and why

    def expect(self, item_id: str) -> Text:
        """The words of an item, to be known later."""
        words: Text = asyncio.get_running_loop().create_future()
        self._awaited[item_id] = words
        return words

    def known(self, text: str) -> Text:
        """Words nobody needs to find."""
        words: Text = asyncio.get_running_loop().create_future()
        words.set_result(text)
        return words

    def forget(self, item_id: str) -> None:
        self._awaited.pop(item_id, None)
        self._failures.pop(item_id, None)

    async def understood(self) -> None:
        """Wait until the words of everything committed are known."""
        while waiting := [words for words in self._awaited.values() if not words.done()]:
            await asyncio.wait(waiting)
        await asyncio.sleep(0)  # whoever waited for the same words has now taken them down

    async def commit(self, item_id: str, audio: bytes, words: Text) -> Item:
        """Make the user's audio an item of the conversation; its words follow when known."""
        room = self._room
        item = Item(item_id, "message", "user", spoken=True, audio=audio)
        if words.done():
            item.text = words.result()
        last = room.conversation.last_id
        await room.tell(
            event("input_audio_buffer.committed", item_id=item_id, previous_item_id=last)
        )
        previous = room.conversation.join(item)
        await room.tell(item_added(item, previous))
        await room.tell(item_done(item, previous))
        await self.write_down(item, words)
        return item

    async def write_down(self, item: Item, words: Text) -> None:
        """Give an item its words and tell them, now or as soon as they are known."""
        if words.done():
            await self._write_down(item, words)
        else:
            self._room.spawn(self._write_down(item, words))

    async def _write_down(self, item: Item, words: Text) -> None:
        await asyncio.wait([words])
        failure = self._failures.get(item.id)
        await self._fill_in(item, words)
        if self._room.config.audio.input.transcription is None:
            return
        if failure:
            await self._room.tell(transcription_failed(item.id, failure))
        else:
            seconds = len(item.audio) / 2 / WIRE_RATE
            await self._room.tell(transcription_completed(item.id, item.text, seconds))

    def fill_in(self, item: Item) -> None:
        """Find the words of an item that stands outside the conversation."""
        self._room.spawn(self._fill_in(item, self.transcribe(item.id, item.audio)))

    async def _fill_in(self, item: Item, words: Text) -> None:
        await asyncio.wait([words])
        item.text = words.result()
        item.unheard = self._failures.get(item.id)
        self.forget(item.id)

    def transcribe(self, item_id: str, pcm: bytes) -> Text:
        """The words of audio that is whole already."""
        if len(self._awaited) >= MAX_AWAITED:
            raise ClientError(
                "too_many_transcriptions",
                f"{MAX_AWAITED} items wait to be transcribed; wait for one of them.",
            )
        found = self.expect(item_id)
        audio = AudioChunk(decode_pcm16(pcm), WIRE_RATE)  # the model's thread resamples it

        async def listen() -> None:
            text = ""
            try:
                text = await self._room.models.transcriber.transcribe(audio)
            except BackendError as error:
                self.note_failure(item_id, error, final=True)
            finally:
                if not found.done():
                    found.set_result(text)

        self._room.spawn(listen())
        return found

    def note_failure(self, item_id: str, error: BackendError, *, final: bool) -> None:
        """The model failed; the client is told once, and only of words it was to get."""
        if not isinstance(error, OutOfOrder):  # which was told when it began
            log.error("transcription failed: %s", where(error))
        if final:
            self._failures[item_id] = str(error)
