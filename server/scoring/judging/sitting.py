"""One exchange before a judge: what is asked about it, and how far the answers agree."""

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from server.scoring.exchange import Exchange
from server.scoring.judging.judge import Judge, Sound, Verdict
from server.scoring.judging.rubric import Rubric, rubric
from server.scoring.score import Family, JudgeNamed, Measure, Score
from server.scoring.scored import Usage
from server.scoring.settings import JudgeSettings, Settings

ASKED_ONCE = "the judge was asked once"
AGREEMENT = "judge_self_agreement_"  # and the name of the instrument


class Sitting:
    def __init__(self, judge: Judge, exchange: Exchange) -> None:
        self.exchange = exchange
        self.judge = judge
        self._verdicts: list[Verdict] = []

    def ask(
        self,
        asked: Rubric,
        material: Mapping[str, Any],
        sounds: Sequence[Sound] = (),
        *,
        contest: bool = True,
    ) -> Verdict:
        verdict = self.judge.ask(self.exchange, asked, material, sounds, contest=contest)
        self._verdicts.append(verdict)
        return verdict

    def agreement(self, instrument: str, scores: Mapping[str, Score]) -> dict[str, Score]:
        """How far the judge agrees with itself about this exchange, over all it was asked."""
        shares = [verdict.agreement for verdict in self._verdicts]
        known = [share for share in shares if share is not None]
        if known:
            score = Score(sum(known) / len(known))
        elif self._verdicts:
            score = Score.none(ASKED_ONCE)
        else:
            first = next(iter(scores.values()))
            score = Score.none(str(first.unscored), passing=first.passing)
        return {AGREEMENT + instrument: score}


class Judged:
    """An instrument whose scores are a judge's opinion, under one or more rubrics."""

    name: str
    version = 1
    rubrics: tuple[str, ...]

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    @property
    def key(self) -> str:
        return self._judge.key(
            self.name, self.version, (rubric(each).digest for each in self.rubrics)
        )

    @property
    def judge(self) -> JudgeNamed | None:
        return self._judge.named

    @property
    def usage(self) -> Usage:
        return self._judge.usage

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        sitting = Sitting(self._judge, exchange)
        scores = self.judged(sitting)
        return scores | sitting.agreement(self.name, scores)

    def judged(self, sitting: Sitting) -> dict[str, Score]:
        raise NotImplementedError


# One for all instruments of a run, so that one that is gone is waited for once; the next run
# has another, since nobody holds it any longer.
_judges: WeakValueDictionary[JudgeSettings, Judge] = WeakValueDictionary()


def judge(settings: Settings) -> Judge:
    """The one that is configured; Unavailable where there is none."""
    found = _judges.get(settings.judge)
    if found is None:
        _judges[settings.judge] = found = Judge(settings.judge)
    return found


def self_agreement(instrument: str, title: str, family: Family) -> Measure:
    return Measure(
        AGREEMENT + instrument,
        f"Judge agrees with itself: {title}",
        family,
        "How often two answers of the judge to the same question are equal, over all repeats.",
        "Repeats differ in their seed alone; at temperature 0 many servers answer all alike.",
        "%",
        True,
        0,
        100,
    )
