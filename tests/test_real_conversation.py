"""Whole conversations with the embedded models, at the speed the machine has: time is samples."""

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import soundfile

from models import registry
from models.audio import resample
from models.protocols import Models
from models.style import PLAIN
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Samples
from server.bench.barge import REQUEST, STORY
from server.config import PROFILES
from tests.serving import serving
from tests.talker import HUSH, Talker, play_until, talking
from tests.test_stock_clients import calling

SPEECH = Path(__file__).parent / "data" / "speech"
COMPLETED = "conversation.item.input_audio_transcription.completed"
NOSE = {250: 1.0, 1100: 0.05, 2200: 0.02}  # Hz of a resonance, and its strength


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    loaded = registry.load(registry.read(PROFILES / "embedded.toml"))
    yield loaded
    loaded.close()


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def shared(said: str, heard: str) -> float:
    """The part of the words said that were heard."""
    wanted, got = words(said), words(heard)
    return sum(word in got for word in wanted) / len(wanted)


@cache
def recording(name: str) -> tuple[Samples, str]:
    """A human voice at WIRE_RATE, and its words."""
    with (SPEECH / "transcripts.tsv").open() as table:
        texts = {row["file"]: row["text"] for row in csv.DictReader(table, delimiter="\t")}
    samples, rate = soundfile.read(SPEECH / name, dtype="float32")
    return resample(samples, rate, WIRE_RATE), texts[name]


async def spoken(models: Models, text: str) -> Samples:
    """The embedded voice, as another person's."""
    chunks = [chunk.audio async for chunk in models.speaker.speak(text, PLAIN)]
    return AudioChunk.join(chunks).samples


def coughs(seconds: float) -> Samples:
    """Bursts of noise dying away, twice a second."""
    time = np.arange(round(seconds * WIRE_RATE)) / WIRE_RATE
    noise = np.random.default_rng(0).standard_normal(len(time))
    return (0.2 * noise * np.exp(-(time % 0.5) / 0.08)).astype(np.float32)


def hum(*pitches: float, seconds: float = 0.28) -> Samples:
    """Notes with the mouth shut, gliding a little: harmonics under the nose's low resonance."""
    time = np.arange(round(seconds * WIRE_RATE)) / WIRE_RATE
    swell = np.minimum(1, np.minimum(time, seconds - time) / 0.05)
    glide = np.cumsum(1 + 0.05 * np.sin(np.pi * time / seconds)) / WIRE_RATE
    notes = []
    for pitch in pitches:
        note = np.zeros(len(time))
        for harmonic in np.arange(pitch, 6_000, pitch):
            strength = sum(loud / (1 + ((harmonic - at) / 110) ** 2) for at, loud in NOSE.items())
            note += strength * np.sin(2 * np.pi * harmonic * glide)
        notes.append(0.2 * swell * note / np.abs(note).max())
    return np.concatenate(notes).astype(np.float32)


async def reply_sounds(models: Models, talker: Talker) -> str:
    """Have a long story told again, and listen to its first second and a half; returns its id."""
    content = [{"type": "output_text", "text": STORY}]
    story = {"type": "message", "role": "assistant", "content": content}
    await talker.send("conversation.item.create", item=story)
    await talker.send_audio(await spoken(models, REQUEST))
    begun = await play_until(talker, "response.output_audio.delta")
    await talker.say(HUSH, 1.5)
    await talker.settle()
    assert not talker.of("response.done")
    return str(begun["response_id"])


async def test_a_recorded_question_gets_a_spoken_answer(models: Models) -> None:
    question, text = recording("211-122425-0000.ogg")
    async with serving(models) as (url, _), calling(url) as caller:
        await caller.connection.session.update(
            session={"type": "realtime", "max_output_tokens": 60}
        )
        await caller.send_audio(question)
        done = (await caller.hush_until("response.done", seconds=60)).response
        heard = caller.of(COMPLETED)
        assert len(heard) == 1
        assert shared(text, heard[0].transcript) > 0.8
        assert done.status in ("completed", "incomplete")
        said = done.output[0].content[0].transcript
        assert len(words(said)) >= 3
        voice = AudioChunk(resample(caller.sound_of(done.id), WIRE_RATE, EAR_RATE))
        assert shared(said, await models.transcriber.transcribe(voice)) > 0.7
        assert not caller.of("error")


async def test_a_second_question_is_answered_as_well(models: Models) -> None:
    async with serving(models) as (url, _), calling(url) as caller:
        for question in ("What is the capital of France?", "And what is the capital of Italy?"):
            await caller.send_audio(await spoken(models, question))
            done = (await caller.hush_until("response.done", seconds=60)).response
            assert words(caller.of(COMPLETED)[-1].transcript) == words(question)
            assert len(words(done.output[0].content[0].transcript)) >= 1
            await caller.say(HUSH, 1.0)
        assert not caller.of("error")


async def test_noise_without_words_gets_no_reply(models: Models) -> None:
    hiss = 0.1 * np.random.default_rng(1).standard_normal(2 * WIRE_RATE).astype(np.float32)
    async with serving(models) as (url, _), talking(url) as talker:
        for noise in (coughs(3.0), hiss):
            await talker.send_audio(noise)
            await talker.say(HUSH, 5.0)
        await talker.settle()
        assert not talker.of("response.created")
        await talker.send_audio(await spoken(models, "Are you there?"))
        await play_until(talker, "response.done")


async def test_words_over_the_reply_interrupt_it(models: Models) -> None:
    async with serving(models) as (url, _), talking(url, "?attune=1") as talker:
        response_id = await reply_sounds(models, talker)
        await talker.send_audio(await spoken(models, "Stop, wait a moment."))
        done = (await play_until(talker, "response.done"))["response"]
        assert done["id"] == response_id
        assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
        assert talker.of("attune.hold") and not talker.of("attune.resume")
        await talker.say(HUSH, 2.0)
        await talker.settle()
        assert words(talker.of(COMPLETED)[-1]["transcript"]) == ["stop", "wait", "a", "moment"]
        assert len(talker.of("response.created")) == 2  # and it is answered


@pytest.mark.parametrize("sound", ["mm-hmm", "yeah", "cough"])
async def test_humming_along_and_coughing_do_not_stop_the_reply(models: Models, sound: str) -> None:
    over = {
        "mm-hmm": hum(210, 260),
        "yeah": await spoken(models, "Yeah."),
        "cough": coughs(0.5),
    }[sound]
    async with serving(models) as (url, _), talking(url, "?attune=1") as talker:
        response_id = await reply_sounds(models, talker)
        await talker.send_audio(over)
        done = (await play_until(talker, "response.done"))["response"]
        assert done["id"] == response_id
        assert done["status"] in ("completed", "incomplete")
        holds = [len(talker.of(kind)) for kind in ("attune.hold", "attune.resume")]
        assert holds == ([0, 0] if sound == "cough" else [1, 1])  # a voice is waited for
        assert len(talker.of("input_audio_buffer.speech_started")) == 1  # the question
