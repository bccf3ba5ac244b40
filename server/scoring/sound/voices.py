"""How both voices of a conversation were used, turn by turn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.audio import resample
from models.percept import Prosody
from models.perception.prosody import measure
from models.types import EAR_RATE
from server.scoring.exchange import NO_SOUND, Channel, Conversation
from server.scoring.score import Unscored
from server.scoring.sound.memo import Memo
from server.sessions.exchanges import RecordedTurn, exchanges


@dataclass(frozen=True, slots=True)
class Voice:
    """One turn; None where there was too little to measure."""

    rate: float | None = None  # syllables per second
    pitch: float | None = None  # semitones above 1 Hz: a ratio of frequencies is a difference
    loudness: float | None = None  # dBFS of what was spoken
    pitch_range: float | None = None  # semitones


@dataclass(frozen=True, slots=True)
class Pair:
    """What was said and what was answered."""

    user: Voice
    reply: Voice


_known: Memo[tuple[Pair, ...]] = Memo()


def pairs(conversation: Conversation) -> Sequence[Pair]:
    """Of all its exchanges; each turn is measured once."""
    if not conversation.consent.audio:
        raise Unscored(NO_SOUND)
    return _known.get(conversation, "voices", lambda: _pairs(conversation))


def last_answered(conversation: Conversation) -> int:
    """The number of the last exchange with a spoken reply; the very last may have none."""
    return max(
        (
            each.number
            for each in exchanges(conversation.turns)
            if each.reply is not None and each.reply.spoken
        ),
        default=-1,
    )


def _pairs(conversation: Conversation) -> tuple[Pair, ...]:
    return tuple(
        Pair(_voice(conversation, each.user), _voice(conversation, each.reply))
        for each in exchanges(conversation.turns)
    )


def _voice(conversation: Conversation, turn: RecordedTurn | None) -> Voice:
    if turn is None or not turn.spoken or not conversation.allowed(turn).audio:
        return Voice()
    which: Channel = "user" if turn.role == "user" else "reply"
    sound = conversation.channel(which, turn.start, turn.end)
    return voice_of(measure(resample(sound.samples, sound.rate, EAR_RATE)))


def voice_of(prosody: Prosody) -> Voice:
    pitch = prosody.f0_mean
    return Voice(
        prosody.speaking_rate,
        None if pitch is None else 12 * math.log2(pitch),
        prosody.loudness,
        prosody.f0_range,
    )


def own_mean(voices: Sequence[Voice], aspect: str) -> float:
    """What is usual for a speaker in this conversation; one turn alone shows no custom."""
    told = [value for voice in voices if (value := getattr(voice, aspect)) is not None]
    if len(told) < 2:
        raise Unscored("needs two turns of each speaker")
    return float(np.mean(told))


def synchrony(pairs: Sequence[Pair], aspect: str, fewest: int = 4) -> tuple[float, int]:
    """Pearson's correlation of both sides over the exchanges, and over how many."""
    both = [
        (user, reply)
        for pair in pairs
        if (user := getattr(pair.user, aspect)) is not None
        and (reply := getattr(pair.reply, aspect)) is not None
    ]
    if len(both) < fewest:
        raise Unscored(f"needs {fewest} exchanges")
    user, reply = (np.array(side) - np.mean(side) for side in zip(*both, strict=True))
    spread = float(np.sqrt(np.square(user).sum() * np.square(reply).sum()))
    if spread < 1e-9:
        raise Unscored("one side never changes")
    return min(1.0, max(-1.0, float((user * reply).sum()) / spread)), len(both)
