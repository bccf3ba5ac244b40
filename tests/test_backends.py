"""One contract for the backends of a role, whichever they are."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from models.audio import resample
from models.due import needed
from models.errors import BackendError
from models.perception.labels import DIMENSIONS
from models.prompt import messages
from models.protocols import (
    Perceiver,
    Responder,
    Speaker,
    Transcriber,
    TurnJudge,
    VoiceDetector,
)
from models.registry import BACKENDS, Choice, build
from models.responder_llamacpp import LlamaCpp
from models.speaker_hibari import Hibari
from models.standin import StandinResponder, StandinTranscriber
from models.style import PLAIN, Style
from models.thinking.tuned import TunedThinker
from models.types import EAR_RATE, FRAME, WIRE_RATE, AudioChunk, Samples, Token, Turn

pytestmark = pytest.mark.asyncio(loop_scope="module")  # a backend lives in one event loop

OPTIONS: dict[str, dict[str, Any]] = {"llamacpp": {"slots": 2}}
AUDIBLE = 10 ** (-45 / 20)
STORY = messages("", [Turn("user", "Tell me a long story about a fox and a bear.")])


# Those that need a server or the model hub are held to the same in tests of their own.
ELSEWHERE = {"openai", "vllm", "whisper", "kokoro", "attune+hf", "attune+emotion2vec"}


def every(role: str) -> Callable[..., Any]:
    """A fixture that gives each backend of a role, built once."""
    here = [name for name in BACKENDS[role] if name not in ELSEWHERE]

    def built(request: pytest.FixtureRequest) -> Iterator[Any]:
        backend = build(role, Choice(request.param, OPTIONS.get(request.param, {})))
        yield backend
        if close := getattr(backend, "close", None):
            close()

    return pytest.fixture(built, scope="module", params=here, name=role)


voice_detector = every("voice_detector")
turn_judge = every("turn_judge")
transcriber = every("transcriber")
perceiver = every("perceiver")
responder = every("responder")
speaker = every("speaker")


@pytest.fixture(scope="module")
def speech() -> Samples:
    """Two seconds of someone speaking, as the ear hears it."""

    async def said() -> list[AudioChunk]:
        async with aclosing(voice.speak("Hello there, I would like some tea.", PLAIN)) as chunks:
            return [chunk.audio async for chunk in chunks]

    voice = Hibari()
    audio = AudioChunk.join(asyncio.run(said()))
    voice.close()
    return resample(audio.samples, WIRE_RATE, EAR_RATE)


def frames(samples: Samples) -> list[Samples]:
    return [samples[at : at + FRAME] for at in range(0, len(samples) - FRAME + 1, FRAME)]


# ---- ears


async def test_a_detector_tells_speech_from_silence(
    voice_detector: VoiceDetector, speech: Samples
) -> None:
    hear = voice_detector.open()
    assert np.mean([hear(frame) for frame in frames(speech)]) > 0.5
    hear = voice_detector.open()
    assert max(hear(frame) for frame in frames(np.zeros(EAR_RATE, np.float32))) < 0.5


async def test_conversations_do_not_hear_each_other(
    voice_detector: VoiceDetector, speech: Samples
) -> None:
    alone = voice_detector.open()
    expected = [alone(frame) for frame in frames(speech)]
    one, other = voice_detector.open(), voice_detector.open()
    found = []
    for frame, before in zip(frames(speech), reversed(frames(speech)), strict=True):
        other(before)
        found.append(one(frame))
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("seconds", [0.1, 2.0, 12.0])
async def test_a_judge_gives_a_probability_for_any_length(
    turn_judge: TurnJudge, seconds: float
) -> None:
    audio = np.random.default_rng(0).normal(0, 0.05, int(seconds * EAR_RATE)).astype(np.float32)
    assert 0.0 <= await turn_judge.finished(AudioChunk(audio)) <= 1.0


async def test_a_transcriber_hears_words_in_speech_and_none_in_silence(
    transcriber: Transcriber, speech: Samples
) -> None:
    words = await transcriber.transcribe(AudioChunk(speech))
    assert words.strip()
    assert await transcriber.transcribe(AudioChunk(speech)) == words
    assert await transcriber.transcribe(AudioChunk(np.zeros(EAR_RATE, np.float32))) == ""


async def test_a_perceiver_follows_a_growing_stretch_and_takes_its_words(
    perceiver: Perceiver, speech: Samples
) -> None:
    attention = perceiver.attend()
    for end in (EAR_RATE // 2, EAR_RATE, len(speech)):
        heard = await attention.perceive(AudioChunk(speech[:end]))
        assert heard.seconds == pytest.approx(end / EAR_RATE, abs=0.1)
        assert set(heard.unknown) <= DIMENSIONS.keys()
    words = "I would like a cup of tea."
    joined = await attention.perceive(AudioChunk(speech), words)
    assert joined == await perceiver.attend().perceive(AudioChunk(speech), words)


async def test_a_perceiver_knows_nothing_of_silence_and_goes_on(
    perceiver: Perceiver, speech: Samples
) -> None:
    for length in (0, EAR_RATE // 10, EAR_RATE):
        heard = await perceiver.attend().perceive(AudioChunk(np.zeros(length, np.float32)))
        assert set(heard.unknown) >= DIMENSIONS.keys() - {"emotion"}  # a stand-in makes that up
    one, other = await asyncio.gather(
        *(perceiver.attend().perceive(AudioChunk(speech)) for _ in range(2))
    )
    assert one == other


# ---- mind


async def reply(responder: Responder, turns: list[Turn], max_tokens: int = 40) -> list[str]:
    async with aclosing(responder.respond(turns, max_tokens)) as pieces:
        return [piece async for piece in pieces]


async def test_a_reply_comes_in_pieces_no_more_than_allowed(responder: Responder) -> None:
    pieces = await reply(responder, STORY, 8)
    assert 1 < len(pieces) <= 8
    assert "".join(pieces).strip()
    assert all(pieces)


async def test_the_same_dialogue_is_answered_the_same(responder: Responder) -> None:
    await reply(responder, STORY)  # from here on its prompt is known alike
    assert await reply(responder, STORY) == await reply(responder, STORY)


async def test_more_replies_than_slots_are_all_given(responder: Responder) -> None:
    asked = [messages("", [Turn("user", f"Say {number}.")]) for number in range(5)]
    replies = await asyncio.gather(*(reply(responder, turns, 6) for turns in asked))
    assert all("".join(pieces).strip() for pieces in replies)


async def test_a_reply_may_be_left_at_any_piece(responder: Responder) -> None:
    for count in range(4):
        async with aclosing(responder.respond(STORY, 60)) as pieces:
            for _ in range(count):
                await anext(pieces)
    assert await reply(responder, STORY, 4)


async def test_a_reply_may_be_cancelled_while_it_waits(responder: Responder) -> None:
    for _ in range(6):
        waiting = [asyncio.create_task(reply(responder, STORY, 60)) for _ in range(4)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        assert all(task.cancelled() for task in waiting)
    assert await reply(responder, STORY, 4)


@pytest.fixture(scope="module")
def llama() -> Iterator[LlamaCpp]:
    llama = LlamaCpp(slots=2)
    yield llama
    llama.close()


async def replying(llama: LlamaCpp, count: int) -> None:
    while llama.metrics()["requests_processing"] != count:  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.001)


async def test_the_engine_tells_how_likely_each_piece_was(llama: LlamaCpp) -> None:
    pieces = await reply(llama, messages("", [Turn("user", "Count: one, two, three, four,")]))
    assert all(isinstance(piece, Token) and piece.logprob <= 0 for piece in pieces)
    assert len({piece.logprob for piece in pieces if isinstance(piece, Token)}) > 1


async def test_how_every_question_begins_is_read_before_the_first_is_asked() -> None:
    llama = LlamaCpp(slots=1)
    asked = TunedThinker(lead=True).prompt("", [Turn("user", "What is the tallest mountain?")])
    try:
        before = llama.metrics()["prompt_tokens_cached_total"]
        await reply(llama, asked, 2)
        known = llama.metrics()["prompt_tokens_cached_total"] - before
    finally:
        llama.close()
    assert known >= 15  # of SYSTEM and the template around it


async def test_leaving_a_reply_stops_the_engine(llama: LlamaCpp) -> None:
    """Left alone, the story would take hundreds of tokens."""
    async with aclosing(llama.respond(STORY, 1000)) as pieces:
        for _ in range(3):
            await anext(pieces)
        before = llama.metrics()["tokens_predicted_total"]
    await replying(llama, 0)
    made = llama.metrics()["tokens_predicted_total"]
    assert made - before < 20
    await reply(llama, STORY, 1)  # the engine has had time for more, had it gone on
    assert llama.metrics()["tokens_predicted_total"] - made <= 1


async def test_leaving_a_reply_stops_the_reading_of_a_long_prompt(llama: LlamaCpp) -> None:
    await replying(llama, 0)
    read = llama.metrics()["prompt_tokens_total"]
    asked = asyncio.create_task(reply(llama, [Turn("user", "one two three four " * 400)]))
    await replying(llama, 1)
    asked.cancel()
    await asyncio.wait([asked])
    await replying(llama, 0)
    assert llama.metrics()["prompt_tokens_total"] - read < 1000


async def test_a_conversation_keeps_its_prompt_beside_another(llama: LlamaCpp) -> None:
    turns = [Turn("user", "I have a small red boat, and I sail it on the lake every summer.")]
    other = [Turn("user", "Where do you think all of the birds go in the winter months?")]
    for dialogue in (turns, other):
        await reply(llama, messages("", dialogue), 4)
    cached = llama.metrics()["prompt_tokens_cached_total"]
    went_on = [*turns, Turn("assistant", "Nice."), Turn("user", "Yes.")]
    await reply(llama, messages("", went_on), 4)
    fixed = 40  # tokens of the prompt's beginning, which any slot knows
    assert llama.metrics()["prompt_tokens_cached_total"] - cached > fixed + 15


async def test_a_free_slot_goes_to_whoever_needs_it_first(llama: LlamaCpp) -> None:
    order: list[str] = []
    slots = [await llama._take([Turn("user", "Hello.")]) for _ in range(2)]

    async def ask(name: str, when: float) -> None:
        with needed(lambda: when):
            slot = await llama._take([Turn("user", f"I am {name}.")])
        order.append(name)
        slot.idle = True
        llama._freed.set()

    asked = [("reading ahead", 3.0), ("longest", 1.0), ("as soon, but later", 1.0)]
    waiting = [asyncio.ensure_future(ask(*each)) for each in asked]
    given_up = asyncio.ensure_future(ask("given up", 0.0))
    await asyncio.sleep(0)  # all have asked
    given_up.cancel()
    slots.pop().idle = True
    llama._freed.set()
    await asyncio.gather(*waiting)
    slots.pop().idle = True
    assert order == ["longest", "as soon, but later", "reading ahead"]


async def test_a_free_slot_goes_to_whoever_is_sure_to_need_it(llama: LlamaCpp) -> None:
    order: list[str] = []
    over: set[str] = set()  # whose turns are known to be over
    slots = [await llama._take([Turn("user", "Hello.")]) for _ in range(2)]

    async def ask(name: str, when: float) -> None:
        with needed(lambda: when, lambda: name in over):
            slot = await llama._take([Turn("user", f"I am {name}.")])
        order.append(name)
        slot.idle = True
        llama._freed.set()

    asked = [("perhaps", 1.0), ("sure", 2.0), ("found out", 3.0)]
    over.add("sure")
    waiting = [asyncio.ensure_future(ask(*each)) for each in asked]
    await asyncio.sleep(0)  # all have asked
    over.add("found out")
    slots.pop().idle = True
    llama._freed.set()
    await asyncio.gather(*waiting)
    slots.pop().idle = True
    assert order == ["sure", "found out", "perhaps"]


async def test_a_dialogue_beyond_the_context_is_refused_in_a_sentence(llama: LlamaCpp) -> None:
    with pytest.raises(BackendError, match="refused: request .* exceeds") as caught:
        await reply(llama, [Turn("user", "1 2 3 4 " * 2000)])
    assert caught.value.role == "responder"
    assert await reply(llama, STORY, 4)


async def test_one_side_may_speak_several_times_in_a_row(llama: LlamaCpp) -> None:
    greeted = [Turn("assistant", "Hello."), Turn("assistant", "I am listening.")]
    assert await reply(llama, messages("", [*greeted, Turn("user", "Hi."), Turn("user", "Hm.")]), 4)
    assert await reply(llama, messages("", greeted), 4) is not None


async def test_a_file_that_is_no_model_is_refused_in_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "wrong.gguf"
    file.write_bytes(b"nothing")
    with pytest.raises(BackendError, match="cannot load wrong.gguf"):
        LlamaCpp(model=str(file))


async def test_the_engine_opens_no_port_and_writes_no_log(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = listening()
    llama = LlamaCpp(slots=1)
    assert await reply(llama, STORY, 4)
    assert listening() == before
    llama.close()
    assert capfd.readouterr() == ("", "")


def listening() -> set[Any]:
    connections = psutil.Process(os.getpid()).net_connections("inet")
    return {c.laddr for c in connections if c.status == psutil.CONN_LISTEN}


# ---- voice


async def say(speaker: Speaker, clause: str, speed: float = 1.0) -> tuple[str, Samples]:
    async with aclosing(speaker.speak(clause, Style(pace=speed))) as chunks:
        spoken = [chunk async for chunk in chunks]
    assert all(chunk.audio.rate == WIRE_RATE for chunk in spoken)
    assert all(chunk.audio.samples.dtype == np.float32 for chunk in spoken)
    samples = [chunk.audio.samples for chunk in spoken]
    return "".join(chunk.text for chunk in spoken), np.concatenate([*samples, np.zeros(0)])


@pytest.mark.parametrize("clause", ["Hello there, ", "How are you?", "Well "])
async def test_a_speaker_says_the_clause_without_opening_silence(
    speaker: Speaker, clause: str
) -> None:
    text, samples = await say(speaker, clause)
    assert text == clause
    assert np.abs(samples).max() <= 1.0
    assert int(np.argmax(np.abs(samples) > AUDIBLE)) <= WIRE_RATE // 100
    assert np.abs(samples).max() > AUDIBLE


async def test_a_speaker_has_nothing_to_say_to_nothing(speaker: Speaker) -> None:
    for clause in ("", " "):
        assert (await say(speaker, clause))[0] == ""


async def test_a_speaker_can_slow_down(speaker: Speaker) -> None:
    lengths = [len((await say(speaker, "A nice day. ", speed))[1]) for speed in (1.5, 1.0, 0.25)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[2]


async def test_clauses_of_several_conversations_do_not_mix(speaker: Speaker) -> None:
    asked = [f"This is number {number}. " for number in range(6)]
    alone = [await say(speaker, clause) for clause in asked]
    together = await asyncio.gather(*(say(speaker, clause) for clause in asked))
    for (text, samples), (expected, sound) in zip(together, alone, strict=True):
        assert text == expected
        np.testing.assert_array_equal(samples, sound)


# ---- stand-ins


async def test_the_stand_in_for_words_only_adds_to_them_as_speech_goes_on(speech: Samples) -> None:
    stand_in = StandinTranscriber()
    heard = [await stand_in.transcribe(AudioChunk(speech[:end])) for end in (8_000, 16_000, 30_000)]
    assert 0 < len(heard[0]) < len(heard[1]) < len(heard[2])
    assert heard[2].startswith(heard[1])
    assert heard[1].startswith(heard[0])


async def test_the_stand_in_for_replies_repeats_what_the_user_said() -> None:
    turns = [Turn("system", "Be kind."), Turn("user", "Good morning.")]
    assert "Good morning" in "".join(await reply(StandinResponder(), turns))
