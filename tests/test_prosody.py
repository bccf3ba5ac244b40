"""Prosody against sounds whose prosody is known."""

from dataclasses import asdict

import numpy as np
import pytest

from models.percept import Prosody
from models.perception import tracks
from models.perception.prosody import Measuring, measure
from models.types import EAR_RATE, Samples
from tests.made_voices import noise, pulses, recorded, syllables


@pytest.mark.parametrize("hertz", [75, 110, 200, 330, 480])
def test_a_steady_buzz_has_its_pitch_and_no_other(hertz: float) -> None:
    measured = measure(pulses(hertz))
    assert measured.f0_mean == pytest.approx(hertz, rel=0.01)
    assert measured.f0_range == pytest.approx(0, abs=0.2)
    assert measured.f0_slope == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("slope", [-4.0, 3.0])
def test_a_glide_has_its_slope_and_range(slope: float) -> None:
    times = np.arange(2 * EAR_RATE) / EAR_RATE
    measured = measure(pulses(150 * 2 ** (slope * times / 12)))
    assert measured.f0_slope == pytest.approx(slope, abs=0.2)
    assert measured.f0_range == pytest.approx(abs(slope) * 2 * 0.9, abs=0.5)


def test_a_pitch_survives_noise_and_a_missing_fundamental() -> None:
    buzz = pulses(140, 3)
    spectrum = np.fft.rfft(buzz)
    spectrum[: 250 * 3] = 0  # three seconds: three bins to a hertz
    hollow = np.fft.irfft(spectrum).astype(np.float32)
    measured = measure(hollow + noise(len(hollow), 0.3 * float(hollow.std())))
    assert measured.f0_mean == pytest.approx(140, rel=0.02)


def test_jitter_and_shimmer_are_those_put_in() -> None:
    # Two draws from one bell differ by 1.13 of its width on average.
    steady, uneven = measure(pulses(120, 4)), measure(pulses(120, 4, jitter=0.01))
    assert steady.jitter is not None and steady.jitter < 0.001
    assert uneven.jitter == pytest.approx(0.0113, rel=0.35)
    swelling = measure(pulses(120, 4, shimmer=0.08))
    assert steady.shimmer is not None and steady.shimmer < 0.005
    assert swelling.shimmer == pytest.approx(0.08 * 1.13, rel=0.35)


def test_harmonics_to_noise_follows_the_noise_decibel_by_decibel() -> None:
    buzz = pulses(150, 3)
    size = float(buzz.std())
    clear, hissing = (measure(buzz + noise(len(buzz), size * 10 ** (-db / 20))) for db in (20, 10))
    assert clear.hnr is not None and hissing.hnr is not None
    # The noise spreads over 8 kHz and harmonics are looked for below 5: 2.5 dB better.
    assert clear.hnr == pytest.approx(22.5, abs=1.5)
    assert hissing.hnr == pytest.approx(12.5, abs=1.5)


@pytest.mark.parametrize("decibels", [15, 30])
def test_speech_to_background_is_measured_in_the_gaps(decibels: float) -> None:
    speech = pulses(130, 4)
    gate = (np.arange(len(speech)) // (EAR_RATE // 2)) % 2 == 0  # half a second on, half off
    speech = (speech * gate).astype(np.float32)
    loud = float(np.sqrt(np.square(speech[gate]).mean()))
    measured = measure(speech + noise(len(speech), loud * 10 ** (-decibels / 20)))
    assert measured.snr == pytest.approx(decibels, abs=2)
    assert measured.loudness == pytest.approx(20 * np.log10(loud), abs=1.5)
    assert measured.pause_ratio == pytest.approx(3 / 7, abs=0.08)


@pytest.mark.parametrize("rate", [2, 4, 6])
def test_a_rhythm_is_counted(rate: float) -> None:
    measured = measure(syllables(rate) + noise(4 * EAR_RATE, 1e-4))
    assert measured.speaking_rate == pytest.approx(rate, rel=0.15)


def test_louder_changes_the_loudness_and_nothing_else() -> None:
    speech = recorded("1069-133699-0000")
    soft, loud = asdict(measure(speech * np.float32(0.1))), asdict(measure(speech))
    assert loud.pop("loudness") - soft.pop("loudness") == pytest.approx(20, abs=0.1)
    assert soft == pytest.approx(loud, rel=0.05)


def test_a_man_and_a_woman_read_each_at_their_own_pitch() -> None:
    man, woman = measure(recorded("6880-216547-0000")), measure(recorded("3235-11599-0000"))
    assert man.f0_mean is not None and 85 < man.f0_mean < 130
    assert woman.f0_mean is not None and 180 < woman.f0_mean < 260
    for measured in (man, woman):
        assert measured.hnr is not None and 5 < measured.hnr < 20
        assert measured.snr is not None and measured.snr > 15


@pytest.mark.parametrize(
    ("name", "syllables_read"),
    [("6880-216547-0000", 21), ("1963-142393-0000", 23), ("201-122255-0000", 20)],
)
def test_a_sentences_syllables_are_counted_to_within_a_fifth(
    name: str, syllables_read: int
) -> None:
    measured = measure(recorded(name))
    assert measured.speaking_rate is not None
    counted = measured.speaking_rate * measured.speech_seconds
    assert counted == pytest.approx(syllables_read, rel=0.2)


@pytest.mark.parametrize("piece", [160, 5000, 8000])
def test_pieces_give_what_the_whole_gives(piece: int) -> None:
    speech = recorded("211-122425-0000")
    measuring = Measuring()
    for start in range(0, len(speech), piece):
        measuring.hear(speech[start : start + piece])
    whole = {key: value for key, value in asdict(measure(speech)).items() if value is not None}
    pieces = {key: value for key, value in asdict(measuring.prosody()).items() if key in whole}
    assert pieces == pytest.approx(whole, rel=1e-3)


def test_a_tick_looks_at_what_is_new_however_long_the_stretch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: list[int] = []

    def track_and_tell(samples: Samples) -> tracks.Tracks:
        looked_at.append(len(samples))
        return track(samples)

    track = tracks.track
    monkeypatch.setattr(tracks, "track", track_and_tell)
    speech = np.tile(recorded("211-122425-0000"), 3)
    measuring = Measuring()
    for start in range(0, len(speech), 8000):
        measuring.hear(speech[start : start + 8000])
        measuring.prosody()
    assert max(looked_at) < 8000 + 1024 + 160


@pytest.mark.parametrize(
    "sound",
    [
        np.zeros(0, np.float32),
        np.zeros(800, np.float32),
        np.zeros(2 * EAR_RATE, np.float32),
        noise(2 * EAR_RATE, 0.1),
    ],
    ids=["nothing", "a click's length", "silence", "noise"],
)
def test_where_nobody_speaks_nothing_is_measured(sound: Samples) -> None:
    assert measure(sound) == Prosody()


def test_a_tenth_of_a_second_says_nothing_of_the_pace() -> None:
    measured = measure(recorded("1069-133699-0000")[16000:17600])
    assert measured.speaking_rate is None
    assert measured.pause_ratio is None
    assert measured.f0_slope is None
