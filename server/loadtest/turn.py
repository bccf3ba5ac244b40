"""One turn of a talker, and what came of it: from what was said and what arrived. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from server.bench.barge import outcome
from server.bench.latency import given
from server.bench.listener import Listener
from server.bench.player import Player
from server.bench.sounds import Sound
from server.client import TRANSCRIBED, Call, audible_from
from server.loadtest.script import Over, Saying

_TRANSCRIPT = "response.output_audio_transcript"


@dataclass(slots=True)
class Said:
    """A turn under way. Times are of the monotonic clock."""

    saying: Saying
    name: str
    start: float  # of its voice
    end: float
    events: int  # of the call's, when it began
    pieces: int
    before: frozenset[str]  # responses that had sounded by then
    interrupted: tuple[Sound, Player] | None = None  # what was said over which reply
    over: Over | None = None  # what happened over its own reply
    aside: tuple[Sound, float] | None = None  # a hum over its reply, and when its voice began
    aside_events: int | None = None
    stalled: bool = False  # the socket was left unread meanwhile


@dataclass(frozen=True, slots=True)
class Interruption:
    """A talker took the word. Times in ms from the first sample of their voice."""

    silence_ms: float | None
    decision_ms: float | None
    void: bool  # nothing of the reply was to be heard just then
    resumed: bool


@dataclass(frozen=True, slots=True)
class TurnSeen:
    """What came of a turn; None for what never came."""

    saying: Saying
    name: str
    latency_ms: float | None  # from the last voiced sample to the first audible one of the reply
    stages_ms: dict[str, float] = field(default_factory=dict)
    overhead_ms: float | None = None
    answered: bool = False
    early: bool = False  # answered aloud before its end
    commits: int = 0  # turns the server took it for
    replies: int = 0  # given to their end
    underruns: int = 0
    sounded: int = 0  # replies of which anything was heard
    stalled: bool = False
    over: Over | None = None
    interruption: Interruption | None = None
    hum_gave_up: bool | None = None  # the reply was given up for a hum; None: nobody hummed
    heard: str = ""
    reply: str = ""

    @property
    def spoken(self) -> bool:
        return self.saying != "written"

    @property
    def missed(self) -> bool:
        return not self.answered or (self.spoken and self.commits == 0)

    @property
    def double(self) -> bool:
        return self.commits > 1 or self.replies > 1

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def seen(said: Said, call: Call, listener: Listener) -> TurnSeen:
    """Look back on a turn, when the next is about to be said."""
    listener.catch_up()
    events = call.events[said.events :]
    times = call.times[said.events :]
    own = events if said.aside_events is None else events[: said.aside_events - said.events]
    pieces = [p for p in call.pieces[said.pieces :] if p.response not in said.before]
    ours = list(dict.fromkeys(piece.response for piece in pieces))
    first = {r: next(p.at for p in pieces if p.response == r) for r in ours}
    proper = [response for response in ours if first[response] >= said.end]
    heard_at = audible_from(p for p in pieces if p.response in proper)
    timing = _timing(events, proper)
    return TurnSeen(
        saying=said.saying,
        name=said.name,
        latency_ms=None if heard_at is None else (heard_at - said.end) * 1e3,
        stages_ms=timing.get("stages_ms", {}),
        overhead_ms=timing.get("overhead_ms"),
        answered=bool(ours),
        early=said.saying != "written" and len(proper) < len(ours),
        commits=sum(event["type"] == "input_audio_buffer.committed" for event in own),
        replies=sum(given(event) for event in own),
        underruns=sum(listener.players[response].underruns for response in ours),
        sounded=len(ours),
        stalled=said.stalled,
        over=said.over,
        interruption=_interruption(said, list(zip(events, times, strict=True))),
        hum_gave_up=_gave_up(said, events) if said.aside else None,
        heard=" ".join(e["transcript"] for e in own if e["type"] == TRANSCRIBED),
        reply=" ".join(_replied(events, response) for response in ours),
    )


def _timing(events: Sequence[dict[str, Any]], responses: Collection[str]) -> dict[str, Any]:
    """As told last of the first of these responses: it is told again as stages are reached."""
    for response in responses:
        told = [e for e in events if e["type"] == "attune.timing" and e["response_id"] == response]
        if told:
            return told[-1]
    return {}


def _replied(events: Sequence[dict[str, Any]], response: str) -> str:
    """The words of a reply; of one broken off, those that were told until then."""
    own = [event for event in events if event.get("response_id") == response]
    whole = [e["transcript"] for e in own if e["type"] == f"{_TRANSCRIPT}.done"]
    told = [e["delta"] for e in own if e["type"] == f"{_TRANSCRIPT}.delta"]
    return whole[-1] if whole else "".join(told)


def _gave_up(said: Said, events: Sequence[dict[str, Any]]) -> bool:
    after = events[(said.aside_events or 0) - said.events :]
    return any(
        event["type"] == "response.done" and event["response"]["status"] == "cancelled"
        for event in after
    )


def _interruption(
    said: Said, happened: Sequence[tuple[dict[str, Any], float]]
) -> Interruption | None:
    if said.interrupted is None:
        return None
    spoken, player = said.interrupted
    found = outcome(spoken, said.start, happened, player)
    return Interruption(
        found.silence_ms, found.decision_ms, not player.sounding(said.start), found.resumed
    )
