"""Talking over a network that loses one sound in a hundred, and brings the rest late."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
import soundfile

from models.audio import encode_pcm16
from models.types import WIRE_RATE
from server.sessions.format import AUDIO_FILE
from tests.fault_proxy import Network, through
from tests.nothing_left import nothing_left, own_temporary_files
from tests.serving import serving
from tests.talker import Talker, talking
from tests.test_faults_backends import HOUSEHOLD, consent, finished, problems

pytestmark = pytest.mark.slow

FRAME_SEC = 0.04
VOICE_SEC, TURN_SEC, TURNS = 1.2, 5.0, 3


async def speak(talker: Talker, seed: int) -> None:
    """Some turns at the pace of speech, in frames that can be told apart."""
    noise = np.random.default_rng(seed)
    frames = round(TURN_SEC / FRAME_SEC)
    began = asyncio.get_running_loop().time()
    for number in range(TURNS * frames):
        loud = number % frames * FRAME_SEC < VOICE_SEC
        level = 0.3 if loud else 0.001
        samples = noise.uniform(-level, level, round(FRAME_SEC * WIRE_RATE))
        await talker.socket.send(encode_pcm16(samples.astype(np.float32)))
        due = began + (number + 1) * FRAME_SEC
        await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))


async def listen(talker: Talker) -> None:
    for _ in range(TURNS):
        done = await talker.until("response.done")
        assert done["response"]["status"] == "completed", done["response"]["status_details"]


async def converse(talker: Talker, seed: int) -> None:
    # A stand-in takes any pause for the end of a turn, and sound that is late leaves some.
    patient = {"type": "server_vad", "silence_duration_ms": 700}
    audio = {"input": {"turn_detection": patient}}
    await talker.update(attune={"binary": True}, audio=audio)
    await consent(talker)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(speak(talker, seed))
        tasks.create_task(listen(talker))


async def test_turns_are_answered_and_what_arrived_lies_in_its_order(tmp_path: Path) -> None:
    runs, network = tmp_path / "runs", Network()
    with own_temporary_files(tmp_path / "passing"):
        async with (
            nothing_left(),
            serving(clock="wall", recording={"runs": str(runs)}) as (url, _),
            nothing_left(*HOUSEHOLD),
        ):
            async with (
                through(url, network) as bad,
                talking(bad, "?attune=1") as far,
                talking(url, "?attune=1") as near,
            ):
                await asyncio.gather(converse(far, 1), converse(near, 2))
                begun = far.of("input_audio_buffer.speech_started")
                session_id = far.of("attune.recording")[0]["session_id"]
            await asyncio.to_thread(finished, runs, 2)
    assert network.lost
    assert not problems(runs)
    check(runs, session_id, network, [event["audio_start_ms"] for event in begun])


def check(runs: Path, session_id: str, network: Network, starts_ms: list[int]) -> None:
    (file,) = runs.glob(f"*/{session_id}/{AUDIO_FILE}")
    both, _ = soundfile.read(str(file), dtype="int16", always_2d=True)
    heard = both[:, 0].tobytes()
    first = at = heard.find(network.passed[0])
    for number, frame in enumerate(network.passed):
        at = heard.find(frame, at)
        assert at >= 0, f"frame {number} of {len(network.passed)} does not lie after the one before"
    # What came late fills the silence that was counted in for it, and is not counted twice.
    sent_sec = (len(network.passed) + network.lost) * FRAME_SEC
    assert len(both) / WIRE_RATE - first / 2 / WIRE_RATE <= sent_sec + network.jitter_sec + 0.2
    assert len(starts_ms) == TURNS
    for start in starts_ms:  # what the log calls the beginning of speech is one
        sample = start * WIRE_RATE // 1000
        assert level(both[sample + 1_200 : sample + 9_600, 0]) > 0.1
        # A stall may part its first syllable from the rest: then it begins with the rest.
        before = both[max(0, sample - 18_000) : max(1, sample - 12_000), 0]
        assert level(before) < 0.02
    assert np.abs(both[:, 1]).max() > 1_000  # the replies were heard


def level(samples: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(samples / 32_768.0)))) if len(samples) else 0.0
