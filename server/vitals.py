"""What the house notes of its conversations: how many, how quick, and what went wrong."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, get_args

from server.percentiles import Digest, Lately

LATELY_SEC = 15 * 60.0
ORIGIN = "speech_end"  # the stage all others are counted from
OVERHEAD = "overhead"

# What a client can be refused for asking too much of: as in the settings, but for the last one.
Limit = Literal[
    "messages_per_sec",
    "bytes_per_sec",
    "refusals",
    "audio_ahead_sec",
    "conversation_bytes",
    "settings_bytes",
    "session_minutes",
    "idle_minutes",
    "connections_per_minute",
    "address_messages_per_sec",
    "address_bytes_per_sec",
    "address_audio_ahead_sec",
    "requests_per_minute",
    "connections",
    "address_connections",
    "wrong_tokens",
]
LIMITS: tuple[Limit, ...] = get_args(Limit)


class Watched(Protocol):
    """Whatever records a conversation."""

    @property
    def recording(self) -> bool: ...
    @property
    def broke_off(self) -> str | None: ...  # what stopped it first
    @property
    def begun(self) -> Any | None: ...  # None: nobody has said what may be kept


@dataclass(slots=True)
class Stage:
    """How long one stage took: since the start, and lately."""

    lately: Lately
    ever: Digest = field(default_factory=Digest)

    def add(self, ms: float) -> None:
        self.ever.add(ms)
        self.lately.add(ms)


class Vitals:
    """Told by conversations once a turn, never for a frame of sound."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.started = datetime.now(UTC)
        self.opened = 0
        self.refused = 0
        self.queued = 0  # had to wait for a seat
        self.left_queue = 0  # did not wait so long
        self.endings: Counter[str] = Counter()
        self.resumed = 0  # conversations whose client was lost, and came back ...
        self.resumes_failed = 0  # ... or would have liked to
        self.wrong_tokens = 0  # or none, where one is asked for
        self.refusals: Counter[str] = Counter(dict.fromkeys(LIMITS, 0))  # by the limit
        self.turns = 0  # that people took, answered or not
        self.holds = 0  # a reply fell silent because somebody might be taking the word
        self.interruptions = 0  # and somebody did
        self.underruns = 0  # a reply that had begun to sound had nothing to go on with
        self.percepts = Digest()  # ms from the end of a turn to how it sounded
        self.replies = 0
        self.stalls = 0  # of the event loop ...
        self.worst_stall_ms = 0.0  # ... and the longest
        self.failures: Counter[str] = Counter()  # replies that failed, by the role that did
        self.stages: dict[str, Stage] = {}
        # Who wants to know of each spoken turn that is over: its moments, and how it ended.
        self.on_turn: Callable[[Mapping[str, float], str], None] | None = None
        self._now = now
        self._since = now()
        self._stopped: Counter[str] = Counter()
        self._recorded = 0  # of those that are over
        self._live: dict[int, Watched] = {}
        self._told: Callable[[Mapping[str, float]], None] | None = None

    def when_reached(self, told: Callable[[Mapping[str, float]], None]) -> None:
        """Have somebody told of every spoken turn whose answer begins to sound."""
        self._told = told

    @property
    def uptime_sec(self) -> float:
        return self._now() - self._since

    # -- conversations

    def began(self, recorder: Watched) -> None:
        self.opened += 1
        self._live[id(recorder)] = recorder

    def ended(self, recorder: Watched, why: str) -> None:
        self.endings[why] += 1
        self._live.pop(id(recorder), None)
        self._recorded += recorder.begun is not None
        if recorder.broke_off:
            self._stopped[recorder.broke_off] += 1

    @property
    def recording(self) -> int:
        """Conversations that are being recorded now."""
        return sum(recorder.recording for recorder in self._live.values())

    @property
    def recordings_begun(self) -> int:
        """How many recordings there have been, those under way among them."""
        return self._recorded + sum(each.begun is not None for each in self._live.values())

    @property
    def stopped(self) -> dict[str, int]:
        """How often a recording broke off, by what stopped it."""
        now = Counter(each.broke_off for each in self._live.values() if each.broke_off)
        return dict(self._stopped + now)

    def stalled(self, ms: float) -> None:
        """The event loop kept everybody waiting for so long."""
        self.stalls += 1
        self.worst_stall_ms = max(self.worst_stall_ms, ms)

    def limited(self, limit: Limit) -> None:
        """A client asked for more than this limit allows, and was refused."""
        self.refusals[limit] += 1

    # -- replies

    def replied(self, stages_ms: Mapping[str, float], overhead_ms: float | None) -> None:
        """A reply's first sound went out. Only one to something spoken has stages to compare."""
        self.replies += 1
        self.reached(stages_ms, stages_ms.keys())
        if overhead_ms is not None and ORIGIN in stages_ms:
            self._stage(OVERHEAD).add(overhead_ms)

    def reached(self, stages_ms: Mapping[str, float], new: Set[str]) -> None:
        """These stages of a turn were reached, some perhaps after its first sound."""
        if ORIGIN in stages_ms:
            for stage in new - {ORIGIN}:
                self._stage(stage).add(stages_ms[stage])
            if self._told and "first_sent" in new:
                self._told(stages_ms)

    def over(self, moments: Mapping[str, float], outcome: str) -> None:
        """A reply is over, one way or another."""
        if self.on_turn and ORIGIN in moments:
            self.on_turn(moments, outcome)

    def ran_dry(self) -> None:
        """A reply that had begun to sound had nothing to go on with."""
        self.underruns += 1

    def perceived(self, ms: float) -> None:
        """So long it took to find out how a turn sounded."""
        self.percepts.add(ms)

    def failed(self, role: str) -> None:
        """A reply failed because this role's model did."""
        self.failures[role] += 1

    def _stage(self, name: str) -> Stage:
        if name not in self.stages:
            self.stages[name] = Stage(Lately(LATELY_SEC, now=self._now))
        return self.stages[name]
