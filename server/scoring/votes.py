"""Votes of the arena beside the runs: they hold no word and no sound of anybody."""

from collections.abc import Iterator
from contextlib import suppress

from pydantic import ValidationError

from server.arena.ballots import Ballot
from server.scoring.scored import Vote
from server.sessions.place import Place

VOTES = "arena/votes"  # where server.arena.archive keeps them; it would bring the models along


def votes(runs: Place) -> Iterator[Vote]:
    """What cannot be read is left out."""
    for name in sorted(runs.stats(VOTES)):
        if not name.endswith(".json"):
            continue
        with suppress(ValidationError, FileNotFoundError):
            ballot = Ballot.model_validate_json(runs.read(f"{VOTES}/{name}"))
            winners = {"a": ballot.a.label, "b": ballot.b.label}
            yield Vote(ballot.a.label, ballot.b.label, winners.get(ballot.vote))
