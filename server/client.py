"""python -m server.client: stream a recording as a person would, and hear the reply."""

import asyncio
import json
import os
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import orjson
import soundfile
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from models.audio import decode_pcm16, encode_pcm16, resample
from models.perception.labels import DIMENSIONS, Dimension
from models.types import WIRE_RATE, Samples
from server.consent import SCOPES, Consent

PIECE_SEC = 0.02  # how much a microphone sends at once
PIECE = round(WIRE_RATE * PIECE_SEC)
AUDIBLE = 10 ** (-45 / 20)  # full scale is 1
FADED = 10 ** (-40 / 20)  # speech is over when it falls this far below its peak,
NOISE = 3.5  # or near the noise: this many times the quietest twentieth
VOICE_FRAME = WIRE_RATE // 100  # samples by which a voice is looked for
HEADER = 8  # bytes before the sound of a binary frame: response sequence, sample offset
PATIENCE_SEC = 20.0  # to wait for a reply
TOKEN = "ATTUNE_TOKEN"  # in the environment
LIKELY = 0.5  # what is shown of a percept
CONSENT = f"What may be recorded: some of {','.join(SCOPES)}, or none."
NOT_RECORDED = {  # why a server keeps nothing of a call, or no more of it
    "off": "recording is switched off there",
    "disk_full": "its disk is full",
    "disk_unwritable": "its disk cannot be written to",
    "disk_slow": "its disk is too slow",
    "disk_error": "its disk failed",
    "recorder_error": "its recorder failed",
    "child": "a child was heard, and none are recorded there",
    "perception_off": "perception is off, and without it a child would not be noticed there",
    "deleted": "it was deleted",
}


class CallError(Exception):
    """The call could not be made or broke off: one sentence for the caller."""


class Unanswered(CallError):
    """Nobody took the call; `status` is what a server said over HTTP instead."""

    def __init__(self, sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class Piece:
    """Reply audio as it arrived."""

    at: float  # seconds on the monotonic clock
    samples: Samples
    response: str = ""  # whose it is; a binary frame's, once the server has told its number


@dataclass(slots=True)
class Call:
    """The other half of the wire: what was sent, and everything that came back, with times."""

    socket: ClientConnection
    events: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)
    lost: bool = False
    binary: bool = False  # audio goes as binary frames; the session must have agreed
    reading: asyncio.Event = field(default_factory=asyncio.Event)  # cleared: what comes waits
    numbered: dict[int, str] = field(default_factory=dict)  # responses by their binary sequence

    def __post_init__(self) -> None:
        self.reading.set()

    async def send(self, **event: Any) -> None:
        await self._send(orjson.dumps(event).decode())

    async def append(self, samples: Samples) -> None:
        await self.append_pcm(encode_pcm16(samples))

    async def append_pcm(self, pcm: bytes) -> None:
        if self.binary:
            await self._send(pcm)
        else:
            await self.send(type="input_audio_buffer.append", audio=b64encode(pcm).decode())

    async def _send(self, message: str | bytes) -> None:
        try:
            await self.socket.send(message)
        except ConnectionClosed:
            raise CallError("the server hung up") from None

    async def consent(self, allowed: Consent, name: str | None = None) -> None:
        """Say what may be kept of this call, and, if one likes, of whom."""
        named = {"name": name} if name else {}
        await self.send(type="attune.consent", **asdict(allowed), **named)

    async def agree(self, allowed: Consent, name: str | None = None) -> dict[str, Any]:
        """Say what may be kept, and hear what is; only a client that opted in is told."""
        seen = len(self.events)
        await self.consent(allowed, name)
        try:
            async with asyncio.timeout(PATIENCE_SEC):
                seen = await self.until("attune.recording", "error", after=seen)
        except TimeoutError:
            raise CallError("the server does not say whether it records") from None
        answer = self.events[seen - 1]
        if answer["type"] == "error":
            raise CallError(f"the server does not record: {answer['error']['message']}")
        return answer

    async def speak(self, samples: Samples, *, realtime: bool = True) -> None:
        """Send audio, at the pace it was spoken or as fast as it goes."""
        begin = time.monotonic()
        for offset in range(0, len(samples), PIECE):
            if realtime:
                await asyncio.sleep(begin + offset / WIRE_RATE + PIECE_SEC - time.monotonic())
            await self.append(samples[offset : offset + PIECE])

    async def hush(self) -> None:
        """Send silence, as an open microphone does, until cancelled."""
        quiet = np.zeros(WIRE_RATE, np.float32)
        while True:
            await self.speak(quiet)

    async def listen(self) -> None:
        """Take down everything that arrives, until the server hangs up."""
        try:
            async for message in self.socket:
                await self.reading.wait()
                now = time.monotonic()
                async with self.news:
                    self.take(message, now)
                    self.news.notify_all()
        except ConnectionClosed:
            pass  # `until` tells whoever still waits
        finally:
            self.lost = True
            async with self.news:
                self.news.notify_all()

    def take(self, message: str | bytes, now: float) -> None:
        """Take down one thing that came."""
        if isinstance(message, bytes):
            whose = self.numbered.get(int.from_bytes(message[:4], "little"), "")
            self.pieces.append(Piece(now, decode_pcm16(message[HEADER:]), whose))
            return
        event = orjson.loads(message)
        if event["type"] == "response.output_audio.delta":
            samples = decode_pcm16(b64decode(event.pop("delta")))
            event["samples"] = len(samples)
            self.pieces.append(Piece(now, samples, event["response_id"]))
        elif event["type"] == "response.created":
            number = event["response"].get("attune", {}).get("sequence")
            self.numbered |= {} if number is None else {number: event["response"]["id"]}
        self.events.append(event)
        self.times.append(now)

    async def until(self, *kinds: str, after: int = 0) -> int:
        """Wait for an event of one of these kinds; returns its place, plus one."""
        seen = after
        async with self.news:
            while True:
                while seen < len(self.events):
                    seen += 1
                    if self.events[seen - 1]["type"] in kinds:
                        return seen
                if self.lost:
                    why = [event["error"]["message"] for event in self.of("error")]
                    raise CallError(": ".join(["the server hung up", *why[-1:]]))
                await self.news.wait()

    async def admitted(self) -> None:
        """Wait for a seat, and say so where it takes time."""
        seen, place = 0, None
        while True:
            seen = await self.until("session.created", "attune.queue", after=seen)
            told = self.events[seen - 1]
            if told["type"] == "session.created":
                return
            if told["position"] != place:
                place, seconds = told["position"], told["estimate_sec"]
                about = "" if seconds is None else f", about {seconds} s"
                print(f"attune: all seats are taken; place {place} in line{about}", file=sys.stderr)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]

    @property
    def reply(self) -> Samples:
        silence = [np.empty(0, np.float32)]
        return np.concatenate(silence + [piece.samples for piece in self.pieces])

    def played_out(self) -> float:
        """When all that has come will have been played, one piece after the other."""
        end = 0.0
        for piece in self.pieces:
            end = max(end, piece.at) + len(piece.samples) / WIRE_RATE
        return end

    def first_audible(self, after: float = 0.0) -> float | None:
        """When the first sample one could hear was there to be played."""
        return audible_from(piece for piece in self.pieces if piece.at >= after)


def audible_from(pieces: Iterable[Piece]) -> float | None:
    """When the first sample one could hear was there to be played."""
    for piece in pieces:
        if np.abs(piece.samples).max(initial=0.0) > AUDIBLE:
            return piece.at + int(np.argmax(np.abs(piece.samples) > AUDIBLE)) / WIRE_RATE
    return None


AnyCall = TypeVar("AnyCall", bound=Call)


def token_header() -> dict[str, str]:
    """What a server that asks for tokens is shown; never on a command line, where others look."""
    token = os.environ.get(TOKEN)
    return {"Authorization": f"Bearer {token}"} if token else {}


@asynccontextmanager
async def calling(url: str, token: str | None = None) -> AsyncGenerator[Call, None]:
    """A call to a server: connected, listening, and hung up at the end."""
    shown = {"Authorization": f"Bearer {token}"} if token else token_header()
    try:
        socket = await connect(url, max_size=None, compression=None, additional_headers=shown)
    except (OSError, WebSocketException, ValueError, TimeoutError) as error:
        status = error.response.status_code if isinstance(error, InvalidStatus) else None
        sentence = f"cannot reach {url}: {error}; is the server running (make run)?"
        if status == 401:
            sentence = f"{url} asks for a token: set {TOKEN} to one"
        raise Unanswered(sentence, status) from None
    async with listened(Call(socket)) as call:
        yield call


@asynccontextmanager
async def listened(call: AnyCall) -> AsyncGenerator[AnyCall, None]:
    """A call that is connected: listening, and hung up at the end."""
    async with call.socket:
        listening = asyncio.create_task(call.listen())
        try:
            yield call
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


def read_speech(file: Path) -> Samples:
    """A recording as mono float32 at WIRE_RATE."""
    try:
        with file.open("rb") as stored:
            samples, rate = soundfile.read(stored, dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise CallError(f"cannot read {file}: {error.error_string}") from None
    except OSError as error:
        raise CallError(f"cannot read {file}: {error.strerror}") from None
    if not len(samples):
        raise CallError(f"{file} holds no audio")
    return resample(np.ascontiguousarray(samples.mean(axis=1)), rate, WIRE_RATE)


def voiced_frames(samples: Samples) -> NDArray[np.intp]:
    """Which frames of 10 ms hold a voice: what stands out of the recording's own silence."""
    if len(samples) < 2 * VOICE_FRAME:
        return np.empty(0, np.intp)
    half = VOICE_FRAME // 2
    around = np.pad(samples.astype(np.float64), half, "reflect", reflect_type="odd")
    sums = np.cumsum(around)
    # Less its moving average: rumble and offset are no voice.
    high = samples - (sums[VOICE_FRAME:] - sums[:-VOICE_FRAME]) / VOICE_FRAME
    frames = high[: len(high) // VOICE_FRAME * VOICE_FRAME].reshape(-1, VOICE_FRAME)
    loud = np.sqrt((frames**2).mean(axis=1))
    floor = np.clip(NOISE * np.percentile(loud, 5), loud.max() * FADED, loud.max() / 4)
    above = loud > max(float(floor), 1e-5)
    run = above[:-1] & above[1:]  # a single one is a click
    return np.flatnonzero(np.append(run, False) | np.insert(run, 0, False))


def voice_span(samples: Samples) -> tuple[int, int]:
    """Where the voice of a recording begins and ends; all of it where none is found."""
    voiced = voiced_frames(samples)
    if not len(voiced):
        return 0, len(samples)
    return int(voiced[0] * VOICE_FRAME), int((voiced[-1] + 1) * VOICE_FRAME)


def speech_end(samples: Samples) -> int:
    """Where the voice of a recording ends."""
    return voice_span(samples)[1]


async def converse(
    file: Path, url: str, realtime: bool, allowed: Consent | None = None, name: str | None = None
) -> tuple[Call, float]:
    """Say the recording and wait for the answer; returns when its voice ended, too."""
    speech = read_speech(file)
    spoken = speech_end(speech)
    async with calling(url) as call:
        await call.admitted()
        if allowed is not None:
            await call.agree(allowed, name)
        await call.speak(speech[:spoken], realtime=realtime)
        ended, mark = time.monotonic(), len(call.events)
        await call.speak(speech[spoken:], realtime=realtime)
        hushing = asyncio.create_task(call.hush())
        try:
            await _hear_out(call, mark)
            if realtime:  # to hang up earlier would cut off the last word
                await asyncio.sleep(call.played_out() - time.monotonic())
        finally:
            hushing.cancel()
            await asyncio.gather(hushing, return_exceptions=True)
    return call, ended


async def _hear_out(call: Call, seen: int) -> None:
    """Wait for the end of the reply, however long it is, as long as more of it comes."""
    while True:
        try:
            async with asyncio.timeout(PATIENCE_SEC):
                seen = await call.until("response.output_audio.delta", "response.done", after=seen)
        except TimeoutError:
            raise CallError(f"no reply within {PATIENCE_SEC:.0f} s") from None
        response = call.events[seen - 1].get("response", {})
        if response.get("status") == "failed":
            raise CallError(f"the reply failed: {response['status_details']['error']['message']}")
        if response.get("status") in ("completed", "incomplete"):
            return


def sounded(percept: dict[str, Any]) -> str:
    """A percept in one line: what is likely, by how much, and nothing that is unknown."""
    likely = [
        f"{name} {chance:.0%}"
        for dimension in DIMENSIONS.values()
        if dimension.name not in percept["unknown"]
        for name, chance in percept[dimension.field].items()
        if chance >= LIKELY and _telling(name, dimension)
    ]
    if conflict := percept["conflict"]:
        likely.append(f"the words say {conflict['words']}, the voice {conflict['voice']}")
    return ", ".join(likely) or "(nothing can be told)"


def _telling(name: str, dimension: Dimension) -> bool:
    """Whether a name of the dimension's field is one of its own, and worth a word."""
    if dimension.field == "environment":  # several dimensions share it
        return name in dimension.attributes
    return name != dimension.rest or dimension.name == "emotion"


def kept(told: dict[str, Any]) -> str:
    """What a server says of its recording, in a line."""
    if told["recording"]:
        return f"{told['session_id']}: {', '.join(told['scopes'])}"
    if reason := told.get("reason"):
        return f"no: {NOT_RECORDED.get(reason, reason)}"
    return f"{told['session_id']}: anonymous timings only"


def report(call: Call, ended: float, console: Console, verbose: bool = False) -> None:
    for told in call.of("attune.recording")[-1:]:
        console.print("[bold]recorded[/]   ", escape(kept(told)))
    for told in call.of("attune.session") if verbose else []:
        console.print("[dim]its secret[/] ", escape(told["secret"]), soft_wrap=True)
    said = [event["transcript"] for event in call.of(TRANSCRIBED)]
    console.print("[bold]you said[/]   ", escape(" ".join(said)) or "(nothing understood)")
    for told in call.of("attune.percept"):
        percept = told["percept"]
        if told["final"]:
            console.print("[bold]you sounded[/]", escape(sounded(percept)))
        elif verbose:
            console.print(f"[dim]after {percept['seconds']:4.1f} s[/]", escape(sounded(percept)))
        if told["final"] and verbose:
            console.print(escape(json.dumps(percept, ensure_ascii=False)), soft_wrap=True)
    for told in call.of("attune.style"):
        console.print("[bold]plan[/]       ", escape(told["plan"]["line"]))
        if verbose:
            console.print(escape(json.dumps(told["plan"], ensure_ascii=False)), soft_wrap=True)
    replies = [event["transcript"] for event in call.of("response.output_audio_transcript.done")]
    console.print("[bold]reply[/]      ", escape(" ".join(replies)) or "(no reply)")
    heard = call.first_audible(ended)
    if heard is not None:
        stages = call.of("attune.timing")[-1:]
        detail = "".join(
            f", {stage} {ms:.0f}" for timing in stages for stage, ms in timing["stages_ms"].items()
        )
        console.print(
            f"[bold]latency[/]     first audible sample {(heard - ended) * 1000:.0f} ms"
            f" after the end of speech[dim]{detail}[/]"
        )


def consented(listed: str | None) -> Consent | None:
    """The consent of a command line, or the end of the program."""
    try:
        return None if listed is None else Consent.of(listed)
    except ValueError as error:
        print(f"attune: {error}", file=sys.stderr)
        raise typer.Exit(2) from None


TRANSCRIBED = "conversation.item.input_audio_transcription.completed"


def main(
    file: Annotated[Path, typer.Argument(help="A recording: WAV, FLAC, OGG.")],
    url: Annotated[str, typer.Option(help="Where the server is.")] = (
        "ws://127.0.0.1:7860/v1/realtime"
    ),
    out: Annotated[Path | None, typer.Option(help="Write the reply here, as WAV.")] = None,
    events: Annotated[Path | None, typer.Option(help="Write every event here, as JSONL.")] = None,
    realtime: Annotated[
        bool, typer.Option("--realtime/--fast", help="At the pace of speech, or all at once.")
    ] = True,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell how you sounded while you spoke, too.")
    ] = False,
    consent: Annotated[
        str | None, typer.Option(metavar="SCOPES", help=f"{CONSENT} Without it, nothing is.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Whose voice it is; kept as a pseudonym only.")
    ] = None,
) -> None:
    """Stream a recording as a person would, wait for the reply, and tell what happened."""
    console = Console(highlight=False)
    join = "&" if "?" in url else "?"
    allowed = consented(consent)
    try:
        call, ended = asyncio.run(converse(file, f"{url}{join}attune=1", realtime, allowed, name))
        if out:
            with out.open("wb") as kept:
                soundfile.write(kept, call.reply, WIRE_RATE, "PCM_16", format="WAV")
        if events:
            events.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in call.events))
    except (CallError, OSError) as error:
        print(f"attune: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    report(call, ended, console, verbose)


if __name__ == "__main__":
    typer.run(main)
