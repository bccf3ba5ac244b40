"""Where the reply comes back in the microphone, and by what path: delay search, path filter."""

import numpy as np
from numpy.typing import NDArray

from models.types import FRAME, Samples

Spectra = NDArray[np.complex64]
Powers = NDArray[np.float32]  # of a spectrum

EARLIEST = -1024  # samples; the reply may sound 64 ms before its hint says: clocks jitter ...
LATEST = 11_264  # ... or some 700 ms after it
PARTS = 8  # frames of room the filter models, 256 ms

_HALF = FRAME // 2  # a frame at half the rate: for the search, speech ends at 4 kHz
ROWS = (LATEST - EARLIEST) // FRAME  # the delays searched, in frames ...
_DELAYS = ROWS * _HALF  # ... and in samples at half the rate

# A low pass for half the rate, and a slope: it whitens speech, so correlation peaks are sharp.
_TIMES = np.arange(30) - 14.5
_LOW = np.convolve(np.sinc(_TIMES / 2) / 2 * np.hamming(30), [1, 0, -1]).astype(np.float32)
_FADING = (10 ** (-0.5 * np.arange(PARTS)))[:, None].astype(np.float32)  # of a room, in power
PAST = len(_LOW) - 2  # samples wanted in front of what is halved


def _halved(samples: Samples) -> Samples:
    # Even and odd samples apart: only every other output is wanted.
    even = np.convolve(samples[0::2], _LOW[1::2], "valid")
    halved: Samples = even + np.convolve(samples[1::2], _LOW[0::2], "valid")
    return halved


def _overlapping(samples: Samples, step: int) -> Samples:
    """Rows of two steps, each a step after the one before."""
    steps = samples.reshape(-1, step)
    return np.concatenate([steps[:-1], steps[1:]], axis=1)


def rfft(samples: Samples) -> Spectra:
    """Spectra along the last axis; numpy keeps single precision, its types do not know."""
    return np.fft.rfft(samples).astype(np.complex64, copy=False)


def irfft(spectra: Spectra) -> Samples:
    """The way back, along the last axis."""
    return np.fft.irfft(spectra).astype(np.float32, copy=False)


def power(spectrum: Spectra) -> Powers:
    """Squared magnitudes, without the root that np.abs would take."""
    squared: Powers = spectrum.real**2 + spectrum.imag**2
    return squared


class Track:
    """Samples laid on the session's clock; what nobody wrote is silence, the old is forgotten."""

    def __init__(self, past: int) -> None:
        self._past = past
        self._base = 0
        self._data = np.zeros(4 * past, np.float32)

    def write(self, at: int, samples: Samples) -> None:
        if at - self._base > len(self._data) + self._past:  # long after all that was written
            self._data = np.zeros(4 * self._past, np.float32)
            self._base = at - self._past
        start = at - self._base
        if start < 0:  # from before memory: only the rest still matters
            samples, start = samples[-start:], 0
        missing = start + len(samples) - len(self._data)
        if missing > 0:
            self._data = np.concatenate([self._data, np.zeros(missing + self._past, np.float32)])
        self._data[start : start + len(samples)] = samples

    def clear(self, at: int) -> None:
        """Silence from `at` on."""
        self._data[max(0, at - self._base) :] = 0

    def read(self, at: int, length: int) -> Samples:
        """Often a view: good until the next call of another method."""
        start = at - self._base
        stop = start + length
        if start >= 0 and stop <= len(self._data):
            return self._data[start:stop]
        out = np.zeros(length, np.float32)
        inside = self._data[max(start, 0) : max(stop, 0)]
        first = max(-start, 0)
        out[first : first + len(inside)] = inside
        return out

    def forget(self, now: int) -> None:
        """Let go of what is older than the past we keep; mostly does nothing."""
        shift = now - self._past - self._base
        if shift < len(self._data) // 2:
            return
        kept = self._data[shift:]
        self._data = np.zeros(max(4 * self._past, len(kept)), np.float32)
        self._data[: len(kept)] = kept
        self._base += shift


class DelaySearch:
    """How alike microphone and reply are at every delay, over the last quarter of a second.

    Likeness is normalised correlation: alone, another voice hardly ever passes 0.2; the echo of
    the reply does within two frames, even in a room that rings.
    """

    def __init__(self) -> None:
        self._memory = np.float32(0.88)  # what each frame leaves of the past
        self._frame = np.zeros(FRAME, np.float32)  # its second half stays silent
        self._spectra = np.zeros((ROWS, _HALF + 1), np.complex64)  # of the reply, newest last
        self._local = np.zeros(_DELAYS, np.float32)  # the reply's energy over a frame
        self._cross = np.zeros((ROWS, _HALF + 1), np.complex64)
        self._energy = np.zeros(_DELAYS, np.float32)
        self._power = np.float32(1e-9)
        self._begun = False
        self._silent = False

    def reset(self, silent: bool) -> None:
        """Begin anew, knowing nothing of what was, or that it was `silent`.

        The next reply given to hear must be whole: ROWS blocks.
        """
        self._silent = silent
        self._cross[:] = 0
        self._power = np.float32(1e-9)
        self._begun = False

    def hear(self, frame: Samples, reply: Samples) -> None:
        """A frame behind PAST older samples, and the blocks of reply that are new or changed.

        `reply` is PAST + (blocks + 1) * FRAME samples and ends where the earliest delay does.
        """
        mic, recent = _halved(frame), _halved(reply)
        blocks = _overlapping(recent, _HALF)
        self._spectra[:-1] = self._spectra[1:]
        self._spectra[-len(blocks) :] = rfft(blocks)
        total = np.cumsum(recent * recent)
        self._local[:-_HALF] = self._local[_HALF:]
        self._local[_HALF - len(total) :] = total[_HALF:] - total[:-_HALF]
        self._frame[:_HALF] = mic
        self._cross *= self._memory
        self._cross += self._spectra * np.conj(rfft(self._frame))
        self._energy *= self._memory
        self._energy += self._local
        if not self._begun:
            self._begin()
        self._power = self._power * self._memory + np.dot(mic, mic)

    def _begin(self) -> None:
        """Count in the reply that met with silence: it speaks against the delays it lay at."""
        self._begun = True
        self._energy[:] = self._local
        for age in range(1, 16 if self._silent else 1):
            weight = self._memory**age
            self._energy[age * _HALF :] += weight * self._local[: -age * _HALF]

    def alike(self) -> NDArray[np.float32]:
        """Likeness, 0 to 1; index i is the delay LATEST - 2 * i."""
        cross = irfft(self._cross)[:, :_HALF].reshape(-1)
        # The floor: a few quiet samples of reply are like anything.
        norm = self._energy + (self._energy.max() * np.float32(0.01) + np.float32(1e-9))
        norm *= self._power
        likeness: NDArray[np.float32] = np.abs(cross) / np.sqrt(norm)
        return likeness

    def gain(self, index: int) -> float:
        """How loud the microphone is against the reply at the delay of this index."""
        return float(np.sqrt(self._power / (self._energy[index] + np.float32(1e-9))))


class PathFilter:
    """The way from loudspeaker to microphone, learned by a Kalman filter in frequency blocks.

    It models PARTS frames of room from `delay` on. A step takes out what it expects of the reply
    and says how wrong it may be; a voice that is not the reply's slows its learning by itself.
    """

    def __init__(self) -> None:
        self.delay = 0
        shape = (PARTS, FRAME + 1)
        self._path = np.zeros(shape, np.complex64)
        self._doubt = np.zeros(shape, np.float32)  # variance of the path's coefficients
        self._reply = np.zeros(shape, np.complex64)  # newest first
        self._power = np.zeros(shape, np.float32)
        self._noise = np.zeros(FRAME + 1, np.float32)
        self._block = np.zeros(2 * FRAME, np.float32)  # its first half stays silent

    def forget(self, gain: float) -> None:
        """Start anew, expecting an echo of about this gain."""
        self._path[:] = 0
        self._noise[:] = 0
        self._doubt[:] = 0
        self.unsettle(gain)

    def unsettle(self, gain: float) -> None:
        """Doubt the path: an echo of about this gain is still there, fading as rooms do."""
        np.maximum(self._doubt, np.float32(gain * gain) * _FADING, out=self._doubt)

    def arrival(self) -> int:
        """The delay at which most of the echo comes, as learned."""
        return self.delay + int(np.abs(irfft(self._path[0])[:FRAME]).argmax())

    def load(self, reply: Samples) -> None:
        """The (PARTS + 1) * FRAME samples of reply before the next push: after a gap or a jump."""
        self._reply[::-1] = rfft(_overlapping(reply, FRAME))
        self._power[:] = power(self._reply)

    def push(self, block: Samples) -> None:
        """The next frame of reply, behind the one before it."""
        self._reply[1:] = self._reply[:-1]
        self._power[1:] = self._power[:-1]
        self._reply[0] = rfft(block)
        self._power[0] = power(self._reply[0])

    def step(self, mic: Samples, learn: bool = True) -> tuple[Samples, Powers]:
        """The frame without its echo, and the power of what echo may be left in it."""
        echo = irfft((self._path * self._reply).sum(axis=0))[FRAME:]
        error: Samples = mic - echo
        strength = power(self._path)
        wrong = self._doubt * self._power
        doubt = wrong.sum(axis=0)
        # A loudspeaker distorts: some of any echo is beyond a filter.
        left: Powers = doubt + np.float32(0.03) * (strength * self._power).sum(axis=0)
        if learn:
            self._block[FRAME:] = error
            spectrum = rfft(self._block)
            self._noise += np.float32(0.5) * (power(spectrum) - self._noise)
            scale = 1 / (np.float32(0.5) * doubt + self._noise + np.float32(1e-7))
            change = np.conj(self._reply)
            change *= self._doubt
            change *= spectrum * scale
            taps = irfft(change)
            taps[:, FRAME:] = 0  # a part is a frame long: what wraps around is no path
            self._path += rfft(taps)
            wrong *= np.float32(-0.5) * scale
            wrong += 1
            self._doubt *= wrong
            self._doubt += np.float32(0.01) * strength  # people and clocks move
        return error, left
