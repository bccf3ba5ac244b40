"""The same turns, said to a Pipecat pipeline on the same models: run by .venv-bench's Python.

It stands alone: of ours it takes only the two model wrappers that Pipecat has no service for
here, Moonshine's and hibari's, so that both sides run the very same networks in the same way.
Voice activity, end of turn, aggregation, the client of the language model and the transports are
Pipecat's own, with its defaults. The first line of stdin, as JSON, says how; each further one is a
conversation's turns, and what came of them goes to stdout as a line.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[3]))  # last: nothing of Pipecat's is hidden

import numpy as np
import xllamacpp
from loguru import logger
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import (
    BotStoppedSpeakingFrame,
    Frame,
    InputAudioRawFrame,
    LLMTextFrame,
    OutputAudioRawFrame,
    StartFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    UserStoppedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.observers.base_observer import BaseObserver, FramePushed
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.settings import STTSettings, TTSSettings
from pipecat.services.stt_service import SegmentedSTTService
from pipecat.services.tts_service import TTSService
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import TransportParams
from pipecat.utils.time import time_now_iso8601
from pipecat.workers.runner import WorkerRunner

from models.asr_moonshine import Moonshine
from models.audio import decode_pcm16, encode_pcm16, resample
from models.speaker_hibari import Hibari
from models.style import PLAIN
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Samples

PIECE_SEC = 0.02
ROOM = 10 ** (-70 / 20)  # a quiet room's noise
PATIENCE_SEC = 12.0
STAGES = {
    VADUserStoppedSpeakingFrame: "voice_stopped",
    TranscriptionFrame: "words",
    UserStoppedSpeakingFrame: "turn_over",
    LLMTextFrame: "first_token",
    TTSAudioRawFrame: "first_audio",
}
ENDS = ("voice_stopped", "words", "turn_over")


class Microphone(BaseInputTransport):
    """A transport in whose place a person speaks, at the pace of life."""

    def __init__(self) -> None:
        super().__init__(TransportParams(audio_in_enabled=True, audio_in_sample_rate=EAR_RATE))
        self._said = np.empty(0, np.float32)
        self._sent = 0
        self._begin = 0.0
        self._random = np.random.default_rng(0)
        self._running: asyncio.Task[None] | None = None

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)
        self._begin = time.monotonic()
        self._running = asyncio.create_task(self._run())

    async def cleanup(self) -> None:
        if self._running:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        await super().cleanup()

    def say(self, samples: Samples) -> float:
        """Put sound before it; returns when its first sample is captured."""
        start = self._sent + len(self._said)
        self._said = np.concatenate([self._said, samples])
        return self._begin + start / EAR_RATE

    async def _run(self) -> None:
        size = round(PIECE_SEC * EAR_RATE)
        while True:
            due = self._begin + (self._sent + size) / EAR_RATE
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            piece = ROOM * self._random.standard_normal(size)
            said, self._said = self._said[:size], self._said[size:]
            piece[: len(said)] += said
            self._sent += size
            pcm = encode_pcm16(piece.astype(np.float32))
            await self.push_audio_frame(InputAudioRawFrame(pcm, EAR_RATE, 1))


class Loudspeaker(BaseOutputTransport):
    """A transport that takes down when each piece of sound would have been sent, and keeps pace."""

    def __init__(self) -> None:
        super().__init__(TransportParams(audio_out_enabled=True, audio_out_sample_rate=WIRE_RATE))
        self.pieces: list[tuple[float, Samples]] = []
        self._next = 0.0

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
        now = time.monotonic()
        samples = decode_pcm16(frame.audio)
        self.pieces.append((now, samples))
        self._next = max(self._next, now) + len(samples) / WIRE_RATE
        # Somewhat ahead of what is played, as Pipecat's own WebSocket transport is.
        await asyncio.sleep(max(0.0, self._next - len(samples) / WIRE_RATE / 2 - now))
        return True


class Words(SegmentedSTTService):
    """Moonshine behind Pipecat's own segmentation by voice activity."""

    def __init__(self, moonshine: Moonshine) -> None:
        settings = STTSettings(model="moonshine-tiny", language=None)
        super().__init__(sample_rate=EAR_RATE, settings=settings, ttfs_p99_latency=0.3)
        self._moonshine = moonshine

    @property
    def wants_wav_segments(self) -> bool:
        return False

    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame | None, None]:
        text = await self._moonshine.transcribe(AudioChunk(decode_pcm16(audio), EAR_RATE))
        if text:
            yield TranscriptionFrame(text, "", time_now_iso8601())


class Voice(TTSService):
    """Hibari behind Pipecat's own sentence aggregation."""

    def __init__(self, hibari: Hibari) -> None:
        settings = TTSSettings(model="hibari", voice="heart", language=None)
        super().__init__(
            sample_rate=WIRE_RATE, settings=settings, push_start_frame=True, push_stop_frames=True
        )
        self._hibari = hibari

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame | None, None]:
        async with aclosing(self._hibari.speak(text, PLAIN)) as chunks:
            async for chunk in chunks:
                pcm = encode_pcm16(chunk.audio.samples)
                yield TTSAudioRawFrame(pcm, WIRE_RATE, 1, context_id=context_id)


class Stages(BaseObserver):
    """When each kind of frame was pushed since one asked."""

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[str, list[float]] = {}
        self.silent = asyncio.Event()  # the reply has been said
        self._seen: set[int] = set()

    def ask(self) -> None:
        self.times, self._seen = {}, set()

    async def on_push_frame(self, data: FramePushed) -> None:
        frame = data.frame
        # It is pushed on by one processor after the other, and some are sent both ways.
        if data.direction != FrameDirection.DOWNSTREAM or frame.id in self._seen:
            return
        if isinstance(frame, BotStoppedSpeakingFrame):
            self.silent.set()
        for kind, name in STAGES.items():
            if isinstance(frame, kind):
                self._seen.add(frame.id)
                self.times.setdefault(name, []).append(time.monotonic())

    def since(self, end: float) -> dict[str, float]:
        """In ms after the end of speech. A pause within the turn may be taken for its end, and

        what is formed then is thrown away: what counts is the last end, and what came after it.
        """
        over = max(self.times.get("turn_over", [end]))
        last = {name: max(self.times[name]) for name in ENDS if name in self.times}
        after = {
            name: next((at for at in times if at >= over), None)
            for name, times in self.times.items()
            if name not in ENDS
        }
        found = {**last, **{name: at for name, at in after.items() if at is not None}}
        return {name: (at - end) * 1e3 for name, at in found.items()}


def engine(model: str, context: int) -> Any:
    """llama.cpp's own HTTP server, on one thread as in our server, else with its defaults."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_parallel = 1
    params.n_ctx = context
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = -1
    params.ui = False
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    return xllamacpp.Server(params)


def cpu_sec() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Peer:
    """The models, loaded and warm, and conversations on them."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        encoder, decoder, tokenizer = (Path(job["weights"][name]) for name in job["moonshine"])
        self._moonshine = Moonshine(encoder, decoder, tokenizer)
        self._hibari = Hibari()
        self._engine = engine(job["weights"]["attune-reply"], job["context"])

    async def converse(self, turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
        microphone, loudspeaker, stages = Microphone(), Loudspeaker(), Stages()
        system, *greeting = self._job["prompt"]
        context = LLMContext([dict(message) for message in greeting])
        pair = LLMContextAggregatorPair(
            context, user_params=LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer())
        )
        sampling = dict(self._job["sampling"])
        llm = OpenAILLMService(
            api_key="none",
            base_url=f"{self._engine.listening_address}/v1",
            settings=OpenAILLMService.Settings(
                model="attune-reply",
                system_instruction=system["content"],
                max_tokens=self._job["reply_tokens"],
                extra={"extra_body": sampling},
            ),
        )
        pipeline = Pipeline(
            [
                microphone,
                Words(self._moonshine),
                pair.user(),
                llm,
                Voice(self._hibari),
                loudspeaker,
                pair.assistant(),
            ]
        )
        params = PipelineParams(audio_in_sample_rate=EAR_RATE, audio_out_sample_rate=WIRE_RATE)
        worker = PipelineWorker(
            pipeline,
            params=params,
            observers=[stages],
            cancel_on_idle_timeout=False,
            enable_rtvi=False,
        )
        started = asyncio.Event()

        @worker.event_handler("on_pipeline_started")
        async def _on_started(*_: Any) -> None:
            started.set()

        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(worker)
        running = asyncio.create_task(runner.run())
        try:
            await asyncio.wait_for(started.wait(), PATIENCE_SEC)
            await asyncio.sleep(self._job["settle_sec"])
            return [await self._turn(each, microphone, loudspeaker, stages) for each in turns]
        finally:
            await worker.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def _turn(
        self, turn: dict[str, Any], microphone: Microphone, loudspeaker: Loudspeaker, stages: Stages
    ) -> dict[str, Any]:
        samples = resample(np.load(turn["file"]), WIRE_RATE, EAR_RATE)
        stages.ask()
        pieces, cpu = len(loudspeaker.pieces), cpu_sec()
        began = time.monotonic()
        end = microphone.say(samples) + turn["end"] / WIRE_RATE
        await asyncio.sleep(max(0.0, end - time.monotonic()))
        early = len(loudspeaker.pieces) > pieces
        try:
            async with asyncio.timeout(PATIENCE_SEC):
                while True:
                    stages.silent.clear()
                    await stages.silent.wait()
                    # A reply to half of the turn, begun before its end, may stop after it.
                    if loudspeaker.pieces and loudspeaker.pieces[-1][0] >= end:
                        break
        except TimeoutError:
            pass  # what never came is null
        await asyncio.sleep(self._job["settle_sec"])
        after = [(at, sound) for at, sound in loudspeaker.pieces[pieces:] if at >= end]
        audible = next(
            (
                at + int(np.argmax(np.abs(sound) > self._job["audible"])) / WIRE_RATE
                for at, sound in after
                if np.abs(sound).max(initial=0.0) > self._job["audible"]
            ),
            None,
        )
        return {
            "name": turn["name"],
            "kind": turn["kind"],
            "eos_to_first_audio_ms": None if audible is None else (audible - end) * 1e3,
            "eos_to_first_frame_ms": (after[0][0] - end) * 1e3 if after else None,
            "early": early,
            "turns": len(stages.times.get("turn_over", [])),
            "stages_ms": stages.since(end),
            "cpu_sec": cpu_sec() - cpu,
            "seconds": time.monotonic() - began,
        }


async def main() -> None:
    logger.remove()
    peer = Peer(json.loads(sys.stdin.readline()))
    print("here", flush=True)
    warm = True
    while line := await asyncio.to_thread(sys.stdin.readline):
        turns = json.loads(line)
        if warm:
            await peer.converse(turns[:1])  # loads what is loaded on first use
            warm = False
        versions = {name: version(name) for name in ("pipecat-ai", "onnxruntime")}
        told = {"versions": versions, "turns": await peer.converse(turns)}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
