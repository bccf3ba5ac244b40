"""The clients people already have, unchanged but for the address: `openai` and `openai-agents`."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from agents import set_tracing_disabled
from agents.realtime import (
    RealtimeAgent,
    RealtimeModelSendRawMessage,
    RealtimePlaybackTracker,
    RealtimeRunner,
    RealtimeSession,
)
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection

from models.audio import decode_pcm16, encode_pcm16
from models.types import WIRE_RATE, AudioChunk, Samples
from tests.fakes import loudest
from tests.serving import serving, standins
from tests.talker import HUSH, OFFICIAL, VOICE, sound

STEP_SEC = 0.1  # of silence sent before looking at what was told
WORD_SEC = 0.2  # of the stand-in voice


LOUDER = 0.45  # the level at which the user says PLEASE
PLEASE = "please wait a moment"
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Counted:
    """A Transcriber of someone who counts, four numbers a second, and louder says PLEASE."""

    async def transcribe(self, audio: AudioChunk) -> str:
        loud = np.abs(audio.samples) > 0.05
        if loudest(audio) > (VOICE + LOUDER) / 2:
            return PLEASE
        return " ".join(NUMBERS[: round(4 * float(loud.mean()) * audio.duration)])


def base_of(url: str) -> str:
    """What a stock client is given instead of its maker's address."""
    return url.removesuffix("/realtime")


# ---- openai


@dataclass
class Caller:
    """A person with the openai package, who trusts no event before its typed model does."""

    connection: AsyncRealtimeConnection
    events: list[Any] = field(default_factory=list)

    async def say(self, level: float, seconds: float) -> None:
        await self.send_audio(sound(level, seconds))

    async def send_audio(self, samples: Samples) -> None:
        audio = b64encode(encode_pcm16(samples)).decode()
        await self.connection.input_audio_buffer.append(audio=audio)

    async def settle(self) -> list[Any]:
        """Everything told up to now, the answer to an empty update left out."""
        begun = len(self.events)
        await self.connection.session.update(session={"type": "realtime"})
        while not self.events[begun:] or self.events[-1].type != "session.updated":
            async with asyncio.timeout(20):
                event = await self.connection.recv()
            # The package builds its objects without a check: what it built is checked here.
            checked = OFFICIAL.validate_python(event.to_dict(use_api_names=True))
            assert type(checked) is type(event)
            self.events.append(event)
        return self.events[begun:-1]

    async def hush_until(self, kind: str, seconds: float = 30.0) -> Any:
        """Silence, as the samples clock counts it, until something is told."""
        for _ in range(round(seconds / STEP_SEC)):
            for event in await self.settle():
                if event.type == kind:
                    return event
            await self.say(HUSH, STEP_SEC)
        raise AssertionError(f"{kind} not told within {seconds} s")

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]

    def sound_of(self, response_id: str) -> Samples:
        """The reply as it was received."""
        pieces = [e for e in self.of("response.output_audio.delta") if e.response_id == response_id]
        return decode_pcm16(b"".join(b64decode(piece.delta) for piece in pieces))


@asynccontextmanager
async def calling(url: str) -> AsyncGenerator[Caller, None]:
    async with (
        AsyncOpenAI(
            api_key="none",
            base_url=base_of(url).replace("ws:", "http:"),
            websocket_base_url=base_of(url),
        ) as client,
        client.realtime.connect(model="attune") as connection,
    ):
        yield Caller(connection)


async def test_the_openai_client_talks_interrupts_and_truncates() -> None:
    async with serving(standins(transcriber=Counted())) as (url, _), calling(url) as caller:
        for seconds in (1.0, 1.4):
            await caller.say(VOICE, seconds)
            done = (await caller.hush_until("response.done")).response
            assert done.status == "completed"
            heard = caller.of("conversation.item.input_audio_transcription.completed")[-1]
            said = done.output[0].content[0].transcript
            assert said == f"I heard you, you said {heard.transcript}."
            seconds = len(caller.sound_of(done.id)) / WIRE_RATE
            assert seconds == pytest.approx(WORD_SEC * len(said.split()), abs=0.02)
            await caller.say(HUSH, 1.5)  # its end is heard, and nobody hurries
        first, second = caller.of("conversation.item.input_audio_transcription.completed")
        assert first.transcript != second.transcript

        await caller.say(VOICE, 1.0)
        await caller.hush_until("response.output_audio.delta")
        await caller.say(HUSH, 0.7)
        await caller.say(LOUDER, 1.2)
        cut = (await caller.hush_until("response.done")).response
        assert (cut.status, cut.status_details.reason) == ("cancelled", "turn_detected")
        item_id = cut.output[0].id
        await caller.settle()
        assert [event.item_id for event in caller.of("conversation.item.truncated")] == [item_id]
        held = cut.output[0].content[0].transcript
        assert held and held != said  # some of the reply, not all of it

        await caller.connection.conversation.item.truncate(
            item_id=item_id, content_index=0, audio_end_ms=450
        )
        await caller.connection.conversation.item.retrieve(item_id=item_id)
        await caller.settle()
        assert caller.of("conversation.item.truncated")[-1].audio_end_ms == 450
        kept = caller.of("conversation.item.retrieved")[-1].item.content[0].transcript
        assert kept == "I heard"

        answer = (await caller.hush_until("response.done")).response
        assert answer.output[0].content[0].transcript == f"I heard you, you said {PLEASE}."
        assert not caller.of("error")


# ---- openai-agents


class Agent:
    """A person in front of an agent: microphone, loudspeaker and everything the runner tells."""

    def __init__(self, session: RealtimeSession, loudspeaker: RealtimePlaybackTracker) -> None:
        self._session = session
        self._loudspeaker = loudspeaker
        self.told: list[Any] = []
        self.raw: list[dict[str, Any]] = []  # the server's own events, as the runner passes them on
        self._news = asyncio.Condition()

    async def listen(self) -> None:
        async for event in self._session:
            if event.type == "audio":
                self._loudspeaker.on_play_bytes(
                    event.item_id, event.content_index, event.audio.data
                )
            async with self._news:
                self.told.append(event)
                if event.type == "raw_model_event" and event.data.type == "raw_server_event":
                    self.raw.append(event.data.data)
                self._news.notify_all()

    async def say(self, level: float, seconds: float) -> None:
        await self._session.send_audio(encode_pcm16(sound(level, seconds)))

    async def settle(self) -> None:
        """Wait until everything sent so far has been answered: an empty update comes last."""
        seen = len(self.raw)
        message: Any = {"type": "session.update", "other_data": {"session": {"type": "realtime"}}}
        await self._session.model.send_event(RealtimeModelSendRawMessage(message=message))
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(
                lambda: any(event["type"] == "session.updated" for event in self.raw[seen:])
            )

    async def hush_until(self, kind: str, seconds: float = 30.0) -> Any:
        """Silence, as the samples clock counts it, until the runner tells something new."""
        seen = len(self.told)
        for _ in range(round(seconds / STEP_SEC)):
            await self.settle()
            for event in self.told[seen:]:
                if event.type == kind:
                    return event
            await self.say(HUSH, STEP_SEC)
        raise AssertionError(f"{kind} not told within {seconds} s")

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.told if event.type == kind]

    def troubles(self) -> list[Any]:
        """Whatever the runner or the server took amiss."""
        layers = [event.data for event in self.of("raw_model_event")]
        return (
            self.of("error")
            + [data for data in layers if data.type in ("error", "exception")]
            + [event for event in self.raw if event["type"] == "error"]
        )


@asynccontextmanager
async def agent(url: str) -> AsyncGenerator[Agent, None]:
    set_tracing_disabled(True)  # it would be sent to its maker
    runner = RealtimeRunner(RealtimeAgent(name="Host", instructions="Be kind."))
    loudspeaker = RealtimePlaybackTracker()  # else it would count played sound by the wall's clock
    session = await runner.run(
        model_config={
            "api_key": "none",
            "url": url,
            "playback_tracker": loudspeaker,
        }
    )
    async with session:
        talking = Agent(session, loudspeaker)
        listening = asyncio.create_task(talking.listen())
        try:
            yield talking
        finally:
            listening.cancel()
            await asyncio.wait([listening])


def history(talking: Agent) -> list[tuple[str, str]]:
    """Who said what, as the runner keeps it."""
    return [
        (item.role, " ".join(part.transcript or "" for part in item.content))
        for item in talking.of("history_updated")[-1].history
    ]


async def test_openai_agents_holds_a_conversation_and_is_interrupted() -> None:
    async with serving(standins(transcriber=Counted())) as (url, _), agent(url) as talking:
        await talking.say(VOICE, 1.0)
        await talking.hush_until("agent_end")
        audio = b"".join(event.audio.data for event in talking.of("audio"))
        assert len(audio) > 2 * WIRE_RATE
        await talking.say(HUSH, 1.5)  # the end of the reply is heard, and nobody hurries

        await talking.say(VOICE, 1.4)
        item_id = (await talking.hush_until("audio")).item_id
        await talking.say(HUSH, 0.7)
        await talking.say(LOUDER, 1.2)
        assert (await talking.hush_until("audio_interrupted")).item_id == item_id
        await talking.hush_until("agent_start")  # the interruption is answered, too
        await talking.hush_until("agent_end")
        await talking.settle()

        responses = [e["response"] for e in talking.raw if e["type"] == "response.done"]
        assert [r["status"] for r in responses] == ["completed", "cancelled", "completed"]
        said = history(talking)
        assert [role for role, _ in said] == ["user", "assistant"] * 3
        assert said[1] == ("assistant", f"I heard you, you said {said[0][1]}.")
        assert said[4:] == [("user", PLEASE), ("assistant", f"I heard you, you said {PLEASE}.")]
        assert f"I heard you, you said {said[2][1]}.".startswith(said[3][1].rstrip("., "))
        assert talking.troubles() == []
