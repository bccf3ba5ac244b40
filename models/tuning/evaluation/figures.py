"""All figures of one contestant made to reply in one way, from its answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from models.corpus.exchange import Exchange, Way
from models.corpus.references import References
from models.tuning.evaluation.intervals import figure
from models.tuning.evaluation.manner import manner
from models.tuning.evaluation.meaning import Nearness
from models.tuning.evaluation.overlap import overlap
from models.tuning.evaluation.plan_fit import Planned, fit
from models.tuning.evaluation.questions import Foreign, How, name
from models.tuning.evaluation.replies import Answer
from models.tuning.evaluation.steering import steering


def of_corpus(
    exchanges: Sequence[Exchange],
    answers: Mapping[str, Answer],
    how: How,
    near: Nearness,
    seed: int,
    references: References,
) -> dict[str, Any]:
    spoken = {place: answer.speech for place, answer in answers.items()}
    pairs = {
        way: [(spoken[name(each.id, way)], each.variants[way].reply) for each in exchanges]
        for way in Way
    }
    every = [pair for way in Way for pair in pairs[way]]
    found: dict[str, Any] = {
        "overlap": {
            "all": overlap(every),
            **{way.value: overlap(pairs[way]) for way in Way},
            "n": len(every),
        },
        "similarity": figure([[near(*pair)] for pair in pairs[Way.TARGET]], seed),
        "steering": steering(exchanges, spoken, near, seed),
        "steering_by_all": steering(exchanges, spoken, near, seed, references),
        "manner": manner([reply for reply, _ in every], seed),
        # What is live has been cut before it comes here.
        "leaks": None if how is How.LIVE else _share([a.leaked for a in answers.values()]),
    }
    if how is How.THINK:
        found["thinking"] = thinking(exchanges, answers, seed)
    return found


def thinking(
    exchanges: Sequence[Exchange], answers: Mapping[str, Answer], seed: int
) -> dict[str, Any]:
    """How often a thought came, and how well it fits; one that did not come fits nothing."""
    scripts = [
        [(_planned(answers[name(each.id, way)]), each.variants[way]) for way in Way]
        for each in exchanges
    ]
    without = [answer.thought is None for answer in answers.values()]
    return {**fit(scripts, seed), "without a thought": _share(without)}


def _planned(answer: Answer) -> Planned:
    thought = answer.thought
    return Planned(thought.strategies, thought.emotion) if thought else Planned()


def of_echomind(
    foreign: Sequence[Foreign], answers: Mapping[str, Answer], near: Nearness, seed: int
) -> dict[str, Any]:
    replies = [(answers[each.question.id].speech, each.reference) for each in foreign]
    return {
        "overlap": overlap(replies),
        "similarity": figure([[near(*pair)] for pair in replies], seed),
        "replies": [
            {"said": each.said, "heard": each.heard, "reply": reply}
            for each, (reply, _) in zip(foreign, replies, strict=True)
        ],
    }


def _share(holds: Sequence[bool]) -> float:
    return round(sum(holds) / max(1, len(holds)), 4)
