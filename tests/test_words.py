import numpy as np
import pytest

from models.types import EAR_RATE, AudioChunk
from server.endings import Ending, ending
from server.words import Words, agreement


class Dictation:
    """A Transcriber that says what it is told, one hypothesis a time."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.lengths: list[float] = []

    async def transcribe(self, audio: AudioChunk) -> str:
        self.lengths.append(audio.duration)
        return self.texts.pop(0)


def audio(seconds: float) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    return np.zeros(round(seconds * EAR_RATE), np.float32)


def test_hypotheses_agree_up_to_the_word_that_may_still_grow() -> None:
    assert agreement(["I", "went", "to"], ["I", "went", "to", "the"]) == 3
    assert agreement(["I", "went", "to"], ["I", "went", "to"]) == 2
    assert agreement(["I", "want."], ["I", "want", "to"]) == 2
    assert agreement([], ["I"]) == 0
    assert agreement(["He", "went"], ["I", "went"]) == 0


async def test_what_was_told_is_never_taken_back() -> None:
    words = Words(Dictation("I wen", "I went to", "I went to the", "Eye went to the shop"))
    told = ""
    for seconds in (0.5, 1.0, 1.5, 2.0):
        await words.listen(audio(seconds))
        news = words.news()
        assert (told + news).startswith(told)
        told += news
    assert told == "I went to"
    assert words.text == "Eye went to the shop"


async def test_a_long_stretch_before_a_pause_is_not_heard_again() -> None:
    transcriber = Dictation("first half.", "second", "second half.")
    words = Words(transcriber)
    await words.listen(audio(3.0))
    words.settle()
    await words.listen(audio(4.0))
    assert await words.listen(audio(5.0)) == "first half. second half."
    assert transcriber.lengths == [3.0, 1.0, 2.0]


async def test_a_short_stretch_is_heard_again_with_what_follows() -> None:
    transcriber = Dictation("well", "well I never")
    words = Words(transcriber)
    await words.listen(audio(1.0))
    words.settle()
    assert await words.listen(audio(2.0)) == "well I never"
    assert transcriber.lengths == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went to the", Ending.TRAILING),
        ("because", Ending.TRAILING),
        ("and um", Ending.TRAILING),
        ("Well,", Ending.WAVERING),
        ("the job I applied for.", Ending.WAVERING),
        ("I think that's, um...", Ending.TRAILING),
        ("So I.", Ending.TRAILING),
        ("I went home.", Ending.COMPLETE),
        ("Where are you from?", Ending.COMPLETE),
        ("Stop!", Ending.COMPLETE),
        ("yes", Ending.OPEN),
        ("", Ending.OPEN),
        ("Chapter thirty-four.", Ending.ANNOUNCING),
        ("That was fun. Number 2:", Ending.ANNOUNCING),
        ("Chapter twelve. The end of order.", Ending.COMPLETE),
        ("The last chapter.", Ending.COMPLETE),
        ("Step one is done.", Ending.COMPLETE),
        ("First.", Ending.ANNOUNCING),
        ("I came first.", Ending.COMPLETE),
        ("Rather odd, commented Mr. Jenks.", Ending.ANNOUNCING),
        ("I don't mind, said my aunt happily.", Ending.ANNOUNCING),
        ("It will rain, she said.", Ending.ANNOUNCING),
        ("That is what she said.", Ending.COMPLETE),
        ("I was tired, said no and left.", Ending.COMPLETE),
        ("Did you hear what she said?", Ending.COMPLETE),
    ],
)
def test_words_tell_whether_more_must_follow(text: str, expected: Ending) -> None:
    assert ending(text) is expected
