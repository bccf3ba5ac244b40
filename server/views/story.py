"""A recorded conversation, ready to be shown: every turn with all that is kept of it. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from models.types import WIRE_RATE
from server.sessions.exchanges import KINDS as TURN_KINDS
from server.sessions.exchanges import RecordedTurn, turns
from server.sessions.format import Line, Position, Rating, SessionFile

SAID = "response.output_audio_transcript.done"
KINDS = (*TURN_KINDS, SAID, "attune.hold", "attune.resume")

Span = tuple[Position, Position]


class Perceived(BaseModel):
    """How somebody sounded up to a position; the final one is of the whole turn."""

    at: Position | None
    final: bool
    percept: dict[str, Any]


class Timing(BaseModel):
    stages_ms: dict[str, float] = Field(description="After the end of speech.")
    overhead_ms: float | None = None


class StoryTurn(BaseModel):
    """A turn; what was not kept of it is null or empty."""

    number: int
    item_id: str
    response_id: str | None = None
    role: Literal["user", "assistant"]
    start: Position
    end: Position
    interrupted: bool
    text: str | None = Field(description="What was said; of a reply, what was meant to be.")
    heard: str | None = Field(description="Of a reply that was cut short: what had sounded.")
    percepts: list[Perceived]
    plan: dict[str, Any] | None = None
    timing: Timing | None = None
    heard_ms: float | None = Field(
        None, description="Of a reply: from the end of the person's speech until it sounded."
    )
    ratings: list[Rating]


class Story(BaseModel):
    """What happened, on the session's clock."""

    id: str
    state: Literal["recording", "finished", "repaired"]
    rate: Annotated[int, Field(description="Positions a second.")] = WIRE_RATE
    samples: Position = Field(description="How long it is, or has become so far.")
    recorded_from: Position | None = Field(description="Since when there is sound, if there is.")
    gaps: list[Span] = Field(description="No sound came from the person.")
    holds: list[Span] = Field(description="The reply held its breath: was it interrupted?")
    turns: list[StoryTurn]


@dataclass(slots=True)
class _Told:
    """What the log tells beyond the turns themselves."""

    end: int = 0
    said: dict[str, str] = field(default_factory=dict)
    percepts: defaultdict[str, list[Perceived]] = field(default_factory=lambda: defaultdict(list))
    timings: dict[str, Timing] = field(default_factory=dict)
    responses: dict[str, str] = field(default_factory=dict)  # by item
    heard: dict[str, str] = field(default_factory=dict)
    holds: list[Span] = field(default_factory=list)
    held: int | None = None


def story(file: SessionFile, lines: Iterable[Line], ratings: Sequence[Rating]) -> Story:
    """Of a session that is there; of the log, lines of these KINDS are enough."""
    log = list(lines)
    told = _told(log)
    found = turns(file, log)
    responses = {span.item_id: span.response_id for span in file.turns if span.response_id}
    shown = [
        _shown(turn, told, (told.responses | responses).get(turn.item_id), ratings)
        for turn in found
    ]
    ends = [told.end, *(turn.end for turn in found)]
    return Story.model_validate(
        {
            "id": file.id,
            "state": file.state,
            "samples": file.ended.at if file.ended else max(ends),
            "recorded_from": file.audio.recorded_from if file.audio else None,
            "gaps": file.audio.gaps if file.audio else [],
            "holds": told.holds,
            "turns": _since_speech(shown),
        }
    )


def _shown(
    turn: RecordedTurn, told: _Told, response: str | None, ratings: Sequence[Rating]
) -> StoryTurn:
    return StoryTurn(
        number=turn.number,
        item_id=turn.item_id,
        response_id=response,
        role=turn.role,
        start=turn.start,
        end=turn.end,
        interrupted=turn.interrupted,
        text=told.said.get(turn.item_id, turn.text),
        heard=told.heard.get(turn.item_id),
        percepts=told.percepts.get(turn.item_id, []),
        plan=dict(turn.plan) if turn.plan is not None else None,
        timing=told.timings.get(response or ""),
        ratings=[each for each in ratings if each.item_id == turn.item_id],
    )


def _since_speech(shown: Sequence[StoryTurn]) -> list[StoryTurn]:
    """The same, with how long each reply let the person wait."""
    found: list[StoryTurn] = []
    asked: StoryTurn | None = None
    for turn in shown:
        if turn.role == "user":
            asked = turn
        elif asked is not None and asked.end <= turn.start < turn.end:
            wait = (turn.start - asked.end) * 1000 / WIRE_RATE
            turn = turn.model_copy(update={"heard_ms": round(wait, 1)})
            asked = None
        found.append(turn)
    return found


def _told(lines: Iterable[Line]) -> _Told:
    told = _Told()
    for line in lines:
        told.end = max(told.end, line.at)
        if line.source != "client":
            _note(told, line.event, line.at)
    return told


def _note(told: _Told, event: Mapping[str, Any], at: int) -> None:
    item, response = event.get("item_id"), event.get("response_id")
    if isinstance(item, str) and isinstance(response, str):
        told.responses.setdefault(item, response)
    match event:
        case {"type": "attune.percept", "item_id": str(item), "percept": dict(percept)}:
            final, until = event.get("final") is True, event.get("at")
            perceived = Perceived(at=until, final=final, percept=percept)
            told.percepts[item].append(perceived)
        case {"type": "attune.timing", "response_id": str(response), "stages_ms": dict(stages)}:
            known = {n: ms for n, ms in stages.items() if isinstance(ms, int | float)}
            overhead = event.get("overhead_ms")
            told.timings[response] = Timing(stages_ms=known, overhead_ms=overhead)
        case {"type": kind, "item_id": str(item), "transcript": str(words)} if kind == SAID:
            told.said[item] = words
        case {"type": "recording.heard", "item_id": str(item), "transcript": str(words)}:
            told.heard[item] = words
        case {"type": "attune.hold"}:
            told.held = at
        case {"type": "attune.resume"} if told.held is not None:
            told.holds.append((told.held, at))
            told.held = None
