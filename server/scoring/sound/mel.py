"""Mel spectra as the networks that judge quality were trained on: Slaney's scale, with numpy."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from models.types import Samples

Floats = NDArray[np.floating[Any]]

# Slaney's scale: even steps of 200/3 Hz up to 1 kHz, from there 27 steps to 6.4 times as high.
_STEP, _CORNER, _OCTAVES = 200 / 3, 1000.0, np.log(6.4) / 27
_AT_ONCE = 256  # frames; a long reply takes no more memory


@dataclass(frozen=True, slots=True)
class Mel:
    """How a sound becomes frames × bands; all in samples and hertz."""

    rate: int
    fft: int
    window: int
    hop: int
    bands: int
    highest: float
    power: int  # 1: magnitudes, 2: powers
    mirrored: bool  # at the edges, where half a frame is missing; else silence is put there

    def __call__(self, samples: Samples) -> Floats:
        edge = "reflect" if self.mirrored else "constant"
        padded = np.pad(samples, self.fft // 2, mode=edge)  # type: ignore[call-overload]
        frames = sliding_window_view(padded, self.fft)[:: self.hop]
        shape, triangles = self._shape(), filters(self.rate, self.fft, self.bands, self.highest)
        parts = [
            np.abs(np.fft.rfft(frames[at : at + _AT_ONCE] * shape)) ** self.power @ triangles
            for at in range(0, len(frames), _AT_ONCE)
        ]
        return np.concatenate(parts)

    def _shape(self) -> Floats:
        shape = np.zeros(self.fft, np.float32)
        begin = (self.fft - self.window) // 2
        turns = np.arange(self.window) / self.window
        shape[begin : begin + self.window] = 0.5 - 0.5 * np.cos(2 * np.pi * turns)
        return shape


@cache
def filters(rate: int, fft: int, bands: int, highest: float) -> Floats:
    """Triangles of equal area, bins × bands; those above half the rate stay empty."""
    edges = _hertz(np.linspace(0, _mels(highest), bands + 2))
    bins = np.arange(fft // 2 + 1) * rate / fft
    rising = (bins[:, None] - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins[:, None]) / (edges[2:] - edges[1:-1])
    triangles: Floats = np.maximum(0, np.minimum(rising, falling))
    return triangles * (2 / (edges[2:] - edges[:-2]))


def decibels(power: Floats, against: float, least: float, depth: float = 80.0) -> Floats:
    """Nothing is told that is `depth` below the loudest."""
    level = 10 * np.log10(np.maximum(power, least)) - 10 * np.log10(max(against, least))
    told: Floats = np.maximum(level, level.max() - depth)
    return told


def _mels(hertz: float) -> float:
    if hertz < _CORNER:
        return hertz / _STEP
    return float(_CORNER / _STEP + np.log(hertz / _CORNER) / _OCTAVES)


def _hertz(mels: Floats) -> Floats:
    corner = _CORNER / _STEP
    high: Floats = _CORNER * np.exp(_OCTAVES * (mels - corner))
    return np.where(mels < corner, mels * _STEP, high)
