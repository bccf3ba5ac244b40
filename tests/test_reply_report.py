"""The replies that are read side by side: fixed words, fixed cues, honest counts."""

import json
from pathlib import Path

import pytest

from models.perception.labels import DIMENSIONS, EVENTS
from models.perception.words import Encoder
from models.thinking.noticing import notice
from models.thinking.report import Case, Given, cases, counted, percept


def test_there_are_thirty_cases_whose_cues_are_heard_surely() -> None:
    found = cases()
    assert len(found) == 30
    for case in found:
        for dimension, name in case.cue.items():
            assert name in {*DIMENSIONS[dimension].attributes, *EVENTS}
        assert {each.name for each in notice(percept(case.cue)) if each.sure} == {
            *case.cue.values()
        }


def test_a_sample_of_echomind_brings_its_cues_and_references(tmp_path: Path) -> None:
    variants = {
        "target": {"attribute": "Sigh", "reference_response": "I heard that."},
        "neutral": {"attribute": "neutral", "reference_response": "Good."},
    }
    sample = tmp_path / "sample.json"
    sample.write_text(json.dumps({"dialogues": [{"script": "All is well.", "variants": variants}]}))
    target, neutral = cases(sample=sample)[30:]
    assert target == Case("All is well.", {"nonverbal": "sigh"}, "I heard that.")
    assert neutral == Case("All is well.", {}, "Good.")


def test_what_is_counted_tells_good_replies_from_bad_ones() -> None:
    found = [
        Case("My dog died.", {"emotion": "sad"}, "I'm sorry about your dog."),
        Case("My dog died.", {}, "Oh no, your poor dog."),
    ]
    encoder = Encoder()
    good = counted(
        found,
        [Given("That's hard news about your dog.", ""), Given("Your poor dog died?", "")],
        encoder,
    )
    bad = counted(found, [Given("I'm sorry, as an AI I cannot help you.", "")] * 2, encoder)
    assert good["near what was said"] > bad["near what was said"]
    assert good["near the reference"] > bad["near the reference"]
    assert good["ROUGE-L to the reference"] > bad["ROUGE-L to the reference"]
    assert (good["same reply to another cue"], bad["same reply to another cue"]) == (0.0, 1.0)
    assert (good["refuse"], bad["refuse"]) == (0, 2)
    assert (good["apologise"], bad["apologise"]) == (0, 2)


def test_the_report_stays_valid_without_references() -> None:
    figures = counted([Case("Hi.", {}), Case("Hi.", {})], [Given("Hello.", "")] * 2, Encoder())
    assert "near the reference" not in figures
    assert json.loads(json.dumps(figures)) == pytest.approx(figures)
