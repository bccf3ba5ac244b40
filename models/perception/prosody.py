"""Measured prosody: how a voice was used over a stretch of sound, with numpy alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.percept import Prosody
from models.perception.tracks import FRAMES_PER_SECOND, Tracking, Tracks
from models.types import Samples

_Mask = NDArray[np.bool_]
_Powers = NDArray[np.floating[Any]]

_VOICED = 0.5  # periodicity from which a frame counts as voiced
_SILENCE = -65.0  # dBFS; nothing below is speech
_DYNAMICS = 30.0  # dB below the loudest that speech reaches down to
_LIVELY = 8.0  # dB between loud and quiet from which a sound has pauses or syllables at all
_LEAP = 0.25  # octaves a pitch does not move within 10 ms
_WHISPERED = 0.3  # share of voiced frames below which syllables must do without voice
_CONSONANT = 20  # frames; no consonant hisses longer
_BRIDGED = 20  # frames; a shorter hole is a consonant, not a pause
_DIP = 2.0  # dB the level must fall between two syllables
_LEAST_VOICED = 15  # frames before anything is said of the pitch
_LEAST_SPEECH = 0.4  # seconds before anything is said of the pace
_CLEAREST = 60.0  # dB; a better SNR cannot be told from digital silence


@dataclass(frozen=True, slots=True)
class Voice:
    """A stretch as measured: the published prosody, and what else a manner of speaking shows in."""

    prosody: Prosody
    voicing: float | None = None  # share of the speech that is voiced, 0-1
    brightness: float | None = None  # dB, 1-5 kHz against what is below, where it is loud
    liveliness: float | None = None  # dB between the loud and the quiet frames
    hissing: float | None = None  # share of the speech in hisses longer than any consonant, 0-1


class Measuring:
    """Prosody of a stretch that is still being spoken; a tick costs what is new, not the whole."""

    def __init__(self) -> None:
        self._tracking = Tracking()

    def hear(self, samples: Samples) -> None:
        """More of the stretch: mono, 16 kHz."""
        self._tracking.hear(samples)

    def voice(self) -> Voice:
        return summarise(self._tracking.tracks)

    def prosody(self) -> Prosody:
        return self.voice().prosody


def measure(samples: Samples) -> Prosody:
    """The prosody of a whole stretch: mono, 16 kHz."""
    measuring = Measuring()
    measuring.hear(samples)
    return measuring.prosody()


def summarise(tracks: Tracks) -> Voice:
    """What the frames of a stretch say together."""
    if not len(tracks):
        return Voice(Prosody())
    pitch, strength = steadied(tracks)
    periodic = (strength > _VOICED) & (tracks.level > _SILENCE)
    quiet, loud = np.percentile(tracks.level, (5, 95))
    active = _active(tracks.level, periodic, float(quiet), float(loud))
    if not active.any():
        return Voice(Prosody(), liveliness=float(loud - quiet))

    spoken = _bridged(active)
    voiced = active & periodic
    sung = voiced & _smooth_going(pitch, voiced)
    seconds = float(spoken.sum()) / FRAMES_PER_SECOND
    first, last = np.flatnonzero(spoken)[[0, -1]]
    whole = (last + 1 - first) / FRAMES_PER_SECOND
    power = 10 ** (tracks.level / 10)
    loudness = 10 * np.log10(power[active].mean())
    background = _quietest(power)
    enough = sung.sum() >= _LEAST_VOICED
    semitones = 12 * np.log2(pitch[sung]) if enough else None
    cycles = voiced & ~np.isnan(tracks.jitter)
    even = cycles.sum() >= _LEAST_VOICED
    voicing = float(voiced.sum() / active.sum())
    syllables = _syllables(tracks.body, voiced if voicing > _WHISPERED else active)
    prosody = Prosody(
        f0_mean=float(pitch[sung].mean()) if enough else None,
        f0_range=None if semitones is None else float(np.ptp(np.percentile(semitones, (5, 95)))),
        f0_slope=None if semitones is None else _slope(np.flatnonzero(sung), semitones),
        loudness=float(loudness),
        speaking_rate=syllables / seconds if seconds >= _LEAST_SPEECH else None,
        pause_ratio=float(1 - seconds / whole) if seconds >= _LEAST_SPEECH else None,
        jitter=_typical(tracks.jitter[cycles]) if even else None,
        shimmer=_typical(tracks.shimmer[cycles]) if even else None,
        hnr=_harmonics(strength[voiced]) if enough else None,
        snr=_clearness(power[active], background) if loud - quiet >= _LIVELY else None,
        speech_seconds=seconds,
    )
    strong = active & (tracks.level > loudness - 6)
    return Voice(
        prosody,
        voicing=voicing,
        brightness=float(
            10 * np.log10(tracks.high[strong].sum() / max(tracks.low[strong].sum(), 1e-12) + 1e-6)
        ),
        liveliness=float(loud - quiet),
        hissing=_in_long_runs(active & ~periodic) / float(active.sum()),
    )


def steadied(tracks: Tracks) -> tuple[Samples, Samples]:
    """Each frame's pitch and how periodic it is there, octave slips mended by the neighbours.

    A half or a double of the pitch fits nearly as well as the pitch itself. Of a frame's candidates
    the one is taken that fits well and lies near what the stretch's surest frames say.
    """
    first = tracks.pitches[:, 0]
    sure = (tracks.strengths[:, 0] > 0.7) & (tracks.level > _SILENCE)
    if not sure.any():
        return first, tracks.strengths[:, 0]
    centre = np.log2(np.median(first[sure]))
    away = np.abs(np.log2(np.maximum(tracks.pitches, 1)) - centre)
    merit = tracks.strengths - 0.15 * np.maximum(away - 0.5, 0)
    best = merit.argmax(axis=1)
    rows = np.arange(len(first))
    return tracks.pitches[rows, best], tracks.strengths[rows, best]


def _active(level: Samples, periodic: _Mask, quiet: float, loud: float) -> _Mask:
    """Frames of speech rather than background."""
    if loud - quiet < _LIVELY:  # one unbroken sound: a voice if it has a pitch, else a noise
        unbroken = periodic.mean() > 0.5
        return np.full(len(level), unbroken)
    threshold = max(loud - _DYNAMICS, quiet + 0.3 * (loud - quiet), _SILENCE)
    return level > threshold


def _bridged(active: _Mask) -> _Mask:
    """The same with holes too short for a pause filled."""
    spoken = active.copy()
    at = np.flatnonzero(active)
    for start, length in zip(at[:-1], np.diff(at), strict=True):
        if 1 < length <= _BRIDGED:
            spoken[start : start + length] = True
    return spoken


def _in_long_runs(mask: _Mask) -> float:
    """How many frames stand in runs longer than a consonant."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    lengths = edges[1::2] - edges[::2]
    return float(lengths[lengths > _CONSONANT].sum())


def _smooth_going(pitch: Samples, voiced: _Mask) -> _Mask:
    """Frames whose pitch goes on from the one before or into the next: the rest are slips."""
    octaves = np.log2(np.maximum(pitch, 1))
    joined = (np.abs(np.diff(octaves)) < _LEAP) & voiced[1:] & voiced[:-1]
    going: _Mask = np.append(joined, False) | np.append(False, joined)
    return going


def _syllables(body: Samples, vowel: _Mask) -> int:
    """Tops of the level with a dip before each, at or beside a frame that can be a vowel's.

    After de Jong and Wempe (2009), who count voiced intensity peaks; on the band of the vowels, so
    that a hiss is none, and above the background, so that its flicker makes no dips.
    """
    power = 10 ** (body / 10)
    background = _quietest(power)
    above = 10 * np.log10(np.maximum(power - background, background))
    level = np.convolve(above, np.full(5, 0.2), mode="same")
    vowel = np.convolve(vowel, np.ones(5), mode="same") > 0
    tops = np.flatnonzero((level[1:-1] >= level[:-2]) & (level[1:-1] > level[2:])) + 1
    count, last = 0, None
    for top in tops[vowel[tops]]:
        if last is None or min(level[last], level[top]) - level[last:top].min() >= _DIP:
            count, last = count + 1, top
        elif level[top] > level[last]:
            last = top
    return count


def _slope(frames: NDArray[np.intp], semitones: Samples) -> float:
    """Semitones a second, by the median slope over pairs half the stretch apart.

    Slopes of pairs are robust against slips (Theil and Sen); only far pairs, for these are exact.
    """
    half = len(frames) // 2
    seconds = (frames[half:] - frames[: len(frames) - half]) / FRAMES_PER_SECOND
    return float(np.median((semitones[half:] - semitones[: len(semitones) - half]) / seconds))


def _typical(changes: Samples) -> float:
    # Where a consonant tears a cycle the change is no perturbation. Such tails do not move the
    # median, and the mean of a bell's absolute differences is 1.18 times their median.
    return float(1.18 * np.median(changes))


def _harmonics(strength: Samples) -> float:
    share = np.clip(strength, 1e-3, 1 - 1e-4)
    return float((10 * np.log10(share / (1 - share))).mean())


def _quietest(power: _Powers) -> float:
    """The background: what is heard in the quietest tenth of the stretch."""
    return max(float(np.sort(power)[: max(len(power) // 10, 1)].mean()), 1e-10)


def _clearness(speech: _Powers, background: float) -> float:
    louder = max(float(speech.mean()) - background, 1e-10)
    return min(10 * float(np.log10(louder / background)), _CLEAREST)
