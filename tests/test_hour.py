"""An hour of conversation, faster than real time: both channels lie where they were heard."""

import asyncio
from pathlib import Path
from struct import unpack

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from models.audio import encode_pcm16
from models.types import WIRE_RATE
from server.sessions.format import AUDIO_FILE, SESSION_FILE, SessionFile
from tests.serving import serving
from tests.talker import Talker, talking

STEP = WIRE_RATE // 5
EVERY = 20  # seconds between turns
VOICE_SEC = 1.0


class Loudspeaker:
    """Plays replies a while after they arrive, says how far it is, and remembers what sounded when.

    Positions are samples the microphone has captured.
    """

    def __init__(self, length: int) -> None:
        self.sounded = np.zeros(length, np.int16)
        self._random = np.random.default_rng(0)
        self._current: tuple[int, str, str] | None = None  # sequence, response and item
        self._starts = 0
        self._waiting = bytearray()
        self._played = 0

    def begins(self, sequence: int, response_id: str, item_id: str) -> None:
        self._current = sequence, response_id, item_id
        self._starts = 0
        self._waiting.clear()
        self._played = 0

    def take(self, frame: bytes, captured: int) -> None:
        sequence, offset = unpack("<II", frame[:8])
        assert self._current and sequence == self._current[0], "one reply at a time"
        if offset == 0:
            self._starts = captured + int(self._random.integers(WIRE_RATE // 3, WIRE_RATE // 2))
        self._waiting += frame[8:]

    def play(self, captured: int) -> dict[str, object] | None:
        """Play up to now; what to report, if anything sounded."""
        due = min(captured - self._starts - self._played, len(self._waiting) // 2)
        if self._current is None or due <= 0:
            return None
        at = self._starts + self._played
        self.sounded[at : at + due] = np.frombuffer(self._waiting[: 2 * due], "<i2")
        del self._waiting[: 2 * due]
        self._played += due
        _, response_id, item_id = self._current
        played = {"played_samples": self._played, "input_samples": at + due}
        return {"response_id": response_id, "item_id": item_id, **played}


def spoken(second: int) -> NDArray[np.int16]:
    """What the microphone hears in a second: noise like no other, loud while somebody speaks."""
    level = 0.3 if second % EVERY < VOICE_SEC else 0.001
    samples = np.random.default_rng(second).uniform(-level, level, WIRE_RATE)
    return np.frombuffer(encode_pcm16(samples.astype(np.float32)), "<i2").astype(np.int16)


async def _talk(talker: Talker, seconds: int, loudspeaker: Loudspeaker) -> None:
    captured, told = 0, 0
    for second in range(seconds):
        pcm = spoken(second).tobytes()
        for begin in range(0, len(pcm), 2 * STEP):
            await talker.socket.send(pcm[begin : begin + 2 * STEP])
            captured += STEP
            for event in await talker.settle():
                if event["type"] == "response.created":
                    sequence = event["response"]["attune"]["sequence"]
                if event["type"] == "response.output_item.added":
                    loudspeaker.begins(sequence, event["response_id"], event["item"]["id"])
            for frame in talker.audio[told:]:
                loudspeaker.take(frame, captured)
            told = len(talker.audio)
            if report := loudspeaker.play(captured):
                await talker.send("attune.playback", **report)
        talker.events.clear()
    await talker.settle()


async def _check(runs: Path, seconds: int) -> None:
    loudspeaker = Loudspeaker(seconds * WIRE_RATE)
    async with serving(recording={"runs": str(runs)}) as (url, _):
        async with talking(url, "?attune=1") as talker:
            await talker.update(attune={"binary": True})
            await talker.send("attune.consent", transcript=True, audio=True, research=True)
            await talker.until("attune.recording")
            await _talk(talker, seconds, loudspeaker)
        while not _finished(runs):  # noqa: ASYNC110 - an hour takes a while to encode
            await asyncio.sleep(0.05)
    _compare(runs, seconds, loudspeaker)


def _finished(runs: Path) -> bool:
    (file,) = runs.glob(f"*/sess_*/{SESSION_FILE}")
    return SessionFile.model_validate_json(file.read_bytes()).state == "finished"


def _compare(runs: Path, seconds: int, loudspeaker: Loudspeaker) -> None:
    (file,) = runs.glob(f"*/sess_*/{AUDIO_FILE}")
    with soundfile.SoundFile(str(file)) as stored:
        assert stored.frames == seconds * WIRE_RATE
        for second in range(seconds):
            both = stored.read(WIRE_RATE, "int16")
            heard = loudspeaker.sounded[second * WIRE_RATE : (second + 1) * WIRE_RATE]
            np.testing.assert_array_equal(both[:, 0], spoken(second), f"user, second {second}")
            np.testing.assert_array_equal(both[:, 1], heard, f"reply, second {second}")
    assert (loudspeaker.sounded != 0).sum() > seconds * WIRE_RATE // EVERY, "replies were heard"


async def test_a_minute_of_conversation_drifts_by_no_sample(tmp_path: Path) -> None:
    await _check(tmp_path, 60)


@pytest.mark.slow
async def test_an_hour_of_conversation_drifts_by_no_sample(tmp_path: Path) -> None:
    await _check(tmp_path, 3_600)
