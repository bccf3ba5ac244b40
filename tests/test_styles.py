"""The table of styles: each emotion its own, and every mixture within what the voice bears."""

from itertools import combinations, product

import pytest

from models.percept import Affect
from models.style import MIDDLE, PLAIN, REPLY_EMOTIONS
from models.styles import ROWS, styled
from models.voicing import LIMITS, within_limits


@pytest.mark.parametrize("emotion", REPLY_EMOTIONS)
def test_every_reply_emotion_has_a_style_within_limits(emotion: str) -> None:
    assert styled(emotion).emotion == emotion
    assert within_limits(ROWS[emotion]) == ROWS[emotion] == styled(emotion)


def test_the_neutral_style_is_the_voices_own() -> None:
    assert styled("neutral") == PLAIN


@pytest.mark.parametrize("pair", list(combinations(REPLY_EMOTIONS, 2)), ids=" and ".join)
def test_two_emotions_differ_in_more_than_one_way(pair: tuple[str, str]) -> None:
    one, other = (styled(emotion).to_json() for emotion in pair)
    heard = set(LIMITS) - {"onset"}
    assert sum(one[name] != other[name] for name in heard) >= 3


def test_joy_is_not_told_by_pitch_alone() -> None:
    happy = styled("happy")
    assert happy.pitch <= 1.0
    assert happy.range > 1.2
    assert happy.pace > 1.0
    assert happy.tilt > 0


@pytest.mark.parametrize("emotion", REPLY_EMOTIONS)
def test_no_strength_is_the_voices_own_way_and_half_lies_between(emotion: str) -> None:
    none, half, full = (styled(emotion, strength=strength) for strength in (0.0, 0.5, 1.0))
    assert none.to_json() | {"emotion": "neutral"} == PLAIN.to_json()
    for name in LIMITS:
        middle = (getattr(none, name) + getattr(full, name)) / 2
        assert getattr(half, name) == pytest.approx(middle)
    assert half.target.arousal == pytest.approx((MIDDLE.arousal + full.target.arousal) / 2)


def test_a_target_too_has_no_effect_without_strength() -> None:
    none = styled("neutral", Affect(5.0, 5.0, 5.0), strength=0.0)
    assert none == PLAIN


def test_a_more_aroused_target_is_faster_louder_and_brighter() -> None:
    calm, excited = (styled("pleasant", Affect(3.7, arousal, 3.0)) for arousal in (2.0, 4.5))
    for name in ("pace", "pitch", "range", "loudness", "tilt"):
        assert getattr(calm, name) < getattr(excited, name)
    assert calm.pause > excited.pause
    assert excited.target == Affect(3.7, 4.5, 3.0)


def test_a_happier_target_is_livelier() -> None:
    grim, glad = (styled("neutral", Affect(valence, 3.0, 3.0)) for valence in (1.5, 4.5))
    assert grim.range < glad.range
    assert grim.tilt < glad.tilt


@pytest.mark.parametrize("emotion", REPLY_EMOTIONS)
def test_no_target_and_no_strength_leaves_the_limits(emotion: str) -> None:
    for valence, arousal, strength in product((-9.0, 1.0, 5.0, 99.0), (-9.0, 5.0), (1.0, 7.0)):
        style = styled(emotion, Affect(valence, arousal, 3.0), strength)
        assert within_limits(style) == style


def test_an_unknown_emotion_is_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match="unknown reply emotion 'smug'; choose one of: neutral"):
        styled("smug")
