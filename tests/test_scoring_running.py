"""Scoring sessions: what is written, what is cached, and what never stops the rest."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pydantic import BaseModel

from server.arena.ballots import VOTES
from server.consent import Consent
from server.report_digest import opened
from server.reports import SCORES_FILE, ScoresFile
from server.scoring import instruments, secrecy, statistics, telling, working
from server.scoring.analyses import every
from server.scoring.annotation import Annotation
from server.scoring.arms import arms
from server.scoring.attributes import ANNOTATED
from server.scoring.errors import ScoringError
from server.scoring.results import Results
from server.scoring.running import score
from server.scoring.score import Measure, Score
from server.scoring.scored import Row, Scored
from server.scoring.secrecy import without_secrets
from server.scoring.selection import selection
from server.scoring.settings import JudgeSettings, Settings
from server.scoring.summary import breakdowns, metrics
from server.sessions.format import Rating
from server.sessions.library import Library
from server.version import VERSION
from tests import counting_instrument
from tests.made_rounds import made_ballot
from tests.made_sessions import STARTED, Exchange, folder_of, made_session

HELLO = Exchange(user="Call 555.", reply="Hello.", emotion="happy")
BYE = Exchange(user="I must go.", reply="Bye now.", emotion="sad")
FAST = Settings(draws=100)


@pytest.fixture(autouse=True)
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["Counted"]:
    """One instrument that counts, no analyses, and a folder for its marks."""
    monkeypatch.setenv(counting_instrument.COUNT, str(tmp_path / "counted"))
    monkeypatch.setattr(instruments, "MODULES", {"counting": counting_instrument.__name__})
    monkeypatch.setattr(every, "MODULES", {})
    yield Counted(tmp_path / "counted")


class Counted:
    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def times(self) -> Counter[str]:
        """How often each exchange was measured."""
        return Counter(self._path.read_text().splitlines() if self._path.exists() else [])


def scored(*paths: Path, out: Path, settings: Settings = FAST, **how: Any) -> Results:
    made = score(paths, out, settings, report=how.pop("report", False), **how)
    assert made == out / SCORES_FILE
    return Results.model_validate_json(made.read_bytes())


def metric(results: Results, name: str) -> Any:
    return next(each for each in results.metrics if each.name == name)


# -- what is written


def test_scores_tell_each_exchange_and_each_metric(tmp_path: Path) -> None:
    session_id = made_session(tmp_path / "runs", turns=[HELLO, BYE])
    results = scored(tmp_path / "runs", out=tmp_path / "out")
    first, second = results.exchanges
    assert (first.session_id, first.number, second.number) == (session_id, 0, 1)
    assert first.scores["letters"].value == 6 and second.scores["letters"].value == 8
    assert first.scores["letters"].why == "Hello. has them"
    assert first.scores["digits"].value == 3 and second.scores["digits"].value == 0
    assert metric(results, "letters").mean == 7 and metric(results, "letters").n == 2
    assert metric(results, "letters").judge == "the counter"
    assert [(j.name, j.host) for j in results.judges] == [("the counter", "counter.example.org")]
    [session] = results.sessions
    assert (session.id, session.exchanges, session.models["responder"]) == (
        session_id, 2, "llamacpp",
    )  # fmt: skip
    assert first.words is not None and first.words.user == "Call 555."
    assert first.percept is not None and first.plan is not None
    assert first.stages_ms["first_sent"] == 420.0
    assert results.run is not None and results.run.instruments == {"counting": "counting 1"}


def test_the_server_reads_what_is_written(tmp_path: Path) -> None:
    session_id = made_session(tmp_path / "runs", turns=[HELLO])
    scored(tmp_path / "runs", out=tmp_path / "out")
    assert ScoresFile.model_validate_json((tmp_path / "out" / SCORES_FILE).read_bytes())
    digest = opened(tmp_path / "out", "mark")
    assert digest.session_ids() == [session_id]


def test_a_table_has_a_row_for_each_exchange_and_a_column_for_each_metric(tmp_path: Path) -> None:
    made_session(tmp_path / "runs", turns=[HELLO, BYE])
    made_session(tmp_path / "runs", turns=[HELLO], consent="audio,research")
    scored(tmp_path / "runs", out=tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "scores.parquet").to_pylist()
    by_words = {row["words_user"]: row for row in rows}
    assert by_words.keys() == {"Call 555.", "I must go.", None}
    assert by_words["Call 555."]["letters"] == 6.0 and by_words["Call 555."]["digits"] == 3.0
    assert by_words["I must go."]["emotion"] == "sad"
    assert by_words[None]["letters"] is None


def test_judges_answers_are_kept_apart_from_the_scores(tmp_path: Path) -> None:
    session_id = made_session(tmp_path / "runs", turns=[HELLO])
    scored(tmp_path / "runs", out=tmp_path / "out")
    told = [json.loads(line) for line in (tmp_path / "out/answers.jsonl").read_text().splitlines()]
    assert told == [
        {"session_id": session_id, "number": 0, "instrument": "counting",
         "measures": ["letters"], "raw": "raw: Hello."}
    ]  # fmt: skip
    assert "raw:" not in (tmp_path / "out" / SCORES_FILE).read_text()


def test_no_word_is_told_of_those_who_allow_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = made_session(tmp_path / "runs", turns=[HELLO], consent="audio,research")
    monkeypatch.setattr(counting_instrument.Counting, "measure", _telling)
    results = scored(tmp_path / "runs", out=tmp_path / "out")
    [only] = results.exchanges
    assert only.scores["letters"].value == 4 and only.scores["letters"].why == ""
    assert only.words is None and only.plan is None
    assert not (tmp_path / "out/answers.jsonl").exists()
    kept = tmp_path / f"runs/scores/{session_id}.jsonl"
    assert "secret" not in kept.read_text()


def _telling(self: object, exchange: object) -> dict[str, Any]:
    return {"letters": Score(4, "a secret", raw="a secret")}


def test_exchanges_without_a_score_say_why(tmp_path: Path) -> None:
    made_session(tmp_path / "runs", turns=[HELLO, Exchange(reply=None)])
    results = scored(tmp_path / "runs", out=tmp_path / "out")
    assert results.exchanges[1].scores["letters"].unscored == "no reply"
    told = metric(results, "letters")
    assert (told.n, told.unscored, told.reasons) == (1, 1, {"no reply": 1})


def test_an_instrument_that_fails_costs_only_its_own_scores(tmp_path: Path) -> None:
    made_session(tmp_path / "runs", turns=[Exchange(user="Now fail."), Exchange(user="nan."), BYE])
    results = scored(tmp_path / "runs", out=tmp_path / "out")
    failed, odd, whole = (each.scores for each in results.exchanges)
    assert failed["letters"].unscored == failed["digits"].unscored == "failed: RuntimeError"
    assert odd["digits"].unscored == "failed: not a number" and odd["letters"].value is not None
    assert whole["letters"].value == 8


def test_an_instrument_that_cannot_be_built_leaves_its_measures_unscored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(counting_instrument.COUNT)
    made_session(tmp_path / "runs", turns=[HELLO])
    results = scored(tmp_path / "runs", out=tmp_path / "out")
    assert metric(results, "letters").reasons == {"nobody counts here": 1}
    assert results.run is not None
    assert results.run.instruments == {"counting": "nobody counts here"}


def test_broken_sessions_are_told_and_the_others_scored(tmp_path: Path) -> None:
    good, bad, torn = (made_session(tmp_path / "runs", turns=[HELLO]) for _ in range(3))
    (folder_of(tmp_path / "runs", bad) / "session.json").write_text("{")
    log = folder_of(tmp_path / "runs", torn) / "events.jsonl"
    log.write_text('{"recording.turn"\n' + log.read_text())
    results = scored(tmp_path / "runs", out=tmp_path / "out")
    assert [each.session_id for each in results.exchanges] == [good]
    assert {each.where for each in results.broken} == {bad, torn}


def test_an_exchange_that_cannot_be_told_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_session(tmp_path / "runs", turns=[HELLO, BYE])
    tell = telling.row_of

    def failing(exchange: Any, scores: Any) -> Row:
        if exchange.number == 0:
            raise TypeError("no")
        return tell(exchange, scores)

    monkeypatch.setattr(working, "row_of", failing)
    results = scored(tmp_path / "runs", out=tmp_path / "out")
    assert [each.number for each in results.exchanges] == [1]
    assert [each.problem for each in results.broken] == ["exchange 0: TypeError"]


def test_nobody_is_measured_any_more_once_they_have_withdrawn(
    tmp_path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = made_session(tmp_path / "runs", turns=[HELLO, BYE])
    tell = telling.row_of

    def leaving(exchange: Any, scores: Any) -> Row:
        with Library.open(str(tmp_path / "runs")) as library:
            library.delete(session_id)
        return tell(exchange, scores)

    monkeypatch.setattr(working, "row_of", leaving)
    results = scored(tmp_path / "runs", out=tmp_path / "out")
    assert counted.times.total() == 1 and not results.exchanges
    assert results.left_out == {"withdrawn meanwhile": 1}


def test_those_who_did_not_consent_are_counted(tmp_path: Path) -> None:
    made_session(tmp_path / "runs", consent="transcript,audio")
    results = scored(tmp_path / "runs", out=tmp_path / "out")
    assert results.exchanges == [] and results.left_out == {"no consent to research": 1}
    assert metric(results, "letters").mean is None


def test_progress_counts_sessions_and_says_what_is_done(tmp_path: Path) -> None:
    for _ in range(3):
        made_session(tmp_path / "runs", turns=1)
    steps: list[tuple[int, int, str]] = []
    scored(
        tmp_path / "runs",
        out=tmp_path / "out",
        progress=lambda done, total, doing: steps.append((done, total, doing)),
    )
    assert steps[:4] == [(n, 3, "scoring") for n in range(4)]
    assert [doing for _, _, doing in steps[4:]] == ["counting", "analysing"]


def test_only_the_metrics_asked_for_are_given(tmp_path: Path) -> None:
    made_session(tmp_path / "runs", turns=[HELLO])
    asked = Settings(metrics=("digits",), draws=100)
    results = scored(tmp_path / "runs", out=tmp_path / "out", settings=asked)
    assert [each.name for each in results.metrics] == ["digits"]
    assert results.exchanges[0].scores.keys() == {"digits"}


# -- the cache


def test_nothing_is_measured_twice(tmp_path: Path, counted: Counted) -> None:
    session_id = made_session(tmp_path / "runs", turns=[HELLO, BYE])
    first = scored(tmp_path / "runs", out=tmp_path / "out")
    second = scored(tmp_path / "runs", out=tmp_path / "again")
    assert counted.times == {f"{session_id} 0": 1, f"{session_id} 1": 1}
    assert first.exchanges == second.exchanges
    assert (tmp_path / "again/answers.jsonl").read_text() == (
        tmp_path / "out/answers.jsonl"
    ).read_text()


def test_a_metric_that_was_not_asked_for_is_known_all_the_same(
    tmp_path: Path, counted: Counted
) -> None:
    made_session(tmp_path / "runs", turns=[HELLO])
    digits = Settings(metrics=("digits",), draws=100)
    scored(tmp_path / "runs", out=tmp_path / "out", settings=digits)
    results = scored(tmp_path / "runs", out=tmp_path / "out")
    assert results.exchanges[0].scores["letters"].value == 6
    assert counted.times.total() == 1


def test_another_instrument_or_content_is_measured_anew(
    tmp_path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = made_session(tmp_path / "runs", turns=[HELLO])
    scored(tmp_path / "runs", out=tmp_path / "out")
    monkeypatch.setenv(counting_instrument.VERSION, "2")
    scored(tmp_path / "runs", out=tmp_path / "out")
    assert counted.times.total() == 2
    log = folder_of(tmp_path / "runs", session_id) / "events.jsonl"
    log.write_text(log.read_text().replace("Hello.", "Hi."))
    assert scored(tmp_path / "runs", out=tmp_path / "out").exchanges[0].scores["letters"].value == 3
    assert counted.times.total() == 3


def test_broken_lines_of_the_cache_are_passed_over(tmp_path: Path, counted: Counted) -> None:
    session_id = made_session(tmp_path / "runs", turns=[HELLO, BYE])
    scored(tmp_path / "runs", out=tmp_path / "out")
    path = tmp_path / f"runs/scores/{session_id}.jsonl"
    first, second = path.read_text().splitlines()
    path.write_text(f'not json\n{{"form": 1}}\n[]\n{second}\n{first[:40]}')
    scored(tmp_path / "runs", out=tmp_path / "out")
    assert counted.times == {f"{session_id} 0": 2, f"{session_id} 1": 1}
    scored(tmp_path / "runs", out=tmp_path / "out")
    assert counted.times.total() == 3


def test_what_failed_is_tried_again(tmp_path: Path, counted: Counted) -> None:
    made_session(tmp_path / "runs", turns=[Exchange(user="Now fail."), HELLO])
    for _ in range(2):
        scored(tmp_path / "runs", out=tmp_path / "out")
    assert sorted(counted.times.values()) == [1, 2]


def test_scores_are_given_even_where_nothing_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_session(tmp_path / "runs", turns=[HELLO, BYE])
    (tmp_path / "runs/scores").write_text("in the way")
    said: list[str] = []
    results = scored(tmp_path / "runs", out=tmp_path / "runs/reports/r", say=said.append)
    assert metric(results, "letters").n == 2
    assert len(said) == 2 and "cannot be kept" in said[0]


def test_a_session_that_lies_by_itself_is_cached_in_its_report(
    tmp_path: Path, counted: Counted
) -> None:
    session_id = made_session(tmp_path / "runs", turns=[HELLO])
    folder_of(tmp_path / "runs", session_id).rename(tmp_path / session_id)
    before = sorted(tmp_path.iterdir())
    for _ in range(2):
        scored(tmp_path / session_id, out=tmp_path / "out")
    assert counted.times.total() == 1
    assert {*tmp_path.iterdir()} - {*before} == {tmp_path / "out", tmp_path / "counted"}


# -- deletion


def test_deleting_a_session_takes_its_scores_along(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    gone, kept = (made_session(runs, turns=[HELLO]) for _ in range(2))
    scored(runs, out=runs / "reports/march")
    with Library.open(str(runs)) as library:
        library.delete(gone)
    assert not (runs / "reports/march").exists()
    assert [path.name for path in (runs / "scores").iterdir()] == [f"{kept}.jsonl"]


def test_a_report_that_deletion_cannot_reach_says_so(tmp_path: Path) -> None:
    made_session(tmp_path / "runs", turns=[HELLO])
    said: list[str] = []
    scored(tmp_path / "runs", out=tmp_path / "runs/reports/r", say=said.append)
    assert not any("deleting" in each for each in said)
    scored(tmp_path / "runs", out=tmp_path / "elsewhere", say=said.append)
    (told,) = (each for each in said if "deleting" in each)
    assert told.startswith("deleting a session will not reach")


class _Page:
    """A report that quotes all it is given, and makes its folder as it needs it."""

    @staticmethod
    def write(scores: Path, out: Path, conversations: Any = None) -> None:
        told = scores.read_text()
        for exchange in json.loads(told)["exchanges"] if conversations else ():
            assert conversations(exchange["session_id"]).session.id == exchange["session_id"]
        (out / "report").mkdir(parents=True, exist_ok=True)
        (out / "report/index.html").write_text(told)


@pytest.mark.parametrize(
    ("moment", "inside"),
    [("counting", True), ("analysing", False), ("drawing the report", True), ("drawn", True),
     ("drawn", False)],
)  # fmt: skip
def test_who_withdraws_meanwhile_is_not_in_the_report(
    tmp_path: Path, moment: str, inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    gone, less, kept = (made_session(runs, turns=[HELLO]) for _ in range(3))
    todo = [True]

    def withdraw(done: int, total: int, doing: str) -> None:
        if doing == moment and todo:
            todo.clear()
            with Library.open(str(runs)) as library:
                library.delete(gone)
                library.revoke(less, Consent(transcript=True, research=True))

    class Markdown:
        """The last thing that is drawn."""

        @staticmethod
        def write(scores: Path, out: Path) -> None:
            told = scores.read_text()
            withdraw(0, 0, "drawn")
            out.mkdir(parents=True, exist_ok=True)
            (out / "report.md").write_text(told)

    monkeypatch.setitem(sys.modules, "server.scoring.report.page", _Page)
    monkeypatch.setitem(sys.modules, "server.scoring.report.markdown", Markdown)
    out = runs / "reports/r" if inside else tmp_path / "out"
    results = scored(runs, out=out, progress=withdraw, report=True)
    assert (out / "report/index.html").exists() and (out / "report.md").exists()
    assert [each.session_id for each in results.exchanges] == [kept]
    assert [each.id for each in results.sessions] == [kept]
    assert metric(results, "letters").n == 1
    assert results.left_out == {"withdrawn meanwhile": 2}
    for path in out.rglob("*"):
        assert path.is_dir() or gone.encode() not in path.read_bytes()
    rows = pq.read_table(out / "scores.parquet").to_pylist()
    assert [row["session_id"] for row in rows] == [kept]
    with Library.open(str(runs)) as library:
        library.delete(kept)
    assert out.exists() is not inside


def test_who_withdraws_before_the_cache_is_written_is_not_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    gone = made_session(runs, turns=[HELLO])
    measure = counting_instrument.Counting.measure

    def deleting(self: counting_instrument.Counting, exchange: Any) -> Any:
        with Library.open(str(runs)) as library:
            library.delete(gone)
        return measure(self, exchange)

    monkeypatch.setattr(counting_instrument.Counting, "measure", deleting)
    results = scored(runs, out=tmp_path / "out")
    assert results.exchanges == []
    assert not list((runs / "scores").glob("*")) if (runs / "scores").exists() else True


def test_a_report_that_cannot_be_drawn_costs_no_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_session(tmp_path / "runs", turns=[HELLO])
    for name in ("page", "markdown"):
        monkeypatch.setitem(sys.modules, f"server.scoring.report.{name}", object())
    said: list[str] = []
    results = scored(
        tmp_path / "runs", out=tmp_path / "runs/reports/r", report=True, say=said.append
    )
    assert metric(results, "letters").n == 1
    assert said[0] == "the report could not be drawn: AttributeError"
    assert said[1].endswith(f"; open {tmp_path / 'runs/reports/r/scores.json'}")
    assert [each.where for each in results.broken] == ["report"]
    assert not (tmp_path / "runs/reports/r/.work").exists()


# -- what analyses are given


class _Said(BaseModel):
    rows: int


def test_analyses_see_rows_ratings_votes_and_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    rating = Rating(wall=STARTED, by="user", scores={"empathy": 4})
    session_id = made_session(runs, turns=[HELLO, BYE], ratings=[rating])
    for nth, vote in enumerate(("a", "b", "tie", "bad")):
        folder = runs / VOTES / "2026-03-14"
        folder.mkdir(parents=True, exist_ok=True)
        ballot = made_ballot("one", "two", vote)  # type: ignore[arg-type]
        (folder / f"{nth}.json").write_text(ballot.model_dump_json())
    (folder / "9.json").write_text("{")
    seen: list[Scored] = []

    def analysis(name: str) -> Any:
        if name == "broken":
            raise ValueError("quotes somebody")

        def analyse(scored: Scored) -> BaseModel | None:
            seen.append(scored)
            return _Said(rows=len(scored.rows)) if name == "says" else None

        return analyse

    monkeypatch.setattr(every, "MODULES", {"says": "", "silent": "", "broken": ""})
    monkeypatch.setattr(every, "analysis", analysis)
    results = scored(runs, out=tmp_path / "out")
    assert results.analyses == {"says": {"rows": 2}}
    assert [(b.where, b.problem) for b in results.broken] == [
        ("analysis broken", "it failed: ValueError")
    ]
    given = seen[0]
    assert [row.values["letters"] for row in given.rows] == [6, 8]
    assert given.ratings == [(session_id, rating)]
    assert [ballot.vote for ballot in given.votes] == ["a", "b", "tie", "bad"]
    [usage] = given.usage
    assert (usage.calls, usage.tokens_in, usage.cost) == (2, 20, None)
    scored(runs, out=tmp_path / "out")
    assert seen[-1].usage == []  # what the cache knew was not asked


# -- figures


UNKNOWN = Annotation()


def _row(session: int, number: int, truth: Annotation = UNKNOWN, **told: Any) -> Row:
    values = {name: value for name, value in told.pop("values").items() if value is not None}
    items = told.pop("user_item", None), told.pop("reply_item", None)
    known = truth.model_dump(include={*ANNOTATED}, exclude_none=True)
    return Row(
        f"sess_{session:020x}", number, *items, told | known, values, {}, truth, None, None, {},
        False,
    )  # fmt: skip


def _played(number: int, value: float, **truth: Any) -> Row:
    """One play of an item, in a session of its own, as a benchmark does."""
    return _row(
        number, 0, Annotation(**{"benchmark": "echomind", "item": "1", **truth}),
        values={"a": value},
    )  # fmt: skip


A, B = Measure("a", "A", "words", ""), Measure("b", "B", "words", "")


def test_a_mean_has_the_interval_of_its_sessions() -> None:
    """Against the library of statistics, metric by metric."""
    random = np.random.default_rng(3)
    rows = [
        _row(session, number, values={"a": float(random.normal()),
                                      "b": None if session % 2 else float(number)})
        for session in range(12) for number in range(session % 4 + 1)
    ]  # fmt: skip
    told = metrics(rows, {"a": A, "b": B}, {}, draws=500, seed=5)
    for each in told:
        some = [row for row in rows if each.name in row.values]
        expected = statistics.mean_interval(
            [row.values[each.name] for row in some], [row.session_id for row in some], 500, 5
        )
        assert each.n == expected.n
        figures = [each.mean, each.low, each.high]
        assert figures == pytest.approx([expected.mean, expected.low, expected.high])
        assert each.unscored == len(rows) - expected.n
        assert each.low is not None and each.high is not None and each.mean is not None
        assert each.low < each.mean < each.high


def test_exchanges_of_one_session_do_not_count_as_many() -> None:
    alone = [_row(n, 0, values={"a": float(n % 2)}) for n in range(40)]
    together = [_row(n % 8, n, values={"a": float(n % 2)}) for n in range(40)]
    [first] = metrics(alone, {"a": A}, {}, draws=500, seed=5)
    [second] = metrics(together, {"a": A}, {}, draws=500, seed=5)
    assert first.mean == second.mean == 0.5
    assert first.low is not None and first.low > 0.3
    assert second.low is not None and second.low < 0.2


def test_a_headline_is_over_what_people_get_and_never_over_what_was_tried() -> None:
    rows = [
        _played(1, 3.0, cue_given="perceived", condition="clean"),
        _played(2, 5.0, cue_given="true", condition="clean"),
        _played(3, 1.0, cue_given="none", condition="clean"),
        _played(4, 2.0, cue_given="perceived", condition="noise 10 dB"),
        _row(5, 0, values={"a": 9.0}),  # somebody's own talk
    ]
    [told] = metrics(rows, {"a": A}, {}, draws=100, seed=5)
    assert (told.mean, told.n, told.unscored) == (3.0, 1, 0)
    over = arms(rows).told(rows)
    assert (over.data, over.cue, over.condition, over.exchanges, over.clusters, over.drawn) == (
        ["echomind"], "perceived", "clean", 1, 1, "scripts",
    )  # fmt: skip
    assert over.aside == {"cue true": 1, "cue none": 1, "noise 10 dB": 1, "own talk": 1}
    apart = {
        each.by: {group.value: group.mean for group in each.groups}
        for each in breakdowns(rows, {"a": A}, draws=100, seed=5)
    }
    assert apart == {
        "benchmark": {"echomind": 3.0, "own talk": 9.0},
        "cue_given": {"none": 1.0, "perceived": 3.0, "true": 5.0},
        "condition": {"clean": 3.0, "noise 10 dB": 2.0},
    }


def test_a_breakdown_by_cue_is_over_the_headlines_exchanges_alone() -> None:
    rows = [
        _played(1, 3.0, cue="sad", cue_given="perceived"),
        _played(2, 5.0, cue="sad", cue_given="true"),
        _played(3, 1.0, cue="happy", cue_given="perceived"),
        _played(4, 5.0, cue="happy", cue_given="perceived", condition="codec"),
    ]
    told = breakdowns(rows, {"a": A}, draws=100, seed=5)
    cues = next(each for each in told if each.by == "cue")
    assert [(group.value, group.mean) for group in cues.groups] == [("happy", 1.0), ("sad", 3.0)]


def test_a_run_with_another_arm_alone_has_a_headline_that_says_so() -> None:
    rows = [
        _played(1, 5.0, cue_given="true", condition="noise 10 dB"),
        _played(2, 4.0, cue_given="true", condition="noise 10 dB"),
    ]
    [told] = metrics(rows, {"a": A}, {}, draws=100, seed=5)
    over = arms(rows).told(rows)
    assert (told.mean, over.cue, over.condition, over.aside) == (4.5, "true", "noise 10 dB", {})


def test_plays_of_one_script_do_not_count_as_many() -> None:
    """Ten scripts in nine sessions each: as unsure as ten."""
    plays = [_played(n, float(n % 10), item=f"{n}", group=f"script {n % 10}") for n in range(90)]
    once = [_row(n, 0, values={"a": float(n)}) for n in range(10)]
    [many] = metrics(plays, {"a": A}, {}, draws=500, seed=5)
    [few] = metrics(once, {"a": A}, {}, draws=500, seed=5)
    assert (many.mean, many.low, many.high) == pytest.approx((few.mean, few.low, few.high))
    assert arms(plays).told(plays).clusters == 10


def test_a_headline_says_what_it_pools_and_how_many_got_no_reply() -> None:
    rows = [
        _row(n, 0, Annotation(benchmark="echomind", item=f"{n}", task=task, prompt=prompt),
             user_item="u", reply_item=reply, values={"a": 1.0})
        for n, (task, prompt, reply) in enumerate(
            (("conversation", "zero", "r"), ("conversation", "basic", None), ("asr", None, None),
             ("pause", None, None), ("mcq", None, "r"))
        )
    ]  # fmt: skip
    over = arms(rows).told(rows)
    assert (over.asked, over.unanswered) == (3, 1)
    assert over.pooled == {
        "task": ["asr", "conversation", "mcq", "pause"], "prompt": ["basic", "zero"],
    }  # fmt: skip


def test_what_a_benchmark_says_of_itself_is_told(tmp_path: Path) -> None:
    result = tmp_path / "result"
    session_id = made_session(result / "runs", turns=[HELLO])
    line = {"session_id": session_id, "annotation": {"benchmark": "csv", "item": "1"}}
    (result / "items.jsonl").write_text(json.dumps(line) + "\n")
    about = {
        "schema_version": 1, "name": "csv", "title": "A table", "licence": "CC0", "source": "here",
        "url": "ws://me:secret@host", "wanted": 3, "played": 1, "failed": 2,
        "problems": {"no answer": 2}, "failures": [{"item": "2", "problem": "no answer"}],
    }  # fmt: skip
    (result / "bench.json").write_text(json.dumps(about))
    [told] = scored(result, out=tmp_path / "out").benchmarks
    assert (told.title, told.licence, told.source) == ("A table", "CC0", "here")
    assert (told.wanted, told.played, told.failed, told.problems) == (3, 1, 2, {"no answer": 2})
    assert [(each.item, each.problem) for each in told.failures] == [("2", "no answer")]
    assert "secret" not in (tmp_path / "out" / SCORES_FILE).read_text()
    (result / "bench.json").write_text("{")
    assert scored(result, out=tmp_path / "out").benchmarks == []


@pytest.mark.parametrize(("sessions", "is_told"), [(1, False), (2, False), (4, False), (5, True)])
def test_few_sessions_have_no_interval(sessions: int, is_told: bool) -> None:
    rows = [_row(n % sessions, n, values={"a": n}) for n in range(20)]
    [told] = metrics(rows, {"a": A}, {}, draws=100, seed=5)
    assert told.mean == 9.5
    assert (told.low is not None, told.high is not None) == (is_told, is_told)


def test_nothing_at_all_has_no_figures() -> None:
    [told] = metrics([], {"a": A}, {}, draws=100, seed=5)
    assert (told.mean, told.n, told.unscored) == (None, 0, 0)
    assert breakdowns([], {"a": A}, draws=100, seed=5) == []


def test_figures_are_broken_down_by_what_differs() -> None:
    rows = [
        _row(n, 0, emotion="sad" if n % 2 else "happy", responder="same", values={"a": float(n)})
        for n in range(6)
    ] + [_row(9, 0, responder="same", values={"a": 50.0})]
    [told] = breakdowns(rows, {"a": A, "b": B}, draws=100, seed=5)
    assert told.by == "emotion"
    assert [(g.metric, g.value, g.mean, g.n) for g in told.groups] == [
        ("a", "happy", 2.0, 3), ("a", "sad", 3.0, 3),
    ]  # fmt: skip


# -- which metrics


@pytest.mark.parametrize("asked", [("letters,digits",), ("letters", "digits"), ("counting",), ()])
def test_metrics_are_asked_for_by_name_or_instrument(asked: tuple[str, ...]) -> None:
    assert list(selection(asked).measures) == ["letters", "digits"]


def test_metrics_are_asked_for_by_family() -> None:
    assert list(selection(("perception",)).measures) == ["digits"]


def test_an_unknown_metric_is_told_with_what_is_near() -> None:
    with pytest.raises(ScoringError, match="'leters'; did you mean letters"):
        selection(("digits", "leters"))


def test_an_instrument_that_cannot_be_imported_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(instruments.MODULES, "gone", "tests.no_such_module")
    found = selection(())
    assert list(found.measures) == ["letters", "digits"]
    assert [each.where for each in found.broken] == ["instrument gone"]


# -- how it was made


def test_no_secret_is_told_of_how_it_was_made(tmp_path: Path) -> None:
    made_session(tmp_path / "runs", turns=[HELLO])
    judge = JudgeSettings(
        url="https://me:pass@judge.example.org/v1?key=hidden", model="m", key="sk-secret"
    )
    settings = Settings(judge=judge, draws=100)
    command = ["server/scoring/__main__.py", "--judge", str(judge.url)]
    scored(tmp_path / "runs", out=tmp_path / "out", settings=settings, command=command)
    told = (tmp_path / "out" / SCORES_FILE).read_text()
    assert "judge.example.org" in told
    assert "pass@" not in told and "hidden" not in told and "sk-secret" not in told


def test_addresses_are_shown_without_login_and_query() -> None:
    assert without_secrets("s3://key:secret@bucket/runs") == "s3://…@bucket/runs"
    assert without_secrets("https://a.example/v1?key=1") == "https://a.example/v1?…"
    assert without_secrets("/home/me?/runs") == "/home/me?/runs"
    assert without_secrets("http://u:p@ss@host:80/v1#k") == "http://…@host:80/v1#…"
    assert without_secrets("no answer at http://u:p@h/x?key=1, it says") == (
        "no answer at http://…@h/x?… it says"
    )
    assert secrecy.command(["bench", "--token", "hush", "--token=hush", "--out", "x"]) == [
        "bench", "--token", "…", "--token=…", "--out", "x",
    ]  # fmt: skip
    told = secrecy.everywhere({"encoders": {"urls": ["ws://u:p@h"]}, "n": 1})
    assert told == {"encoders": {"urls": ["ws://…@h"]}, "n": 1}


def test_the_software_is_this_version() -> None:
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert f'version = "{VERSION}"' in project


def test_several_places_are_scored_together(tmp_path: Path) -> None:
    made_session(tmp_path / "a", turns=[HELLO])
    made_session(tmp_path / "b", turns=[BYE], started=STARTED + timedelta(days=1))
    results = scored(tmp_path / "a", tmp_path / "b", out=tmp_path / "out")
    assert metric(results, "letters").mean == 7
    assert len(os.listdir(tmp_path / "a/scores")) == len(os.listdir(tmp_path / "b/scores")) == 1
