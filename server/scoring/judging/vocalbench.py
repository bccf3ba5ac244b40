"""VocalBench's semantic score: how well a reply's words answer the user's words and emotion."""

from collections.abc import Mapping

from server.scoring.judging import material
from server.scoring.judging.rubric import rubric
from server.scoring.judging.sitting import Judged, Sitting, judge, self_agreement
from server.scoring.score import Instrument, Measure, Score, tried
from server.scoring.settings import Settings

NAME = "vocalbench"
SEMANTIC = "vocalbench_semantic"

MEASURES = (
    Measure(
        SEMANTIC, "VocalBench, words", "vocalbench",
        "How well the reply's words answer what was said in the emotion in which it was said.",
        "VocalBench's prompt for this grade is its own; ours has a scale from 1 to 5 in our words. "
        "Its authors add this to the voice's score, we do not. Where no true cue is known it is "
        "judged by the perceived one, and says so.",
        "", True, 1, 5,
    ),
    self_agreement(NAME, "VocalBench", "vocalbench"),
)  # fmt: skip


class VocalBench(Judged):
    name = NAME
    rubrics = (NAME,)

    def judged(self, sitting: Sitting) -> dict[str, Score]:
        return tried([SEMANTIC], lambda: self._words(sitting))

    def _words(self, sitting: Sitting) -> Mapping[str, Score]:
        exchange = sitting.exchange
        cue = material.cue(exchange)
        told = material.about(exchange) | {
            "user_said": material.said(exchange),
            "how_it_was_said": cue.words,
            "reply": exchange.reply_words(),
        }
        verdict = sitting.ask(rubric(NAME), told)
        return {SEMANTIC: verdict.score("semantic_score", cue.note)}


def build(settings: Settings) -> Instrument:
    return VocalBench(judge(settings))
