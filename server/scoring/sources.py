"""What a path names: a folder or URL of sessions, one session, or the result of a benchmark."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from server.scoring.annotation import Annotation
from server.scoring.errors import ScoringError
from server.scoring.played import ITEMS_FILE, RUNS, Played
from server.scoring.scored import Broken
from server.sessions.format import SESSION_FILE, SESSION_ID
from server.sessions.place import Place
from server.sessions.store import DATE, Store
from server.sessions.stored import StoredSession

PLAYER = "attune-bench/"  # how the client of a benchmark names itself, and its data set

Truths = Mapping[int, Annotation]  # by number of the exchange


@dataclass(frozen=True, slots=True)
class Source:
    """Sessions that lie together; with a home they have rooms for what is made of them."""

    store: Store
    url: str  # of the runs, as another process can open them
    sessions: Sequence[StoredSession]
    truths: Mapping[str, Truths] | None = None  # by session; None: nobody knows any
    is_homeless: bool = False  # a session that was copied somewhere
    broken: Sequence[Broken] = field(default=())


def sources(paths: Sequence[str]) -> list[Source]:
    """Every path in turn. ScoringError: one of them is nothing that could be scored."""
    return [_source(path) for path in paths]


def _source(path: str) -> Source:
    given = path.rstrip("/") or path
    if "://" not in given:
        if not os.path.isdir(given):
            raise ScoringError(f"there is no folder {given}")
        given = str(Path(given).absolute())
    place = Place.at(given)
    if place.exists(SESSION_FILE):
        return _one(given)
    if place.exists(ITEMS_FILE):
        return _result(given, place)
    store = Store.open(given)
    found = [listed.session for listed in store.listing()]
    if not found:
        raise ScoringError(f"there are no sessions in {path}")
    return Source(store, given, found)


def _one(path: str) -> Source:
    above, _, session_id = path.rpartition("/")
    runs, _, date = above.rpartition("/")
    if not SESSION_ID.fullmatch(session_id):
        raise ScoringError(f"{path} has a {SESSION_FILE}, but its name is no session id")
    store = Store.open(runs)
    session = StoredSession(session_id, date, store.runs)
    return Source(store, runs, [session], is_homeless=not DATE.fullmatch(date))


def _result(path: str, place: Place) -> Source:
    """Only the sessions its items name: others are of items that failed."""
    truths: dict[str, dict[int, Annotation]] = {}
    broken = list(_items(place, truths))
    runs = f"{path}/{RUNS}"
    store = Store.open(runs)
    there = {listed.session.id: listed.session for listed in store.listing()}
    found = [there[session_id] for session_id in truths if session_id in there]
    broken += [
        Broken(session_id, f"{ITEMS_FILE} names it, but it is not in {RUNS}")
        for session_id in truths.keys() - there.keys()
    ]
    if not found:
        raise ScoringError(f"there are no sessions in {path}")
    return Source(store, runs, found, truths, broken=tuple(broken))


def _items(place: Place, truths: dict[str, dict[int, Annotation]]) -> Iterator[Broken]:
    for number, raw in enumerate(place.read(ITEMS_FILE).splitlines(), 1):
        if not raw.strip():
            continue
        try:
            item = Played.model_validate_json(raw)
        except ValidationError as error:
            wrong = ".".join(map(str, error.errors()[0]["loc"])) or "its JSON"
            yield Broken(f"line {number} of {ITEMS_FILE}", f"{wrong} cannot be read")
            continue
        truths.setdefault(item.session_id, {})[item.number] = item.annotation
