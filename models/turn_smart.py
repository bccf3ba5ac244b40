"""Smart Turn v3: from the sound of the last seconds, whether the speaker has finished."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from models import weights
from models.audio import resample
from models.inference import session
from models.types import EAR_RATE, AudioChunk, Samples
from models.worker import Worker

_SPAN = 8 * EAR_RATE  # samples the network sees
_WINDOW, _HOP = 400, 160  # samples: 25 ms every 10 ms
_FRAMES = _SPAN // _HOP
_BANDS = 80


class SmartTurn:
    """The network in its own thread; a call costs the same however long the turn was."""

    def __init__(self, path: Path | None = None, threads: int = 1) -> None:
        self._session = session(path or weights.path("smart-turn"), threads)
        self._worker = Worker("smart-turn")

    async def finished(self, audio: AudioChunk) -> float:
        return await self._worker.run(lambda: self._judge(audio))

    def close(self) -> None:
        self._worker.close()

    def _judge(self, audio: AudioChunk) -> float:
        # Cut before resampling: a long turn must not cost more than a short one.
        recent = audio.samples[-(_SPAN * audio.rate // EAR_RATE) :]
        features = log_mel(resample(recent, audio.rate, EAR_RATE))
        (probability,) = self._session.run(None, {"input_features": features[None]})
        return float(probability[0, 0])


def log_mel(samples: Samples) -> Samples:
    """Whisper's features, bands × frames, of the last 8 s; shorter sound has silence before it."""
    heard = samples[-_SPAN:]
    pad = _SPAN - len(heard)
    # Mean and variance are those of the padded sound, as in the network's training.
    mean = heard.sum(dtype=np.float64) / _SPAN
    variance = np.square(heard, dtype=np.float64).sum() / _SPAN - mean**2
    scale = 1 / np.sqrt(max(variance, 0.0) + 1e-7)

    # The padding's frames are all alike: work out one and repeat it.
    alike = max(0, (pad - _WINDOW // 2) // _HOP)
    start = alike * _HOP
    padded = np.zeros(_SPAN - start, np.float32)
    padded[pad - start :] = heard
    padded = ((padded - mean) * scale).astype(np.float32)
    if alike:
        before = np.full(_WINDOW // 2, -mean * scale, np.float32)
    else:
        before = padded[_WINDOW // 2 : 0 : -1]
    after = padded[-2 : -_WINDOW // 2 - 2 : -1]
    windows = sliding_window_view(np.concatenate([before, padded, after]), _WINDOW)[::_HOP]
    windows = windows[: _FRAMES - alike]

    spectrum = np.fft.rfft(windows * _hann())
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    filters = _mel_filters()
    # Not a matrix product: it would wake the BLAS threads, which cost 15 ms when cores are busy.
    mel = np.add.reduceat(power[:, filters.bins] * filters.gains, filters.starts, axis=1)
    log = np.log10(np.maximum(mel, np.float32(1e-10)))
    log = np.maximum(log, log.max() - np.float32(8.0))
    shaped = (log + np.float32(4.0)) / np.float32(4.0)
    return np.concatenate([np.repeat(shaped[:1], alike, axis=0), shaped]).T


@cache
def _hann() -> Samples:
    turns = np.arange(_WINDOW) / _WINDOW
    return (0.5 - 0.5 * np.cos(2 * np.pi * turns)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Filters:
    """Overlapping bands laid end to end: each is a run of frequency bins and their gains."""

    bins: NDArray[np.intp]
    gains: Samples
    starts: NDArray[np.intp]  # where in the two above each band begins


@cache
def _mel_filters() -> _Filters:
    """Triangles of equal area on Slaney's mel scale."""
    # The scale is linear up to 1 kHz (15 mel) and logarithmic from there on.
    per_mel = np.log(6.4) / 27
    top = 15 + np.log(EAR_RATE / 2 / 1000) / per_mel
    mel = np.linspace(0, top, _BANDS + 2)
    hertz = np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * per_mel))
    left, peak, right = hertz[:-2, None], hertz[1:-1, None], hertz[2:, None]
    bins = np.linspace(0, EAR_RATE / 2, _WINDOW // 2 + 1)
    triangles = np.minimum((bins - left) / (peak - left), (right - bins) / (right - peak))
    gains = (np.maximum(triangles, 0) * 2 / (right - left)).astype(np.float32)
    band, bin_ = np.nonzero(gains)
    return _Filters(bin_, gains[band, bin_], np.searchsorted(band, np.arange(_BANDS)))
