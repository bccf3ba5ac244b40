"""Pictures of speech and silence, and what the detector says of them."""

import numpy as np
import pytest

from models.types import FRAME, Samples
from server.endings import Ending
from server.turns import (
    SilenceGrew,
    SpeechEnded,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TurnDetector,
    TurnEvent,
    TurnOptions,
)

MARKS = {SpeechStarted: "S", SpeechPaused: "P", SpeechResumed: "R", SilenceGrew: "G"}


def loudness(frame: Samples) -> float:
    return float(np.abs(frame).max())


def mark(event: TurnEvent | None) -> str:
    if event is None:
        return "-"
    return "E" if isinstance(event, SpeechEnded) else MARKS[type(event)]


def hear(picture: str, options: TurnOptions, verdict: float | None = None) -> str:
    """`x` is a voiced frame, `~` one half sure, `.` a silent one; 32 ms each.

    With a verdict, the judge gives it one frame after each pause.
    """
    ear = TurnDetector(loudness, options)
    marks, ask = "", False
    for picture_frame in picture:
        level = {"x": 1.0, "~": 0.4, ".": 0.0}[picture_frame]
        said = mark(ear.hear(np.full(FRAME, level, np.float32)))
        if ask and verdict is not None and said == "-" and ear.judged(verdict):
            said = "E"
        ask = said in "PG"
        marks += said
    return marks


FIXED = TurnOptions(silence_ms=200)
JUDGED = TurnOptions(eagerness="high")


def test_a_turn_starts_with_a_tenth_of_a_second_of_voice_and_ends_after_its_silence() -> None:
    assert hear("...xxxxx........", FIXED) == ("-----S----P---E-"[:16]), (
        "three voiced frames start it, three silent ones pause it, seven end it"
    )


def test_a_click_is_no_speech() -> None:
    assert hear("...x....xx......x...", FIXED) == "-" * 20


def test_three_voiced_frames_of_four_are_speech() -> None:
    assert hear("..xx.x..", FIXED)[5] == "S"


@pytest.mark.parametrize(("voice", "frames"), [(1.0, 1), (0.8, 1), (0.7, 2), (0.5, 2)])
def test_over_a_reply_one_sure_frame_is_enough_or_two_voiced_ones(
    voice: float, frames: int
) -> None:
    ear = TurnDetector(loudness, FIXED)
    ear.alert = True
    for _ in range(frames - 1):
        assert ear.hear(np.full(FRAME, voice, np.float32)) is None
    assert isinstance(ear.hear(np.full(FRAME, voice, np.float32)), SpeechStarted)


def test_over_a_reply_too_a_frame_must_pass_the_threshold_that_was_set() -> None:
    ear = TurnDetector(loudness, TurnOptions(threshold=0.9))
    ear.alert = True
    assert [ear.hear(np.full(FRAME, 0.85, np.float32)) for _ in range(4)] == [None] * 4


def test_how_much_of_a_voice_was_heard_is_known_of_each_utterance_anew() -> None:
    ear = TurnDetector(loudness, FIXED)
    for level in (0.0, 0.7, 0.9, 1.0, 0.4, 0.6):  # 0.4 goes on as a voice, but is none by itself
        ear.hear(np.full(FRAME, level, np.float32))
    assert ear.voice == pytest.approx(0.7 + 0.9 + 1.0 + 0.6, abs=1e-6)
    while not isinstance(ear.hear(np.zeros(FRAME, np.float32)), SpeechEnded):
        pass
    for level in (0.8, 0.8, 0.8):
        ear.hear(np.full(FRAME, level, np.float32))
    assert ear.voice == pytest.approx(2.4, abs=1e-6)


def test_once_speaking_half_sure_frames_count_as_voice() -> None:
    assert "E" not in hear("xxx" + "~" * 20, FIXED)
    assert hear("~~~~~~~~", FIXED) == "--------"


def test_a_breath_pauses_and_resumes() -> None:
    assert hear("xxxx...xxx", FIXED) == "--S---PR--"


def test_a_verdict_of_finished_ends_the_turn_at_200_ms() -> None:
    assert hear("xxxx" + "." * 10, JUDGED, verdict=0.9) == "--S---P---E---"


def test_a_verdict_that_only_leans_to_the_end_is_given_longer() -> None:
    assert hear("xxxx" + "." * 20, JUDGED, verdict=0.5).index("E") == 3 + 480 // 32


def test_an_unfinished_voice_is_waited_for_the_longer_the_less_the_words_are_whole() -> None:
    waits = {}
    for words in Ending:
        ear = TurnDetector(loudness, JUDGED)
        for _ in range(4):
            ear.hear(np.ones(FRAME, np.float32))
        silent, asked = 0, 0
        while not isinstance(event := ear.hear(np.zeros(FRAME, np.float32)), SpeechEnded):
            silent += 1
            if isinstance(event, SpeechPaused | SilenceGrew):  # judged anew as the pause grows
                asked += 1
                ear.judged(0.1, words)
        waits[words] = (silent * 32 // 100 * 100, asked)
    assert waits == {
        Ending.COMPLETE: (400, 1),
        Ending.WAVERING: (900, 2),
        Ending.ANNOUNCING: (900, 2),
        Ending.OPEN: (900, 2),
        Ending.TRAILING: (1900, 3),
    }


def test_without_a_verdict_the_limit_holds_too() -> None:
    assert "E" in hear("xxxx" + "." * 70, JUDGED)


@pytest.mark.parametrize("words", [Ending.TRAILING, Ending.ANNOUNCING])
def test_words_after_which_more_must_come_are_given_longer(words: Ending) -> None:
    ear = TurnDetector(loudness, JUDGED)
    for _ in range(4):
        ear.hear(np.ones(FRAME, np.float32))
    silent = 0
    while True:
        silent += 1
        event = ear.hear(np.zeros(FRAME, np.float32))
        if isinstance(event, SpeechPaused):
            assert ear.judged(0.9, words) is None
        if isinstance(event, SpeechEnded):
            break
    assert 1_000 <= silent * 32 < 1_064


@pytest.mark.parametrize(("words", "ms"), [(Ending.COMPLETE, 640), (Ending.ANNOUNCING, 1_024)])
def test_a_whole_sentence_ends_the_turn_though_the_voice_sounds_unfinished(
    words: Ending, ms: int
) -> None:
    ear = TurnDetector(loudness, TurnOptions())
    for _ in range(4):
        ear.hear(np.ones(FRAME, np.float32))
    silent = 0
    while not isinstance(event := ear.hear(np.zeros(FRAME, np.float32)), SpeechEnded):
        silent += 1
        if isinstance(event, SpeechPaused):
            ear.judged(0.1, words)
    assert silent * 32 == pytest.approx(ms, abs=32)


def test_a_verdict_that_comes_late_ends_the_turn_at_once() -> None:
    ear = TurnDetector(loudness, JUDGED)
    for level in [1.0] * 4 + [0.0] * 10:
        ear.hear(np.full(FRAME, level, np.float32))
    assert isinstance(ear.judged(0.9), SpeechEnded)


def test_a_verdict_on_a_pause_that_is_over_is_ignored() -> None:
    ear = TurnDetector(loudness, JUDGED)
    for level in [1.0] * 4 + [0.0] * 3 + [1.0]:
        ear.hear(np.full(FRAME, level, np.float32))
    assert ear.judged(0.9) is None


def test_the_utterance_holds_its_pre_roll_and_says_where_it_was() -> None:
    ear = TurnDetector(loudness, TurnOptions(prefix_ms=96, silence_ms=200))
    ended = None
    for number, level in enumerate([0.0] * 20 + [1.0] * 10 + [0.0] * 8):
        event = ear.hear(np.full(FRAME, level * (1 + number / 1000), np.float32))
        ended = event if isinstance(event, SpeechEnded) else ended
    assert ended is not None
    assert (ended.start, ended.end) == (20 * FRAME, 30 * FRAME)
    before = np.flatnonzero(ended.utterance)[0] // FRAME
    assert 3 <= before <= 6
    assert len(ended.utterance) == (before + 10 + 7) * FRAME


def test_a_turn_without_end_is_cut() -> None:
    ear = TurnDetector(loudness, FIXED)
    frames = 0
    while not isinstance(ear.hear(np.ones(FRAME, np.float32)), SpeechEnded):
        frames += 1
        assert frames < 11_000
    assert frames * 0.032 > 295
