"""People with consents of every kind before a server that dies, and the checks that tell."""

from dataclasses import replace
from pathlib import Path

import pytest

from server.consent import Consent
from tests.marked import Sought, Track, Words, prints, word
from tests.recorded_people import simulate
from tests.simulated_loudspeaker import Loudspeaker
from tests.simulated_person import planned

EVERYTHING = Consent(transcript=True, audio=True, research=True)


@pytest.mark.slow
def test_every_sample_that_was_allowed_is_kept_and_not_one_byte_that_was_not(
    tmp_path: Path,
) -> None:
    found = simulate(16, 1, 10, 20, tmp_path, lambda step: None)
    assert found["failed"] == []
    assert found["people"] == 16 and found["kills"] == 1
    assert found["user samples right"] >= found["user samples due"] > 0
    assert found["reply samples due"] > 0
    assert found["exported rows"] > 0
    assert found["index rows"] == found["folders"] > 0
    assert found["forbidden runs sought"] > 0


def test_a_tenth_of_a_second_is_found_again_wherever_it_lies() -> None:
    one, other = (Track(seed, 3).whole(72_000, [(0, 36_000)]) for seed in (1, 2))
    sought = Sought.of([prints(one)])
    for begin in (5_001, 40_003):  # spoken, and not
        leaked = one[begin : begin + 2_400]
        assert sought.found_in(b"abc" + leaked.tobytes() + b"d") > 0
        assert sought.found_in_samples(leaked) > 0
    assert sought.found_in(other.tobytes()) == 0
    assert sought.found_in_samples(other) == 0


def test_no_two_words_are_the_same_and_none_looks_like_an_id() -> None:
    words = {word(seed, count) for seed in range(50) for count in range(50)}
    assert len(words) == 2500
    assert all(each.isalpha() and len(each) == 16 for each in words)


def test_a_word_may_be_kept_only_while_the_transcript_may() -> None:
    words = Words(1)
    early, rule = words.new(), words.new("set")
    words.consent(EVERYTHING)
    kept, name = words.new(), words.new("never")
    assert words.sorted(1) == ({rule, kept}, {early, name})
    words.consent(replace(EVERYTHING, transcript=False))
    late = words.new()
    assert words.sorted(2) == (set(), {early, rule, kept, name, late})
    assert words.sorted(1) == ({rule, kept, late}, {early, name})  # had the second been lost


def test_a_loudspeaker_knows_which_sample_sounded_when() -> None:
    speaker = Loudspeaker()
    speaker.created({"id": "one"})
    speaker.receive("one", bytes(2 * 1000))
    assert speaker.play(0, 480) == []  # it waits for more, so as not to stutter
    speaker.receive("one", bytes(2 * 1000))
    assert [at for _, at in speaker.play(480, 1500)] == [1980]
    ((reply, at),) = speaker.play(1980, 1500)  # and runs dry in the middle
    assert (reply.played, at) == (2000, 2480)
    speaker.receive("one", bytes(2 * 4000))
    assert speaker.play(2480, 200) == []
    speaker.hold()
    assert speaker.play(3480, 1000) == []
    speaker.resume()
    ((reply, at),) = speaker.play(4480, 1000)
    assert (reply.played, at) == (3000, 5480)
    speaker.stop()
    speaker.receive("one", bytes(2 * 4000))
    assert speaker.play(5480, 1000) == [] and not speaker.busy


def test_a_loudspeaker_plays_no_reply_in_the_middle_of_another() -> None:
    speaker = Loudspeaker()
    for reply in ("one", "two"):
        speaker.created({"id": reply})
        speaker.receive(reply, bytes(2 * 2000))
    speaker.complete("two")
    speaker.play(0, 2100)  # the first one runs dry
    speaker.receive("one", bytes(2 * 500))
    speaker.complete("one")
    assert speaker.play(2100, 200) == []  # so soon it would stutter
    played = [(reply.response_id, at) for reply, at in speaker.play(2500, 1000)]
    assert played == [("one", 3000), ("two", 3500)]


def test_people_are_of_every_kind() -> None:
    plans = [planned(number, 60, 180) for number in range(200)]
    kinds = {"unasked", "refused", "given", "later", "withdrawn", "again"}
    assert {plan.kind for plan in plans} == kinds
    assert {plan.ending for plan in plans} == {"hang_up", "drop", "stay"}
    assert len({consent for plan in plans for _, consent in plan.consents}) == 8
    assert all(60 <= plan.seconds <= 180 for plan in plans)
    assert plans[7] == planned(7, 60, 180)
