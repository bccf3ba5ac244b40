"""Votes of the arena beside the runs: they hold no word and no sound of anybody."""

from collections.abc import Iterator
from contextlib import suppress

from pydantic import ValidationError

from server.arena.ballots import VOTES, Ballot
from server.sessions.place import Place


def votes(runs: Place) -> Iterator[Ballot]:
    """What cannot be read is left out."""
    for name in sorted(runs.stats(VOTES)):
        if name.endswith(".json"):
            with suppress(ValidationError, FileNotFoundError):
                yield Ballot.model_validate_json(runs.read(f"{VOTES}/{name}"))
