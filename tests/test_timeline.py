from server.timeline import Timeline

MS = 24  # samples in a millisecond


def test_audio_moves_the_clock_by_its_length() -> None:
    timeline = Timeline(0.0)
    assert timeline.arrived(40 * MS, 0.04) == 0
    assert timeline.arrived(40 * MS, 0.08) == 0
    assert timeline.position == 80 * MS


def test_a_recording_sent_at_once_counts_in_full() -> None:
    timeline = Timeline(0.0)
    timeline.arrived(10_000 * MS, 0.01)
    assert timeline.position == 10_000 * MS


def test_short_waits_are_no_gaps() -> None:
    timeline = Timeline(0.0)
    timeline.arrived(40 * MS, 0.04)
    assert timeline.silence(0.2) == 0
    assert timeline.position == 40 * MS


def test_a_silent_socket_lets_time_pass() -> None:
    timeline = Timeline(0.0)
    timeline.arrived(40 * MS, 0.04)
    assert timeline.silence(0.34) == 300 * MS
    assert timeline.silence(0.44) == 100 * MS
    assert timeline.position == 440 * MS


def test_a_late_burst_repays_the_gap_first() -> None:
    timeline = Timeline(0.0)
    timeline.arrived(40 * MS, 0.04)
    timeline.silence(0.54)  # 500 ms of silence counted in
    assert timeline.arrived(500 * MS, 0.54) == 500 * MS
    assert timeline.position == 540 * MS
    timeline.arrived(40 * MS, 0.58)
    assert timeline.position == 580 * MS


def test_push_to_talk_at_real_time_pace_repays_nothing() -> None:
    timeline = Timeline(0.0)
    timeline.silence(5.0)
    now = 5.0
    for _ in range(50):
        now += 0.04
        assert timeline.arrived(40 * MS, now) == 0
    assert timeline.position == 7_000 * MS


def test_jitter_after_a_gap_is_no_burst() -> None:
    timeline = Timeline(0.0)
    timeline.silence(1.0)
    timeline.arrived(40 * MS, 1.04)
    assert timeline.arrived(40 * MS, 1.16) == 0  # late
    assert timeline.arrived(40 * MS, 1.16) == 0  # and what was behind it
    assert timeline.arrived(40 * MS, 1.16) == 0
    assert timeline.position == 1_160 * MS


def test_a_burst_longer_than_the_gap_moves_on() -> None:
    timeline = Timeline(0.0)
    timeline.silence(1.0)
    assert timeline.arrived(3_000 * MS, 1.0) == 1_000 * MS
    assert timeline.position == 3_000 * MS


def test_a_forgiven_gap_is_repaid_by_nothing() -> None:
    timeline = Timeline(0.0)
    timeline.silence(1.0)
    assert timeline.owed == 1_000 * MS
    timeline.forgive(1.0)
    assert timeline.owed == 0
    assert timeline.arrived(500 * MS, 1.0) == 0
    assert timeline.position == 1_500 * MS


def test_forgiving_counts_no_silence_twice() -> None:
    timeline = Timeline(0.0)
    timeline.silence(1.0)
    timeline.forgive(1.05)
    assert timeline.silence(1.1) == 0
    assert timeline.silence(1.55) == 500 * MS


def test_the_clock_is_behind_by_what_has_not_come_though_it_should() -> None:
    timeline = Timeline(0.0)
    timeline.silence(1.0)
    timeline.arrived(40 * MS, 1.1)
    assert timeline.late(1.1) == 60 * MS
    timeline.excuse(60 * MS)
    assert timeline.late(1.1) == 0
    assert timeline.arrived(40 * MS, 1.1) == 40 * MS  # faster than real time: held back
