"""One response: from the dialogue to words, from words to sound, from sound to the client."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from models.ahead import ahead
from models.clauses import clauses
from models.due import later, needed
from models.errors import BackendError, OutOfOrder
from models.protocols import Models
from models.style import Style
from models.styles import styled
from models.thinking.plan import ReplyPlan
from models.types import WIRE_RATE, AudioChunk, SpokenChunk, Turn
from server import ids
from server.clock import Clock, Gate
from server.items import Conversation, Item
from server.playout import Playout
from server.server_events import Event, event
from server.session_config import AudioFormat, Pcm
from server.trace import Trace

DEFAULT_MAX_TOKENS = 160  # of a spoken reply: about half a minute
LATE_SEC = 0.3  # after the turn is ours: from then on silence sounds as if nobody had heard
AHEAD = 4  # chunks synthesised before they are needed
LETTERS = 4  # to a token, about, in pieces of several words
SENTENCE_ENDS = (".", "?", "!", "…", "。", "？", "！")
CLOSING = " \n\"'”’)»"  # what may follow them
LONGEST = 4  # times all that may be said: so much in one piece is no sentence
APOLOGY = "I'm sorry, I lost my thread just now. Could you say that again?"
UNHEARD = "I'm sorry, I couldn't make out your words just now. Could you say that again?"
RESTING = "I'm sorry, I can't answer just now. Please give me a moment, and try again."

AUDIO_TOKEN_SEC_IN, AUDIO_TOKEN_SEC_OUT = 0.1, 0.05  # the protocol's way to count sound in tokens

# The words of the dialogue once they are known; None if there is nothing to answer.
Dialogue = Callable[[], Awaitable[Sequence[Turn] | None]]
Tell = Callable[[Event], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    instructions: str = ""
    speaks: bool = True
    max_tokens: int | None = None
    speed: float = 1.0
    in_conversation: bool = True
    numbered: bool = False  # show the number that marks its binary audio frames
    metadata: dict[str, str] | None = None
    audio_format: AudioFormat = Pcm(type="audio/pcm")
    voice: Any = "hibari"


class Reply:
    """A response in the making. `run` tells its story; `end` tells how it ended.

    It forms unheard until its gate opens. Cancelling the task that runs it stops the models
    and the sound at once; whoever cancels then tells `end`.
    """

    def __init__(
        self,
        options: ReplyOptions,
        models: Models,
        clock: Clock,
        tell: Tell,
        playout: Playout,
        conversation: Conversation,
        sequence: int,
        trace: Trace,
    ) -> None:
        self.id = ids.new("resp")
        self.options = options
        self.playout = playout
        self.sequence = sequence
        self.trace = trace
        self.gate = Gate(clock)
        self.announced = False  # the client knows of this response
        self.ended = False  # and knows that it is over
        self.item = Item(
            ids.new("item"), "message", "assistant", "in_progress", spoken=options.speaks
        )
        self.item.playout = playout if options.speaks else None
        self.plan: ReplyPlan | None = None
        self._models = models
        self._clock = clock
        self._begun = time.monotonic()  # if somebody waits for it, then from here on
        self._made = 0  # samples of sound, sent or not
        self._tell = tell
        self._conversation = conversation if options.in_conversation else None
        self._previous: str | None = None
        self._item_announced = False
        self._tokens_in = 0
        self._audio_tokens_in = 0
        self._tokens_out = 0
        self._cut = False  # there was more to say than it might
        self._last = False  # there is no time for more than the sentence being said
        self._broke_off = False  # ... and there was more
        self._written = ""
        self._closing: deque[Event] = deque()  # what is still to be told of its end

    @property
    def audible(self) -> bool:
        """Whether the client has begun to hear it, and has not heard all of it yet."""
        return self.playout.sounding or (self.playout.started_at is not None and not self.ended)

    @property
    def text(self) -> str:
        """The words so far, heard or not."""
        return self._written

    def due(self) -> float:
        """When more of it is needed: at once until there is sound, then when that runs out."""
        first = self._begun if self.awaited() else later()
        if not self._made:
            return first
        playing = self.playout.ends_at - self._clock.time() if self.playout.sent else 0.0
        kept = max(0.0, playing) + (self._made - self.playout.sent) / WIRE_RATE
        return max(first, time.monotonic() + kept)

    def awaited(self) -> bool:
        """Whether anybody waits for it: until their turn is over they may only have paused."""
        return self.announced or self.gate.is_open

    async def run(self, dialogue: Dialogue) -> bool:
        """Form the reply and, once the gate is open, give it; False if there is nothing to say."""
        with needed(self.due, sure=self.awaited):
            return await self._run(dialogue)

    async def _run(self, dialogue: Dialogue) -> bool:
        turns = await dialogue()
        if turns is None:
            return False
        thinker, responder = self._models.thinker, self._models.responder
        asked = thinker.prompt(self.options.instructions, turns)
        self._tokens_in = sum(len(turn.text) // LETTERS + 4 for turn in asked)
        self.plan = plan = await thinker.think(turns, responder, self.options.instructions)
        self.trace.mark("planned")
        self._tokens_out = -(-len(plan.acknowledgement) // LETTERS)
        limit = self.options.max_tokens or DEFAULT_MAX_TOKENS
        async with (
            aclosing(
                thinker.answer(plan, self.options.instructions, turns, responder, limit)
            ) as tokens,
            aclosing(self._counted(tokens, limit)) as counted,
        ):
            if self.options.speaks:
                await self._speak(self._speech(plan, counted))
            else:
                await self._write(plan, counted)
        reason = "max_output_tokens" if self._cut and not self._broke_off else ""
        whole = not self._cut and not self._broke_off
        await self.tell_end("completed" if whole else "incomplete", reason)
        await self.playout.finish()
        return True

    def finish_sentence(self) -> None:
        """Say nothing after the sentence that is being said."""
        self._last = True

    async def apologise(self, failure: BackendError) -> None:
        """Say aloud that it failed, if the voice still can: silence would leave people waiting."""
        if not self.options.speaks or self.ended or failure.role == "speaker":
            return
        words = RESTING if isinstance(failure, OutOfOrder) else APOLOGY
        words = UNHEARD if failure.role == "transcriber" else words
        with suppress(BackendError):  # the voice fails, too, and what is written must do
            await self._speak(self._said(words, styled("apologetic")))

    async def _speak(self, speech: AsyncGenerator[SpokenChunk, None]) -> None:
        async with ahead(speech, AHEAD) as chunks:
            await self._announce()
            async for chunk in chunks:
                await self._announce_item()
                self._written += chunk.text
                if chunk.text:
                    await self.tell_part("output_audio_transcript.delta", delta=chunk.text)
                await self.playout.play(chunk)
                if self._last and self._written.rstrip(CLOSING).endswith(SENTENCE_ENDS):
                    self._broke_off = True
                    break

    async def _speech(
        self, plan: ReplyPlan, tokens: AsyncGenerator[str, None]
    ) -> AsyncGenerator[SpokenChunk, None]:
        if plan.style.onset:
            silence = np.zeros(round(plan.style.onset * WIRE_RATE), np.float32)
            self._made += len(silence)
            yield SpokenChunk(AudioChunk(silence, WIRE_RATE), "")
        # The opening is known at once, and spoken while the model finds out how to go on.
        opened = _opened(plan.acknowledgement, clauses(tokens))
        waits = plan.nod and self._clock.goes_on  # else no reply is ever late
        async with aclosing(self._nodding(plan.nod, opened) if waits else opened) as said:
            async for clause in said:
                async with aclosing(self._said(clause, plan.style)) as chunks:
                    async for chunk in chunks:
                        yield chunk

    async def _nodding(
        self, nod: str, said: AsyncGenerator[str, None]
    ) -> AsyncGenerator[str, None]:
        """What is said, after a nod if that does not come and somebody waits."""
        first = asyncio.ensure_future(anext(said, None))
        late = asyncio.ensure_future(self._late())
        try:
            await asyncio.wait([first, late], return_when=asyncio.FIRST_COMPLETED)
            if not first.done():
                self._tokens_out += -(-len(nod) // LETTERS)
                yield f"{nod} "
            clause = await first
            while clause is not None:
                yield clause
                clause = await anext(said, None)
        finally:
            first.cancel()
            late.cancel()
            await asyncio.wait([first, late])
            await said.aclose()

    async def _late(self) -> None:
        """Returns once somebody has waited for too long."""
        await self.gate.wait()
        await asyncio.sleep(LATE_SEC)

    async def _said(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        self.trace.mark("first_clause")
        paced = replace(style, pace=style.pace * self.options.speed)
        async with aclosing(self._models.speaker.speak(clause, paced)) as chunks:
            async for chunk in chunks:
                self.trace.mark("first_audio")
                self._made += len(chunk.audio.samples)
                yield chunk

    async def _write(self, plan: ReplyPlan, tokens: AsyncGenerator[str, None]) -> None:
        await self._announce()
        async with aclosing(_opened(plan.acknowledgement, tokens)) as said:
            async for token in said:
                await self._announce_item()
                self._written += token
                await self.tell_part("output_text.delta", delta=token)

    async def _counted(
        self, tokens: AsyncGenerator[str, None], limit: int
    ) -> AsyncGenerator[str, None]:
        """The tokens until there are enough; a piece of several words counts for several."""
        single = False
        async for token in tokens:
            self.trace.mark("first_token")
            if self._tokens_out >= limit:
                self._cut = True
                return
            if len(token) > LONGEST * limit * LETTERS:  # a model that has lost all measure
                token, self._cut = token[: limit * LETTERS], True
            single = " " not in token.strip()
            self._tokens_out += 1 if single else -(-len(token) // LETTERS)
            yield token
            if self._cut:
                return
        # A model that was stopped at the limit says no more; a whole sentence was not stopped.
        self._cut = single and self._tokens_out >= limit

    async def _announce(self) -> None:
        await self.gate.wait()
        self.trace.mark("gate")
        await self.announce()

    async def announce(self) -> None:
        """Tell the client that a response has begun, once."""
        if not self.announced:
            self.announced = True
            await self._tell(event("response.created", response=self._payload("in_progress")))

    async def _announce_item(self) -> None:
        if self._item_announced:
            return
        self._item_announced = True
        if self.plan:
            about = {"response_id": self.id, "item_id": self.item.id}
            await self._tell(event("attune.style", **about, plan=self.plan.to_json()))
        shown = self.item.payload()
        where = {"response_id": self.id, "output_index": 0}
        await self._tell(event("response.output_item.added", item=shown, **where))
        if self._conversation:
            self._previous = self._conversation.join(self.item)
            await self._tell(
                event("conversation.item.added", item=shown, previous_item_id=self._previous)
            )
        await self.tell_part("content_part.added", part=self._part(""))

    def _part(self, text: str) -> dict[str, str]:
        if self.options.speaks:
            return {"type": "audio", "transcript": text}
        return {"type": "text", "text": text}

    async def tell_part(self, kind: str, **fields: Any) -> None:
        await self._tell(self._part_event(kind, **fields))

    def _part_event(self, kind: str, **fields: Any) -> Event:
        return event(
            f"response.{kind}",
            response_id=self.id,
            item_id=self.item.id,
            output_index=0,
            content_index=0,
            **fields,
        )

    async def tell_end(self, status: str, reason: str = "", error: str = "") -> None:
        """Close everything the client saw open; `response.done` always comes, and comes once.

        Cut off in the middle of this, the next call tells the rest.
        """
        if not self.announced:
            return
        if not self.ended:
            self.ended = True
            self._close_item(status)
            self._closing.extend(self._closing_events(status, reason, error))
        while self._closing:
            await self._tell(self._closing[0])
            self._closing.popleft()

    def _closing_events(self, status: str, reason: str, error: str) -> list[Event]:
        details: dict[str, Any] | None = None
        if status != "completed":
            details = {"type": status}
            if reason:
                details["reason"] = reason
            if error:
                details["error"] = {
                    "type": "server_error",
                    "code": "model_error",
                    "message": error,
                }
        done = {**self._payload(status), "status_details": details, **self._usage()}
        return [*self._item_end(), event("response.done", response=done)]

    def _close_item(self, status: str) -> None:
        self.item.status = "completed" if status == "completed" else "incomplete"
        self.item.text = self._written.strip()
        self.item.trim()
        if status == "cancelled":
            self.item.cut(self.playout.heard)

    def _item_end(self) -> list[Event]:
        if not self._item_announced:
            return []
        text = self._written.strip()
        if self.options.speaks:
            ends = [
                self._part_event("output_audio.done"),
                self._part_event("output_audio_transcript.done", transcript=text),
            ]
        else:
            ends = [self._part_event("output_text.done", text=text)]
        ends.append(self._part_event("content_part.done", part=self._part(text)))
        shown = self.item.payload()
        if self._conversation:
            ends.append(
                event("conversation.item.done", item=shown, previous_item_id=self._previous)
            )
        ends.append(
            event("response.output_item.done", response_id=self.id, output_index=0, item=shown)
        )
        return ends

    def _payload(self, status: str) -> dict[str, Any]:
        output = [self.item.payload()] if self.ended and self._item_announced else []
        shown: dict[str, Any] = {
            "id": self.id,
            "object": "realtime.response",
            "status": status,
            "status_details": None,
            "output": output,
            "conversation_id": self._conversation.id if self._conversation else None,
            "output_modalities": ["audio" if self.options.speaks else "text"],
            "max_output_tokens": self.options.max_tokens or "inf",
            "metadata": self.options.metadata,
            "usage": None,
        }
        if self.options.numbered:
            shown["attune"] = {"sequence": self.sequence}
        if self.options.speaks:
            shown["audio"] = {
                "output": {
                    "format": self.options.audio_format.model_dump(),
                    "voice": self.options.voice,
                }
            }
        return shown

    def hears(self, seconds: float) -> None:
        """Count the user's sound this reply answers, for the usage."""
        self._audio_tokens_in += round(seconds / AUDIO_TOKEN_SEC_IN)

    def _usage(self) -> dict[str, Any]:
        spoken = round(self.playout.sent / WIRE_RATE / AUDIO_TOKEN_SEC_OUT)
        tokens_in = self._tokens_in + self._audio_tokens_in
        tokens_out = self._tokens_out + spoken
        return {
            "usage": {
                "total_tokens": tokens_in + tokens_out,
                "input_tokens": tokens_in,
                "output_tokens": tokens_out,
                "input_token_details": {
                    "text_tokens": self._tokens_in,
                    "audio_tokens": self._audio_tokens_in,
                    "image_tokens": 0,
                    "cached_tokens": 0,
                },
                "output_token_details": {"text_tokens": self._tokens_out, "audio_tokens": spoken},
            }
        }


async def _opened(opening: str, following: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    """The opening, where there is one, and what follows it."""
    async with aclosing(following):
        if opening:
            yield f"{opening} "
        async for piece in following:
            yield piece
