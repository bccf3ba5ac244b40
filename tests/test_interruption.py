import pytest

from server.interruption import Doubt, Verdict, content_of, repeats

SPOKEN = 10.0  # frames that are a voice
COUGHED = 3.0


@pytest.mark.parametrize(
    "text",
    ["", "Mm-hmm.", "mm hm", "Yeah.", "Okay, right.", "Uh-huh", "I see.", "oh wow", "Hmmm", "Yes."],
)
def test_someone_who_hums_along_says_nothing_of_their_own(text: str) -> None:
    assert content_of(text) == []


def final(text: str, reply: str = "") -> Verdict | None:
    return Doubt(start=0).weigh(text, reply, SPOKEN, final=True)


@pytest.mark.parametrize(
    "text", ["Stop.", "No.", "What?", "yeah but why", "The red one.", "Hold on"]
)
def test_someone_who_says_something_takes_the_word(text: str) -> None:
    assert final(text) is Verdict.REAL


@pytest.mark.parametrize("text", ["Mama,", "Her.", "Well,", "Mm-hmm.", ""])
def test_one_short_word_of_no_weight_may_be_a_hum_misheard(text: str) -> None:
    assert final(text) is Verdict.FALSE


def test_our_own_words_heard_back_are_no_interruption() -> None:
    reply = "That sounds hard. I'm sorry to hear about your dog."
    assert repeats("sorry to hear", reply)
    assert not repeats("sorry to bother you", reply)
    assert not repeats("hard", reply), "one word may well be the user's own"
    assert final("sorry to hear", reply) is Verdict.FALSE


def test_words_decide_while_they_are_spoken_once_they_are_heard_twice() -> None:
    doubt = Doubt(start=0)
    assert doubt.weigh("If I, if I", "", SPOKEN, final=False) is None
    assert doubt.weigh("I have", "", SPOKEN, final=False) is None
    assert doubt.weigh("I have a", "", SPOKEN, final=False) is Verdict.REAL


def test_a_word_that_asks_for_the_floor_decides_at_once() -> None:
    assert Doubt(start=0).weigh("Wait", "", SPOKEN, final=False) is Verdict.REAL


@pytest.mark.parametrize("text", ["Thank you.", "It is.", "Hey.", "This, no,"])
def test_words_heard_in_a_cough_take_nothing(text: str) -> None:
    assert Doubt(start=0).weigh(text, "", COUGHED, final=True) is Verdict.FALSE


def test_a_word_heard_in_a_cough_does_not_count_when_the_reply_has_waited_long_enough() -> None:
    doubt = Doubt(start=0)
    assert doubt.weigh("This", "", COUGHED, final=False) is None
    assert doubt.late(16_000, COUGHED) is Verdict.FALSE


def test_a_whispered_plea_takes_the_word_once_it_is_heard_twice() -> None:
    doubt = Doubt(start=0)
    assert doubt.weigh("Stop.", "", COUGHED, final=False) is None
    assert doubt.weigh("Stop it.", "", COUGHED, final=True) is Verdict.REAL


def test_but_may_be_a_yawn_unless_more_follows() -> None:
    assert final("But.") is Verdict.FALSE
    assert final("But I") is Verdict.REAL


def test_the_reply_waits_no_longer_than_700_ms() -> None:
    doubt = Doubt(start=16_000)
    assert doubt.late(16_000 + 9_500, SPOKEN) is None
    assert doubt.late(16_000 + 11_200, SPOKEN) is Verdict.FALSE
    doubt.weigh("Paris", "", SPOKEN, final=False)
    assert doubt.late(16_000 + 11_200, SPOKEN) is Verdict.REAL, (
        "a sound that long, with a word in it"
    )
    doubt.holding = False
    assert doubt.late(16_000 + 99_000, SPOKEN) is None


def test_the_sound_is_looked_at_early_and_often() -> None:
    doubt = Doubt(start=0)
    assert not doubt.due(4_000, listened=0)
    assert doubt.due(4_096, listened=0)
    assert not doubt.due(6_000, listened=4_096)
    assert doubt.due(6_144, listened=4_096)
