"""VES: how much empathy a reply's voice shows, whatever its words, as an audio judge hears it."""

from collections.abc import Mapping

from server.scoring.judging import material
from server.scoring.judging.judge import Sound
from server.scoring.judging.rubric import rubric
from server.scoring.judging.sitting import Judged, Sitting, judge, self_agreement
from server.scoring.score import Instrument, Measure, Score, tried
from server.scoring.settings import Settings

NAME = "vocal_empathy"
KEY = "VES_score"

MEASURES = (
    Measure(
        "ves", "Vocal empathy (VES)", "echomind",
        "How well the sound of the reply answers the user's vocal state; its words do not count.",
        "EchoMind's judge is Gemini-2.5-Pro with a prompt of its own; ours has the same anchors in "
        "other words. Where no true cue is known it is judged by the perceived one, and says so.",
        "", True, 1, 5,
    ),
    self_agreement(NAME, "vocal empathy", "echomind"),
)  # fmt: skip


class VocalEmpathy(Judged):
    name = NAME
    rubrics = (NAME,)

    def judged(self, sitting: Sitting) -> dict[str, Score]:
        return tried(["ves"], lambda: self._heard(sitting))

    def _heard(self, sitting: Sitting) -> Mapping[str, Score]:
        sitting.judge.listening()
        cue = material.cue(sitting.exchange)
        told = {"the_users_vocal_state": cue.words}
        sounds = [Sound("the reply", sitting.exchange.reply_sound())]
        verdict = sitting.ask(rubric(NAME), told, sounds)
        return {"ves": verdict.score(KEY, cue.note)}


def build(settings: Settings) -> Instrument:
    return VocalEmpathy(judge(settings))
