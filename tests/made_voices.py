"""Voices made for the tests: exact ones from pulses, and real ones re-voiced or stretched."""

from pathlib import Path

import numpy as np
import soundfile as sf
from numpy.typing import NDArray

from models.types import EAR_RATE, Samples

RECORDED = Path(__file__).with_name("data") / "speech"


def recorded(name: str) -> Samples:
    samples, rate = sf.read(RECORDED / f"{name}.ogg", dtype="float32")
    assert rate == EAR_RATE
    return np.asarray(samples)


def pulses(
    hertz: float | NDArray[np.float64],
    seconds: float = 2.0,
    jitter: float = 0.0,
    shimmer: float = 0.0,
    seed: int = 0,
) -> Samples:
    """A buzz of damped pulses at a pitch (one, or one per sample), with known unsteadiness."""
    rng = np.random.default_rng(seed)
    count = int(seconds * EAR_RATE)
    pitch = np.broadcast_to(np.asarray(hertz, float), (count,))
    sound = np.zeros(count + 500)
    steps = np.arange(440)
    at = 50.0
    while at < count:
        whole = int(at)
        since = steps - (at - whole)
        pulse = np.where(since > 0, np.exp(-since / 15) * np.sin(0.25 * since), 0)
        sound[whole : whole + 440] += (1 + shimmer * rng.standard_normal()) * pulse
        at += EAR_RATE / pitch[whole] * (1 + jitter * rng.standard_normal())
    return (0.2 * sound[:count]).astype(np.float32)


def noise(count: int, size: float, seed: int = 1) -> Samples:
    return (size * np.random.default_rng(seed).standard_normal(count)).astype(np.float32)


def syllables(per_second: float, seconds: float = 4.0, hertz: float = 120.0) -> Samples:
    """A buzz that swells and fades so many times a second."""
    turns = np.arange(int(seconds * EAR_RATE)) / EAR_RATE * per_second
    swell = 0.02 + 0.98 * np.square(np.sin(np.pi * turns))
    return (pulses(hertz, seconds) * swell).astype(np.float32)


def whispered(samples: Samples) -> Samples:
    """The same words without a voice: noise through the smooth part of each frame's spectrum."""
    rng = np.random.default_rng(2)
    size, hop = 512, 128
    window = np.hanning(size)
    # A whisper has little below the first formant.
    tilt = 0.02 + np.minimum(np.arange(size // 2 + 1) * EAR_RATE / size / 600, 1)
    sound = np.zeros(len(samples) + size)
    for start in range(0, len(samples) - size, hop):
        spectrum = np.abs(np.fft.rfft(samples[start : start + size] * window)) + 1e-7
        cepstrum = np.fft.irfft(np.log(spectrum))
        cepstrum[25:-24] = 0
        smooth = np.exp(np.fft.rfft(cepstrum).real) * tilt
        hiss = np.fft.rfft(rng.standard_normal(size) * window) * smooth
        sound[start : start + size] += window * np.fft.irfft(hiss) / np.sqrt(size)
    return sound[: len(samples)].astype(np.float32)


def stretched(samples: Samples, times: float) -> Samples:
    """The same words, so many times as long, at the same pitch: frames laid where they fit best."""
    size, hop, search = 640, 320, 160
    window = np.hanning(size)
    sound = np.zeros(int(len(samples) * times) + 2 * size)
    put, taken = 0, 0
    while max(int(put / times) + search, taken + hop) + size < len(samples):
        first = max(int(put / times) - search, 0)
        place = samples[first : int(put / times) + search + size]
        follows = samples[taken + hop : taken + hop + size]
        taken = first + int(np.correlate(place, follows, "valid").argmax())
        sound[put : put + size] += window * samples[taken : taken + size]
        put += hop
    return sound[:put].astype(np.float32)
