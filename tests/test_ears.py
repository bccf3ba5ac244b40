"""The ears with their real networks, on recorded speech: voice activity, end of turn, words."""

import asyncio
import csv
import re
from collections.abc import Iterator
from pathlib import Path

import jiwer
import numpy as np
import pytest
import soundfile

from models.asr_moonshine import Moonshine, pieces, read_tokens, repeated
from models.audio import resample
from models.protocols import Transcriber, TurnJudge, VoiceActivity, VoiceDetector
from models.turn_smart import SmartTurn, log_mel
from models.types import EAR_RATE, FRAME, AudioChunk, Samples
from models.vad_silero import SileroDetector

SPEECH = Path(__file__).parent / "data" / "speech"


def recordings() -> dict[str, str]:
    """File name to the words spoken in it."""
    with (SPEECH / "transcripts.tsv").open() as table:
        return {row["file"]: row["text"] for row in csv.DictReader(table, delimiter="\t")}


def load(name: str) -> Samples:
    samples, rate = soundfile.read(SPEECH / name, dtype="float32")
    assert rate == EAR_RATE
    loaded: Samples = samples
    return loaded


def plain(text: str) -> str:
    """Lower case without punctuation."""
    return " ".join(re.sub(r"[^a-z0-9 ]", "", text.lower()).split())


def silence(seconds: float) -> Samples:
    return np.zeros(int(seconds * EAR_RATE), np.float32)


def hiss(seconds: float, level: float) -> Samples:
    noise = np.random.default_rng(0).standard_normal(int(seconds * EAR_RATE))
    return (level * noise).astype(np.float32)


def hum(seconds: float, level: float) -> Samples:
    time = np.arange(int(seconds * EAR_RATE)) / EAR_RATE
    tones = np.array([np.sin(2 * np.pi * 50 * n * time) / n for n in range(1, 8)], np.float32)
    humming: Samples = np.float32(level) * tones.sum(axis=0)
    return humming


def thuds(seconds: float, level: float, every: float, length: float) -> Samples:
    """Bursts of hiss dying away: coughs when long, typing when short."""
    time = np.arange(int(seconds * EAR_RATE)) / EAR_RATE
    return (hiss(seconds, level) * np.exp(-(time % every) / length)).astype(np.float32)


NOISES = {
    "silence": silence(1.5),
    "faint hiss": hiss(2, 0.001),
    "hiss": hiss(1, 0.02),
    "loud hiss": hiss(2, 0.2),
    "faint hum": hum(1, 0.005),
    "hum": hum(2, 0.1),
    "typing": thuds(2, 0.1, every=0.17, length=0.006),
    "coughing": thuds(1.5, 0.2, every=0.5, length=0.08),
    "one knock": thuds(0.6, 0.3, every=0.6, length=0.03),
}


# ---- voice activity


@pytest.fixture(scope="module")
def detector() -> VoiceDetector:
    return SileroDetector()


def activity(voice: VoiceActivity, samples: Samples) -> list[float]:
    starts = range(0, len(samples) - FRAME + 1, FRAME)
    return [voice(samples[start : start + FRAME]) for start in starts]


def test_speech_is_found_in_every_recording_and_none_before_it(detector: VoiceDetector) -> None:
    for name in recordings():
        heard = activity(detector.open(), np.concatenate([silence(1), load(name)]))
        before = EAR_RATE // FRAME
        assert max(heard[: before - 1]) < 0.3, name
        assert np.mean([p > 0.5 for p in heard[before:]]) > 0.5, name


@pytest.mark.parametrize("noise", ["silence", "hiss", "loud hiss", "hum"])
def test_steady_noise_is_no_voice(detector: VoiceDetector, noise: str) -> None:
    assert max(activity(detector.open(), NOISES[noise])) < 0.3


def test_one_conversation_does_not_change_what_another_hears(detector: VoiceDetector) -> None:
    first, second = (load(name) for name in list(recordings())[:2])
    length = min(len(first), len(second)) // FRAME * FRAME
    alone = activity(detector.open(), first[:length])
    mine, other = detector.open(), detector.open()
    together = []
    for start in range(0, length, FRAME):
        together.append(mine(first[start : start + FRAME]))
        other(second[start : start + FRAME])
    assert together == alone


def test_many_voices_in_one_call_hear_what_each_hears_alone() -> None:
    detector = SileroDetector()
    sounds = [load(name)[: 40 * FRAME] for name in list(recordings())[:3]]
    alone = np.array([activity(detector.open(), sound) for sound in sounds])
    voices = [detector.open() for _ in sounds]
    together = [
        detector.hear(voices, [sound[start : start + FRAME] for sound in sounds])
        for start in range(0, 40 * FRAME, FRAME)
    ]
    np.testing.assert_allclose(np.array(together).T, alone, atol=1e-4)


def test_a_frame_of_another_length_is_refused(detector: VoiceDetector) -> None:
    with pytest.raises(AssertionError):
        detector.open()(silence(0.02))


# ---- end of turn


@pytest.fixture
def judge() -> Iterator[TurnJudge]:
    judge = SmartTurn()
    yield judge
    judge.close()


def log_mel_by_definition(samples: Samples) -> Samples:
    """Whisper's features written out frame by frame, in double precision."""
    padded = np.pad(samples.astype(np.float64), (8 * EAR_RATE - len(samples), 0))
    padded = (padded - padded.mean()) / np.sqrt(padded.var() + 1e-7)
    padded = np.pad(padded, 200, mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    frames = np.stack([padded[start : start + 400] * window for start in range(0, 128_000, 160)])
    power = np.abs(np.fft.rfft(frames)) ** 2

    def hertz(mel: float) -> float:
        return mel * 200 / 3 if mel < 15 else 1000 * 6.4 ** ((mel - 15) / 27)

    top = 15 + 27 * np.log(8) / np.log(6.4)  # 8 kHz
    edges = [hertz(mel) for mel in np.linspace(0, top, 82)]
    bands = []
    for low, middle, high in zip(edges, edges[1:], edges[2:], strict=False):
        shape = np.interp(np.arange(201) * 40.0, [low, middle, high], [0, 2 / (high - low), 0])
        bands.append(power @ shape)
    log = np.log10(np.maximum(bands, 1e-10))
    features: Samples = ((np.maximum(log, log.max() - 8) + 4) / 4).astype(np.float32)
    return features


@pytest.mark.parametrize("count", [0, 1, 399, 16_000, 50_001, 127_801, 128_000])
def test_the_features_are_whispers(count: int) -> None:
    speech = np.concatenate([load(name) for name in list(recordings())[:3]])[:count]
    ours = log_mel(speech)
    assert ours.shape == (80, 800)
    np.testing.assert_allclose(ours, log_mel_by_definition(speech), atol=1e-3)


def test_only_the_last_eight_seconds_count() -> None:
    speech = np.concatenate([load(name) for name in list(recordings())[:4]])
    np.testing.assert_array_equal(log_mel(speech), log_mel(speech[-8 * EAR_RATE :]))


async def test_a_finished_sentence_seems_more_finished_than_one_cut_short(judge: TurnJudge) -> None:
    whole, cut = [], []
    for name in ["118-121721-0000", "328-129766-0000", "6367-65536-0000", "6880-216547-0000"]:
        speech = load(f"{name}.ogg")
        whole.append(await judge.finished(AudioChunk(speech)))
        half = np.concatenate([speech[: len(speech) // 2], hiss(0.2, 0.0001)])
        cut.append(await judge.finished(AudioChunk(half)))
    assert all(0 <= p <= 1 for p in whole + cut)
    assert np.mean(whole) > np.mean(cut) + 0.2


async def test_the_judge_hears_the_same_at_another_rate(judge: TurnJudge) -> None:
    for name in ["201-122255-0000.ogg", "1963-142393-0000.ogg"]:
        speech = load(name)
        expected = await judge.finished(AudioChunk(speech))
        wire = AudioChunk(resample(speech, EAR_RATE, 24_000), 24_000)
        assert await judge.finished(wire) == pytest.approx(expected, abs=0.2)


# ---- words


@pytest.fixture(scope="module")
def moonshine() -> Iterator[Transcriber]:
    moonshine = Moonshine()
    yield moonshine
    moonshine.close()


async def test_recorded_speech_becomes_its_words_and_nothing_before_them(
    moonshine: Transcriber,
) -> None:
    spoken, heard = [], []
    for name, text in recordings().items():
        spoken.append(plain(text))
        heard.append(plain(await moonshine.transcribe(AudioChunk(load(name)))))
    assert jiwer.wer(spoken, heard) < 0.08
    first = [(s.split()[0], h.split()[0]) for s, h in zip(spoken, heard, strict=True)]
    assert [pair for pair in first if pair[0] != pair[1]] == []


async def test_the_words_are_the_same_at_another_rate(moonshine: Transcriber) -> None:
    speech = AudioChunk(resample(load("7190-90542-0000.ogg"), EAR_RATE, 24_000), 24_000)
    assert plain(await moonshine.transcribe(speech)) == "the identity of the final victim"


@pytest.mark.parametrize("gain", [0.05, 3.0])
async def test_quiet_and_loud_speech_have_the_same_words(
    moonshine: Transcriber, gain: float
) -> None:
    speech = AudioChunk(np.float32(gain) * load("7190-90542-0000.ogg"))
    assert plain(await moonshine.transcribe(speech)) == "the identity of the final victim"


@pytest.mark.parametrize("noise", NOISES)
async def test_noise_has_no_words(moonshine: Transcriber, noise: str) -> None:
    assert await moonshine.transcribe(AudioChunk(NOISES[noise])) == ""


@pytest.mark.parametrize("seconds", [0, 0.001, 0.05, 0.1, 0.3])
async def test_a_scrap_of_sound_is_no_error(moonshine: Transcriber, seconds: float) -> None:
    heard = await moonshine.transcribe(AudioChunk(hiss(seconds, 0.01)))
    assert heard == ""


async def test_a_long_turn_keeps_its_words(moonshine: Transcriber) -> None:
    names = list(recordings())[:6]
    gap = silence(0.4)
    long = np.concatenate([part for name in names for part in (load(name), gap)])
    assert len(long) > 20 * EAR_RATE
    heard = plain(await moonshine.transcribe(AudioChunk(long)))
    spoken = plain(" ".join(recordings()[name] for name in names))
    assert jiwer.wer(spoken, heard) < 0.15


async def test_a_scrap_of_a_word_does_not_make_the_decoder_stammer(moonshine: Transcriber) -> None:
    for name in recordings():
        middle = load(name)[len(load(name)) // 2 :][: int(0.3 * EAR_RATE)]
        assert len((await moonshine.transcribe(AudioChunk(middle))).split()) <= 2, name


@pytest.mark.parametrize("length", [6, 25], ids=["long", "very long"])
async def test_a_short_turn_does_not_wait_for_a_long_one(
    moonshine: Transcriber, length: int
) -> None:
    order: list[str] = []

    async def hear(label: str, samples: Samples) -> str:
        heard = await moonshine.transcribe(AudioChunk(samples))
        order.append(label)
        return heard

    long = np.concatenate([load(name) for name in list(recordings())[3:9]])[: length * EAR_RATE]
    short = load("7190-90542-0000.ogg")
    _, heard = await asyncio.gather(hear("long", long), hear("short", short))
    assert order == ["short", "long"]
    assert plain(heard) == "the identity of the final victim"


async def test_a_cancelled_transcription_leaves_the_next_one_right(moonshine: Transcriber) -> None:
    dropped = asyncio.ensure_future(moonshine.transcribe(AudioChunk(load("6367-65536-0000.ogg"))))
    await asyncio.sleep(0)
    dropped.cancel()
    heard = await moonshine.transcribe(AudioChunk(load("7190-90542-0000.ogg")))
    assert plain(heard) == "the identity of the final victim"
    assert dropped.cancelled()


def test_long_sound_is_cut_where_it_is_quiet_and_nothing_is_lost() -> None:
    sound = hiss(45, 0.1)
    hushes = [(12.0, 12.5), (27.0, 27.5)]
    for start, end in hushes:
        sound[int(start * EAR_RATE) : int(end * EAR_RATE)] = 0
    parts = list(pieces(sound))
    np.testing.assert_array_equal(np.concatenate(parts), sound)
    assert max(map(len, parts)) <= 20 * EAR_RATE
    cuts = np.cumsum([len(part) for part in parts])[:-1] / EAR_RATE
    assert all(start < cut < end for cut, (start, end) in zip(cuts, hushes, strict=True))


def test_short_sound_stays_whole() -> None:
    sound = hiss(20, 0.1)
    assert [len(part) for part in pieces(sound)] == [len(sound)]


@pytest.mark.parametrize(
    ("tokens", "again"),
    [
        ([5] * 3, 0),
        ([9, *[5] * 4], 3),
        ([9, *[5, 6] * 4], 6),
        ([*[5, 6] * 4, 7], 0),
        ([1, 2, 3, 4, 5] * 2, 0),
        ([9, *[1, 2, 3, 4, 5] * 3], 10),
    ],
)
def test_a_word_said_four_times_or_a_phrase_three_times_is_a_loop(
    tokens: list[int], again: int
) -> None:
    assert repeated(tokens) == again


def test_token_spellings_of_any_length_are_read() -> None:
    assert read_tokens(b"\x02ab" + b"\x00" + b"\x80\x01" + b"x" * 128) == [b"ab", b"", b"x" * 128]
