"""A reply is planned before it is heard, opens at once, and the client can see why."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from models.protocols import Responder
from models.standin import StandinSpeaker
from models.style import Style
from models.thinking.plain import NOTHING, PlainThinker
from models.thinking.plan import ReplyPlan
from models.types import WIRE_RATE, SpokenChunk, Turn
from tests.fakes import SaysByLevel
from tests.serving import serving, standins
from tests.talker import Event, Talker, talking

STYLE = Style(emotion="comforting", pace=0.8, onset=0.1)
PLAN = replace(NOTHING, acknowledgement="Oh dear.", emotion="comforting", style=STYLE)

BIRCH = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "birch"}]}


class Planned(PlainThinker):
    """A Thinker that always has the same plan."""

    def __init__(self, plan: ReplyPlan = PLAN) -> None:
        self._plan = plan

    async def think(
        self, dialogue: Sequence[Turn], responder: Responder, instructions: str = ""
    ) -> ReplyPlan:
        return self._plan


class Waits:
    """A Responder that has nothing to say until it may."""

    def __init__(self) -> None:
        self.may_speak = asyncio.Event()
        self.asked: list[Sequence[Turn]] = []

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        if max_tokens > 1:
            self.asked.append(dialogue)
            await self.may_speak.wait()
            yield "Tell me more."


class Remembers(StandinSpeaker):
    """A Speaker that knows how it was asked to speak."""

    def __init__(self) -> None:
        super().__init__()
        self.styles: list[Style] = []

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        self.styles.append(style)
        async for chunk in super().speak(clause, style):
            yield chunk


def _said(done: Event) -> str:
    return str(done["response"]["output"][0]["content"][0]["transcript"])


async def test_the_plan_is_told_before_the_first_sound() -> None:
    models = standins(thinker=Planned())
    async with serving(models) as (url, _), talking(url, "?attune=1") as talker:
        await talker.ask(hush=4.0)
        done = await talker.until("response.done")
        kinds = [event["type"] for event in talker.events]
        (style,) = talker.of("attune.style")
        assert kinds.index("attune.style") < kinds.index("response.output_audio.delta")
        assert style["plan"]["acknowledgement"] == "Oh dear."
        assert style["plan"]["line"] == PLAN.line
        assert style["response_id"] == done["response"]["id"]
        assert style["item_id"] == done["response"]["output"][0]["id"]


@asynccontextmanager
async def asked_by_one_who_waits(responder: Waits) -> AsyncGenerator[Talker, None]:
    """Somebody who asked just now, of a thinker that nods where a reply is late."""
    models = standins(thinker=Planned(replace(NOTHING, nod="Mm.")), responder=responder)
    async with serving(models, clock="wall") as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=BIRCH)
        await talker.send("response.create")
        yield talker


async def test_a_reply_that_keeps_somebody_waiting_begins_with_a_nod() -> None:
    responder = Waits()
    async with asked_by_one_who_waits(responder) as talker:
        words = await talker.until("response.output_audio_transcript.delta")
        assert words["delta"].strip() == "Mm."
        responder.may_speak.set()
        done = await talker.until("response.done")
        assert _said(done) == "Mm. Tell me more."


async def test_a_reply_in_time_needs_no_nod() -> None:
    responder = Waits()
    responder.may_speak.set()
    async with asked_by_one_who_waits(responder) as talker:
        assert _said(await talker.until("response.done")) == "Tell me more."


async def test_a_late_reply_that_is_cancelled_leaves_nothing_behind() -> None:
    responder = Waits()
    async with asked_by_one_who_waits(responder) as talker:
        await talker.until("response.output_audio_transcript.delta")
        before = len(asyncio.all_tasks())
        await talker.send("response.cancel")
        done = await talker.until("response.done")
        assert done["response"]["status"] == "cancelled"
        assert len(asyncio.all_tasks()) < before


async def test_the_opening_is_heard_while_the_model_is_still_thinking() -> None:
    responder = Waits()
    models = standins(thinker=Planned(), responder=responder)
    async with serving(models) as (url, _), talking(url) as talker:
        await talker.ask(hush=2.0)
        words = await talker.until("response.output_audio_transcript.delta")
        assert words["delta"].startswith("Oh ")
        await talker.until("response.output_audio.delta")
        responder.may_speak.set()
        await talker.say(0.0, 4.0)
        done = await talker.until("response.done")
        assert _said(done) == "Oh dear. Tell me more."


async def test_a_stage_reached_after_the_first_sound_is_told_with_the_others() -> None:
    responder = Waits()
    models = standins(thinker=Planned(), responder=responder)
    async with serving(models) as (url, house), talking(url, "?attune=1") as talker:
        await talker.ask(hush=2.0)
        await talker.until("response.output_audio.delta")
        responder.may_speak.set()
        await talker.say(0.0, 4.0)
        await talker.until("response.done")
        first, *later = [told["stages_ms"] for told in talker.of("attune.timing")]
        assert "opened" in first and "first_sent" not in first  # a planned pause comes first
        assert later[-1]["first_token"] > later[-1]["first_sent"] > later[-1]["opened"]
        assert talker.of("attune.timing")[-1]["overhead_ms"] >= 0
        assert {"first_clause", "first_audio"} <= later[-1].keys()
        assert {each.ever.count for each in house.vitals.stages.values()} == {1}


async def test_every_clause_is_spoken_in_the_planned_style_at_the_clients_pace() -> None:
    voice = Remembers()
    models = standins(thinker=Planned(), speaker=voice)
    async with serving(models) as (url, _), talking(url) as talker:
        settings = {"type": "realtime", "audio": {"output": {"speed": 1.25}}}
        await talker.send("session.update", session=settings)
        await talker.ask(hush=4.0)
        await talker.until("response.done")
        assert len(voice.styles) >= 2
        assert {style.pace for style in voice.styles} == {1.0}
        assert {style.emotion for style in voice.styles} == {"comforting"}


async def test_a_planned_pause_comes_before_the_first_word() -> None:
    async with serving(standins(thinker=Planned())) as (url, _), talking(url) as talker:
        await talker.send(
            "session.update", session={"type": "realtime", "attune": {"binary": True}}
        )
        await talker.ask(hush=4.0)
        await talker.until("response.done")
        pcm = b"".join(frame[8:] for frame in talker.audio)
        silent = round(STYLE.onset * WIRE_RATE) * 2
        assert not any(pcm[:silent])
        assert any(pcm[silent : silent + WIRE_RATE // 50])


async def test_a_written_reply_opens_as_planned_as_well() -> None:
    async with serving(standins(thinker=Planned())) as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=BIRCH)
        await talker.send("response.create", response={"output_modalities": ["text"]})
        done = await talker.until("response.done")
        said = done["response"]["output"][0]["content"][0]["text"]
        assert said == "Oh dear. I heard you, you said birch."


async def test_the_model_is_given_what_was_heard() -> None:
    responder = Waits()
    responder.may_speak.set()
    models = standins(responder=responder, transcriber=SaysByLevel())
    async with serving(models) as (url, _), talking(url) as talker:
        await talker.ask(hush=4.0)
        await talker.until("response.done")
    heard = responder.asked[-1][-1].audio
    assert heard is not None
    assert 1.0 <= heard.duration < 2.0


async def test_a_reply_of_whole_sentences_is_complete_when_it_ends_at_the_limit() -> None:
    class Whole(PlainThinker):
        async def answer(
            self,
            plan: ReplyPlan,
            instructions: str,
            dialogue: Sequence[Turn],
            responder: Responder,
            max_tokens: int,
        ) -> AsyncGenerator[str, None]:
            for sentence in self.sentences:
                yield sentence

        sentences: tuple[str, ...] = ("Please call someone you trust at once. ",)

    for sentences, status in ((1, "completed"), (2, "incomplete")):
        thinker = Whole()
        thinker.sentences = Whole.sentences * sentences
        async with serving(standins(thinker=thinker)) as (url, _), talking(url) as talker:
            await talker.send("conversation.item.create", item=BIRCH)
            limited = {"output_modalities": ["text"], "max_output_tokens": 5}
            await talker.send("response.create", response=limited)
            done = (await talker.until("response.done"))["response"]
            assert done["status"] == status
            assert done["output"][0]["content"][0]["text"] == Whole.sentences[0].strip()
