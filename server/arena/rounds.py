"""Rounds between their answers and their vote: in memory only."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe

from models.types import WIRE_RATE, Samples
from server import ids
from server.arena.answering import Answer
from server.arena.ballots import Ballot, Entrant, Side, Source
from server.consent import Consent

MOST = 16  # unvoted at once; the oldest makes room
EXPIRE_SEC = 30 * 60.0


@dataclass(slots=True)
class Round:
    """Two answers that wait for a vote. Who gave which is told to nobody before it."""

    entrants: dict[Side, Entrant]
    answers: dict[Side, Answer]
    sounds: dict[Side, bytes]  # WAV files, made fit to be compared
    consent: Consent
    turn: Samples | None  # None: its sound may not be kept
    source: Source
    session_id: str | None
    begun: float
    id: str = field(default_factory=lambda: ids.new("round"))
    secret: str = field(default_factory=lambda: token_urlsafe(24))
    heard: set[Side] = field(default_factory=set)
    writing: asyncio.Task[Ballot] | None = None  # a vote is being written down
    deleted: bool = False  # whatever is still being written must go

    @property
    def secret_sha256(self) -> str:
        return sha256(self.secret.encode()).hexdigest()

    @property
    def seconds(self) -> dict[Side, float]:
        return {side: round(len(a.audio) / WIRE_RATE, 2) for side, a in self.answers.items()}

    @property
    def pair(self) -> frozenset[str]:
        return frozenset(each.name for each in self.entrants.values())


class Waiting:
    """The rounds nobody has voted on yet."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._rounds: dict[str, Round] = {}  # the oldest first

    def now(self) -> float:
        return self._now()

    def add(self, waiting: Round) -> None:
        self.tidy()
        idle = [each.id for each in self._rounds.values() if not each.writing]
        for round_id in idle[: max(0, len(self._rounds) + 1 - MOST)]:
            del self._rounds[round_id]
        self._rounds[waiting.id] = waiting

    def find(self, round_id: str) -> Round | None:
        self.tidy()
        return self._rounds.get(round_id)

    def drop(self, round_id: str) -> None:
        self._rounds.pop(round_id, None)

    def tidy(self) -> None:
        """Nothing of anybody stays longer than it must."""
        old = self._now() - EXPIRE_SEC
        for each in list(self._rounds.values()):
            if each.begun < old and not each.writing:
                del self._rounds[each.id]

    @property
    def pairs(self) -> Counter[frozenset[str]]:
        return Counter(each.pair for each in self._rounds.values())
