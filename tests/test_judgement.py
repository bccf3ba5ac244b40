"""From what was heard to a percept, with what was heard made up."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from models.percept import Affect, Percept, Prosody
from models.perception.hearing import Card, Heard, Window
from models.perception.judgement import Evidence, judge
from models.perception.labels import DIMENSIONS
from models.perception.prosody import Voice
from models.perception.soundness import Soundness
from models.perception.stretch import HOP, PIECE, Measured, Part
from models.perception.windows import WINDOW
from models.perception.words import WordsMood
from models.types import EAR_RATE
from tests.made_network import CARD

CLEAR = Soundness(
    seconds=3.0,
    speech_seconds=2.5,
    silent=False,
    clipped=0.0,
    wordless=False,
    crowded=False,
    snr=30.0,
)
MUTE = Voice(Prosody())  # nothing could be measured
SPOKEN = Voice(
    Prosody(f0_mean=120.0, speaking_rate=4.0, pause_ratio=0.1, snr=30.0, speech_seconds=2.5),
    voicing=0.6,
    brightness=-12.0,
    liveliness=30.0,
    hissing=0.0,
)
EVEN = dict.fromkeys(CARD.names["emotion"], 0.25)


def part(start: int = 0, size: int = WINDOW, loudness: float = 1.0) -> Part:
    """`loudness` is per sample, against the other parts."""
    pieces = range(start, start + max(size - PIECE, 0) + 1, HOP)
    return Part(start, size, loudness * size, Window(np.zeros(0, np.float32), []), pieces)


def heard(
    of: Part,
    logits: Mapping[str, Sequence[float]] | None = None,
    pieces: Mapping[int, Sequence[float]] | None = None,
) -> tuple[Part, Heard]:
    """What the heads say to the whole window, 0 where nothing is given; and the sounds' head to
    the piece of each number, where silence is the rule."""
    rows = {
        head: np.zeros((1 + len(of.pieces), len(names)), np.float32)
        for head, names in CARD.names.items()
    }
    rows["sounds"][1:] = -9
    for head, row in (logits or {}).items():
        rows[head][0] = row
    for number, row in (pieces or {}).items():
        rows["sounds"][1 + number] = row
    return of, rows


def percept(
    *parts: tuple[Part, Heard],
    soundness: Soundness = CLEAR,
    voice: Voice = SPOKEN,
    words: WordsMood | None = None,
    card: Card = CARD,
) -> Percept:
    seconds = sum(of.size for of, _ in parts) / EAR_RATE
    return judge(Evidence(parts, Measured(voice, soundness), words, seconds), card)


# --- chances


def test_the_exclusive_dimensions_add_up_to_one_and_name_what_the_card_names() -> None:
    logits = {"emotion": [3, -2, 90, -90], "gender": [700, -700], "age": [0, 0, 0]}
    found = percept(heard(part(), logits))
    for chances in (found.emotion, found.gender, found.age, found.volume, found.speed):
        assert sum(chances.values()) == pytest.approx(1)
        assert all(0 <= chance <= 1 for chance in chances.values())
    assert tuple(found.emotion) == CARD.names["emotion"]
    assert found.gender["male"] == pytest.approx(1)
    assert found.age["child"] == pytest.approx(1 / 3)


def test_a_temperature_makes_chances_less_sure() -> None:
    cooled = replace(CARD, temperature={**CARD.temperature, "gender": 4.0, "sounds": 4.0})
    said = heard(part(), {"gender": [2, 0], "sounds": [0, 0, 4, 0]})
    hot, cool = percept(said), percept(said, card=cooled)
    assert hot.gender["male"] == pytest.approx(1 / (1 + np.exp(-2)))
    assert cool.gender["male"] == pytest.approx(1 / (1 + np.exp(-0.5)))
    assert cool.environment["rain"] == pytest.approx(1 / (1 + np.exp(-1)))


def test_a_part_counts_by_its_length() -> None:
    long, short = part(size=WINDOW), part(WINDOW, size=WINDOW // 3)
    found = percept(heard(long, {"gender": [4, 0]}), heard(short, {"gender": [0, 4]}))
    assert found.gender["male"] == pytest.approx(1 / (1 + np.exp(-2)))


def test_a_part_that_is_all_but_silent_has_no_say() -> None:
    spoken, pause = part(), part(WINDOW, loudness=0.005)
    alone = percept(heard(spoken, {"emotion": [0, 3, 0, 0]}))
    found = percept(
        heard(spoken, {"emotion": [0, 3, 0, 0]}), heard(pause, {"emotion": [9, 0, 0, 0]})
    )
    assert found.emotion == pytest.approx(alone.emotion)


def test_an_event_counts_where_it_was_surest_and_surroundings_on_the_whole() -> None:
    one = heard(part(), {"sounds": [4, -4, 4, 0]})
    other = heard(part(WINDOW), {"sounds": [-4, -4, -4, 0]})
    found = percept(one, other)
    assert found.events["laughter"] > 0.9
    assert found.environment["rain"] == pytest.approx(0.5)
    assert found.physiological["sobbing"] < 0.1


# --- moments


def test_neighbouring_pieces_of_one_sound_are_one_moment_across_windows_too() -> None:
    laughs = {0: [2, -9, -9, -9]}
    one = heard(part(), pieces={3: [1, -9, -9, -9], 4: [3, -9, -9, -9]})
    found = percept(one, heard(part(WINDOW), pieces=laughs))
    (moment,) = found.moments
    assert (moment.name, moment.start, moment.end) == ("laughter", 1.5, 4.0)
    assert moment.probability == pytest.approx(1 / (1 + np.exp(-3)))


def test_moments_apart_stay_apart_and_come_in_order() -> None:
    laughs, sobs, rains = [2, -9, -9, -9], [-9, 2, -9, -9], [-9, -9, 9, 9]
    found = percept(heard(part(), pieces={4: laughs, 0: laughs, 2: sobs, 1: rains}))
    told = [(moment.name, moment.start, moment.end) for moment in found.moments]
    assert told == [("laughter", 0.0, 1.0), ("sobbing", 1.0, 2.0), ("laughter", 2.0, 3.0)]


def test_a_moment_ends_no_later_than_the_sound() -> None:
    found = percept(heard(part(size=EAR_RATE * 6 // 10), pieces={0: [2, -9, -9, -9]}))
    assert [(moment.start, moment.end) for moment in found.moments] == [(0.0, 0.6)]


# --- doubts


def test_a_clear_voice_is_doubted_only_in_what_the_weights_lack() -> None:
    sure = {"emotion": [5, 0, 0, 0], "gender": [5, 0], "age": [0, 0, 5]}
    found = percept(heard(part(), sure))
    assert found.unknown == ("location", "human_sounds", "sudden_events")


@pytest.mark.parametrize("name", ["emotion", "gender", "age"])
def test_an_answer_below_what_the_card_calls_sure_is_unknown(name: str) -> None:
    sure = {"emotion": [5, 0, 0, 0], "gender": [5, 0], "age": [0, 0, 5]}
    level = [0.0] * len(CARD.names[name])
    assert name not in percept(heard(part(), sure)).unknown
    assert name in percept(heard(part(), {**sure, name: level})).unknown


def test_what_could_not_be_measured_is_unknown_and_even() -> None:
    found = percept(heard(part()), voice=MUTE)
    assert {"volume", "speed", "physiological"} <= set(found.unknown)
    assert found.volume == pytest.approx(dict.fromkeys(("shout", "whisper", "normal"), 1 / 3))
    assert found.speed == pytest.approx(dict.fromkeys(("fast", "slow", "normal"), 1 / 3))


@pytest.mark.parametrize(
    ("soundness", "voice"),
    [
        (CLEAR, SPOKEN),
        (CLEAR, MUTE),
        (replace(CLEAR, silent=True), MUTE),
        (replace(CLEAR, wordless=True), MUTE),
    ],
)
def test_the_names_the_weights_cannot_hear_are_the_same_whatever_is_heard(
    soundness: Soundness, voice: Voice
) -> None:
    found = percept(heard(part()), soundness=soundness, voice=voice)
    lacking = ["fear", "disgust", "surprise", "cough", "sigh", "yawn", "moan", "wind"]
    assert found.not_heard[: len(lacking)] == lacking
    assert not {"hoarse", "breath", "tired", "sobbing", "rain", "laughter"} & set(found.not_heard)


@pytest.mark.parametrize(
    "soundness", [replace(CLEAR, silent=True), replace(CLEAR, seconds=0.1, speech_seconds=0.1)]
)
def test_where_there_was_nothing_to_hear_nothing_looks_like_an_answer(soundness: Soundness) -> None:
    logits = {"emotion": [9, 0, 0, 0], "gender": [9, 0], "age": [0, 9, 0], "sounds": [9, 9, 9, 9]}
    found = percept(heard(part(), logits, {0: [9, 9, 9, 9]}), soundness=soundness, voice=MUTE)
    assert found.unknown == tuple(DIMENSIONS)
    assert found.emotion == pytest.approx(EVEN)
    assert set(found.gender.values()) == {0.5}
    for chances in (found.events, found.environment, found.physiological):
        assert chances and not any(chances.values())
    assert found.moments == ()


# --- words

FINE = WordsMood(
    emotion={"happy": 0.9, "neutral": 0.1, **dict.fromkeys(("sad", "angry"), 0.0)},
    prior=EVEN,
    writer=Affect(4, 3, 3),
    writer_spread=Affect(0.5, 0.5, 0.5),
    reader=Affect(4, 3, 3),
    reader_spread=Affect(0.5, 0.5, 0.5),
    claims_well=True,
)


def test_happy_words_in_a_sad_voice_are_a_conflict_only_if_the_voice_can_be_relied_on() -> None:
    sad = heard(part(), {"emotion": [-2, 6, 0, 0]})
    found = percept(sad, words=FINE)
    assert found.conflict and (found.conflict.words, found.conflict.voice) == ("happy", "sad")
    assert percept(sad).conflict is None
    crowded = percept(sad, words=FINE, soundness=replace(CLEAR, crowded=True))
    assert "emotion" in crowded.unknown and crowded.conflict is None


def test_a_head_that_is_beyond_all_doubt_gives_a_chance_and_no_warning() -> None:
    found = percept(heard(part(), {"sounds": [-4000, 0, 4000, 0]}))
    assert all(0 <= chance <= 1 for chance in found.events.values())
