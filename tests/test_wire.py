"""The Realtime protocol, event by event, over a real socket with stand-in models."""

from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import pytest

from models.audio import decode_pcm16, encode_alaw, encode_mulaw, encode_pcm16
from tests.serving import serving
from tests.talker import HUSH, VOICE, play_until, sound, talking

MANUAL = {"audio": {"input": {"turn_detection": None}}}
USER_TEXT = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "what is the time"}],
}


async def test_a_session_opens_with_its_effective_settings() -> None:
    async with serving() as (url, _), talking(url, "?model=m1") as talker:
        assert talker.told() == ["session.created", "conversation.created"]
        session = talker.events[0]["session"]
        assert session["model"] == "m1"
        assert session["audio"]["input"]["turn_detection"]["type"] == "semantic_vad"
        assert session["audio"]["input"]["format"] == {"type": "audio/pcm", "rate": 24000}
        assert "attune" not in session


async def test_a_spoken_turn_is_told_in_the_documented_order() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.ask()
        await play_until(talker, "response.done")
        assert talker.told("input_audio_buffer", "conversation.item", "response") == [
            "input_audio_buffer.speech_started",
            "conversation.item.input_audio_transcription.delta",
            "input_audio_buffer.speech_stopped",
            "input_audio_buffer.committed",
            "conversation.item.added",
            "conversation.item.done",
            "conversation.item.input_audio_transcription.completed",
            "response.created",
            "response.output_item.added",
            "conversation.item.added",
            "response.content_part.added",
            *["response.output_audio_transcript.delta", "response.output_audio.delta"]
            * len(talker.of("response.output_audio_transcript.delta")),
            "response.output_audio.done",
            "response.output_audio_transcript.done",
            "response.content_part.done",
            "conversation.item.done",
            "response.output_item.done",
            "response.done",
        ]


async def test_ids_tie_the_events_of_a_turn_together() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.ask()
        done = await play_until(talker, "response.done")
        user, reply = (event["item"]["id"] for event in talker.of("conversation.item.added"))
        assert talker.of("input_audio_buffer.speech_started")[0]["item_id"] == user
        assert talker.of("input_audio_buffer.committed")[0]["previous_item_id"] is None
        assert talker.of("conversation.item.added")[1]["previous_item_id"] == user
        assert [item["id"] for item in done["response"]["output"]] == [reply]
        everything = [event["event_id"] for event in talker.events]
        assert len(set(everything)) == len(everything)


async def test_speech_is_placed_on_the_session_clock() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.say(HUSH, 2.0)
        await talker.ask(voice=1.5)
        await play_until(talker, "response.done")
        started = talker.of("input_audio_buffer.speech_started")[0]["audio_start_ms"]
        stopped = talker.of("input_audio_buffer.speech_stopped")[0]["audio_end_ms"]
        assert started == pytest.approx(2000, abs=70)
        assert stopped == pytest.approx(3500, abs=70)


async def test_usage_counts_what_was_heard_and_said() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.ask(voice=2.0)
        usage = (await play_until(talker, "response.done"))["response"]["usage"]
        assert usage["input_token_details"]["audio_tokens"] >= 20  # 10 a second
        assert usage["output_token_details"]["audio_tokens"] > 0
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


async def test_manual_turns_are_committed_and_answered_only_when_asked() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.update(**MANUAL)
        await talker.ask()
        assert not await talker.settle()
        await talker.send("input_audio_buffer.commit")
        await talker.until("conversation.item.input_audio_transcription.completed")
        assert not talker.of("response.created")
        await talker.send("response.create")
        await play_until(talker, "response.done")
        heard = talker.of("conversation.item.input_audio_transcription.completed")[0]["transcript"]
        said = talker.of("response.output_audio_transcript.done")[0]["transcript"]
        assert said == f"I heard you, you said {heard}."


async def test_committing_an_empty_buffer_is_an_error_that_names_its_event() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.update(**MANUAL)
        await talker.send("input_audio_buffer.commit", event_id="mine")
        error = (await talker.until("error"))["error"]
        assert (error["code"], error["event_id"]) == ("input_audio_buffer_commit_empty", "mine")


async def test_cleared_audio_is_not_committed() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.update(**MANUAL)
        await talker.say(VOICE, 1.0)
        await talker.send("input_audio_buffer.clear")
        await talker.until("input_audio_buffer.cleared")
        await talker.send("input_audio_buffer.commit")
        error = (await talker.until("error"))["error"]
        assert error["code"] == "input_audio_buffer_commit_empty"


async def test_text_in_text_out() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=USER_TEXT)
        await talker.send("response.create", response={"output_modalities": ["text"]})
        done = await talker.until("response.done")
        content = done["response"]["output"][0]["content"][0]
        assert content == {"type": "output_text", "text": "I heard you, you said what is the time."}
        pieces = "".join(event["delta"] for event in talker.of("response.output_text.delta"))
        assert pieces == content["text"]
        assert "response.output_audio.delta" not in talker.told()


async def test_a_response_out_of_band_leaves_the_conversation_alone() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=USER_TEXT)
        await talker.send(
            "response.create",
            response={
                "conversation": "none",
                "output_modalities": ["text"],
                "metadata": {"topic": "aside"},
                "input": [
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "only this"}],
                    }
                ],
            },
        )
        done = (await talker.until("response.done"))["response"]
        assert done["output"][0]["content"][0]["text"] == "I heard you, you said only this."
        assert done["metadata"] == {"topic": "aside"}
        assert done["conversation_id"] is None
        assert len(talker.of("conversation.item.added")) == 1
        await talker.send("conversation.item.retrieve", item_id=done["output"][0]["id"])
        error = (await talker.until("error"))["error"]
        assert error["code"] == "item_retrieve_invalid_item_id"


async def test_an_item_reference_brings_an_item_of_the_conversation() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item={**USER_TEXT, "id": "item_one"})
        await talker.send(
            "response.create",
            response={
                "conversation": "none",
                "output_modalities": ["text"],
                "input": [{"type": "item_reference", "id": "item_one"}],
            },
        )
        done = (await talker.until("response.done"))["response"]
        assert "what is the time" in done["output"][0]["content"][0]["text"]


async def test_only_one_response_of_the_conversation_at_a_time() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=USER_TEXT)
        await talker.send("response.create")
        await talker.until("response.created")
        await talker.send("response.create", event_id="second")
        error = (await talker.until("error"))["error"]
        assert error["code"] == "conversation_already_has_active_response"
        assert error["event_id"] == "second"
        await play_until(talker, "response.done")


async def test_a_response_may_follow_another_at_once() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=USER_TEXT)
        await talker.send("response.create")
        await play_until(talker, "response.done")
        await talker.send("response.create")  # the end of the first is still being played
        await play_until(talker, "response.done")
        assert not talker.of("error")[0]["error"]["message"].startswith("Conversation already")


async def test_a_response_is_announced_before_it_is_thought_of() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.update(**MANUAL)
        await talker.say(VOICE, 1.0)
        await talker.send("input_audio_buffer.commit")
        await talker.send("response.create")
        await talker.send("response.cancel")
        assert (await talker.until("response.done"))["response"]["status"] == "cancelled"
        assert talker.told("response") == ["response.created", "response.done"]


async def test_cancelling_ends_the_response_and_keeps_what_was_heard() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=USER_TEXT)
        await talker.send("response.create")
        await talker.until("response.output_audio.delta")
        await talker.say(HUSH, 0.5)
        await talker.send("response.cancel")
        done = (await talker.until("response.done"))["response"]
        assert done["status"] == "cancelled"
        assert done["status_details"] == {"type": "cancelled", "reason": "client_cancelled"}
        item = done["output"][0]
        assert item["status"] == "incomplete"
        assert item["content"][0]["transcript"] == "I heard"  # 0.2 s a word


async def test_cancelling_nothing_is_an_error_and_the_session_lives() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("response.cancel", event_id="c1")
        error = (await talker.until("error"))["error"]
        assert (error["code"], error["event_id"]) == ("response_cancel_not_active", "c1")
        await talker.ask()
        await play_until(talker, "response.done")


async def test_settings_merge_deeply() -> None:
    async with serving() as (url, _), talking(url) as talker:
        vad = {"type": "server_vad", "silence_duration_ms": 700}
        await talker.update(audio={"input": {"turn_detection": vad}}, instructions="Be brief.")
        session = (await talker.update(audio={"input": {"turn_detection": {"threshold": 0.7}}}))[
            "session"
        ]
        detection = session["audio"]["input"]["turn_detection"]
        assert (detection["silence_duration_ms"], detection["threshold"]) == (700, 0.7)
        assert session["instructions"] == "Be brief."
        assert session["audio"]["output"]["voice"] == "hibari"
        session = (await talker.update(audio={"input": {"turn_detection": None}}))["session"]
        assert session["audio"]["input"]["turn_detection"] is None
        session = (await talker.update(instructions=""))["session"]
        assert session["instructions"] == ""


@pytest.mark.parametrize(
    ("patch", "code", "param"),
    [
        (
            {"instructions": "x", "audio": {"input": {"turn_detection": {"treshold": 1}}}},
            "unknown_parameter",
            "session.audio.input.turn_detection.treshold",
        ),
        ({"instructions": "x", "colour": "red"}, "unknown_parameter", "session.colour"),
        (
            {"instructions": "x", "audio": {"output": {"speed": 9}}},
            "invalid_value",
            "session.audio.output.speed",
        ),
        (
            {"instructions": "x", "audio": {"input": {"format": {"type": "audio/opus"}}}},
            "invalid_value",
            "session.audio.input.format",
        ),
        ({"instructions": 5}, "invalid_type", "session.instructions"),
        ({"instructions": "x" * 40_000}, "invalid_value", "session.instructions"),
    ],
)
async def test_a_bad_setting_changes_nothing_at_all(
    patch: dict[str, Any], code: str, param: str
) -> None:
    async with serving() as (url, _), talking(url) as talker:
        error = (await talker.update(**patch))["error"]
        assert (error["code"], error["param"]) == (code, param)
        assert (await talker.update())["session"]["instructions"] == ""


async def test_the_model_is_named_once() -> None:
    async with serving() as (url, _), talking(url, "?model=one") as talker:
        error = (await talker.update(model="two", instructions="x"))["error"]
        assert (error["code"], error["param"]) == ("invalid_value", "session.model")
        assert (await talker.update(model="one"))["session"]["instructions"] == ""
    async with serving() as (url, _), talking(url) as talker:
        assert (await talker.update(model="one"))["session"]["model"] == "one"
        assert (await talker.update(model="two"))["type"] == "error"


async def test_the_voice_is_fixed_once_heard() -> None:
    async with serving() as (url, _), talking(url) as talker:
        voice: Any = {"output": {"voice": "ash"}}
        assert (await talker.update(audio=voice))["type"] == "session.updated"
        await talker.ask()
        await play_until(talker, "response.done")
        error = (await talker.update(audio={"output": {"voice": "sage"}}))["error"]
        assert error["code"] == "cannot_update_voice"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", "invalid_json"),
        ("[1]", "invalid_json"),
        ("{}", "missing_required_parameter"),
        ('{"type": "no.such.event"}', "invalid_value"),
        ('{"type": "input_audio_buffer.append"}', "missing_required_parameter"),
        ('{"type": "input_audio_buffer.append", "audio": "***"}', "invalid_value"),
        ('{"type": "input_audio_buffer.append", "audio": "QQ=="}', "invalid_value"),
        ('{"type": "conversation.item.retrieve", "item_id": "x"}', "item_retrieve_invalid_item_id"),
        ('{"type": "conversation.item.delete", "item_id": "x"}', "item_delete_invalid_item_id"),
        (
            '{"type": "conversation.item.truncate", "item_id": "x", "content_index": 0,'
            ' "audio_end_ms": 1}',
            "item_truncate_invalid_item_id",
        ),
        ('{"type": "conversation.item.create"}', "missing_required_parameter"),
        (
            '{"type": "conversation.item.create", "item": {"type": "message", "role": "user",'
            ' "content": [{"type": "input_image", "image_url": "x"}]}}',
            "invalid_value",
        ),
        (
            '{"type": "conversation.item.create", "item": {"type": "message", "role": "user",'
            ' "content": [{"type": "input_audio", "audio": "QUJD"}]}}',
            "invalid_value",
        ),
        (
            '{"type": "session.update", "session": {"prompt": {"a": '
            + "[" * 300
            + "]" * 300
            + "}}}",
            "invalid_value",
        ),
        ('{"type": "output_audio_buffer.clear"}', "output_audio_buffer_clear_not_active"),
        ('{"type": "response.create", "response": {"nope": 1}}', "unknown_parameter"),
    ],
)
async def test_a_bad_message_is_answered_and_the_session_lives(message: str, code: str) -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.socket.send(message)
        assert (await talker.until("error"))["error"]["code"] == code
        await talker.ask()
        await play_until(talker, "response.done")


async def test_items_are_created_in_place_retrieved_and_deleted() -> None:
    async with serving() as (url, _), talking(url) as talker:
        for name, after in (("a", None), ("c", None), ("b", "a"), ("first", "root")):
            fields: dict[str, Any] = {"item": {**USER_TEXT, "id": name}}
            if after:
                fields["previous_item_id"] = after
            await talker.send("conversation.item.create", **fields)
        await talker.settle()
        follows = {e["item"]["id"]: e["previous_item_id"] for e in talker.of(ADDED)}
        assert follows == {"a": None, "c": "a", "b": "a", "first": None}
        await talker.send("conversation.item.retrieve", item_id="b")
        assert (await talker.until("conversation.item.retrieved"))["item"]["id"] == "b"
        await talker.send("conversation.item.delete", item_id="b")
        assert (await talker.until("conversation.item.deleted"))["item_id"] == "b"
        await talker.send("conversation.item.retrieve", item_id="b")
        assert (await talker.until("error"))["error"]["code"] == "item_retrieve_invalid_item_id"


ADDED = "conversation.item.added"


async def test_a_retrieved_user_item_brings_its_sound() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.ask(voice=1.0)
        await play_until(talker, "response.done")
        item_id = talker.of("input_audio_buffer.committed")[0]["item_id"]
        await talker.send("conversation.item.retrieve", item_id=item_id)
        item = (await talker.until("conversation.item.retrieved"))["item"]
        audio = decode_pcm16(b64decode(item["content"][0]["audio"]))
        voiced = np.abs(audio) > 0.1
        assert voiced.sum() > 0.5 * 24_000


async def test_truncating_forgets_the_words_not_heard() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.ask()
        done = await play_until(talker, "response.done")
        item_id = done["response"]["output"][0]["id"]
        await talker.send(
            "conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=450
        )
        assert (await talker.until("conversation.item.truncated"))["audio_end_ms"] == 450
        await talker.send("conversation.item.retrieve", item_id=item_id)
        item = (await talker.until("conversation.item.retrieved"))["item"]
        assert item["content"][0]["transcript"] == "I heard"


async def test_truncating_beyond_the_audio_is_an_error() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.ask()
        done = await play_until(talker, "response.done")
        item_id = done["response"]["output"][0]["id"]
        await talker.send(
            "conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=99_000
        )
        error = (await talker.until("error"))["error"]
        assert (error["code"], error["param"]) == ("invalid_value", "audio_end_ms")


@pytest.mark.parametrize("kind", ["audio/pcmu", "audio/pcma"])
async def test_telephone_audio_both_ways(kind: str) -> None:
    encode = {"audio/pcmu": encode_mulaw, "audio/pcma": encode_alaw}[kind]
    async with serving() as (url, _), talking(url) as talker:
        form = {"format": {"type": kind}}
        await talker.update(audio={"input": form, "output": form})
        await talker.append(encode(sound(VOICE, 1.0)[::3]))  # 8 kHz
        for _ in range(100):
            await talker.append(encode(sound(HUSH, 0.2)[::3]))
            if any(e["type"] == "response.done" for e in await talker.settle()):
                break
        data = b"".join(b64decode(e["delta"]) for e in talker.of("response.output_audio.delta"))
        words = talker.of("response.output_audio_transcript.done")[0]["transcript"].split()
        assert len(data) / 8000 == pytest.approx(0.2 * len(words), abs=0.1)


async def test_a_response_may_have_its_own_instructions_and_limit() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=USER_TEXT)
        await talker.send(
            "response.create",
            response={"output_modalities": ["text"], "max_output_tokens": 3, "instructions": "x"},
        )
        response = (await talker.until("response.done"))["response"]
        assert response["status"] == "incomplete"
        assert response["status_details"]["reason"] == "max_output_tokens"
        assert response["output"][0]["content"][0]["text"] == "I heard you,"


async def test_stock_clients_see_no_event_of_ours() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.ask()
        await play_until(talker, "response.done")
        assert not [kind for kind in talker.told() if kind.startswith("attune.")]


@pytest.mark.parametrize("how", ["query", "update"])
async def test_clients_that_ask_see_our_events(how: str) -> None:
    query = "?attune=1" if how == "query" else ""
    async with serving() as (url, _), talking(url, query) as talker:
        if how == "update":
            await talker.update(attune={"events": True})
        await talker.ask()
        await play_until(talker, "response.done")
        stages = talker.of("attune.timing")[0]["stages_ms"]
        assert next(iter(stages)) == "speech_end"
        assert stages.keys() >= {"words", "judged", "gate", "first_token", "first_sent"}


async def test_audio_travels_as_binary_frames_both_ways() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.update(attune={"binary": True})
        await talker.socket.send(encode_pcm16(sound(VOICE, 1.0)))
        while not any(e["type"] == "response.done" for e in await talker.settle()):
            await talker.socket.send(encode_pcm16(sound(HUSH, 0.2)))
        assert "response.output_audio.delta" not in talker.told()
        headers = [np.frombuffer(frame[:8], "<u4") for frame in talker.audio]
        sequence = talker.of("response.created")[0]["response"]["attune"]["sequence"]
        assert {int(header[0]) for header in headers} == {sequence}
        sizes = [(len(frame) - 8) // 2 for frame in talker.audio]
        assert [int(header[1]) for header in headers] == np.cumsum([0, *sizes])[:-1].tolist()


async def test_binary_frames_unasked_for_are_an_error() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.socket.send(b"\0\0")
        assert (await talker.until("error"))["error"]["code"] == "invalid_value"


async def test_a_transcription_session_writes_and_never_answers() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("session.update", session={"type": "transcription"})
        await talker.until("session.updated")
        await talker.ask()
        await play_until(talker, "conversation.item.input_audio_transcription.completed")
        await talker.say(HUSH, 3.0)
        await talker.settle()
        assert not talker.of("response.created")


async def test_too_large_an_append_is_an_error() -> None:
    async with serving() as (url, _), talking(url) as talker:
        audio = b64encode(bytes(15 * 1024 * 1024 + 2)).decode()
        await talker.send("input_audio_buffer.append", audio=audio)
        assert (await talker.until("error"))["error"]["code"] == "invalid_value"


async def test_an_uncommitted_buffer_is_bounded() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.update(**MANUAL)
        for _ in range(2):  # 306 s each, and 600 s are kept
            await talker.append(bytes(14 * 1024 * 1024))
        codes = [e["error"]["code"] for e in await talker.settle() if e["type"] == "error"]
        assert codes == ["input_audio_buffer_full"]
        await talker.send("input_audio_buffer.commit")
        await talker.until("input_audio_buffer.committed")
        await talker.append(bytes(14 * 1024 * 1024))
        assert not [e for e in await talker.settle() if e["type"] == "error"]


async def test_history_is_bounded() -> None:
    async with serving() as (url, _), talking(url) as talker:
        for _ in range(1_001):
            await talker.send("conversation.item.create", item=USER_TEXT)
        codes = [e["error"]["code"] for e in await talker.settle() if e["type"] == "error"]
        assert codes == ["conversation_too_long"]


async def test_a_truncate_during_the_response_outlives_it() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=USER_TEXT)
        await talker.send("response.create")
        added = await talker.until("response.output_item.added")
        await talker.until("response.output_audio.delta")
        await talker.say(HUSH, 0.5)
        await talker.send(
            "conversation.item.truncate",
            item_id=added["item"]["id"],
            content_index=0,
            audio_end_ms=200,
        )
        done = await play_until(talker, "response.done")
        assert done["response"]["output"][0]["content"][0]["transcript"] == "I"


async def test_cancelling_an_aside_leaves_the_conversation_alone() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=USER_TEXT)
        await talker.send("response.create", response={"conversation": "none"})
        response_id = (await talker.until("response.created"))["response"]["id"]
        await talker.until("response.output_audio.delta")
        await talker.send("response.cancel", response_id=response_id)
        assert (await talker.until("response.done"))["response"]["status"] == "cancelled"
        await talker.settle()
        assert not talker.of("conversation.item.truncated")


async def test_asides_are_bounded() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=USER_TEXT)
        for _ in range(9):
            await talker.send("response.create", response={"conversation": "none"})
        codes = [e["error"]["code"] for e in await talker.settle() if e["type"] == "error"]
        assert codes == ["too_many_responses"]


async def test_the_id_of_what_is_being_said_is_taken() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.say(VOICE, 0.5)
        started = await talker.until("input_audio_buffer.speech_started")
        item = {**USER_TEXT, "id": started["item_id"]}
        await talker.send("conversation.item.create", item=item)
        error = (await talker.until("error"))["error"]
        assert error["code"] == "item_create_duplicate_item_id"
        await play_until(talker, "response.done")
