"""The clay of every made-up sound: noise, filters, envelopes, and a room around them."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from models.types import EAR_RATE, Samples

Wave = NDArray[np.float64]
Rng = np.random.Generator
Gain = Callable[[Wave], Wave | Samples]  # of each frequency in Hz

_FRAME, _HOP, _FFT = 512, 256, 1024  # of the filter that moves


def length(seconds: float) -> int:
    """Samples, at least a few: no piece of a sound is empty."""
    return max(16, round(seconds * EAR_RATE))


def spread(rng: Rng, low: float, high: float) -> float:
    """A number between two, every octave as likely as the next."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def chance(rng: Rng, probability: float) -> bool:
    return bool(rng.random() < probability)


def clock(n: int) -> Wave:
    """The time of each sample, in seconds."""
    return np.arange(n) / EAR_RATE


def contour(rng: Rng, n: int, per_second: float) -> Wave:
    """A smooth line that wanders around 0 by about 1, turning so many times a second."""
    knots = rng.standard_normal(int(n / EAR_RATE * per_second) + 3)
    return eased(knots, n, rng.uniform(0, 1), n / EAR_RATE * per_second)


def eased(knots: Sequence[float] | Wave, n: int, start: float = 0, span: float = 0) -> Wave:
    """A line through the knots without corners; the whole of them unless told a part."""
    points = np.asarray(knots, np.float64)
    where = start + np.linspace(0, span or len(points) - 1, n)
    left = np.clip(where.astype(np.intp), 0, len(points) - 2)
    share = np.clip(where - left, 0, 1)
    share = share * share * (3 - 2 * share)
    return np.asarray(points[left] * (1 - share) + points[left + 1] * share)


def hump(n: int, peak: float = 0.3, sharpness: float = 1.0) -> Wave:
    """From 0 up to 1 at the peak (a fraction of the whole) and down to 0 again."""
    at = np.linspace(0, 1, n)
    rising = np.minimum(at / max(peak, 1e-3), 1)
    falling = np.minimum((1 - at) / max(1 - peak, 1e-3), 1)
    return np.asarray(np.sin(np.pi / 2 * np.minimum(rising, falling)) ** sharpness)


def decay(n: int, seconds: float, attack: float = 0.002) -> Wave:
    """Struck: up within the attack, then down by a factor e in so many seconds."""
    time = clock(n)
    return np.asarray(np.minimum(time / attack, 1) * np.exp(-time / seconds))


def noise(rng: Rng, n: int, tilt: float = 0.0) -> Wave:
    """White, or tilted by so many dB an octave, with a power of 1."""
    white = rng.standard_normal(n)
    return tilted(white, tilt) if tilt else white


def tilted(wave: Wave, tilt: float) -> Wave:
    """With a slope of so many dB an octave, at the power it had."""
    # Below what an ear hears the slope ends: else most of the power would lie there.
    return _levelled(_through(wave, lambda hertz: np.maximum(hertz, 40) ** (tilt / 6.02)), wave)


def band(wave: Wave, low: float, high: float, steep: float = 2.0) -> Wave:
    """What lies between two frequencies; beyond, it falls by 6 dB an octave times the steepness."""

    def gain(hertz: Wave) -> Wave:
        passes = 1 / np.sqrt(1 + (hertz / high) ** (2 * steep))
        if low > 0:
            passes = passes / np.sqrt(1 + (low / hertz) ** (2 * steep))
        return np.asarray(passes)

    return _through(wave, gain)


def peaks(wave: Wave, centres: Sequence[float], widths: Sequence[float], floor: float) -> Wave:
    """With bells of gain 1 at the centres, and the floor between them."""
    return _through(wave, lambda hertz: bells(hertz, np.array(centres), np.array(widths), floor))


def bells(hertz: Wave, centres: Wave, widths: Wave, floor: float) -> Samples:
    """Gains: the last axis of the centres becomes an axis of frequencies."""
    bins = hertz.astype(np.float32)  # a filter needs no more digits, and is ready twice as soon
    gains = np.full((*centres.shape[:-1], len(bins)), floor, np.float32)
    for bell, width in enumerate(widths.astype(np.float32)):
        away = (bins - centres[..., bell, None].astype(np.float32)) * (2 / width)
        gains += 1 / (1 + away * away)
    return gains


def moving(wave: Wave, centres: Wave, widths: Wave, floor: float) -> Wave:
    """`peaks` that move: the centres (knots × bells) are spread over the whole length."""
    n = len(wave)
    count = n // _HOP + 2
    padded = np.zeros(count * _HOP + _FRAME)
    padded[_HOP : _HOP + n] = wave
    frames = sliding_window_view(padded, _FRAME)[::_HOP][: count + 1]
    if len(centres) > 1:
        path = np.stack([eased(line, len(frames)) for line in centres.T], axis=1)
    else:
        path = centres
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_FRAME) / _FRAME)
    hertz = np.arange(_FFT // 2 + 1) * EAR_RATE / _FFT
    spectra = np.fft.rfft((frames * window).astype(np.float32), _FFT)
    spectra *= bells(hertz, path, widths, floor)
    pieces = np.fft.irfft(spectra, _FFT)
    out = np.zeros((len(frames) + _FFT // _HOP) * _HOP)
    for start in range(0, _FFT, _HOP):
        out[start : start + len(frames) * _HOP] += pieces[:, start : start + _HOP].ravel()
    return out[_HOP : _HOP + n]


def buzz(pitch: Wave, start: float = 0.0) -> Wave:
    """A train of pulses at a moving pitch: every harmonic the rate can hold, equally strong."""
    half = np.pi * (np.cumsum(pitch) / EAR_RATE + start)
    count = np.maximum(np.floor(0.47 * EAR_RATE / np.maximum(pitch, 1)), 1)
    below = np.sin(half)
    below = np.where(np.abs(below) < 1e-6, 1e-6, below)
    pulses = np.sin(count * half) / below * np.cos((count + 1) * half)
    return np.asarray(pulses / np.sqrt(count / 2))


def tone(pitch: float | Wave, n: int, start: float = 0.0) -> Wave:
    if isinstance(pitch, np.ndarray):
        return np.asarray(np.sin(2 * np.pi * (np.cumsum(pitch) / EAR_RATE + start)))
    return np.asarray(np.sin(2 * np.pi * (pitch * clock(n) + start)))


def place(track: Wave, piece: Wave, seconds: float) -> None:
    """Add a piece to a track from a moment on; what does not fit falls off at either end."""
    start = round(seconds * EAR_RATE)
    piece = piece[max(0, -start) :]
    start = max(0, start)
    room = max(0, len(track) - start)
    track[start : start + len(piece)] += piece[:room]


def scattered(rng: Rng, n: int, per_second: float, piece: Wave) -> Wave:
    """The same piece again and again at random moments, each as loud as it likes."""
    count = rng.poisson(per_second * n / EAR_RATE)
    hits = np.zeros(n)
    np.add.at(hits, rng.integers(0, n, count), rng.exponential(1, count))
    return convolved(hits, piece)


def convolved(wave: Wave, piece: Wave) -> Wave:
    """The wave with each of its samples drawn out into the piece, cut to the wave's length."""
    size = _fast(len(wave) + len(piece))
    spectrum = np.fft.rfft(wave.astype(np.float32), size)
    spectrum *= np.fft.rfft(piece.astype(np.float32), size)
    return np.fft.irfft(spectrum, size)[: len(wave)].astype(np.float64)


def struck(rng: Rng, hertz: Sequence[float], seconds: float, ring: float) -> Wave:
    """A body that is hit and rings at its own frequencies, the higher ones for less long."""
    n = length(seconds)
    time = clock(n)
    out = np.zeros(n)
    for partial in hertz:
        if partial < 0.48 * EAR_RATE:
            fades = np.exp(-time / (ring * (hertz[0] / partial) ** 0.6))
            out += rng.uniform(0.2, 1) * fades * np.sin(2 * np.pi * partial * time)
    return out


def in_a_room(rng: Rng, wave: Wave, seconds: float, wet: float) -> Wave:
    """With an echo that dies away in so many seconds, dark where the walls are soft."""
    n = length(seconds)
    tail = rng.standard_normal(n) * np.exp(-6.9 * clock(n) / seconds)
    tail = band(tail, 100, spread(rng, 1500, 7000), 1)
    tail /= np.sqrt(np.sum(tail**2))
    return wave + wet * convolved(wave, tail)


def level(wave: Wave) -> float:
    """Root of the mean power, never quite 0."""
    return float(np.sqrt(np.mean(wave * wave)) + 1e-9)


def even(wave: Wave) -> Wave:
    """At a power of 1."""
    return wave / level(wave)


def loudest(wave: Wave) -> Wave:
    """At a peak of 1, or silent if it was."""
    return np.asarray(wave / max(float(np.abs(wave).max()), 1e-9))


def _levelled(wave: Wave, like: Wave) -> Wave:
    return np.asarray(wave * (level(like) / level(wave)))


def _through(wave: Wave, gain: Gain) -> Wave:
    size = _fast(len(wave))
    hertz = np.linspace(0.0, EAR_RATE / 2, size // 2 + 1, dtype=np.float64)
    hertz[0] = hertz[1] / 2  # a slope has no value at 0 Hz
    spectrum = np.fft.rfft(wave.astype(np.float32), size) * gain(hertz).astype(np.float32)
    return np.fft.irfft(spectrum, size)[: len(wave)].astype(np.float64)


def _fast(n: int) -> int:
    """A length the Fourier transform likes, with room so that the ends do not meet."""
    step = 1 << max(6, n.bit_length() - 4)
    return (n + 512) // step * step + step
