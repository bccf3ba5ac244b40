"""A person at the pace of speech: their microphone never stops, whatever becomes of the server."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import numpy as np
import soundfile
from websockets.exceptions import ConnectionClosed

from models.audio import encode_pcm16
from models.types import WIRE_RATE
from server.sessions.format import AUDIO_FILE
from tests.talker import VOICE, Event, Talker, talking

FRAME_SEC = 0.04
FRAME = round(FRAME_SEC * WIRE_RATE)
BREATH = 0.001  # what a microphone hears of a silent room
PAUSE_MS = 700  # a late sound leaves shorter ones, which a stand-in would take for an end


class LivePerson:
    """Speaks when told to, in frames of which no two are alike."""

    def __init__(self, talker: Talker, seed: int) -> None:
        self.talker = talker
        self.frames: list[tuple[float, bytes]] = []  # when each was sent, and its sound
        self._noise = np.random.default_rng(seed)
        self._levels: list[float] = []  # of the frames to come

    async def microphone(self) -> None:
        """Sends a frame every 40 ms until the connection is closed, or this is cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        with suppress(ConnectionClosed):
            while True:
                level = self._levels.pop(0) if self._levels else BREATH
                samples = level * self._noise.choice([-1.0, 1.0], FRAME)
                frame = encode_pcm16(samples.astype(np.float32))
                await self.talker.append(frame)
                self.frames.append((loop.time(), frame))
                due += FRAME_SEC
                await asyncio.sleep(max(0.0, due - loop.time()))

    def speak(self, seconds: float, level: float = VOICE) -> None:
        self._levels += [level] * round(seconds / FRAME_SEC)

    async def turn(self, level: float = VOICE, seconds: float = 1.0) -> Event:
        """Say something, and listen until the answer to it has been told and heard."""
        self.speak(seconds, level)
        response: Event = (await self.talker.until("response.done"))["response"]
        await self.hush(1.0)
        return response

    async def hush(self, seconds: float) -> None:
        """Let so much of silence be sent."""
        until = len(self.frames) + round(seconds / FRAME_SEC)
        while len(self.frames) < until:  # noqa: ASYNC110 - the microphone tells nobody
            await asyncio.sleep(FRAME_SEC)

    @property
    def session_id(self) -> str:
        return str(self.talker.of("attune.recording")[0]["session_id"])


@asynccontextmanager
async def live(url: str, seed: int) -> AsyncGenerator[LivePerson, None]:
    """Somebody who consents to everything, and whose microphone is on."""
    async with talking(url, "?attune=1") as talker:
        patient = {"type": "server_vad", "silence_duration_ms": PAUSE_MS}
        await talker.update(audio={"input": {"turn_detection": patient}})
        await talker.send("attune.consent", transcript=True, audio=True, research=True)
        await talker.until("attune.recording")
        person = LivePerson(talker, seed)
        microphone = asyncio.create_task(person.microphone())
        try:
            yield person
        finally:
            microphone.cancel()
            await asyncio.gather(microphone, return_exceptions=True)


def kept_in_order(runs: Path, person: LivePerson, until: float = float("inf")) -> int:
    """How many samples their recording has; fails unless all sent until then lies in its order."""
    (file,) = runs.glob(f"*/{person.session_id}/{AUDIO_FILE}")
    both, _ = soundfile.read(str(file), dtype="int16", always_2d=True)
    heard, at = both[:, 0].tobytes(), 0
    sent = [frame for when, frame in person.frames if when < until]
    for number, frame in enumerate(sent):
        at = heard.find(frame, at)
        assert at >= 0, f"frame {number} of {len(sent)} does not lie after the one before"
    return len(both)
