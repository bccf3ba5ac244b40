"""A style in words, and words as a style."""

from dataclasses import replace
from typing import Any, Literal

import pytest

from models.instructions import CONTOURS, EMOTIONS, MANNERS, Manner, instructions, styled_by
from models.style import PLAIN, REPLY_EMOTIONS, Style
from models.styles import styled


def test_there_are_words_for_every_reply_emotion() -> None:
    assert set(EMOTIONS) == set(REPLY_EMOTIONS)


def test_a_voice_is_told_nothing_about_its_own_manner() -> None:
    assert instructions(PLAIN) == ""
    assert instructions(Style(pace=1.04, pitch=0.3, loudness=-1.0)) == ""


def test_instructions_read_as_a_person_would_give_them() -> None:
    style = Style(
        emotion="comforting", pace=0.88, loudness=-3.0, stress=("you", "safe"), contour="fall"
    )
    assert instructions(style) == (
        "Speak in a comforting, caring tone; slowly; softly. "
        "Stress the words you, safe. End on a falling tone."
    )


@pytest.mark.parametrize("emotion", REPLY_EMOTIONS)
def test_an_emotion_comes_back_from_its_words(emotion: str) -> None:
    for style in (styled(emotion), Style(emotion=emotion, pace=0.7, loudness=-9.0)):
        assert styled_by(instructions(style)).emotion == emotion
    assert styled_by(EMOTIONS[emotion][0]) == styled(emotion)


@pytest.mark.parametrize("manner", MANNERS, ids=lambda manner: manner.phrase)
def test_a_manner_comes_back_from_its_words(manner: Manner) -> None:
    change: dict[str, Any] = {manner.field: manner.value}
    style = replace(PLAIN, emotion="sad", **change)
    assert manner.phrase in instructions(style)
    assert getattr(styled_by(instructions(style)), manner.field) == manner.value


@pytest.mark.parametrize("contour", CONTOURS)
def test_stress_and_contour_come_back_from_their_words(
    contour: Literal["fall", "level", "rise"],
) -> None:
    style = replace(PLAIN, contour=contour, stress=("don't", "ever"))
    assert styled_by(instructions(style)) == style


@pytest.mark.parametrize(
    ("told", "emotion", "changes"),
    [
        ("Sound cheerful and talk fast!", "happy", {"pace": 1.15}),
        ("Please whisper, in a soothing way.", "comforting", {"loudness": -9.0}),
        ("Speak VERY SLOWLY and softly.", "neutral", {"pace": 0.7, "loudness": -4.0}),
        ("A deep, monotone voice", "neutral", {"pitch": -1.5, "range": 0.7}),
        ("Don’t sound angry, be calm.", "comforting", {}),
        ("Sad, but not loud.", "sad", {}),
        ("without sounding too excited", "neutral", {}),
        ("Speak like a pirate at breakfast.", "neutral", {}),
        ("", "neutral", {}),
    ],
)
def test_other_peoples_words_are_understood_where_they_are_plain(
    told: str, emotion: str, changes: dict[str, float]
) -> None:
    style = styled_by(told)
    assert style.emotion == emotion
    for manner in MANNERS:
        expected = changes.get(manner.field, getattr(styled(emotion), manner.field))
        assert getattr(style, manner.field) == expected


@pytest.mark.parametrize(
    ("told", "emotion", "changes"),
    [
        ("Do not be sad, angry or loud", "neutral", {}),
        ("Don't be sad, angry, loud.", "neutral", {}),
        ("Not sad, angry, or loud, but fast.", "neutral", {"pace": 1.15}),
        ("Stop whispering", "neutral", {}),
        ("neither slow nor fast", "neutral", {}),
        ("Avoid anger, sadness, and shouting.", "neutral", {}),
        ("Do not shout or speak in a very angry tone.", "neutral", {}),
        ("Rather than sad, sound happy.", "happy", {}),
        ("not sad, speak happily", "happy", {}),
        ("Don't be sad, be happy or loud.", "happy", {"loudness": 4.0}),
        ("Don't be loud and speak happily.", "happy", {}),
        ("Never sad, always cheerful.", "happy", {}),
        ("Not too fast, warm and friendly.", "pleasant", {}),
        ("Not only sad: loud.", "sad", {"loudness": 4.0}),
    ],
)
def test_what_is_taken_back_is_so_to_the_end_of_its_list_and_no_further(
    told: str, emotion: str, changes: dict[str, float]
) -> None:
    assert styled_by(told) == replace(styled(emotion), **changes)  # type: ignore[arg-type]


def test_a_contour_can_be_taken_back() -> None:
    assert styled_by("Don't end on a rising tone.") == PLAIN


@pytest.mark.parametrize(
    "told",
    [
        "Stress the words 'never' and 'again'.",
        "Stress the words “never” and “again”!",
        "Stress the words ‘never again’.",
        "Stress the words never and again.",
    ],
)
def test_words_to_stress_may_be_quoted(told: str) -> None:
    assert styled_by(told) == replace(PLAIN, stress=("never", "again"))


def test_words_to_stress_ask_for_nothing_else() -> None:
    assert styled_by("Stress the words angry, don't.") == replace(PLAIN, stress=("angry", "don't"))
    told = "Stress the word 'don’t', and speak sadly."
    assert styled_by(told) == replace(styled("sad"), stress=("don't",))
