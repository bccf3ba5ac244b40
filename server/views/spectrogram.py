"""Which pitches sounded when, as a picture: time to the right, mel upwards, loud is strong."""

import numpy as np
from numpy.typing import NDArray

from models.types import WIRE_RATE
from server.views.colours import Look, palette
from server.views.png import png
from server.views.stretch import BLOCK, COLUMN, Channel, Recording

WINDOW = 1024  # samples: 43 ms, in which a voice's harmonics are told apart
HOP = 240  # samples between two looks, where there is room for so many
LOOKS = 4  # at most, for one column: of an hour not every moment can be looked at
QUIETEST, LOUDEST = -88.0, -22.0  # dBFS; fixed, so that two pictures can be compared
FLOOR = 1e-12

Spectrum = NDArray[np.float32]


def spectrogram(
    recording: Recording,
    channel: Channel,
    stretch: tuple[int, int],
    size: tuple[int, int],
    look: Look,
) -> bytes:
    """A PNG of the stretch, `size` is width and height."""
    width, height = size
    bands = _mel(height)
    columns = [_columns(recording, channel, begins) @ bands.T for begins in _runs(stretch, width)]
    level = 10 * np.log10(np.concatenate(columns) + FLOOR)
    shade = (level - QUIETEST) / (LOUDEST - QUIETEST)
    pixels = np.round(np.clip(shade, 0, 1) * 255).astype(np.uint8)
    return png(pixels.T[::-1], palette(look))


def _runs(stretch: tuple[int, int], width: int) -> list[NDArray[np.int64]]:
    """Where to look, [columns, looks]; as many columns together as fit into a block."""
    begin, end = stretch
    step = (end - begin) / width
    looks = min(max(int(step / HOP), 1), LOOKS)
    columns, within = np.arange(width)[:, None], (np.arange(looks) + 0.5) / looks
    centres = (begin + (columns + within) * step).astype(np.int64)
    together = max(int(BLOCK / max(step, HOP)), 1)
    return np.split(centres, range(together, width, together))


def _columns(recording: Recording, channel: Channel, centres: NDArray[np.int64]) -> Spectrum:
    """Power of every pitch [columns, pitches]: of the looks in a column, the loudest."""
    first = int(centres.min()) - WINDOW // 2
    last = int(centres.max()) + WINDOW // 2
    sound = _sound(recording, channel, first, last)
    frames = np.lib.stride_tricks.sliding_window_view(sound, WINDOW)
    seen = frames[centres - WINDOW // 2 - first] * _HANN
    power = np.abs(np.fft.rfft(seen, axis=-1)) ** 2
    strongest: Spectrum = power.max(axis=1).astype(np.float32)
    return strongest


def _sound(recording: Recording, channel: Channel, begin: int, end: int) -> NDArray[np.float32]:
    """Silence before the beginning and after the end."""
    inside = max(begin, 0), min(end, recording.samples)
    sound = np.zeros(end - begin, np.float32)
    heard = recording.read(*inside)[:, COLUMN[channel]]
    sound[inside[0] - begin : inside[1] - begin] = heard
    return sound


def _mel(height: int) -> NDArray[np.float32]:
    """What each row hears of each pitch, [rows, pitches]; none narrower than one can tell."""
    hertz = np.fft.rfftfreq(WINDOW, 1 / WIRE_RATE)
    top = 2595 * np.log10(1 + WIRE_RATE / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, height + 2) / 2595) - 1)
    below, centre, above = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    finest = WIRE_RATE / WINDOW
    rising = (hertz - centre) / np.maximum(centre - below, finest) + 1
    falling = (centre - hertz) / np.maximum(above - centre, finest) + 1
    weights = np.clip(np.minimum(rising, falling), 0, None)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)


# A full-scale tone is 0 dBFS.
_HANN = (np.hanning(WINDOW) / (np.hanning(WINDOW).sum() / 2) / 32768).astype(np.float32)
