"""Robustness: what noise, pace, codecs and people's voices do to the scores of the same items."""

from typing import Any

import pytest

from server.scoring.analyses.robustness import ByCondition, analyse
from server.scoring.annotation import Annotation
from server.scoring.score import Measure
from server.scoring.scored import Row, Scored

MEASURES = {
    "wer": Measure("wer", "Word errors", "understanding", "Words.", higher_is_better=False),
    "ctx_fit": Measure("ctx_fit", "Fits", "echomind", "Fit.", higher_is_better=True),
}


def row(item: str | None, values: dict[str, float], responder: str = "lm", **about: Any) -> Row:
    told = Annotation(benchmark="csv", item=item, **about)
    return Row(
        session_id=f"sess_{item}",
        number=0,
        user_item=None,
        reply_item=None,
        attributes={"responder": responder},
        values=values,
        unscored={},
        annotation=told,
        percept=None,
        plan=None,
        stages_ms={},
        interrupted=False,
    )


def scored(*rows: Row) -> Scored:
    return Scored(rows, MEASURES, draws=200)


def swept() -> list[Row]:
    """Three items clean and at 10 dB, two of them at 5 dB as well; one was only played noisy."""
    clean = {"a": 4.0, "b": 6.0, "c": 8.0}
    rows = [row(item, {"wer": value}, condition="clean") for item, value in clean.items()]
    rows += [
        row(item, {"wer": value + 10}, condition="noise 10 dB") for item, value in clean.items()
    ]
    rows += [row("a", {"wer": 30.0}, condition="noise 5 dB")]
    rows += [row("b", {"wer": 34.0}, condition="noise 5 dB")]
    rows += [row("d", {"wer": 80.0}, condition="noise 5 dB")]
    return rows


def only(found: list[ByCondition]) -> ByCondition:
    (one,) = found
    return one


def test_without_conditions_or_kinds_of_speech_there_is_nothing_to_say() -> None:
    assert analyse(scored(row("a", {"wer": 4.0}), row(None, {"wer": 2.0}))) is None
    assert analyse(scored()) is None


def test_every_condition_has_its_mean_and_its_difference_on_the_same_items() -> None:
    found = analyse(scored(*swept()))
    assert found is not None
    told = only(found.conditions)
    assert (told.metric, told.title, told.higher_is_better) == ("wer", "Word errors", False)
    assert told.clean is not None
    assert (told.clean.mean, told.clean.n) == (6.0, 3)
    assert [each.name for each in told.conditions] == ["noise 5 dB", "noise 10 dB"]
    worst, worse = told.conditions
    assert (worst.sweep, worst.level, worst.scores.mean, worst.scores.n) == ("noise", 5, 48.0, 3)
    # Only a and b were played clean, too: (30 - 4 + 34 - 6) / 2 = 27.
    assert worst.over_clean is not None
    assert (worst.over_clean.mean, worst.over_clean.n) == (27.0, 2)
    assert worse.over_clean is not None
    assert (worse.over_clean.mean, worse.over_clean.n) == (10, 3)
    assert (worse.over_clean.low, worse.over_clean.p) == (None, None), "three items tell nothing"


def test_what_a_condition_always_does_to_many_items_is_surely_so() -> None:
    rows = [
        row(str(n), {"wer": n + 10.0 * noisy}, condition="noise 5 dB" if noisy else "clean")
        for n in range(6)
        for noisy in (False, True)
    ]
    found = analyse(scored(*rows))
    assert found is not None
    over = only(found.conditions).conditions[0].over_clean
    assert over is not None
    assert (over.mean, over.low, over.high, over.p) == (10, 10, 10, 2 / 2**6)


def test_repeated_plays_of_an_item_count_as_one() -> None:
    rows = [row("a", {"wer": value}, condition="clean") for value in (2.0, 4.0)]
    rows += [row("b", {"wer": 1.0}, condition="clean")]
    rows += [row(item, {"wer": 5.0}, condition="speed 1.2") for item in "ab"]
    found = analyse(scored(*rows))
    assert found is not None
    (fast,) = only(found.conditions).conditions
    assert fast.over_clean is not None
    assert (fast.over_clean.mean, fast.over_clean.n) == (3.0, 2)  # (5 - 3 + 5 - 1) / 2
    assert (fast.sweep, fast.level) == ("speed", 1.2)


def test_what_was_played_otherwise_is_no_pair() -> None:
    rows = [
        row("a", {"wer": 1.0}, condition="clean", variant="target"),
        row("a", {"wer": 5.0}, condition="codec mulaw", variant="neutral"),
        row("b", {"wer": 1.0}, condition="clean", cue_given="none"),
        row("b", {"wer": 5.0}, condition="codec mulaw", cue_given="true"),
        row("c", {"wer": 1.0}, "one", condition="clean"),
        row("c", {"wer": 5.0}, "another", condition="codec mulaw"),
    ]
    found = analyse(scored(*rows))
    assert found is not None
    (telephone,) = only(found.conditions).conditions
    assert (telephone.sweep, telephone.level, telephone.over_clean) == ("codec", None, None)


def test_items_of_an_undisturbed_run_are_clean() -> None:
    rows = [row("a", {"wer": 1.0}), row("a", {"wer": 2.0}, condition="noise 0 dB")]
    found = analyse(scored(*rows, row(None, {"wer": 99.0})))
    assert found is not None
    told = only(found.conditions)
    assert told.clean is not None
    assert (told.clean.mean, told.clean.n) == (1.0, 1)  # whoever just talked is not in it
    assert told.conditions[0].over_clean is not None


def test_sweeps_are_in_order_of_their_levels() -> None:
    names = ("speed 1.2", "noise 20 dB", "codec opus", "noise 5 dB", "speed 0.8", "noise -5 dB")
    rows = [row("a", {"wer": 1.0}, condition=name) for name in names]
    found = analyse(scored(*rows))
    assert found is not None
    told = only(found.conditions)
    assert [each.name for each in told.conditions] == [
        "codec opus", "noise -5 dB", "noise 5 dB", "noise 20 dB", "speed 0.8", "speed 1.2",
    ]  # fmt: skip
    assert told.clean is None


def test_people_are_compared_with_synthesised_speech_of_the_same_items() -> None:
    rows = [row(item, {"ctx_fit": 4.0}, speech="synthetic") for item in "abcd"]
    rows += [row(item, {"ctx_fit": 3.0}, speech="human", condition="clean") for item in "ab"]
    rows += [row("c", {"ctx_fit": 1.0}, speech="human", condition="noise 5 dB")]
    found = analyse(scored(*rows))
    assert found is not None
    (told,) = found.speech
    assert (told.human.mean, told.human.n) == (3.0, 2)  # the noisy one is another question
    assert (told.synthetic.mean, told.synthetic.n) == (4.0, 4)
    assert told.human_over_synthetic is not None
    assert (told.human_over_synthetic.mean, told.human_over_synthetic.n) == (-1.0, 2)


def test_one_kind_of_speech_alone_is_no_comparison() -> None:
    rows = [row("a", {"ctx_fit": 4.0}, speech="human")]
    assert analyse(scored(*rows)) is None


def test_all_that_comes_of_one_script_is_drawn_together() -> None:
    rows = [
        row(f"a{n}", {"wer": value}, group="a", condition="noise 5 dB")
        for n, value in enumerate((0.0, 100.0))
    ]
    found = analyse(scored(*rows))
    assert found is not None
    (noisy,) = only(found.conditions).conditions
    assert (noisy.scores.mean, noisy.scores.low) == (50.0, None)  # one script has no spread
    rows += [row(f"a{n}", {"wer": 0.0}, group="a") for n in range(2)]
    found = analyse(scored(*rows))
    assert found is not None
    over = only(found.conditions).conditions[0].over_clean
    assert over is not None
    assert (over.mean, over.n, over.low) == (50.0, 2, None)


def test_it_can_be_written_as_json() -> None:
    found = analyse(scored(*swept()))
    assert found is not None
    told = found.model_dump(mode="json")
    assert told["conditions"][0]["conditions"][0]["over_clean"]["mean"] == pytest.approx(27)
