"""Exchanges made by hand, for tests of what scores them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from models.types import WIRE_RATE
from server.consent import Consent
from server.scoring.annotation import Annotation
from server.scoring.exchange import Conversation, Exchange, Pcm
from server.scoring.score import Unscored
from server.sessions.exchanges import RecordedTurn
from server.sessions.format import (
    Audio,
    Consented,
    Ending,
    Line,
    ModelUsed,
    Rating,
    SessionFile,
    TurnSpan,
)

SESSION = "sess_0123456789abcdef0123"
STARTED = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
ALL = Consent(transcript=True, audio=True, research=True)


def turn(
    number: int, role: str, start: float, end: float, text: str | None = None, **more: Any
) -> RecordedTurn:
    """From and to seconds of session time."""
    positions = round(start * WIRE_RATE), round(end * WIRE_RATE)
    return RecordedTurn(number, f"item_{number}", role, *positions, text=text, **more)  # type: ignore[arg-type]


def conversation(
    turns: Sequence[RecordedTurn] = (),
    sound: Pcm | None = None,
    *,
    consent: Consent = ALL,
    responder: str = "llamacpp",
    options: Mapping[str, Any] | None = None,
    lines: Sequence[Line] = (),
    ratings: Sequence[Rating] = (),
    session_id: str = SESSION,
    started: datetime = STARTED,
) -> Conversation:
    """A finished session; `sound` is [samples, 2] at 24 kHz."""

    def cut(begin: int, end: int) -> Pcm:
        if sound is None:
            raise Unscored("no consent to sound")
        return sound[max(begin, 0) : end]

    samples = 0 if sound is None else len(sound)
    given = {scope: getattr(consent, scope) for scope in ("transcript", "audio", "research")}
    session = SessionFile(
        id=session_id,
        state="finished",
        software="attune 0.1.0",
        started=started,
        ended=Ending(at=samples, wall=started, why="hung_up"),
        consent=[Consented(at=0, wall=started, **given)],
        profile="embedded",
        models={
            "responder": ModelUsed(backend=responder, options=dict(options or {})),
            "speaker": ModelUsed(backend="hibari"),
        },
        audio=None if sound is None else Audio(rate=WIRE_RATE, samples=samples, recorded_from=0),
        turns=[
            TurnSpan(item_id=each.item_id, role=each.role, start=each.start, end=each.end)
            for each in turns
        ],
    )
    return Conversation(session, consent, turns, lines, cut, ratings, digest="made by hand")


def exchange(
    user: str | None = "I got my test results back today.",
    reply: str | None = "Oh, you sound down about it.",
    *,
    intended: str | None = None,
    sound: Pcm | None = None,
    spans: tuple[tuple[float, float], tuple[float, float]] = ((0.0, 1.0), (1.5, 2.5)),
    percept: Mapping[str, Any] | None = None,
    plan: Mapping[str, Any] | None = None,
    stages_ms: Mapping[str, float] | None = None,
    consent: Consent = ALL,
    responder: str = "llamacpp",
    options: Mapping[str, Any] | None = None,
    lines: Sequence[Line] = (),
    **annotation: Any,
) -> Exchange:
    """One exchange of a conversation that has no other; keyword arguments annotate it."""
    said = turn(0, "user", *spans[0], user, percept=percept)
    answered = turn(1, "assistant", *spans[1], reply, plan=plan) if reply is not None else None
    turns = [said] if answered is None else [said, answered]
    whole = conversation(
        turns, sound, consent=consent, responder=responder, options=options, lines=lines
    )
    return Exchange(
        whole, 0, said, answered, intended, dict(stages_ms or {}), Annotation(**annotation)
    )


def silence(seconds: float) -> Pcm:
    return np.zeros((round(seconds * WIRE_RATE), 2), np.int16)
