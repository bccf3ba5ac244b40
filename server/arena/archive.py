"""Where votes are kept, and what people let us keep of their rounds.

`arena/votes/<day>/<round>.json` for every vote; `arena/<day>/<round>/` with sound and words only
with consent. One small file for each vote: it works in an object store, which knows no appending.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import numpy as np
from pydantic import ValidationError

from models.audio import encode_pcm16
from models.types import Samples
from server.arena.ballots import VOTES, Ballot
from server.arena.keepsakes import Keepsake
from server.consent import Consent
from server.private_log import where
from server.recording.permitted import permitted
from server.sessions.export.clips import flac
from server.sessions.library import Library
from server.sessions.place import Stat
from server.sessions.store import DATE
from server.sessions.stored import UnknownSession

log = logging.getLogger(__name__)

FOLDER = "arena"
FRESH_SEC = 5.0  # so long nobody looks whether other processes have new votes


class NotAllowed(Exception):
    """What was to be kept may no longer be: its session was deleted, or its consent withdrawn."""


class Archive:
    """Blocking, and safe for several threads and processes."""

    def __init__(self, library: Library, now: Callable[[], float] = time.monotonic) -> None:
        self._library = library
        self._place = library.store.runs
        self._now = now
        self._read: dict[str, tuple[Stat, Ballot | None]] = {}
        self._looked = -FRESH_SEC
        self._alone = threading.Lock()

    def ballots(self) -> list[Ballot]:
        """All votes, in no order; what cannot be read is left out."""
        with self._alone:
            if self._now() - self._looked >= FRESH_SEC:
                self._look()
            return [ballot for _, ballot in self._read.values() if ballot]

    def find(self, round_id: str) -> Ballot | None:
        return next((each for each in self.ballots() if each.id == round_id), None)

    def add(self, ballot: Ballot, keepsake: Keepsake | None = None) -> None:
        """The vote, and with it what may be kept of the round."""
        if keepsake is not None:
            self._keep(ballot, keepsake)
        self._place.write(_vote(ballot), ballot.model_dump_json().encode())
        with self._alone:
            self._looked = -FRESH_SEC

    def remove(self, ballot: Ballot) -> None:
        """The vote, and all that was kept with it."""
        self._clear(_folder(ballot))
        self._place.remove(_vote(ballot))
        with self._alone:
            self._looked = -FRESH_SEC

    def forget_older(self, days: float) -> int:
        """Sound and words of that age; votes tell nothing of anybody, and stay."""
        oldest = datetime.now(UTC).date() - timedelta(days=days)
        gone = 0
        for day in filter(DATE.fullmatch, self._place.folders(FOLDER)):
            if datetime.fromisoformat(day).date() < oldest:
                for name in self._place.folders(f"{FOLDER}/{day}"):
                    self._clear(f"{FOLDER}/{day}/{name}")
                    gone += 1
        return gone

    def allowed_of(self, session_id: str) -> Consent:
        """What may be kept of a recorded session now; nothing if it is gone."""
        with suppress(UnknownSession):
            file = self._library.session(session_id).file()
            if file.state in ("finished", "repaired"):
                return permitted(file)
        return Consent()

    def _look(self) -> None:
        found = self._place.stats(VOTES)
        for gone in self._read.keys() - found.keys():
            del self._read[gone]
        for name, stat in found.items():
            known = self._read.get(name)
            if name.endswith(".json") and (known is None or known[0] != stat):
                with suppress(FileNotFoundError):
                    self._read[name] = stat, _ballot(self._place.read(f"{VOTES}/{name}"))
        self._looked = self._now()

    def _keep(self, ballot: Ballot, keepsake: Keepsake) -> None:
        folder = _folder(ballot)
        if keepsake.session_id:  # first: should we die in the middle, it is still found and purged
            where_it_lies = self._place.shown(folder)
            self._library.derived.register("arena", where_it_lies, [keepsake.session_id])
        try:
            self._check(keepsake)
            for side, samples in keepsake.sounds.items():
                self._place.write(f"{folder}/{side}.flac", _flac(samples))
            told = keepsake.told(ballot).model_dump_json(exclude_none=True).encode()
            self._place.write(f"{folder}/round.json", told)
            self._check(keepsake)
        except BaseException:
            self._clear(folder)
            raise

    def _check(self, keepsake: Keepsake) -> None:
        if keepsake.session_id is None:
            return
        held = self.allowed_of(keepsake.session_id)
        if not held.research or held.both(keepsake.consent) != keepsake.consent:
            raise NotAllowed(keepsake.session_id)

    def _clear(self, folder: str) -> None:
        for name in self._place.stats(folder):
            self._place.remove(f"{folder}/{name}")
        self._place.forget_versions(folder)
        self._place.prune(folder)
        self._place.prune(folder.rpartition("/")[0])


def _ballot(written: bytes) -> Ballot | None:
    try:
        return Ballot.model_validate_json(written)
    except ValidationError as error:
        log.warning("a vote cannot be read: %s", where(error))
        return None


def _vote(ballot: Ballot) -> str:
    return f"{VOTES}/{ballot.wall:%Y-%m-%d}/{ballot.id}.json"


def _folder(ballot: Ballot) -> str:
    return f"{FOLDER}/{ballot.wall:%Y-%m-%d}/{ballot.id}"


def _flac(samples: Samples) -> bytes:
    return flac(np.frombuffer(encode_pcm16(samples), "<i2"))
