"""Prosody as edits of the frames a voice's network predicts, before they become sound.

Everything is relative to the voice's own way, so a plain style changes nothing. Level, range and
colour are measured against the voice and never against the clause at hand, so that neighbouring
clauses are changed alike and meet.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.style import Style
from models.types import Samples

FRAME_SEC = 0.0125
BIN_HZ = 20.0
VOICED_HZ = 40.0  # a frame with less has no voice
LOWEST_HZ = 55.0  # to which no edit brings a voice

# How far a style may go. Pitch is what costs quality (docs/voice.md); the other limits leave room
# around the styles that were measured.
LIMITS = {
    "pace": (0.25, 1.5),
    "pitch": (-2.0, 1.5),
    "range": (0.4, 1.5),
    "slope": (-2.0, 2.0),
    "loudness": (-6.0, 3.0),
    "tilt": (-2.0, 1.5),
    "breath": (0.0, 0.6),
    "onset": (0.0, 1.5),
    "pause": (0.5, 2.5),
    "emphasis": (0.0, 1.0),
}

SLOPE_MOST = 1.5  # semitones a slope adds or takes at either end, however long the clause
END_SEC = 0.35  # of the voice at a statement's end that a contour bends
FALL_ST, RISE_ST = -2.5, 2.0
STRESS_ST, STRESS_DB, STRESS_LENGTH = 1.5, 2.5, 0.2  # at an emphasis of 1
EDGE_SEC = 0.06  # over which a stress comes and goes
HUSH_DB = 40.0  # below the loudest frame: what is fainter is no sound
PAUSE_SEC = 0.1  # a shorter silence is part of a consonant
TILT_HZ, TILT_TO_HZ = 500.0, 8000.0
AIR_HZ = 1500.0  # from here on up, breath is heard
AIR = 0.5  # of the harmonics' amplitude, at a breath of 1
DENSITY = 0.27  # amplitude of a noise that is as strong as harmonics some 200 Hz apart
BLUR = 9  # bins: 180 Hz, nearly from one harmonic to the next
MOVED_ST = 1.5  # moved by so much, harmonics have their envelope blurred in full
HARMONICS = 16  # that most of a voice's strength is in
STEADY = 7  # frames
NEPER_PER_DB = np.float32(np.log(10) / 20)


class Frames(NamedTuple):
    """Sound in frames of 12.5 ms, as hibari's synthesis takes it: logarithmic amplitudes and
    phases over bins of 20 Hz, and the pitch."""

    harmonics: Samples
    harmonics_phase: Samples
    noise: Samples
    free: Samples  # sound of any other kind
    free_phase: Samples
    pitch: Samples  # Hz

    @property
    def voiced(self) -> NDArray[np.bool_]:
        return self.pitch > VOICED_HZ


def within_limits(style: Style) -> Style:
    """The nearest style that does the voice no harm."""
    return replace(
        style,
        **{
            name: min(most, max(least, getattr(style, name)))
            for name, (least, most) in LIMITS.items()
        },
    )


def performed(
    frames: Frames,
    style: Style,
    centre: float,
    stressed: Sequence[tuple[int, int]],
    final: bool,
) -> tuple[Frames, NDArray[np.intp]]:
    """A clause in a style, and where each frame has come to begin; and the end.

    Args:
        frames: the clause, spoken at the style's pace.
        style: within limits.
        centre: Hz, the middle of the voice's own melody.
        stressed: frames at which each stressed word begins and ends.
        final: whether a statement ends with the last frame.
    """
    lengths = np.where(_paused(frames, PAUSE_SEC / style.pace), style.pause, 1.0)
    for start, stop in stressed:
        lengths[start:stop] *= 1 + STRESS_LENGTH * style.emphasis
    frames, begins = stretched(frames, lengths)
    spans = [(int(begins[start]), int(begins[stop])) for start, stop in stressed]
    stress = swelling(spans, len(frames.pitch))
    return coloured(inflected(frames, style, centre, stress, final), style, stress), begins


def stretched(frames: Frames, lengths: NDArray[np.float64]) -> tuple[Frames, NDArray[np.intp]]:
    """Frames that last so many times as long, and where each has come to begin; and the end."""
    begins = np.rint(np.concatenate([[0.0], np.cumsum(lengths)])).astype(np.intp)
    source = np.repeat(np.arange(len(lengths)), np.diff(begins))
    return Frames(*(part[..., source] for part in frames)), begins


def swelling(spans: Sequence[tuple[int, int]], count: int) -> Samples:
    """0 outside the spans and 1 inside, coming and going gently."""
    weight = np.zeros(count, np.float32)
    for start, stop in spans:
        weight[max(start, 0) : stop] = 1.0
    edge = round(EDGE_SEC / FRAME_SEC)
    bell = np.hanning(edge + 2)[1:-1]
    return np.convolve(weight, bell / bell.sum(), "same").astype(np.float32)[:count]


def inflected(frames: Frames, style: Style, centre: float, stress: Samples, final: bool) -> Frames:
    """The melody: level, range, slope, stressed words, and the end if a statement ends here.

    Args:
        frames: of a clause.
        style: within limits.
        centre: Hz, the middle of the voice's own melody.
        stress: 0-1 for each frame.
        final: whether a statement ends with the last frame.
    """
    voiced = np.flatnonzero(frames.voiced)
    if not len(voiced):
        return frames
    own = 12 * np.log2(frames.pitch[voiced] / centre)
    seconds = (voiced - voiced.mean()) * FRAME_SEC
    melody = own * style.range + style.pitch
    melody += np.clip(style.slope * seconds, -SLOPE_MOST, SLOPE_MOST)
    melody += STRESS_ST * style.emphasis * stress[voiced]
    if final and style.contour != "own":
        late = np.clip(1 - (voiced[-1] - voiced) * FRAME_SEC / END_SEC, 0, 1)
        if style.contour == "fall":
            melody += FALL_ST * late
        else:  # it would fall of itself
            held = float(np.median(melody)) + (RISE_ST if style.contour == "rise" else 0.0)
            melody += np.maximum(held - melody, 0) * late
    shift = (melody - own).astype(np.float32)
    if not shift.any():
        return frames
    pitch = frames.pitch.copy()
    pitch[voiced] = np.maximum(frames.pitch[voiced] * 2 ** (shift / 12), LOWEST_HZ)
    # The envelope bears traces of the harmonics it was predicted with: where they have moved, they
    # are wiped out, and the voice stays as strong as it was.
    harmonics = frames.harmonics.copy()
    sharp = harmonics[:, voiced]
    blurred = sharp + np.minimum(np.abs(shift) / MOVED_ST, 1) * (_blurred(sharp) - sharp)
    change = _strength(sharp, frames.pitch[voiced]) - _strength(blurred, pitch[voiced])
    harmonics[:, voiced] = blurred + _steadied(change)
    return frames._replace(harmonics=harmonics, pitch=pitch)


def coloured(frames: Frames, style: Style, stress: Samples) -> Frames:
    """Loudness, brightness and breath, and the force of stressed words."""
    hz = np.arange(len(frames.harmonics), dtype=np.float32)[:, None] * BIN_HZ
    octaves = np.log2(np.clip(hz, TILT_HZ, TILT_TO_HZ) / TILT_HZ)
    gain = style.loudness + style.tilt * octaves + STRESS_DB * style.emphasis * stress
    gain = (gain * NEPER_PER_DB).astype(np.float32)
    harmonics, noise, free = frames.harmonics, frames.noise, frames.free
    if gain.any():
        harmonics, noise, free = harmonics + gain, noise + gain, free + gain
    if style.breath and frames.voiced.any():
        airy = np.clip(np.log2(np.maximum(hz, 1.0) / AIR_HZ) + 1, 0.05, 1)  # less and less below
        air = _blurred(harmonics[:, frames.voiced])
        air += np.log(style.breath * AIR * DENSITY * airy).astype(np.float32)
        noise = noise.copy()
        noise[:, frames.voiced] = np.logaddexp(noise[:, frames.voiced], air)
    return frames._replace(harmonics=harmonics, noise=noise, free=free)


def _paused(frames: Frames, shortest: float) -> NDArray[np.bool_]:
    """Which frames lie in a silence of so many seconds at least, with sound on either side."""
    loudest = np.maximum(frames.harmonics, frames.free).max(axis=0)
    sounding = np.flatnonzero(loudest > loudest.max() - HUSH_DB * NEPER_PER_DB)
    paused = np.zeros(len(loudest), np.bool_)
    for before, after in pairwise(sounding):
        if (after - before - 1) * FRAME_SEC >= shortest:
            paused[before + 1 : after] = True
    return paused


def _strength(envelope: Samples, pitch: Samples) -> Samples:
    """Logarithmic amplitude of the lowest harmonics together, in each frame."""
    places = np.arange(1, HARMONICS + 1)[:, None] * pitch / BIN_HZ
    bins = np.minimum(np.rint(places).astype(np.intp), len(envelope) - 1)
    power = np.exp(2 * np.take_along_axis(envelope, bins, axis=0)).sum(axis=0)
    strength: Samples = np.log(power) / 2
    return strength


def _steadied(values: Samples) -> Samples:
    """Smoothed over neighbours."""
    bell = np.hanning(STEADY + 2)[1:-1].astype(np.float32)
    padded = np.pad(values, STEADY // 2, mode="edge")
    return np.convolve(padded, bell / bell.sum(), "valid")


def _blurred(envelope: Samples) -> Samples:
    """Smoothed over frequency."""
    bell = np.hanning(BLUR + 2)[1:-1].astype(np.float32)
    padded = np.pad(envelope, ((BLUR // 2, BLUR // 2), (0, 0)), mode="reflect")
    out = np.zeros_like(envelope)
    for offset, weight in enumerate(bell / bell.sum()):
        out += weight * padded[offset : offset + len(envelope)]
    return out
