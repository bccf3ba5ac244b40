"""Where the user's sound lies on the session's clock."""

from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from models.types import WIRE_RATE
from server.recording.entries import Hush, Sound
from tests.far_end import BLOCK, MS, Line, Message, Received, channel, ramp

BLOCK_SEC = BLOCK / WIRE_RATE


def flow(server: Received, begin: float, blocks: int) -> float:
    """Sound at the pace of speech; returns when the last of it came."""
    for block in range(blocks):
        server.take(BLOCK, begin + (block + 1) * BLOCK_SEC)
    return begin + blocks * BLOCK_SEC


def quiet(server: Received, begin: float, end: float) -> None:
    for tick in range(round(begin * 10) + 1, round(end * 10) + 1):
        server.pass_silence(tick / 10)


def truth(messages: list[Message], count: int) -> npt.NDArray[np.int64]:
    """Where each sample was captured, by our clock."""
    begins = [round(message.captured_sec * WIRE_RATE) for message in messages]
    lengths = [message.count for message in messages]
    return np.concatenate(
        [np.arange(begin, begin + length) for begin, length in zip(begins, lengths, strict=True)]
    )[:count]


def check_gaps(server: Received, positions: npt.NDArray[np.int64]) -> None:
    """Every position holds a sample or lies in exactly one gap."""
    covered = np.zeros(server.timeline.position, np.uint8)
    covered[positions] += 1
    for begin, end in server.gaps:
        assert begin < end
        covered[begin:end] += 1
    assert (covered == 1).all()


def check_end_to_end(server: Received) -> None:
    position = 0
    for write in server.writes:
        assert isinstance(write, Sound) and write.position == position
        position += len(write.pcm) // 2


def test_sound_that_comes_in_time_lies_end_to_end() -> None:
    server = Received()
    flow(server, 0.0, 5)
    assert [write.position for write in server.writes if isinstance(write, Sound)] == [
        BLOCK * at for at in range(5)
    ]


def test_late_sound_fills_the_silence_counted_in_for_it() -> None:
    server = Received()
    last = flow(server, 0.0, 10)
    quiet(server, last, 2.3)
    for _ in range(70):  # everything captured meanwhile, at once, and a tick's worth more
        server.take(BLOCK, 2.38)
    flow(server, 2.6, 20)
    positions = server.positions()
    assert positions.tolist() == list(range(100 * BLOCK))
    assert not server.gaps


def test_late_sound_is_known_though_the_clock_was_far_behind_when_it_came() -> None:
    server = Received()
    flow(server, 0.0, 10)
    quiet(server, 0.32, 1.6)
    for _ in range(65):  # nobody looked at the clock since
        server.take(BLOCK, 2.4)
    flow(server, 2.4, 20)
    assert server.positions().tolist() == list(range(95 * BLOCK))


def test_sound_after_a_pause_lies_where_the_clock_stands() -> None:
    server = Received()
    last = flow(server, 0.0, 10)
    quiet(server, last, 5.0)
    flow(server, 5.0, 20)
    positions = server.positions()
    assert positions[10 * BLOCK - 1] == 10 * BLOCK - 1
    assert positions[10 * BLOCK :].tolist() == list(range(5 * WIRE_RATE, positions[-1] + 1))
    assert server.gaps == [(10 * BLOCK, 5 * WIRE_RATE)]
    assert server.timeline.owed == 0


def test_sound_after_a_pause_stays_together_though_its_first_came_in_a_burst() -> None:
    server = Received()
    last = flow(server, 0.0, 10)
    quiet(server, last, 5.0)
    for _ in range(5):  # the network stumbled, too
        server.take(BLOCK, 5.02)
    flow(server, 5.02, 20)
    positions = server.positions()
    assert np.diff(positions[10 * BLOCK :]).max() == 1
    assert abs(positions[15 * BLOCK] - 5.02 * WIRE_RATE) < 40 * MS


def test_a_word_between_two_pauses_lies_between_them() -> None:
    server = Received()
    flow(server, 0.0, 10)
    quiet(server, 0.32, 3.0)
    flow(server, 3.0, 4)  # too short to tell what the silence was
    quiet(server, 3.128, 6.0)
    flow(server, 6.0, 20)
    positions = server.positions()
    assert positions[10 * BLOCK] == 3 * WIRE_RATE
    assert positions[14 * BLOCK] == 6 * WIRE_RATE
    check_gaps(server, positions)


def test_a_line_that_became_slower_tears_no_hole_into_the_speech() -> None:
    server = Received()
    last = flow(server, 0.0, 10)
    quiet(server, last, 1.3)
    for _ in range(27):  # not all: from now on everything takes 150 ms longer
        server.take(BLOCK, 1.33)
    flow(server, 1.33, 200)
    assert server.positions().tolist() == list(range(237 * BLOCK))
    assert not server.gaps


def test_a_slow_microphone_tears_no_hole_into_the_speech() -> None:
    line = Line(Random(1), 600, stall=0.03, speed=0.999)
    server = Received(content=False)
    server.listen(line.messages())
    check_end_to_end(server)
    assert not server.gaps


def test_after_consent_nothing_from_before_is_laid_again() -> None:
    server = Received()
    flow(server, 0.0, 10)
    quiet(server, 0.32, 3.0)
    flow(server, 3.0, 3)  # would be moved, were there more
    server.settle(3.1)
    begin, before = server.timeline.position, len(server.writes)
    flow(server, 3.1, 30)
    later = server.writes[before:]
    assert all(isinstance(write, Sound) and write.position >= begin for write in later)
    assert channel(later, server.timeline.position)[begin:].tobytes() == ramp(
        13 * BLOCK, 43 * BLOCK
    )


def test_after_consent_a_burst_counts_as_new() -> None:
    server = Received()
    quiet(server, 0.0, 3.0)
    server.settle(3.0)
    assert server.gaps == [(0, 3 * WIRE_RATE)]
    server.take(BLOCK, 3.01)
    assert server.positions()[0] == 3 * WIRE_RATE


def test_settling_in_the_middle_of_a_silence_counts_none_of_it_twice() -> None:
    server = Received()
    flow(server, 0.0, 10)
    quiet(server, 0.32, 3.0)
    server.settle(3.05)
    quiet(server, 3.1, 6.0)
    assert abs(server.timeline.position - 6 * WIRE_RATE) <= 100 * MS


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("jitter_sec", [0.0, 0.04, 0.15])
def test_whatever_the_network_holds_back_lies_where_it_was_captured(
    seed: int, jitter_sec: float
) -> None:
    messages = list(Line(Random(seed), 40, stall=0.2, jitter_sec=jitter_sec).messages())
    server = Received(prompt=seed % 2 == 0)
    server.listen(messages)
    positions = server.positions()
    assert (positions == truth(messages, server.count)).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prompt", [False, True])
def test_through_pauses_every_sample_lies_once_in_order_by_the_clock(
    seed: int, prompt: bool
) -> None:
    messages = list(Line(Random(seed), 40, mute=0.2).messages())
    server = Received(prompt=prompt)
    server.listen(messages)
    server.settle(messages[-1].arrives)
    positions = server.positions()
    check_gaps(server, positions)
    # The clock itself loses up to a tick at a pause, unless silence is counted in promptly.
    lost = (40 if prompt else 100) * MS * (1 + len(server.gaps))
    assert np.abs(positions - truth(messages, server.count)).max() < lost


@pytest.mark.parametrize("seed", range(8))
def test_through_pauses_on_a_bad_line_every_sample_lies_once_in_order(seed: int) -> None:
    random = Random(seed)
    piece = random.choice([0.01, 0.04, 0.1])
    line = Line(random, 40, mute=0.2, stall=0.3, jitter_sec=0.1, piece_sec=piece)
    messages = list(line.messages())
    server = Received(prompt=seed % 2 == 0)
    server.listen(messages)
    server.settle(messages[-1].arrives)
    check_gaps(server, server.positions())


def test_an_hour_on_a_bad_line_drifts_by_no_sample() -> None:
    server = Received(content=False)
    server.listen(Line(Random(7), 3600, stall=0.02, jitter_sec=0.12).messages())
    check_end_to_end(server)
    assert server.count > 3590 * WIRE_RATE


def test_a_long_burst_is_not_all_kept_in_memory() -> None:
    server = Received(content=False)
    flow(server, 0.0, 10)
    quiet(server, 0.32, 100.0)
    for _ in range(round(99.7 * WIRE_RATE / BLOCK)):
        server.take(BLOCK, 100.0)
        assert sum(len(s.pcm) for s in server.track._undecided) <= 2 * (60 * WIRE_RATE + BLOCK)
    flow(server, 100.0, 20)
    assert all(isinstance(write, Sound | Hush) for write in server.writes)


def test_a_captured_sample_is_found_again_through_all_pauses() -> None:
    messages = list(Line(Random(3), 60, mute=0.2).messages())
    server = Received()
    server.listen(messages)
    server.settle(messages[-1].arrives)
    positions = server.positions()
    for captured in range(0, server.count, 997):
        assert server.track.position_of(captured) == positions[captured]


def test_a_sample_captured_and_still_on_its_way_is_foreseen() -> None:
    server = Received()
    flow(server, 0.0, 10)
    assert server.track.position_of(10 * BLOCK + 500) == 10 * BLOCK + 500
    assert server.track.position_of(10**12) is None


def test_nobody_can_tell_where_a_silent_microphone_stands() -> None:
    server = Received()
    flow(server, 0.0, 10)
    quiet(server, 0.32, 3.0)
    assert server.track.position_of(10 * BLOCK) is None
    assert server.track.position_of(9 * BLOCK) == 9 * BLOCK
    flow(server, 3.0, 2)
    assert server.track.position_of(11 * BLOCK) is None  # late, or after a pause?
    flow(server, 3.064, 10)
    assert server.track.position_of(11 * BLOCK) == 3 * WIRE_RATE + BLOCK
