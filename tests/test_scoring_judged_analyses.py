"""What is made of all judged scores together."""

from typing import Any

import pytest

from server.scoring.analyses import counterfactual, empathy_eval, judges
from server.scoring.annotation import Annotation
from server.scoring.score import JudgeNamed, Measure
from server.scoring.scored import Row, Scored, Usage

AGREE = "judge_self_agreement_echomind"


def row(
    session: str = "a",
    values: dict[str, float] | None = None,
    unscored: dict[str, str] | None = None,
    **annotation: Any,
) -> Row:
    return Row(
        session, 0, None, None, {}, values or {}, unscored or {}, Annotation(**annotation), None,
        None, {}, interrupted=False,
    )  # fmt: skip


def scored(*rows: Row, names: tuple[str, ...] = (), **more: Any) -> Scored:
    measures = {name: Measure(name, name, "echomind", "") for name in names}
    return Scored(rows, measures, draws=200, **more)


# ---- EmpathyEval


def item(group: str | None, value: float | None, setting: str = "context", **more: Any) -> Row:
    values = {} if value is None else {"empathy_choice": value}
    return row(
        f"{group}{value}", values, task="empathy_choice", benchmark="empathyeval", group=group,
        setting=setting, **more,
    )  # fmt: skip


def standings(*rows: Row) -> dict[str, empathy_eval.Standing]:
    found = empathy_eval.analyse(scored(*rows))
    assert found is not None
    return {each.setting: each for each in found.standings}


def test_the_score_counts_items_and_whole_groups() -> None:
    found = standings(
        item("g1", 100), item("g1", 100),
        item("g2", 100), item("g2", 0),
        item("t1", 100, "tone"), item("t1", 100, "tone"), item("t1", 0, "tone"),
    )  # fmt: skip
    everything, context, tone = found["all"], found["context"], found["tone"]
    # 5 of 7 items, 1 of 3 groups: (5 + 1) / (7 + 3)
    assert (everything.correct, everything.items) == (5, 7)
    assert (everything.groups_correct, everything.groups) == (1, 3)
    assert everything.score == pytest.approx(0.6)
    assert context.score == pytest.approx((3 + 1) / (4 + 2))
    assert tone.score == pytest.approx((2 + 0) / (3 + 1))
    assert tone.low is None and context.low is None  # too few groups to draw from
    many = standings(*(item(f"g{n}", 100 * (n % 2)) for n in range(8)))["context"]
    assert many.low is not None and many.high is not None
    assert many.low < many.score < many.high


def test_it_is_the_published_figure_of_the_published_counts() -> None:
    """The winner's row of the leaderboard: 457 of 530 items, 137 of 200 groups, 0.814."""
    sizes = [2] * 100 + [3] * 70 + [4] * 30
    wrong = [1] * 63  # one item each in 63 groups, and 10 more in the first of them that have room
    rows = []
    extra = 530 - 457 - 63
    for number, size in enumerate(sizes):
        missed = wrong[number] if number < 63 else 0
        if missed and extra and size > 1:
            missed, extra = missed + 1, extra - 1
        rows += [item(f"g{number}", 0 if place < missed else 100) for place in range(size)]
    everything = standings(*rows)["all"]
    assert (everything.correct, everything.groups_correct) == (457, 137)
    assert round(everything.score, 3) == 0.814


def test_a_group_with_an_item_that_was_not_judged_counts_by_items_alone() -> None:
    everything = standings(item("g1", 100), item("g1", None), item("g2", 100))["all"]
    assert (everything.items, everything.groups, everything.incomplete) == (2, 1, 1)
    assert everything.score == 1.0


def test_a_group_that_was_not_played_whole_is_never_fully_correct() -> None:
    rows = [item("g1", 100, item=f"{n}", group_size=3) for n in range(2)]
    everything = standings(*rows)["all"]
    assert (everything.items, everything.groups, everything.incomplete) == (2, 0, 1)
    again = item("g1", 100, item="1", group_size=3)
    assert standings(*rows, again)["all"].groups == 0, "the same item twice is no third"
    third = item("g1", 100, item="2", group_size=3)
    assert standings(*rows, third)["all"].groups_correct == 1


def test_items_without_a_group_make_none() -> None:
    everything = standings(item(None, 100), item(None, 0))["all"]
    assert (everything.items, everything.groups, everything.incomplete) == (2, 0, 0)
    assert everything.score == 0.5


def test_two_ways_of_running_a_group_are_two_groups() -> None:
    everything = standings(
        item("g", 100, cue_given="true"), item("g", 0, cue_given="none")
    )["all"]  # fmt: skip
    assert (everything.groups, everything.groups_correct) == (2, 1)


def test_without_items_there_is_nothing_to_say() -> None:
    assert empathy_eval.analyse(scored(row(values={"ctx_fit": 3}))) is None
    assert empathy_eval.analyse(scored(item("g", None))) is None


# ---- counterfactual pairs


def pairs(*values: float, first: float = 50.0) -> counterfactual.Pair:
    rows = [
        row(f"s{n}", {"prefers_ours_voice": value, "prefers_first_voice": first})
        for n, value in enumerate(values)
    ]
    found = counterfactual.analyse(scored(*rows))
    assert found is not None
    (pair,) = found.pairs
    return pair


def test_a_clear_preference_is_told() -> None:
    pair = pairs(*[100] * 18, 50, 0)
    assert (pair.ours, pair.split, pair.other, pair.n) == (18, 1, 1, 20)
    assert pair.mean == pytest.approx(92.5)
    assert pair.finding == "prefers ours"
    assert pairs(*[0] * 18, 50, 100).finding == "prefers the other"


def test_a_judge_that_cannot_tell_is_told_as_such() -> None:
    pair = pairs(*[100, 0, 50] * 6, first=100)
    assert pair.finding == "cannot tell"
    assert pair.first == 100  # whatever comes first
    assert "cannot tell our voice" in pair.sentence


def test_one_session_is_too_few() -> None:
    assert pairs(100).finding == "too few"


def test_a_few_sessions_do_not_make_a_preference() -> None:
    assert pairs(100, 100).finding == "too few"
    assert pairs(*[100] * 5).finding == "cannot tell"  # 2 of 32 ways: p = 0.0625
    assert pairs(*[100] * 6).finding == "prefers ours"


def test_plays_of_one_script_are_one_voice_in_it() -> None:
    rows = [
        row(f"s{n}", {"prefers_ours_voice": 100.0}, benchmark="csv", item=str(n % 2))
        for n in range(12)
    ]
    found = counterfactual.analyse(scored(*rows))
    assert found is not None and found.pairs[0].finding == "too few"


def test_voice_and_words_are_never_merged() -> None:
    rows = [
        row("a", {"prefers_ours_voice": 100.0, "prefers_ours_words": 0.0}),
        row("b", {"prefers_ours_voice": 100.0}),
    ]
    found = counterfactual.analyse(scored(*rows))
    assert found is not None
    assert [(pair.of, pair.mean, pair.n) for pair in found.pairs] == [
        ("voice", 100, 2),
        ("words", 0, 1),
    ]
    assert counterfactual.analyse(scored(row())) is None


# ---- judges


def test_what_judges_cost_and_how_they_agree_is_told() -> None:
    found = judges.analyse(
        scored(
            row("a", {AGREE: 100.0, "ctx_fit": 4}),
            row("b", {AGREE: 50.0, "ctx_fit": 3}),
            row("c", {}, {AGREE: "the judge was asked once"}),
            names=("ctx_fit", AGREE),
            usage=[Usage("fair", 9, 1, 900, 90, 0.5)],
            judges=[JudgeNamed("fair", host="judge.example.org")],
        )
    )
    assert found is not None
    (asked,) = found.asked
    assert (asked.host, asked.calls, asked.retries, asked.cost) == ("judge.example.org", 9, 1, 0.5)
    (agreement,) = found.self_agreement
    assert (agreement.instrument, agreement.mean, agreement.n) == ("echomind", 75.0, 2)
    assert found.judged == {"echomind": 3}
    assert found.declined == {}


def test_what_a_judge_declined_is_counted_by_metric() -> None:
    reason = "the judge is the contestant"
    found = judges.analyse(
        scored(
            row("a", {}, {"ctx_fit": reason, AGREE: reason, "wer": "no true transcript"}),
            row("b", {}, {"ctx_fit": reason, "ves": "the judge does not hear"}),
            names=("ctx_fit", "ves", "wer", AGREE),
        )
    )
    assert found is not None
    assert found.declined == {"ctx_fit": {reason: 2}, "ves": {"the judge does not hear": 1}}


def test_where_nobody_judged_nothing_is_said() -> None:
    assert judges.analyse(scored(row(values={"wer": 3.0}), names=("wer",))) is None
