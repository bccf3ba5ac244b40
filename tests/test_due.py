"""Whose call of a model is needed first, as a conversation says it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from time import monotonic

import pytest

from models.due import Rank, due, rank
from models.standin import StandinResponder, StandinSpeaker
from models.style import Style
from models.thinking import rules
from models.thinking.dual import DualThinker
from models.thinking.plan import ReplyPlan
from models.thinking.rules import PASTED
from models.thinking.tuned import TunedThinker
from models.types import AudioChunk, SpokenChunk, Turn
from tests.fakes import Scripted
from tests.serving import serving, standins
from tests.talker import HUSH, VOICE, play_until, talking


class Noting(StandinSpeaker):
    """Notes by when each clause is needed, in seconds from now, and its place in a line."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.asked_as: list[Rank] = []
        self.ranks: list[Callable[[], Rank]] = []
        self.asked = asyncio.Event()
        self.may_speak = asyncio.Event()
        self.may_speak.set()

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        self.waits.append(due() - monotonic())
        self.ranks.append(rank())
        self.asked_as.append(self.ranks[-1]())
        self.asked.set()
        await self.may_speak.wait()
        async for chunk in super().speak(clause, style):
            yield chunk


class Verbose(StandinResponder):
    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        for sentence in ("This is the first of them.", " Here is another one.", " And a third."):
            yield sentence


async def test_a_first_clause_is_needed_at_once_and_others_when_the_sound_runs_out() -> None:
    speaker = Noting()
    models = standins(speaker=speaker, responder=Verbose())
    async with serving(models) as (url, _), talking(url) as talker:
        content = [{"type": "input_text", "text": "Hello."}]
        item = {"type": "message", "role": "user", "content": content}
        await talker.send("conversation.item.create", item=item)
        await talker.send("response.create")
        await play_until(talker, "response.done")
    first, *others = speaker.waits
    assert first <= 0 and len(others) == 2
    assert all(wait > 0 for wait in others)
    assert not any(unsure for unsure, _ in speaker.asked_as)


async def test_until_the_turn_is_over_its_reply_comes_last_and_then_by_when_it_began() -> None:
    speaker = Noting()
    speaker.may_speak.clear()  # it is busy with others
    models = standins(speaker=speaker)
    async with serving(models, clock="wall") as (url, _), talking(url) as talker:
        patient = {"type": "server_vad", "silence_duration_ms": 700}
        await talker.update(audio={"input": {"turn_detection": patient}})
        before = monotonic()
        await talker.say(VOICE, 1.0)
        await talker.say(HUSH, 0.3)  # a breath, or the end
        await speaker.asked.wait()
        thought_of = monotonic()
        (wait,), (stands,) = speaker.waits, speaker.ranks
        assert not talker.of("response.created") and wait > 0
        assert stands() > (False, thought_of + 3600)
        await talker.say(HUSH, 1.0)
        await talker.until("response.created")
        assert (False, before) < stands() < (False, thought_of)
        speaker.may_speak.set()


async def test_a_long_paste_is_read_beside_the_loop_and_speech_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_in: list[threading.Thread] = []
    plan = rules.plan

    def noting(*args: object) -> ReplyPlan:
        read_in.append(threading.current_thread())
        return plan(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(rules, "plan", noting)
    thinker = DualThinker()
    for text in ("Hello there.", "some words " * PASTED):
        await thinker.think([Turn("user", text)], StandinResponder())
    spoken, pasted = read_in
    assert spoken is threading.current_thread() and pasted is not spoken


class Tells:
    """A Transcriber that hears the same words in everything."""

    def __init__(self, words: str) -> None:
        self._words = words

    async def transcribe(self, audio: AudioChunk) -> str:
        return self._words


@pytest.mark.parametrize(
    ("words", "asked"), [("I bought a new phone today.", False), ("What is a comet?", True)]
)
async def test_a_reply_model_that_is_spared_talk_reads_none_of_it(words: str, asked: bool) -> None:
    """Neither while it is said nor afterwards."""
    responder = Scripted("It is ice.")
    models = standins(
        thinker=TunedThinker(lead=True), responder=responder, transcriber=Tells(words)
    )
    async with serving(models) as (url, _), talking(url) as talker:
        await talker.ask(voice=2.0)
        done = (await play_until(talker, "response.done"))["response"]
    assert done["status"] == "completed" and done["output"]
    assert bool(responder.asked) == asked
