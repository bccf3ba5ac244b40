"""Finished session folders as the recorder leaves them, made in a moment, for the tests.

    session_id = made_session(tmp_path, consent="transcript,audio,research", turns=2)

What a person and a reply say, how they sound and when, follows from the turns given: `made_sound`
is the very sound that lies in `audio.flac`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import soundfile
from numpy.typing import NDArray

from models.perceiver_off import unknown
from models.percept import Affect, Percept, Prosody
from models.perception.labels import DIMENSIONS
from models.thinking.plan import Heard, Intent, ReplyPlan, Said, Strategy
from models.types import WIRE_RATE
from server import ids
from server.consent import SCOPES, Consent
from server.recording.redaction import kept
from server.sessions.format import (
    AUDIO_FILE,
    EVENTS_FILE,
    NOTES_FILE,
    RATINGS_FILE,
    SESSION_FILE,
    Audio,
    Capture,
    Client,
    Consented,
    Ending,
    Line,
    ModelFile,
    ModelUsed,
    Notes,
    Prompts,
    Rating,
    SessionFile,
    Tombstone,
    TurnSpan,
    folder_name,
)

STARTED = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
LEAD, PAUSE = WIRE_RATE // 5, WIRE_RATE // 4  # before the first turn; before and after each reply
EVERYTHING = Consent(transcript=True, audio=True, research=True)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What somebody says, how they sound, and what is answered."""

    user: str = "I got my test results back today."
    reply: str | None = "Oh, you sound down about it. Would you like to tell me more?"
    heard: str | None = None  # what was heard of the reply; None: all of it
    emotion: str = "sad"  # of the user's voice, and surely so
    gender: str = "female"
    age: str = "adult"
    event: str | None = None  # something beside words, as "sigh"
    perceived: bool = True  # False: there is no percept
    topic: str = "school"
    seconds: float = 0.5
    reply_seconds: float = 0.4
    first_sent_ms: float = 420.0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """An exchange with its ids and its places on the session's clock."""

    of: Exchange
    number: int
    user_item: str
    reply_item: str
    response: str
    user: tuple[int, int]
    reply: tuple[int, int]

    @property
    def end(self) -> int:
        return self.reply[1] if self.of.reply is not None else self.user[1]


def placed(exchanges: Sequence[Exchange]) -> list[Placed]:
    """One after the other, with pauses."""
    found, at = [], LEAD
    for number, each in enumerate(exchanges):
        user = at, at + round(each.seconds * WIRE_RATE)
        reply = user[1] + PAUSE, user[1] + PAUSE + round(each.reply_seconds * WIRE_RATE)
        spot = Placed(each, number, ids.new("item"), ids.new("item"), ids.new("resp"), user, reply)
        found.append(spot)
        at = spot.end + PAUSE
    return found


def made_sound(exchanges: Sequence[Exchange], recorded_from: int = 0) -> NDArray[np.int16]:
    """What `audio.flac` holds: both channels, [samples, 2]; tones, no two turns alike."""
    spots = placed(exchanges)
    sound = np.zeros((length(spots), 2), np.int16)
    for spot in spots:
        parts = [(0, spot.user)] + ([(1, spot.reply)] if spot.of.reply is not None else [])
        for channel, (begin, end) in parts:
            hertz = 220 + 40 * spot.number + 110 * channel
            wave = np.sin(np.arange(end - begin) * (2 * np.pi * hertz / WIRE_RATE))
            sound[begin:end, channel] = np.round(wave * 8000)
    sound[:recorded_from] = 0
    return sound


def length(spots: Sequence[Placed]) -> int:
    return (spots[-1].end if spots else LEAD) + PAUSE


def made_session(
    runs: Path,
    *,
    consent: Consent | str = EVERYTHING,
    turns: Sequence[Exchange] | int = 2,
    session_id: str | None = None,
    started: datetime = STARTED,
    state: Literal["recording", "finished", "repaired", "deleted"] = "finished",
    speaker: str | None = None,
    consent_at: int = 0,
    responder: str = "llamacpp",
    ratings: Sequence[Rating] = (),
    notes: Notes | None = None,
    secret: str = "a secret of the talker's own",
    replay_of: str | None = None,
) -> str:
    """Write `runs/<date>/<id>/` and give the id back."""
    allowed = Consent.of(consent) if isinstance(consent, str) else consent
    exchanges = (
        [replace(Exchange(), user=f"This is turn number {n}.") for n in range(turns)]
        if isinstance(turns, int)
        else list(turns)
    )
    session_id = session_id or ids.new("sess")
    folder = runs / folder_name(session_id, started)
    folder.mkdir(parents=True)
    spots = placed(exchanges)
    if state == "deleted":
        gone = Tombstone(wall=_wall(started, length(spots)), what=["session"], why="deleted")
        _write(
            folder,
            SessionFile(
                id=session_id,
                state="deleted",
                software="attune 0.1.0",
                started=started,
                tombstones=[gone],
            ),  # fmt: skip
        )
        return session_id
    _write(
        folder,
        _described(
            session_id,
            started,
            spots,
            allowed,
            consent_at,
            responder,
            secret,
            speaker if allowed.personal else None,
            replay_of,
            state,
        ),  # fmt: skip
    )
    if allowed.audio:
        path = folder / AUDIO_FILE
        soundfile.write(path, made_sound(exchanges, consent_at), WIRE_RATE, subtype="PCM_16")
    lines = _lines(spots, started, allowed, consent_at)
    (folder / EVENTS_FILE).write_text("".join(line + "\n" for line in lines), "utf-8")
    if ratings:
        told = "".join(rating.model_dump_json() + "\n" for rating in ratings)
        (folder / RATINGS_FILE).write_text(told, "utf-8")
    if notes:
        (folder / NOTES_FILE).write_text(notes.model_dump_json(), "utf-8")
    return session_id


def folder_of(runs: Path, session_id: str) -> Path:
    """Where a made session lies."""
    return next(runs.glob(f"*/{session_id}"))


def _write(folder: Path, session: SessionFile) -> None:
    (folder / SESSION_FILE).write_text(session.model_dump_json(indent=1), "utf-8")


def _wall(started: datetime, at: int) -> datetime:
    return started + timedelta(seconds=at / WIRE_RATE)


def _described(
    session_id: str,
    started: datetime,
    spots: Sequence[Placed],
    consent: Consent,
    consent_at: int,
    responder: str,
    secret: str,
    speaker: str | None,
    replay_of: str | None,
    state: Literal["recording", "finished", "repaired"],
) -> SessionFile:
    end = length(spots)
    given = Consented(
        at=consent_at, wall=_wall(started, consent_at),
        transcript=consent.transcript, audio=consent.audio, research=consent.research,
    )  # fmt: skip
    turns = []
    for spot in spots:
        begin, finish = spot.user
        turns.append(TurnSpan(item_id=spot.user_item, role="user", start=begin, end=finish))
        if spot.of.reply is not None:
            begin, finish = spot.reply
            turns.append(
                TurnSpan(
                    item_id=spot.reply_item,
                    role="assistant",
                    start=begin,
                    end=finish,
                    response_id=spot.response,
                    interrupted=spot.of.interrupted,
                )  # fmt: skip
            )
    personal: dict[str, Any] = {}
    if consent.personal:
        personal = {
            "client": Client(
                user_agent="made/1.0", model="attune", binary=True,
                input_format="audio/pcm", output_format="audio/pcm",
                capture=Capture(echo_cancellation=True, sample_rate=48_000),
            ),
            "speaker": speaker,
        }  # fmt: skip
    if consent.transcript:
        personal["prompts"] = Prompts(instructions="Be kind.", strength="lead")
    why: Literal["hung_up", "crashed"] = "crashed" if state == "repaired" else "hung_up"
    over = None if state == "recording" else Ending(at=end, wall=_wall(started, end), why=why)
    return SessionFile(
        id=session_id,
        state=state,
        software="attune 0.1.0",
        started=started,
        ended=over,
        consent=[given],
        secret_sha256=hashlib.sha256(secret.encode()).hexdigest(),
        profile="embedded",
        models={
            "responder": ModelUsed(
                backend=responder,
                version="1.0",
                files=[ModelFile(name="small.gguf", sha256="ab" * 32, licence="Apache-2.0")],
            ),
            "speaker": ModelUsed(backend="hibari", version="0.2.1"),
            "perceiver": ModelUsed(backend="attune", options={"weights": "default"}),
        },  # fmt: skip
        audio=Audio(rate=WIRE_RATE, samples=end, recorded_from=consent_at)
        if consent.audio
        else None,
        turns=turns,
        replay_of=replay_of,
        **personal,
    )


Source = Literal["client", "server", "recorder"]
Told = tuple[int, Source, dict[str, Any]]


def _lines(
    spots: Sequence[Placed], started: datetime, consent: Consent, consent_at: int
) -> list[str]:
    scopes = {name: getattr(consent, name) for name in SCOPES}
    end = length(spots)
    told: list[Told] = [
        (consent_at, "client", {"type": "attune.consent", **scopes}),
        (consent_at, "recorder", {"type": "recording.consent", **scopes}),
        (end, "client", {"type": "input_audio_buffer.append", "samples": [0, end], "messages": 9}),
    ]
    for spot in spots:
        told += _asked(spot)
        told += _answered(spot) if spot.of.reply is not None else []
    lines: list[str] = []
    for at, source, event in sorted(told, key=lambda each: each[0]):
        allowed = kept(event, consent)
        if at >= consent_at and allowed is not None:
            wall = _wall(started, at)
            line = Line(n=len(lines), at=at, wall=wall, source=source, event=allowed)
            lines.append(line.model_dump_json(by_alias=True))
    return lines


def _event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "event_id": ids.event(), **fields}


def _asked(spot: Placed) -> list[Told]:
    (begin, end), item, said = spot.user, spot.user_item, spot.of
    span = {"item_id": item, "role": "user", "start": begin, "end": end}
    sounded = {"type": "duration", "seconds": said.seconds}
    told: list[Told] = [
        (begin, "server", _event("input_audio_buffer.speech_started",
                                 audio_start_ms=begin * 1000 // WIRE_RATE, item_id=item)),
        (end, "server", _event("input_audio_buffer.speech_stopped",
                               audio_end_ms=end * 1000 // WIRE_RATE, item_id=item)),
        (end, "recorder", {"type": "recording.turn", **span, "response_id": None,
                           "interrupted": False}),
        (end, "server", _event("conversation.item.added", previous_item_id=None,
                               item=_item(item, "user", said.user))),
        (end, "server", _event("conversation.item.input_audio_transcription.completed",
                               item_id=item, content_index=0, transcript=said.user,
                               usage=sounded)),
    ]  # fmt: skip
    if said.perceived:
        percept = made_percept(said)
        event = _event("attune.percept", item_id=item, final=True, at=end, percept=percept)
        told.append((end, "server", event))
    return told


def _answered(spot: Placed) -> list[Told]:
    (begin, end), item, said = spot.reply, spot.reply_item, spot.of
    where = {"response_id": spot.response, "item_id": item}
    part = {**where, "output_index": 0, "content_index": 0}
    span = {"role": "assistant", "start": begin, "end": end, "interrupted": said.interrupted}
    stages = {"speech_end": 0.0, "gate": 300.0, "first_sent": said.first_sent_ms}
    heard = said.reply if said.heard is None else said.heard
    before = spot.user_item
    return [
        (begin, "server", _event("attune.style", **where, plan=made_plan(said))),
        (begin, "server", _event("conversation.item.added", previous_item_id=before,
                                 item=_item(item, "assistant", None))),
        (begin, "server", _event("attune.timing", response_id=spot.response, stages_ms=stages,
                                 overhead_ms=3.1)),
        (end, "server", {"type": "response.output_audio.delta", **where,
                         "reply_samples": [0, end - begin], "messages": 4}),
        (end, "server", _event("response.output_audio_transcript.done", **part,
                               transcript=said.reply)),
        (end, "server", _event("conversation.item.done", previous_item_id=before,
                               item=_item(item, "assistant", heard))),
        (end, "recorder", {"type": "recording.turn", **where, **span}),
    ]  # fmt: skip


def _item(item_id: str, role: str, text: str | None) -> dict[str, Any]:
    side = "output" if role == "assistant" else "input"
    content = [] if text is None else [{"type": f"{side}_audio", "transcript": text}]
    return {
        "id": item_id, "object": "realtime.item", "type": "message", "role": role,
        "status": "in_progress" if text is None else "completed", "content": content,
    }  # fmt: skip


def made_percept(said: Exchange) -> dict[str, Any]:
    """As it crosses the wire: sure of the emotion, and of what else the exchange names."""
    events = {"sigh": 0.1, "laughter": 0.05, **({said.event: 0.93} if said.event else {})}
    ages = {"child": 0.02, "adult": 0.02, "elderly": 0.02, said.age: 0.96}
    percept: Percept = replace(
        unknown(said.seconds),
        emotion={said.emotion: 0.9, "neutral" if said.emotion != "neutral" else "sad": 0.1},
        gender={"female": 0.1, "male": 0.1, said.gender: 0.9},
        age=ages,
        events=events,
        expressed=Affect(2.1, 2.4, 2.7),
        prosody=Prosody(f0_mean=201.5, speaking_rate=3.1, snr=30.0, speech_seconds=said.seconds),
        unknown=tuple(set(DIMENSIONS) - {"emotion", "gender", "age", "nonverbal"}),
        weights="default",
    )
    return percept.to_json()


def made_plan(said: Exchange) -> dict[str, Any]:
    plan = ReplyPlan(
        Said(Intent.SHARES_BAD, "comfort", about="your test", topic=said.topic, emotion="sad"),
        heard=(Heard("emotion", said.emotion, 0.9, True),),
        strategies=(Strategy.REFLECTION, Strategy.QUESTION),
        acknowledgement="Oh.",
        emotion="comforting",
    )
    return plan.to_json()
