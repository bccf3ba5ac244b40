"""The backends of the gpu profile, on tiny networks of the same architecture made here.

Made at random they know nothing: what is tested is that they are loaded, fed and understood as
the roles demand, by the same contract as all others.
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest

from models.errors import BackendError
from models.perception.labels import EMOTIONS
from models.protocols import Perceiver, Speaker, Transcriber
from models.registry import Choice, build
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Samples
from tests import test_backends

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

MARKS = ("<|startoftranscript|>", "<|en|>", "<|de|>", "<|translate|>", "<|transcribe|>",
         "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>")  # fmt: skip

# The contract itself, with the fixtures below.
speech = test_backends.speech
test_words = test_backends.test_a_transcriber_hears_words_in_speech_and_none_in_silence
test_growing = test_backends.test_a_perceiver_follows_a_growing_stretch_and_takes_its_words
test_silence = test_backends.test_a_perceiver_knows_nothing_of_silence_and_goes_on
test_opening = test_backends.test_a_speaker_says_the_clause_without_opening_silence
test_nothing = test_backends.test_a_speaker_has_nothing_to_say_to_nothing
test_slowing = test_backends.test_a_speaker_can_slow_down
test_mixing = test_backends.test_clauses_of_several_conversations_do_not_mix


def closing(backend: Any) -> Iterator[Any]:
    yield backend
    backend.close()


# ---- Whisper


def make_whisper(folder: Path, habits: Mapping[str, float] | None = None) -> str:
    """A tiny Whisper with the hub's files; `habits` are the only logits it has, whatever it hears.

    It has nothing to say but letters, so that even chance makes words.
    """
    import torch
    from transformers import (
        GenerationConfig,
        WhisperConfig,
        WhisperFeatureExtractor,
        WhisperForConditionalGeneration,
        WhisperTokenizer,
    )

    torch.manual_seed(0)
    ids = {token: at for at, token in enumerate([*ascii_lowercase, "<|endoftext|>", *MARKS])}
    tokenizer = WhisperTokenizer(vocab=ids, merges=[])
    tokenizer.add_special_tokens({"additional_special_tokens": list(MARKS)})
    tokenizer.save_pretrained(folder)
    WhisperFeatureExtractor(feature_size=80).save_pretrained(folder)
    end = ids["<|endoftext|>"]
    network = WhisperForConditionalGeneration(
        WhisperConfig(
            vocab_size=len(ids),
            d_model=32,
            encoder_layers=1,
            decoder_layers=2,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            decoder_start_token_id=ids["<|startoftranscript|>"],
            bos_token_id=end,
            eos_token_id=end,
            pad_token_id=end,
        )
    )
    network.generation_config = GenerationConfig(
        lang_to_id={mark: ids[mark] for mark in ("<|en|>", "<|de|>")},
        task_to_id={task: ids[f"<|{task}|>"] for task in ("transcribe", "translate")},
        suppress_tokens=[ids["e"]],
        begin_suppress_tokens=[end],
    )
    if habits is not None:
        with torch.no_grad():
            network.model.decoder.layer_norm.weight.zero_()
            network.model.decoder.layer_norm.bias.zero_()[0] = 1
            network.model.decoder.embed_tokens.weight[:, 0] = 0
            for token, logit in habits.items():
                network.model.decoder.embed_tokens.weight[ids[token], 0] = logit
    network.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def whisper_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_whisper(tmp_path_factory.mktemp("whisper"))


@pytest.fixture(scope="module", params=["en", ""])
def transcriber(request: pytest.FixtureRequest, whisper_folder: str) -> Iterator[Any]:
    options = {"model": whisper_folder, "language": request.param}
    yield from closing(build("transcriber", Choice("whisper", options)))


async def test_whisper_says_nothing_when_it_doubts_that_there_is_speech(
    tmp_path: Path, speech: Samples
) -> None:
    for folder, doubt in (("sure", 0.0), ("doubtful", 12.0)):
        model = make_whisper(tmp_path / folder, {"<|nospeech|>": doubt})
        whisper = build("transcriber", Choice("whisper", {"model": model}))
        assert bool(await whisper.transcribe(AudioChunk(speech))) == (not doubt)
        whisper.close()


async def test_whisper_says_a_word_it_is_caught_in_only_once(
    tmp_path: Path, speech: Samples
) -> None:
    model = make_whisper(tmp_path, {"w": 9.0})
    whisper = build("transcriber", Choice("whisper", {"model": model}))
    assert await whisper.transcribe(AudioChunk(speech)) == "w"
    whisper.close()


async def test_whisper_never_says_what_its_rules_forbid(tmp_path: Path, speech: Samples) -> None:
    model = make_whisper(tmp_path, {"e": 9.0, "x": 8.0})
    whisper = build("transcriber", Choice("whisper", {"model": model}))
    assert await whisper.transcribe(AudioChunk(speech)) == "x"
    whisper.close()


async def test_whisper_hears_more_than_its_window(transcriber: Transcriber) -> None:
    long = np.random.default_rng(0).normal(0, 0.1, 45 * EAR_RATE).astype(np.float32)
    words = await transcriber.transcribe(AudioChunk(long))
    assert len(words.split()) == 3  # a piece of chance's letters each


async def test_whisper_hears_in_its_own_thread_and_stops_when_it_is_left(
    transcriber: Transcriber, speech: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    from models import asr_whisper

    loop, begun, steps = asyncio.get_running_loop(), asyncio.Event(), list[str]()

    class Watched(asr_whisper._Steps):
        def __call__(self, tokens: list[int]) -> Any:
            steps.append(threading.current_thread().name)
            loop.call_soon_threadsafe(begun.set)
            return super().__call__(tokens)

    monkeypatch.setattr(asr_whisper, "_Steps", Watched)
    await transcriber.transcribe(AudioChunk(speech))
    assert all(name.startswith("whisper") for name in steps)
    whole = len(steps)
    steps.clear()
    begun.clear()
    left = asyncio.create_task(transcriber.transcribe(AudioChunk(np.tile(speech, 20))))
    await begun.wait()
    left.cancel()
    await asyncio.wait([left])
    await transcriber.transcribe(AudioChunk(np.zeros(10, np.float32)))  # queued behind the rest
    assert len(steps) < whole


async def test_an_unknown_language_lists_the_known_ones(whisper_folder: str) -> None:
    with pytest.raises(BackendError, match="no language 'xx'; choose one of: de, en"):
        build("transcriber", Choice("whisper", {"model": whisper_folder, "language": "xx"}))


# ---- classifiers of the hub


def make_classifier(folder: Path, kind: str, labels: Sequence[str], head: bool = True) -> str:
    """A tiny network of the kind for those labels; without its head where `head` is false."""
    import torch
    import transformers
    from transformers import Wav2Vec2FeatureExtractor

    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        conv_dim=(32,) * 7,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
        classifier_proj_size=16,
        num_buckets=32,  # WavLM's own; the others do not mind
        id2label=dict(enumerate(labels)),
    )
    ending = "ForSequenceClassification" if head else "Model"
    getattr(transformers, kind + ending)(config).save_pretrained(folder)
    Wav2Vec2FeatureExtractor(return_attention_mask=True).save_pretrained(folder)
    return str(folder)


KINDS = {
    "Wav2Vec2": ("neu", "hap", "ang", "sad"),
    "WavLM": ("Angry", "Disgusted", "Fearful", "Happy", "Neutral", "Sad", "Surprised"),
    "Hubert": ("生气/angry", "开心/happy", "中立/neutral", "其他/other"),
}


@pytest.fixture(scope="module", params=list(KINDS))
def perceiver(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("classifier")
    model = make_classifier(folder, request.param, KINDS[request.param])
    yield from closing(build("perceiver", Choice("attune+hf", {"model": model})))


async def test_a_second_opinion_leaves_all_but_emotion_as_it_was(
    perceiver: Perceiver, speech: Samples
) -> None:
    ours = build("perceiver", Choice("attune"))
    alone = await ours.attend().perceive(AudioChunk(speech))
    ours.close()
    both = await perceiver.attend().perceive(AudioChunk(speech))
    for field in ("gender", "age", "events", "environment", "physiological", "prosody", "moments"):
        assert getattr(both, field) == getattr(alone, field)
    assert both.emotion != alone.emotion
    assert sum(both.emotion.values()) == pytest.approx(1)


async def test_a_classifier_is_softened_by_its_temperature(tmp_path: Path, speech: Samples) -> None:
    from models.perception.hf_emotion import HfEmotion

    model = make_classifier(tmp_path, "Wav2Vec2", KINDS["Wav2Vec2"])
    plain, soft = HfEmotion(model), HfEmotion(model, temperature=50)
    heard = [await each.classify(AudioChunk(speech)) for each in (plain, soft)]
    for each in (plain, soft):
        each.close()
    assert set(heard[0]) == {"happy", "sad", "angry", "neutral"}
    assert [sum(chances.values()) for chances in heard] == pytest.approx([1, 1])
    spread = [max(chances.values()) - min(chances.values()) for chances in heard]
    assert spread[1] < spread[0] / 10


@pytest.mark.parametrize("temperature", [0.0, -1.0])
async def test_a_temperature_that_is_none_is_refused_before_anything_is_loaded(
    temperature: float,
) -> None:
    options = {"model": "nobody/no-such-model", "temperature": temperature}
    with pytest.raises(BackendError, match="temperature is a number above 0, and not"):
        build("perceiver", Choice("attune+hf", options))


async def test_a_sound_of_any_length_is_classified(tmp_path: Path) -> None:
    from models.perception.hf_emotion import HfEmotion

    classifier = HfEmotion(make_classifier(tmp_path, "WavLM", KINDS["WavLM"]))
    for length in (1, 100, EAR_RATE):
        heard = await classifier.classify(AudioChunk(np.full(length, 0.1, np.float32)))
        assert tuple(heard) == EMOTIONS
    classifier.close()


async def test_a_classifier_in_the_hubs_older_form_is_the_same(
    tmp_path: Path, speech: Samples
) -> None:
    """Most of the hub's were saved so: pickled, with the norm's halves named g and v."""
    import torch
    from transformers import AutoModelForAudioClassification

    from models.perception.hf_emotion import HfEmotion

    heard = []
    model = make_classifier(tmp_path, "Wav2Vec2", KINDS["Wav2Vec2"])
    for older in (False, True):
        if older:
            tensors = AutoModelForAudioClassification.from_pretrained(tmp_path).state_dict()
            (tmp_path / "model.safetensors").unlink()
            halves = {"parametrizations.weight.original0": "weight_g",
                      "parametrizations.weight.original1": "weight_v"}  # fmt: skip
            for new, old in halves.items():
                tensors = {name.replace(new, old): tensor for name, tensor in tensors.items()}
            assert sum(name.endswith(("weight_g", "weight_v")) for name in tensors) == 2
            torch.save(tensors, tmp_path / "pytorch_model.bin")
        classifier = HfEmotion(model, temperature=0.01)
        heard.append(await classifier.classify(AudioChunk(speech)))
        classifier.close()
    assert heard[0] == pytest.approx(heard[1], abs=1e-4)


async def test_a_network_without_its_head_is_refused(tmp_path: Path) -> None:
    model = make_classifier(tmp_path, "Wav2Vec2", KINDS["Wav2Vec2"], head=False)
    with pytest.raises(BackendError, match="no whole classifier: classifier.bias is missing"):
        build("perceiver", Choice("attune+hf", {"model": model}))


async def test_labels_that_are_no_emotions_are_refused(tmp_path: Path) -> None:
    model = make_classifier(tmp_path, "Wav2Vec2", ("LABEL_0", "LABEL_1"))
    with pytest.raises(BackendError, match="label 'LABEL_0' is no emotion known here"):
        build("perceiver", Choice("attune+hf", {"model": model}))


# ---- Kokoro


def make_kokoro(folder: Path) -> str:
    """A network with Kokoro's inputs and outputs: 600 samples of a tone for each phoneme."""
    from onnx import TensorProto, helper, save

    def made(name: str, kind: int, shape: Sequence[Any]) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    def value(name: str, number: float) -> Any:
        tensor = helper.make_tensor(name, TensorProto.FLOAT, [], [number])
        return helper.make_node("Constant", [], [name], value=tensor)

    nodes = [
        value("zero", 0.0),
        value("one", 1.0),
        value("each", 600.0),
        value("pitch", 0.05),
        value("level", 0.3),
        helper.make_node("Size", ["input_ids"], ["count"]),
        helper.make_node("Cast", ["count"], ["phonemes"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["phonemes", "each"], ["length"]),
        helper.make_node("ReduceMin", ["speed"], ["pace"], keepdims=0),
        helper.make_node("Div", ["length", "pace"], ["slowed"]),
        helper.make_node("Range", ["zero", "slowed", "one"], ["time"]),
        helper.make_node("Mul", ["time", "pitch"], ["phase"]),
        helper.make_node("Sin", ["phase"], ["tone"]),
        helper.make_node("ReduceMean", ["style"], ["colour"], keepdims=0),
        helper.make_node("Add", ["colour", "level"], ["loud"]),
        helper.make_node("Mul", ["tone", "loud"], ["sound"]),
        helper.make_node("Unsqueeze", ["sound", "axis"], ["waveform"]),
    ]
    graph = helper.make_graph(
        nodes,
        "kokoro",
        [
            made("input_ids", TensorProto.INT64, [1, "n"]),
            made("style", TensorProto.FLOAT, [1, 256]),
            made("speed", TensorProto.FLOAT, [1]),
        ],
        [made("waveform", TensorProto.FLOAT, [1, "samples"])],
        [helper.make_tensor("axis", TensorProto.INT64, [1], [0])],
    )
    (folder / "onnx").mkdir()
    (folder / "voices").mkdir()
    opset = [helper.make_opsetid("", 17)]
    save(
        helper.make_model(graph, opset_imports=opset, ir_version=8), folder / "onnx" / "model.onnx"
    )
    rows = np.random.default_rng(0).normal(0, 0.1, (510, 1, 256)).astype(np.float32)
    rows.tofile(folder / "voices" / "af_heart.bin")
    return str(folder)


@pytest.fixture(scope="module")
def speaker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = {"folder": make_kokoro(tmp_path_factory.mktemp("kokoro")), "threads": 1}
    yield from closing(build("speaker", Choice("kokoro", options)))


async def test_a_clause_of_many_sentences_is_all_said(speaker: Speaker) -> None:
    clause = "One thing, then another. " * 30
    text, samples = await test_backends.say(speaker, clause)
    assert text == clause
    alone = (await test_backends.say(speaker, "One thing, then another. "))[1]
    assert len(samples) == pytest.approx(30 * len(alone), rel=0.01)


async def test_a_pause_is_as_what_is_said_asks_for(speaker: Speaker) -> None:
    from models.pauses import AUDIBLE, GAP_SEC, STOP_SEC

    pauses = {"Well, ": GAP_SEC, "Well": STOP_SEC, "Great! :D ": STOP_SEC, "Cats, e.g. ": GAP_SEC}
    for clause, pause_sec in pauses.items():
        _, samples = await test_backends.say(speaker, clause)
        silent = len(samples) - int(np.flatnonzero(np.abs(samples) > AUDIBLE)[-1])
        assert silent / WIRE_RATE == pytest.approx(pause_sec, abs=0.025)  # a last sound fades


# ---- what is not there


@pytest.mark.parametrize(
    ("role", "backend"), [("transcriber", "whisper"), ("perceiver", "attune+hf")]
)
async def test_weights_that_are_not_there_are_named_with_the_command_that_brings_them(
    role: str, backend: str, tmp_path: Path
) -> None:
    with pytest.raises(BackendError) as caught:
        build(role, Choice(backend, {"model": "nobody/no-such-model"}))
    assert caught.value.role == role
    assert str(caught.value).endswith("run .venv/bin/hf download nobody/no-such-model")
    with pytest.raises(BackendError, match="the folder .* holds no model of this kind"):
        build(role, Choice(backend, {"model": str(tmp_path)}))


async def test_a_device_that_is_not_there_is_told(whisper_folder: str) -> None:
    for device, complaint in (("gpu0", "is no device"), ("cuda:99", "no GPU for device")):
        with pytest.raises(BackendError, match=complaint):
            build("transcriber", Choice("whisper", {"model": whisper_folder, "device": device}))
