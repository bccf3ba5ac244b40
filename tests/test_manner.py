"""Whispered, shouted, fast, slow: on recorded speech as it is and as it can be made."""

from dataclasses import replace

import pytest

from models.percept import Prosody
from models.perception.manner import physiological, speed, volume
from models.perception.prosody import Measuring, Voice
from models.types import Samples
from tests.made_voices import RECORDED, noise, recorded, stretched, whispered

NAMES = sorted(path.stem for path in RECORDED.glob("*.ogg"))

# An adult's calm voice in a quiet room.
CALM = Voice(
    Prosody(
        f0_mean=190,
        f0_range=9,
        f0_slope=-1,
        loudness=-24,
        speaking_rate=4.2,
        pause_ratio=0.1,
        jitter=0.012,
        shimmer=0.1,
        hnr=10,
        snr=30,
        speech_seconds=4,
    ),
    voicing=0.8,
    brightness=-10,
    liveliness=35,
    hissing=0.0,
)


def heard(samples: Samples) -> Voice:
    measuring = Measuring()
    measuring.hear(samples)
    return measuring.voice()


def but(**changes: float) -> Voice:
    """The calm voice with other prosody."""
    return replace(CALM, prosody=replace(CALM.prosody, **changes))


@pytest.mark.parametrize("name", NAMES)
def test_plain_reading_is_in_no_special_manner(name: str) -> None:
    voice = heard(recorded(name))
    for judge in (volume, speed):
        chances = judge(voice)
        assert chances is not None
        assert max(chances, key=lambda answer: chances[answer]) == "normal"
        assert sum(chances.values()) == pytest.approx(1)
    state = physiological(voice)
    assert state is None or max(state.values()) < 0.5


@pytest.mark.parametrize("name", NAMES[:5])
def test_the_same_words_without_a_voice_are_a_whisper(name: str) -> None:
    sound = whispered(recorded(name))
    chances = volume(heard(sound + noise(len(sound), 0.03 * float(sound.std()))))
    assert chances is not None and chances["whisper"] > 0.7


def test_noise_alone_is_no_whisper() -> None:
    assert volume(heard(noise(48000, 0.1))) is None


def test_hurried_speech_is_faster_and_drawn_out_speech_slower() -> None:
    speech = recorded(NAMES[0])
    hurried, plain, drawn = (speed(heard(stretched(speech, times))) for times in (0.5, 1, 2))
    assert hurried is not None and plain is not None and drawn is not None
    assert hurried["fast"] > 0.5 > plain["fast"] > drawn["fast"]
    assert drawn["slow"] > 0.3 > plain["slow"] > hurried["slow"]


@pytest.mark.parametrize(("rate", "answer"), [(1.8, "slow"), (4.2, "normal"), (6.5, "fast")])
def test_the_pace_decides(rate: float, answer: str) -> None:
    chances = speed(but(speaking_rate=rate))
    assert chances is not None and chances[answer] > 0.8


def test_a_little_speech_is_judged_with_more_doubt() -> None:
    long, short = speed(but(speaking_rate=6.2)), speed(but(speaking_rate=6.2, speech_seconds=1.2))
    assert long is not None and short is not None
    assert long["fast"] > short["fast"]


def test_a_shout_is_high_and_bright_and_it_takes_both() -> None:
    high, bright = but(f0_mean=340), replace(CALM, brightness=-1)
    both = replace(high, brightness=-1)
    shouts = [(volume(voice) or {})["shout"] for voice in (high, bright, both)]
    assert shouts[0] < 0.2 and shouts[1] < 0.2
    assert shouts[2] > 0.8


def test_a_rough_noisy_uneven_voice_is_hoarse() -> None:
    rough, calm = physiological(but(jitter=0.045, shimmer=0.2, hnr=2)), physiological(CALM)
    assert rough is not None and rough["hoarse"] > 0.8
    assert calm is not None and calm["hoarse"] < 0.05


def test_long_hisses_slower_than_syllables_are_breath() -> None:
    gusts = replace(but(speaking_rate=1.5), hissing=0.6, voicing=0.2)
    state, manner = physiological(gusts), volume(gusts)
    assert state is not None and state["breath"] > 0.8
    assert manner is not None and manner["whisper"] < 0.2


def test_tiredness_is_never_claimed() -> None:
    flat = replace(but(f0_range=2, speaking_rate=1.5), brightness=-20)
    state, calm = physiological(flat), physiological(CALM)
    assert state is not None and calm is not None
    assert calm["tired"] < 0.05 < state["tired"] <= 0.5


def test_a_room_as_noisy_as_a_hoarse_voice_leaves_the_state_open() -> None:
    assert physiological(but(snr=12)) is None


@pytest.mark.parametrize("voice", [but(snr=2), but(speech_seconds=0.3), Voice(Prosody())])
def test_what_cannot_be_told_is_left_open(voice: Voice) -> None:
    assert volume(voice) is None
    assert speed(voice) is None
    assert physiological(voice) is None
