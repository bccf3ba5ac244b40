"""What all exchanges say together of turns, overlaps and latency."""

from collections.abc import Mapping
from typing import Any

import pytest

from server.scoring.analyses import duplex, humdial, latencies
from server.scoring.annotation import Annotation
from server.scoring.duplex.overlaps import MEASURES
from server.scoring.scored import Row, Scored

# As the track published them: delay in seconds, points.
PUBLISHED = {
    0.624: 100.0, 1.127: 83.1, 1.237: 80.5, 1.260: 79.9, 1.577: 73.5,
    1.632: 72.6, 1.739: 70.7, 2.531: 60.0, 3.391: 51.6,
}  # fmt: skip


def row(
    number: int,
    values: Mapping[str, float] | None = None,
    stages: Mapping[str, float] | None = None,
    task: Any = None,
    session: int = 0,
    **more: Any,
) -> Row:
    return Row(
        f"sess_{session:020x}", number, None, None, {}, dict(values or {}), {},
        Annotation(task=task, **more), None, None, dict(stages or {}), False,
    )  # fmt: skip


def scored(rows: list[Row], **more: Any) -> Scored:
    return Scored(rows, {each.name: each for each in MEASURES}, draws=200, **more)


def test_each_task_has_its_own_figures_with_how_many_they_are_over() -> None:
    rows = [
        row(n, {"take_over": n % 2, "turn_latency_sec": n}, task="turn_taking", session=n)
        for n in range(6)
    ]
    rows.append(row(9, {"take_over": 1.0, "stop_latency_sec": 0.5}, session=9))
    rows.append(row(10, {}, task="pause", session=10))
    found = duplex.analyse(scored(rows))
    assert found is not None
    tasks = {task.task: task for task in found.v1}
    assert set(tasks) == {"pause", "turn_taking", "conversation"}
    taken, late = tasks["turn_taking"].figures
    assert (taken.metric, taken.n, taken.mean) == ("take_over", 6, 0.5)
    assert taken.low is not None and taken.high is not None and taken.low < 0.5 < taken.high
    assert late.mean == pytest.approx(2.5)
    assert (tasks["pause"].figures[0].n, tasks["pause"].figures[0].unscored) == (0, 1)
    assert tasks["pause"].figures[0].mean is None
    assert tasks["conversation"].n == 1
    assert found.humdial is None


def test_nothing_measured_says_nothing() -> None:
    assert duplex.analyse(scored([])) is None
    assert duplex.analyse(scored([row(0, {"wer": 3})])) is None
    assert latencies.analyse(scored([row(0)])) is None


def test_changes_after_an_overlap_are_tested_in_pairs() -> None:
    values = (2.0, 4.0, 6.0, 8.0, 4.0, 6.0)
    rows = [
        row(0, {"overlap_rate_change": value, "stop_latency_sec": 1}, task="user_backchannel",
            session=n)
        for n, value in enumerate(values)
    ]  # fmt: skip
    found = duplex.analyse(scored(rows))
    assert found is not None
    (change,) = found.changes
    # By hand: mean 5, deviation sqrt(22 / 5) = 2.09762, t = 5 / (2.09762 / sqrt(6)).
    assert (change.n, change.mean) == (6, 5)
    assert change.t == pytest.approx(5.838742)
    assert change.low is not None and change.low > 0
    assert change.p is not None and change.p < 0.05
    assert change.unit == "words/min"


def test_few_changes_have_no_statistics() -> None:
    def change(count: int) -> duplex.Change:
        rows = [
            row(0, {"overlap_rate_change": 2.0 + n, "stop_latency_sec": 1}, session=n)
            for n in range(count)
        ]
        found = duplex.analyse(scored(rows))
        assert found is not None
        return found.changes[0]

    assert change(1).t is None and change(1).low is None
    assert change(4).t is not None and change(4).p is None and change(4).low is None
    assert change(5).p == 2 / 2**5
    assert change(6).p == 2 / 2**6


def test_what_else_happened_around_an_item_is_no_conversation() -> None:
    rows = [
        row(0, {"take_over": 0.0}, session=1),
        row(1, {"pause_take_over": 1.0}, task="pause", session=1),
        row(0, {"take_over": 1.0}, session=2),
    ]
    found = duplex.analyse(scored(rows))
    assert found is not None
    tasks = {task.task: task for task in found.v1}
    assert (tasks["conversation"].n, tasks["conversation"].figures[0].mean) == (1, 1)


@pytest.mark.parametrize("task", ["mcq", "asr", "empathy_choice"])
def test_questions_of_another_benchmark_are_no_conversation(task: str) -> None:
    rows = [
        row(0, {"take_over": 0.0}, task=task, session=1),
        row(0, {"take_over": 1.0}, task="conversation", session=2),
    ]
    found = duplex.analyse(scored(rows))
    assert found is not None
    (plain,) = found.v1
    assert (plain.task, plain.n, plain.figures[0].mean) == ("conversation", 1, 1)
    assert duplex.analyse(scored(rows[:1])) is None


def test_what_was_tried_for_comparison_is_in_no_table() -> None:
    tried: list[dict[str, Any]] = [
        {"condition": "noise 5 dB"},
        {"cue_given": "true"},
        {"cue_given": "none"},
    ]
    rows = [
        row(0, {"take_over": 0.0}, task="turn_taking", session=n, **how)
        for n, how in enumerate(tried)
    ]
    rows.append(
        row(0, {"take_over": 1.0}, task="turn_taking", session=9, condition="clean",
            cue_given="perceived")
    )  # fmt: skip
    found = duplex.analyse(scored(rows))
    assert found is not None and (found.v1[0].n, found.v1[0].figures[0].mean) == (1, 1)


@pytest.mark.parametrize(("delay", "points"), PUBLISHED.items())
def test_the_delay_score_gives_the_published_points(delay: float, points: float) -> None:
    assert humdial.delay_score(delay) == pytest.approx(points, abs=0.11)


def test_the_delay_score_is_fifty_at_the_baseline_and_stays_within_bounds() -> None:
    assert humdial.delay_score(2, 0.5, 2) == pytest.approx(50)
    assert humdial.delay_score(1, 0.5, 2) == pytest.approx(75)
    assert humdial.delay_score(0.1) == 100
    assert humdial.delay_score(1e9) == 0


def overlapped(delays: Mapping[str, float]) -> list[Row]:
    return [
        row(0, {"overlap_behaviour": 100, **delays}, task="user_interruption", session=0),
        row(0, {"overlap_behaviour": 0, **delays}, task="user_interruption", session=1),
        row(0, {"overlap_behaviour": 100, "stop_latency_sec": 99}, task="user_backchannel",
            session=2),
        row(0, {"overlap_behaviour": 100}, task="background_speech", session=3),
        row(0, {"overlap_behaviour": 0}, task="talking_to_other", session=4),
    ]  # fmt: skip


def test_the_composite_weighs_answering_and_going_on_and_delay() -> None:
    delays = {"stop_latency_sec": 0.5, "response_latency_sec": 1.0, "first_response_sec": 1.5}
    found = humdial.composite(scored(overlapped(delays), humdial_delays=(0.5, 2.0)))
    assert found is not None
    assert found.respond == 50
    assert found.resume == pytest.approx(200 / 3)
    assert found.delay_sec == pytest.approx(1.0)  # the backchannel's overlap is no delay
    assert found.delay_score == pytest.approx(75)
    # By hand: 0.4 · 50 + 0.4 · 66.667 + 0.2 · 75
    assert found.final == pytest.approx(61.6667, abs=1e-3)
    assert found.missing == []
    assert (found.least_sec, found.baseline_sec, found.note) == (0.5, 2.0, "")


def test_each_kind_of_overlap_counts_the_same_however_many_items_it_has() -> None:
    delays = {"stop_latency_sec": 0.5, "response_latency_sec": 1.0, "first_response_sec": 1.5}
    more = [
        row(0, {"overlap_behaviour": 100, "first_response_sec": 4.5}, task="user_backchannel",
            session=10 + n)
        for n in range(7)
    ]  # fmt: skip
    noisy = row(
        0, {"overlap_behaviour": 0}, task="user_interruption", session=30, condition="noise 5 dB"
    )
    told = row(0, {"overlap_behaviour": 0}, task="user_interruption", session=31, cue_given="true")
    found = humdial.composite(scored([*overlapped(delays), *more, noisy, told]))
    assert found is not None
    assert found.resume == pytest.approx((100 + 100 + 0) / 3)  # pooled: 90
    assert found.respond == 50  # what was tried for comparison is not in it
    assert found.delays_sec["first_response_sec"] == pytest.approx((1.5 + 4.5) / 2)
    assert found.n["resume"] == 10 and found.n["respond"] == 2


def test_without_a_judge_the_recording_tells_who_was_answered_and_says_so() -> None:
    delays = {"stop_latency_sec": 0.5, "response_latency_sec": 1.0, "first_response_sec": 1.5}
    timed = [
        row(0, {"overlap_behaviour_timed": value, **more}, task=task, session=session)
        for session, (task, value, more) in enumerate([
            ("user_interruption", 100, delays),
            ("user_interruption", 100, delays),
            ("user_interruption", 0, delays),
            ("user_backchannel", 100, {}),
            ("background_speech", 0, {}),
        ])
    ]  # fmt: skip
    found = humdial.composite(scored(timed, humdial_delays=(0.5, 2.0)))
    assert found is not None and found.behaviour == "timed"
    assert found.respond == pytest.approx(200 / 3)
    assert found.resume == 50
    # By hand: 0.4 · 66.667 + 0.4 · 50 + 0.2 · 75
    assert found.final == pytest.approx(61.6667, abs=1e-3)
    assert found.n["respond"] == 3 and found.n["resume"] == 2
    judged = row(0, {"overlap_behaviour": 0}, task="user_interruption", session=9)
    found = humdial.composite(scored([*timed, judged], humdial_delays=(0.5, 2.0)))
    assert found is not None and found.behaviour == "judged"
    assert found.respond == 0, "opinions of two kinds are not pooled"
    assert found.missing == ["resume"] and found.final is None


def test_a_composite_without_one_of_its_parts_says_which_and_has_no_final() -> None:
    found = humdial.composite(scored(overlapped({"stop_latency_sec": 0.5})))
    assert found is not None
    assert found.final is None and found.delay_sec is None and found.delay_score is None
    assert found.missing == ["response_latency_sec", "first_response_sec"]
    assert found.respond == 50
    assert "0.624 s" in found.note


def test_latencies_are_told_by_percentiles() -> None:
    rows = [row(n, stages={"gate": float(n), "unheard_of": 1.0}) for n in range(101)]
    found = latencies.analyse(scored(rows))
    assert found is not None
    (gate,) = found.stages
    assert (gate.name, gate.n, gate.mean) == ("gate", 101, 50)
    assert (gate.p50, gate.p90, gate.p95, gate.p99) == (50, 90, 95, 99)
    assert (gate.least, gate.most) == (0, 100)
    assert sum(gate.histogram.counts) == 101
    assert len(gate.histogram.edges) == len(gate.histogram.counts) + 1


def test_one_reply_that_took_a_minute_does_not_hide_the_rest() -> None:
    rows = [row(n, {"reply_latency_ms": 500.0 + n}) for n in range(40)]
    rows.append(row(99, {"reply_latency_ms": 60_000.0}))
    found = latencies.analyse(scored(rows))
    assert found is not None and found.waterfall is None
    histogram = found.stages[0].histogram
    assert (histogram.above, histogram.below, sum(histogram.counts)) == (1, 0, 40)
    assert histogram.edges[-1] < 1000


def test_equal_latencies_make_a_histogram_too() -> None:
    found = latencies.analyse(scored([row(0, {"reply_latency_ms": 5.0})]))
    assert found is not None
    assert sum(found.stages[0].histogram.counts) == 1


def test_the_waterfall_is_over_replies_that_reached_every_usual_stage() -> None:
    rows = [
        row(0, stages={"words": 100.0, "gate": 200.0, "first_sent": 300.0}),
        row(1, stages={"words": 300.0, "gate": 200.0, "first_sent": 500.0, "percept": 50.0}),
        row(2, stages={"gate": 900.0, "first_sent": 950.0}),
    ]
    found = latencies.analyse(scored(rows))
    assert found is not None and found.waterfall is not None
    assert found.waterfall.n == 2
    steps = [(step.name, step.start_ms, step.end_ms) for step in found.waterfall.steps]
    assert steps == [("words", 0, 200), ("gate", 200, 200), ("first_sent", 200, 400)]
    assert found.waterfall.later == {}


def test_the_waterfall_ends_with_the_first_sound() -> None:
    """An opening goes out before the reply model's first token."""
    stages = {"first_clause": 200.0, "first_sent": 300.0, "first_token": 900.0}
    found = latencies.analyse(scored([row(0, stages=stages)]))
    assert found is not None and found.waterfall is not None
    steps = [(step.name, step.start_ms, step.end_ms) for step in found.waterfall.steps]
    assert steps == [("first_clause", 0, 200), ("first_sent", 200, 300)]
    assert found.waterfall.later == {"first_token": 900}


@pytest.mark.parametrize("n", [19, 20])
def test_few_latencies_are_told_one_by_one(n: int) -> None:
    found = latencies.analyse(scored([row(at, stages={"gate": float(at)}) for at in range(n)]))
    assert found is not None
    (gate,) = found.stages
    few = n < 20
    assert gate.values == ([float(at) for at in range(n)] if few else [])
    assert (gate.p95 is None, gate.p99 is None) == (few, few)
    assert gate.p50 == (n - 1) / 2
