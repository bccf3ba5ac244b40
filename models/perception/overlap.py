"""Two people at once: whether a second pitch is left when the first is taken away."""

from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from models.types import EAR_RATE, Samples

_Floats = NDArray[np.floating[Any]]

_RECENT = 8 * EAR_RATE  # samples looked at: a call costs the same however long the stretch
_HOP = EAR_RATE // 25
_WINDOW, _FFT = 1024, 2048
_SHORTEST, _LONGEST = 36, 230  # samples of a voice's cycle: 444 to 70 Hz
_LAGS = _LONGEST + 2
# A cycle's simple ratios fit where the cycle itself does: they are no second voice.
_RATIOS = (1 / 4, 1 / 3, 1 / 2, 2 / 3, 1, 3 / 2, 2, 3, 4)
_LEAST_FRAMES = 40  # 1.6 s of speech


def second_voice(samples: Samples) -> float | None:
    """The share of loud frames with a second voice in them; None if there are too few to say.

    Each frame has its own cycle subtracted from itself, which silences one steady voice with all
    its harmonics. What is left of a second voice still has a pitch, at no simple ratio to the first
    (de Cheveigné's cancellation); what is left of one voice alone is mostly consonants and noise.
    """
    reach = _WINDOW + _LAGS
    recent = samples[-_RECENT:]
    if len(recent) < reach:
        return None
    spans = sliding_window_view(recent, reach)[::_HOP]
    now = spans[:, _LAGS:]
    fit, power = _periodicity(now)
    level = 10 * np.log10(power + 1e-12)
    loud = level > np.percentile(level, 95) - 15
    if loud.sum() < _LEAST_FRAMES:
        return None
    spans, now, fit, power = spans[loud], now[loud], fit[loud], power[loud]

    rows = np.arange(len(spans))
    lags = np.arange(_LAGS)
    first = _SHORTEST + (fit - _octave_cost())[:, _SHORTEST:_LONGEST].argmax(axis=1)
    before = spans[rows[:, None], _LAGS - first[:, None] + np.arange(_WINDOW)]
    left, left_power = _periodicity(now - before)
    ratio = lags / first[:, None]
    same = np.any([np.abs(ratio / simple - 1) < 0.07 for simple in _RATIOS], axis=0)
    second = np.where(same | (lags < _SHORTEST), np.float32(-1), left).max(axis=1)
    share_left = left_power / (2 * np.maximum(power, 1e-12))
    both = (fit[rows, first] > 0.3) & (second > 0.5) & (share_left > 0.15)
    return float(both.mean())


def _periodicity(frames: Samples) -> tuple[_Floats, _Floats]:
    """Autocorrelation of each frame per lag, freed of the window's own; and the frame's power."""
    centred = (frames - frames.mean(axis=1, keepdims=True)) * _window()
    spectrum = np.fft.rfft(centred, _FFT)
    power = (np.square(spectrum.real) + np.square(spectrum.imag)) * _band()
    correlation = np.fft.irfft(power, _FFT)[:, :_LAGS]
    whole = correlation[:, 0].copy()
    return correlation / (np.maximum(whole, 1e-12)[:, None] * _fading()), whole


@cache
def _window() -> Samples:
    return np.hanning(_WINDOW).astype(np.float32)


@cache
def _fading() -> Samples:
    alone = np.fft.irfft(np.square(np.abs(np.fft.rfft(_window(), _FFT))), _FFT)
    fading: Samples = (alone[:_LAGS] / alone[0]).astype(np.float32)
    return fading


@cache
def _band() -> Samples:
    # Above 2.5 kHz a cycle that wavers a little no longer cancels.
    hertz = np.arange(_FFT // 2 + 1) * EAR_RATE / _FFT
    return (np.clip((hertz - 40) / 30, 0, 1) * np.clip((2500 - hertz) / 500, 0, 1)).astype(
        np.float32
    )


@cache
def _octave_cost() -> Samples:
    return (0.02 * np.log2(np.maximum(np.arange(_LAGS), 1) / _SHORTEST)).astype(np.float32)
