"""From scored exchanges to a finished report: figures, analyses, pages, and `scores.json` last."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from server.arena.ballots import Ballot
from server.recording.whole_files import PRIVATE_FOLDER
from server.reports import SCHEMA, SCORES_FILE, Judge
from server.scoring import provenance, summary
from server.scoring.analyses import every
from server.scoring.arms import arms
from server.scoring.errors import ScoringError
from server.scoring.exchange import Conversation
from server.scoring.gathering import Gathered
from server.scoring.planning import Plan, is_still_allowed
from server.scoring.played import played
from server.scoring.progress import Tell
from server.scoring.reading import read
from server.scoring.results import BrokenPart, Results
from server.scoring.score import JudgeNamed
from server.scoring.scored import Broken, Scored
from server.scoring.selection import Selection
from server.scoring.settings import Settings
from server.scoring.sources import Source
from server.scoring.votes import votes
from server.scoring.working import Kit
from server.scoring.writing import (
    ANSWERS_FILE,
    PARQUET_FILE,
    write_answers,
    write_parquet,
    write_scores,
)
from server.sessions.derived import Derived
from server.sessions.export.selection import LeftOut
from server.version import SOFTWARE

WORK = ".work"  # what is not whole yet
REPORT_FOLDER, MARKDOWN_FILE = "report", "report.md"
TRIES = 3  # somebody may leave while the report about them is written
GONE = "withdrawn meanwhile"


@dataclass(slots=True)
class Finishing:
    found: Sequence[Source]
    plan: Plan
    chosen: Selection
    kit: Kit
    settings: Settings
    gathered: Gathered
    out: Path
    command: Sequence[str]
    begun: float
    say: Callable[[str], None]
    tell: Tell

    def finish(self, *, report: bool) -> Path:
        """Nothing about a session is written before it is registered that it tells of it."""
        self.gathered.arrange([each.unit.session_id for each in self.plan.planned])
        self._leave_out_gone()
        for _ in range(TRIES):
            self._register()
            try:
                scores = self._written(report)
                if not self._leave_out_gone():
                    scores.rename(self.out / SCORES_FILE)
                    shutil.rmtree(self.out / WORK, ignore_errors=True)
                    return self.out / SCORES_FILE
            except FileNotFoundError:
                if not self._is_purged:
                    raise
                self._leave_out_gone()
        self._clear()
        raise ScoringError("sessions were deleted again and again while the report was written")

    # -- whom it is about

    def _leave_out_gone(self) -> bool:
        """Whether somebody has withdrawn what they had allowed."""
        allowed = partial(is_still_allowed, all_consented=self.settings.all_consented)
        mine = (each for each in self.plan.planned if self.gathered.is_in(each.unit.session_id))
        gone = {each.unit.session_id for each in mine if not allowed(each)}
        self.gathered.drop(gone)
        if gone:
            self.gathered.left_out[GONE] += len(gone)
        return bool(gone)

    def _register(self) -> None:
        self.out.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        unreached = False
        for place, source in enumerate(self.found):
            ids = [
                each.unit.session_id
                for each in self.plan.planned
                if each.source == place and self.gathered.is_in(each.unit.session_id)
            ]
            try:
                Derived(source.store.runs, source.store.home).register("report", self.out, ids)
            except (ValueError, OSError):
                unreached = unreached or source.truths is None  # a data set's people are far away
        if unreached:
            self.say(
                f"deleting a session will not reach {self.out}: it does not lie in reports/ "
                "beside the recorded sessions"
            )

    @property
    def _is_purged(self) -> bool:
        """Deleting a session takes every report about it along, one being written, too."""
        return not (self.out / WORK).exists()

    def _clear(self) -> None:
        for name in (SCORES_FILE, PARQUET_FILE, ANSWERS_FILE, MARKDOWN_FILE):
            (self.out / name).unlink(missing_ok=True)
        for name in (WORK, REPORT_FOLDER):
            shutil.rmtree(self.out / name, ignore_errors=True)

    # -- what it says

    def _written(self, report: bool) -> Path:
        """Everything but the last step: the scores are whole, but not yet under their name."""
        gathered, out = self.gathered, self.out
        self._clear()
        (out / WORK).mkdir(mode=PRIVATE_FOLDER)
        scores = out / WORK / SCORES_FILE
        ids = list(gathered.sessions)
        lines = partial(gathered.exchanges.lines, ids)
        head = self._head()
        write_answers(out / ANSWERS_FILE, gathered.answers.lines(ids))
        write_parquet(out / PARQUET_FILE, list(self.chosen.measures), lines)
        write_scores(scores, head, lines)
        if report and (problem := self._drawn(scores)):
            self.say(problem.problem)
            broken = [*head.broken, BrokenPart(where=problem.where, problem=problem.problem)]
            write_scores(scores, head.model_copy(update={"broken": broken}), lines)
        return scores

    def _head(self) -> Results:
        gathered, draw = self.gathered, {"draws": self.settings.draws, "seed": self.settings.seed}
        measures = self.chosen.measures
        self.tell(0, 1, "counting")
        judges = {
            each.name: self.kit.judges[name]
            for name, some in self.chosen.wanted.items()
            for each in some
            if name in self.kit.judges
        }
        metrics = summary.metrics(gathered.rows, measures, judges, **draw)
        breakdowns = summary.breakdowns(gathered.rows, measures, **draw)
        self.tell(0, 1, "analysing")
        named = list(dict.fromkeys(judges.values()))
        analyses, failed = self._analyses(named)
        return Results(
            schema_version=SCHEMA,
            made=datetime.now(UTC),
            software=SOFTWARE,
            took_sec=round(time.monotonic() - self.begun, 3),
            judges=[
                Judge(name=j.name, version=j.version, host=j.host, licence=j.licence) for j in named
            ],
            sessions=list(gathered.sessions.values()),
            metrics=metrics,
            breakdowns=breakdowns,
            headline=arms(gathered.rows).told(gathered.rows),
            benchmarks=[
                told
                for source in self.found
                if source.truths is not None and (told := played(source.url)) is not None
            ],
            run=provenance.run(
                self.command, self.settings, self.kit, list(gathered.sessions.values())
            ),
            analyses=analyses,
            broken=[
                BrokenPart(where=each.where, problem=each.problem)
                for each in (*gathered.broken, *failed)
            ],
            left_out=dict(gathered.left_out.most_common()),
        )

    def _analyses(self, judges: Sequence[JudgeNamed]) -> tuple[dict[str, Any], list[Broken]]:
        scored = Scored(
            rows=self.gathered.rows,
            measures=self.chosen.measures,
            ratings=self.gathered.ratings,
            votes=list(self._votes()),
            usage=list(self.gathered.usage.values()),
            judges=judges,
            draws=self.settings.draws,
            seed=self.settings.seed,
            humdial_delays=self.settings.humdial_delays,
        )
        told, failed = {}, []
        for name in every.MODULES:
            try:
                said = every.analysis(name)(scored)
                if said is not None:
                    told[name] = said.model_dump(mode="json")
            except Exception as error:  # one that fails never stops the others
                failed.append(Broken(f"analysis {name}", f"it failed: {type(error).__name__}"))
        return told, failed

    def _votes(self) -> Iterator[Ballot]:
        for source in self.found:
            if source.truths is None and not source.is_homeless:
                try:
                    yield from votes(source.store.runs)
                except OSError as error:
                    self.gathered.broken.append(Broken("arena", f"{type(error).__name__}"))

    # -- how it looks

    def _drawn(self, scores: Path) -> Broken | None:
        self.tell(0, 1, "drawing the report")
        try:
            page = import_module("server.scoring.report.page")
            markdown = import_module("server.scoring.report.markdown")
            page.write(scores, self.out, self._conversation)
            markdown.write(scores, self.out)
        except Exception as error:
            if self._is_purged:
                raise FileNotFoundError(self.out) from None
            problem = f"the report could not be drawn: {type(error).__name__}"
            return Broken("report", problem)
        return None

    def _conversation(self, session_id: str) -> Conversation:
        """For its sound; KeyError where there is none that may be played."""
        planned = next(
            (each for each in self.plan.planned if each.unit.session_id == session_id), None
        )
        if planned is None or not self.gathered.is_in(session_id):
            raise KeyError(session_id)
        found = read(planned.unit.stored(), all_consented=self.settings.all_consented)
        if isinstance(found, LeftOut):
            raise KeyError(session_id)
        return found.conversation
