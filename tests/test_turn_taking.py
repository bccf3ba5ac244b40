"""Who has the word, over a real socket: turns, pauses, interruptions. Time is samples."""

from typing import Any

import numpy as np
import pytest

from models.protocols import Models
from models.types import WIRE_RATE
from tests.fakes import COUGH, HUM, SPEECH, Hesitant, Mute, Reciter, SaysByLevel
from tests.serving import serving, standins
from tests.talker import HUSH, VOICE, Talker, play_until, talking

STARTED, STOPPED = "input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped"
ATTUNED = "?attune=1"


def models(**roles: Any) -> Models:
    return standins(**{"transcriber": SaysByLevel(), "responder": Reciter(), **roles})


async def reply_sounds(talker: Talker, seconds: float = 1.0) -> None:
    """Ask something, and hear so much of the answer."""
    await talker.say(SPEECH, 0.8)
    await play_until(talker, "response.output_audio.delta")
    await talker.say(HUSH, seconds)
    await talker.settle()


async def pass_time(talker: Talker, seconds: float) -> None:
    for _ in range(round(seconds / 0.1)):
        await talker.say(HUSH, 0.1)
    await talker.settle()


async def test_an_interruption_cancels_and_keeps_what_was_heard() -> None:
    responder = Reciter()
    async with serving(models(responder=responder)) as (url, _), talking(url) as talker:
        await reply_sounds(talker, 1.0)
        before = len(talker.events)
        await talker.say(SPEECH, 0.8)
        await talker.settle()
        told = [e["type"] for e in talker.events[before:]]
        assert told.index(STARTED) < told.index("response.done")
        assert told.index("response.done") < told.index("conversation.item.truncated")
        done = talker.of("response.done")[0]["response"]
        assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
        heard = done["output"][0]["content"][0]["transcript"].split()
        assert heard == [f"w{n}" for n in range(1, len(heard) + 1)]
        truncated = talker.of("conversation.item.truncated")[0]["audio_end_ms"]
        assert len(heard) == pytest.approx(truncated / 200, abs=1)
        assert responder.open == 0
        await play_until(talker, "response.done")
        before_last = responder.asked[-1][-2]
        assert (before_last.role, before_last.text) == ("assistant", " ".join(heard))


async def test_the_interruption_is_back_dated_to_its_first_sound() -> None:
    async with serving(models()) as (url, _), talking(url) as talker:
        await reply_sounds(talker)
        position = talker.sent_seconds * 1000
        await talker.say(SPEECH, 0.8)
        await talker.settle()
        assert talker.of(STARTED)[-1]["audio_start_ms"] == pytest.approx(position, abs=80)


async def test_sound_over_the_reply_holds_it_before_it_is_understood() -> None:
    async with serving(models()) as (url, _), talking(url, ATTUNED) as talker:
        await reply_sounds(talker)
        await talker.say(SPEECH, 0.2)
        told = [event["type"] for event in await talker.settle()]
        assert "attune.hold" in told
        assert STARTED not in told


@pytest.mark.parametrize("sound", [HUM, COUGH])
async def test_a_hum_or_a_cough_only_makes_the_reply_wait(sound: float) -> None:
    async with serving(models()) as (url, _), talking(url, ATTUNED) as talker:
        await reply_sounds(talker)
        await talker.say(sound, 0.3)
        await play_until(talker, "response.done")
        assert talker.told("attune.hold", "attune.resume") == ["attune.hold", "attune.resume"]
        held, resumed = talker.of("attune.hold")[0], talker.of("attune.resume")[0]
        assert held["sample"] == resumed["sample"]
        assert talker.of("response.done")[0]["response"]["status"] == "completed"
        assert len(talker.of(STARTED)) == 1
        await pass_time(talker, 3.0)
        assert len(talker.of("response.created")) == 1, "and nobody answers a hum"


async def test_a_long_noise_holds_the_reply_for_700_ms_at_most() -> None:
    async with serving(models()) as (url, _), talking(url, ATTUNED) as talker:
        await reply_sounds(talker)
        at: dict[str, int] = {}
        for step in range(20):
            await talker.say(COUGH, 0.1)
            for event in await talker.settle():
                at.setdefault(event["type"], (step + 1) * 100)
        assert at["attune.hold"] <= 250
        assert at["attune.resume"] <= 800
        assert "response.done" not in at or at["response.done"] > at["attune.resume"]


async def test_words_at_the_end_of_a_long_noise_still_interrupt() -> None:
    async with serving(models()) as (url, _), talking(url, ATTUNED) as talker:
        await reply_sounds(talker)
        await talker.say(COUGH, 1.2)
        await talker.settle()
        assert talker.of("attune.resume")
        await talker.say(SPEECH, 0.6)
        await talker.settle()
        assert talker.of("response.done")[0]["response"]["status"] == "cancelled"


async def test_two_interruptions_in_a_row() -> None:
    async with serving(models()) as (url, _), talking(url) as talker:
        for count in (1, 2):
            await reply_sounds(talker)
            assert len(talker.of("response.created")) == count
        await talker.say(SPEECH, 0.8)
        await play_until(talker, "response.done")
        await play_until(talker, "response.done")
        statuses = [e["response"]["status"] for e in talker.of("response.done")]
        assert statuses == ["cancelled", "cancelled", "completed"]


async def test_a_client_that_acknowledges_is_believed() -> None:
    async with serving(models()) as (url, _), talking(url, ATTUNED) as talker:
        await reply_sounds(talker, 2.0)
        created = talker.of("response.created")[0]["response"]["id"]
        item = talker.of("response.output_item.added")[0]["item"]["id"]
        await talker.send(
            "attune.playback",
            response_id=created,
            item_id=item,
            played_samples=24_000 * 6 // 10,
            input_samples=10,
        )
        await talker.say(SPEECH, 0.8)
        await talker.settle()
        output = talker.of("response.done")[0]["response"]["output"][0]
        assert output["content"][0]["transcript"] == "w1 w2 w3"
        assert talker.of("conversation.item.truncated")[0]["audio_end_ms"] == 600


async def test_a_user_who_goes_on_before_the_reply_sounds_is_answered_once_for_both() -> None:
    responder, speaker = Reciter(), Mute()
    slow = models(responder=responder, speaker=speaker)
    async with serving(slow, clock="wall") as (url, _), talking(url) as talker:
        await talker.say(SPEECH, 0.8)
        await talker.say(HUSH, 0.4)
        await talker.until("response.created")
        await talker.say(SPEECH, 0.8)
        assert (await talker.until("response.done"))["response"]["status"] == "cancelled"
        await talker.say(HUSH, 0.4)
        await talker.until("response.created")
        speaker.may_speak.set()
        await talker.until("response.output_audio.delta")
        assert responder.asked[-1][-1].text == "please tell me more please tell me more"
        assert len(talker.of("conversation.item.added")) == 3


async def test_a_thinker_is_waited_for() -> None:
    judge = Hesitant(0.1, 0.1, 0.9)
    responder = Reciter()
    async with (
        serving(models(turn_judge=judge, responder=responder)) as (url, _),
        talking(url) as talker,
    ):
        await talker.say(SPEECH, 0.8)
        await pass_time(talker, 1.0)
        assert not talker.of(STOPPED)
        await talker.say(SPEECH, 0.8)
        await play_until(talker, "response.done")
        assert len(talker.of(STARTED)) == len(talker.of("response.created")) == 1
        assert len(responder.asked) >= 2, "it thought in the pause"
        assert len(talker.of("input_audio_buffer.committed")) == 1


async def test_an_unfinished_turn_ends_at_the_eagerness_limit() -> None:
    for eagerness, limit in (("high", 2.0), ("medium", 4.0)):
        async with (
            serving(models(turn_judge=Hesitant(0.1), transcriber=SaysByLevel("and then I"))) as (
                url,
                _,
            ),
            talking(url) as talker,
        ):
            detection = {"type": "semantic_vad", "eagerness": eagerness}
            await talker.update(audio={"input": {"turn_detection": detection}})
            await talker.say(SPEECH, 0.8)
            await pass_time(talker, limit - 0.2)
            assert not talker.of(STOPPED)
            await pass_time(talker, 0.5)
            assert talker.of(STOPPED)


async def test_server_vad_ends_after_its_silence_and_asks_no_judge() -> None:
    judge = Hesitant(0.1)
    async with serving(models(turn_judge=judge)) as (url, _), talking(url) as talker:
        detection = {"type": "server_vad", "silence_duration_ms": 800}
        await talker.update(audio={"input": {"turn_detection": detection}})
        await talker.say(SPEECH, 0.8)
        await pass_time(talker, 0.7)
        assert not talker.of(STOPPED)
        await pass_time(talker, 0.3)
        assert talker.of(STOPPED)
        assert judge.asked == 0


async def test_noise_without_words_gets_no_reply() -> None:
    responder = Reciter()
    async with serving(models(responder=responder)) as (url, _), talking(url) as talker:
        await talker.say(COUGH, 0.8)
        await pass_time(talker, 3.0)
        assert talker.of(STOPPED)
        assert not talker.of("response.created")
        assert responder.asked == []


async def test_without_create_response_turns_are_told_but_not_answered() -> None:
    async with serving(models()) as (url, _), talking(url) as talker:
        detection = {"type": "semantic_vad", "create_response": False}
        await talker.update(audio={"input": {"turn_detection": detection}})
        await talker.say(SPEECH, 0.8)
        await pass_time(talker, 3.0)
        assert talker.of("input_audio_buffer.committed")
        assert not talker.of("response.created")
        await talker.send("response.create")
        await play_until(talker, "response.done")


async def test_without_interrupt_response_the_turn_is_answered_after_the_reply() -> None:
    responder = Reciter()
    async with serving(models(responder=responder)) as (url, _), talking(url) as talker:
        detection = {"type": "semantic_vad", "interrupt_response": False}
        await talker.update(audio={"input": {"turn_detection": detection}})
        await reply_sounds(talker)
        await talker.say(SPEECH, 0.8)
        await play_until(talker, "response.done")
        assert talker.of("response.done")[0]["response"]["status"] == "completed"
        assert len(talker.of(STARTED)) == 2
        await play_until(talker, "response.done")
        asked = [turn.text for turn in responder.asked[-1][-3:]]
        assert asked[0] == asked[2] == "please tell me more"
        assert asked[1].endswith("w19 w20")


async def test_an_idle_line_is_asked_if_anybody_is_there() -> None:
    async with serving(models()) as (url, _), talking(url) as talker:
        detection = {"type": "server_vad", "idle_timeout_ms": 3000}
        await talker.update(audio={"input": {"turn_detection": detection}})
        await talker.say(SPEECH, 0.8)
        await play_until(talker, "response.done")
        triggered = await play_until(talker, "input_audio_buffer.timeout_triggered")
        assert triggered["audio_end_ms"] - triggered["audio_start_ms"] == pytest.approx(
            3000, abs=40
        )
        await play_until(talker, "response.done")
        assert len(talker.of("input_audio_buffer.committed")) == 2


async def test_partial_words_come_while_the_user_speaks() -> None:
    async with serving() as (url, _), talking(url) as talker:
        for _ in range(30):
            await talker.say(SPEECH, 0.1)
        await talker.settle()
        deltas = talker.of("conversation.item.input_audio_transcription.delta")
        assert len(deltas) >= 2
        assert not talker.of(STOPPED)
        await play_until(talker, "response.done")
        final = talker.of("conversation.item.input_audio_transcription.completed")[0]["transcript"]
        assert final.startswith("".join(delta["delta"] for delta in deltas))


async def test_without_transcription_no_words_are_told_but_the_reply_comes() -> None:
    async with serving(models()) as (url, _), talking(url) as talker:
        await talker.update(audio={"input": {"transcription": None}})
        await talker.say(SPEECH, 1.5)
        await play_until(talker, "response.done")
        assert not talker.told("conversation.item.input_audio_transcription")


async def test_the_reply_model_reads_along_while_the_user_speaks() -> None:
    responder = Reciter()
    async with serving(models(responder=responder)) as (url, _), talking(url) as talker:
        for _ in range(12):
            await talker.say(SPEECH, 0.1)
        await talker.settle()
        assert responder.read[-1] == "please tell me more"
        assert responder.asked == []


async def test_a_turn_of_a_minute_is_one_turn() -> None:
    async with serving(models()) as (url, _), talking(url) as talker:
        for _ in range(20):
            await talker.say(SPEECH, 2.9)
            await talker.say(HUSH, 0.13)
        await play_until(talker, "response.done")
        assert len(talker.of(STARTED)) == 1
        stopped = talker.of(STOPPED)[0]["audio_end_ms"]
        assert stopped == pytest.approx(60_500, abs=200)


@pytest.mark.slow
async def test_minutes_of_silence_change_nothing() -> None:
    async with serving(models()) as (url, _), talking(url) as talker:
        for _ in range(30):
            await talker.say(HUSH, 10.0)
        assert await talker.settle() == []
        await talker.say(SPEECH, 0.8)
        await play_until(talker, "response.done")
        assert talker.of(STARTED)[0]["audio_start_ms"] == pytest.approx(300_000, abs=80)


async def test_the_same_recording_gives_the_same_conversation_however_it_is_cut() -> None:
    async def story(step: float) -> list[tuple[str, Any]]:
        async with serving(models()) as (url, _), talking(url, ATTUNED) as talker:
            script = [(SPEECH, 0.8), (HUSH, 2.4), (COUGH, 0.4), (HUSH, 1.6), (SPEECH, 1.2)]
            for level, seconds in [*script, (HUSH, 8.0)]:
                for _ in range(round(seconds / step)):
                    await talker.say(level, step)
            await talker.settle()
            keys = ("audio_start_ms", "audio_end_ms", "sample", "transcript", "delta")
            return [
                (e["type"], [e[key] for key in keys if key in e])
                for e in talker.events
                if e["type"] not in ("session.created", "attune.timing")
            ]

    assert await story(0.4) == await story(0.04)


@pytest.mark.parametrize("how", ["clear", "commit", "manual"])
async def test_a_held_reply_goes_on_when_the_client_drops_what_held_it(how: str) -> None:
    async with serving(models()) as (url, _), talking(url, ATTUNED) as talker:
        await reply_sounds(talker)
        await talker.say(SPEECH, 0.2)
        assert "attune.hold" in [event["type"] for event in await talker.settle()]
        if how == "manual":
            await talker.update(audio={"input": {"turn_detection": None}})
        else:
            await talker.send(f"input_audio_buffer.{how}")
        await play_until(talker, "response.done")
        assert talker.of("response.done")[0]["response"]["status"] == "completed"
        assert talker.of("attune.resume")


async def test_a_cough_before_the_reply_sounds_does_not_swallow_the_question() -> None:
    responder, speaker = Reciter(), Mute()
    slow = models(responder=responder, speaker=speaker)
    async with serving(slow, clock="wall") as (url, _), talking(url, ATTUNED) as talker:
        await talker.say(SPEECH, 0.8)
        await talker.say(HUSH, 0.4)
        await talker.until("response.created")
        await talker.say(COUGH, 0.3)
        await talker.say(HUSH, 0.4)
        await talker.settle()
        speaker.may_speak.set()
        await talker.until("response.output_audio.delta")
        assert not talker.of("response.done")
        assert not talker.told("attune.hold", "attune.resume"), "nothing was heard that could stop"


async def test_after_a_while_of_push_to_talk_speech_is_still_placed_right() -> None:
    async with serving(models()) as (url, _), talking(url) as talker:
        await talker.update(audio={"input": {"turn_detection": None}})
        await talker.say(HUSH, 5.0)
        await talker.update(audio={"input": {"turn_detection": {"type": "semantic_vad"}}})
        await talker.say(HUSH, 1.0)
        await talker.say(SPEECH, 0.8)
        await play_until(talker, "response.done")
        assert talker.of(STARTED)[0]["audio_start_ms"] == pytest.approx(6000, abs=80)


async def test_noise_during_a_reply_that_goes_on_is_not_answered_after_it() -> None:
    async with serving(models()) as (url, _), talking(url) as talker:
        detection = {"type": "semantic_vad", "interrupt_response": False}
        await talker.update(audio={"input": {"turn_detection": detection}})
        await reply_sounds(talker)
        await talker.say(COUGH, 0.5)
        await play_until(talker, "response.done")
        await pass_time(talker, 3.0)
        assert len(talker.of("response.created")) == 1


async def test_an_idle_line_is_noticed_after_a_noise_as_well() -> None:
    async with serving(models()) as (url, _), talking(url) as talker:
        detection = {"type": "server_vad", "idle_timeout_ms": 3000}
        await talker.update(audio={"input": {"turn_detection": detection}})
        await talker.say(COUGH, 0.8)
        await play_until(talker, "input_audio_buffer.timeout_triggered")


async def test_a_reply_given_while_turns_are_taken_by_hand_deafens_nobody_afterwards() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.update(audio={"input": {"turn_detection": None}})
        await talker.say(VOICE, 1.0)
        await talker.send("input_audio_buffer.commit")
        await talker.send("response.create")
        await play_until(talker, "response.done")
        vad = {"type": "server_vad", "silence_duration_ms": 200}
        await talker.update(audio={"input": {"turn_detection": vad}})
        tone = 0.3 * np.sin(2 * np.pi * 220 * np.arange(WIRE_RATE // 2) / WIRE_RATE)
        await talker.send_audio(tone.astype(np.float32))  # as the stand-in's own voice sounds
        await talker.say(HUSH, 1.0)
        kinds = [event["type"] for event in await talker.settle()]
        assert "input_audio_buffer.speech_started" in kinds
