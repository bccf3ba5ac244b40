"""Prosody as edits of frames: what each field of a style does, and what it leaves alone."""

from dataclasses import fields
from typing import Any, Literal

import numpy as np
import pytest

from models.style import PLAIN, Style
from models.types import Samples
from models.voicing import (
    FRAME_SEC,
    LIMITS,
    Frames,
    coloured,
    inflected,
    performed,
    stretched,
    swelling,
    within_limits,
)

BINS, COUNT = 601, 160  # two seconds
CENTRE = 200.0
SILENT = -12.0


def made(pitch: Samples | None = None) -> Frames:
    """A voice humming its middle pitch, unless told another."""
    rng = np.random.default_rng(7)
    harmonics, turns, noise, free, phase = rng.normal(0, 0.3, (5, BINS, COUNT)).astype(np.float32)
    hummed = np.full(COUNT, CENTRE, np.float32) if pitch is None else pitch
    return Frames(harmonics, turns, noise - 12, free, phase, hummed)


def gliding() -> Frames:
    """A melody of an octave around the centre, falling at its end."""
    glide = CENTRE * 2 ** (np.linspace(0.5, -0.5, COUNT))
    glide[40:50] = 0  # a consonant without voice
    return made(glide.astype(np.float32))


def calm() -> Samples:
    return np.zeros(COUNT, np.float32)


def amplitudes(frames: Frames) -> tuple[Samples, ...]:
    return frames.harmonics, frames.noise, frames.free


def semitones(after: Frames, before: Frames) -> Samples:
    shift: Samples = 12 * np.log2(after.pitch[before.voiced] / before.pitch[before.voiced])
    return shift


def test_a_plain_style_changes_nothing() -> None:
    frames = gliding()
    out, begins = performed(frames, PLAIN, CENTRE, [(20, 60)], final=True)
    for before, after in zip(frames, out, strict=True):
        np.testing.assert_array_equal(before, after)
    assert begins.tolist() == list(range(COUNT + 1))


def test_every_limit_is_one_of_a_field_and_holds_the_plain_style() -> None:
    numbers = {field.name for field in fields(Style) if isinstance(field.default, float)}
    assert set(LIMITS) == numbers
    assert within_limits(PLAIN) == PLAIN


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 99.0])
def test_no_number_leaves_the_limits(name: str, value: float) -> None:
    least, most = LIMITS[name]
    outside: dict[str, Any] = {name: value}
    assert least <= getattr(within_limits(Style(**outside)), name) <= most


def test_pitch_moves_the_whole_melody_and_no_silence() -> None:
    before = gliding()
    after = inflected(before, Style(pitch=-2.0), CENTRE, calm(), final=False)
    np.testing.assert_allclose(semitones(after, before), -2.0, atol=1e-3)
    np.testing.assert_array_equal(after.pitch[~before.voiced], before.pitch[~before.voiced])


def test_range_widens_around_the_voices_middle_and_not_the_clauses() -> None:
    high = made(np.full(COUNT, CENTRE * 2 ** (4 / 12), np.float32))
    after = inflected(high, Style(range=1.5), CENTRE, calm(), final=False)
    np.testing.assert_allclose(semitones(after, high), 2.0, atol=1e-3)


def test_a_wide_range_does_not_silence_a_low_voice() -> None:
    creaky = made(np.full(COUNT, 60.0, np.float32))
    assert inflected(creaky, Style(range=1.5), CENTRE, calm(), final=False).voiced.all()


def test_a_slope_bends_both_ends_and_keeps_the_middle() -> None:
    shift = semitones(inflected(made(), Style(slope=-1.0), CENTRE, calm(), False), made())
    assert shift[0] == pytest.approx(1.0, abs=0.02)
    assert shift[-1] == pytest.approx(-1.0, abs=0.02)
    assert shift.mean() == pytest.approx(0.0, abs=0.01)


def test_a_slope_goes_only_so_far() -> None:
    shift = semitones(inflected(made(), Style(slope=2.0), CENTRE, calm(), False), made())
    assert np.abs(shift).max() == pytest.approx(1.5, abs=0.01)


@pytest.mark.parametrize(("contour", "least", "most"), [("fall", -2.6, -2.4), ("rise", 7.5, 8.5)])
def test_a_contour_bends_the_end_of_a_statement(
    contour: Literal["fall", "rise"], least: float, most: float
) -> None:
    before = gliding()  # its end lies six semitones under its middle
    style = Style(contour=contour)
    shift = semitones(inflected(before, style, CENTRE, calm(), final=True), before)
    assert least < shift[-1] < most
    assert not shift[: -int(0.4 / FRAME_SEC)].any()
    onward = inflected(before, style, CENTRE, calm(), final=False)
    np.testing.assert_array_equal(onward.pitch, before.pitch)


def test_a_level_end_stays_where_the_melody_was() -> None:
    after = inflected(gliding(), Style(contour="level"), CENTRE, calm(), final=True)
    assert after.pitch[-1] == pytest.approx(float(np.median(after.pitch[after.voiced])), rel=0.02)


@pytest.mark.parametrize("pitch", [1.5, -3.0])
def test_moved_harmonics_lose_their_old_traces(pitch: float) -> None:
    before = made()
    after = inflected(before, Style(pitch=pitch), CENTRE, calm(), final=False)
    assert np.diff(after.harmonics, axis=0).std() < np.diff(before.harmonics, axis=0).std() / 2


@pytest.mark.parametrize("pitch", [1.5, -3.0])
def test_a_voice_that_is_moved_is_as_strong_as_before(pitch: float) -> None:
    before = made()
    before.harmonics[::10] += 2  # traces of 200 Hz
    after = inflected(before, Style(pitch=pitch), CENTRE, calm(), final=False)

    def strength(frames: Frames) -> float:
        """dB of the harmonics up to 3 kHz, where they lie."""
        places = np.rint(np.arange(1, 15) * frames.pitch[0] / 20).astype(int)
        return float(10 * np.log10(np.exp(2 * frames.harmonics[places]).mean()))

    assert strength(after) == pytest.approx(strength(before), abs=0.5)


def test_loudness_is_in_decibels_at_every_frequency() -> None:
    before = made()
    after = coloured(before, Style(loudness=3.0), calm())
    for old, new in zip(amplitudes(before), amplitudes(after), strict=True):
        np.testing.assert_allclose(20 * np.log10(np.exp(new - old)), 3.0, atol=1e-3)


def test_tilt_is_per_octave_from_500_hz_on() -> None:
    before = made()
    after = coloured(before, Style(tilt=1.5), calm())
    gain = 20 * np.log10(np.exp(after.harmonics - before.harmonics)).mean(axis=1)
    assert gain[10] == pytest.approx(0.0, abs=1e-3)  # 200 Hz
    assert gain[100] == pytest.approx(3.0, abs=0.01)  # 2 kHz
    assert gain[600] == pytest.approx(6.0, abs=0.01)  # no brighter beyond 8 kHz


def test_breath_is_noise_under_the_voice_and_nowhere_else() -> None:
    before = gliding()
    after = coloured(before, Style(breath=0.5), calm())
    louder = after.noise - before.noise
    assert (louder[100:, before.voiced] > 3).all()
    assert not louder[:, ~before.voiced].any()
    more = coloured(before, Style(breath=0.6), calm())
    assert more.noise.mean() > after.noise.mean()


def test_a_stressed_word_is_longer_higher_and_louder_than_its_neighbours() -> None:
    before = made()
    after, begins = performed(before, Style(emphasis=1.0), CENTRE, [(60, 100)], final=False)
    start, stop = int(begins[60]), int(begins[100])
    assert stop - start == 48
    assert len(after.pitch) == COUNT + 8
    middle = (start + stop) // 2
    assert 12 * np.log2(after.pitch[middle] / CENTRE) == pytest.approx(1.5, abs=0.01)
    assert 12 * np.log2(after.pitch[10] / CENTRE) == pytest.approx(0.0, abs=0.01)
    assert after.free[:, middle].mean() > after.free[:, 10].mean() + 0.2


def test_a_stress_comes_and_goes_without_a_jump() -> None:
    weight = swelling([(60, 100)], COUNT)
    assert np.abs(np.diff(weight)).max() < 0.4
    assert weight[80] == pytest.approx(1.0)
    assert weight[40] == weight[120] == 0.0


def test_a_pause_inside_a_clause_is_stretched_and_a_consonant_is_not() -> None:
    frames = made()
    for part in amplitudes(frames):
        part[:, 60:80] = SILENT  # a comma: a quarter of a second
        part[:, 100:104] = SILENT  # a stop: 50 ms
        part[:, :10] = SILENT  # before the first word
    after, begins = performed(frames, Style(pause=2.0), CENTRE, [], final=False)
    assert begins[80] - begins[60] == 40
    assert len(after.pitch) == COUNT + 20


def test_stretching_keeps_frames_in_order_and_says_where_they_went() -> None:
    frames = made(np.arange(COUNT, dtype=np.float32))
    lengths = np.ones(COUNT)
    lengths[:10], lengths[10:20] = 0.5, 2.0
    out, begins = stretched(frames, lengths)
    assert (np.diff(out.pitch) >= 0).all()
    assert (begins[10], begins[20], begins[-1]) == (5, 25, COUNT + 5)
    assert out.pitch[begins[20]] == 20


def test_a_clause_without_any_voice_can_be_styled() -> None:
    whispered = made(calm())
    style = Style(pitch=1.0, range=1.3, slope=1.0, breath=0.3, contour="rise", loudness=-3.0)
    out, _ = performed(whispered, style, CENTRE, [], final=True)
    assert not out.voiced.any()
