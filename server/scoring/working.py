"""Scoring one session after another with instruments that were built once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from server.scoring import instruments
from server.scoring.cache import Entry, Known, key
from server.scoring.exchange import Exchange
from server.scoring.judging import candidates
from server.scoring.measuring import measured
from server.scoring.planning import Unit
from server.scoring.reading import exchange_digest, read
from server.scoring.score import Asking, Instrument, JudgeNamed, Score, Unavailable
from server.scoring.scored import Broken, Row, Usage
from server.scoring.settings import Settings
from server.scoring.telling import answer_lines, exchange_line, row_of, session_told
from server.sessions.export.selection import LeftOut
from server.sessions.format import Rating
from server.sessions.stored import BrokenSession, UnknownSession

NOT_GIVEN = Score.none("not given")
COUNTED = ("calls", "retries", "tokens_in", "tokens_out")


@dataclass(frozen=True, slots=True)
class Spec:
    """All that a worker is made from, in whichever process."""

    settings: Settings
    wanted: Mapping[str, tuple[str, ...]]  # names of measures by instrument
    modules: Mapping[str, str]  # where the instruments are


@dataclass(frozen=True, slots=True)
class Kit:
    """What became of the instruments."""

    keys: Mapping[str, str]
    judges: Mapping[str, JudgeNamed]
    unavailable: Mapping[str, str]  # why, as a sentence


@dataclass(frozen=True, slots=True)
class Task:
    unit: Unit
    known: Known


@dataclass(frozen=True, slots=True)
class Told:
    """One exchange that was scored."""

    row: Row
    line: bytes  # as it stands in scores.json
    answers: tuple[bytes, ...] = ()  # what judges said, as JSON
    fresh: tuple[Entry, ...] = ()  # what was not known before


@dataclass(frozen=True, slots=True)
class Over:
    """A session is done with, one way or the other."""

    session_id: str
    session: Mapping[str, object] | None = None  # as it stands in scores.json
    ratings: tuple[Rating, ...] = ()
    usage: tuple[Usage, ...] = ()
    left_out: str | None = None
    problems: tuple[Broken, ...] = field(default=())


Message = Told | Over


class Worker:
    def __init__(self, spec: Spec) -> None:
        instruments.MODULES.update(spec.modules)
        self._spec = spec
        self._built: dict[str, Instrument] = {}
        unavailable = {}
        for name in spec.wanted:
            try:
                self._built[name] = instruments.build(name, spec.settings)
            except Unavailable as error:
                unavailable[name] = str(error)
            except Exception as error:
                unavailable[name] = f"it could not be built: {type(error).__name__}"
        self.kit = Kit(
            {name: each.key for name, each in self._built.items()},
            {name: each.judge for name, each in self._built.items() if each.judge},
            unavailable,
        )

    def score(self, task: Task) -> Iterator[Message]:
        """Every exchange as it is done, then how it went with the session."""
        unit, settings = task.unit, self._spec.settings
        before = self._usage()
        try:
            found = read(unit.stored(), all_consented=settings.all_consented)
        except UnknownSession:
            yield Over(unit.session_id, left_out="deleted")
            return
        except BrokenSession as error:
            yield Over(unit.session_id, problems=(Broken(unit.session_id, str(error)),))
            return
        except Exception as error:  # one broken session never stops the rest
            problem = f"it cannot be read: {type(error).__name__}"
            yield Over(unit.session_id, problems=(Broken(unit.session_id, problem),))
            return
        if isinstance(found, LeftOut):
            yield Over(unit.session_id, left_out=found.why)
            return
        count, problems = 0, found.problems
        for exchange in found.exchanges(unit.truths, unit.context):
            if not found.conversation.is_still_allowed():
                break  # whoever gathers it leaves the session out
            try:
                yield self._told(exchange, task.known)
                count += 1
            except Exception as error:  # one that cannot be told never stops the rest
                problems.append(f"exchange {exchange.number}: {type(error).__name__}")
        yield Over(
            unit.session_id,
            session_told(found.conversation, count),
            tuple(found.conversation.ratings),
            self._used_since(before),
            problems=tuple(Broken(unit.session_id, problem) for problem in problems),
        )

    def _told(self, exchange: Exchange, known: Known) -> Told:
        digest = exchange_digest(exchange) + candidates.digest(exchange.annotation)
        scores: dict[str, Score] = {}
        fresh: list[Entry] = []
        answers: list[bytes] = []
        for name, wanted in self._spec.wanted.items():
            given = self._given(name, exchange, digest, known, fresh)
            some = {measure: given.get(measure, NOT_GIVEN) for measure in wanted}
            scores |= some
            answers += answer_lines(exchange, name, some)
        row = row_of(exchange, scores)
        return Told(row, exchange_line(exchange, row, scores), tuple(answers), tuple(fresh))

    def _given(
        self, name: str, exchange: Exchange, digest: str, known: Known, fresh: list[Entry]
    ) -> Mapping[str, Score]:
        if (instrument := self._built.get(name)) is None:
            reason = Score.none(self.kit.unavailable[name])
            return dict.fromkeys(self._spec.wanted[name], reason)
        entry_key = key(name, self.kit.keys[name], digest)
        if entry_key in known:
            return known[entry_key]
        names = [measure.name for measure in instruments.measures(name)]
        given = measured(instrument, names, exchange)
        fresh.append(Entry(entry_key, name, exchange.number, given))
        return given

    def _usage(self) -> dict[str, Usage]:
        """By judge, once each: all that ask it share it."""
        found = (each.usage for each in self._built.values() if isinstance(each, Asking))
        return {usage.judge: usage for usage in found}

    def _used_since(self, before: Mapping[str, Usage]) -> tuple[Usage, ...]:
        used = []
        for judge, now in self._usage().items():
            then = before.get(judge, Usage(judge))
            counts = {each: getattr(now, each) - getattr(then, each) for each in COUNTED}
            cost = None if now.cost is None else now.cost - (then.cost or 0.0)
            if any(counts.values()):
                used.append(Usage(judge, **counts, cost=cost))
        return tuple(used)
