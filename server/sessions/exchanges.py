"""A recorded conversation as its turns, and its turns as exchanges. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from server.sessions.format import Line, SessionFile, TurnSpan

T = TypeVar("T")

TRANSCRIBED = "conversation.item.input_audio_transcription.completed"
ITEM_EVENTS = ("conversation.item.added", "conversation.item.done", "response.output_item.done")
GIVEN = "conversation.item.create"
# The types of events that turns are read from.
KINDS = (
    TRANSCRIBED, *ITEM_EVENTS, GIVEN, "attune.percept", "attune.style", "attune.timing",
    "recording.turn", "recording.heard",
)  # fmt: skip
FIRST_SENT = "first_sent"  # of attune.timing's stages: when the reply's first audio went out


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One turn with what is kept of it; a written one takes no time."""

    number: int
    item_id: str
    role: Literal["user", "assistant"]
    start: int
    end: int
    interrupted: bool = False
    text: str | None = None  # of a reply: what was heard of it
    percept: Mapping[str, Any] | None = None
    plan: Mapping[str, Any] | None = None
    latency_ms: float | None = None

    @property
    def spoken(self) -> bool:
        return self.end > self.start


@dataclass(frozen=True, slots=True)
class Exchange:
    """What somebody said and what was answered; either may be missing."""

    number: int
    user: RecordedTurn | None
    reply: RecordedTurn | None

    @property
    def both(self) -> tuple[RecordedTurn, ...]:
        return tuple(turn for turn in (self.user, self.reply) if turn)


@dataclass(slots=True)
class _Gathered:
    """What the log tells of items and responses, whatever the order."""

    texts: dict[str, str] = field(default_factory=dict)
    heard: dict[str, str] = field(default_factory=dict)  # of replies that were cut short
    percepts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    plans: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    latencies: dict[str, float] = field(default_factory=dict)
    spans: dict[str, TurnSpan] = field(default_factory=dict)  # as the recorder told them
    written: dict[str, tuple[str, int]] = field(default_factory=dict)  # role and position
    given: list[str] = field(default_factory=list)  # items the client wrote
    context: set[str] = field(
        default_factory=set
    )  # those of them that are no turns of this session


def turns(session: SessionFile, lines: Iterable[Line]) -> list[RecordedTurn]:
    """All turns in the order in which they became part of the conversation.

    Who goes on after a pause begins, with the moment before their first sound, before the reply
    that they cut short; they say it after it all the same.
    """
    found = _gathered(lines)
    # A session that is not finished has its places only in the log.
    spans = {span.item_id: span for span in session.turns} or found.spans
    order = {item_id: place for place, item_id in enumerate(found.written)}
    for item_id, (role, at) in found.written.items():
        if item_id not in {*spans, *found.context} and found.texts.get(item_id):
            spans[item_id] = TurnSpan.model_validate(
                {"item_id": item_id, "role": role, "start": at, "end": at}
            )
    ordered = _ordered(spans.values(), order)
    return [
        RecordedTurn(
            number,
            span.item_id,
            span.role,
            span.start,
            span.end,
            span.interrupted,
            found.heard.get(span.item_id, found.texts.get(span.item_id)),
            found.percepts.get(span.item_id),
            found.plans.get(span.item_id),
            found.latencies.get(span.response_id or ""),
        )
        for number, span in enumerate(ordered)
    ]


def _ordered(spans: Iterable[TurnSpan], order: Mapping[str, int]) -> list[TurnSpan]:
    """As the log tells; what it does not tell of, by where it begins."""
    told: list[TurnSpan] = []
    untold: list[TurnSpan] = []
    for span in spans:
        (told if span.item_id in order else untold).append(span)
    told.sort(key=lambda span: order[span.item_id])
    for span in sorted(untold, key=lambda span: span.start):
        places = (nth for nth, other in enumerate(told) if other.start > span.start)
        told.insert(next(places, len(told)), span)
    return told


def exchanges(said: Sequence[RecordedTurn]) -> list[Exchange]:
    """Each reply with the last thing said before it; what nobody answered stands alone."""
    return [Exchange(number, *pair) for number, pair in enumerate(_paired(said))]


def _paired(
    said: Sequence[RecordedTurn],
) -> Iterator[tuple[RecordedTurn | None, RecordedTurn | None]]:
    asked: RecordedTurn | None = None
    for turn in said:
        if turn.role == "assistant":
            yield asked, turn
            asked = None
        else:
            if asked:
                yield asked, None
            asked = turn
    if asked:
        yield asked, None


def _gathered(lines: Iterable[Line]) -> _Gathered:
    found = _Gathered()
    for line in lines:
        event = line.event
        match event.get("type"):
            case kind if kind == TRANSCRIBED and line.source == "server":
                _note(found.texts, event.get("item_id"), event.get("transcript"))
            case "attune.percept" if event.get("final") and line.source == "server":
                _note(found.percepts, event.get("item_id"), event.get("percept"))
            case "attune.style" if line.source == "server":
                _note(found.plans, event.get("item_id"), event.get("plan"))
            case "attune.timing" if line.source == "server":
                stages = event.get("stages_ms")
                if isinstance(stages, Mapping):
                    _note(found.latencies, event.get("response_id"), stages.get(FIRST_SENT))
            case "recording.heard" if line.source == "recorder":
                _note(found.heard, event.get("item_id"), event.get("transcript"))
            case "recording.turn" if line.source == "recorder":
                told = {name: event[name] for name in TurnSpan.model_fields if name in event}
                with suppress(ValidationError):  # a matter for `verify`
                    span = TurnSpan.model_validate(told)
                    found.spans[span.item_id] = span
            case kind if kind == GIVEN and line.source == "client":
                _given(found, event.get("item") or {})
            case kind if kind in ITEM_EVENTS:
                _item(found, event.get("item") or {}, line.at)
    return found


def _given(found: _Gathered, item: Mapping[str, Any]) -> None:
    """What a client puts into our mouth, and all it wrote before that, is how things stood.

    So it goes on with a conversation after its connection broke, or begins one with a greeting.
    """
    if isinstance(item_id := item.get("id"), str):
        found.given.append(item_id)
    if item.get("role") == "assistant":
        found.context.update(found.given)


def _item(found: _Gathered, item: Mapping[str, Any], at: int) -> None:
    item_id, role = item.get("id"), item.get("role")
    if not item_id or item.get("type") != "message" or role not in ("user", "assistant"):
        return
    parts = [part.get("text") or part.get("transcript") for part in item.get("content") or ()]
    _note(found.texts, item_id, " ".join(part for part in parts if part) or None)
    found.written.setdefault(item_id, (role, at))


def _note(table: dict[str, T], key: str | None, value: T | None) -> None:
    if key and isinstance(key, str) and value is not None:
        table[key] = value
