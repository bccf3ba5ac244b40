"""What was heard beside the words, put into words."""

from dataclasses import replace
from typing import Any

import pytest

from models.cue import LIKELY, OF_THE_PLACE, OF_THE_USER, SURE, cue
from models.perceiver_off import unknown
from models.percept import Conflict, Percept
from models.perception.labels import BEYOND, DIMENSIONS

NOTHING = unknown(1.0)


def percept(*unsure: str, **fields: Any) -> Percept:
    return replace(NOTHING, **fields, unknown=unsure)


@pytest.mark.parametrize(
    ("heard", "remark"),
    [
        (NOTHING, ""),
        (percept(), ""),
        (percept(emotion={"sad": 0.7, "neutral": 0.3}), "[The user sounds sad]"),
        (percept(emotion={"neutral": 0.9, "sad": 0.1}), ""),
        (percept(emotion={"sad": LIKELY - 0.01}), ""),
        (percept("emotion", emotion={"sad": 0.9}), ""),
        (
            percept(emotion={"sad": 0.7}, speed={"slow": 0.8}, environment={"rain": 0.9}),
            "[The user sounds sad and speaks slowly, and it is raining]",
        ),
        (
            percept("speed", emotion={"sad": 0.7}, speed={"slow": 0.8}, events={"sigh": 0.8}),
            "[The user sounds sad and sighs]",
        ),
        (percept(environment={"rain": 0.9}), "[It is raining]"),
        (percept("weather", environment={"rain": 0.9, "dog": 0.7}), "[A dog barks]"),
        (percept(environment={"rain": 0.7, "wind": 0.8}), "[It is windy]"),
        (
            percept(environment={"rain": 0.7, "dog": 0.7}),
            "[It is raining and a dog barks]",
        ),
        (percept(volume={"whisper": 0.9}), "[The user is whispering]"),
        (percept(physiological={"sobbing": 0.9}), "[The user is crying]"),
        (percept(events={"scream": 0.9}), "[The user screams]"),
        (percept("nonverbal", events={"scream": 0.9}), ""),
        (percept(gender={"female": 1.0}, age={"adult": 1.0}), ""),
        (percept(age={"child": SURE - 0.01}), ""),
        (percept(age={"child": SURE}), "[The user sounds like a child]"),
        (percept(age={"elderly": 0.9}), "[The user sounds elderly]"),
        (
            percept(conflict=Conflict("neutral", "sad", 0.8), emotion={"sad": 0.9}),
            "[The user uses calm words but sounds sad]",
        ),
        (
            percept(conflict=Conflict("happy", "fear", 0.8), events={"sigh": 0.9}),
            "[The user uses happy words but sounds fearful and sighs]",
        ),
        (
            percept(conflict=Conflict("happy", "sad", LIKELY - 0.1), emotion={"sad": 0.9}),
            "[The user sounds sad]",
        ),
        (percept("emotion", conflict=Conflict("happy", "sad", 0.9)), ""),
        (
            percept(
                emotion={"angry": 0.9},
                physiological={"breath": 0.9},
                events={"cough": 0.9},
                volume={"shout": 0.9},
                environment={"rain": 0.9},
            ),
            "[The user sounds angry, is out of breath and coughs]",
        ),
    ],
)
def test_what_stands_out_is_one_remark(heard: Percept, remark: str) -> None:
    assert cue(heard) == remark


def test_everything_that_can_be_heard_has_words_except_gender() -> None:
    remarks = {**OF_THE_USER, **OF_THE_PLACE}
    assert remarks.keys() == DIMENSIONS.keys() - {"gender"}
    for name, worded in remarks.items():
        beyond = BEYOND.get(DIMENSIONS[name].field, ())
        assert worded.keys() == {*DIMENSIONS[name].attributes, *beyond}
