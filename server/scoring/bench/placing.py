"""Where in a recorded session the clip lies, and which exchange it became. Pure but for reading."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from models.types import WIRE_RATE
from server.scoring.bench.talk import Talked
from server.sessions.exchanges import exchanges, turns
from server.sessions.format import Line, SessionFile
from server.sessions.stored import StoredSession

APPENDED = "input_audio_buffer.append"
PROBE = WIRE_RATE // 4  # samples by which the clip is found again


@dataclass(frozen=True, slots=True)
class Placed:
    number: int  # of the exchange in the session
    begin: int  # positions of session time: of the clip,
    speech_end: int  # and of the end of what is said in it

    def at(self, seconds: float) -> int:
        """A moment of the clip as a position of session time."""
        return self.begin + round(seconds * WIRE_RATE)


def placed(stored: StoredSession, talked: Talked, end_sec: float) -> Placed:
    """By its own samples, where there is sound; else by what the log tells of them."""
    session, lines = stored.file(), list(stored.lines())
    begin = None
    if session.audio is not None:
        left = stored.cut(0, session.audio.samples)[:, 0]
        begin = found(np.ascontiguousarray(left).tobytes(), talked.clip)
    if begin is None:
        begin = position(lines, talked.begin)
    end = begin + round(end_sec * WIRE_RATE)
    return Placed(exchange(session, lines, end), begin, end)


def found(recorded: bytes, clip: bytes) -> int | None:
    """Where the clip begins in what was recorded; the loudest part of it is looked for."""
    samples = np.frombuffer(clip, "<i2")
    probe = min(PROBE, len(samples))
    if not probe or not samples.any():
        return None
    power = np.cumsum(np.insert(samples.astype(np.float64) ** 2, 0, 0.0))
    loudest = int(np.argmax(power[probe:] - power[:-probe]))
    sought, at = samples[loudest : loudest + probe].tobytes(), -1
    while (at := recorded.find(sought, at + 1)) >= 0:
        if at % 2 == 0:
            return at // 2 - loudest if at // 2 >= loudest else None
    return None


def position(lines: Iterable[Line], sample: int) -> int:
    """The session time of a sample, by its number among those that were sent."""
    passed, end = 0, 0
    for each in lines:
        if each.source != "client" or each.event.get("type") != APPENDED:
            continue
        start, end = each.event["samples"]
        if sample < passed + end - start:
            return int(start + sample - passed)
        passed += end - start
    return int(end + sample - passed)


def exchange(session: SessionFile, lines: Sequence[Line], end: int) -> int:
    """The last that was answered to its end, or at all; of those that began before the clip ended.

    A pause may have split the clip, and a reply to its first half been broken off.
    """
    told = exchanges(turns(session, lines))
    ours = [each for each in told if each.user is None or each.user.start < end]
    answered = [each for each in ours if each.reply]
    whole = [each for each in answered if each.reply and not each.reply.interrupted]
    best = (whole or answered or ours)[-1:]
    return best[0].number if best else 0
