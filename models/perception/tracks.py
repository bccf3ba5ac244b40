"""Sound cut into frames, and what each frame says by itself: level, pitch, steadiness, colour.

Frames lie on a fixed grid of samples, so sound that arrives in pieces gives exactly the frames it
would give at once, and a frame is never worked out twice.
"""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from models.types import EAR_RATE, Samples

_Floats = NDArray[np.floating[Any]]

HOP = EAR_RATE // 100  # a frame every 10 ms
FRAMES_PER_SECOND = EAR_RATE // HOP
LOWEST, HIGHEST = 60.0, 500.0  # Hz; where a voice's pitch is looked for

_SPAN = 1024  # samples a frame may look at: four cycles of a low voice
_WINDOW = 720  # of these, those in the middle that the spectrum is made of
_MARGIN = (_SPAN - _WINDOW) // 2
_FFT = 1024  # _WINDOW and the longest lag fit in without wrapping round
_LAGS = np.arange(int(EAR_RATE / HIGHEST) - 2, int(EAR_RATE / LOWEST) + 3)
_CANDIDATES = 4  # pitches kept for a frame: the right one is nearly always among them
_OCTAVE_COST = 0.02  # a lag's multiples fit as well as itself: per octave, the shorter is preferred
_EVEN = 0.6  # a frame's periodicity from which its single cycles can be compared
_LONGEST_CYCLE = 230  # samples; 70 Hz
_DRIFT = 0.08  # how far, as a fraction, one cycle may differ in length from the next


@dataclass(frozen=True, slots=True)
class Tracks:
    """One row per frame."""

    level: Samples  # dBFS, without rumble
    body: Samples  # dBFS between 300 and 3300 Hz, where syllables stand out
    low: Samples  # power between 50 and 1000 Hz
    high: Samples  # power between 1 and 5 kHz
    pitches: Samples  # × candidates, Hz, the likeliest first; 0 for none
    strengths: Samples  # × candidates, how periodic at that pitch, 0-1
    jitter: Samples  # change of length from one cycle to the next, as a fraction; NaN if unsteady
    shimmer: Samples  # the same for its size

    def __len__(self) -> int:
        return len(self.level)

    @staticmethod
    def join(parts: "list[Tracks]") -> "Tracks":
        return Tracks(
            *(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Tracks))
        )


class Tracking:
    """Tracks of sound that is still coming in."""

    def __init__(self) -> None:
        self._pending: Samples = np.zeros(0, np.float32)  # what the next frame begins with
        self._tracks = track(self._pending)

    def hear(self, samples: Samples) -> None:
        self._pending = np.concatenate([self._pending, samples])
        fresh = track(self._pending)
        self._tracks = Tracks.join([self._tracks, fresh])
        self._pending = self._pending[len(fresh) * HOP :]

    @property
    def tracks(self) -> Tracks:
        return self._tracks


def track(samples: Samples) -> Tracks:
    """The tracks of all frames that fit whole into the samples (16 kHz)."""
    if len(samples) < _SPAN:
        nothing = np.zeros(0, np.float32)
        none = np.zeros((0, _CANDIDATES), np.float32)
        return Tracks(nothing, nothing, nothing, nothing, none, none, nothing, nothing)
    spans = sliding_window_view(samples, _SPAN)[::HOP]
    shape = _shape()
    windows = spans[:, _MARGIN : _MARGIN + _WINDOW]
    windows = (windows - windows.mean(axis=1, keepdims=True)) * shape.window
    spectrum = np.fft.rfft(windows, _FFT)
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    # A whole spectrum adds up to the mean square of the sound under the window.
    power *= np.float32(2 / (_FFT * np.square(shape.window).sum()))

    pitches, strengths = _pitches(power, shape)
    jitter, shimmer = _cycles(spans, pitches[:, 0], strengths[:, 0])
    return Tracks(
        level=_decibels(_band(power, 50, 8000)),
        body=_decibels(_band(power, 300, 3300)),
        low=_band(power, 50, 1000),
        high=_band(power, 1000, 5000),
        pitches=pitches,
        strengths=strengths,
        jitter=jitter,
        shimmer=shimmer,
    )


def _band(power: Samples, low: float, high: float) -> Samples:
    bins = slice(round(low * _FFT / EAR_RATE), round(high * _FFT / EAR_RATE))
    total: Samples = power[:, bins].sum(axis=1)
    return total


def _decibels(power: Samples) -> Samples:
    return 10 * np.log10(np.maximum(power, np.float32(1e-10)))


@dataclass(frozen=True, slots=True)
class _Shape:
    window: Samples
    pass_band: Samples  # per bin of the spectrum: what the pitch is looked for in
    fading: Samples  # how the window alone makes the autocorrelation fall off, per lag


@cache
def _shape() -> _Shape:
    turns = (np.arange(_WINDOW) + 0.5) / _WINDOW
    window = (0.5 - 0.5 * np.cos(2 * np.pi * turns)).astype(np.float32)
    hertz = np.arange(_FFT // 2 + 1) * EAR_RATE / _FFT
    # No rumble, and no hiss above 4-5 kHz: harmonics are there no longer worth the noise.
    pass_band = np.clip((hertz - 30) / 30, 0, 1) * np.clip((5000 - hertz) / 1000, 0, 1)
    fading = np.fft.irfft(np.square(np.abs(np.fft.rfft(window, _FFT))), _FFT)
    return _Shape(window, pass_band.astype(np.float32), (fading / fading[0]).astype(np.float32))


def _pitches(power: Samples, shape: _Shape) -> tuple[Samples, Samples]:
    """The likeliest pitches of each frame, from its autocorrelation freed of the window's own."""
    correlation = np.fft.irfft(power * shape.pass_band, _FFT)[:, : _LAGS[-1] + 1]
    whole = np.maximum(correlation[:, :1], np.float32(1e-12))
    fit = correlation[:, _LAGS] / (whole * shape.fading[_LAGS])

    before, at, after = fit[:, :-2], fit[:, 1:-1], fit[:, 2:]
    cost = (_OCTAVE_COST * np.log2(_LAGS[1:-1] / _LAGS[1])).astype(np.float32)
    merit = np.where((at > before) & (at >= after) & (at > 0), at - cost, np.float32(-1))
    best = np.argpartition(-merit, _CANDIDATES, axis=1)[:, :_CANDIDATES]
    merits = np.take_along_axis(merit, best, axis=1)
    best = np.take_along_axis(best, np.argsort(-merits, axis=1), axis=1)

    # The peak lies between lags: a parabola through three of them says where and how high.
    left, middle, right = (np.take_along_axis(part, best, axis=1) for part in (before, at, after))
    aside, gain = _peak(left, middle, right)
    found = np.take_along_axis(merit, best, axis=1) > 0
    lags = (_LAGS[1:-1][best] + aside).astype(np.float32)
    strengths = np.where(found, np.minimum(middle + gain, np.float32(1)), np.float32(0))
    return np.where(found, EAR_RATE / lags, np.float32(0)), strengths


def _peak(left: _Floats, middle: _Floats, right: _Floats) -> tuple[_Floats, _Floats]:
    """How far from the middle one the top of a parabola through three points is, and above it."""
    bend = left - 2 * middle + right
    bend = np.where(bend < 0, bend, np.float32(-1e-6))
    aside = np.clip((left - right) / (2 * bend), -1, 1)
    return aside, -(left - right) * aside / 4


def _cycles(spans: Samples, pitch: Samples, strength: Samples) -> tuple[Samples, Samples]:
    """How much a frame's middle cycle differs from its neighbours, in length and in size.

    The neighbours are found by shifting the cycle until it matches best, which holds against noise
    better than looking for the tops of the wave.
    """
    jitter = np.full(len(spans), np.nan, np.float32)
    shimmer = jitter.copy()
    period = np.rint(EAR_RATE / np.maximum(pitch, 1)).astype(int)
    even = (strength > _EVEN) & (period <= _LONGEST_CYCLE)
    # Cycles of about the same length go together: the arrays are as wide as the longest.
    for shortest, longest in ((0, 64), (64, 115), (115, _LONGEST_CYCLE)):
        (rows,) = np.nonzero(even & (period > shortest) & (period <= longest))
        if len(rows):
            jitter[rows], shimmer[rows] = _compared(spans[rows], period[rows], longest)
    return jitter, shimmer


def _compared(spans: Samples, period: NDArray[np.intp], longest: int) -> tuple[Samples, Samples]:
    rows = np.arange(len(spans))[:, None]
    reach = int(np.ceil(_DRIFT * longest))
    steps = np.arange(longest)
    inside = steps < period[:, None]

    # Begin a little before the wave's top, so that a cycle is cut where it is weakest.
    around = np.where(inside, np.abs(spans[rows, _SPAN // 2 - period[:, None] // 2 + steps]), -1)
    top = _SPAN // 2 - period // 2 + around.argmax(axis=1)
    start = top - period // 4
    cycle = np.where(inside, spans[rows, start[:, None] + steps], np.float32(0))
    size = np.square(cycle).sum(axis=1)

    lengths, sizes = [], [np.sqrt(size)]
    for side in (-1, 1):
        beside = start + side * period - reach
        columns = np.clip(beside[:, None] + np.arange(longest + 2 * reach), 0, _SPAN - 1)
        shifted = sliding_window_view(spans[rows, columns], longest, axis=1)
        match = np.einsum("rl,rsl->rs", cycle, shifted)
        energy = np.einsum("rl,rsl->rs", inside.astype(np.float32), np.square(shifted))
        match /= np.sqrt(np.maximum(energy, np.float32(1e-12)))
        best = np.clip(match.argmax(axis=1), 1, 2 * reach - 1)
        at = np.arange(len(spans))
        aside, _ = _peak(match[at, best - 1], match[at, best], match[at, best + 1])
        lengths.append(period + side * (best + aside - reach))
        sizes.append(np.sqrt(energy[at, best]))
    here, before, after = sizes
    mean_size = np.maximum(here + before + after, np.float32(1e-9)) / 3
    jitter = np.abs(lengths[1] - lengths[0]) / period
    shimmer = (np.abs(after - here) + np.abs(here - before)) / 2 / mean_size
    return jitter.astype(np.float32), shimmer.astype(np.float32)
