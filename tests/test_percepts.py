"""How the user sounds, over a real socket: told while they speak, kept, and never waited for."""

import asyncio
import logging
from base64 import b64encode
from types import SimpleNamespace
from typing import Any

import pytest

from models.audio import encode_pcm16
from models.errors import BackendError
from models.protocols import Models
from models.types import EAR_RATE, WIRE_RATE, Turn
from server.items import Item
from server.percepts import FOLLOW_SEC, SHARE, Impression
from server.pressure import Calm
from tests.fakes import COUGH, SPEECH, Hesitant, Mute, Reciter, Sadness, SaysByLevel, known
from tests.serving import serving, standins
from tests.talker import HUSH, Event, Talker, play_until, sound, talking

ATTUNED = "?attune=1"
WORDS = "please tell me more"
REMARK = "[The user sounds sad.]"
DELTA = "response.output_audio.delta"


def models(perceiver: Any, **roles: Any) -> Models:
    ears = {"transcriber": SaysByLevel(WORDS), "responder": Reciter(), "perceiver": perceiver}
    return standins(**{**ears, **roles})


def percepts(talker: Talker, *, final: bool) -> list[Event]:
    return [event for event in talker.of("attune.percept") if event["final"] == final]


def spoken_item(level: float = SPEECH, transcript: str | None = None) -> dict[str, Any]:
    audio = b64encode(encode_pcm16(sound(level, 1.0))).decode()
    part = {"type": "input_audio", "audio": audio}
    if transcript:
        part["transcript"] = transcript
    return {"id": "item_mine", "type": "message", "role": "user", "content": [part]}


async def push_to_talk(talker: Talker) -> None:
    await talker.update(audio={"input": {"turn_detection": None}})


# ---- while the user speaks


async def test_while_the_user_speaks_it_is_told_every_half_second_how_it_sounds() -> None:
    async with serving(models(Sadness())) as (url, _), talking(url, ATTUNED) as talker:
        for _ in range(25):
            await talker.say(SPEECH, 0.1)
        await talker.settle()
        running = percepts(talker, final=False)
        assert len(running) == 4
        begun = talker.of("input_audio_buffer.speech_started")[0]
        assert {event["item_id"] for event in running} == {begun["item_id"]}
        places = [event["at"] / WIRE_RATE for event in running]
        assert places == pytest.approx([0.5, 1.0, 1.5, 2.0], abs=0.1)
        emotion = running[-1]["percept"]["emotion"]
        assert (emotion["sad"], emotion["neutral"], sum(emotion.values())) == (0.9, 0.1, 1.0)
        assert not percepts(talker, final=True)


async def test_one_attention_listens_to_a_growing_utterance_and_another_to_the_next() -> None:
    perceiver = Sadness()
    async with serving(models(perceiver)) as (url, _), talking(url) as talker:
        for _ in range(2):
            await talker.ask(voice=1.6)
            await play_until(talker, "response.done")
    first, second = dict.fromkeys(brought.attention for brought in perceiver.brought)
    for attention in (first, second):
        seconds = [b.seconds for b in perceiver.brought if b.attention is attention]
        assert len(seconds) == 5, "three while it grew, the whole, and the whole with its words"
        assert seconds == sorted(seconds)


async def test_a_model_still_at_work_is_not_asked_again() -> None:
    perceiver = Sadness()
    perceiver.may_answer.clear()
    async with (
        serving(models(perceiver), clock="wall") as (url, _),
        talking(url, ATTUNED) as talker,
    ):
        for _ in range(25):
            await talker.say(SPEECH, 0.1)
        await talker.settle()
        assert len(perceiver.brought) == 1
        perceiver.may_answer.set()


@pytest.mark.parametrize(("took", "patience"), [(0.01, FOLLOW_SEC), (0.5, 0.5 / SHARE)])
async def test_a_model_that_takes_long_is_asked_less_often(took: float, patience: float) -> None:
    clock = SimpleNamespace(now=0.0)
    clock.time = lambda: clock.now
    work: list[Any] = []

    async def tell(event: Event) -> None:
        assert not event["final"]

    async def glance(*_: Any) -> Any:
        clock.now += took
        return known()

    room: Any = SimpleNamespace(clock=clock, tell=tell, ear=SimpleNamespace(position=int))
    room.spawn = lambda coroutine: work.append(coroutine)
    room.pressed = Calm()
    percepts: Any = SimpleNamespace(wanted=True, glance=glance, open=object)
    impression = Impression(percepts, room, "item_1", start=0)
    impression.follow(sound(HUSH, 0.1), 0)
    await work[0]
    assert not impression.due(round((patience - 0.01) * EAR_RATE))
    assert impression.due(round((patience + 0.01) * EAR_RATE))


async def test_a_noise_over_the_reply_is_no_turn_and_tells_nothing() -> None:
    async with serving(models(Sadness())) as (url, _), talking(url, ATTUNED) as talker:
        await talker.say(SPEECH, 0.8)
        await play_until(talker, DELTA)
        told = len(talker.of("attune.percept"))
        await talker.say(COUGH, 0.7)
        await play_until(talker, "response.done")
        assert talker.of("attune.hold")
        assert len(talker.of("attune.percept")) == told


# ---- at the end of the turn


async def test_every_turn_has_one_final_percept_joined_with_its_words_before_the_reply() -> None:
    perceiver = Sadness()
    async with serving(models(perceiver)) as (url, _), talking(url, ATTUNED) as talker:
        for count in (1, 2):
            before = len(talker.events)
            await talker.ask()
            await play_until(talker, "response.done")
            story = [event["type"] for event in talker.events[before:]]
            finals = percepts(talker, final=True)
            assert len(finals) == count
            final = talker.events.index(finals[-1]) - before
            assert story.index("input_audio_buffer.committed") < final < story.index(DELTA)
            committed = talker.of("input_audio_buffer.committed")[-1]
            assert finals[-1]["item_id"] == committed["item_id"]
    assert [b.words for b in perceiver.brought if b.words] == [WORDS, WORDS]


async def test_the_final_percept_says_how_much_input_it_rests_on() -> None:
    async with serving(models(Sadness())) as (url, _), talking(url, ATTUNED) as talker:
        await talker.say(HUSH, 2.0)
        await talker.ask()
        await play_until(talker, "response.done")
        (final,) = percepts(talker, final=True)
        assert final["at"] / WIRE_RATE == pytest.approx(3.1, abs=0.1)
        assert final["percept"]["seconds"] == pytest.approx(1.4, abs=0.1), "with its pre-roll"


async def test_what_was_perceived_in_a_pause_is_thrown_away_when_the_user_goes_on() -> None:
    perceiver = Sadness()
    slow = models(perceiver, turn_judge=Hesitant(0.1, 0.9))
    async with serving(slow) as (url, _), talking(url, ATTUNED) as talker:
        await talker.say(SPEECH, 0.8)
        await talker.say(HUSH, 0.4)
        await talker.settle()
        assert len(perceiver.times(joined=True)) == 1, "it was found out in the pause"
        assert not percepts(talker, final=True)
        await talker.say(SPEECH, 0.8)
        await play_until(talker, "response.done")
        (final,) = percepts(talker, final=True)
        assert final["percept"]["seconds"] > 2.0
        assert len({brought.attention for brought in perceiver.brought}) == 1


async def test_what_is_still_being_found_out_is_given_up_when_the_user_goes_on() -> None:
    perceiver = Sadness()
    perceiver.may_join.clear()
    slow = models(perceiver, turn_judge=Hesitant(0.1))
    async with serving(slow, clock="wall") as (url, _), talking(url, ATTUNED) as talker:
        await talker.say(SPEECH, 0.8)
        await talker.say(HUSH, 0.2)
        async with asyncio.timeout(20):
            await perceiver.joins.wait()
            perceiver.given_up.clear()  # of what went on before the pause
            await talker.say(SPEECH, 0.2)
            await perceiver.given_up.wait()


async def test_nothing_more_is_told_of_what_the_client_has_cleared() -> None:
    perceiver = Sadness()
    perceiver.may_answer.clear()
    async with (
        serving(models(perceiver), clock="wall") as (url, _),
        talking(url, ATTUNED) as talker,
    ):
        await talker.say(SPEECH, 1.0)
        await talker.send("input_audio_buffer.clear")
        await talker.settle()
        assert len(perceiver.brought) == 1
        perceiver.may_answer.set()
        await talker.settle()
        assert not talker.of("attune.percept")


async def test_noise_without_words_is_perceived_and_not_answered() -> None:
    async with serving(models(Sadness())) as (url, _), talking(url, ATTUNED) as talker:
        await talker.say(COUGH, 0.8)
        await play_until(talker, "input_audio_buffer.committed")
        await talker.settle()
        assert len(percepts(talker, final=True)) == 1
        assert not talker.of("response.created")


async def test_an_idle_line_has_nobody_to_perceive() -> None:
    perceiver = Sadness()
    async with serving(models(perceiver)) as (url, _), talking(url, ATTUNED) as talker:
        detection = {"type": "server_vad", "idle_timeout_ms": 3000}
        await talker.update(audio={"input": {"turn_detection": detection}})
        await talker.ask()
        await play_until(talker, "response.done")
        await play_until(talker, "input_audio_buffer.timeout_triggered")
        await play_until(talker, "response.done")
        assert len(percepts(talker, final=True)) == 1


async def test_the_timing_of_a_turn_holds_the_percept() -> None:
    async with serving(models(Sadness())) as (url, _), talking(url, ATTUNED) as talker:
        await talker.ask()
        await play_until(talker, "response.done")
        stages = talker.of("attune.timing")[0]["stages_ms"]
        assert 0 < stages["percept"] <= stages["first_sent"]


# ---- what the reply knows of it


async def test_the_reply_model_reads_how_it_was_said_and_only_of_the_last_turn() -> None:
    responder = Reciter()
    async with (
        serving(models(Sadness(), responder=responder)) as (url, _),
        talking(url) as talker,
    ):
        for _ in range(2):
            await talker.ask()
            await play_until(talker, "response.done")
        assert not talker.of("attune.percept"), "a client that did not ask is told nothing"
    said = [turn.text for turn in responder.asked[-1] if turn.role == "user"]
    assert said[-2:] == [WORDS, f"{WORDS} {REMARK}"]
    assert not any("sad" in text for text in responder.read), "it reads ahead without"


def test_an_items_percept_is_part_of_the_history() -> None:
    percept = known(emotion={"sad": 0.9})
    item = Item("item_1", "message", "user", text="Hello.", spoken=True, percept=percept)
    assert item.turn() == Turn("user", "Hello.", percept)


async def test_a_slow_perceiver_does_not_delay_the_reply_and_is_told_later() -> None:
    perceiver, responder = Sadness(), Reciter()
    perceiver.may_answer.clear()
    async with (
        serving(models(perceiver, responder=responder), clock="wall") as (url, _),
        talking(url, ATTUNED) as talker,
    ):
        await talker.ask()
        await talker.until(DELTA)
        assert not talker.of("attune.percept")
        assert responder.asked[-1][-1].text == WORDS
        perceiver.may_answer.set()
        final = await talker.until("attune.percept")
        assert (
            final["final"]
            and final["item_id"] == talker.of("conversation.item.added")[0]["item"]["id"]
        )
        assert "attune.percept" not in [event["type"] for event in await talker.settle()]


async def test_if_only_the_joining_is_late_the_reply_goes_by_the_voice() -> None:
    perceiver, responder = Sadness(), Reciter()
    perceiver.may_join.clear()
    async with (
        serving(models(perceiver, responder=responder), clock="wall") as (url, _),
        talking(url, ATTUNED) as talker,
    ):
        await talker.ask()
        await talker.until(DELTA)
        assert responder.asked[-1][-1].text == f"{WORDS} {REMARK}"
        assert not percepts(talker, final=True)
        perceiver.may_join.set()
        assert (await talker.until("attune.percept"))["final"]


async def test_a_percept_known_too_late_for_its_reply_is_still_in_the_history() -> None:
    perceiver, responder, speaker = Sadness(), Reciter(), Mute()
    perceiver.may_answer.clear()
    late = models(perceiver, responder=responder, speaker=speaker)
    async with serving(late, clock="wall") as (url, _), talking(url, ATTUNED) as talker:
        await talker.ask()
        await talker.until("response.created")
        perceiver.may_answer.set()
        await talker.until("attune.percept")
        await talker.send("response.cancel")
        await talker.until("response.done")
        await talker.send("response.create", response={"output_modalities": ["text"]})
        await talker.until("response.done")
        assert responder.asked[-1][-1].text == f"{WORDS} {REMARK}"


# ---- what goes wrong, and what is not wanted


async def test_a_perceiver_that_fails_is_logged_once_and_the_conversation_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    perceiver = Sadness()
    perceiver.error = BackendError("perceiver", "It cannot hear zanzibar.")
    async with serving(models(perceiver)) as (url, _), talking(url, ATTUNED) as talker:
        for _ in range(2):
            await talker.ask()
            done = await play_until(talker, "response.done")
            assert done["response"]["status"] == "completed"
        assert not talker.of("attune.percept")
        assert {event["error"]["event_id"] for event in talker.of("error")} == {"settled"}
        perceiver.error = None
        await talker.ask()
        await play_until(talker, "response.done")
        assert len(percepts(talker, final=True)) == 1, "it is asked again the next time"
    lines = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(lines) == 1 and lines[0].startswith("perception failed: BackendError at ")
    assert "zanzibar" not in lines[0]


async def test_a_client_may_switch_perception_off_and_on_again() -> None:
    perceiver, responder = Sadness(), Reciter()
    async with (
        serving(models(perceiver, responder=responder)) as (url, _),
        talking(url, ATTUNED) as talker,
    ):
        updated = await talker.update(attune={"perception": False})
        assert updated["session"]["attune"]["perception"] is False
        await talker.ask(voice=1.6)
        await play_until(talker, "response.done")
        await talker.send("conversation.item.create", item=spoken_item())
        await talker.settle()
        assert not perceiver.brought and not talker.of("attune.percept")
        assert responder.asked[-1][-1].text == WORDS
        await talker.update(attune={"perception": True})
        await talker.ask()
        await play_until(talker, "response.done")
        assert len(percepts(talker, final=True)) == 1


async def test_a_stock_client_that_only_switches_it_off_is_shown_that() -> None:
    async with serving() as (url, _), talking(url) as talker:
        assert "attune" not in talker.of("session.created")[0]["session"]
        updated = await talker.update(attune={"perception": False})
        assert updated["session"]["attune"]["perception"] is False


# ---- audio that is whole already


async def test_a_turn_committed_by_hand_is_perceived_and_its_reply_knows() -> None:
    perceiver, responder = Sadness(), Reciter()
    async with (
        serving(models(perceiver, responder=responder)) as (url, _),
        talking(url, ATTUNED) as talker,
    ):
        await push_to_talk(talker)
        await talker.say(SPEECH, 2.0)
        await talker.send("input_audio_buffer.commit")
        await talker.send("response.create")
        await play_until(talker, "response.done")
        (final,) = percepts(talker, final=True)
        assert final["item_id"] == talker.of("input_audio_buffer.committed")[0]["item_id"]
        assert final["at"] / WIRE_RATE == pytest.approx(2.0, abs=0.04)
        assert final["percept"]["seconds"] == pytest.approx(2.0, abs=0.04)
        assert not percepts(talker, final=False)
    assert [brought.words for brought in perceiver.brought] == ["", WORDS]
    assert responder.asked[-1][-1].text == f"{WORDS} {REMARK}"


async def test_a_turn_committed_while_it_is_spoken_has_one_final_percept() -> None:
    async with serving(models(Sadness())) as (url, _), talking(url, ATTUNED) as talker:
        await talker.say(SPEECH, 1.2)
        await talker.send("input_audio_buffer.commit")
        await talker.settle()
        await talker.say(HUSH, 1.0)
        await talker.settle()
        (final,) = percepts(talker, final=True)
        assert {event["item_id"] for event in percepts(talker, final=False)} == {final["item_id"]}


@pytest.mark.parametrize("transcript", [None, "It is written here."])
async def test_audio_a_client_puts_into_an_item_is_perceived(transcript: str | None) -> None:
    perceiver = Sadness()
    async with (
        serving(models(perceiver), clock="wall") as (url, _),
        talking(url, ATTUNED) as talker,
    ):
        await talker.send("conversation.item.create", item=spoken_item(transcript=transcript))
        final = await talker.until("attune.percept")
        assert (final["item_id"], final["final"], final["at"]) == ("item_mine", True, None)
    assert [brought.words for brought in perceiver.brought] == ["", transcript or WORDS]
    assert perceiver.brought[0].seconds == pytest.approx(1.0, abs=0.01)


async def test_an_item_may_be_deleted_while_it_is_still_listened_to() -> None:
    perceiver = Sadness()
    perceiver.may_answer.clear()
    async with (
        serving(models(perceiver), clock="wall") as (url, _),
        talking(url, ATTUNED) as talker,
    ):
        await talker.send("conversation.item.create", item=spoken_item())
        await talker.send("conversation.item.delete", item_id="item_mine")
        await talker.until("conversation.item.deleted")
        perceiver.may_answer.set()
        assert (await talker.until("attune.percept"))["final"]
        await talker.send("conversation.item.create", item=spoken_item())
        await talker.until("conversation.item.done")


async def test_of_very_many_items_at_once_only_some_are_perceived() -> None:
    perceiver = Sadness()
    perceiver.may_answer.clear()
    async with (
        serving(models(perceiver), clock="wall") as (url, _),
        talking(url, ATTUNED) as talker,
    ):
        for number in range(20):
            item = {**spoken_item(transcript="Hello."), "id": f"item_{number}"}
            await talker.send("conversation.item.create", item=item)
        await talker.settle()
        perceiver.may_answer.set()
        for _ in range(16):
            await talker.until("attune.percept")
        assert not [e for e in await talker.settle() if e["type"] == "attune.percept"]
