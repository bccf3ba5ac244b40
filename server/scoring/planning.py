"""Which sessions are scored: each once, and only if it may be."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from server.consent import Consent
from server.scoring.annotation import Annotation
from server.scoring.reading import still_allowed
from server.scoring.scored import Broken
from server.scoring.sources import PLAYER, Source
from server.sessions.export.selection import LeftOut, allowance
from server.sessions.format import SessionFile
from server.sessions.place import Place
from server.sessions.stored import BrokenSession, StoredSession, UnknownSession


@dataclass(frozen=True, slots=True)
class Unit:
    """One session to score, told so that another process or machine finds it."""

    session_id: str
    date: str
    runs: str  # folder or URL
    truths: Mapping[int, Annotation] | None = None
    context: str | None = None

    def stored(self) -> StoredSession:
        return StoredSession(self.session_id, self.date, Place.at(self.runs))


@dataclass(frozen=True, slots=True)
class Planned:
    unit: Unit
    source: int  # which of the sources it is from
    consent: Consent  # as it was when it was planned


@dataclass(slots=True)
class Plan:
    planned: list[Planned] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    broken: list[Broken] = field(default_factory=list)


def plan(
    found: Sequence[Source],
    *,
    all_consented: bool = False,
    context: str | None = None,
    limit: int | None = None,
) -> Plan:
    made = Plan(broken=[each for source in found for each in source.broken])
    for place, stored in _once(found):
        if limit is not None and len(made.planned) >= limit:
            break
        source = found[place]
        truths = source.truths.get(stored.id) if source.truths is not None else None
        try:
            file = stored.file()
            consent = allowance(file, all_consented=all_consented)
        except UnknownSession:  # it went while we looked
            made.left_out["deleted"] += 1
            continue
        except (BrokenSession, OSError) as error:
            made.broken.append(Broken(stored.id, _sentence(error)))
            continue
        if isinstance(consent, LeftOut):
            made.left_out[consent.why] += 1
            continue
        if truths is None and _is_played(file):
            made.left_out["played by a benchmark"] += 1
            continue
        runs = str(stored.place.local or source.url)
        unit = Unit(stored.id, stored.date, runs, truths, context)
        made.planned.append(Planned(unit, place, consent))
    return made


def is_still_allowed(planned: Planned, *, all_consented: bool = False) -> bool:
    """Whether as much may be used of the session as when it was scored."""
    stored = planned.unit.stored()
    return still_allowed(stored, planned.consent, all_consented=all_consented)


def _once(found: Sequence[Source]) -> list[tuple[int, StoredSession]]:
    """A session that is given twice counts once, with the truth if one of them has it."""
    chosen: dict[str, tuple[int, StoredSession]] = {}
    for place, source in enumerate(found):
        for stored in source.sessions:
            known = chosen.get(stored.id)
            if known is None or (found[known[0]].truths is None and source.truths is not None):
                chosen[stored.id] = place, stored
    return list(chosen.values())


def _is_played(file: SessionFile) -> bool:
    """Whether a recording spoke, as a benchmark has it: without its truth it is nobody's talk."""
    return file.client is not None and (file.client.user_agent or "").startswith(PLAYER)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"it cannot be opened: {error.strerror or type(error).__name__}"
    return str(error)
