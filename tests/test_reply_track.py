"""Where replies lie on the session's clock: as they were played."""

from random import Random

import numpy as np
import pytest

from models.types import WIRE_RATE
from server.recording.entries import Hush, Sound
from server.recording.reply_track import ReplyTrack
from tests.far_end import MS, channel, ramp
from tests.loudspeaker import PIECE, Exchange

Writes = list[Sound | Hush]
SECOND = WIRE_RATE


def give(
    track: ReplyTrack, pieces: int, at: int, first: int = 0, origin: float = 0.0, reply: str = "a"
) -> Writes:
    """So many pieces of a reply, its first expected at a position."""
    writes: Writes = []
    for piece in range(first, first + pieces):
        offset = piece * PIECE
        pcm = ramp(offset, offset + PIECE)
        writes += track.sent(reply, offset, pcm, at + (piece - first) * PIECE, origin)
    return writes


def lies(writes: Writes) -> list[tuple[int, int, int]]:
    """What the writes come to: position, first sample of the reply, samples."""
    laid = channel(writes, 40 * SECOND)
    found = np.flatnonzero(laid)
    if not len(found):
        return []
    samples = laid[found].astype(int) - 1
    breaks = np.flatnonzero((np.diff(found) != 1) | (np.diff(samples) != 1)) + 1
    begins, ends = [0, *breaks.tolist()], [*breaks.tolist(), len(found)]
    return [
        (int(found[begin]), int(samples[begin]), end - begin)
        for begin, end in zip(begins, ends, strict=True)
    ]


def test_pieces_follow_each_other_wherever_each_is_expected() -> None:
    track, writes = ReplyTrack(), []
    for piece, jitter in enumerate([0, 30, -200, 500, 90]):
        offset = piece * PIECE
        at = SECOND + offset + jitter
        writes += track.sent("a", offset, ramp(offset, offset + PIECE), at, 1.0)
    assert lies(writes) == [(SECOND, 0, 5 * PIECE)]
    assert len(writes) == 5  # each written once


def test_what_came_late_lies_later() -> None:
    track = ReplyTrack()
    writes = give(track, 5, SECOND)
    writes += give(track, 5, 2 * SECOND, first=5, origin=0.7)
    assert lies(writes) == [(SECOND, 0, 5 * PIECE), (2 * SECOND, 5 * PIECE, 5 * PIECE)]


def test_nothing_is_laid_over_what_came_before() -> None:
    track = ReplyTrack()
    writes = give(track, 5, SECOND)
    writes += give(track, 5, SECOND, first=5, origin=0.1)
    writes += give(track, 5, SECOND, reply="b")
    assert lies(writes) == [(SECOND, 0, 10 * PIECE), (SECOND + 10 * PIECE, 0, 5 * PIECE)]


def test_the_first_report_moves_all_of_the_reply() -> None:
    track = ReplyTrack()
    writes = give(track, 10, SECOND)
    writes += track.acknowledged("a", 3 * PIECE, SECOND + 3 * PIECE + 1234)
    writes += give(track, 5, SECOND + 10 * PIECE, first=10)
    assert lies(writes) == [(SECOND + 1234, 0, 15 * PIECE)]


def test_a_reply_cannot_sound_long_before_it_was_sent() -> None:
    track = ReplyTrack()
    writes = give(track, 10, 20 * SECOND)
    writes += track.acknowledged("a", 3 * PIECE, 4 * SECOND)
    assert lies(writes) == [(20 * SECOND, 0, 10 * PIECE)]


def test_reports_that_differ_by_a_hair_move_nothing() -> None:
    track = ReplyTrack()
    writes = give(track, 50, SECOND)
    for at, hair in enumerate([0, 100, -100, 119, -119]):
        writes += track.acknowledged("a", 2400 * (at + 1), SECOND + 2400 * (at + 1) + hair)
    assert lies(writes) == [(SECOND, 0, 50 * PIECE)]


def test_a_pause_of_the_client_moves_what_comes_after_it() -> None:
    track = ReplyTrack()
    writes = give(track, 20, SECOND)
    writes += track.acknowledged("a", 4000, SECOND + 4000)
    writes += track.acknowledged("a", 4000, SECOND + 6400)
    writes += track.acknowledged("a", 5000, SECOND + 9000)
    assert lies(writes) == [(SECOND, 0, 4000), (SECOND + 8000, 4000, 20 * PIECE - 4000)]


def test_a_client_that_had_not_begun_when_a_piece_came_late_played_on() -> None:
    track = ReplyTrack()
    writes = give(track, 1, SECOND)
    writes += give(track, 9, SECOND + PIECE + 1000, first=1, origin=0.1)
    writes += track.acknowledged("a", 2 * PIECE, SECOND + 2 * PIECE + 3000)
    assert lies(writes) == [(SECOND + 3000, 0, 10 * PIECE)]


def test_a_client_that_ran_dry_fell_silent_before_the_piece_that_came_late() -> None:
    track = ReplyTrack()
    writes = give(track, 4, SECOND)
    writes += track.acknowledged("a", 3 * PIECE, SECOND + 3 * PIECE)
    writes += give(track, 6, SECOND + 4 * PIECE + 5000, first=4, origin=0.2)
    writes += track.acknowledged("a", 5 * PIECE, SECOND + 5 * PIECE + 5600)
    late = SECOND + 4 * PIECE + 5600
    assert lies(writes) == [(SECOND, 0, 4 * PIECE), (late, 4 * PIECE, 6 * PIECE)]


def test_a_client_seen_to_stand_still_fell_silent_there() -> None:
    track = ReplyTrack()
    writes = give(track, 4, SECOND)
    writes += track.acknowledged("a", 3 * PIECE, SECOND + 3 * PIECE)
    writes += track.acknowledged("a", 3 * PIECE, SECOND + 3 * PIECE + 600)
    writes += give(track, 6, SECOND + 4 * PIECE + 5000, first=4, origin=0.2)
    writes += track.acknowledged("a", 5 * PIECE, SECOND + 5 * PIECE + 5600)
    late = SECOND + 3 * PIECE + 5600
    assert lies(writes) == [(SECOND, 0, 3 * PIECE), (late, 3 * PIECE, 7 * PIECE)]


def test_a_report_that_would_play_two_samples_at_once_is_taken_for_noise() -> None:
    track = ReplyTrack()
    writes = give(track, 20, SECOND)
    writes += track.acknowledged("a", 4000, SECOND + 4000)
    writes += track.acknowledged("a", 9000, SECOND + 5000)
    assert lies(writes) == [(SECOND, 0, 20 * PIECE)]


def test_reports_that_go_back_or_tell_of_what_was_never_sent_change_nothing() -> None:
    track = ReplyTrack()
    writes = give(track, 20, SECOND)
    writes += track.acknowledged("a", 4000, SECOND + 4000)
    writes += track.acknowledged("a", 3000, SECOND + 9000)
    writes += track.acknowledged("a", 10**9, SECOND + 9000)
    writes += track.acknowledged("b", 100, SECOND)
    assert lies(writes) == [(SECOND, 0, 20 * PIECE)]


def test_after_a_barge_in_nothing_more_is_heard() -> None:
    track = ReplyTrack()
    writes = give(track, 20, SECOND)
    writes += track.stopped("a", 5000)
    assert lies(writes) == [(SECOND, 0, 5000)]
    assert track.span("a") == (SECOND, SECOND + 5000, True)


def test_what_the_client_still_played_after_a_barge_in_was_heard() -> None:
    track = ReplyTrack()
    writes = give(track, 20, SECOND)
    writes += track.acknowledged("a", 4000, SECOND + 4300)
    writes += track.stopped("a", 4000)
    writes += track.acknowledged("a", 6001, SECOND + 6301)
    assert lies(writes) == [(SECOND + 300, 0, 6001)]
    assert track.span("a") == (SECOND + 300, SECOND + 6301, True)


def test_what_the_client_says_it_cut_off_wins() -> None:
    track = ReplyTrack()
    writes = give(track, 20, SECOND)
    writes += track.acknowledged("a", 6000, SECOND + 6000)
    writes += track.stopped("a", 6000)
    writes += track.truncated("a", 5500)
    writes += track.acknowledged("a", 7000, SECOND + 7000)
    assert lies(writes) == [(SECOND, 0, 5500)]


def test_a_reply_heard_to_its_end_was_not_interrupted() -> None:
    track = ReplyTrack()
    give(track, 20, SECOND)
    track.ended("a")
    assert track.span("a") == (SECOND, SECOND + 20 * PIECE, False)
    track.stopped("a", 20 * PIECE)
    assert track.span("a") == (SECOND, SECOND + 20 * PIECE, False)


def test_a_reply_of_which_nothing_was_heard_lies_nowhere() -> None:
    track = ReplyTrack()
    writes = give(track, 5, SECOND)
    writes += track.stopped("a", 0)
    assert lies(writes) == []
    assert track.span("a") is None


def test_a_held_reply_goes_on_where_it_fell_silent() -> None:
    track = ReplyTrack()
    writes = give(track, 10, SECOND)
    writes += track.held("a", 5000)
    assert lies(writes) == [(SECOND, 0, 5000)]
    writes += track.resumed("a", 3 * SECOND)
    writes += give(track, 5, 3 * SECOND + 10 * PIECE - 4900, first=10, origin=1.5)
    assert lies(writes) == [(SECOND, 0, 5000), (3 * SECOND, 5000, 15 * PIECE - 5000)]


def test_a_reply_that_moves_pushes_the_next_one_on() -> None:
    track = ReplyTrack()
    writes = give(track, 10, SECOND)
    writes += track.ended("a")
    writes += give(track, 10, SECOND + 10 * PIECE, reply="b")
    writes += track.acknowledged("a", 9 * PIECE, SECOND + 9 * PIECE + 3000)
    end = SECOND + 3000 + 10 * PIECE
    assert lies(writes) == [(SECOND + 3000, 0, 10 * PIECE), (end, 0, 10 * PIECE)]


def test_a_reply_heard_from_its_middle_lies_where_its_middle_did() -> None:
    track = ReplyTrack()
    writes = give(track, 5, 2 * SECOND, first=10)
    writes += track.acknowledged("a", 12 * PIECE, 2 * SECOND + 2 * PIECE + 700)
    assert lies(writes) == [(2 * SECOND + 700, 10 * PIECE, 5 * PIECE)]


def test_nothing_is_laid_before_the_track_begins() -> None:
    track = ReplyTrack(begin=2 * SECOND)
    writes = give(track, 5, SECOND)
    writes += track.acknowledged("a", 100, 2 * SECOND + 50)
    assert lies(writes) == [(2 * SECOND, 0, 5 * PIECE)]


def test_a_piece_given_twice_is_laid_once() -> None:
    track = ReplyTrack()
    writes = give(track, 5, SECOND)
    assert give(track, 1, SECOND, first=3) == []
    writes += give(track, 5, SECOND, first=5)
    assert lies(writes) == [(SECOND, 0, 10 * PIECE)]


def test_an_old_reply_is_let_go_in_its_place() -> None:
    track = ReplyTrack()
    writes = give(track, 25, SECOND)
    track.ended("a")
    track.passing(12 * SECOND)
    assert track.gone() == []
    track.passing(12 * SECOND + 1)
    assert track.gone() == [("a", (SECOND, 2 * SECOND, False))]
    assert track.span("a") is None
    assert track.acknowledged("a", 1000, SECOND + 5000) == []
    writes += give(track, 1, SECOND, reply="b")
    assert lies(writes)[-1] == (2 * SECOND, 0, PIECE)


def test_a_reply_is_held_as_long_as_its_client_may_be_on_its_way_to_it() -> None:
    track = ReplyTrack()
    writes = give(track, 25, SECOND) + track.ended("a")
    writes += give(track, 25, 2 * SECOND, reply="b") + track.ended("b")
    for second in range(5, 30, 5):  # it stutters
        track.passing(second * SECOND)
        writes += track.acknowledged("a", second * PIECE // 5, second * SECOND)
    track.passing(34 * SECOND)
    assert track.gone() == []
    writes += track.acknowledged("b", PIECE, 34 * SECOND)
    assert lies(writes)[-1] == (34 * SECOND - PIECE, 0, 25 * PIECE)


def test_a_reply_is_held_while_its_client_tells_of_one_before_but_not_when() -> None:
    track = ReplyTrack()
    for reply in ("a", "b"):
        give(track, 25, SECOND, reply=reply)
        track.ended(reply)
    for second in range(5, 30, 5):
        track.passing(second * SECOND)
        track.acknowledged("a", second * PIECE // 5, None)
    track.passing(34 * SECOND)
    assert track.gone() == []
    track.passing(36 * SECOND)
    assert [reply for reply, _ in track.gone()] == ["a", "b"]


def test_many_replies_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.recording.reply_track.MAX_KEPT", 2 * SECOND)
    track, writes = ReplyTrack(), list[Sound | Hush]()
    for number in range(10):
        writes += give(track, 20, number * SECOND, reply=f"{number}")
        assert sum(reply.kept for reply in track._replies.values()) <= 2 * SECOND
    assert [reply for reply, _ in track.gone()] == [f"{number}" for number in range(8)]
    assert lies(writes) == [(number * SECOND, 0, 20 * PIECE) for number in range(10)]


def test_little_is_kept_of_a_reply_whose_client_reports() -> None:
    track = ReplyTrack()
    for piece in range(0, 3000, 5):
        give(track, 5, SECOND + piece * PIECE, first=piece)
        track.acknowledged("a", piece * PIECE, SECOND + piece * PIECE)
        assert track._replies["a"].kept <= 10 * PIECE


def test_an_endless_reply_is_bounded_and_can_still_be_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("server.recording.reply_track.MAX_KEPT", SECOND)
    track = ReplyTrack()
    writes = give(track, 500, SECOND)
    assert track._replies["a"].kept <= SECOND + PIECE
    writes += track.acknowledged("a", 490 * PIECE, SECOND + 490 * PIECE + 5000)
    laid = channel(writes, 40 * SECOND)
    assert laid[laid > 0].tobytes() == ramp(0, 500 * PIECE)
    writes += track.stopped("a", 495 * PIECE)
    laid = channel(writes, 40 * SECOND)
    assert laid[laid > 0].tobytes() == ramp(0, 495 * PIECE)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_is_what_the_loudspeaker_played(seed: int) -> None:
    exchange = Exchange(Random(seed), 90)
    played = exchange.run()
    assert np.count_nonzero(played) > 20 * SECOND
    assert (channel(exchange.writes, len(played)) == played).all()
    spans = sorted(exchange.spans.values())
    assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:], strict=False))
    assert any(interrupted for _, _, interrupted in spans)


@pytest.mark.slow
def test_an_hour_of_replies_is_written_as_it_was_played() -> None:
    exchange = Exchange(Random(11), 3600)
    played = exchange.run()
    assert (channel(exchange.writes, len(played)) == played).all()


def test_a_client_that_reports_nothing_is_taken_to_play_what_it_gets_in_order() -> None:
    exchange = Exchange(Random(5), 90, reports=False, slow_line=0.0)
    played = exchange.run()
    written = channel(exchange.writes, len(played))
    lag = np.flatnonzero(played)[0] - np.flatnonzero(written)[0]
    assert 0 < lag < 250 * MS
    # It cannot be known how much was on its way when a reply was cut off.
    unknown = 200 * MS * sum(interrupted for _, _, interrupted in exchange.spans.values())
    assert abs(np.count_nonzero(written) - np.count_nonzero(played)) <= unknown


@pytest.mark.parametrize("seed", range(6))
def test_no_report_however_wrong_loses_or_doubles_a_sample(seed: int) -> None:
    random, track, writes = Random(seed), ReplyTrack(), list[Sound | Hush]()
    now, sent = 0, 0
    for _ in range(600):
        now += random.randrange(2 * PIECE)
        lie = random.choice([None, now, now + random.randrange(-SECOND, SECOND), 0])
        match random.randrange(8):
            case 0 | 1 | 2 | 3:
                pcm = ramp(sent, sent + PIECE)
                writes += track.sent("a", sent, pcm, now, random.choice([0.0, now / WIRE_RATE]))
                sent += PIECE
            case 4 | 5:
                writes += track.acknowledged("a", random.randrange(sent + 2 * PIECE), lie)
            case 6:
                writes += track.held("a", random.randrange(sent + 1))
                writes += track.resumed("a", now)
            case 7:
                track.passing(now)
    laid = channel(writes, now + 60 * SECOND)
    assert laid[laid > 0].tobytes() == ramp(0, sent)
