"""EchoMind's four grades of a reply's words, C1 to C4, in one call."""

from collections.abc import Mapping

from server.scoring.judging import material
from server.scoring.judging.rubric import rubric
from server.scoring.judging.sitting import Judged, Sitting, judge, self_agreement
from server.scoring.score import Instrument, Measure, Score, Unscored, tried
from server.scoring.settings import Settings

NAME = "echomind"
KEYS = {
    "context_fit_score": "ctx_fit",
    "response_naturalness_score": "resp_nat",
    "colloquialism_degree_score": "colloq_deg",
    "speech_information_relevance_score": "speech_rel",
}
CUE_KEY = "speech_information_relevance_score"
OTHER_JUDGE = (
    "EchoMind's judge is GPT-4o with a prompt of its own; ours has the same anchors in other words "
    "and one example of our own, so absolute values are not comparable with the published ones. "
    "What got no reply has no grade, though it counts 0 against a reference: the report tells how "
    "many."
)

MEASURES = (
    Measure(
        "ctx_fit", "Fits the context (C1)", "echomind",
        "How well the reply fits the topic and what was said.",
        OTHER_JUDGE, "", True, 1, 5,
    ),
    Measure(
        "resp_nat", "Natural (C2)", "echomind",
        "How naturally the reply flows, as an exchange between people.",
        OTHER_JUDGE, "", True, 1, 5,
    ),
    Measure(
        "colloq_deg", "Colloquial (C3)", "echomind",
        "How much the reply sounds like everyday speech.",
        OTHER_JUDGE, "", True, 1, 5,
    ),
    Measure(
        "speech_rel", "Takes up how it was said (C4)", "echomind",
        "How well the reply's words reflect the cue in the user's voice or surroundings.",
        OTHER_JUDGE + " Where no true cue is known it is judged by the perceived one, and says so.",
        "", True, 1, 5,
    ),
    self_agreement(NAME, "EchoMind", "echomind"),
)  # fmt: skip


class EchoMind(Judged):
    name = NAME
    rubrics = (NAME,)

    def judged(self, sitting: Sitting) -> dict[str, Score]:
        return tried(KEYS.values(), lambda: self._graded(sitting))

    def _graded(self, sitting: Sitting) -> Mapping[str, Score]:
        exchange = sitting.exchange
        told = material.about(exchange) | {"user_said": material.said(exchange)}
        asked, missing, note = rubric(NAME), {}, ""
        try:
            cue = material.cue(exchange)
        except Unscored as trouble:
            missing = {KEYS[CUE_KEY]: Score.none(trouble)}
            asked = asked.only([key for key in KEYS if key != CUE_KEY])
        else:
            told["how_it_was_said"] = cue.words
            note = cue.note
        told["reply"] = exchange.reply_words()
        verdict = sitting.ask(asked, told)
        keys = [question.key for question in asked.questions]
        return missing | {
            KEYS[key]: verdict.score(key, note if key == CUE_KEY else "") for key in keys
        }


def build(settings: Settings) -> Instrument:
    return EchoMind(judge(settings))
