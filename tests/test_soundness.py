"""What may and may not be said of a sound."""

import numpy as np
import pytest

from models.perception.labels import DIMENSIONS
from models.perception.overlap import second_voice
from models.perception.prosody import Measuring
from models.perception.soundness import examine
from models.types import EAR_RATE, Samples
from tests.made_voices import noise, pulses, recorded

OF_THE_SPEAKER = {"gender", "age", "physiological", "emotion", "volume", "speed"}
WOMAN, MAN = "1963-142393-0000", "201-122255-0000"


def test_clear_speech_leaves_nothing_unknown() -> None:
    sound = examine(recorded(WOMAN))
    assert not sound.silent and not sound.wordless and not sound.crowded and not sound.short
    assert sound.unknown() == ()


@pytest.mark.parametrize("size", [0.0, 1e-5])
def test_silence_says_nothing(size: float) -> None:
    sound = examine(noise(2 * EAR_RATE, size))
    assert sound.silent
    assert sound.unknown() == tuple(DIMENSIONS)


def test_a_tenth_of_a_second_says_nothing() -> None:
    assert examine(recorded(WOMAN)[16000:17600]).unknown() == tuple(DIMENSIONS)


def test_a_word_in_a_long_silence_says_nothing_of_the_speaker() -> None:
    sound = noise(2 * EAR_RATE, 1e-3)
    sound[8000:12800] += recorded(WOMAN)[16000:20800]
    assert set(examine(sound).unknown()) >= OF_THE_SPEAKER


@pytest.mark.parametrize("turned_down", [1.0, 0.3])
def test_a_cut_off_voice_has_no_volume_whatever_its_level(turned_down: float) -> None:
    speech = recorded(WOMAN)
    cut = np.clip(speech * np.float32(8 / np.abs(speech).max()), -1, 1) * np.float32(turned_down)
    sound = examine(cut)
    assert sound.clipped > 0.01
    assert {"volume", "physiological"} <= set(sound.unknown())
    assert examine(speech).clipped < 0.001


def test_a_loud_tone_is_not_cut_off() -> None:
    tone = 0.8 * np.sin(2 * np.pi * 150 * np.arange(EAR_RATE) / EAR_RATE)
    assert examine(tone.astype(np.float32)).clipped < 0.001


def test_chords_say_nothing_of_a_speaker_but_may_be_music() -> None:
    notes = np.arange(4 * EAR_RATE) / EAR_RATE
    chord = sum(np.sin(2 * np.pi * hertz * notes) for hertz in (220.0, 277.2, 329.6, 440.0))
    sound = examine((0.1 * np.asarray(chord)).astype(np.float32))
    assert sound.wordless
    assert set(sound.unknown()) >= OF_THE_SPEAKER
    assert "other" not in sound.unknown()


def test_a_held_tone_is_no_speaker() -> None:
    sound = examine(pulses(200, 3))
    assert sound.wordless and not sound.short
    assert set(sound.unknown()) >= OF_THE_SPEAKER


def test_steady_noise_says_nothing_of_a_speaker_but_may_be_rain() -> None:
    sound = examine(noise(3 * EAR_RATE, 0.1))
    assert sound.wordless
    assert set(sound.unknown()) == OF_THE_SPEAKER


def test_a_drowned_voice_has_no_manner() -> None:
    speech = recorded(MAN)
    sound = examine(speech + noise(len(speech), float(speech.std())))
    assert {"volume", "physiological", "speed"} <= set(sound.unknown())


def test_two_steady_voices_are_told_from_one() -> None:
    one, other = pulses(120, 4), pulses(187, 4, seed=3)
    assert second_voice(one) == 0
    assert second_voice(pulses(100, 4, jitter=0.02, shimmer=0.2)) == pytest.approx(0, abs=0.03)
    mixed = second_voice(one + other)
    assert mixed is not None and mixed > 0.5


def test_two_readers_at_once_are_suspected_and_each_alone_is_not() -> None:
    woman, man = recorded(WOMAN), recorded(MAN)
    length = min(len(woman), len(man))
    both = woman[:length] / woman.std() + man[:length] / man.std()
    sound = examine((0.05 * both).astype(np.float32))
    assert sound.crowded
    assert set(sound.unknown()) >= OF_THE_SPEAKER
    assert not examine(woman).crowded and not examine(man).crowded


def test_a_voice_measured_before_is_not_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    speech = recorded(WOMAN)
    measuring = Measuring()
    measuring.hear(speech)
    voice, alone = measuring.voice(), examine(speech)
    monkeypatch.setattr("models.perception.soundness.Measuring", None)
    assert examine(speech, voice) == alone


@pytest.mark.parametrize(
    ("samples", "complaint"),
    [
        (np.zeros(0, np.float32), "empty"),
        (np.zeros(1600, np.int16), "float32"),
        (np.zeros((1600, 2), np.float32), "mono"),
        (np.array([0, np.nan] * 800, np.float32), "not numbers"),
        (np.array([0, np.inf] * 800, np.float32), "not numbers"),
    ],
)
def test_what_is_no_sound_is_refused_in_a_sentence(samples: Samples, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        examine(samples)
