"""How a sound is shown to the network."""

import numpy as np
import pytest

from models.perception.windows import (
    LEVEL,
    STEP,
    WINDOW,
    Weights,
    activity,
    levelled,
    powers,
    steps,
)
from models.types import EAR_RATE, Samples
from tests.made_voices import noise


def rms(samples: Samples) -> float:
    return float(np.sqrt(np.square(samples).mean()))


def silence(count: int) -> Samples:
    return np.zeros(count, np.float32)


@pytest.mark.parametrize("size", [0.001, 0.02, 0.3])
def test_every_sound_is_shown_at_one_level(size: float) -> None:
    assert rms(levelled(noise(EAR_RATE, size))) == pytest.approx(LEVEL, rel=0.1)


def test_a_pause_does_not_make_the_speech_louder() -> None:
    speech = noise(EAR_RATE, 0.02)
    shown = levelled(np.concatenate([speech, silence(EAR_RATE)]))
    assert rms(shown[:EAR_RATE]) == pytest.approx(LEVEL, rel=0.1)


def test_silence_stays_silent() -> None:
    assert not levelled(silence(EAR_RATE)).any()
    assert rms(levelled(noise(EAR_RATE, 1e-6))) < LEVEL / 50


def test_nothing_is_shown_beyond_full_scale() -> None:
    clicks = noise(EAR_RATE, 0.001)
    clicks[::4000] = 1.0
    shown = levelled(clicks)
    assert np.abs(shown).max() == 1.0
    assert shown.dtype == np.float32


def test_a_step_has_the_power_that_lies_at_it() -> None:
    sound = silence(WINDOW)
    sound[40 * STEP : 41 * STEP] = 0.1
    power = powers(sound)
    assert len(power) == steps(WINDOW)
    assert power.argmax() == 40
    assert power[40] == pytest.approx(0.01 * STEP / 511, rel=0.01)
    assert (power[:38] < 1e-9).all() and (power[42:] < 1e-9).all()


def test_steps_at_which_something_sounds_share_the_weight() -> None:
    power = np.array([1, 0.5, 0.1, 1e-4, 1e-9, 0.8], np.float32)
    assert activity(power).tolist() == pytest.approx([0.25, 0.25, 0.25, 0, 0, 0.25])


@pytest.mark.parametrize("power", [powers(silence(WINDOW)), powers(noise(WINDOW, 1e-6))])
def test_weights_add_up_to_one_even_in_silence(power: Samples) -> None:
    weights: Weights = activity(power)
    assert weights.sum() == pytest.approx(1)
    assert np.isfinite(weights).all()
