"""Whose call of a model is needed first, as a conversation says it."""

import threading
from collections.abc import AsyncGenerator, Sequence
from time import monotonic

import pytest

from models.due import due
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
from tests.talker import play_until, talking


class Noting(StandinSpeaker):
    """Notes by when each clause is needed, in seconds from now."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        self.waits.append(due() - monotonic())
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
        await talker.ask()
        await play_until(talker, "response.done")
    first, *others = speaker.waits
    assert first <= 0 and len(others) == 2
    assert all(wait > 0 for wait in others)


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
