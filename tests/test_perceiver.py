"""The perceiver on real voices and on what is none, and what it works out as a sound grows."""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from threading import current_thread
from typing import Any

import numpy as np
import orjson
import pytest

from models.audio import resample
from models.errors import BackendError
from models.percept import Percept
from models.perception import perceiver as module
from models.perception import sounds
from models.perception.labels import DIMENSIONS, EMOTIONS
from models.perception.perceiver import AttunePerceiver, path
from models.perception.stretch import Measured, Stretch
from models.perception.windows import WINDOW
from models.perception.words import Words
from models.protocols import Attention
from models.types import EAR_RATE, AudioChunk, Samples
from tests.made_network import MadeNetwork
from tests.made_voices import noise, pulses, recorded

WOMAN, MAN = "3235-11599-0000", "201-122255-0000"
OF_THE_SPEAKER = {"gender", "age", "physiological", "emotion", "volume", "speed"}
EVERYTHING = set(DIMENSIONS)
TICK = EAR_RATE // 2


@pytest.fixture(scope="module")
def perceiver() -> Iterator[AttunePerceiver]:
    perceiver = AttunePerceiver()
    yield perceiver
    perceiver.close()


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> MadeNetwork:
    network = MadeNetwork()
    network.stands_in(monkeypatch)
    return network


class Wordless(Words):
    """Words without a network: these tests bring none."""

    def __init__(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def made(network: MadeNetwork, monkeypatch: pytest.MonkeyPatch) -> Iterator[AttunePerceiver]:
    """A perceiver whose network is the made one."""
    monkeypatch.setattr(module, "Words", Wordless)
    perceiver = AttunePerceiver()
    yield perceiver
    network.may_end.set()
    perceiver.close()


def check(percept: Percept, seconds: float) -> None:
    """What holds of every percept of a sound."""
    exclusive = (percept.emotion, percept.gender, percept.age, percept.volume, percept.speed)
    single = (percept.events, percept.environment, percept.physiological)
    for chances in exclusive:
        assert sum(chances.values()) == pytest.approx(1)
    for chances in (*exclusive, *single):
        assert chances.keys() <= {name for d in DIMENSIONS.values() for name in d.answers} | {
            *("sneeze", "throat", "scream")
        }
        assert all(0 <= chance <= 1 for chance in chances.values())
    for affect in (percept.expressed, percept.perceived):
        assert affect and all(1 <= value <= 5 for value in asdict(affect).values())
    assert set(percept.unknown) <= EVERYTHING
    assert percept.seconds == pytest.approx(seconds, abs=1e-3)
    starts = [moment.start for moment in percept.moments]
    assert starts == sorted(starts)
    for moment in percept.moments:
        assert 0 <= moment.start < moment.end <= percept.seconds + 1e-3
    plain = orjson.loads(orjson.dumps(percept.to_json()))
    assert list(plain["emotion"]) == list(EMOTIONS)
    assert sum(plain["emotion"].values()) == pytest.approx(1, abs=0.001)


def alike(one: Percept, other: Percept, within: float) -> bool:
    return all(
        getattr(one, field) == pytest.approx(getattr(other, field), abs=within)
        for field in ("emotion", "gender", "age", "events", "environment")
    )


async def grown(attention: Attention, samples: Samples) -> Percept:
    """The percept of a sound that came tick by tick."""
    for end in range(TICK, len(samples), TICK):
        await attention.perceive(AudioChunk(samples[:end]))
    return await attention.perceive(AudioChunk(samples))


# --- voices


@pytest.mark.parametrize(("voice", "gender"), [(WOMAN, "female"), (MAN, "male")])
def test_a_clear_voice_is_heard(perceiver: AttunePerceiver, voice: str, gender: str) -> None:
    samples = recorded(voice)
    percept = perceiver.percept_of(samples)
    check(percept, len(samples) / EAR_RATE)
    assert percept.gender[gender] > 0.7
    assert percept.weights == "default"
    assert percept.prosody.f0_mean and percept.prosody.speaking_rate


def test_the_published_keys_are_there_and_names_that_cannot_be_heard_are_told(
    perceiver: AttunePerceiver,
) -> None:
    percept = perceiver.percept_of(recorded(MAN))
    plain = percept.to_json()
    assert plain.keys() >= {
        *("emotion", "gender", "age", "events", "environment", "physiological"),
        *("volume", "speed", "vad", "prosody", "unknown"),
    }
    assert plain["gender"].keys() == {"male", "female"}
    assert plain["age"].keys() == {"child", "adult", "elderly"}
    for view in ("expressed", "perceived"):
        assert plain["vad"][view].keys() == {"valence", "arousal", "dominance"}
    for name in plain["not_heard"]:
        assert not plain["emotion"].get(name)
        assert all(name not in plain[d.field] for d in DIMENSIONS.values() if d.name != "emotion")
    silent = perceiver.percept_of(np.zeros(EAR_RATE, np.float32))
    assert silent.not_heard == percept.not_heard


def test_a_voice_twenty_decibels_quieter_is_the_same_voice(perceiver: AttunePerceiver) -> None:
    loud = perceiver.percept_of(recorded(WOMAN))
    quiet = perceiver.percept_of(recorded(WOMAN) * np.float32(0.1))
    assert alike(loud, quiet, within=0.1)
    assert quiet.unknown == loud.unknown
    assert loud.prosody.loudness and quiet.prosody.loudness
    assert loud.prosody.loudness - quiet.prosody.loudness == pytest.approx(20, abs=0.5)


@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000])
async def test_a_voice_at_another_rate_is_the_same_voice(
    perceiver: AttunePerceiver, rate: int
) -> None:
    samples = recorded(MAN)
    expected = perceiver.percept_of(samples)
    sound = AudioChunk(resample(samples, EAR_RATE, rate), rate)
    percept = await perceiver.attend().perceive(sound)
    check(percept, expected.seconds)
    assert alike(percept, expected, within=0.3)
    assert percept.prosody.f0_mean == pytest.approx(expected.prosody.f0_mean, rel=0.03)


async def test_words_are_heard_along_with_the_voice(perceiver: AttunePerceiver) -> None:
    attention, sound = perceiver.attend(), AudioChunk(recorded(MAN))
    voice = await attention.perceive(sound)
    joined = await attention.perceive(sound, "I am so happy, this is wonderful!")
    check(joined, sound.duration)
    assert voice.expressed and joined.expressed
    assert joined.expressed.valence > voice.expressed.valence
    assert joined == perceiver.percept_of(sound.samples, "I am so happy, this is wonderful!")


# --- what is no voice


def two_people() -> Samples:
    woman, man = recorded("1963-142393-0000"), recorded(MAN)
    length = min(len(woman), len(man))
    both: Samples = 0.05 * (woman[:length] / woman.std() + man[:length] / man.std())
    return both


def chords() -> Samples:
    time = np.arange(4 * EAR_RATE) / EAR_RATE
    notes = sum(np.sin(2 * np.pi * hertz * time) for hertz in (220.0, 277.2, 329.6, 440.0))
    return (0.1 * np.asarray(notes)).astype(np.float32)


@pytest.mark.parametrize(
    ("samples", "unknown"),
    [
        pytest.param(np.zeros(2 * EAR_RATE, np.float32), EVERYTHING, id="silence"),
        pytest.param(noise(2 * EAR_RATE, 1e-5), EVERYTHING, id="a faint hiss"),
        pytest.param(recorded(WOMAN)[16000:17600], EVERYTHING, id="a tenth of a second"),
        pytest.param(recorded(WOMAN)[16000:16001], EVERYTHING, id="one sample"),
        pytest.param(chords(), OF_THE_SPEAKER, id="chords"),
        pytest.param(sounds.make("music", np.random.default_rng(0), 5), OF_THE_SPEAKER, id="music"),
        pytest.param(pulses(200, 3), OF_THE_SPEAKER, id="a held tone"),
        pytest.param(noise(3 * EAR_RATE, 0.3), OF_THE_SPEAKER, id="loud noise"),
        pytest.param(np.full(EAR_RATE * 2, 0.5, np.float32), OF_THE_SPEAKER, id="a standing value"),
        pytest.param(two_people(), OF_THE_SPEAKER, id="two people at once"),
        pytest.param(
            np.clip(8 * recorded(WOMAN), -0.5, 0.5), {"volume", "physiological"}, id="clipped"
        ),
    ],
)
def test_what_a_sound_does_not_allow_to_say_is_unknown(
    perceiver: AttunePerceiver, samples: Samples, unknown: set[str]
) -> None:
    percept = perceiver.percept_of(samples)
    check(percept, len(samples) / EAR_RATE)
    assert set(percept.unknown) >= unknown


def test_a_minute_is_heard_like_its_parts(perceiver: AttunePerceiver) -> None:
    samples = np.tile(recorded(MAN)[: int(1.5 * EAR_RATE)], 40)
    percept = perceiver.percept_of(samples)
    check(percept, 60)
    assert percept.gender["male"] > 0.7


async def test_an_empty_sound_is_unknown(perceiver: AttunePerceiver) -> None:
    percept = await perceiver.attend().perceive(AudioChunk(np.zeros(0, np.float32)))
    assert set(percept.unknown) == EVERYTHING
    assert percept.seconds == 0
    with pytest.raises(ValueError, match="empty"):
        perceiver.percept_of(np.zeros(0, np.float32))


@pytest.mark.parametrize(
    ("audio", "complaint"),
    [
        (AudioChunk(np.full(8000, np.nan, np.float32)), "not numbers"),
        (AudioChunk(np.full(8000, np.inf, np.float32)), "not numbers"),
        (AudioChunk(np.full(8000, np.nan, np.float32), 44_100), "not numbers"),
        (AudioChunk(np.full(8000, 1e38, np.float32)), "louder than full scale"),
        (AudioChunk(np.zeros((8000, 2), np.float32)), "mono"),
        (AudioChunk(np.zeros(8000, np.float32), 1_000), "1000 Hz"),
        (AudioChunk(np.zeros(8000, np.float32), -16_000), "-16000 Hz"),
    ],
)
async def test_what_is_no_sound_is_refused_in_a_sentence(
    perceiver: AttunePerceiver, audio: AudioChunk, complaint: str
) -> None:
    with pytest.raises(BackendError, match=f"refused the sound: .*{complaint}") as caught:
        await perceiver.attend().perceive(audio)
    assert caught.value.role == "perceiver"


# --- a sound that grows


async def test_a_grown_sound_gives_the_percept_of_a_whole_one(made: AttunePerceiver) -> None:
    samples = recorded(WOMAN)
    fresh = await made.attend().perceive(AudioChunk(samples))
    assert await grown(made.attend(), samples) == fresh == made.percept_of(samples)


async def test_the_real_network_too_hears_a_grown_sound_like_a_whole_one(
    perceiver: AttunePerceiver,
) -> None:
    fresh = await perceiver.attend().perceive(AudioChunk(recorded(WOMAN)))
    assert alike(await grown(perceiver.attend(), recorded(WOMAN)), fresh, within=0.001)


async def test_glances_show_the_network_the_growing_window_once_a_second(
    made: AttunePerceiver, network: MadeNetwork
) -> None:
    samples = recorded(MAN)[:WINDOW]
    attention = made.attend()
    for end in range(TICK, len(samples) + 1, TICK):
        glanced = await attention.glance(AudioChunk(samples[:end]))
        assert glanced.seconds == end / EAR_RATE
    sizes = [len(sound) for batch in network.batches for sound in batch]
    assert sizes == [TICK, EAR_RATE, 2 * EAR_RATE, 3 * EAR_RATE]


async def test_a_sound_that_was_glanced_at_is_perceived_like_any_other(
    made: AttunePerceiver,
) -> None:
    samples, attention = recorded(WOMAN), made.attend()
    for end in range(TICK, len(samples), TICK):
        await attention.glance(AudioChunk(samples[:end]))
    whole = await attention.perceive(AudioChunk(samples))
    assert whole == made.percept_of(samples)


async def test_a_voice_is_taken_for_the_same_whoever_speaks_beside_it(
    perceiver: AttunePerceiver,
) -> None:
    woman = AudioChunk(recorded(WOMAN)[:WINDOW])
    others = [AudioChunk(recorded(MAN)[:WINDOW] * np.float32(0.3)) for _ in range(4)]
    alone = await perceiver.attend().perceive(woman)
    beside, *_ = await asyncio.gather(
        *(perceiver.attend().perceive(voice) for voice in (woman, *others))
    )
    assert alike(beside, alone, within=0.001)


async def test_a_finished_window_never_goes_through_the_network_again(
    made: AttunePerceiver, network: MadeNetwork
) -> None:
    samples = np.tile(recorded(MAN)[:WINDOW], 4)[: int(10.5 * EAR_RATE)]
    await grown(made.attend(), samples)
    sizes = [len(sound) for batch in network.batches for sound in batch]
    # Each tick shows the window that grows, and no other.
    assert sizes == [TICK * tick for ticks in (6, 6, 6, 3) for tick in range(1, ticks + 1)]


async def test_nothing_goes_through_the_network_when_only_the_words_are_new(
    made: AttunePerceiver, network: MadeNetwork
) -> None:
    attention, sound = made.attend(), AudioChunk(recorded(MAN))
    first = await attention.perceive(sound)
    runs = len(network.batches)
    assert await attention.perceive(sound) == first
    assert len(network.batches) == runs


async def test_conversations_at_once_are_each_heard_as_if_alone(
    made: AttunePerceiver, network: MadeNetwork
) -> None:
    voices = [recorded(name)[:WINDOW] for name in (WOMAN, MAN, WOMAN, MAN)]
    alone = [made.percept_of(voice) for voice in voices]
    network.batches.clear()
    together = await asyncio.gather(*(grown(made.attend(), voice) for voice in voices))
    assert together == alone


async def test_the_loop_goes_on_while_a_sound_is_worked_on(
    made: AttunePerceiver, network: MadeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring: set[str] = set()

    def measure(self: Stretch, samples: Samples, *, roughly: bool) -> Measured:
        measuring.add(current_thread().name)
        return as_ever(self, samples, roughly=roughly)

    as_ever = Stretch.measure
    monkeypatch.setattr(Stretch, "measure", measure)
    network.may_end.clear()
    call = asyncio.create_task(made.attend().perceive(AudioChunk(recorded(MAN))))
    await asyncio.to_thread(network.begun.wait, 10)  # a blocked loop would not come back from it
    assert not call.done()
    network.may_end.set()
    check(await call, 4.93)
    assert measuring and all(name.startswith("prosody") for name in measuring)
    assert all(name.startswith("hearing") for name in network.threads)


async def test_a_call_given_up_leaves_its_stretch_and_the_others_unharmed(
    made: AttunePerceiver, network: MadeNetwork
) -> None:
    samples = recorded(WOMAN)
    expected = made.percept_of(samples)
    network.begun.clear()
    network.may_end.clear()
    attention = made.attend()
    given_up = asyncio.create_task(attention.perceive(AudioChunk(samples[: 4 * EAR_RATE])))
    other = asyncio.create_task(made.attend().perceive(AudioChunk(samples)))
    await asyncio.to_thread(network.begun.wait, 10)
    given_up.cancel()
    again = asyncio.create_task(attention.perceive(AudioChunk(samples)))
    await asyncio.sleep(0)
    network.may_end.set()
    assert await other == await again == expected
    assert given_up.cancelled()


async def test_a_network_that_fails_is_told_to_everyone_and_nobody_hangs(
    made: AttunePerceiver, network: MadeNetwork
) -> None:
    network.failure = RuntimeError("out of luck")
    attentions = [made.attend() for _ in range(3)]
    sound = AudioChunk(recorded(MAN))
    async with asyncio.timeout(10):
        failed: list[Any] = await asyncio.gather(
            *(attention.perceive(sound) for attention in attentions), return_exceptions=True
        )
    assert [type(result) for result in failed] == [BackendError] * 3
    network.failure = None
    assert await attentions[0].perceive(sound) == made.percept_of(sound.samples)


# --- weights


def test_unknown_weights_are_refused_with_the_known_ones() -> None:
    with pytest.raises(BackendError, match="unknown perception weights 'best'.*default, research"):
        AttunePerceiver("best")


def test_research_weights_that_are_not_there_say_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTUNE_CACHE", str(tmp_path))
    with pytest.raises(BackendError, match="make research-weights"):
        AttunePerceiver("research")
    trained = tmp_path / "perception-research.onnx"
    trained.touch()
    assert path("research") == trained


def test_research_weights_show_their_licence_as_they_load(
    network: MadeNetwork, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "path", lambda weights: Path(f"{weights}.onnx"))
    monkeypatch.setattr(module, "Words", Wordless)
    with caplog.at_level(logging.WARNING):
        perceiver = AttunePerceiver("research")
    perceiver.close()
    assert perceiver.licence == "as you like"
    assert "research weights, licence: as you like" in caplog.text


def test_the_weights_that_ship_name_their_licence(perceiver: AttunePerceiver) -> None:
    assert perceiver.licence
