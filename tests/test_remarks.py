"""What was heard becomes a sentence a model can read."""

from dataclasses import replace

import pytest

from models.percept import Percept
from models.perception.labels import DIMENSIONS, EVENTS
from models.thinking.noticing import AGE_CLEAR, AGE_FAINT, CLEAR, FAINT, notice
from models.thinking.plan import Heard
from models.thinking.remarks import MOST, OF_THE_PLACE, OF_THE_USER, remark
from tests.fakes import known


def test_the_remarks_know_every_name_but_the_genders_and_the_unremarkable() -> None:
    for dimension in DIMENSIONS.values():
        if dimension.name == "gender":
            continue
        table = OF_THE_PLACE if dimension.field == "environment" else OF_THE_USER
        wanted = EVENTS if dimension.name == "nonverbal" else dimension.attributes
        assert {*table[dimension.name]} >= {*wanted}, dimension.name


@pytest.mark.parametrize(
    ("percept", "sentence"),
    [
        (known(emotion={"sad": 0.8, "neutral": 0.2}), "The user sounds sad."),
        (known(emotion={"sad": 0.5, "neutral": 0.4}), "The user perhaps sounds sad."),
        (known(emotion={"sad": 0.4, "neutral": 0.3}), ""),
        (known(emotion={"neutral": 0.9}), ""),
        (known(volume={"whisper": 0.9}), "The user is whispering."),
        (known(physiological={"sobbing": 0.9}), "The user is crying."),
        (known(events={"scream": 0.9}), "The user screams."),
        (known(gender={"male": 1.0}), ""),
        (known(age={"child": AGE_CLEAR}), "The user sounds like a child."),
        (known(age={"elderly": AGE_FAINT}), "The user perhaps sounds elderly."),
        (known(age={"elderly": CLEAR - 0.01}), ""),
        (
            known(emotion={"sad": 0.9}, events={"sigh": 0.8}),
            "The user sounds sad and sighs.",
        ),
        (
            known(speed={"slow": 0.9}, emotion={"sad": 0.7}, events={"sigh": 0.75}),
            "The user speaks slowly, sighs and sounds sad.",
        ),
    ],
)
def test_a_remark_says_what_stands_out_and_how_surely(percept: Percept, sentence: str) -> None:
    assert remark(notice(percept)) == sentence


def test_a_place_is_told_after_the_speaker() -> None:
    heard = (Heard("emotion", "sad", 0.9, True), Heard("weather", "rain", 0.95, True))
    assert remark(heard) == "The user sounds sad, and it is raining."


def test_no_more_is_told_than_helps() -> None:
    names = ("sad", "sigh", "slow", "tired", "rain")
    heard = [Heard("x", name, 0.9, True) for name in names]
    assert remark(heard).count(" and ") + remark(heard).count(", ") == MOST - 1


def test_what_is_unknown_is_not_noticed_however_likely() -> None:
    likely = replace(known(emotion={"sad": 0.99}), unknown=("emotion",))
    assert notice(likely) == ()


def test_a_gender_is_never_noticed() -> None:
    assert notice(known(gender={"female": 1.0, "male": 0.0})) == ()


def test_how_sure_something_is_goes_with_it() -> None:
    (faint,) = notice(known(emotion={"angry": FAINT}))
    (clear,) = notice(known(emotion={"angry": CLEAR}))
    assert (faint.sure, clear.sure) == (False, True)
    assert (faint.confidence, clear.confidence) == (FAINT, CLEAR)


def test_without_a_percept_nothing_is_noticed() -> None:
    assert notice(None) == ()
