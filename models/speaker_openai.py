"""A voice behind OpenAI's speech interface: vLLM-Omni, or any server that offers it."""

import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from models.ahead import ahead
from models.audio import decode_pcm16
from models.instructions import instructions as in_words
from models.openai_http import CONCURRENCY, OpenAIServer
from models.pauses import AUDIBLE, GAP_SEC, STOP_SEC, goes_on
from models.speakable import spoken
from models.style import Style
from models.types import WIRE_RATE, AudioChunk, Samples, SpokenChunk

PCM = ("audio/pcm", "audio/x-pcm", "audio/l16", "application/octet-stream")
SLOWEST, FASTEST = 0.25, 4.0  # the interface's own limits
LEAD = WIRE_RATE // 100  # samples kept before the first audible one
FADE = WIRE_RATE // 200
CHARACTER_SEC = 0.06  # of speech, until the voice is known better
NEWS = 0.4  # how much one clause changes what is known of the voice's pace
MOST_CHUNKS = 10_000  # of a clause: more than come of any, as one that rambles is cut short
RAMBLING, RAMBLING_SEC = 3.0, 4.0  # a voice that goes on for so much longer has lost its text


class OpenAISpeaker:
    """A Speaker that asks a server for each clause and passes the sound on as it comes."""

    def __init__(
        self,
        url: str,
        model: str,
        voice: str,
        api_key: str | None = None,
        instructions: bool = True,
        speed: bool = True,
        extra: Mapping[str, Any] | None = None,
        timeout_sec: float = 10.0,
        concurrency: int = CONCURRENCY,
    ) -> None:
        """Connects to nothing yet.

        Args:
            url: of the server, up to and with the version, as in "http://localhost:8091/v1".
            model: as the server names it.
            voice: as the server names it.
            api_key: where the server asks for one.
            instructions: tell the voice in words how to sound.
            speed: send the pace as a number; if the server takes none, words must do.
            extra: further fields of the request, such as {"stream_format": "audio"} for vLLM-Omni.
            timeout_sec: for its turn to be asked, for the sound to begin, and between any two
                pieces of it.
            concurrency: clauses spoken at the same time; others wait, those needed first in front.
        """
        self._server = OpenAIServer(
            "speaker", "voice server", url, api_key, timeout_sec, concurrency
        )
        self._request = {
            "model": model,
            "voice": voice,
            "response_format": "pcm",
            **(extra or {}),
        }
        self._instructions = instructions
        self._speed = speed
        self._character_sec = CHARACTER_SEC  # at the voice's own pace

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        """Chunks whose texts joined are the clause; none if there is nothing to say.

        They are made as fast as the sound comes, however slowly they are played: the server is
        kept from others no longer than it works.
        """
        async with ahead(self._spoken(clause, style), MOST_CHUNKS) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _spoken(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        said = "".join(reading for _, reading in spoken(clause))
        if not any(map(str.isalnum, said)):  # a face is written, and reads as nothing
            return
        words = Words(clause, self._character_sec / style.pace)
        sound = Sound()
        async with (
            self._server.post("/audio/speech", json=self._asked(said.strip(), style)) as answer,
            aclosing(answer.aiter_bytes()) as pieces,
        ):
            kind = answer.headers.get("content-type", PCM[0]).partition(";")[0].strip().lower()
            if kind not in PCM:
                raise self._server.failed(f"answered with {kind} where PCM was asked for")
            async for piece in pieces:
                for chunk in words.share(sound.push(piece)):
                    yield chunk
                if sound.seconds > RAMBLING * words.seconds + RAMBLING_SEC:
                    break
        if not sound.seconds:
            raise self._server.failed("answered without a sound")
        self._learn(sound.seconds * style.pace / len(clause.strip()))
        pause_sec = GAP_SEC if goes_on(said) else STOP_SEC
        yield _chunk(sound.end(pause_sec * style.pause / style.pace), words.rest)

    def _asked(self, said: str, style: Style) -> dict[str, Any]:
        asked = {**self._request, "input": said}
        if self._speed:
            asked["speed"] = min(max(style.pace, SLOWEST), FASTEST)
            style = replace(style, pace=1.0)
        if self._instructions and (told := in_words(style)):
            asked["instructions"] = told
        return asked

    def _learn(self, character_sec: float) -> None:
        likely = min(max(character_sec, CHARACTER_SEC / 2), CHARACTER_SEC * 2)
        self._character_sec += NEWS * (likely - self._character_sec)


class Words:
    """A clause's words shared out over its time, as nobody tells when each is spoken."""

    def __init__(self, clause: str, character_sec: float) -> None:
        self._words = re.findall(r"^\s*\S+\s*|\S+\s*", clause)
        characters = accumulate(map(len, self._words))
        self._ends = [round(count * character_sec * WIRE_RATE) for count in characters]
        self._told = 0
        self._shared = 0  # samples

    @property
    def seconds(self) -> float:
        """How long all of them should take."""
        return self._ends[-1] / WIRE_RATE

    @property
    def rest(self) -> str:
        """The words not told yet; the last is always one of them."""
        return "".join(self._words[self._told :])

    def share(self, samples: Samples) -> Iterator[SpokenChunk]:
        """The sound that follows, cut where words should end."""
        cut = 0
        for word, end in zip(self._words[self._told : -1], self._ends[self._told :], strict=False):
            if end > self._shared + len(samples):
                break
            begin, cut = cut, end - self._shared
            yield _chunk(samples[begin:cut], word)
            self._told += 1
        if cut < len(samples):
            yield _chunk(samples[cut:], "")
        self._shared += len(samples)


class Sound:
    """PCM16 in pieces of any size, from its first audible sample on; silence waits for more."""

    def __init__(self) -> None:
        self._half = b""  # of a sample
        self._held: Samples = np.zeros(0, np.float32)
        self._given = 0

    @property
    def seconds(self) -> float:
        """Given out so far."""
        return self._given / WIRE_RATE

    def push(self, piece: bytes) -> Samples:
        """What may be heard now."""
        data = self._half + piece
        whole = len(data) // 2 * 2
        self._half = data[whole:]
        samples = np.concatenate([self._held, decode_pcm16(data[:whole])])
        audible = np.flatnonzero(np.abs(samples) > AUDIBLE)
        if not len(audible):
            self._held = samples if self._given else samples[-LEAD:]
            return samples[:0]
        start = 0 if self._given else max(int(audible[0]) - LEAD, 0)
        end = int(audible[-1]) + 1
        self._held = samples[end:]
        out = samples[start:end]
        if not self._given:
            fade = min(FADE, len(out))
            out[:fade] *= np.linspace(0, 1, fade, dtype=np.float32)
        self._given += len(out)
        return out

    def end(self, pause_sec: float) -> Samples:
        """What was left of the last sound, dying away in a pause of the right length."""
        out = np.zeros(max(round(pause_sec * WIRE_RATE), FADE), np.float32)
        rest = self._held[: len(out)]
        out[: len(rest)] = rest * np.linspace(1, 0, len(rest), dtype=np.float32)
        return out


def _chunk(samples: Samples, text: str) -> SpokenChunk:
    return SpokenChunk(AudioChunk(samples, WIRE_RATE), text)
