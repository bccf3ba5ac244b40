"""Made-up sounds: each is what its name says, in what can be measured of it."""

import numpy as np
import pytest
from numpy.typing import NDArray

from models.perception import labels
from models.perception.sounds import NAMES, make
from models.perception.sounds.voice import babble, somebody
from models.types import EAR_RATE, Samples

SECONDS = 4.0
SEEDS = range(4)


def sound(name: str, seed: int, seconds: float = SECONDS) -> Samples:
    return make(name, np.random.default_rng(seed), seconds)


def loudness(samples: Samples, per_second: int = 100) -> NDArray[np.float64]:
    """The level of each stretch."""
    step = EAR_RATE // per_second
    whole = samples[: len(samples) // step * step].astype(np.float64)
    return np.asarray(np.sqrt(np.mean(whole.reshape(-1, step) ** 2, axis=1)))


def beats(samples: Samples, low: float, high: float) -> float:
    """How much of the loudness's coming and going lies between two rates, 0-1."""
    course = loudness(samples)
    power = np.abs(np.fft.rfft(course - course.mean(), 4096)) ** 2
    rate = np.fft.rfftfreq(4096, 0.01)
    return float(power[(rate >= low) & (rate <= high)].sum() / power[rate >= 0.2].sum())


def pitch(samples: Samples) -> float:
    """Hz of the loudest eighth of a second, from where it resembles itself."""
    at = int(np.argmax(loudness(samples, 8))) * (EAR_RATE // 8)
    piece = samples[at : at + EAR_RATE // 8].astype(np.float64)
    alike = np.fft.irfft(np.abs(np.fft.rfft(piece, 4096)) ** 2)[: EAR_RATE // 60]
    alike = alike / alike[0] / (1 - np.arange(len(alike)) / len(piece))
    after = int(np.argmax(alike < 0.3))  # past the peak at 0
    best = alike[after:].max()
    return EAR_RATE / (after + int(np.argmax(alike[after:] > 0.9 * best)))


def share(samples: Samples, low: float, high: float) -> float:
    """The part of the power between two frequencies."""
    power = np.abs(np.fft.rfft(samples.astype(np.float64))) ** 2
    hertz = np.fft.rfftfreq(len(samples), 1 / EAR_RATE)
    return float(power[(hertz >= low) & (hertz < high)].sum() / power.sum())


def typical(values: list[float]) -> float:
    return float(np.median(values))


def test_every_event_and_environment_that_can_be_heard_can_be_made() -> None:
    wanted = {*labels.EVENTS, *labels.ENVIRONMENT, "sobbing", "breath", "other"}
    assert set(NAMES) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_is_finite_audible_and_as_long_as_asked(name: str) -> None:
    for seed, seconds in enumerate((0.3, 2.5)):
        made = sound(name, seed, seconds)
        assert made.dtype == np.float32
        assert len(made) == round(seconds * EAR_RATE)
        assert np.isfinite(made).all()
        assert 0.1 < np.abs(made).max() <= 1


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_sound_and_another_seed_another(name: str) -> None:
    first = sound(name, 1, 1.0)
    assert np.array_equal(first, sound(name, 1, 1.0))
    other = sound(name, 2, 1.0)
    alike = np.corrcoef(first, other)[0, 1]
    assert abs(alike) < 0.5


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'hiccup'.*laughter.*dog"):
        sound("hiccup", 0)


def test_laughter_beats_three_to_six_times_a_second() -> None:
    laughing = typical([beats(sound("laughter", seed), 2.8, 6.5) for seed in range(8)])
    moaning = typical([beats(sound("moan", seed), 2.8, 6.5) for seed in range(8)])
    assert laughing > 0.3
    assert laughing > 2 * moaning


def test_a_scream_is_higher_than_400_hertz_and_a_cleared_throat_far_lower() -> None:
    screams = [pitch(sound("scream", seed)) for seed in range(8)]
    assert sum(high > 390 for high in screams) >= 7
    throats = [pitch(sound("throat", seed)) for seed in range(8)]
    assert typical(throats) < typical(screams) / 2


def test_breath_is_noise_that_comes_and_goes() -> None:
    for seed in SEEDS:
        course = loudness(sound("breath", seed))
        assert np.percentile(course, 90) > 2 * np.percentile(course, 10)


def test_the_sea_swells_slower_than_anything_else_moves() -> None:
    swelling = typical([beats(sound("sea", seed, 10.0), 0.2, 1.0) for seed in SEEDS])
    raining = typical([beats(sound("rain", seed, 10.0), 0.2, 1.0) for seed in SEEDS])
    assert swelling > 0.6
    assert swelling > 2 * raining


def test_an_alarm_repeats_itself() -> None:
    repeats = []
    for seed in range(8):
        course = loudness(sound("alarm", seed, 8.0))
        moves = course - course.mean()
        alike = np.correlate(moves, moves, "full")[len(moves) :] / (moves @ moves)
        room = 1 - np.arange(1, len(moves)) / len(moves)
        repeats.append(float((alike / room)[10:400].max()))
    assert typical(repeats) > 0.7


def test_thunder_rumbles_low_and_rain_hisses_high() -> None:
    thunder = [share(sound("thunderstorm", seed), 1000, 8000) for seed in range(8)]
    rain = [share(sound("rain", seed), 1000, 8000) for seed in range(8)]
    assert typical(thunder) < 0.1
    assert typical(rain) > 0.3


def test_a_dog_barks_in_bursts() -> None:
    for seed in SEEDS:
        course = loudness(sound("dog", seed))
        assert np.median(course) < 0.3 * course.max()


def test_a_child_talks_higher_than_grown_ups() -> None:
    def talking(seed: int, child: bool) -> float:
        rng = np.random.default_rng(seed)
        return pitch(babble(rng, somebody(rng, child), 3.0).astype(np.float32))

    grown_up = [talking(seed, child=False) for seed in range(8)]
    assert typical([talking(seed, child=True) for seed in range(8)]) > 1.3 * typical(grown_up)


def test_a_short_sound_is_cut_out_where_something_happens() -> None:
    for seed in range(12):
        assert np.abs(sound("laughter", seed, 0.25)).max() > 0.1
