"""Scoring from paths to a report: the one function that commands call."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from server.scoring import instruments
from server.scoring.alone import alone
from server.scoring.cache import Cache
from server.scoring.errors import ScoringError
from server.scoring.finishing import Finishing
from server.scoring.gathering import Gathered
from server.scoring.outcome import outcome
from server.scoring.planning import Plan, Planned, plan
from server.scoring.pool import Here, Pool, Processes
from server.scoring.progress import Tell, silent
from server.scoring.ray_pool import OnRay
from server.scoring.room import refuse_results, refuse_sessions
from server.scoring.selection import Selection, selection
from server.scoring.settings import Settings
from server.scoring.sources import Source, sources
from server.scoring.spool import Spool
from server.scoring.working import Kit, Spec, Task, Told
from server.sessions.place import StorageFailed

STRAY = ".scores"  # in the report: the cache of sessions that lie by themselves

Say = Callable[[str], None]


def score(
    paths: Sequence[str | Path],
    out: Path,
    settings: Settings | None = None,
    workers: int = 1,
    ray: str | None = None,
    progress: Tell | None = None,
    context: str | None = None,
    *,
    limit: int | None = None,
    report: bool = True,
    say: Say = lambda _: None,
    command: Sequence[str] | None = None,
) -> Path:
    """Score what lies at the paths into a folder; gives `scores.json` back, written last of all.

    ScoringError says why there are no scores. `ray` is an address, or "local"; `context` a textual
    situation for exchanges that have none; `limit` is of sessions; `say` gets single lines that
    people should know, what came of it last.
    """
    begun = time.monotonic()
    settings, tell = settings or Settings(), progress or silent
    chosen = selection(settings.metrics)
    refuse_sessions(out)
    refuse_results(out)
    try:
        found = sources([str(path) for path in paths])
        made = plan(found, all_consented=settings.all_consented, context=context, limit=limit)
    except StorageFailed as error:
        raise ScoringError(str(error)) from None
    out = out.absolute()
    with alone(out), Spool(out) as exchanges, Spool(out) as answers:
        gathered = Gathered.of(made, exchanges, answers)
        gathered.broken += chosen.broken
        kept = _Kept(found, made, out, settings, say)
        kit = _work(
            _pool(_spec(settings, chosen), min(workers, len(made.planned)), ray),
            kept,
            gathered,
            tell,
        )
        finishing = Finishing(
            found, made, chosen, kit, settings, gathered, out,
            tuple(sys.argv if command is None else command), begun, say, tell,
        )  # fmt: skip
        scores = finishing.finish(report=report)
        say(outcome(gathered, chosen.measures, out))
        return scores


def _spec(settings: Settings, chosen: Selection) -> Spec:
    wanted = {name: tuple(each.name for each in some) for name, some in chosen.wanted.items()}
    return Spec(settings, wanted, dict(instruments.MODULES))


def _pool(spec: Spec, workers: int, ray: str | None) -> Pool:
    if ray is not None:
        return OnRay(spec, ray)
    return Here(spec) if workers <= 1 else Processes(spec, workers)


def _work(pool: Pool, kept: "_Kept", gathered: Gathered, tell: Tell) -> Kit:
    done, total = 0, len(kept.planned)
    tell(done, total, "scoring")
    try:
        for message in pool.results(kept.tasks()):
            if isinstance(message, Told):
                if kept.keep(message):
                    gathered.add(message)
            else:
                gathered.end(message)
                done += 1
                tell(done, total, "scoring")
        return pool.kit
    finally:
        pool.close()


class _Kept:
    """What is known of the sessions already, and where what is new about them is kept."""

    def __init__(
        self, found: Sequence[Source], made: Plan, out: Path, settings: Settings, say: Say
    ) -> None:
        self.planned: dict[str, Planned] = {each.unit.session_id: each for each in made.planned}
        self._caches = [
            Cache(out / STRAY) if source.is_homeless else Cache.beside(source.store)
            for source in found
        ]
        self._all_consented = settings.all_consented
        self._say = say
        self._works = True

    def tasks(self) -> Iterator[Task]:
        for session_id, planned in self.planned.items():
            yield Task(planned.unit, self._caches[planned.source].known(session_id))

    def keep(self, told: Told) -> bool:
        """Whether the session may still be scored."""
        planned = self.planned[told.row.session_id]
        if not told.fresh or not self._works:
            return True  # it is asked again before anything is written
        try:
            return self._caches[planned.source].add(
                planned, told.fresh, all_consented=self._all_consented
            )
        except (OSError, ValueError) as error:
            self._works = False
            reason = getattr(error, "strerror", None) or type(error).__name__
            self._say(f"scores cannot be kept for the next run: {reason}")
            return True
