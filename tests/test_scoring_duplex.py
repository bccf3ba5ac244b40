"""What the two channels of a recording tell: made conversations whose onsets are known."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from models.audio import resample
from models.types import EAR_RATE, WIRE_RATE, AudioChunk
from server.consent import Consent
from server.scoring.annotation import Annotation
from server.scoring.duplex import heard, latency, overlaps, quality, rules, segments, taking_turns
from server.scoring.duplex.behaviour import RESPOND, RESUME, RIGHT, SILENT, behaviour
from server.scoring.duplex.ears import Ears, Networks, Sides, frames_of, spoken_words
from server.scoring.duplex.manner import cutoffs, manner
from server.scoring.duplex.segments import FRAME_SEC, Segment
from server.scoring.duplex.underruns import laid, reported, sounding
from server.scoring.duplex.words_timed import TimedWord, during, per_minute, spread
from server.scoring.exchange import Conversation, Exchange, Pcm
from server.scoring.score import JudgeNamed, Score, Unavailable, Unscored
from server.scoring.settings import Settings
from server.sessions.exchanges import RecordedTurn, exchanges
from server.sessions.format import Line
from tests.scoring_parts import ALL, STARTED, conversation, silence, turn

SPEECH = Path(__file__).parent / "data" / "speech"
Spans = Sequence[tuple[float, float]]  # seconds; multiples of 0.16 are whole frames


class Told:
    """Ears that are told where speech is, and which words they would hear."""

    key = "told"

    def __init__(self, user: Spans, reply: Spans, words: str | None = None) -> None:
        self.user, self.reply, self._words = user, reply, words
        self.listened = 0
        self.asked: list[AudioChunk] = []

    def chances(self, conversation: Conversation) -> tuple[Any, Any]:
        self.listened += 1
        audio = conversation.session.audio
        assert audio is not None
        count = int(audio.samples / WIRE_RATE / FRAME_SEC + 1e-9)
        return framed(self.user, count), framed(self.reply, count)

    def words(self, sound: AudioChunk) -> list[str]:
        self.asked.append(sound)
        if self._words is None:
            raise Unscored("the recogniser's weights are missing")
        return self._words.split()


def framed(spans: Spans, count: int) -> Any:
    chances = np.zeros(count, np.float32)
    for start, end in spans:
        chances[round(start / FRAME_SEC) : round(end / FRAME_SEC)] = 1
    return chances


def sounded(seconds: float, user: Spans, reply: Spans) -> Pcm:
    """Noise where somebody speaks, digital silence elsewhere."""
    pcm = silence(seconds)
    noise = np.random.default_rng(1).integers(-6000, 6000, len(pcm)).astype(np.int16)
    for channel, spans in enumerate((user, reply)):
        for start, end in spans:
            at = slice(round(start * WIRE_RATE), round(end * WIRE_RATE))
            pcm[at, channel] = noise[at]
    return pcm


def made(
    turns: Sequence[RecordedTurn],
    user: Spans,
    reply: Spans,
    seconds: float = 16.0,
    words: str | None = None,
    lines: Sequence[Line] = (),
    consent: Consent = ALL,
    **annotation: Any,
) -> tuple[Told, list[Exchange]]:
    """The exchanges of a recording, the first of them annotated."""
    sound = sounded(seconds, user, reply)
    whole = conversation(turns, sound, lines=lines, consent=consent)
    found = [
        Exchange(whole, each.number, each.user, each.reply,
                 annotation=Annotation(**annotation) if each.number == 0 else Annotation())
        for each in exchanges(turns)
    ]  # fmt: skip
    return Told(user, reply, words), found


def turns_of(told: Told, exchange: Exchange, **people: Any) -> dict[str, Score]:
    return taking_turns.TakingTurns(Ears(told), people).measure(exchange)


def over(told: Told, exchange: Exchange) -> dict[str, Score]:
    return overlaps.Overlaps(Ears(told)).measure(exchange)


def line(at: float, event: dict[str, Any], source: str = "client") -> Line:
    position = round(at * WIRE_RATE)
    return Line.model_validate(
        {"n": 0, "at": position, "wall": STARTED, "from": source, "event": event}
    )


SAID = turn(0, "user", 1.6, 4.8, "how are you")
ANSWERED = turn(1, "assistant", 6.4, 9.6, "I am doing very well thank you")


# -- segments


def test_frames_of_speech_become_segments_with_their_times() -> None:
    found = segments.segments(framed([(1.6, 3.2), (4.8, 6.4)], 300))
    assert [(each.start, each.end) for each in found] == [
        pytest.approx((1.6, 3.2)),
        pytest.approx((4.8, 6.4)),
    ]


def test_a_voice_that_wavers_is_one_segment_but_a_weak_one_begins_none() -> None:
    chances = framed([(0.32, 1.6)], 100)
    chances[20:25] = 0.4  # below the threshold, within the hysteresis
    assert [each.length for each in segments.segments(chances)] == [pytest.approx(1.28)]
    assert segments.segments(np.full(100, 0.49, np.float32)) == []


def test_gaps_are_bridged_up_to_the_limit_and_short_speech_is_dropped() -> None:
    chances = framed(
        [(0.32, 0.96), (1.056, 1.6), (3.2, 3.328)], 200
    )  # gaps of 3 frames, 4 frames long
    assert len(segments.segments(chances, gap=0.096)) == 1
    assert len(segments.segments(chances, gap=0.09)) == 2
    assert len(segments.segments(chances, shortest=0.128)) == 2


def test_speech_at_the_very_end_is_a_segment_and_silence_is_none() -> None:
    assert segments.segments(framed([(2.56, 3.2)], 100)) == [Segment(2.56, 3.2)]
    assert segments.segments(np.zeros(50, np.float32)) == []
    assert segments.segments(np.zeros(0, np.float32)) == []


def test_merging_keeps_the_later_end_of_nested_segments() -> None:
    found = segments.merged([Segment(3, 4), Segment(0, 2), Segment(1, 1.5)], 0.5)
    assert found == [Segment(0, 2), Segment(3, 4)]
    assert segments.merged([Segment(0, 1), Segment(1.6, 2)], 0.6) == [Segment(0, 2)]


def test_what_touches_does_not_overlap_and_one_sample_does() -> None:
    sample = 1 / WIRE_RATE
    assert segments.reaching([Segment(0, 1)], 1, 2) == []
    (one,) = segments.reaching([Segment(0, 1 + sample)], 1, 2)
    assert overlaps.Overlap(one, Segment(1, 2)).length == pytest.approx(sample)


# -- words in time


def test_words_are_spread_over_speech_by_their_letters() -> None:
    timed = spread(["aa", "bbbb", "cc"], [Segment(1, 2), Segment(3, 4)])  # 0.25 s a letter
    assert [(word.start, word.end) for word in timed] == [
        (1.0, 1.5),
        (1.5, 2.0),  # half of it before the pause, half after: the first counts
        (3.5, 4.0),
    ]
    assert spread([], [Segment(0, 1)]) == spread(["a"], []) == []


def test_words_a_minute_need_two_words() -> None:
    words = [TimedWord("a", 0, 1), TimedWord("b", 2, 3)]
    assert per_minute(words) == pytest.approx(40)
    assert per_minute(words[:1]) is None


def test_a_word_that_is_being_said_at_the_border_is_within() -> None:
    words = [TimedWord("a", 0, 1), TimedWord("b", 1, 2), TimedWord("c", 2, 3)]
    assert [word.text for word in during(words, 0.5, 2)] == ["a", "b"]


def test_dashes_and_dots_are_no_words() -> None:
    assert spoken_words("Well — I am 3 … you ?") == ["Well", "I", "am", "3", "you"]


# -- the benchmark's rules


@pytest.mark.parametrize(
    ("count", "span", "expected"),
    [(0, 0, False), (3, 0.99, False), (4, 0.99, True), (3, 1.0, True), (1, 1.2, True)],
)
def test_three_words_within_a_second_take_nothing_over(
    count: int, span: float, expected: bool
) -> None:
    words = [TimedWord("w", span * n / count, span * (n + 1) / count) for n in range(count)]
    assert rules.takes_over(words) is expected


def words_in(segment: Segment, count: int) -> list[TimedWord]:
    return spread(["word"] * count, [segment])


@pytest.mark.parametrize(
    ("length", "count", "expected"),
    [(0.9, 2, False), (0.9, 3, True), (0.9, 4, True), (1.0, 1, True), (2.9, 2, True)],
)
def test_a_backchannel_is_short_in_time_and_words(
    length: float, count: int, expected: bool
) -> None:
    one = Segment(0, length)
    assert rules.backchannels([one], words_in(one, count)).took_over is expected


def test_the_last_short_segment_decides_and_a_long_one_ends_it() -> None:
    first, last = Segment(0, 2), Segment(3, 3.5)
    words = [*words_in(first, 6), *words_in(last, 1)]
    assert rules.backchannels([first, last], words) == rules.Backchannels(False, (last,))
    long = Segment(1, 4.1)
    ended = rules.backchannels([Segment(0, 0.5), long, last], [])
    assert ended == rules.Backchannels(True, (Segment(0, 0.5),))


def test_whoever_takes_the_floor_has_not_nodded_before() -> None:
    # The authors' script forgets what it noted once a segment of up to 3 s takes over: "mm", then
    # 2.5 s of eight words are no backchannel at all, and one that follows is the only one.
    nod, spoken, again = Segment(1, 1.5), Segment(4, 6.5), Segment(8, 8.5)
    words = [*words_in(nod, 1), *words_in(spoken, 8), *words_in(again, 1)]
    assert rules.backchannels([nod, spoken], words) == rules.Backchannels(True, ())
    assert rules.backchannels([nod, spoken, again], words) == rules.Backchannels(False, (again,))
    assert rules.backchannels([nod, again], words) == rules.Backchannels(False, (nod, again))


def test_the_distance_of_timings_is_that_of_scipy() -> None:
    # scipy 1.17.1: jensenshannon([.1, .2, .7], [.5, .3, .2]) and of disjoint ones sqrt(ln 2)
    assert rules.jensen_shannon(np.array([1.0, 2, 7]), np.array([0.5, 0.3, 0.2])) == pytest.approx(
        0.3890476983, abs=1e-9
    )
    apart = rules.jensen_shannon(np.array([1.0, 0]), np.array([0.0, 1]))
    assert apart == pytest.approx(np.log(2) ** 0.5)
    assert rules.jensen_shannon(np.array([2.0, 2]), np.array([1.0, 1])) == 0


def test_backchannels_when_people_have_theirs_are_near_and_none_are_furthest() -> None:
    # One second: six bins of 0.2 s (the authors add one), the event in the bins 2 and 3.
    event = Segment(0.45, 0.7)
    same = [0, 0, 0.5, 0.5, 0, 0]
    assert rules.timing_distance([event], 1.0, same) == pytest.approx(0, abs=1e-4)
    assert rules.timing_distance([event], 1.0, [1, 0, 0, 0, 0, 1]) == pytest.approx(
        np.log(2) ** 0.5, abs=1e-4
    )
    assert rules.timing_distance([], 1.0, same) == 1


# -- taking turns


def test_a_reply_after_the_turn_takes_it_with_the_latency_between_the_voices() -> None:
    told, (one,) = made([SAID, ANSWERED], [(1.6, 4.8)], [(6.4, 9.6)])
    found = turns_of(told, one)
    assert found["take_over"].value == 1
    assert found["turn_latency_sec"].value == pytest.approx(1.6)
    assert found["pause_take_over"].unscored == "no pause in the turn"
    assert found["backchannel_freq"].unscored == "another task"
    assert set(found) == {each.name for each in taking_turns.MEASURES}


def test_a_reply_before_the_end_has_no_negative_latency() -> None:
    early = turn(1, "assistant", 4.0, 8.0, "I am doing very well thank you")
    told, (one,) = made([SAID, early], [(1.6, 4.8)], [(4.0, 8.0)])
    assert turns_of(told, one)["turn_latency_sec"].value == 0


def test_a_short_yes_takes_no_turn_and_has_no_latency() -> None:
    short = turn(1, "assistant", 6.4, 7.04, "oh yes")
    told, (one,) = made([SAID, short], [(1.6, 4.8)], [(6.4, 7.04)])
    found = turns_of(told, one)
    assert found["take_over"].value == 0
    assert found["turn_latency_sec"].unscored == "the turn was not taken"


def test_a_yes_too_short_for_the_network_is_found_where_it_sounds() -> None:
    short = turn(1, "assistant", 6.4, 7.04, "yes I really do")
    told, (one,) = made([SAID, short], [(1.6, 4.8)], [(6.4, 7.04)])
    told.reply = []
    assert turns_of(told, one)["take_over"].value == 1  # four words


def test_no_reply_leaves_the_turn_untaken_if_there_was_time_for_one() -> None:
    told, (one,) = made([SAID], [(1.6, 4.8)], [])
    assert turns_of(told, one)["take_over"].value == 0
    told, (one,) = made([SAID], [(1.6, 4.8)], [], seconds=8.0)
    assert turns_of(told, one)["take_over"].unscored == "the recording ends or goes on too soon"


def test_what_is_said_over_a_reply_that_goes_on_is_no_turn_of_its_own() -> None:
    long = turn(1, "assistant", 6.4, 14.4, "a very long reply that goes on and on")
    nod = turn(2, "user", 8.0, 8.64, "mhm")
    told, found = made([SAID, long, nod], [(1.6, 4.8), (8.0, 8.64)], [(6.4, 14.4)])
    assert [each.user is not None for each in found] == [True, True]
    assert turns_of(told, found[0])["take_over"].value == 1
    assert turns_of(told, found[1])["take_over"].unscored == "spoken over a reply"


def test_written_turns_and_greetings_are_no_turns_to_take() -> None:
    written = turn(0, "user", 4.8, 4.8, "hello")
    told, (one,) = made([written, ANSWERED], [], [(6.4, 9.6)])
    assert turns_of(told, one)["take_over"].unscored == "nothing was spoken"
    told, (one,) = made([turn(0, "assistant", 1.6, 3.2, "hello there")], [], [(1.6, 3.2)])
    assert turns_of(told, one)["take_over"].unscored == "nobody said anything"


def test_a_turn_nobody_hears_is_unscored() -> None:
    told, (one,) = made([SAID, ANSWERED], [], [(6.4, 9.6)])
    assert turns_of(told, one)["take_over"].unscored == "no speech found in the turn"


def test_going_on_right_after_the_reply_began_means_it_talked_into_a_pause() -> None:
    began = turn(1, "assistant", 5.12, 5.92, "I am", interrupted=True)
    went_on = turn(2, "user", 5.76, 8.0, "and then")
    told, found = made([SAID, began, went_on], [(1.6, 4.8), (5.76, 8.0)], [(5.12, 5.92)])
    assert turns_of(told, found[0])["pause_take_over"].value == 1
    later = [(1.6, 4.8), (6.4, 8.0)]  # 1.28 s after the onset: an interruption, not a pause
    told, found = made([SAID, began, went_on], later, [(5.12, 5.92)])
    assert turns_of(told, found[0])["pause_take_over"].unscored == "no pause in the turn"


def test_a_reply_that_waits_out_a_pause_does_well() -> None:
    told, (one,) = made([SAID, ANSWERED], [(1.6, 2.4), (2.88, 4.8)], [(6.4, 9.6)])
    assert turns_of(told, one)["pause_take_over"].value == 0


def test_words_are_listened_for_only_where_none_are_logged() -> None:
    told, (one,) = made([SAID, ANSWERED], [(1.6, 4.8)], [(6.4, 9.6)], words="heard")
    turns_of(told, one)
    assert told.asked == []
    silent = turn(1, "assistant", 6.4, 7.2, None)
    told, (one,) = made([SAID, silent], [(1.6, 4.8)], [(6.4, 7.2)], words="one two three four")
    assert turns_of(told, one)["take_over"].value == 1
    assert [round(each.duration, 2) for each in told.asked] == [0.8]
    told, (one,) = made([SAID, silent], [(1.6, 4.8)], [(6.4, 7.2)])
    assert turns_of(told, one)["take_over"].unscored == "the recogniser's weights are missing"


def test_a_conversation_is_listened_to_once() -> None:
    turns = [SAID, ANSWERED, turn(2, "user", 11.2, 12.8, "fine"), turn(3, "assistant", 14.4, 15.2)]
    told, found = made(turns, [(1.6, 4.8), (11.2, 12.8)], [(6.4, 9.6)], words="")
    measuring = taking_turns.TakingTurns(Ears(told), {})
    assert len([measuring.measure(each) for each in found]) == 2
    assert told.listened == 1


def test_without_consent_to_sound_nothing_is_listened_to() -> None:
    words_only = Consent(transcript=True, audio=False, research=True)
    told, (one,) = made([SAID, ANSWERED], [(1.6, 4.8)], [(6.4, 9.6)], consent=words_only)
    with pytest.raises(Unscored, match="no consent to sound"):
        turns_of(told, one)
    assert told.listened == 0


# -- the benchmark's tasks


def test_smooth_turn_taking_counts_from_the_true_end() -> None:
    told, (one,) = made(
        [SAID, ANSWERED], [(1.6, 4.8)], [(6.4, 9.6)], task="turn_taking", speech_end=5 * WIRE_RATE
    )
    found = turns_of(told, one)
    assert found["turn_latency_sec"].value == pytest.approx(1.4)
    assert found["pause_take_over"].unscored == "another task"


@pytest.mark.parametrize(
    ("span", "expected"), [((4.8, 7.2), 1), ((9.12, 12.8), 0), ((12.8, 14.4), 0)]
)
def test_only_what_is_said_before_the_true_end_takes_over_a_pause(
    span: tuple[float, float], expected: int
) -> None:
    # The second begins 0.48 s before the end, with two of its words: that is no taking over.
    spoken = turn(1, "assistant", *span, "right then what about it all now")
    told, found = made(
        [SAID, spoken], [(1.6, 4.0), (6.4, 9.6)], [span],
        task="pause", speech_end=round(9.6 * WIRE_RATE),
    )  # fmt: skip
    assert turns_of(told, found[0])["pause_take_over"].value == expected


def test_backchannels_are_counted_by_the_second_and_held_against_peoples() -> None:
    turns = [SAID, turn(1, "assistant", 3.2, 3.68, "mm"), turn(2, "assistant", 6.4, 6.88, "yeah")]
    people = [0.0] * 51  # of ten seconds, as many bins as ours
    people[16:19] = people[32:35] = [1, 1, 1]  # 3.2 to 3.68 s and 6.4 to 6.88 s
    told, found = made(
        turns, [(0.0, 9.6)], [(3.2, 3.68), (6.4, 6.88), (11.2, 14.4)],
        task="backchannel", item="icc/7", speech_end=10 * WIRE_RATE,
    )  # fmt: skip
    scores = turns_of(told, found[0], **{"7": tuple(people)})
    assert scores["backchannel_take_over"].value == 0
    assert scores["backchannel_freq"].value == pytest.approx(0.2)  # the reply after the end is none
    assert scores["backchannel_jsd"].value == pytest.approx(0, abs=1e-4)
    alone = turns_of(told, found[0])["backchannel_jsd"]
    assert alone.unscored == "no timing of people's backchannels"


def test_peoples_timing_may_come_with_the_item() -> None:
    told, found = made(
        [SAID], [(0.0, 9.6)], [], task="backchannel", speech_end=10 * WIRE_RATE,
        people_timing=(0.5, 0.5),
    )  # fmt: skip
    scores = turns_of(told, found[0])
    assert scores["backchannel_jsd"].value == 1
    assert scores["backchannel_freq"].value == scores["backchannel_take_over"].value == 0


def test_peoples_timing_is_read_as_the_benchmark_ships_it(tmp_path: Path) -> None:
    file = tmp_path / "icc_gt_distribution.json"
    file.write_text(json.dumps({"7": [0.25, 0.75]}))
    people, key = taking_turns.people_timing(file)
    assert people == {"7": (0.25, 0.75)} and "1.0" in key
    file.write_text("[1]")
    with pytest.raises(Unavailable, match="unreadable"):
        taking_turns.people_timing(file)


def test_after_an_interruption_only_later_words_count() -> None:
    turns = [
        SAID,
        turn(1, "assistant", 6.4, 8.0, "I was about to say", interrupted=True),
        turn(2, "user", 7.68, 9.6, "stop"),
        turn(3, "assistant", 11.2, 13.6, "Sorry what would you like"),
    ]
    user, reply = [(1.6, 4.8), (7.68, 9.6)], [(6.4, 8.0), (11.2, 13.6)]
    told, found = made(turns, user, reply, task="interruption", overlap_end=round(9.6 * WIRE_RATE))
    scores = turns_of(told, found[0])
    assert scores["interruption_take_over"].value == 1
    assert scores["interruption_latency_sec"].value == pytest.approx(1.6)
    told, found = made(turns[:3], user, reply[:1], task="interruption", overlap_end=9 * WIRE_RATE)
    scores = turns_of(told, found[0])
    assert scores["interruption_take_over"].value == 0
    assert scores["interruption_latency_sec"].unscored == "the turn was not taken"
    told, found = made(turns[:3], user, reply[:1], task="interruption")
    missing = turns_of(told, found[0])["interruption_take_over"]
    assert missing.unscored == "no true end of the interruption"


# -- being talked over

INTERRUPTED = [
    SAID,
    turn(1, "assistant", 6.4, 8.32, "I was about to say that", interrupted=True),
    turn(2, "user", 7.68, 9.6, "stop"),
    turn(3, "assistant", 11.2, 13.6, "Sorry what would you like me to do"),
]
TALKED_OVER: tuple[Spans, Spans] = ([(1.6, 4.8), (7.68, 9.6)], [(6.4, 8.32), (11.2, 13.6)])


def test_an_overlap_lasts_until_the_reply_stops_and_the_response_comes_after_the_user() -> None:
    told, found = made(INTERRUPTED, *TALKED_OVER)
    scores = over(told, found[0])
    assert scores["stop_latency_sec"].value == pytest.approx(0.64)
    assert scores["stop_latency_sec"].why == "the reply stopped at 1 of 1 overlaps"
    assert scores["response_latency_sec"].value == pytest.approx(1.6)
    assert scores["first_response_sec"].unscored == "another task"
    assert over(told, found[1])["stop_latency_sec"].unscored == "nobody talked over the reply"
    assert set(scores) == {each.name for each in overlaps.MEASURES}


def test_a_reply_that_begins_before_the_user_ends_is_not_talked_over() -> None:
    early = turn(1, "assistant", 4.0, 8.0, "I am doing very well thank you")
    told, found = made([SAID, early], [(1.6, 4.8)], [(4.0, 8.0)])
    assert over(told, found[0])["stop_latency_sec"].unscored == "nobody talked over the reply"


def test_short_gaps_of_either_side_do_not_end_what_they_say() -> None:
    user: Spans = [(1.6, 4.8), (7.68, 8.32), (8.8, 9.6)]  # a gap of 0.48 s: one thing said
    reply: Spans = [(6.4, 7.36), (7.84, 8.96), (11.2, 13.6)]  # the user begins in the gap
    told, found = made(INTERRUPTED, user, reply)
    scores = over(told, found[0])
    assert scores["stop_latency_sec"].value == pytest.approx(8.96 - 7.68)
    assert scores["response_latency_sec"].value == pytest.approx(1.6)


def test_a_reply_that_goes_on_has_no_response_and_no_cut() -> None:
    on = turn(1, "assistant", 6.4, 12.8, "a reply that goes on and on over all of it")
    told, found = made([SAID, on], [(1.6, 4.8), (8.0, 8.64)], [(6.4, 12.8)])
    scores = over(told, found[0])
    assert scores["stop_latency_sec"].value == pytest.approx(0.64)
    assert scores["stop_latency_sec"].why == "the reply stopped at 0 of 1 overlaps"
    assert scores["response_latency_sec"].unscored == "the reply did not stop"
    assert scores["abrupt_cut"].unscored == "the reply did not stop"


def test_a_response_that_the_user_did_not_wait_for_is_none() -> None:
    user = [*TALKED_OVER[0], (10.4, 10.88)]
    told, found = made(INTERRUPTED, user, TALKED_OVER[1])
    assert over(told, found[0])["response_latency_sec"].unscored == "no reply after it"


def test_an_annotated_overlap_is_looked_for_where_it_is_said_to_be() -> None:
    # The user speaks without a pause from 1.6 s on; what talks over the reply begins at 7.68 s.
    told, found = made(
        INTERRUPTED, [(1.6, 9.6)], TALKED_OVER[1], task="user_interruption",
        overlap_start=round(7.68 * WIRE_RATE), overlap_end=round(9.6 * WIRE_RATE),
    )  # fmt: skip
    assert over(told, found[0])["overlap_rate_change"].value == pytest.approx(200 - 187.5)
    late = round(9.0 * WIRE_RATE)
    told, found = made(
        INTERRUPTED, *TALKED_OVER, task="user_interruption", overlap_start=late, overlap_end=None
    )
    scores = over(told, found[0])
    assert scores["abrupt_cut"].unscored == "the reply was not sounding"
    assert scores["first_response_sec"].value == pytest.approx(1.6)
    told, found = made(
        INTERRUPTED, [(1.6, 4.8)], TALKED_OVER[1], task="user_interruption", overlap_start=late
    )
    assert "nobody was heard" in (over(told, found[0])["abrupt_cut"].unscored or "")


def test_of_an_item_every_overlap_and_every_response_counts() -> None:
    # The authors' lists of this item: both speak 4.48-4.8, 7.68-8.32 and 12.16-12.8 s, and the
    # reply begins after 9.6 at 11.2 s and after 12.8 at 14.4 s; its first onset follows nothing.
    turns = [*INTERRUPTED, turn(4, "assistant", 14.4, 15.36, "There you are now")]
    user = [*TALKED_OVER[0], (12.16, 12.8)]
    reply = [(4.48, 8.32), (11.2, 13.6), (14.4, 15.36)]
    for task in ("interruption", *overlaps.TASKS):
        told, found = made(turns, user, reply, task=task)
        scores = over(told, found[0])
        assert scores["stop_latency_sec"].value == pytest.approx((0.32 + 0.64 + 0.64) / 3)
        assert scores["stop_latency_sec"].why == "the reply stopped at 1 of 3 overlaps"
        assert scores["response_latency_sec"].value == pytest.approx((1.6 + 1.6) / 2)
        assert scores["response_latency_sec"].why == "mean of 2"
    told, found = made(turns, user, reply)
    talk = over(told, found[0])
    assert talk["stop_latency_sec"].value == pytest.approx(0.64), "the rest is not over this reply"
    assert talk["response_latency_sec"].why == "mean of 1"


def test_each_onset_is_held_against_the_last_end_before_it() -> None:
    user = [Segment(0, 1), Segment(2, 3), Segment(5, 9)]
    reply = [Segment(0.5, 0.8), Segment(4, 6), Segment(7, 8), Segment(9, 10), Segment(11, 12)]
    # 0.5 follows no end; 4 follows 3, not 1; since 4 nobody has ended at 7, nor at 9 before 9.
    assert segments.gaps(user, reply) == [Segment(3, 4), Segment(9, 11)]


def test_the_pace_is_compared_before_and_after_the_end_of_the_overlap() -> None:
    # Before: six words in 1.92 s, 187.5 a minute; after: eight in 2.4 s, 200.
    told, found = made(INTERRUPTED, *TALKED_OVER)
    change = over(told, found[0])["overlap_rate_change"]
    assert change.value == pytest.approx(200 - 187.5)
    assert change.why == "187.5 → 200.0 words/min"


def test_an_item_is_compared_as_a_whole_whichever_exchange_carries_it() -> None:
    told, found = made(INTERRUPTED, *TALKED_OVER)
    note = Annotation(
        task="interruption",
        overlap_start=round(7.68 * WIRE_RATE),
        overlap_end=round(9.6 * WIRE_RATE),
    )
    last = Exchange(found[1].conversation, 1, found[1].user, found[1].reply, annotation=note)
    scores = over(told, last)
    assert scores["stop_latency_sec"].value == pytest.approx(0.64)
    assert scores["overlap_rate_change"].value == pytest.approx(200 - 187.5)


def test_pitch_and_level_are_compared_before_and_after() -> None:
    told, found = made(INTERRUPTED, *TALKED_OVER)
    pcm = silence(16.0)
    time = np.arange(len(pcm)) / WIRE_RATE
    for (start, end), pitch, size in zip(TALKED_OVER[1], (120.0, 240.0), (4000, 8000), strict=True):
        at = slice(round(start * WIRE_RATE), round(end * WIRE_RATE))
        tone = np.sum([np.sin(2 * np.pi * pitch * n * time[at]) / n for n in range(1, 8)], axis=0)
        pcm[at, 1] = (size * tone).astype(np.int16)
    spoken = Exchange(conversation(INTERRUPTED, pcm), 0, found[0].user, found[0].reply)
    scores = over(told, spoken)
    assert scores["overlap_pitch_change_st"].value == pytest.approx(12, abs=0.1)
    assert scores["overlap_intensity_change_db"].value == pytest.approx(6.02, abs=0.2)
    assert scores["abrupt_cut"].value == 1


class Loudness:
    """A rater that rates how loud a clip is, and knows how long it was."""

    key, judge = "loudness", JudgeNamed("Loudness", "1")

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def rate(self, clip: Any) -> dict[str, Score]:
        self.seconds.append(len(clip) / EAR_RATE)
        return {"dnsmos_ovrl": Score(float(np.sqrt(np.mean(clip**2))))}


def test_the_quality_is_rated_before_and_after_of_speech_alone() -> None:
    told, found = made(INTERRUPTED, *TALKED_OVER)
    rater = Loudness()
    missing = Unavailable("UTMOS needs its weights")
    raters: dict[str, quality.Rater | Unavailable]
    raters = {"overlap_dnsmos_change": rater, "overlap_utmos_change": missing}
    pcm = sounded(16.0, *TALKED_OVER)
    pcm[: round(10 * WIRE_RATE), 1] //= 2
    spoken = Exchange(conversation(INTERRUPTED, pcm), 0, found[0].user, found[0].reply)
    instrument = quality.Quality(Ears(told), raters)
    scores = instrument.measure(spoken)
    # Before: 6.4-8.32 s, after: 11.2-13.6 s, twice as loud; between them nothing sounds.
    assert rater.seconds == [pytest.approx(1.92, abs=0.01), pytest.approx(2.4, abs=0.01)]
    assert scores["overlap_dnsmos_change"].value == pytest.approx(0.0432, rel=0.02)
    assert "→" in scores["overlap_dnsmos_change"].why
    assert scores["overlap_utmos_change"].unscored == "UTMOS needs its weights"
    assert "loudness" in instrument.key and instrument.judge == JudgeNamed("Loudness", "Loudness 1")
    assert set(quality.RATED) == {each.name for each in quality.MEASURES}


def test_the_quality_of_too_little_speech_is_not_rated() -> None:
    rater = Loudness()
    told, found = made(INTERRUPTED[:3], TALKED_OVER[0], TALKED_OVER[1][:1])
    instrument = quality.Quality(Ears(told), {"overlap_dnsmos_change": rater})
    with pytest.raises(Unscored, match="too little speech"):
        instrument.measure(found[0])
    assert rater.seconds == []


@pytest.mark.slow
def test_noise_behind_a_reply_that_was_talked_over_is_heard_by_both_packaged_networks() -> None:
    voice, rate = soundfile.read(SPEECH / "1624-142933-0000.ogg", dtype="float32")
    voice = resample(voice, rate, WIRE_RATE)
    noise = np.random.default_rng(3).normal(0, 600, len(voice))
    told, found = made(INTERRUPTED, *TALKED_OVER)
    pcm = silence(16.0)
    for (start, end), dirt in zip(TALKED_OVER[1], (0.0, 1.0), strict=True):
        first, count = round(start * WIRE_RATE), round((end - start) * WIRE_RATE)
        pcm[first : first + count, 1] = 20_000 * voice[:count] + dirt * noise[:count]
    spoken = Exchange(conversation(INTERRUPTED, pcm), 0, found[0].user, found[0].reply)
    built = quality.build(Settings())
    scores = quality.Quality(Ears(told), built.raters).measure(spoken)
    for name in ("overlap_dnsmos_change", "overlap_distillmos_change"):
        value = scores[name].value
        assert value is not None and value < -0.3, name
    assert "UTMOS needs its weights" in (scores["overlap_utmos_change"].unscored or "")


OVER = Segment(7, 9)


@pytest.mark.parametrize(
    ("reply", "logged", "did"),
    [
        ([(5, 8), (10, 12)], [(5, 8), (10, 12)], RESPOND),  # stopped; another a second later
        ([(5, 8), (10, 12)], [], RESPOND),  # nobody says that it is the same
        ([(5, 8), (10, 12)], [(5, 12)], RESUME),  # held, and let go on
        ([(5, 12)], [(5, 12)], RESUME),  # never minded
        ([(5, 9.4)], [(5, 9.4)], RESUME),  # came to its own end
        ([(5, 9.4), (10, 12)], [(5, 9.4), (10, 12)], RESPOND),  # stopped as they ended
        ([(5, 9.6), (10.2, 12)], [], RESUME),  # went on for longer than a stop takes
        ([(5, 8), (8.6, 8.9), (10, 12)], [], RESUME),  # a pause, and on while they talked
        ([(5, 8), (8.6, 8.9)], [], RESUME),
        ([(5, 8)], [(5, 8)], SILENT),
        ([(5, 8), (15, 16)], [(5, 8), (15, 16)], SILENT),  # that answers what was said next
    ],
)
def test_stopping_and_going_on_are_told_by_when_both_sound(
    reply: Spans, logged: Spans, did: str
) -> None:
    user = [Segment(1, 4), OVER, Segment(13, 14)]
    spans = [[Segment(*span) for span in spans] for spans in (reply, logged)]
    first = max(each for each in spans[0] if each.start < OVER.start)
    assert behaviour(OVER, first, user, *spans).did == did


@pytest.mark.parametrize("task", overlaps.TASKS)
def test_what_is_right_to_do_depends_on_who_talks_over_the_reply(task: Any) -> None:
    marks: dict[str, Any] = {
        "overlap_start": round(7.68 * WIRE_RATE),
        "overlap_end": round(9.6 * WIRE_RATE),
    }
    told, found = made(INTERRUPTED, *TALKED_OVER, task=task, **marks)
    stopped = over(told, found[0])["overlap_behaviour_timed"]
    assert stopped.value == (100 if RIGHT[task] == RESPOND else 0)
    assert stopped.why.startswith("RESPOND: it stopped, and another began after 1.60 s; right")
    on = turn(1, "assistant", 6.4, 12.8, "a reply that goes on and on over all of it")
    told, found = made([SAID, on], TALKED_OVER[0], [(6.4, 12.8)], task=task, **marks)
    went_on = over(told, found[0])["overlap_behaviour_timed"]
    assert went_on.value == (0 if RIGHT[task] == RESPOND else 100)
    told, found = made(INTERRUPTED, *TALKED_OVER)
    plain = over(told, found[0])["overlap_behaviour_timed"]
    assert plain.unscored == "no overlap of Full-Duplex-Bench 1.5"


def test_too_little_speech_after_an_overlap_is_not_compared() -> None:
    told, found = made(INTERRUPTED[:3], TALKED_OVER[0], TALKED_OVER[1][:1])
    scores = over(told, found[0])
    few = "too little speech before or after"
    assert scores["overlap_rate_change"].unscored == few
    assert scores["overlap_pitch_change_st"].unscored == few
    assert scores["response_latency_sec"].unscored == "no reply after it"


def test_a_voice_that_fades_is_not_cut_off_and_one_that_stops_is() -> None:
    noise = np.random.default_rng(2).normal(0, 0.1, WIRE_RATE).astype(np.float32)
    rest = np.zeros(WIRE_RATE // 4, np.float32)
    stopped = np.concatenate([noise, rest])
    assert len(cutoffs(AudioChunk(stopped, WIRE_RATE))) == 1
    assert cutoffs(AudioChunk(stopped, WIRE_RATE))[0] == pytest.approx(1.0, abs=0.04)
    faded = noise * np.geomspace(1, 0.003, len(noise), dtype=np.float32)
    assert cutoffs(AudioChunk(np.concatenate([faded, rest]), WIRE_RATE)) == []


def test_digital_silence_has_no_manner_and_no_cuts() -> None:
    nothing = AudioChunk(np.zeros(WIRE_RATE, np.float32), WIRE_RATE)
    assert manner(nothing) is None
    assert cutoffs(nothing) == []
    assert manner(AudioChunk(np.ones(100, np.float32), WIRE_RATE)) is None


# -- latency


def test_recorded_latency_runs_from_the_voices_end_to_the_first_audible_sample() -> None:
    told, (one,) = made([SAID, ANSWERED], [(1.6, 4.8)], [(6.4, 9.6)])
    pcm = silence(16.0)
    pcm[round(6.4 * WIRE_RATE) : round(9.6 * WIRE_RATE), 1] = 100  # -50 dBFS
    pcm[round(6.5 * WIRE_RATE), 1] = 300  # -41 dBFS
    logged = {"first_sent": 1500.0, "gate": -20.0}
    heard_late = Exchange(conversation([SAID, ANSWERED], pcm), 0, one.user, one.reply, None, logged)
    scores = latency.Latency(Ears(told)).measure(heard_late)
    assert scores["reply_latency_ms"].value == pytest.approx(1700)
    assert scores["timing_error_ms"].value == pytest.approx(200)
    assert scores["stage_gate_ms"].value == -20
    assert scores["stage_words_ms"].unscored == "the stage was not reached"
    assert set(scores) == {each.name for each in latency.MEASURES}


def test_a_reply_that_begins_early_has_a_negative_recorded_latency() -> None:
    early = turn(1, "assistant", 4.0, 8.0, "I am")
    told, (one,) = made([SAID, early], [(1.6, 4.8)], [(4.0, 8.0)])
    scores = latency.Latency(Ears(told)).measure(one)
    assert scores["reply_latency_ms"].value == pytest.approx(-800, abs=1)
    assert scores["timing_error_ms"].unscored == "no timing was logged"


def test_a_reply_of_digital_silence_cannot_be_heard() -> None:
    told, (one,) = made([SAID, ANSWERED], [(1.6, 4.8)], [])
    scores = latency.Latency(Ears(told)).measure(one)
    assert scores["reply_latency_ms"].unscored == "the reply cannot be heard"
    assert scores["underruns"].value == 0


def test_without_ears_the_logged_stages_are_still_told() -> None:
    told, (one,) = made([SAID], [(1.6, 4.8)], [])
    scores = latency.Latency(None, "deaf").measure(one)
    assert scores["reply_latency_ms"].unscored == "deaf"
    assert scores["stage_gate_ms"].unscored == scores["underruns"].unscored == "no reply"


def playback(captured: float, played: float) -> Line:
    event = {
        "type": "attune.playback", "item_id": "item_1",
        "played_samples": round(played * WIRE_RATE), "input_samples": round(captured * WIRE_RATE),
    }  # fmt: skip
    return line(captured, event)


def test_a_player_that_captures_more_than_it_plays_ran_dry() -> None:
    reports = [playback(10, 0.1), playback(10.25, 0.35), playback(10.9, 0.8), playback(11.2, 1.1)]
    found = reported(reports, "item_1")
    assert found is not None
    assert found.holes_sec == pytest.approx([0.2])
    assert found.total_ms == pytest.approx(200)
    assert reported(reports, "item_2") is None
    assert reported(reports[:1], "item_1") is None


def test_silence_is_counted_from_its_first_report_and_not_after_the_end() -> None:
    dry = [playback(10, 0.5), playback(10.2, 0.5), playback(10.4, 0.6), playback(12, 0.6)]
    found = reported(dry, "item_1")
    assert found is not None
    assert found.holes_sec == pytest.approx([0.3])


def test_a_player_that_was_told_to_hold_did_not_run_dry() -> None:
    reports = [playback(10, 0.5), playback(10.8, 0.6)]
    hold = line(10.0, {"type": "attune.hold", "item_id": "item_1"}, "server")
    resume = line(10.6, {"type": "attune.resume", "item_id": "item_1"}, "server")
    held = reported([hold, *reports, resume], "item_1")
    assert held is not None and held.holes_sec == ()
    later = [playback(14, 3.8), playback(15, 4.5)]
    after = reported([hold, reports[0], resume, *later], "item_1")
    assert after is not None and after.holes_sec == pytest.approx([0.3])


def test_without_reports_a_reply_that_took_longer_than_was_sent_was_silent_in_between() -> None:
    sound = np.full(WIRE_RATE, 0.1, np.float32)
    sound[4800:7200] = 0  # 100 ms, and nothing was sent for it
    sound[12000:13800] = 0  # 75 ms that were meant
    sent = line(1, {"type": "response.output_audio.delta", "item_id": "item_1",
                    "reply_samples": [0, WIRE_RATE - 2400]})  # fmt: skip
    found = laid([sent], "item_1", sound)
    assert found is not None and found.holes_sec == pytest.approx([0.1])
    whole = line(1, {**sent.event, "reply_samples": [0, WIRE_RATE]})
    told = laid([whole], "item_1", sound)
    assert told is not None and told.holes_sec == ()
    assert laid([], "item_1", sound) is None


def test_a_silence_in_which_the_client_was_told_to_hold_is_no_underrun() -> None:
    sound = np.full(2 * WIRE_RATE, 0.1, np.float32)
    sound[9600:21600] = 0  # held for 0.5 s
    sound[36000:38400] = 0  # ran dry for 0.1 s
    sent = line(1, {"type": "response.output_audio.delta", "item_id": "item_1",
                    "reply_samples": [0, 2 * WIRE_RATE - 14400]})  # fmt: skip
    hold = line(10.4, {"type": "attune.hold", "item_id": "item_1"}, "server")
    resume = line(10.8, {"type": "attune.resume", "item_id": "item_1"}, "server")
    found = laid([sent, hold, resume], "item_1", sound, 10 * WIRE_RATE)
    assert found is not None and found.holes_sec == pytest.approx([0.1])
    heard = sounding(sound, [hold, resume], "item_1", 10 * WIRE_RATE)
    assert heard.holes_sec == pytest.approx([0.1])


def test_a_hole_in_the_middle_of_sound_is_an_underrun_and_a_soft_pause_is_none() -> None:
    sound = np.full(WIRE_RATE, 0.1, np.float32)
    sound[4800:7200] = 0
    assert sounding(sound).holes_sec == pytest.approx([0.1])
    sound[4000:4800] *= np.linspace(1, 0.001, 800, dtype=np.float32) ** 2
    assert sounding(sound).holes_sec == ()
    short = np.full(WIRE_RATE, 0.1, np.float32)
    short[4800:6000] = 0  # 50 ms
    short[:2400] = short[-2400:] = 0  # before and after the reply
    assert sounding(short).holes_sec == ()


def test_the_clients_word_on_underruns_is_taken_before_the_sound() -> None:
    reports = [playback(6.5, 0.1), playback(7.0, 0.5)]
    told, (one,) = made([SAID, ANSWERED], [(1.6, 4.8)], [(6.4, 7.2), (7.36, 9.6)], lines=reports)
    scores = latency.Latency(Ears(told)).measure(one)
    assert scores["underrun_ms"].value == pytest.approx(100)
    assert scores["underruns"].why == "as the client reports what it played"
    told, (one,) = made([SAID, ANSWERED], [(1.6, 4.8)], [(6.4, 7.2), (7.36, 9.6)])
    assert latency.Latency(Ears(told)).measure(one)["underrun_ms"].value == pytest.approx(160)


# -- what was heard


def spoken(
    intended: str | None, text: str | None, words: str | None, **more: Any
) -> dict[str, Score]:
    answer = turn(1, "assistant", 6.4, 9.6, text, **more)
    told, (one,) = made([SAID, answer], [(1.6, 4.8)], [(6.4, 9.6)], words=words)
    whole = Exchange(one.conversation, 0, one.user, one.reply, intended)
    return dict(heard.Heard(Ears(told)).measure(whole))


def test_a_reply_is_held_against_what_a_recogniser_hears() -> None:
    text = "You sound tired, my friend."
    scores = spoken(text, text, "you found tired my friend")
    assert scores["reply_wer"].value == pytest.approx(20)  # one of five
    assert scores["intended_heard_wer"].value == scores["cut_share"].value == 0
    assert set(scores) == {each.name for each in heard.MEASURES}


def test_an_interrupted_reply_is_held_against_what_was_heard_of_it() -> None:
    scores = spoken("you sound very tired", "you sound very", "you sound very", interrupted=True)
    assert scores["reply_wer"].value == 0
    assert scores["intended_heard_wer"].value == pytest.approx(25)
    assert scores["cut_share"].value == pytest.approx(0.25)
    assert scores["cut_share"].why == "1 of 4 words"


def test_a_reply_of_which_nothing_was_heard_is_cut_whole() -> None:
    scores = spoken("you sound", None, "", interrupted=True)
    assert scores["cut_share"].value == 1
    assert scores["intended_heard_wer"].value == pytest.approx(100)
    assert scores["reply_wer"].unscored == "nothing of it was heard"


def test_what_is_missing_is_said_and_never_made_up() -> None:
    scores = spoken(None, "you sound", None)
    assert scores["cut_share"].unscored == "what was written is not logged"
    assert scores["reply_wer"].unscored == "the recogniser's weights are missing"
    assert spoken("…", "…", "one")["reply_wer"].unscored == "no words to compare with"


# -- the real networks


def test_real_voices_are_found_where_they_speak_in_both_channels() -> None:
    pytest.importorskip("onnxruntime")
    try:
        networks = Networks()
    except Unavailable:
        pytest.skip("the weights are not here")
    clip, rate = soundfile.read(SPEECH / "1088-129236-0000.ogg", dtype="float32")
    assert rate == 16_000
    voice = np.repeat(clip[: 2 * rate], 3)[::2]  # a rough 24 kHz will do
    pcm = silence(6.0)
    said = (voice * 20000).astype(np.int16)
    pcm[12_000 : 12_000 + len(said), 0] = said
    pcm[84_000 : 84_000 + len(said), 1] = said  # 3.5 s, and its echo comes back to the microphone
    pcm[86_000 : 86_000 + len(said), 0] += said // 4
    sides = Sides(conversation([], pcm), networks)
    (user,) = segments.merged(sides.user, 0.6)
    (reply,) = segments.merged(sides.reply, 0.6)
    loud = np.flatnonzero(np.abs(voice) > 0.02) / WIRE_RATE
    assert user.start == pytest.approx(0.5 + loud[0], abs=0.25)
    assert reply.start - user.start == pytest.approx(3.0, abs=0.065)
    assert reply.end == pytest.approx(3.5 + len(said) / WIRE_RATE, abs=0.25)


@pytest.mark.slow
def test_a_real_reply_is_heard_word_for_word_where_it_was_laid() -> None:
    from models.speaker_hibari import Hibari
    from models.style import PLAIN

    text = "I am sorry that your day was so long. Would you like to tell me about it?"

    async def speak() -> AudioChunk:
        voice = Hibari()
        chunks = [each.audio async for each in voice.speak(text, PLAIN)]
        voice.close()
        return AudioChunk.join(chunks)

    reply = asyncio.run(speak())
    clip, _ = soundfile.read(SPEECH / "1088-129236-0000.ogg", dtype="float32")
    said = np.repeat(clip[:48_000], 3)[::2]
    pcm = silence(4.5 + reply.duration + 1)
    pcm[: len(said), 0] = (said * 20000).astype(np.int16)
    at = round(4.5 * WIRE_RATE)
    pcm[at : at + len(reply.samples), 1] = (reply.samples * 20000).astype(np.int16)
    turns = [
        turn(0, "user", 0, len(said) / WIRE_RATE, "something"),
        turn(1, "assistant", 4.5, 4.5 + reply.duration, None),
    ]
    ears = Ears(Networks())
    whole = conversation(turns, pcm)
    one = Exchange(whole, 0, turns[0], turns[1], text)
    scores = taking_turns.TakingTurns(ears, {}).measure(one)
    assert scores["take_over"].value == 1
    assert scores["take_over"].why == f"{len(text.split())} words"  # by the recogniser alone
    recorded = latency.Latency(ears).measure(one)["reply_latency_ms"].value
    late = scores["turn_latency_sec"].value
    assert recorded is not None and late is not None
    # Silero trusts a voice that comes out of silence only after some 130 ms.
    assert late * 1000 == pytest.approx(recorded, abs=200)
    errors = heard.Heard(ears).measure(one)["reply_wer"].value
    assert errors is not None and errors < 10


def test_frames_cover_the_recording_whatever_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    pcm = rng.integers(-3000, 3000, (3 * WIRE_RATE, 2)).astype(np.int16)
    whole = list(frames_of(conversation([], pcm)))
    monkeypatch.setattr("server.scoring.duplex.ears.BLOCK", 7001)
    pieces = list(frames_of(conversation([], pcm)))
    assert [at for at, _, _ in whole] == [at for at, _, _ in pieces] == list(range(0, 47_616, 512))
    for (_, a, b), (_, c, d) in zip(whole, pieces, strict=True):
        np.testing.assert_allclose(np.stack([a, b]), np.stack([c, d]), atol=1e-5)
