"""One item, played to the live server: what is set, said, asked and waited for."""

import asyncio
from dataclasses import dataclass
from typing import Any

from models.audio import encode_pcm16
from models.types import WIRE_RATE, Samples
from server.client import TRANSCRIBED, CallError
from server.client import kept as told_of
from server.consent import Consent
from server.scoring.annotation import Annotation
from server.scoring.bench.errors import ItemError
from server.scoring.bench.line import Line, line
from server.scoring.bench.planning import Play
from server.scoring.bench.prompts import CHOOSE, asked, described, instructions, material

LEAD_SEC, TAIL_SEC = 0.6, 0.3  # of a quiet room before and after
STEP_SEC = 0.1
QUIET_SEC = 2.0  # after a reply, with nothing said on either side, and it is over
PATIENCE_SEC = 6.0  # to the beginning of a reply: longer than any end of turn takes
LONGEST_SEC = 120.0  # after the clip, whatever still goes on
ANSWER_SEC = 60.0  # for a transcript or a written answer
PERCEPT_SEC = 15.0
UNHEARD = "conversation.item.input_audio_transcription.failed"
IDLE = {"session.updated", "rate_limits.updated"}


@dataclass(frozen=True, slots=True)
class Talked:
    """A call that is over; with the secret its session can be fetched."""

    session_id: str
    secret: str
    begin: int  # the sample of those sent at which the clip begins
    clip: bytes  # as it was sent, PCM16


async def talk(
    play: Play, clip: Samples, url: str, name: str, consent: Consent, *, realtime: bool
) -> Talked:
    """Play one clip of a named data set; returns once the server has nothing more to say to it."""
    try:
        return await _talk(play, clip, url, name, consent, realtime)
    except (LookupError, TypeError, AttributeError) as error:  # in what the server told
        raise ItemError(f"the server talks in another form: {type(error).__name__}") from None


async def _talk(
    play: Play, clip: Samples, url: str, name: str, consent: Consent, realtime: bool
) -> Talked:
    join = "&" if "?" in url else "?"
    async with line(f"{url}{join}attune=1", name, realtime=realtime) as call:
        await call.until("session.created")
        await _settle(call, play)
        call.binary = True
        kept = await call.agree(consent)
        if consent.personal and not kept["recording"]:
            raise ItemError(f"it was not recorded: {told_of(kept)}")
        await call.hush(LEAD_SEC)
        begin, pcm = call.sent, encode_pcm16(clip)
        await call.say(pcm)
        if play.item.task == "asr":
            await _understood(call)
        elif play.item.task == "mcq":
            await _choose(call, play.annotation)
        else:
            await _hear_out(call)
        for event in call.of("attune.recording")[-1:]:
            if consent.personal and not event["recording"]:
                raise ItemError(f"it was not recorded to its end: {told_of(event)}")
        secret = str(call.of("attune.session")[-1]["secret"])
        return Talked(str(kept["session_id"]), secret, begin, pcm)


async def _settle(call: Line, play: Play) -> None:
    given = play.annotation.cue_given
    ours: dict[str, Any] = {"events": True, "binary": True, "perception": given != "none"}
    if given == "true":
        ours["cue"] = play.annotation.cue
    session: dict[str, Any] = {"type": "realtime", "attune": ours}
    if play.item.task in ("asr", "mcq"):  # the clip is one turn, whatever pauses it has
        session["audio"] = {"input": {"turn_detection": None}}
    else:
        told = instructions(play.annotation, play.annotation.prompt or "zero", play.item.about)
        session["instructions"] = told
    await call.send(type="session.update", session=session)
    seen = await call.until("session.updated", "error")
    if (answer := call.events[seen - 1])["type"] == "error":
        raise ItemError(f"the server refused its settings: {answer['error']['message']}")


async def _understood(call: Line) -> str:
    """The words of the clip, which is one turn."""
    await call.hush(TAIL_SEC)
    mark = len(call.events)
    await call.send(type="input_audio_buffer.commit")
    try:
        async with asyncio.timeout(ANSWER_SEC):
            seen = await call.until(TRANSCRIBED, UNHEARD, "error", after=mark)
    except TimeoutError:
        raise ItemError("no transcript came") from None
    if (told := call.events[seen - 1])["type"] != TRANSCRIBED:
        raise ItemError(f"it was not transcribed: {told['error']['message']}")
    return str(told["transcript"])


async def _choose(call: Line, annotation: Annotation) -> None:
    """A question about the clip, put to the reply model with what was heard.

    The material is a system's message, and what the user says is a plain question: so no thinker
    takes it for talk, and opens with words of its own.
    """
    words = await _understood(call)
    heard = described(await _percept(call)) if annotation.cue_given != "none" else ""
    said = {"system": material(annotation, words, heard), "user": asked(annotation)}
    mark = len(call.events)
    await call.send(
        type="response.create",
        response={
            "instructions": CHOOSE,
            "output_modalities": ["text"],
            "input": [
                {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
                for role, text in said.items()
            ],
        },
    )
    try:
        async with asyncio.timeout(ANSWER_SEC):
            seen = await call.until("response.done", "error", after=mark)
    except TimeoutError:
        raise ItemError("no answer came") from None
    _check(call.events[seen - 1])


async def _percept(call: Line) -> dict[str, Any]:
    """How it sounded; nothing where that is not found out in time."""
    try:
        async with asyncio.timeout(PERCEPT_SEC):
            seen = 0
            while True:
                seen = await call.until("attune.percept", after=seen)
                if (told := call.events[seen - 1])["final"]:
                    found: dict[str, Any] = told["percept"]
                    return found
    except TimeoutError:
        return {}


async def _hear_out(call: Line) -> None:
    """Be quiet until nothing more comes of what was said."""
    begin, seen, quiet = call.sent, 0, 0.0
    while call.sent - begin < LONGEST_SEC * WIRE_RATE:
        await call.hush(STEP_SEC)
        news = [event["type"] for event in call.events[seen:]]
        seen = len(call.events)
        busy = set(news) - IDLE or not call.speaker.silent or _under_way(call)
        quiet = 0.0 if busy else quiet + STEP_SEC
        if quiet >= (QUIET_SEC if call.of("response.done") else PATIENCE_SEC):
            for event in call.of("response.done"):
                _check(event)
            return
    raise ItemError(f"the reply was not over after {LONGEST_SEC:.0f} s")


def _under_way(call: Line) -> bool:
    """Whether somebody is speaking, or something is being found out."""

    def more(begun: str, *over: str) -> bool:
        return len(call.of(begun)) > sum(len(call.of(kind)) for kind in over)

    return (
        more("response.created", "response.done")
        or more("input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped")
        or more("input_audio_buffer.committed", TRANSCRIBED, UNHEARD)
    )


def _check(told: dict[str, Any]) -> None:
    if told["type"] == "error":
        raise ItemError(f"the server said: {told['error']['message']}")
    response = told["response"]
    if response["status"] == "failed":
        problem = (response.get("status_details") or {}).get("error") or {}
        raise ItemError(f"the reply failed: {problem.get('message') or 'for no reason told'}")


__all__ = ["CallError", "Talked", "talk"]
