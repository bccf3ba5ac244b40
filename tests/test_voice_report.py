"""The report on the voice's styles: its arithmetic and its tables."""

import numpy as np
import pytest

from models import voice_report
from models.style import REPLY_EMOTIONS
from models.voice_report import SENTENCES, Spoken, markdown, summary, told_apart, word_errors


def spoken(style: str, sentence: str, shift: float, heard: str | None = None) -> Spoken:
    """A clip that stands out from others by a shift of everything."""
    return Spoken(
        style=style,
        sentence=sentence,
        f0=200 * 2 ** (shift / 12),
        f0_range=10 + shift,
        loudness=-25 + shift,
        rate=5 + shift,
        brightness=-10 + shift,
        quality={"dnsmos": 3.3 - shift / 10},
        heard=sentence if heard is None else heard,
        emotion="neutral",
        valence=3 + shift / 10,
        arousal=3 + shift / 10,
        ears=[shift, len(sentence)],
    )


def everything() -> list[Spoken]:
    return [
        spoken(style, sentence, shift)
        for shift, style in enumerate(REPLY_EMOTIONS)
        for sentence in SENTENCES
    ]


def test_styles_that_differ_are_told_apart_on_sentences_not_heard_before() -> None:
    rng = np.random.default_rng(5)
    features = rng.normal(0, 0.1, (3, 8, 4)) + np.arange(3)[:, None, None]
    assert told_apart(features).tolist() == np.diag([8, 8, 8]).tolist()


def test_styles_that_are_alike_are_taken_for_each_other() -> None:
    rng = np.random.default_rng(5)
    features = rng.normal(0, 0.1, (2, 400, 4))
    right = told_apart(features).trace() / 800
    assert right == pytest.approx(0.5, abs=0.1)


def test_words_misheard_are_counted_whatever_their_case_and_marks() -> None:
    sentence = "She will come back, with the car."
    assert word_errors([spoken("sad", sentence, 0, "she will come back with the car")]) == 0
    assert word_errors([spoken("sad", sentence, 0, "He will come back with the car.")]) == 1 / 7
    assert word_errors([spoken("sad", sentence, 0, "")]) == 1


def test_a_style_that_loses_too_much_quality_is_marked_in_the_table() -> None:
    found = {**summary(everything()), "joins": {}}
    rows = [line.split(" | ") for line in markdown(found).splitlines()[2:13]]
    missed = [row[0].removeprefix("| ") for row in rows if "(miss)" in row[6]]
    assert missed == list(REPLY_EMOTIONS[3:])  # from 0.3 on; 0.25 is allowed


def test_a_judge_that_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(voice_report, "find_spec", lambda name: None)
    assert voice_report.dnsmos() is None
    assert voice_report.distillmos() is None
