"""Moments at which a reply fell silent though there was more of it to play. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.types import WIRE_RATE, Samples
from server.sessions.format import Line

LEAST_SEC = 0.06  # a shorter hole is hardly heard
_HELD = (0.3, 0.5)  # seconds around a hold in which a client may be silent on purpose
_EDGE_SEC = 0.005  # what sounds so shortly before a hole was cut off by it ...
_LOUD = 10 ** (-40 / 20)  # ... if it was as loud as this


@dataclass(frozen=True, slots=True)
class Underruns:
    holes_sec: tuple[float, ...]
    how: str  # they are known

    @property
    def total_ms(self) -> float:
        return 1000.0 * sum(self.holes_sec)


def reported(lines: Sequence[Line], item_id: str) -> Underruns | None:
    """From what the client says it has played; None where it says nothing.

    While samples are captured, as many are played, unless it has run dry or is told to hold.
    """
    reports: list[tuple[int, int]] = []
    for line in lines:
        event = line.event
        if event.get("type") == "attune.playback" and event.get("item_id") == item_id:
            played, captured = event.get("played_samples"), event.get("input_samples")
            # Told again without having played more: the silence began with the first.
            fresh = not reports or played != reports[-1][1]
            if isinstance(played, int) and isinstance(captured, int) and fresh:
                reports.append((captured, played))
    if len(reports) < 2:
        return None
    held = _holds(lines, item_id)
    holes = []
    for (before, had), (after, has) in zip(reports, reports[1:], strict=False):
        hole = ((after - before) - (has - had)) / WIRE_RATE
        if hole > LEAST_SEC and not _any_within(held, before, after):
            holes.append(hole)
    return Underruns(tuple(holes), "as the client reports what it played")


def laid(lines: Sequence[Line], item_id: str, samples: Samples, start: int = 0) -> Underruns | None:
    """From what was sent, of a reply that was played to its end; None where that is not logged.

    As much longer as it took to sound, so long was it silent in between: in its longest holes,
    of which those do not count in which it was told to hold. `start` is its place in the session.
    """
    ends = [
        line.event["reply_samples"][1]
        for line in lines
        if line.event.get("type") == "response.output_audio.delta"
        and line.event.get("item_id") == item_id
        and line.event.get("reply_samples")
    ]
    if not ends:
        return None
    silences = _silences(samples)
    meant = _meant(silences, lines, item_id, start)
    missing = (len(samples) - max(ends) - sum(end - begin for begin, end in meant)) / WIRE_RATE
    holes: list[float] = []
    unmeant = [hole for hole in silences if hole not in meant]
    for begin, end in sorted(unmeant, key=lambda hole: hole[0] - hole[1]):
        if missing - sum(holes) > LEAST_SEC:
            holes.append(min((end - begin) / WIRE_RATE, missing - sum(holes)))
    return Underruns(tuple(holes), "as the reply took longer than what was sent")


def sounding(
    samples: Samples, lines: Sequence[Line] = (), item_id: str = "", start: int = 0
) -> Underruns:
    """From the recorded reply alone: digital silence that begins in the middle of sound.

    Pauses that were meant end softly before they begin, or lie where it was told to hold.
    """
    holes = []
    silences = _silences(samples)
    meant = _meant(silences, lines, item_id, start)
    for begin, end in silences:
        if (begin, end) in meant:
            continue
        cut = samples[max(0, begin - round(_EDGE_SEC * WIRE_RATE)) : begin]
        if np.abs(cut).max() > _LOUD:
            holes.append((end - begin) / WIRE_RATE)
    return Underruns(tuple(holes), "as holes in the recorded sound")


def _silences(samples: Samples) -> list[tuple[int, int]]:
    """Digital silence of more than LEAST_SEC between sounds."""
    silent = np.concatenate([[False], samples == 0, [False]])
    edges = np.flatnonzero(silent[1:] != silent[:-1])
    spans = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return [
        (begin, end)
        for begin, end in spans
        if begin > 0 and end < len(samples) and (end - begin) / WIRE_RATE > LEAST_SEC
    ]


def _meant(
    silences: Sequence[tuple[int, int]], lines: Sequence[Line], item_id: str, start: int
) -> list[tuple[int, int]]:
    """Those in which the client was told to be silent."""
    held = _holds(lines, item_id)
    return [
        (begin, end) for begin, end in silences if _any_within(held, start + begin, start + end)
    ]


def _holds(lines: Sequence[Line], item_id: str) -> list[tuple[float, float]]:
    """Between which positions a client was told to be silent."""
    found: list[tuple[float, float]] = []
    for line in lines:
        if line.event.get("item_id") != item_id:
            continue
        if line.event.get("type") == "attune.hold":
            found.append((line.at - _HELD[0] * WIRE_RATE, float("inf")))
        elif line.event.get("type") == "attune.resume" and found:
            found[-1] = (found[-1][0], line.at + _HELD[1] * WIRE_RATE)
    return found


def _any_within(spans: Sequence[tuple[float, float]], begin: int, end: int) -> bool:
    return any(start < end and stop > begin for start, stop in spans)
