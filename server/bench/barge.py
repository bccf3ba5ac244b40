"""How soon a reply falls silent for someone who takes the word, and for whom it should not."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Literal

from models.protocols import Models
from models.types import WIRE_RATE
from server.bench.figures import Report, share, summary
from server.bench.listener import Event, Listener
from server.bench.microphone import open_microphone
from server.bench.player import Player
from server.bench.process import BenchError, Served
from server.bench.sounds import Sound, not_interruptions, recorded
from server.client import PIECE_SEC, TRANSCRIBED, Call, calling
from server.consent import Consent

INTERRUPTIONS = 20  # by each client
BROWSER_PIECE_SEC = 0.04  # what a page sends at once
ACK_SEC = 0.1
# Half a minute of reply, whatever the reply model likes to say: what was said is said again.
STORY = (
    "There was an old sailor who lived with his dog above the harbour. Every morning the two of "
    "them walked down to the boats and counted them, one by one, and every morning there was one "
    "too few. The sailor said it had gone out early. The dog said nothing, for he knew where it "
    "was. One night, when the wind had gone to sleep, he led the old man along the shore to a cove "
    "that nobody had a name for. There lay the boat, with its sail put away and a lamp lit, as if "
    "somebody had just stepped ashore to look for them."
)
REQUEST = "Can you say that again?"
INTO_REPLY_SEC = (0.8, 1.1, 1.5, 2.0)  # how far into it someone speaks
PATIENCE_SEC = 10.0
AFTERWARDS_SEC = 1.8  # to wait for what comes of a sound that is no interruption
SILENT_SEC = 0.3  # to hear, after a decision, that it stays silent

Client = Literal["attune", "stock"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of a sound over a reply. Times in ms from the first sample of its voice."""

    name: str
    kind: str
    silence_ms: float | None
    decision_ms: float | None  # to speech_started; None if it was not taken for an interruption
    held: bool
    resumed: bool  # the reply was heard again before the decision
    cancelled: bool
    underruns: int
    heard: str  # the words it was taken for


async def measure(
    server: Served,
    models: Models,
    count: int,
    step: Callable[[str], None],
    consent: Consent | None = None,
) -> Report:
    """The barge-in section of the report; `count` 0 interrupts INTERRUPTIONS times."""
    people = list(islice(cycle(recorded()), count or INTERRUPTIONS))
    harmless = await not_interruptions(models.speaker)
    harmless = harmless[: count or len(harmless)]
    report: Report = {}
    for client in ("attune", "stock"):
        found = [
            await attempt(server.url, client, sound, place, True, step, consent)
            for place, sound in enumerate(people)
        ]
        report[client] = {**_interruptions(_valid(found)), "void": _void(people, found)}
    found = [
        await attempt(server.url, "attune", sound, place, False, step, consent)
        for place, sound in enumerate(harmless)
    ]
    report["not_interruptions"] = {**_harmless(_valid(found)), "void": _void(harmless, found)}
    return report


def _valid(found: Sequence[Attempt | None]) -> list[Attempt]:
    return [each for each in found if each]


def _void(sounds: Sequence[Sound], found: Sequence[Attempt | None]) -> list[str]:
    """Sounds that fell into a gap of the reply: there was nothing to silence."""
    return [sound.name for sound, each in zip(sounds, found, strict=True) if each is None]


async def attempt(
    url: str,
    client: Client,
    sound: Sound,
    place: int,
    real: bool,
    step: Callable[[str], None],
    consent: Consent | None = None,
) -> Attempt | None:
    """Speak over a reply; None if just then nothing of it was to be heard."""
    step(f"over a reply to a {client} client: {sound.name}")
    async with _hearing(url, client, consent) as listener:
        call = listener.call
        sounds_from = await _first_sound(call)
        wait = sounds_from + INTO_REPLY_SEC[place % len(INTO_REPLY_SEC)] - time.monotonic()
        await asyncio.sleep(max(0.0, wait))
        seen = len(call.events)
        voice = listener.microphone.say(sound.samples) + sound.start / WIRE_RATE
        over = voice + (len(sound.samples) - sound.start) / WIRE_RATE + AFTERWARDS_SEC
        if real:
            await _decided(call, seen, over)
            await asyncio.sleep(SILENT_SEC)
        else:
            await asyncio.sleep(over - time.monotonic())
        listener.catch_up()
        player = next(iter(listener.players.values()))  # the reply that was spoken over
        if not player.sounding(voice):
            return None
        happened = list(zip(call.events[seen:], call.times[seen:], strict=True))
    return outcome(sound, voice, happened, player)


@asynccontextmanager
async def _hearing(
    url: str, client: Client, consent: Consent | None
) -> AsyncGenerator[Listener, None]:
    """A client that has asked for a long reply."""
    ours = client == "attune"
    async with calling(url) as call:
        await call.until("session.created")
        if ours:
            agreed = {"attune": {"events": True, "binary": True}}
            await call.send(type="session.update", session=agreed)
            await call.until("session.updated")
            call.binary = True
        if consent is not None:  # a stock client is not told what comes of it
            await (call.agree(consent) if ours else call.consent(consent))
        async with open_microphone(
            call.append, BROWSER_PIECE_SEC if ours else PIECE_SEC
        ) as microphone:
            listener = Listener(call, microphone)
            acknowledging = asyncio.create_task(_acknowledge(listener)) if ours else None
            for role, kind, text in (
                ("assistant", "output_text", STORY),
                ("user", "input_text", REQUEST),
            ):
                item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
                await call.send(type="conversation.item.create", item=item)
            await call.send(type="response.create")
            try:
                yield listener
            finally:
                if acknowledging:
                    acknowledging.cancel()
                    await asyncio.wait([acknowledging])


async def _acknowledge(listener: Listener) -> None:
    """As a page does, until cancelled."""
    while True:
        await asyncio.sleep(ACK_SEC)
        await listener.acknowledge(time.monotonic())


async def _first_sound(call: Call) -> float:
    try:
        async with asyncio.timeout(PATIENCE_SEC), call.news:
            await call.news.wait_for(lambda: call.pieces or call.lost)
    except TimeoutError:
        raise BenchError(f"no reply to interrupt within {PATIENCE_SEC:.0f} s") from None
    if not call.pieces:
        raise BenchError("the server hung up")
    return call.pieces[0].at


async def _decided(call: Call, seen: int, latest: float) -> None:
    try:
        async with asyncio.timeout(latest - time.monotonic()):
            await call.until("input_audio_buffer.speech_started", after=seen)
    except TimeoutError:
        pass  # it went unnoticed, which is a result


def outcome(
    sound: Sound, voice: float, happened: Sequence[tuple[Event, float]], player: Player
) -> Attempt:
    at: dict[str, float] = {}
    for event, when in happened:
        at.setdefault(event["type"], when)
    decision = at.get("input_audio_buffer.speech_started")
    held = at.get("attune.hold")
    noticed = held is not None or decision is not None
    silence = player.silent_from(voice)
    until = math.inf if decision is None else decision
    return Attempt(
        name=sound.name,
        kind=sound.kind,
        silence_ms=(silence - voice) * 1e3 if noticed else None,
        decision_ms=None if decision is None else (decision - voice) * 1e3,
        held=held is not None,
        resumed=noticed and player.played(until) > player.played(silence),
        cancelled=any(
            event["type"] == "response.done" and event["response"]["status"] == "cancelled"
            for event, _ in happened
        ),
        underruns=player.underruns,
        heard=next((e["transcript"] for e, _ in happened if e["type"] == TRANSCRIBED), ""),
    )


def _interruptions(found: Sequence[Attempt]) -> Report:
    missed = [each for each in found if each.decision_ms is None]
    return {
        "n": len(found),
        "barge_in_to_silence_ms": summary([each.silence_ms for each in found]),
        "barge_in_to_decision_ms": summary([each.decision_ms for each in found]),
        "missed": {**share([each.decision_ms is None for each in found]), "sounds": _names(missed)},
        "spoke_on_before_deciding": share([each.resumed for each in found]),
        "attempts": _details(found),
    }


def _harmless(found: Sequence[Attempt]) -> Report:
    report: Report = {"n": len(found)}
    for kind in ("all", "noise", "backchannel"):
        some = [each for each in found if kind in ("all", each.kind)]
        report[kind] = {
            "false_hold_rate": share([each.held for each in some]),
            "false_interruption_rate": share([each.cancelled for each in some]),
            "interrupted_by": _names([each for each in some if each.cancelled]),
            "lost_for_good": _names([e for e in some if e.held and not e.resumed | e.cancelled]),
        }
    return {**report, "attempts": _details(found)}


def _names(found: Sequence[Attempt]) -> list[str]:
    return [each.name for each in found]


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _details(found: Sequence[Attempt]) -> list[Report]:
    return [
        {
            "name": each.name,
            "silence_ms": rounded(each.silence_ms),
            "decision_ms": rounded(each.decision_ms),
            "held": each.held,
            "resumed": each.resumed,
            "cancelled": each.cancelled,
            "underruns": each.underruns,
            "heard": each.heard,
        }
        for each in found
    ]
