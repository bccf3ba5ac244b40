"""Whole runs with a judge: what they share, what they count, and what the next run asks again."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from server.scoring.analyses import every
from server.scoring.annotation import Annotation
from server.scoring.cache import Cache, Entry, key
from server.scoring.judging import candidates
from server.scoring.measuring import measured
from server.scoring.results import Results
from server.scoring.running import score
from server.scoring.score import Passing, Score, Unscored, tried
from server.scoring.settings import Settings
from tests.counting_instrument import Counting
from tests.judge_serving import JudgeServer, Says, grades, judging
from tests.made_sessions import Exchange, made_session
from tests.scoring_parts import exchange

SESSION = "sess_0123456789abcdef0123"
SAD = Exchange(user="I lost it.", reply="I am sorry.", emotion="sad")
JUDGED = ("echomind", "aeq", "humdial")
FULL = dict.fromkeys(
    [
        "context_fit_score", "response_naturalness_score", "colloquialism_degree_score",
        "speech_information_relevance_score", "coherence", "supportiveness",
        "textual_empathy_insight",
    ],
    4,
)  # fmt: skip


@pytest.fixture(autouse=True)
def only_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every, "MODULES", {"judges": every.MODULES["judges"]})


def scored(folder: Path, settings: Settings) -> Results:
    made = score([folder], folder.parent / "out", settings, report=False)
    return Results.model_validate_json(made.read_bytes())


def of(server: JudgeServer, *metrics: str, **more: Any) -> Settings:
    return server.settings(**more).model_copy(update={"metrics": metrics, "draws": 100})


# -- one judge for all


def test_a_judge_that_is_gone_is_given_up_by_the_whole_run_and_asked_again_by_the_next(
    tmp_path: Path,
) -> None:
    made_session(tmp_path / "runs", turns=[SAD, SAD, SAD])
    away, there = Says(status=401), grades(**FULL)  # no key is taken: nobody waits for that
    with judging(away, away, away, there) as server:
        settings = of(server, *JUDGED)
        gone = scored(tmp_path / "runs", settings)
        assert len(server.asked) == 3  # not three by each instrument
        back = scored(tmp_path / "runs", settings)
    for before, after in zip(gone.exchanges, back.exchanges, strict=True):
        for name in ("ctx_fit", "aeq_coherence", "humdial_insight"):
            assert before.scores[name].unscored == (
                "the judge did not answer: it did not accept our key"
            )
            assert after.scores[name].value == 4


def test_what_a_judge_was_asked_is_counted_once_however_many_ask_it(tmp_path: Path) -> None:
    made_session(tmp_path / "runs", turns=[SAD])
    made_session(tmp_path / "runs", turns=[SAD])
    with judging(grades(**FULL)) as server:
        results = scored(tmp_path / "runs", of(server, *JUDGED))
    [asked] = results.analyses["judges"]["asked"]
    assert len(server.asked) == 6  # two sessions, three instruments
    assert (asked["calls"], asked["tokens_in"], asked["tokens_out"]) == (6, 600, 120)


# -- reasons that pass


def candidate(path: Path, seed: int) -> str:
    soundfile.write(path, np.random.default_rng(seed).normal(0, 0.1, 2400), 24_000)
    return str(path)


def test_candidates_are_judged_once_they_are_there_and_anew_once_they_are_others(
    tmp_path: Path,
) -> None:
    bench = tmp_path / "bench"
    session_id = made_session(bench / "runs", turns=[SAD])
    first, second = tmp_path / "a.wav", tmp_path / "b.wav"
    truth = {
        "benchmark": "empathyeval", "item": "q1", "task": "empathy_choice", "text": "I lost it.",
        "options": [f"A. {first}", f"B. {second}"], "answer": "A",
    }  # fmt: skip
    line = {"session_id": session_id, "number": 0, "annotation": truth}
    (bench / "items.jsonl").write_text(json.dumps(line) + "\n")
    with judging(grades(most_empathetic="A")) as server:
        settings = of(server, "empathy_choice", hears=True)

        def chosen() -> tuple[float | None, str | None, int]:
            [one] = scored(bench, settings).exchanges
            found = one.scores["empathy_choice"]
            return found.value, found.unscored, len(server.asked)

        assert chosen() == (None, "a candidate's sound cannot be read", 0)
        candidate(first, 1)
        assert chosen() == (None, "a candidate's sound cannot be read", 0)
        candidate(second, 2)
        assert chosen() == (100, None, 1)
        assert chosen() == (100, None, 1)  # it is known
        candidate(second, 3)
        assert chosen() == (100, None, 2)


def test_the_sounds_on_offer_are_part_of_what_is_scored(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    sounds = Annotation(task="empathy_choice", options=(f"A. {path}", "B. x\0.wav"))
    missing = candidates.digest(sounds)
    candidate(path, 1)
    there = candidates.digest(sounds)
    candidate(path, 2)
    assert len({missing, there, candidates.digest(sounds)}) == 3
    words = Annotation(task="empathy_choice", options=("A. Fine.", "B. Oh."))
    other = Annotation(task="mcq", options=(f"A. {path}",))
    assert candidates.digest(words) == candidates.digest(other) == ""


def test_a_passing_reason_is_not_kept_whatever_its_words(tmp_path: Path) -> None:
    lasting = {"a": Score(1), "b": Score.none("failed: the judge did not answer")}
    passing = {"a": Score(1), "b": Score.none("no luck today", passing=True)}
    assert Entry("k", "x", 0, lasting).lasts
    assert not Entry("k", "x", 0, passing).lasts
    assert b"passing" not in Entry("k", "x", 0, lasting).line()
    (tmp_path / f"{SESSION}.jsonl").write_bytes(Entry(key("x", "1", "d"), "x", 0, lasting).line())
    [known] = Cache(tmp_path).known(SESSION).values()
    assert known == lasting


class Raising(Counting):
    def __init__(self, trouble: Exception) -> None:
        self.trouble = trouble

    def measure(self, exchange: object) -> dict[str, Score]:
        raise self.trouble


@pytest.mark.parametrize(
    ("trouble", "passes"),
    [(Unscored("no reply"), False), (Passing("not now"), True), (RuntimeError("words"), True)],
)
def test_whether_a_reason_passes_is_told_by_how_it_came_about(
    trouble: Exception, passes: bool
) -> None:
    found = measured(Raising(trouble), ["letters"], exchange())["letters"]
    assert found.passing is passes and "words" not in str(found.unscored)


def test_measures_that_fall_together_keep_how_they_fell() -> None:
    def take() -> dict[str, Score]:
        trouble = Passing("not now")
        trouble.raw = "as it came"
        raise trouble

    reason = Score(None, unscored="not now", raw="as it came", passing=True)
    assert tried(["a", "b"], take) == {"a": reason, "b": reason}
    assert tried(["a"], lambda: {"b": Score(2)}) == {"b": Score(2)}
