"""Rounds of the arena that wait for a vote, and votes, made in a moment, for the tests."""

from datetime import UTC, datetime
from typing import Any

from models.audio import wav
from models.types import WIRE_RATE
from server import ids
from server.arena.answering import Answer
from server.arena.ballots import Ballot, Entrant, Verdict
from server.arena.rounds import Round
from server.consent import Consent
from tests.talker import VOICE, sound

EVERYTHING = Consent(transcript=True, audio=True, research=True)


def entrant(name: str, mark: str = "0") -> Entrant:
    return Entrant(name=name, label=name.title(), mark=mark)


def made_ballot(first: str, second: str, vote: Verdict, **how: Any) -> Ballot:
    told: dict[str, Any] = {
        "id": ids.new("round"),
        "wall": datetime.now(UTC),
        "software": "attune 0",
        "vote": vote,
        "a": entrant(first),
        "b": entrant(second),
        "source": "voice",
        "latency_ms": {"a": 1, "b": None},
        "seconds": {"a": 1, "b": 2},
        "secret_sha256": "0",
    }
    return Ballot(**{**told, **how})


def made_round(**how: Any) -> Round:
    given = Answer(sound(VOICE, 0.2), "Yes.", "Well?", {"line": "…"}, {"age": {}}, 400.0)
    file = wav(given.audio, WIRE_RATE)
    made: dict[str, Any] = {
        "entrants": {"a": entrant("one"), "b": entrant("two")},
        "answers": {"a": given, "b": given},
        "sounds": {"a": file, "b": file},
        "consent": EVERYTHING,
        "turn": sound(VOICE, 0.3),
        "source": "voice",
        "session_id": None,
        "begun": 0.0,
    }
    return Round(**{**made, **how})
