"""A recorded user once more, before a live server: for regression, and to compare models."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import numpy as np
import soundfile
from numpy.typing import NDArray

from models.types import WIRE_RATE
from server.client import PIECE, PIECE_SEC, Call, CallError, calling
from server.client import kept as told_of
from server.consent import Consent
from server.recording.permitted import permitted
from server.sessions.format import SessionFile
from server.sessions.stored import StoredSession

BLOCK = WIRE_RATE  # samples read at once
STEP_SEC = 0.5  # of silence sent between two looks at whether it is over
QUIET_SEC = 2.5  # with nothing said on either side, and it is: longer than any end of turn takes
LONGEST_SEC = 300.0  # of silence, whatever still goes on

Pcm = NDArray[np.int16]


class ReplayError(CallError):
    """This session cannot be replayed, or not there: one sentence."""


async def replay(
    session: StoredSession, url: str, *, realtime: bool, consent: Consent | None = None
) -> str:
    """Play a recorded user to a live server as they were; returns the id of what is recorded then.

    Real time suits any server. Otherwise the sound goes as fast as it is taken, which only one on
    the samples clock understands: there, all replays of a session are the same. What is kept of it
    is what the person allowed, or less.
    """
    source = await asyncio.to_thread(session.file)
    kept = allowed(source) if consent is None else allowed(source).both(consent)
    join = "&" if "?" in url else "?"
    async with calling(f"{url}{join}attune=1") as call:
        await call.until("session.created")
        await _settle(call, source)
        call.binary = True
        told = await call.agree(kept)
        if kept.personal and not told["recording"]:
            raise ReplayError(f"a replay there would not be recorded: {told_of(told)}")
        async with aclosing(_user_channel(session, source)) as sound:
            await _say(call, sound, realtime=realtime)
        await _hear_out(call, realtime=realtime)
        return str(told["session_id"])


def allowed(source: SessionFile) -> Consent:
    """What the person allows of the session, and so of its replays."""
    last = source.allowed
    if source.state == "deleted":
        raise ReplayError(f"{source.id} was deleted")
    if source.state == "recording":
        raise ReplayError(f"{source.id} is still being recorded")
    if last is None or not last.audio or source.audio is None:
        raise ReplayError(f"{source.id} cannot be replayed: its sound may not be kept, or is not")
    return permitted(source)


async def _settle(call: Call, source: SessionFile) -> None:
    """Be the client that was recorded, as far as is known."""
    ours = {"events": True, "binary": True, "replay_of": source.id}
    if source.client:
        ours["capture"] = source.client.capture.model_dump(exclude_none=True)
    words = {"instructions": source.prompts.instructions} if source.prompts else {}
    await call.send(type="session.update", session={"attune": ours, **words})
    seen = await call.until("session.updated", "error")
    if (answer := call.events[seen - 1])["type"] == "error":
        raise ReplayError(f"the server takes no replays: {answer['error']['message']}")


async def _user_channel(session: StoredSession, source: SessionFile) -> AsyncGenerator[Pcm, None]:
    """The left channel, from the first sample that was recorded."""
    assert source.audio is not None, "it was looked at before"
    with session.open_audio() as raw, soundfile.SoundFile(raw) as audio:
        audio.seek(min(source.audio.recorded_from, audio.frames))
        while True:  # storage may be slow, and the call must go on meanwhile
            both: Pcm = await asyncio.to_thread(audio.read, BLOCK, "int16", always_2d=True)
            if not len(both):
                return
            yield both[:, 0]


async def _say(call: Call, sound: AsyncGenerator[Pcm, None], *, realtime: bool) -> None:
    begin, said = time.monotonic(), 0
    async for block in sound:
        for offset in range(0, len(block), PIECE):
            piece = block[offset : offset + PIECE]
            said += len(piece)
            if realtime:
                await asyncio.sleep(begin + said / WIRE_RATE - time.monotonic())
            await call.append_pcm(piece.tobytes())


async def _hear_out(call: Call, *, realtime: bool) -> None:
    """Send silence until nothing more comes of what was said.

    After each step the server is asked for nothing in particular: its answer follows everything
    that came of the sound so far, so that on the samples clock every replay ends on one sample.
    """
    seen = still = 0
    for _ in range(round(LONGEST_SEC / STEP_SEC)):
        await _hush(call, realtime=realtime)
        mark = len(call.events)
        await call.send(type="session.update", session={})
        await call.until("session.updated", after=mark)
        news = [event["type"] for event in call.events[seen:]]
        seen = len(call.events)
        still = still + 1 if set(news) <= {"session.updated"} else 0
        if still * STEP_SEC >= QUIET_SEC and not _under_way(call):
            return
    raise ReplayError(f"the reply was not over after {LONGEST_SEC:.0f} s of silence")


async def _hush(call: Call, *, realtime: bool) -> None:
    quiet, begin = bytes(2 * PIECE), time.monotonic()
    for count in range(1, round(STEP_SEC / PIECE_SEC) + 1):
        if realtime:
            await asyncio.sleep(begin + count * PIECE_SEC - time.monotonic())
        await call.append_pcm(quiet)


def _under_way(call: Call) -> bool:
    """Whether a reply is being given."""
    return len(call.of("response.created")) > len(call.of("response.done"))
