"""Deterministic stand-ins of every role, at almost no cost: for load tests and tests."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from functools import lru_cache
from zlib import crc32

import numpy as np

from models.perceiver_off import unknown
from models.percept import Percept, Prosody
from models.protocols import Attention, VoiceActivity
from models.style import Style
from models.types import FRAME, WIRE_RATE, AudioChunk, Samples, SpokenChunk, Turn

LOUD = 0.01  # RMS; -40 dBFS
TONE = 480  # Hz; 50 samples at WIRE_RATE, so chunks of whole periods join without a click
PERIOD = WIRE_RATE // TONE
AMPLITUDE = 0.25
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "hazel", "iris", "kelp")
FRAMES_PER_WORD = 10  # loud ones, 32 ms each


def _voice_activity(frame: Samples) -> float:
    return 1.0 if float(np.dot(frame, frame)) > LOUD * LOUD * len(frame) else 0.0


class StandinDetector:
    """A VoiceDetector that takes anything loud for a voice."""

    def open(self) -> VoiceActivity:
        return _voice_activity


class StandinJudge:
    """A TurnJudge that always answers the same."""

    def __init__(self, probability: float = 1.0, delay_sec: float = 0.0) -> None:
        self._probability = probability
        self._delay_sec = delay_sec

    async def finished(self, audio: AudioChunk) -> float:
        await asyncio.sleep(self._delay_sec)
        return self._probability


class StandinTranscriber:
    """A Transcriber that names the loud frames, one in ten; more audio only adds words."""

    def __init__(self, delay_sec: float = 0.0) -> None:
        self._delay_sec = delay_sec

    async def transcribe(self, audio: AudioChunk) -> str:
        await asyncio.sleep(self._delay_sec)
        frames = audio.samples[: len(audio.samples) // FRAME * FRAME].reshape(-1, FRAME)
        loud = frames[np.einsum("ij,ij->i", frames, frames) > LOUD * LOUD * FRAME]
        named = loud[::FRAMES_PER_WORD]
        return " ".join(WORDS[crc32(frame.tobytes()) % len(WORDS)] for frame in named)


class StandinPerceiver:
    """A Perceiver to whom everybody sounds calm, and who says how loud and how long it was."""

    def __init__(self, delay_sec: float = 0.0) -> None:
        self._delay_sec = delay_sec

    def attend(self) -> Attention:
        return self

    async def glance(self, audio: AudioChunk) -> Percept:
        return await self.perceive(audio)

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept:
        await asyncio.sleep(self._delay_sec)
        nothing = unknown(audio.duration)
        power = float(np.mean(np.square(audio.samples))) if len(audio.samples) else 0.0
        return replace(
            nothing,
            emotion={"neutral": 1.0},
            prosody=Prosody(loudness=10 * float(np.log10(max(power, 1e-12)))),
            unknown=tuple(name for name in nothing.unknown if name != "emotion"),
        )


class StandinResponder:
    """A Responder that repeats the last user's words, one at a time."""

    def __init__(self, first_delay_sec: float = 0.0, delay_sec: float = 0.0) -> None:
        self._first_delay_sec = first_delay_sec
        self._delay_sec = delay_sec

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        heard = next((turn.text for turn in reversed(dialogue) if turn.role == "user"), "")
        reply = f"I heard you, you said {heard.strip(' .') or 'nothing'}."
        await asyncio.sleep(self._first_delay_sec)
        for count, word in enumerate(reply.split()[:max_tokens]):
            yield word if count == 0 else f" {word}"
            await asyncio.sleep(self._delay_sec)


@lru_cache(maxsize=64)
def _tone(periods: int) -> Samples:
    time = np.arange(periods * PERIOD, dtype=np.float32) / WIRE_RATE
    samples = (AMPLITUDE * np.sin(2 * np.pi * TONE * time)).astype(np.float32)
    samples.setflags(write=False)  # shared by everyone who is spoken to
    return samples


class StandinSpeaker:
    """A Speaker that sounds a tone for every word, one chunk each."""

    def __init__(self, word_sec: float = 0.2, delay_sec: float = 0.0) -> None:
        self._word_sec = word_sec
        self._delay_sec = delay_sec

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        await asyncio.sleep(self._delay_sec)
        tone = AudioChunk(_tone(max(1, round(self._word_sec / style.pace * TONE))), WIRE_RATE)
        words = clause.split()
        for word in words[:-1]:
            yield SpokenChunk(tone, word + " ")
        if words:
            yield SpokenChunk(tone, words[-1] + (" " if clause[-1].isspace() else ""))
