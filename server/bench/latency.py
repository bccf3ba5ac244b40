"""How long one talker waits for an answer, and where the time goes."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import chain, cycle, islice, zip_longest
from typing import Any

from models.protocols import Models
from models.types import WIRE_RATE, Turn
from server.bench.bare import Bare, bare
from server.bench.figures import Report, summary
from server.bench.microphone import Microphone, open_microphone
from server.bench.player import Player
from server.bench.process import Served
from server.bench.sounds import Sound, recorded_turns, synthesised
from server.client import PIECE_SEC, TRANSCRIBED, Call, calling
from server.consent import Consent

SESSION_TURNS = 7  # then a new conversation begins
REPLY_TOKENS = 32  # enough to hear how a reply begins; the rest would only take time
PATIENCE_SEC = 12.0
SETTLE_SEC = 0.6  # between the end of a reply and the next turn


@dataclass(frozen=True, slots=True)
class Answered:
    """One turn and what came of it. Times in ms; None for what never came."""

    name: str
    kind: str
    longest_pause_ms: int  # within the turn
    eos_to_first_audio_ms: float | None
    after_eot_ms: float | None
    overhead_ms: float | None
    noticed_late_ms: float | None  # the end of speech as the server has it, after the true one
    stages_ms: dict[str, float]
    early: bool  # something was said aloud before the turn was over
    commits: int  # turns the server took this one for
    replies: int  # and how often it answered to the end
    underruns: int
    heard: str
    reply: str

    @property
    def proper(self) -> bool:
        return self.commits == 1 and self.replies == 1


async def turns_to_take(models: Models, count: int) -> list[Sound]:
    """Recorded and synthesised turns, by turns, over again if there are too few."""
    pairs = zip_longest(recorded_turns(), await synthesised(models.speaker))
    every = [sound for sound in chain.from_iterable(pairs) if sound]
    return list(islice(cycle(every), count or len(every)))


async def measure(
    server: Served,
    models: Models,
    count: int,
    step: Callable[[str], None],
    consent: Consent | None = None,
) -> Report:
    """The latency section of the report; `count` 0 takes every turn there is once."""
    sounds = await turns_to_take(models, count)
    found: list[tuple[Answered, Bare]] = []
    cpu_sec, talked_sec = 0.0, 0.0
    for first in range(0, len(sounds), SESSION_TURNS):
        part = sounds[first : first + SESSION_TURNS]
        cpu, began = server.cpu_sec, time.monotonic()
        answered = await conversation(server.url, part, step, consent)
        cpu_sec += server.cpu_sec - cpu
        talked_sec += time.monotonic() - began
        # Straight after, while the machine is as busy or idle as it was.
        before: list[Turn] = []
        for sound, turn in zip(part, answered, strict=True):
            step(f"models alone: {turn.name}")
            found.append((turn, await bare(models, sound, before)))
            before += [Turn("user", turn.heard), Turn("assistant", turn.reply)]
    kinds = {kind: [each for each in found if each[0].kind == kind] for kind in _kinds(found)}
    return {
        "n": len(found),
        "all": _figures(found),
        **{kind: _figures(some) for kind, some in kinds.items()},
        "server_cpu_sec_per_turn": round(cpu_sec / max(len(found), 1), 3),
        "server_cpu_percent_of_a_core": round(100 * cpu_sec / max(talked_sec, 1e-9), 1),
        "turns": [_detail(turn, models_alone) for turn, models_alone in found],
    }


@asynccontextmanager
async def _talking(
    url: str, consent: Consent | None, instructions: str
) -> AsyncGenerator[tuple[Call, Microphone], None]:
    async with calling(f"{url}?attune=1") as call:
        await call.until("session.created")
        if consent is not None:
            await call.agree(consent)
        session: dict[str, Any] = {"max_output_tokens": REPLY_TOKENS}
        if instructions:
            session["instructions"] = instructions
        await call.send(type="session.update", session=session)
        await call.until("session.updated")
        async with open_microphone(call.append, PIECE_SEC) as microphone:
            await asyncio.sleep(SETTLE_SEC)
            yield call, microphone


async def conversation(
    url: str,
    sounds: Sequence[Sound],
    step: Callable[[str], None],
    consent: Consent | None,
    instructions: str = "",
) -> list[Answered]:
    """One after the other, each reply played out before the next turn."""
    answered = []
    async with _talking(url, consent, instructions) as (call, microphone):
        for sound in sounds:
            step(f"saying: {sound.name}")
            answered.append(await _turn(call, microphone, sound))
    return answered


async def _turn(call: Call, microphone: Microphone, sound: Sound) -> Answered:
    events, pieces = len(call.events), len(call.pieces)
    end = microphone.say(sound.samples) + sound.end / WIRE_RATE
    await asyncio.sleep(end - time.monotonic())
    done = await _reply_after(call, events, end)
    player = Player()
    for piece in call.pieces[pieces:]:
        player.receive(piece.at, len(piece.samples))
    await asyncio.sleep(max(0.0, player.empty_at - time.monotonic()) + SETTLE_SEC)
    happened = call.events[events:]
    response = done["response"]["id"] if done else None
    told = [e for e in happened if e["type"] == "attune.timing" and e["response_id"] == response]
    timing = told[-1] if told else {}  # told again as later stages are reached
    stages: dict[str, float] = timing.get("stages_ms", {})
    first = call.first_audible(end) if done else None
    waited = None if first is None else (first - end) * 1e3
    return Answered(
        name=sound.name,
        kind=sound.kind,
        longest_pause_ms=sound.longest_pause_ms,
        eos_to_first_audio_ms=waited,
        after_eot_ms=stages["first_sent"] - stages["gate"] if stages else None,
        overhead_ms=timing.get("overhead_ms"),
        noticed_late_ms=waited - stages["first_sent"] if waited is not None and stages else None,
        stages_ms=stages,
        early=any(piece.at < end for piece in call.pieces[pieces:]),
        commits=sum(e["type"] == "input_audio_buffer.committed" for e in happened),
        replies=sum(given(e) for e in happened),
        underruns=player.underruns,
        heard=" ".join(e["transcript"] for e in happened if e["type"] == TRANSCRIBED),
        reply=_said(done) if done else "",
    )


async def _reply_after(call: Call, seen: int, end: float) -> dict[str, Any] | None:
    """The first response given to its end after the turn's; None if there is none."""
    try:
        async with asyncio.timeout(PATIENCE_SEC):
            while True:
                seen = await call.until("response.done", after=seen)
                if call.times[seen - 1] > end and given(call.events[seen - 1]):
                    return call.events[seen - 1]
    except TimeoutError:
        return None


def given(event: dict[str, Any]) -> bool:
    """Whether it tells of a reply given to its end."""
    return bool(event["type"] == "response.done" and event["response"]["status"] != "cancelled")


def _said(done: dict[str, Any]) -> str:
    parts = [part for item in done["response"]["output"] for part in item["content"]]
    return " ".join(part.get("transcript") or "" for part in parts).strip()


def _kinds(found: Sequence[tuple[Answered, Bare]]) -> list[str]:
    return sorted({turn.kind for turn, _ in found})


def _figures(found: Sequence[tuple[Answered, Bare]]) -> Report:
    turns, models_alone = [turn for turn, _ in found], [bare for _, bare in found]
    stages = {stage: None for turn in turns for stage in turn.stages_ms}
    both = [(t.after_eot_ms, b.sum_ms) for t, b in found if t.after_eot_ms is not None]
    total = sum(alone for _, alone in both)
    early = [
        {"name": turn.name, "longest_pause_ms": turn.longest_pause_ms}
        for turn in turns
        if turn.early
    ]
    improper = [
        {"name": turn.name, "turns": turn.commits, "replies": turn.replies}
        for turn in turns
        if not turn.proper
    ]
    return {
        "eos_to_first_audio_ms": summary([turn.eos_to_first_audio_ms for turn in turns]),
        "after_eot_ms": summary([turn.after_eot_ms for turn in turns]),
        "bare_models_ms": {
            **summary([bare.sum_ms for bare in models_alone]),
            "words": summary([bare.words_ms for bare in models_alone]),
            "reply": summary([bare.reply_ms for bare in models_alone]),
            "voice": summary([bare.voice_ms for bare in models_alone]),
        },
        "after_eot_over_bare": {
            "all": round(sum(after for after, _ in both) / total, 3) if total else None,
            **summary([after / alone for after, alone in both]),
        },
        "overhead_ms": summary([turn.overhead_ms for turn in turns]),
        "end_noticed_late_ms": summary([turn.noticed_late_ms for turn in turns]),
        "stages_ms": {
            stage: summary([turn.stages_ms.get(stage) for turn in turns]) for stage in stages
        },
        "early_answers": {"n": len(early), "turns": early},
        "double_or_missed_turns": {"n": len(improper), "turns": improper},
        "underruns": sum(turn.underruns for turn in turns),
    }


def _detail(turn: Answered, models_alone: Bare) -> Report:
    detail = {**asdict(turn), "bare": {**asdict(models_alone), "sum_ms": models_alone.sum_ms}}
    return {key: _rounded(value) for key, value in detail.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return round(value, 1) if isinstance(value, float) else value
