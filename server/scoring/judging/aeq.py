"""AEQ-Bench's sides of empathy: what a reply says, and how it sounds. They are never merged."""

from collections.abc import Mapping

from server.scoring.judging import material
from server.scoring.judging.judge import Sound
from server.scoring.judging.rubric import rubric
from server.scoring.judging.sitting import Judged, Sitting, judge, self_agreement
from server.scoring.score import Instrument, Measure, Score, tried
from server.scoring.settings import Settings

NAME = "aeq"
LINGUISTIC = {"coherence": "aeq_coherence", "supportiveness": "aeq_supportiveness"}
PARALINGUISTIC = {"naturalness": "aeq_naturalness", "expressiveness": "aeq_expressiveness"}
OURS = (
    "AEQ-Bench's prompts, scales and full list of dimensions are not published; the four that are "
    "named are graded 1 to 5 by anchors of our own."
)

MEASURES = (
    Measure(
        "aeq_coherence", "Coherent (linguistic)", "aeq",
        "How well what the reply says hangs together with the situation and the user's words.",
        OURS, "", True, 1, 5,
    ),
    Measure(
        "aeq_supportiveness", "Supportive (linguistic)", "aeq",
        "How much what the reply says understands and supports the user.",
        OURS, "", True, 1, 5,
    ),
    Measure(
        "aeq_naturalness", "Natural voice (paralinguistic)", "aeq",
        "How human the reply sounds, heard without a transcript.",
        OURS, "", True, 1, 5,
    ),
    Measure(
        "aeq_expressiveness", "Expressive voice (paralinguistic)", "aeq",
        "How fittingly the reply's voice expresses feeling, heard without a transcript.",
        OURS + " Its authors found such judges unreliable on fine shades of prosody.",
        "", True, 1, 5,
    ),
    self_agreement(NAME, "AEQ", "aeq"),
)  # fmt: skip


class Aeq(Judged):
    name = NAME
    rubrics = ("aeq_linguistic", "aeq_paralinguistic")

    def judged(self, sitting: Sitting) -> dict[str, Score]:
        said = tried(LINGUISTIC.values(), lambda: self._said(sitting))
        return said | tried(PARALINGUISTIC.values(), lambda: self._sounds(sitting))

    def _said(self, sitting: Sitting) -> Mapping[str, Score]:
        """From the words; a judge that hears does without them."""
        exchange = sitting.exchange
        told, sounds = material.about(exchange), []
        if sitting.judge.hears and not exchange.consent.transcript:
            sounds = _both(sitting)
        else:
            told |= {"user_said": material.said(exchange), "reply": exchange.reply_words()}
        return sitting.ask(rubric("aeq_linguistic"), told, sounds).scores(LINGUISTIC)

    def _sounds(self, sitting: Sitting) -> Mapping[str, Score]:
        sitting.judge.listening()
        context = sitting.exchange.annotation.context
        told = {"situation": context} if context else {}
        verdict = sitting.ask(rubric("aeq_paralinguistic"), told, _both(sitting))
        return verdict.scores(PARALINGUISTIC)


def _both(sitting: Sitting) -> list[Sound]:
    return [
        Sound("the user", sitting.exchange.user_sound()),
        Sound("the reply", sitting.exchange.reply_sound()),
    ]


def build(settings: Settings) -> Instrument:
    return Aeq(judge(settings))
