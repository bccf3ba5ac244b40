"""Which of two written replies a model would rather give, under a cue that asks for one of them.

Four numbers of each script: both references under both cues. A reference may be the likelier one
whatever the cue, only for being plainer; that cancels out over the two cues, and wholly in
`follows`: whether the target's cue makes the target's reference likelier than the other cue does.
"""

from collections.abc import Callable, Sequence
from typing import Any

from models.corpus.exchange import Exchange, Way
from models.thinking.told import Told
from models.tuning.evaluation.intervals import figure
from models.tuning.evaluation.questions import Plans, told_plan
from models.tuning.evaluation.steering import TWO, of_gender
from models.tuning.evaluation.weighing import Weigher
from models.tuning.examples import asked, empathic


def preference(
    exchanges: Sequence[Exchange],
    told: Told,
    plans: Plans,
    weigher: Weigher,
    seed: int,
    report: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Shares of scripts; where the model thinks first, a reference has its author's thought."""
    target, alternative, follows = [], [], []
    for number, each in enumerate(exchanges, 1):
        if of_gender(each):
            continue
        references = [empathic(each, way, told).answer for way in TWO]
        weights = {
            way: weigher.answers(asked(each, told_plan(each, way, told, plans), told), references)
            for way in TWO
        }
        under_target, under_other = weights[Way.TARGET], weights[Way.ALTERNATIVE]
        target.append([float(under_target[0] > under_target[1])])
        alternative.append([float(under_other[1] > under_other[0])])
        lead = (under_target[0] - under_target[1]) - (under_other[0] - under_other[1])
        follows.append([float(lead > 0)])
        report(number)
    return {
        Way.TARGET.value: figure(target, seed),
        Way.ALTERNATIVE.value: figure(alternative, seed),
        "follows": figure(follows, seed),
    }
