"""HumDial's three grades of an empathetic reply: insight of its words, congruence and quality of
its voice."""

from collections.abc import Mapping

from server.scoring.judging import material
from server.scoring.judging.judge import Sound
from server.scoring.judging.rubric import rubric
from server.scoring.judging.sitting import Judged, Sitting, judge, self_agreement
from server.scoring.score import Instrument, Measure, Score, tried
from server.scoring.settings import Settings

NAME = "humdial"
WORDS = {"textual_empathy_insight": "humdial_insight"}
VOICE = {
    "vocal_empathy_congruence": "humdial_congruence",
    "audio_quality_naturalness": "humdial_quality",
}
OURS = (
    "HumDial's judge is Qwen3-Omni-30B-A3B at temperature 0.6, which hears all three in one call; "
    "ours has the same anchors in other words, and reads words and hears voice in calls apart."
)

MEASURES = (
    Measure(
        "humdial_insight", "Insight of the words", "humdial",
        "How far the reply's words understand the user, from beside the point to a new view.",
        OURS, "", True, 1, 5,
    ),
    Measure(
        "humdial_congruence", "Congruence of the voice", "humdial",
        "How far the reply's voice is in tune with the user's feeling.",
        OURS, "", True, 1, 5,
    ),
    Measure(
        "humdial_quality", "Quality of the voice", "humdial",
        "How clean and human the reply's sound is.",
        OURS, "", True, 1, 5,
    ),
    self_agreement(NAME, "HumDial", "humdial"),
)  # fmt: skip


class HumDial(Judged):
    name = NAME
    rubrics = ("humdial_words", "humdial_voice")

    def judged(self, sitting: Sitting) -> dict[str, Score]:
        words = tried(WORDS.values(), lambda: self._words(sitting))
        return words | tried(VOICE.values(), lambda: self._voice(sitting))

    def _words(self, sitting: Sitting) -> Mapping[str, Score]:
        exchange = sitting.exchange
        told = material.about(exchange) | material.state(exchange)
        told |= {"user_said": material.said(exchange), "reply": exchange.reply_words()}
        return sitting.ask(rubric("humdial_words"), told).scores(WORDS)

    def _voice(self, sitting: Sitting) -> Mapping[str, Score]:
        sitting.judge.listening()
        exchange = sitting.exchange
        sounds = [
            Sound("the user", exchange.user_sound()),
            Sound("the reply", exchange.reply_sound()),
        ]
        told = material.state(exchange)
        return sitting.ask(rubric("humdial_voice"), told, sounds).scores(VOICE)


def build(settings: Settings) -> Instrument:
    return HumDial(judge(settings))
