import numpy as np
import pytest

from models.ear_rate import EarResampler
from models.types import EAR_RATE, WIRE_RATE, Samples


def tone(frequency: float, rate: int, seconds: float = 1.0) -> Samples:
    time = np.arange(round(seconds * rate)) / rate
    return np.sin(2 * np.pi * frequency * time).astype(np.float32)


def level_db(samples: Samples) -> float:
    return float(10 * np.log10(np.mean(samples[2000:-2000] ** 2) * 2 + 1e-12))


@pytest.mark.parametrize("frequency", [50, 1000, 4000, 6500])
def test_what_the_ear_can_hear_passes_unchanged(frequency: float) -> None:
    heard = EarResampler().push(tone(frequency, WIRE_RATE))
    assert level_db(heard) == pytest.approx(0.0, abs=0.1)
    spectrum = np.abs(np.fft.rfft(heard[2000:10_000]))
    assert spectrum.argmax() * EAR_RATE / 8000 == pytest.approx(frequency, abs=2)


@pytest.mark.parametrize("frequency", [9_200, 11_000])
def test_what_it_cannot_does_not_fold_back(frequency: float) -> None:
    assert level_db(EarResampler().push(tone(frequency, WIRE_RATE))) < -50


def test_pieces_of_any_size_give_the_same_as_the_whole() -> None:
    rng = np.random.default_rng(0)
    samples = rng.normal(0, 0.1, 24_000).astype(np.float32)
    whole = EarResampler().push(samples)
    cut, at, resampler = [], 0, EarResampler()
    while at < len(samples):
        size = int(rng.integers(1, 700))
        cut.append(resampler.push(samples[at : at + size]))
        at += size
    np.testing.assert_allclose(np.concatenate(cut), whole, atol=1e-6)
    assert len(whole) == 16_000


def test_a_sound_comes_out_about_a_millisecond_late() -> None:
    click = np.zeros(2400, np.float32)
    click[1200] = 1.0
    delay = int(np.abs(EarResampler().push(click)).argmax()) / EAR_RATE - 1200 / WIRE_RATE
    assert 0 < delay < 0.002
