"""What the models alone take for a turn, called one after the other: the measure of our overlap."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from models.audio import resample
from models.clauses import clauses
from models.prompt import messages
from models.protocols import Models
from models.style import PLAIN
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Turn
from server.bench.sounds import Sound

TAIL_SEC = 0.1  # of the silence after the voice
MAX_TOKENS = 160


@dataclass(frozen=True, slots=True)
class Bare:
    """Milliseconds of each model until the first sound of a reply."""

    words_ms: float  # the transcript of the whole utterance
    reply_ms: float  # the first clause of the reply
    voice_ms: float  # its first sound

    @property
    def sum_ms(self) -> float:
        return self.words_ms + self.reply_ms + self.voice_ms


async def bare(models: Models, sound: Sound, before: Sequence[Turn]) -> Bare:
    """One turn, after the dialogue before it, with nothing done ahead and nothing overlapped."""
    heard = sound.samples[: sound.end + round(TAIL_SEC * WIRE_RATE)]
    audio = AudioChunk(resample(heard, WIRE_RATE, EAR_RATE), EAR_RATE)
    begin = time.perf_counter()
    text = await models.transcriber.transcribe(audio)
    words = time.perf_counter()
    prompt = messages("", [*before, Turn("user", text)])
    async with (
        aclosing(models.responder.respond(prompt, MAX_TOKENS)) as tokens,
        aclosing(clauses(tokens)) as said,
    ):
        clause = await anext(said, "")
    reply = time.perf_counter()
    async with aclosing(models.speaker.speak(clause, PLAIN)) as chunks:
        async for _ in chunks:
            break
    voice = time.perf_counter()
    return Bare((words - begin) * 1e3, (reply - words) * 1e3, (voice - reply) * 1e3)
