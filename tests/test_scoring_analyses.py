"""What lies behind the scores: confusion, variants, where replies went wrong, what people said."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from scipy import stats

from models.perception.labels import DIMENSIONS
from models.style import REPLY_EMOTIONS
from server.scoring.analyses import confusion, flow, human, plan_fit, variants
from server.scoring.analyses.strands import strand
from server.scoring.annotation import Annotation
from server.scoring.catalogue import DOC
from server.scoring.score import Family, Measure
from server.scoring.scored import Row, Scored
from server.sessions.format import Rating
from tests.made_rounds import made_ballot

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def row(
    session: int = 0,
    number: int = 0,
    values: Mapping[str, float] | None = None,
    percept: Mapping[str, Any] | None = None,
    plan: Mapping[str, Any] | None = None,
    **annotation: Any,
) -> Row:
    return Row(
        f"sess_{session:020x}",
        number,
        f"user_{number}",
        f"reply_{number}",
        {},
        values or {},
        {},
        Annotation(**annotation),
        percept,
        plan,
        {},
        False,
    )


def scored(*rows: Row, families: Mapping[str, Family] | None = None, **more: Any) -> Scored:
    names = {name for each in rows for name in each.values}
    measures = {
        name: Measure(name, name, (families or {}).get(name, "words"), "") for name in sorted(names)
    }
    return Scored(rows, measures, draws=200, **more)


# -- confusion


def emotion(unknown: tuple[str, ...] = (), **chances: float) -> dict[str, Any]:
    return {"emotion": chances, "unknown": list(unknown), "weights": "default"}


def test_each_true_cue_is_counted_by_the_likeliest_of_its_dimension() -> None:
    found = confusion.analyse(
        scored(
            row(1, percept=emotion(sad=0.7, neutral=0.3), cue="sad"),
            row(2, percept=emotion(sad=0.2, neutral=0.8), cue="sad"),
            row(3, percept=emotion(("emotion",), sad=0.9, neutral=0.1), cue="sad"),
            row(4, percept=emotion(happy=0.6, sad=0.4), cue="happy"),
            row(5, percept=emotion(happy=0.6, neutral=0.4), cue="neutral"),
            row(6, percept={"events": {"sigh": 0.8, "cough": 0.6}}, cue="sigh"),
            row(7, percept={"events": {"sigh": 0.1, "cough": 0.2}}, cue="sigh"),
        )
    )
    assert found is not None
    by_name = {each.dimension: each for each in found.dimensions}
    feelings = by_name["emotion"]
    assert feelings.true == ["happy", "sad", "neutral"]
    assert feelings.perceived == ["happy", "sad", "neutral", "not sure"]
    assert feelings.counts == [[1, 0, 0, 0], [0, 1, 1, 1], [1, 0, 0, 0]]
    assert feelings.accuracy.mean == pytest.approx(100 * 2 / 5)
    assert feelings.balanced == pytest.approx((100 + 100 / 3 + 0) / 3)
    assert (feelings.n, feelings.unsure) == (5, 1)
    sounds = by_name["nonverbal"]
    assert (sounds.true, sounds.perceived) == (["sigh"], ["sigh", "nothing"])
    assert sounds.counts == [[1, 1]]
    assert found.overall.n == 7
    assert found.overall.accuracy.mean == pytest.approx(100 * 3 / 7)
    # Over all, a neutral voice and no sound at all are the same.
    assert found.overall.true == ["happy", "sad", "sigh", "nothing"]
    assert found.overall.perceived == ["happy", "sad", "sigh", "nothing", "not sure"]


def test_what_was_told_or_never_perceived_is_no_confusion() -> None:
    found = confusion.analyse(
        scored(
            row(1, percept={"emotion": {"sad": 1.0}, "weights": "given"}, cue="sad"),
            row(2, cue="sad"),
            row(3, percept=emotion(sad=1.0)),
        )
    )
    assert found is not None
    assert (found.given, found.no_percept, found.overall.n) == (1, 1, 0)
    assert found.overall.accuracy.mean is None and found.dimensions == []
    assert confusion.analyse(scored(row(3, percept=emotion(sad=1.0)))) is None


def test_a_clip_is_counted_once_however_many_questions_are_asked_of_it() -> None:
    clip: dict[str, Any] = {
        "benchmark": "echomind",
        "group": "7",
        "variant": "target",
        "cue": "sad",
    }
    asked = [
        row(n, percept=emotion(sad=1.0), item=f"question {n}", task="mcq", **clip) for n in range(9)
    ]
    talked = row(10, percept=emotion(sad=1.0), item="7", task="conversation", **clip)
    other = row(11, percept=emotion(neutral=1.0), item="8", **clip | {"group": "8"})
    alternative = row(
        12, percept=emotion(sad=1.0), item="7", **clip | {"variant": "alternative", "cue": "happy"}
    )
    found = confusion.analyse(scored(*asked, talked, other, alternative))
    assert found is not None
    assert (found.overall.n, found.again) == (3, 9)
    assert found.overall.accuracy.mean == pytest.approx(100 / 3)


def test_what_noise_makes_of_a_cue_is_told_by_the_sweep() -> None:
    rows = [
        row(n, percept=emotion(sad=1.0), item="a", cue="sad", condition=condition)
        for n, condition in enumerate(("clean", "noise 5 dB"))
    ]
    found = confusion.analyse(scored(*rows))
    assert found is not None and (found.overall.n, found.again) == (1, 0)


def test_a_neutral_rendering_is_looked_at_in_the_dimension_of_its_script() -> None:
    found = confusion.analyse(
        scored(
            row(percept={"speed": {"normal": 0.9, "fast": 0.1}}, cue="neutral", dimension="speed")
        )
    )
    assert found is not None
    assert [each.dimension for each in found.dimensions] == ["speed"]
    assert found.dimensions[0].true == ["normal"] and found.overall.true == ["nothing"]
    assert found.overall.accuracy.mean == 100


def test_a_dimension_the_weights_cannot_hear_is_not_sure() -> None:
    found = confusion.analyse(scored(row(percept={"physiological": {}}, cue="hoarse")))
    assert found is not None and found.dimensions[0].perceived == ["hoarse", "not sure"]


@pytest.mark.parametrize("cue", [*DIMENSIONS["age"].attributes, "scream", "dog", "male"])
def test_every_cue_has_its_dimension(cue: str) -> None:
    found = confusion.analyse(scored(row(percept={}, cue=cue)))
    assert found is not None and found.overall.counts == [[0, 1]]


# -- variants


def script(group: str, *, session: int, **values: tuple[float, float, float]) -> list[Row]:
    """One script in its three renderings: target, neutral, alternative."""
    return [
        row(
            session + at,
            values={name: told[at] for name, told in values.items()},
            group=group,
            variant=variant,
            benchmark="echomind",
        )
        for at, variant in enumerate(variants.VARIANTS)
    ]


def test_variants_are_compared_within_their_script() -> None:
    found = variants.analyse(
        scored(
            *script("one", session=0, bleu4=(5, 1, 2), ves=(4, 3, 3)),
            *script("two", session=3, bleu4=(7, 3, 8), ves=(2, 2, 2)),
            families={"bleu4": "words", "ves": "echomind"},
        )
    )
    assert found is not None
    tables = {(each.setting, each.strand): each for each in found.tables}
    assert set(tables) == {("tone", "linguistic"), ("tone", "paralinguistic")}
    bleu = tables["tone", "linguistic"].metrics[0]
    assert {name: told.mean for name, told in bleu.variants.items()} == {
        "target": 6, "neutral": 2, "alternative": 5,
    }  # fmt: skip
    assert bleu.target_over_neutral is not None and bleu.target_over_alternative is not None
    assert bleu.target_over_neutral.mean == 4 and bleu.target_over_neutral.n == 2
    assert bleu.target_over_alternative.mean == pytest.approx((3 - 1) / 2)
    assert [each.metric for each in tables["tone", "paralinguistic"].metrics] == ["ves"]


def test_the_same_script_in_two_runs_is_compared_within_each() -> None:
    rows = [
        row(1, values={"bleu4": 9}, group="one", variant="target", cue_given="true"),
        row(2, values={"bleu4": 1}, group="one", variant="neutral", cue_given="none"),
    ]
    found = variants.analyse(scored(*rows))
    assert found is not None and found.tables[0].metrics[0].target_over_neutral is None


def test_context_and_tone_are_told_apart() -> None:
    found = variants.analyse(
        scored(
            row(1, values={"bleu4": 1}, group="g", setting="context", context="At a wedding."),
            row(2, values={"bleu4": 3}, group="g", setting="context", context="At a funeral."),
            row(3, values={"bleu4": 9}, group="h", setting="tone", variant="target"),
            row(4, values={"bleu4": 8}),
        )
    )
    assert found is not None
    assert [
        (each.setting, {name: told.mean for name, told in each.metrics[0].variants.items()})
        for each in found.tables
    ] == [("tone", {"target": 9}), ("context", {"At a wedding.": 1, "At a funeral.": 3})]


def test_situations_are_compared_with_the_first_on_the_same_recordings() -> None:
    def told(group: str, session: int, **bleu: float) -> list[Row]:
        return [
            row(
                session + at,
                values={"bleu4": value},
                group=group,
                setting="context",
                context=context,
                variant="target",
            )
            for at, (context, value) in enumerate(bleu.items())
        ]

    rows = [
        *told("a", 0, wedding=1, funeral=3), *told("b", 2, wedding=2, funeral=8),
        *told("c", 4, funeral=50),
    ]  # fmt: skip
    found = variants.analyse(scored(*rows))
    assert found is not None
    (bleu,) = found.tables[0].metrics
    assert list(bleu.over_first) == ["funeral"]
    assert (bleu.over_first["funeral"].mean, bleu.over_first["funeral"].n) == (4, 2)
    assert bleu.target_over_neutral is None
    assert (found.groups[0].setting, found.groups[0].groups) == ("context", 2)


def test_situations_of_each_items_own_have_no_column_each() -> None:
    rows = [
        row(at, values={"bleu4": at}, group=f"{at // 2}", setting="context", context=f"At {at}.")
        for at in range(variants.SITUATIONS + 1)
    ]
    found = variants.analyse(scored(*rows))
    assert found is not None
    assert list(found.tables[0].metrics[0].variants) == [variants.ANY]


def test_scripts_are_counted_once_however_often_they_were_met() -> None:
    rows = [
        row(3 * at + place, group=group, variant=variant, cue_given=cue)
        for at, cue in enumerate(("true", "none", "perceived"))
        for group, place in (("a", 0), ("b", 1))
        for variant in ("target", "alternative")
    ]
    again = [row(50 + n, group="c", variant="target") for n in range(2)]
    found = variants.analyse(scored(*rows, *again))
    assert found is not None
    assert (found.groups[0].groups, found.groups[0].plays) == (2, 6)


def test_a_variant_nobody_answered_makes_no_pair() -> None:
    silent = replace(row(2, group="a", variant="alternative"), reply_item=None)
    found = variants.analyse(scored(row(1, group="a", variant="target"), silent))
    assert found is not None and found.groups == []


def test_words_and_voice_are_never_in_one_table() -> None:
    names: dict[str, Family] = {
        "ctx_fit": "echomind", "ves": "echomind", "aeq_coherence": "aeq",
        "aeq_expressiveness": "aeq", "humdial_insight": "humdial", "humdial_quality": "humdial",
        "echat_emotion": "echat", "vstyle": "vstyle", "rouge_l": "words", "dnsmos_ovrl": "sound",
        "vocalbench_acoustic": "voice", "cue_recall": "perception", "reply_latency_ms": "latency",
    }  # fmt: skip
    found = {name: strand(Measure(name, name, family, "")) for name, family in names.items()}
    assert found == {
        "ctx_fit": "linguistic", "ves": "paralinguistic", "aeq_coherence": "linguistic",
        "aeq_expressiveness": "paralinguistic", "humdial_insight": "linguistic",
        "humdial_quality": "paralinguistic", "echat_emotion": "both", "vstyle": "both",
        "rouge_l": "linguistic", "dnsmos_ovrl": "paralinguistic",
        "vocalbench_acoustic": "paralinguistic", "cue_recall": "understanding",
        "reply_latency_ms": None,
    }  # fmt: skip


def test_replies_follow_a_cue_if_each_is_nearer_to_its_own_reference() -> None:
    found = variants.analyse(
        scored(
            *script("one", session=0, steering_minilm=(10, 5, 20)),
            *script("two", session=3, steering_minilm=(10, 5, -1)),
            *script("three", session=6, steering_minilm=(10, 5, 0)),
            row(9, values={"steering_minilm": 4}, group="alone", variant="target"),
        )
    )
    assert found is not None and found.tables == []
    steering = found.steering[0]
    assert steering.margins["alternative"].mean == pytest.approx(19 / 3)
    assert steering.following["target"].mean == 100
    assert steering.following["alternative"].mean == pytest.approx(100 / 3)
    assert found.groups[0].groups == 3  # the one with a single variant says nothing
    assert found.groups[0].steered.mean == pytest.approx(100 / 3)
    assert found.groups[0].planned_apart.n == 0


def test_groups_are_planned_apart_if_no_two_variants_are_planned_alike() -> None:
    sad = {"situation": "sad", "emotion": "comforting", "heard": [{"name": "sad"}]}
    glad = {"situation": "delighted", "emotion": "happy", "heard": [{"name": "happy"}]}
    found = variants.analyse(
        scored(
            row(1, plan=sad, group="a", variant="target"),
            row(2, plan=glad, group="a", variant="alternative"),
            row(3, plan=sad, group="a", variant="neutral"),
            row(4, plan=sad, group="b", variant="target"),
            row(5, plan=sad, group="b", variant="alternative"),
        )
    )
    assert found is not None
    assert (found.groups[0].planned_apart.mean, found.groups[0].planned_apart.n) == (50, 2)


def test_without_variants_nothing_is_said_of_them() -> None:
    assert variants.analyse(scored(row(values={"bleu4": 1}))) is None


# -- where it went wrong

FINE = {"wer": 5.0, "cue_recall": 100.0, "vocalbench_acoustic": 4.0}
CARING = {"emotion": "comforting", "heard": [{"dimension": "emotion", "name": "sad", "sure": True}]}


def judged(session: int, score: float, *, plan: Any = CARING, **values: float) -> Row:
    return row(session, values={**FINE, "speech_rel": score, **values}, plan=plan, cue="sad")


def test_a_poor_reply_is_laid_to_the_first_thing_that_went_wrong() -> None:
    found = flow.analyse(
        scored(
            judged(1, 1, wer=40, cue_recall=0),
            judged(2, 2, cue_recall=0, vocalbench_acoustic=1),
            judged(3, 2, plan={"emotion": "happy"}),
            judged(4, 1, vocalbench_acoustic=2.9),
            judged(5, 1, emo_align=0),
            judged(6, 1, prefers_ours_voice=0),
            judged(7, 1, ves=2),
            judged(8, 2),
            judged(9, 1, plan=None),
            judged(10, 4, wer=40),
            judged(11, 3, wer=20),
        )
    )
    assert found is not None
    assert (found.poor, found.good, found.by_judge, found.by_proxy) == (9, 2, 11, 0)
    assert found.went_wrong == {
        "words": 1, "cue": 1, "plan": 1, "voice": 4, "reply": 1, "unknown": 1,
    }  # fmt: skip
    assert {each.session_id[-1]: each.where for each in found.replies}["2"] == "cue"
    assert found.rule == flow.RULE
    stages = {each.name: each for each in found.stages}
    assert list(stages) == ["words", "cue", "plan", "voice"]
    assert stages["plan"].poor.model_dump() == {"fine": 7, "wrong": 1, "unknown": 1}
    assert stages["words"].good.model_dump() == {"fine": 1, "wrong": 1, "unknown": 0}


def test_another_table_of_emotions_does_not_overrule_ours() -> None:
    """Calm is an answer to anger by our table, and to VocalBench's 2 of 5."""
    calm = {"emotion": "neutral"}
    found = flow.analyse(
        scored(
            row(1, values={**FINE, "speech_rel": 1, "vocalbench_acoustic": 2, "emo_align": 100},
                plan=calm, cue="angry"),
            row(2, values={**FINE, "speech_rel": 1, "vocalbench_acoustic": 2},
                plan=calm, cue="angry"),
            row(3, values={**FINE, "speech_rel": 1, "emo_align": 0}, plan=calm, cue="angry"),
        )
    )  # fmt: skip
    assert found is not None
    assert [each.where for each in found.replies] == ["reply", "voice", "voice"]
    assert {each.name: each.title for each in found.stages}["voice"] == "Voice does not suit"


def test_what_flows_into_a_node_flows_out_of_it() -> None:
    rows = [
        judged(at, 1 + at % 4, wer=40 * (at % 3 == 0), cue_recall=100 * (at % 5 != 0))
        for at in range(40)
    ]
    found = flow.analyse(scored(*rows))
    assert found is not None
    names = {each.name for each in found.nodes}
    entering, leaving = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for link in found.links:
        leaving[link.source] += link.good + link.poor
        entering[link.target] += link.good + link.poor
    assert leaving["replies"] == 40
    for name in names - {"replies"}:
        assert leaving[name] in (0, entering[name])
    ends = {link.target: link.poor for link in found.links if not link.target.startswith("after_")}
    assert {name: count for name, count in found.went_wrong.items() if count} == {
        name: count for name, count in ends.items() if count
    }


def test_what_is_not_known_is_not_taken_to_be_fine() -> None:
    found = flow.analyse(scored(row(values={"ctx_fit": 1})))
    assert found is not None
    assert found.went_wrong["unknown"] == 1 and found.went_wrong["reply"] == 0
    assert all(each.poor.unknown == 1 and each.poor.fine == 0 for each in found.stages)


def test_without_a_judge_the_reference_says_which_replies_are_poor() -> None:
    rows = [row(at, values={"similarity_minilm": 10.0 * at}) for at in range(8)]
    rows += [row(8, values={"steering_minilm": -1}), row(9, values={"steering_minilm": 0})]
    found = flow.analyse(scored(*rows, row(10)))
    assert found is not None
    # The lower quartile of 0, 10, … 70 is 17.5: two lie below it.
    assert sorted(int(each.session_id[5:], 16) for each in found.replies) == [0, 1, 8]
    assert (found.good, found.by_proxy, found.undecided) == (7, 10, 1)
    assert found.rule == f"{flow.RULE} {flow.PROXY}"
    assert {each.by for each in found.replies} == {"proxy"}


def test_a_judge_overrules_the_proxies() -> None:
    found = flow.analyse(scored(row(values={"ctx_fit": 4, "steering_minilm": -9})))
    assert found is not None and found.poor == 0


def test_few_likenesses_have_no_lowest_quarter() -> None:
    assert flow.analyse(scored(*(row(at, values={"similarity": at}) for at in range(7)))) is None


def test_answers_to_questions_of_choice_are_no_replies() -> None:
    assert flow.analyse(scored(row(values={"ctx_fit": 1}, task="mcq"))) is None


def test_every_cue_is_one_that_plans_are_known_to_take_up_or_not() -> None:
    cues = {name for each in DIMENSIONS.values() for name in each.attributes}
    assert all(plan_fit.fits({}, cue) is not None for cue in cues | {"neutral"})
    assert plan_fit.fits({}, "something else") is None
    assert {name for named in plan_fit.EMOTIONS.values() for name in named} <= set(REPLY_EMOTIONS)


def test_the_document_tells_which_emotions_fit() -> None:
    told: dict[str, set[str]] = {}
    for line in DOC.read_text("utf-8").partition("| true cue |")[2].splitlines()[2:]:
        cues, _, emotions = line.strip("| ").partition(" | ")
        told |= {cue: set(emotions.split(", ")) for cue in cues.split(", ")}
    assert {cue: told[cue] for cue in plan_fit.EMOTIONS} == {
        cue: set(emotions) for cue, emotions in plan_fit.EMOTIONS.items()
    }


@pytest.mark.parametrize(
    ("cue", "plan", "fits"),
    [
        ("sad", {"emotion": "comforting"}, True),
        ("sad", {"emotion": "happy", "heard": [{"name": "sad"}]}, False),
        ("happy", {"emotion": "happy"}, True),
        ("angry", {"emotion": "angry"}, False),
        ("child", {"emotion": "pleasant", "strategies": ["address_child"]}, True),
        ("child", {"emotion": "pleasant", "strategies": []}, False),
        ("rain", {"strategies": ["adapt_to_noise"]}, True),
        ("dog", {"heard": [{"name": "dog", "sure": False}]}, True),
        ("dog", {"heard": []}, False),
        ("fast", {"heard": [{"name": "fast"}]}, True),
        ("female", {"emotion": "neutral"}, True),
        ("neutral", {"heard": [{"dimension": "emotion", "name": "sad", "sure": True}]}, False),
        ("neutral", {"heard": [{"dimension": "emotion", "name": "sad", "sure": False}]}, True),
        ("neutral", {"heard": [{"dimension": "weather", "name": "rain", "sure": True}]}, True),
    ],
)
def test_a_plan_takes_up_a_cue(cue: str, plan: dict[str, Any], fits: bool) -> None:
    assert plan_fit.fits(plan, cue) is fits


# -- people


def rating(
    session: int,
    item: int | None = 0,
    *,
    by: str = "expert",
    rater: str | None = "ann",
    minute: int = 0,
    **scores: float,
) -> tuple[str, Rating]:
    told = Rating.model_validate(
        {
            "wall": NOON + timedelta(minutes=minute),
            "by": by,
            "rater": rater,
            "item_id": None if item is None else f"reply_{item}",
            "scores": scores,
        }
    )
    return f"sess_{session:020x}", told


def test_without_ratings_it_says_so() -> None:
    found = human.analyse(scored(row(values={"bleu4": 1})))
    assert (found.ratings, found.raters, found.votes) == (0, 0, 0)
    assert found.note == "No ratings by people yet."
    assert not any((found.means, found.agreement, found.correlations, found.systems))


def test_users_and_experts_replies_and_sessions_are_told_apart() -> None:
    found = human.analyse(
        scored(
            ratings=[
                rating(1, ctx_fit=5),
                rating(2, ctx_fit=2),
                rating(1, by="user", rater=None, ctx_fit=4),
                rating(1, None, by="user", rater=None, overall=3),
            ]
        )
    )
    assert {
        (each.by, each.about, each.dimension): (each.mean.mean, each.mean.n, each.raters)
        for each in found.means
    } == {
        ("expert", "reply", "ctx_fit"): (3.5, 2, 1),
        ("user", "reply", "ctx_fit"): (4.0, 1, 1),
        ("user", "session", "overall"): (3.0, 1, 1),
    }
    assert (found.ratings, found.note) == (4, "")


def test_a_persons_last_word_holds() -> None:
    found = human.analyse(
        scored(ratings=[rating(1, minute=5, ctx_fit=2), rating(1, minute=1, ctx_fit=5)])
    )
    assert found.means[0].mean.mean == 2 and found.means[0].mean.n == 1


def test_agreement_is_over_those_who_rated_the_same_reply() -> None:
    """Units (1,1) (2,2) (3,4) (5,5) of two experts; the user's lone word adds nobody to them."""
    pairs = [(1, 1), (2, 2), (3, 4), (5, 5)]
    told = [
        rating(at, rater=rater, ctx_fit=value)
        for at, pair in enumerate(pairs)
        for rater, value in zip(("ann", "bob"), pair, strict=True)
    ]
    told += [rating(9, by="user", rater=None, ctx_fit=1), rating(8, rater="eve", resp_nat=3)]
    found = human.analyse(scored(ratings=told))
    assert {(each.by, each.dimension) for each in found.agreement} == {
        ("expert", "ctx_fit"), ("everybody", "ctx_fit"),
    }  # fmt: skip
    agreed = found.agreement[0].agreement
    # krippendorff.alpha([[1, 2, 3, 5], [1, 2, 4, 5]], level_of_measurement="ordinal")
    assert agreed.alpha == pytest.approx(0.978395, abs=1e-6)
    assert (agreed.units, agreed.raters) == (4, 2)


def test_a_user_and_an_expert_of_the_same_name_are_two_people() -> None:
    told = [
        rating(at, by=by, rater="ann", ctx_fit=1 + at)
        for at in range(3)
        for by in ("user", "expert")
    ]
    found = human.analyse(scored(ratings=told))
    assert [(each.by, each.agreement.raters) for each in found.agreement] == [("everybody", 2)]


def test_each_metric_is_correlated_with_what_people_said() -> None:
    people, automatic = [1, 2, 3, 4, 5, 3], [1.5, 2.0, 2.5, 4.5, 4.0, 3.5]
    rows = [
        row(at, values={"ctx_fit": value, "bleu4": -value}) for at, value in enumerate(automatic)
    ]
    found = human.analyse(
        scored(*rows, ratings=[rating(at, ctx_fit=value) for at, value in enumerate(people)])
    )
    told = {each.metric: each for each in found.correlations}
    known = stats.spearmanr(people, automatic).statistic
    assert told["ctx_fit"].correlation.rho == pytest.approx(known)
    assert told["bleu4"].correlation.rho == pytest.approx(-known)
    assert told["ctx_fit"].matching and not told["bleu4"].matching
    assert {each.about for each in found.correlations} == {"reply"}
    assert told["ctx_fit"].correlation.n == 6


def test_a_session_is_correlated_by_the_mean_of_its_replies() -> None:
    """Means 1, 2, 3, 4, 5; sums 5, 8, 9, 8, 5."""
    rows = [row(s, n, values={"bleu4": s + 1}) for s in range(5) for n in range(5 - s)]
    ratings = [rating(s, None, overall=5 - s) for s in range(5)]
    found = human.analyse(scored(*rows, ratings=ratings))
    few = human.analyse(scored(*rows, ratings=ratings[:4]))
    assert not few.correlations, "four sessions go with anything"
    told = [each for each in found.correlations if each.about == "session"]
    assert [(each.metric, each.correlation.n) for each in told] == [("bleu4", 5)]
    assert told[0].correlation.rho == pytest.approx(-1)


def test_ratings_in_the_name_of_a_user_whom_a_benchmark_played_are_nobodys() -> None:
    found = human.analyse(
        scored(
            row(1, values={"bleu4": 1}, benchmark="echomind"),
            ratings=[rating(1, by="user", rater=None, ctx_fit=5), rating(1, ctx_fit=2)],
        )
    )
    assert (found.ratings, found.left_out) == (1, 1)
    assert [each.by for each in found.means] == ["expert"]
    assert "left out" in found.note


def test_nobody_is_named() -> None:
    found = human.analyse(scored(ratings=[rating(1, rater="Ann Onymous", ctx_fit=5)]))
    assert "Onymous" not in found.model_dump_json()


def test_votes_make_systems_stronger() -> None:
    votes = [made_ballot("a", "b", "a")] * 8 + [made_ballot("b", "a", "a")] * 2
    votes += [made_ballot("b", "c", "tie", source="prepared")] * 4
    found = human.analyse(scored(votes=votes))
    assert (found.votes, found.votes_prepared) == (14, 4)
    told = {each.name: each for each in found.systems}
    assert [each.name for each in found.systems][0] == "A"
    assert (told["A"].wins, told["A"].losses, told["B"].ties) == (8, 2, 4)
    assert told["A"].strength > 0 and told["A"].elo > 1000
    assert told["A"].low < told["A"].strength < told["A"].high


def test_systems_stand_as_the_arena_says() -> None:
    """Both bad changes no strength, and a system set up otherwise is another one."""
    before = {"name": "a", "label": "A", "mark": "old"}
    early = {"wall": datetime(2020, 1, 1, tzinfo=UTC)}
    fair = [made_ballot("a", "b", "a")] * 6 + [made_ballot("a", "b", "b")] * 2
    rest = [made_ballot("a", "b", "bad")] * 12
    rest += [made_ballot("a", "b", "b", a=before, **early)] * 10
    found = human.analyse(scored(votes=[*rest, *fair]))
    assert found.systems[0].name == "A" and found.systems[0].bad == 12
    assert (found.votes, found.votes_left_out) == (20, 10)
    without = human.analyse(scored(votes=fair))
    assert [s.strength for s in found.systems] == [s.strength for s in without.systems]


def test_who_was_heard_first_makes_no_difference() -> None:
    one = human.analyse(scored(votes=[made_ballot("a", "b", "a")] * 5))
    other = human.analyse(scored(votes=[made_ballot("b", "a", "b")] * 5))
    assert one.systems == other.systems
