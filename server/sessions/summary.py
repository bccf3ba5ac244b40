"""A session in one row: what one lists, sorts and filters sessions by."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from models.types import WIRE_RATE
from server.consent import Consent
from server.recording.permitted import permitted
from server.sessions.format import Line, Notes, Rating, SessionFile
from server.sessions.store import Listed
from server.sessions.stored import BrokenSession

PERCEPT, TIMING = "attune.percept", "attune.timing"


@dataclass(frozen=True, slots=True)
class Row:
    """None where it is not known, not allowed, or gone."""

    id: str
    date: str
    started: datetime
    state: str
    ended: datetime | None = None
    seconds: float | None = None  # of session time
    why: str | None = None  # it ended
    profile: str | None = None
    responder: str | None = None  # backends
    voice: str | None = None
    perceiver: str | None = None
    transcript: bool = False
    audio: bool = False
    research: bool = False
    speaker: str | None = None  # a pseudonym
    turns: int = 0  # the user's
    replies: int = 0
    interruptions: int = 0
    rating: float | None = None  # mean of all, 1-5
    user_rating: float | None = None
    user_ratings: int = 0
    expert_rating: float | None = None
    expert_ratings: int = 0
    emotion: str | None = None  # most often heard of the user, by the final percepts
    latency_p50_ms: float | None = None  # end of speech to the first audio sent
    latency_p95_ms: float | None = None
    bytes: int = 0
    tags: tuple[str, ...] = ()
    notes: str = ""
    replay_of: str | None = None

    @property
    def consent(self) -> Consent:
        return Consent(self.transcript, self.audio, self.research)

    @property
    def has_notes(self) -> bool:
        return bool(self.notes)


def summary(listed: Listed) -> Row:
    """Read what the row of a session needs."""
    session, file = listed.session, listed.session.file()
    size = sum(stat.size for stat in listed.files.values())
    if file.state == "deleted":
        return Row(session.id, session.date, file.started, file.state, bytes=size)
    if file.state == "recording":
        return _under_way(session.date, file, size)
    try:
        log = list(session.lines((PERCEPT, TIMING)))
    except BrokenSession:  # a matter for `verify`; the session is still to be found
        log = []
    return row(session.date, file, log, session.ratings(), session.notes(), size)


def salvaged(listed: Listed) -> Row:
    """What can be told of a session with files that cannot be read."""
    session = listed.session
    size = sum(stat.size for stat in listed.files.values())
    try:
        file = session.file()
    except BrokenSession:
        day = datetime.fromisoformat(session.date).replace(tzinfo=UTC)
        return Row(session.id, session.date, day, "broken", bytes=size)
    if file.state == "recording":
        return _under_way(session.date, file, size)
    return row(session.date, file, [], [], Notes(), size)


def _under_way(date: str, file: SessionFile, size: int) -> Row:
    """Nothing of the person: what they allow may be another thing before this is read."""
    return Row(
        id=file.id,
        date=date,
        started=file.started,
        state=file.state,
        profile=file.profile,
        **_backends(file),
        bytes=size,
        replay_of=file.replay_of,
    )


def row(
    date: str,
    file: SessionFile,
    log: Iterable[Line],
    ratings: Sequence[Rating],
    notes: Notes,
    size: int,
) -> Row:
    events = [line.event for line in log if line.source == "server"]
    p50, p95 = _latency(events)
    by_user, by_expert = _means(ratings, "user"), _means(ratings, "expert")
    replies = [turn for turn in file.turns if turn.role == "assistant"]
    allowed = permitted(file)
    shown = notes if allowed.personal else Notes()
    return Row(
        id=file.id,
        date=date,
        started=file.started,
        state=file.state,
        ended=file.ended.wall if file.ended else None,
        seconds=round(file.ended.at / WIRE_RATE, 3) if file.ended else None,
        why=file.ended.why if file.ended else None,
        profile=file.profile,
        **_backends(file),
        transcript=allowed.transcript,
        audio=allowed.audio,
        research=allowed.research,
        speaker=file.speaker,
        turns=len(file.turns) - len(replies),
        replies=len(replies),
        interruptions=sum(turn.interrupted for turn in replies),
        rating=_mean(by_user + by_expert),
        user_rating=_mean(by_user),
        user_ratings=len(by_user),
        expert_rating=_mean(by_expert),
        expert_ratings=len(by_expert),
        emotion=_emotion(events),
        latency_p50_ms=p50,
        latency_p95_ms=p95,
        bytes=size,
        tags=tuple(shown.tags),
        notes=shown.notes,
        replay_of=file.replay_of,
    )


def _backends(file: SessionFile) -> dict[str, Any]:
    used = {role: model.backend for role, model in file.models.items()}
    roles = {"responder": "responder", "voice": "speaker", "perceiver": "perceiver"}
    return {name: used.get(role) for name, role in roles.items()}


def _means(ratings: Iterable[Rating], by: str) -> list[float]:
    """Each rating counts once, however many things it scores."""
    scores = [list(each.scores.values()) for each in ratings if each.by == by]
    return [sum(each) / len(each) for each in scores if each]


def _mean(values: list[float]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None


def _latency(events: Iterable[Mapping[str, Any]]) -> tuple[float | None, float | None]:
    waits = {}
    for event in events:
        stages = event.get("stages_ms")
        if event.get("type") == TIMING and isinstance(stages, Mapping):
            wait = stages.get("first_sent")
            if isinstance(wait, int | float):
                waits[event.get("response_id")] = wait  # told again when later stages are reached
    if not waits:
        return None, None
    p50, p95 = np.percentile(list(waits.values()), [50, 95])
    return round(float(p50), 1), round(float(p95), 1)


def _emotion(events: Iterable[Mapping[str, Any]]) -> str | None:
    """The likeliest over all turns; where perception was not sure of it, a turn has no say."""
    heard: Counter[str] = Counter()
    final = {e.get("item_id"): e.get("percept") for e in events
             if e.get("type") == PERCEPT and e.get("final")}  # fmt: skip
    for percept in final.values():
        if isinstance(percept, Mapping) and "emotion" not in (percept.get("unknown") or ()):
            chances = percept.get("emotion")
            heard.update(chances if isinstance(chances, Mapping) else {})
    likeliest = max(heard, key=lambda name: (heard[name], name), default=None)
    return likeliest if likeliest is not None and heard[likeliest] > 0 else None
