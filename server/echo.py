"""The echo guard: the reply's own sound taken out of what the microphone hears.

Three steps, each forgiving the one before. A search finds the delay at which microphone and reply
are alike; a filter learns the path from there and subtracts the echo; what it may have left is
held back, unless more is heard than can be left: then somebody speaks.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.types import EAR_RATE, FRAME, Samples
from server.echo_filter import (
    EARLIEST,
    LATEST,
    PARTS,
    PAST,
    ROWS,
    DelaySearch,
    PathFilter,
    Powers,
    Spectra,
    Track,
    irfft,
    power,
    rfft,
)

_AFTER = LATEST + 2 * EAR_RATE // 5  # how long after its hint the reply may still ring
_AHEAD = FRAME - EARLIEST  # from a frame's start to the last reply sample it may hold
_MARGIN = 160  # samples by which the filter begins before the echo is first alike
_HISTORY = 16  # frames learned from at once when an echo is found
_NEVER = -(1 << 60)

_ALIKE = 0.27  # likeness that only the reply's echo has
_SURE = 0.45  # ... even when there is reason to doubt it
_OTHER = 0.2  # likeness below which a loud microphone is another voice
_LOUDEST = 0.5  # power of an echo against its reply, before anything is known
_NO_ECHO = 10**-2.6  # a bound below this: a headset
_SAME = 64  # samples; delays nearer than this are one path
_SETTLED = 10  # frames a path is given to be learned before it may be found wrong

# Bands a few harmonics wide; the voice is judged by those below 4 kHz.
_EDGES = np.array(
    [*range(8, 64, 4), *range(64, 128, 6), *range(128, 256, 10), *range(256, 500, 20)]
)
_VOICE = int(np.searchsorted(_EDGES, 256))
_HANN = 0.375  # mean square of the window through which a spectrum is seen
# A microphone gated by its device is quieter than any room: count it as -70 dBFS.
_HUSH = FRAME * 1e-7
_FLOOR = (np.diff(_EDGES, append=FRAME + 1) * (2 * FRAME * _HANN * 1e-7)).astype(np.float32)
_FADE = ((np.arange(FRAME) + 0.5) / FRAME).astype(np.float32)


def _interpolation() -> NDArray[np.float32]:
    """Matrix from a gain for each band to a gain for each bin, sloping from band to band."""
    middles = (_EDGES + np.append(_EDGES[1:], FRAME + 1) - 1) / 2
    bins = np.arange(FRAME + 1)
    rows = [np.interp(bins, middles, one) for one in np.eye(len(_EDGES))]
    return np.array(rows, np.float32)


_TO_BINS = _interpolation()


class Heard(NamedTuple):
    """A microphone frame without the echo, and the share of its energy that was echo, 0 to 1."""

    frame: Samples
    echo: float
    # The frame as it is kept in case the next ones show that somebody had begun to speak: while
    # no echo has been found, nothing is held back from it.
    kept: Samples


class EchoGuard:
    """What one conversation's microphone would have heard, had we kept quiet.

    All positions are samples of the session at EAR_RATE. Frames are given in order; a gap between
    them is noticed. While no reply has sounded for a second, frames pass untouched, at no cost.
    """

    def __init__(self) -> None:
        bands = len(_EDGES)
        self._reply = Track(EAR_RATE * 3 // 2)
        self._mic = Track(EAR_RATE)
        self._error = Track(EAR_RATE)  # the microphone, less what the filter expects
        self._end = _NEVER  # where the reply ends, as far as it is known
        self._changed = _NEVER  # from where on the search has not seen the reply
        self._next = _NEVER  # where the next frame should begin
        self._search = DelaySearch()
        self._filter = PathFilter()
        self._delay: int | None = None  # of the echo; None while none has been found
        self._likely = LATEST + 1  # the delay that was best a frame ago
        self._age = 0  # frames since the path was learned anew
        # Before an echo is found: how loud it can be at most.
        self._bound = _LOUDEST
        self._silent = False  # whether the frames passed over were of a silent room
        self._hush = 1.0  # energy of a frame in which nobody speaks
        self._mic_power = 0.0
        self._reply_powers = np.zeros(ROWS + 3, np.float32)
        self._rows = np.zeros((ROWS + 3, bands), np.float32)  # the reply's bands, newest first
        self._loud = 0  # frames in which there was something to hear
        # After: how much it really leaves against what the filter fears.
        self._left = np.zeros(bands, np.float32)
        self._feared = np.zeros(bands, np.float32)
        self._noise = np.zeros(bands, np.float32)
        self._near = 0  # grows while somebody speaks, and shrinks after
        self._gains = np.ones(FRAME + 1, np.float32)

    def sent(self, samples: Samples, at: int) -> None:
        """Reply audio at EAR_RATE that will begin to sound at about `at`, or a little after."""
        self._reply.write(at, samples)
        self._end = max(self._end, at + len(samples))
        self._changed = min(self._changed, at)

    def dropped(self, at: int) -> None:
        """The reply from `at` on will not sound after all."""
        self._reply.clear(at)
        self._end = min(self._end, at)
        self._changed = min(self._changed, at)

    def hear(self, frame: Samples, at: int) -> Heard:
        """One FRAME of microphone, beginning at `at`."""
        if at >= self._end + _AFTER:
            return Heard(frame, 0.0, frame)
        for track in (self._reply, self._mic, self._error):
            track.forget(at)
        self._mic.write(at, frame)
        energy = float(np.dot(frame, frame))
        if self._deaf and energy < 8 * self._hush:
            self._silent = True
            self._error.write(at, frame)
            return Heard(frame, 0.0, frame)
        self._hush = max(_HUSH, min(1.01 * self._hush, energy))
        if at != self._next:
            self._begin(at)
        self._next = at + FRAME
        self._age += 1
        left = self._subtract(frame, at)
        likeness = self._locate(at)
        return self._clean(frame, at, left, likeness)

    @property
    def _deaf(self) -> bool:
        """Whether the reply has sounded long enough to say that none of it comes back."""
        return self._delay is None and self._bound < _NO_ECHO

    def _begin(self, at: int) -> None:
        """Take up listening, after a while without reply or a gap."""
        self._search.reset(self._silent)
        self._silent = False
        self._changed = _NEVER
        self._near = self._loud = 0
        self._gains[:] = 1
        if self._delay is not None:
            self._load(at)

    def _load(self, at: int) -> None:
        """Show the filter the reply up to where the frame at `at` will want its next part."""
        length = (PARTS + 1) * FRAME
        self._filter.load(self._reply.read(at - self._filter.delay - length, length))

    def _subtract(self, frame: Samples, at: int) -> Powers | None:
        """Take the expected echo out of the frame; the power of what may be left of it."""
        error, left = frame, None
        if self._delay is not None:
            self._filter.push(self._reply.read(at - self._filter.delay - FRAME, 2 * FRAME))
            error, left = self._filter.step(frame, learn=self._near < 3)
            if np.dot(error, error) > np.dot(frame, frame):
                error = frame  # a wrong path would add an echo
        self._error.write(at, error)
        return left

    def _locate(self, at: int) -> float:
        """Look where the reply still is in the frame, and learn; how alike they are there."""
        end = at + _AHEAD
        first = max(min(self._changed, end - FRAME), end - ROWS * FRAME)
        blocks = min(ROWS, -(-(end - first) // FRAME))
        length = (blocks + 1) * FRAME + PAST
        self._search.hear(
            self._error.read(at - PAST, FRAME + PAST), self._reply.read(end - length, length)
        )
        self._changed = end
        alike = self._search.alike()
        best = int(alike.argmax())
        likeness, delay, gain = float(alike[best]), LATEST - 2 * best, self._search.gain(best)
        again = abs(delay - self._likely) <= 16
        self._likely = delay
        if self._delay is None:
            # Two voices may be alike for a moment; not twice, nor out of nowhere.
            possible = (likeness * gain) ** 2 < 2 * self._bound
            if (possible or again) and likeness > (_ALIKE if possible and again else _SURE):
                self._learn(at, delay, gain)
        elif likeness > _ALIKE and abs(delay - self._delay) > _SAME:
            if not self._moved(at, self._delay, delay):
                pass  # a wall reflects
            elif self._age < 4 * _SETTLED:
                self._learn(at, delay, gain)
            else:  # playback slipped: the room is the same
                self._shift(at, delay - self._delay)
        elif likeness > 0.4 and self._age > _SETTLED and self._near < 3:
            self._age = 0
            self._feared[:] = 0
            slip = self._slip(at)
            if 2 < abs(slip) <= _SAME:
                self._shift(at, slip)
            else:
                self._filter.unsettle(likeness * gain)
        return likeness

    def _shift(self, at: int, slip: int) -> None:
        """The same path, but so much later."""
        assert self._delay is not None, "there is no path to shift"
        self._delay += slip
        self._filter.delay += slip
        self._load(at + FRAME)

    def _slip(self, at: int) -> int:
        """How much later than the filter has learned the echo comes now."""
        learned, length = self._filter.arrival(), 6 * FRAME
        start = at + FRAME - length
        mic = np.diff(self._mic.read(start, length))
        reply = np.diff(self._reply.read(start - learned - _SAME, length + 2 * _SAME))
        return _SAME - int(np.abs(np.correlate(reply, mic, "valid")).argmax())

    def _moved(self, at: int, old: int, new: int) -> bool:
        """Whether the microphone itself, not what the filter left, is more alike at `new`."""
        length = 6 * FRAME
        start = at + FRAME - length
        mic = np.diff(self._mic.read(start, length))
        alike = []
        for delay in (old, new):
            reply = np.diff(self._reply.read(start - delay - 8, length + 16))
            best = np.abs(np.correlate(reply, mic, "valid")).max()
            alike.append(best / np.sqrt(np.dot(mic, mic) * np.dot(reply, reply) + 1e-12))
        return bool(alike[1] > max(0.25, 1.5 * alike[0]))

    def _learn(self, at: int, delay: int, gain: float) -> None:
        """Learn the path at this delay from the last half second, twice over."""
        self._delay, self._age = delay, 0
        self._filter.delay = delay - _MARGIN
        self._filter.forget(min(1.2 * gain, 1.0))
        start = at - (_HISTORY - 1) * FRAME
        for _ in range(2):
            self._load(start)
            for then in range(start, at + 1, FRAME):
                self._filter.push(self._reply.read(then - self._filter.delay - FRAME, 2 * FRAME))
                self._filter.step(self._mic.read(then, FRAME))
        self._feared[:] = 0

    def _clean(self, frame: Samples, at: int, left: Powers | None, likeness: float) -> Heard:
        """Hold back what may be echo, or everything when nobody else is heard."""
        spectrum = rfft(self._error.read(at - FRAME, 2 * FRAME))
        powers = _bands(spectrum)
        if not self._noise.any():
            self._noise[:] = np.maximum(_FLOOR, powers)
        if left is None:
            echo = self._worst(at, powers, likeness)
        else:
            feared = np.add.reduceat(left, _EDGES) * np.float32(_HANN)
            if not self._feared.any():  # just learned: fear four times as much
                self._feared[:] = feared + np.float32(1e-4)
                self._left[:] = 4 * self._feared
            echo = feared * np.clip((self._left + 1e-4) / (self._feared + 1e-4), 0.1, 20)
        excess = 10 * np.log10(powers / (echo + self._noise + np.float32(1e-9)) + np.float32(1e-9))
        score = float(np.clip(excess[:_VOICE] - 6, 0, 15).mean())
        # The more it is like the reply, the more must stand out.
        heard = score > 1.2 + 30 * max(0.0, likeness - 0.22)
        if heard:
            self._near = min(self._near + 2, 10)
        else:
            self._near = max(self._near - (4 if likeness > 0.4 else 1), 0)
        if left is not None:
            rate = 0.1 if self._near == 0 else 0.3 if likeness > _ALIKE and not heard else 0.005
            self._left += np.float32(rate) * (powers - self._left)
            self._feared += np.float32(rate) * (feared - self._feared)
        self._noise = np.maximum(_FLOOR, np.minimum(self._noise * np.float32(1.01), powers))
        if self._deaf:
            self._gains[:] = 1
            return Heard(frame, 0.0, frame)
        gains = np.sqrt(np.clip(1 - 2 * echo / (powers + np.float32(1e-9)), 0, 1))
        if self._near < 2:
            gains *= np.float32(0.003)
        before, self._gains = self._gains, gains @ _TO_BINS
        both = irfft(np.stack([spectrum * before, spectrum * self._gains]))
        clean: Samples = both[0, FRAME:] + _FADE * (both[1, FRAME:] - both[0, FRAME:])
        kept = frame if self._delay is None else clean
        return Heard(clean, self._share(frame, at, powers, echo), kept)

    def _worst(self, at: int, powers: Powers, likeness: float) -> Powers:
        """The most that can be echo while no echo has been found, from what was ever heard."""
        reply = rfft(self._reply.read(at - EARLIEST - FRAME, 2 * FRAME))
        self._rows[1:] = self._rows[:-1]
        self._rows[0] = _bands(reply)
        voice, noise = float(powers[:_VOICE].sum()), float(self._noise[:_VOICE].sum())
        self._mic_power += 0.03 * (max(voice - 3 * noise, 0.2 * noise) - self._mic_power)
        self._reply_powers += np.float32(0.03) * (
            self._rows[:, :_VOICE].sum(axis=1) - self._reply_powers
        )
        quietest = float(self._reply_powers.min())  # at whichever delay the echo might lie
        if quietest > 1e-3:
            self._bound = min(1.002 * self._bound, _LOUDEST, 4 * self._mic_power / quietest)
        self._loud = self._loud + 1 if voice > 6 * noise else max(0, self._loud - 1)
        if self._loud > 5 and likeness < _OTHER:
            return np.zeros_like(powers)
        worst: Powers = self._rows.max(axis=0) * np.float32(self._bound)
        return worst

    def _share(self, frame: Samples, at: int, powers: Powers, echo: Powers) -> float:
        """How much of the frame was echo: what the filter took, and of the rest what may be."""
        error = self._error.read(at, FRAME)
        all_of_it, rest = float(np.dot(frame, frame)) + 1e-12, float(np.dot(error, error))
        held = np.minimum(echo, np.maximum(powers - 2 * self._noise, 0)).sum()
        part = float(held / (powers.sum() + np.float32(1e-9)))
        return min(1.0, max(0.0, 1 - rest * (1 - part) / all_of_it))


def _bands(spectrum: Spectra) -> Powers:
    """Powers by band, through a Hann window laid on after the fact: it is three neighbours."""
    seen = spectrum * np.float32(0.5)
    seen[1:-1] -= np.float32(0.25) * (spectrum[2:] + spectrum[:-2])
    summed: Powers = np.add.reduceat(power(seen), _EDGES)
    return summed
