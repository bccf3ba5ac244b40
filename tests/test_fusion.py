"""Voice and words joined: the voice leads, words help where it hesitates, disagreement is told."""

import math
from dataclasses import astuple, replace

import pytest

from models.percept import Affect, Chances, Conflict, Prosody
from models.perception import fusion
from models.perception.fusion import join
from models.perception.labels import EMOTIONS
from models.perception.words import WordsMood

FLAT = dict.fromkeys(EMOTIONS, 1 / len(EMOTIONS))
SPREAD = Affect(0.3, 0.3, 0.25)
QUIET = Prosody()


def chances(**named: float) -> Chances:
    """What is named, and the rest shared among the other emotions."""
    rest = (1 - sum(named.values())) / (len(EMOTIONS) - len(named))
    return {name: named.get(name, rest) for name in EMOTIONS}


def words(valence: float = 3.0, **emotion: float) -> WordsMood:
    affect = Affect(valence, 3.0, 3.0)
    return WordsMood(chances(**emotion), FLAT, affect, SPREAD, affect, SPREAD)


FINE = replace(words(2.8, happy=0.5, neutral=0.25, sad=0.2), claims_well=True)
REALLY_FINE = replace(words(2.6, sad=0.35, angry=0.2), claims_well=True)
FURIOUS = words(2.2, angry=0.8)
DELIGHTED = words(3.8, happy=0.85)
PLAIN = words(3.0, neutral=0.9)
UNCLEAR = words(3.0, happy=0.3, sad=0.3, neutral=0.3)

CONFLICTS = {
    "'I'm fine' said sadly": (chances(sad=0.8), FINE, 0.0, ("happy", "sad")),
    "'I'm fine' said sobbing": (chances(sad=0.4, neutral=0.4), FINE, 0.9, ("happy", "sad")),
    "'no, really, I'm fine' said angrily": (
        chances(angry=0.8),
        REALLY_FINE,
        0.0,
        ("neutral", "angry"),
    ),
    "'I'm fine' said calmly": (chances(neutral=0.9), FINE, 0.0, None),
    "'I'm fine' said any way": (FLAT, FINE, 0.0, None),
    "plain words said sobbing": (chances(sad=0.5), PLAIN, 0.8, ("neutral", "sad")),
    "happy words said with disgust": (
        chances(disgust=0.75),
        DELIGHTED,
        0.0,
        ("happy", "disgust"),
    ),
    "angry words said laughing": (chances(happy=0.8), FURIOUS, 0.0, ("angry", "happy")),
    "happy words and a voice between anger and disgust": (
        chances(angry=0.45, disgust=0.4),
        DELIGHTED,
        0.0,
        ("happy", "angry"),
    ),
    "angry words said calmly": (chances(neutral=0.9), FURIOUS, 0.0, None),
    "angry words said angrily": (chances(angry=0.9), FURIOUS, 0.0, None),
    "sad words said sobbing": (chances(sad=0.9), words(2.0, sad=0.8), 0.9, None),
    "plain words said sadly": (chances(sad=0.9), PLAIN, 0.0, None),
    "happy words and an unsure voice": (chances(sad=0.4, neutral=0.35), DELIGHTED, 0.0, None),
    "unclear words and a sad voice": (chances(sad=0.9), UNCLEAR, 0.0, None),
    "happy words and a surprised voice": (chances(surprise=0.9), DELIGHTED, 0.0, None),
    "no words and a sobbing voice": (chances(sad=0.9), None, 0.9, None),
}


@pytest.mark.parametrize(
    ("voice", "said", "sobbing", "expected"), CONFLICTS.values(), ids=CONFLICTS.keys()
)
def test_a_conflict_is_told_when_both_are_clear_and_opposed(
    voice: Chances, said: WordsMood | None, sobbing: float, expected: tuple[str, str] | None
) -> None:
    conflict = join(voice, said, QUIET, sobbing=sobbing).conflict
    assert (conflict and (conflict.words, conflict.voice)) == expected
    assert conflict is None or fusion.CLEAR <= conflict.strength <= 1


def test_a_conflict_is_as_strong_as_both_sides_are_sure() -> None:
    mild = join(chances(sad=0.7), words(happy=0.7), QUIET).conflict
    strong = join(chances(sad=0.95), DELIGHTED, QUIET).conflict
    assert isinstance(mild, Conflict) and isinstance(strong, Conflict)
    assert mild.strength < 0.8 < strong.strength


# --- emotion


def test_without_words_the_voice_stands() -> None:
    voice = chances(sad=0.5, angry=0.2)
    assert join(voice, None, QUIET).emotion == voice


@pytest.mark.parametrize("said", [FINE, FURIOUS, DELIGHTED, PLAIN, UNCLEAR])
@pytest.mark.parametrize("voice", [chances(sad=0.9), FLAT, chances(happy=1.0)])
def test_chances_still_add_up(voice: Chances, said: WordsMood) -> None:
    joined = join(voice, said, QUIET).emotion
    assert tuple(joined) == EMOTIONS
    assert math.isclose(sum(joined.values()), 1)


def test_words_tip_a_voice_that_hesitates() -> None:
    voice = chances(angry=0.4, happy=0.4)
    assert join(voice, FURIOUS, QUIET).emotion["angry"] > 0.45
    assert join(voice, DELIGHTED, QUIET).emotion["happy"] > 0.45


def test_words_do_not_overrule_a_sure_voice() -> None:
    joined = join(chances(sad=0.95), DELIGHTED, QUIET).emotion
    assert joined["sad"] > 0.945


def test_words_alone_never_make_an_emotion_sure() -> None:
    certain = words(1.5, angry=0.994)
    assert max(join(FLAT, certain, QUIET).emotion.values()) < 0.6


def test_plain_words_leave_the_voice_nearly_as_it_was() -> None:
    voice = chances(sad=0.4, neutral=0.3)
    joined = join(voice, words(neutral=0.97), QUIET).emotion
    assert all(abs(joined[name] - voice[name]) < 0.02 for name in EMOTIONS)


def test_words_that_say_only_what_is_common_say_nothing() -> None:
    usual = chances(happy=0.4, neutral=0.2)
    said = replace(words(), emotion=usual, prior=usual)
    voice = chances(sad=0.4, angry=0.3)
    assert join(voice, said, QUIET).emotion == pytest.approx(voice)


def test_an_emotion_the_voice_cannot_hear_is_not_made_up_from_words() -> None:
    voice = {name: 1 / 6 for name in EMOTIONS if name != "surprise"}
    joined = join(voice, words(surprise=0.9), QUIET).emotion
    assert "surprise" not in joined
    assert math.isclose(sum(joined.values()), 1)


# --- affect


SHAPES = {
    "anger is unpleasant, aroused and in command": ("angry", "-++"),
    "sadness is unpleasant, drained and powerless": ("sad", "---"),
    "fear is unpleasant, aroused and powerless": ("fear", "-+-"),
    "happiness is pleasant, aroused and in command": ("happy", "+++"),
    "a neutral voice is in the middle": ("neutral", "000"),
}


@pytest.mark.parametrize(("emotion", "signs"), SHAPES.values(), ids=SHAPES.keys())
def test_a_voice_s_affect_follows_from_its_emotion(emotion: str, signs: str) -> None:
    affect = join(chances(**{emotion: 1.0}), None, QUIET).expressed
    assert affect is not None
    for value, sign in zip(astuple(affect), signs, strict=True):
        assert (value < 3 if sign == "-" else value > 3) if sign != "0" else value == 3


def test_each_side_is_told_by_its_own_view() -> None:
    said = replace(FINE, writer=Affect(2.0, 3.0, 3.0), reader=Affect(4.0, 3.0, 3.0))
    mood = join(chances(neutral=0.9), said, QUIET)
    assert mood.expressed is not None and mood.perceived is not None
    assert mood.expressed.valence < 3 < mood.perceived.valence


def test_words_count_more_when_the_voice_hesitates() -> None:
    said = words(4.0)

    def moved(voice: Chances) -> float:
        alone, both = join(voice, None, QUIET).expressed, join(voice, said, QUIET).expressed
        assert alone is not None and both is not None
        return (both.valence - alone.valence) / (4.0 - alone.valence)

    assert moved(chances(sad=0.98)) < 0.35 < moved(chances(sad=0.5, happy=0.45))


def test_words_that_are_unsure_count_less() -> None:
    sure, unsure = words(4.5), replace(words(4.5), writer_spread=Affect(2.0, 2.0, 2.0))
    far, near = (join(chances(sad=0.9), said, QUIET).expressed for said in (sure, unsure))
    assert far is not None and near is not None and far.valence > near.valence


def test_without_a_voice_the_words_stand_and_without_both_nothing_is_said() -> None:
    mood = join({}, DELIGHTED, QUIET)
    assert mood.expressed == DELIGHTED.writer and mood.perceived == DELIGHTED.reader
    assert mood.emotion == {} and mood.conflict is None
    nothing = join({}, None, QUIET)
    assert nothing.expressed is None and nothing.perceived is None


LIVELY = Prosody(f0_range=16.0, speaking_rate=6.5, loudness=-14.0)
DULL = Prosody(f0_range=2.0, speaking_rate=2.5, loudness=-40.0)


def arousal(prosody: Prosody) -> float:
    affect = join(chances(neutral=1.0), None, prosody).expressed
    assert affect is not None
    return affect.arousal


def test_a_lively_voice_is_a_little_more_aroused_and_a_dull_one_less() -> None:
    assert 2.7 <= arousal(DULL) < 2.9 < 3.1 < arousal(LIVELY) <= 3.3


def test_the_nudge_is_bounded_whatever_was_measured() -> None:
    absurd = Prosody(f0_range=500.0, speaking_rate=90.0, loudness=80.0)
    assert arousal(absurd) <= 3 + fusion.NUDGE


def test_nothing_measured_moves_nothing() -> None:
    assert arousal(QUIET) == 3


def test_prosody_moves_arousal_alone() -> None:
    moved, still = (join(chances(sad=0.8), FINE, p).expressed for p in (LIVELY, QUIET))
    assert moved is not None and still is not None
    assert (moved.valence, moved.dominance) == (still.valence, still.dominance)
    assert moved.arousal > still.arousal
