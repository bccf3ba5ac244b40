"""Making one recording sound like many: other rooms, microphones, lines, levels and paces.

Collections differ in exactly these, and a network is quick to tell them apart by them. So nothing
of the recording chain is left as it was.
"""

import io

import numpy as np
import soundfile as sf

from models.perception.windows import loudness
from models.types import EAR_RATE, Samples


def at_pace(samples: Samples, pace: float) -> Samples:
    """Played faster or slower, pitch and all."""
    at = np.arange(0, len(samples) - 1, pace, dtype=np.float32)
    out: Samples = np.interp(at, np.arange(len(samples)), samples).astype(np.float32)
    return out


def through_room_and_line(samples: Samples, rng: np.random.Generator) -> Samples:
    """A random room, microphone and band, as one filter."""
    tail = 4096 if rng.random() < 0.5 else 512
    size = 1 << (len(samples) + tail - 1).bit_length()
    spectrum = np.fft.rfft(samples, size)
    if tail == 4096 or rng.random() < 0.3:
        spectrum *= np.fft.rfft(_room(rng, tail), size)
    hertz = np.fft.rfftfreq(size, 1 / EAR_RATE)
    spectrum *= _microphone(rng, hertz)
    out: Samples = np.fft.irfft(spectrum, size)[: len(samples)].astype(np.float32)
    return out


def _room(rng: np.random.Generator, size: int) -> Samples:
    """A direct sound, and reflections that die away."""
    time = np.arange(size) / EAR_RATE
    fading = np.exp(-6.9 * time / rng.uniform(0.1, 0.7))
    room = rng.standard_normal(size) * fading * rng.uniform(0.005, 0.06)
    room[: int(rng.uniform(0.001, 0.01) * EAR_RATE)] = 0
    room[0] = 1
    return room.astype(np.float32)


def _microphone(rng: np.random.Generator, hertz: Samples) -> Samples:
    """A wavy response with a tilt, and perhaps a band's edges."""
    octaves = np.log2(np.maximum(hertz, 50) / 1000)
    decibels = rng.uniform(-3, 3) * octaves
    knots = np.linspace(-5, 3, 9)
    decibels += np.interp(octaves, knots, rng.normal(0, 2.5, 9))
    if rng.random() < 0.3:  # a telephone's or an old codec's upper edge
        edge = rng.uniform(3000, 7000)
        decibels -= np.maximum(0, hertz - edge) / 100
    if rng.random() < 0.5:
        edge = rng.uniform(60, 300)
        decibels -= 18 * np.maximum(0, np.log2(edge / np.maximum(hertz, 10)))
    gains: Samples = (10 ** (decibels / 20)).astype(np.float32)
    return gains


def coded(samples: Samples, rng: np.random.Generator) -> Samples:
    """Through a codec that loses something."""
    if rng.random() < 0.4:
        bent = np.sign(samples) * np.log1p(255 * np.abs(np.clip(samples, -1, 1))) / np.log(256)
        bent = np.round(bent * 127) / 127
        straight = np.sign(bent) * np.expm1(np.abs(bent) * np.log(256)) / 255
        return np.asarray(straight, np.float32)
    kind, subtype = [("OGG", "VORBIS"), ("MP3", "MPEG_LAYER_III")][rng.integers(2)]
    file = io.BytesIO()
    loss = rng.uniform(0.7, 0.99)
    held = np.clip(samples, -1, 1)
    sf.write(file, held, EAR_RATE, format=kind, subtype=subtype, compression_level=loss)
    file.seek(0)
    out, _ = sf.read(file, dtype="float32")
    heard: Samples = np.pad(out, (0, max(0, len(samples) - len(out))))[: len(samples)]
    return heard


def hiss(rng: np.random.Generator, size: int) -> Samples:
    """Noise of a random colour."""
    spectrum = np.fft.rfft(rng.standard_normal(size))
    spectrum *= np.maximum(np.arange(len(spectrum)), 20) ** -rng.uniform(0, 1)
    noise = np.fft.irfft(spectrum, size)
    out: Samples = (noise / (noise.std() + 1e-9)).astype(np.float32)
    return out


def mixed(speech: Samples, other: Samples, decibels: float) -> Samples:
    """The first with the second so many decibels below it, by their louder halves."""
    ratio = loudness(speech) / max(loudness(other), 1e-6) * 10 ** (-decibels / 20)
    out: Samples = speech + other * np.float32(ratio)
    return out
