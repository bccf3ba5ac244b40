"""What a cue is worth, and questions by their kind: figures one can work out by hand."""

from typing import Any

import pytest

from server.scoring.analyses import choices, cue_gap
from server.scoring.analyses.cue_gap import HARM, NO_GAP, NOT_PLAYED, TOO_FEW
from server.scoring.annotation import Annotation
from server.scoring.score import Family, Measure
from server.scoring.scored import Row, Scored


def measure(name: str, family: Family = "echomind", better: bool | None = True) -> Measure:
    return Measure(name, name, family, "", higher_is_better=better)


def row(values: dict[str, float], session: int = 0, **told: Any) -> Row:
    return Row(
        f"sess_{session:020x}", 0, None, None, {}, values, {}, Annotation(**told),
        None, None, {}, interrupted=False,
    )  # fmt: skip


def three(
    items: int, none: float, perceived: float, true: float, metric: str = "speech_rel"
) -> list[Row]:
    """Each item three times; one in two is a little better, whatever it was told."""
    cues = {"none": none, "perceived": perceived, "true": true}
    return [
        row({metric: value + 0.5 * (n % 2)}, n, item=str(n), variant="target", cue_given=cue)
        for n in range(items)
        for cue, value in cues.items()
    ]


def gap(rows: list[Row], *measures: Measure) -> cue_gap.CueGap | None:
    told = measures or (measure("speech_rel"),)
    return cue_gap.analyse(Scored(rows, {each.name: each for each in told}, draws=400))


def only(rows: list[Row], *measures: Measure) -> cue_gap.MetricGap:
    found = gap(rows, *measures)
    assert found is not None
    (one,) = found.metrics
    return one


def test_the_share_recovered_is_what_perceiving_brings_of_what_knowing_would() -> None:
    found = only(three(10, none=2.0, perceived=2.75, true=3.0))
    assert {cue: told.mean for cue, told in found.means.items()} == {
        "true": 3.25, "none": 2.25, "perceived": 3.0,
    }  # fmt: skip
    assert (found.gap.mean, found.gap.n) == (1.0, 10)
    assert found.gained is not None and found.gained.mean == 0.75
    assert found.recovered is not None and found.undefined is None
    assert found.recovered.share == pytest.approx(0.75)
    assert found.recovered.low == pytest.approx(0.75) == found.recovered.high


def test_the_interval_of_the_share_is_of_items_that_differ() -> None:
    rows = three(12, none=2.0, perceived=2.5, true=3.0)
    for n in range(0, 12, 3):  # a third of them recover everything
        rows[3 * n + 1] = row(
            dict(rows[3 * n + 2].values), n, item=str(n), variant="target", cue_given="perceived"
        )
    found = only(rows)
    assert found.recovered is not None
    # (4 * 1.0 + 8 * 0.5) / 12
    assert found.recovered.share == pytest.approx(2 / 3)
    assert found.recovered.low is not None and found.recovered.high is not None
    assert 0.5 <= found.recovered.low < 2 / 3 < found.recovered.high < 1.0


def test_of_what_is_better_low_the_share_is_the_same() -> None:
    low = measure("speech_rel", better=False)
    found = only(three(10, none=3.0, perceived=2.25, true=2.0), low)
    assert found.gap.mean == -1.0
    assert found.recovered is not None and found.recovered.share == pytest.approx(0.75)


@pytest.mark.parametrize("better", [True, False])
def test_where_the_true_cue_makes_it_worse_perceiving_recovers_nothing(better: bool) -> None:
    none, true = (4.0, 2.0) if better else (2.0, 4.0)
    rows = three(10, none=none, perceived=3.0, true=true)
    found = only(rows, measure("speech_rel", better=better))
    assert (found.recovered, found.undefined) == (None, HARM)
    assert found.gap.mean == (-2.0 if better else 2.0), "what it did is told"


def test_without_a_gap_there_is_no_share_of_it() -> None:
    rows = three(10, none=2.0, perceived=2.5, true=2.0)
    for n in range(5):  # half of them better by as much as the others are worse
        better = {"speech_rel": rows[3 * n].values["speech_rel"] + 0.3}
        rows[3 * n + 2] = row(better, n, item=str(n), variant="target", cue_given="true")
        other = n + 5
        worse = {"speech_rel": rows[3 * other].values["speech_rel"] - 0.3}
        rows[3 * other + 2] = row(worse, n, item=str(other), variant="target", cue_given="true")
    found = only(rows)
    assert (found.recovered, found.undefined) == (None, NO_GAP)
    assert found.gained is not None and found.gained.mean == pytest.approx(0.5)


def test_few_scripts_tell_no_gap_however_many_variants_they_have() -> None:
    rows = three(6, none=2.0, perceived=2.5, true=3.0)
    assert only(rows).recovered is not None
    assert only(rows[:15]).undefined == NO_GAP, "five scripts are never sure"
    assert only(rows[:12]).undefined == TOO_FEW
    fewer = [
        row(
            dict(each.values),
            n,
            **each.annotation.model_dump()
            | {"benchmark": "echomind", "group": f"script {n // 3 // 2}"},
        )
        for n, each in enumerate(rows)
    ]
    assert (only(fewer).recovered, only(fewer).undefined) == (None, TOO_FEW)


def test_only_answers_to_the_same_item_are_compared() -> None:
    rows = three(8, none=2.0, perceived=2.5, true=3.0)
    stray = [
        row({"speech_rel": 99.0}, 50, item="8", variant="target", cue_given="true"),
        row({"speech_rel": 99.0}, 51, item="0", variant="neutral", cue_given="none"),
        row({"speech_rel": 99.0}, 52, item="0", variant="target"),
        row({}, 53, item="9", variant="target", cue_given="none"),
        row({}, 54, item="9", variant="target", cue_given="true"),
    ]
    found = gap([*rows, *stray])
    assert found is not None and found.items == 9, "one of them has no score"
    assert (found.metrics[0].gap.n, found.metrics[0].gap.mean) == (8, 1.0)


def test_without_a_perceived_run_the_gap_is_told_alone() -> None:
    rows = [each for each in three(8, 2.0, 2.5, 3.0) if each.annotation.cue_given != "perceived"]
    found = only(rows)
    assert (found.gap.mean, found.gained, found.undefined) == (1.0, None, NOT_PLAYED)
    assert gap([each for each in rows if each.annotation.cue_given == "true"]) is None
    assert gap([]) is None


def test_what_no_cue_could_better_is_left_out() -> None:
    names = {
        "first_ms": measure("first_ms", "latency", better=False),
        "cue_recall": measure("cue_recall", "perception"),
        "dnsmos_ovrl": measure("dnsmos_ovrl", "sound"),
        "reply_rate": measure("reply_rate", "voice", better=None),
        "wer": measure("wer", "understanding", better=False),
        "choice_reasoning": measure("choice_reasoning", "understanding"),
        "judge_self_agreement_aeq": measure("judge_self_agreement_aeq", "aeq"),
        "emo_align": measure("emo_align", "voice"),
    }
    rows = [each for name in names for each in three(3, 1.0, 2.0, 3.0, name)]
    merged = [
        row(dict.fromkeys(names, 1.0), n, **each.annotation.model_dump())
        for n, each in enumerate(rows[:9])
    ]
    found = gap(merged, *names.values())
    assert found is not None
    assert [each.metric for each in found.metrics] == ["choice_reasoning", "emo_align"]


# ---- questions


def question(right: bool, n: int, **told: Any) -> Row:
    told = {"level": "understanding", "item": str(n), "options": ("A", "B", "C", "D"), **told}
    return row({f"choice_{told['level']}": 100.0 * right}, n, **told)


def asked(rows: list[Row]) -> choices.Asked:
    found = choices.analyse(Scored(rows, {}, draws=400))
    assert found is not None
    (one,) = found.asked
    return one


def test_accuracy_is_told_by_kind_in_echominds_order_and_beside_chance() -> None:
    kinds = {
        "NVE Recognition": [True, False, False, False],
        "Coarse Grained": [True, True],
        "Fine Grained Speech Emotion Recognition": [True, False],
        "something new": [False],
    }
    rows = [
        question(right, n, kind=kind)
        for n, (kind, right) in enumerate(
            (kind, right) for kind, answers in kinds.items() for right in answers
        )
    ]
    (level,) = asked(rows).levels
    assert [(kind.kind, kind.accuracy.mean, kind.accuracy.n) for kind in level.kinds] == [
        ("coarse-grained", 100.0, 2),
        ("speech emotion recognition", 50.0, 2),
        ("NVE recognition", 25.0, 4),
        ("something new", 0.0, 1),
    ]
    assert level.micro.mean == pytest.approx(400 / 9)
    assert level.macro.mean == pytest.approx((100 + 50 + 25 + 0) / 4)
    assert level.macro.n == 4
    macro = level.macro
    assert macro.mean is not None and macro.low is not None and macro.high is not None
    assert macro.low < macro.mean < macro.high
    assert level.chance == 25.0
    assert len(level.missing) == 8 - 3 and "gender recognition" in level.missing


def test_chance_is_by_the_number_of_options() -> None:
    rows = [
        question(True, 0, kind="gender recognition", options=("A", "B")),
        question(True, 1, kind="age-group classification", options=("A", "B", "C")),
    ]
    (level,) = asked(rows).levels
    assert [kind.chance for kind in level.kinds] == [50.0, pytest.approx(100 / 3)]
    assert level.chance == pytest.approx((50 + 100 / 3) / 2)


def test_levels_are_apart_and_so_are_runs_that_were_told_different_cues() -> None:
    rows = [
        question(True, 0, cue_given="true"),
        question(False, 1, cue_given="none"),
        question(True, 2, cue_given="none", level="reasoning", kind="preceding-event inference"),
        row({}, 3, level="reasoning"),
        row({"choice_reasoning": 100.0}, 4),
    ]
    found = choices.analyse(Scored(rows, {}, draws=100))
    assert found is not None
    assert [(run.cue_given, [level.level for level in run.levels]) for run in found.asked] == [
        ("true", ["understanding"]),
        ("none", ["understanding", "reasoning"]),
    ]
    assert found.asked[0].levels[0].kinds[0].kind == "of no kind"
    assert choices.analyse(Scored([row({"wer": 1.0})], {})) is None


def test_every_kind_of_echomind_is_known_however_it_is_written() -> None:
    named = [name for names in choices.KINDS.values() for name in names]
    assert len(named) == 18 == len({choices.canonical(name) for name in named})
    for name in named:
        assert choices.canonical(name.title().replace("-", " ")) == name
        assert choices.canonical(f"Fine Grained {name.upper()}") == name
    assert choices.canonical("Non-Verbal Expression Recognition") == "NVE recognition"
    assert choices.canonical("Age Classification") == "age-group classification"
