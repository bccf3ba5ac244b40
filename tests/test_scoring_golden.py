"""Recorded conversations and tiny data sets must get the scores that were worked out for them.

tests/data/scoring/golden/README.md has the arithmetic. That a broken metric is caught is tested by
breaking it.
"""

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
import pytest
from nltk.translate import bleu_score, meteor_score
from rouge_score.rouge_scorer import RougeScorer

from server.scoring import instruments, measuring, reading
from server.scoring.annotation import Annotation
from server.scoring.catalogue import DOC, every, written
from server.scoring.exchange import Exchange
from server.scoring.planning import plan
from server.scoring.reading import Read
from server.scoring.running import score
from server.scoring.score import Instrument, Score
from server.scoring.settings import Settings
from server.scoring.sound import perceived
from server.scoring.sources import sources
from server.scoring.words import choices, meaning, overlap, understanding
from server.scoring.words.answers import Answer, parsed
from server.scoring.words.encoders import Absent
from server.scoring.words.normal import normal
from server.sessions.format import SessionFile
from tests.scoring_parts import exchange

GOLDEN = Path(__file__).parent / "data" / "scoring" / "golden"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text("utf-8"))
# What takes no more than a moment: no torch, and no listening to the sound.
CHEAP = ("understanding", "overlap", "perceived")
SMALL = {"bertscore_minilm", "similarity_minilm", "steering_minilm"}

Values = Mapping[str, float | None]  # of one exchange


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy: what is scored is remembered beside the sessions."""
    return shutil.copytree(GOLDEN, tmp_path_factory.mktemp("golden") / "golden")


@pytest.fixture(scope="module")
def exchanges(golden: Path) -> dict[str, Exchange]:
    found = {}
    for planned in plan(sources([str(golden)])).planned:
        told = reading.read(planned.unit.stored())
        assert isinstance(told, Read)
        for each in told.exchanges(planned.unit.truths):
            found[f"{planned.unit.session_id}/{each.number}"] = each
    return found


@pytest.fixture(scope="module")
def built() -> dict[str, Instrument]:
    names = ("overlap", "perceived", "meaning", "choices")
    away = Absent("not wanted here")
    return {name: instruments.build(name, Settings()) for name in names} | {
        "understanding": understanding.Understanding("words alone", away, away)
    }


def taken(built: Mapping[str, Instrument], exchanges: Mapping[str, Exchange]) -> dict[str, Values]:
    return {
        where: {
            metric: told.value
            for name, instrument in built.items()
            for metric, told in measuring.measured(instrument, _names(name), each).items()
        }
        for where, each in exchanges.items()
    }


def _names(instrument: str) -> list[str]:
    return [measure.name for measure in instruments.measures(instrument)]


def mistakes(found: Mapping[str, Values], among: Iterable[str], level: str = "exact") -> list[str]:
    """Where scores are not what they should be."""
    wrong = []
    for metric in among:
        for where, value in EXPECTED[level][metric]["values"].items():
            got = found[where].get(metric)
            if got is None and metric == "meteor":  # by either name: no synonyms are among them
                got = found[where].get("meteor_nosyn")
            if got is None or abs(got - value) > EXPECTED[level][metric]["within"]:
                wrong.append(f"{metric} of {where} is {got}, not {value}")
    return wrong


def named(*instrument_names: str, level: str = "exact") -> list[str]:
    """The metrics with known values that these give."""
    given = {metric for name in instrument_names for metric in _names(name)}
    return [metric for metric in EXPECTED[level] if metric in given]


# -- the golden session


def test_the_golden_sessions_are_whole_and_may_be_used() -> None:
    files = sorted(GOLDEN.glob("runs/*/*/session.json"))
    assert len(files) == 2
    for file in files:
        session = SessionFile.model_validate_json(file.read_bytes())
        assert session.state == "finished" and session.consent[-1].research
        assert session.speaker is None
        assert (file.parent / "audio.flac").stat().st_size < 300_000


def test_scoring_them_gives_what_was_worked_out(golden: Path, tmp_path: Path) -> None:
    wanted = (*named(*CHEAP), "meteor_nosyn")
    file = score([golden], tmp_path / "out", Settings(metrics=wanted, draws=200), report=False)
    told = json.loads(file.read_text("utf-8"))
    found = {
        f"{each['session_id']}/{each['number']}": {
            name: given.get("value") for name, given in each["scores"].items()
        }
        for each in told["exchanges"]
    }
    assert not mistakes(found, named(*CHEAP))
    assert told["broken"] == [] and told["left_out"] == {}
    figures = {each["name"]: each for each in told["metrics"]}
    assert figures["wer"]["mean"] == pytest.approx(200 / 7 / 3)
    assert (figures["wer"]["n"], figures["wer"]["unscored"]) == (3, 0)
    # Two sessions are too few for an interval.
    assert figures["wer"]["low"] is None and figures["wer"]["high"] is None
    # Two of three voices that were read neutrally were taken for sad.
    assert told["analyses"]["confusion"]["overall"]["counts"] == [[2, 1]]
    assert told["analyses"]["human"]["ratings"] == 0


@pytest.mark.slow
def test_scoring_everything_gives_what_was_measured_before(golden: Path, tmp_path: Path) -> None:
    file = score([golden], tmp_path / "out", Settings(draws=200), report=False)
    told = json.loads(file.read_text("utf-8"))
    found = {
        f"{each['session_id']}/{each['number']}": {
            name: given.get("value") for name, given in each["scores"].items()
        }
        for each in told["exchanges"]
    }
    assert not mistakes(found, EXPECTED["exact"])
    assert not mistakes(found, EXPECTED["near"], "near")
    # What nobody was asked about, and nobody's network was there for, has a reason and no value.
    for each in told["exchanges"]:
        for name in ("ctx_fit", "ves", "semsim", "bertscore", "nisqa", "utmos"):
            assert each["scores"][name]["value"] is None
            assert each["scores"][name]["unscored"]


# -- tiny data sets


def rows(name: str) -> list[dict[str, str]]:
    with (GOLDEN / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def transcripts_wrong(built: Mapping[str, Instrument]) -> list[str]:
    wrong = []
    for row in rows("transcripts.tsv"):
        found = built["understanding"].measure(exchange(row["heard"], text=row["truth"]))
        for name in ("wer_raw", "wer"):
            if found[name].value != pytest.approx(float(row[name]), abs=1e-6):
                wrong.append(f"{name} of {row['truth']!r}: {found[name].value}, not {row[name]}")
    return wrong


def replies_wrong(built: Mapping[str, Instrument]) -> list[str]:
    wrong = []
    for row in rows("replies.tsv"):
        found = built["overlap"].measure(exchange(reply=row["reply"], reference=row["reference"]))
        without = found["meteor_nosyn"].value
        values = {"bleu4": found["bleu4"].value, "rouge_l": found["rouge_l"].value}
        values["meteor"] = found["meteor"].value if without is None else without
        for name, value in values.items():
            if value != pytest.approx(float(row[name]), abs=2e-6):
                wrong.append(f"{name} of {row['reply']!r}: {value}, not {row[name]}")
    return wrong


def choices_wrong(built: Mapping[str, Instrument]) -> list[str]:
    wrong = []
    for row in rows("choices.tsv"):
        about = Annotation(
            question="How does it sound?",
            options=tuple(row["options"].split("|")),
            answer=row["answer"],
            level="understanding",
        )
        asked = replace(exchange(reply=row["reply"]), annotation=about)
        value = built["choices"].measure(asked)["choice_understanding"].value
        if value != float(row["right"]):
            wrong.append(f"{row['reply']!r}: {value}, not {row['right']}")
    return wrong


# -- a broken metric is caught

Break = Callable[[pytest.MonkeyPatch, dict[str, Instrument]], None]


def wer_swapped(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    right = understanding.word_errors
    patch.setattr(understanding, "word_errors", lambda truth, heard: right(heard, truth))


def wer_by_one_word_more(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    right = jiwer.process_words

    def off(truth: str, heard: str) -> Any:
        found = right(truth, heard)
        words = len(truth.split())
        return replace(found, wer=found.wer * words / (words + 1))

    patch.setattr(jiwer, "process_words", off)


def wer_not_normalised(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    patch.setattr(understanding, "normal", lambda text: text)


def raw_wer_normalised(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    right = understanding.word_errors
    patch.setattr(understanding, "word_errors", lambda t, h: right(normal(t), normal(h)))


def bleu_of_three(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    patch.setattr(overlap, "WEIGHTS", (1 / 3, 1 / 3, 1 / 3))


def bleu_split_at_spaces(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    assert isinstance(built["overlap"], overlap.Overlap)
    built["overlap"] = replace(built["overlap"], tokenize=str.split)


def bleu_smoothed_otherwise(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    other = bleu_score.SmoothingFunction.method2
    patch.setattr(bleu_score.SmoothingFunction, "method1", other)


def bleu_without_brevity(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    patch.setattr(bleu_score, "brevity_penalty", lambda closest, length: 1.0)


def rouge_of_pairs(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    class Pairs:
        def score(self, right: str, reply: str) -> dict[str, Any]:
            return {"rougeL": RougeScorer(["rouge2"]).score(right, reply)["rouge2"]}

    assert isinstance(built["overlap"], overlap.Overlap)
    built["overlap"] = replace(built["overlap"], rouge=Pairs())


def rouge_recall(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    class Recall:
        def score(self, right: str, reply: str) -> dict[str, Any]:
            found = RougeScorer(["rougeL"]).score(right, reply)["rougeL"]
            return {"rougeL": found._replace(fmeasure=found.recall)}

    assert isinstance(built["overlap"], overlap.Overlap)
    built["overlap"] = replace(built["overlap"], rouge=Recall())


def meteor_swapped(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    right = meteor_score.single_meteor_score
    swapped = lambda reference, reply, **more: right(reply, reference, **more)  # noqa: E731
    patch.setattr(meteor_score, "single_meteor_score", swapped)


def meteor_without_chunks(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    right = meteor_score.single_meteor_score
    loose = lambda *told, **more: right(*told, gamma=0.0, **more)  # noqa: E731
    patch.setattr(meteor_score, "single_meteor_score", loose)


def chances_not_in_percent(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    patch.setattr(perceived, "Score", lambda value, why="": Score(value / 100, why))


def everything_named(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    patch.setattr(perceived, "named", lambda percept: {"emotion": "sad"})


def likeness_not_normalised(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    patch.setattr(meaning, "cosine", lambda one, other: float(np.dot(one, other)))


def steered_the_other_way(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    assert isinstance(built["meaning"], meaning.Meaning)
    right = built["meaning"].measure

    class Backwards(meaning.Meaning):
        __slots__ = ()

        def measure(self, exchange: Exchange) -> Mapping[str, Any]:
            told = exchange.annotation
            other = {
                "reference": told.alternative_reference,
                "alternative_reference": told.reference,
            }
            return right(replace(exchange, annotation=told.model_copy(update=other)))

    Backwards.__module__ = meaning.__name__
    of = built["meaning"]
    built["meaning"] = Backwards(of.key, of.packaged, of.pieces, of.baseline, of.sentences)


def every_answer_is_a(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    patch.setattr(choices, "parsed", lambda reply, options: Answer("A", "letter"))


def unread_answers_are_right(patch: pytest.MonkeyPatch, built: dict[str, Instrument]) -> None:
    guess = Answer("A", "words")
    patch.setattr(choices, "parsed", lambda reply, options: parsed(reply, options) or guess)


BREAKS: dict[str, tuple[Break, ...]] = {
    "understanding": (
        wer_swapped, wer_by_one_word_more, wer_not_normalised, raw_wer_normalised,
    ),
    "overlap": (
        bleu_of_three, bleu_split_at_spaces, bleu_smoothed_otherwise, bleu_without_brevity,
        rouge_of_pairs, rouge_recall, meteor_swapped, meteor_without_chunks,
    ),
    "perceived": (chances_not_in_percent, everything_named),
    "meaning": (likeness_not_normalised, steered_the_other_way),
    "choices": (every_answer_is_a, unread_answers_are_right),
}  # fmt: skip
TINY = {
    "understanding": transcripts_wrong,
    "overlap": replies_wrong,
    "choices": choices_wrong,
}


def all_mistakes(
    name: str, built: Mapping[str, Instrument], exchanges: Mapping[str, Exchange]
) -> list[str]:
    """Of one instrument, in the golden sessions and in the tiny data sets."""
    found = taken({name: built[name]}, exchanges)
    near = SMALL.intersection(named(name, level="near"))
    tiny = TINY[name](built) if name in TINY else []
    return [*mistakes(found, named(name)), *mistakes(found, near, "near"), *tiny]


@pytest.mark.parametrize("name", BREAKS)
def test_a_sound_metric_makes_no_mistake(
    name: str, built: Mapping[str, Instrument], exchanges: Mapping[str, Exchange]
) -> None:
    assert all_mistakes(name, built, exchanges) == []


@pytest.mark.parametrize(
    ("name", "broken"),
    [pytest.param(name, each, id=each.__name__) for name in BREAKS for each in BREAKS[name]],
)
def test_a_broken_metric_is_caught(
    name: str,
    broken: Break,
    built: Mapping[str, Instrument],
    exchanges: Mapping[str, Exchange],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = dict(built)
    broken(monkeypatch, mine)
    assert all_mistakes(name, mine, exchanges)


# -- the document


def test_every_metric_is_explained() -> None:
    text = DOC.read_text("utf-8")
    missing = [m.name for given in every().values() for m in given if f"`{m.name}`" not in text]
    assert not missing


def test_the_table_of_metrics_is_in_step() -> None:
    text = DOC.read_text("utf-8")
    assert text == written(text), "python -m server.scoring.catalogue lays it in anew"


def test_metrics_have_names_of_their_own() -> None:
    names = [measure.name for given in every().values() for measure in given]
    assert len(names) == len(set(names))
