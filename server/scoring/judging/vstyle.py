"""A grade in steps, after VStyle: each gate is the judge's to answer and ours to apply."""

from collections.abc import Mapping, Sequence

from server.scoring.judging import material
from server.scoring.judging.answers import Answer
from server.scoring.judging.judge import Sound
from server.scoring.judging.rubric import rubric
from server.scoring.judging.sitting import Judged, Sitting, judge, self_agreement
from server.scoring.score import Instrument, Measure, Score, tried
from server.scoring.settings import Settings

NAME = "vstyle"
# In order: who does not pass one gets its grade, whatever comes after.
GATES = (
    ("right_language", 1, "another language"),
    ("says_the_transcript", 1, "not the words of its transcript"),
    ("answers_the_user", 1, "no answer"),
    ("empathy_in_words", 2, "no empathy in its words"),
    ("style_is_there", 3, "a flat style"),
    ("style_is_right", 4, "a style that suits in part"),
)
PASSED = 5

MEASURES = (
    Measure(
        "vstyle", "Empathy in steps", "vstyle",
        "Language, transcript, answer, empathy of the words, style: the first that fails decides.",
        "VStyle's judge is Gemini with a prompt of its own. The order of its gates is kept; which "
        "grade each gives is our reading: 1 for the first three, 2 without empathy in the words, 3 "
        "for a flat style, 4 for one that suits in part, 5 otherwise.",
        "", True, 1, 5,
    ),
    self_agreement(NAME, "VStyle", "vstyle"),
)  # fmt: skip


class VStyle(Judged):
    name = NAME
    rubrics = (NAME,)

    def judged(self, sitting: Sitting) -> dict[str, Score]:
        return tried(["vstyle"], lambda: self._graded(sitting))

    def _graded(self, sitting: Sitting) -> Mapping[str, Score]:
        sitting.judge.listening()
        exchange = sitting.exchange
        told = material.about(exchange) | material.state(exchange)
        told["user_said"] = material.said(exchange)
        told["transcript_of_the_reply"] = exchange.reply_words()
        sounds = [
            Sound("the user", exchange.user_sound()),
            Sound("the reply", exchange.reply_sound()),
        ]
        verdict = sitting.ask(rubric(NAME), told, sounds)
        grades = [passed(answer) for answer in verdict.answers]
        why = f"{_ended(grades)} {verdict.why(GATES[0][0])}".strip()
        value = sum(grade for grade, _ in grades) / len(grades)
        return {"vstyle": Score(value, why, raw=verdict.raw)}


def passed(answer: Answer) -> tuple[int, str]:
    """The grade, and what it ended at."""
    for gate, grade, failed in GATES:
        if not answer[gate]:
            return grade, failed
    return PASSED, ""


def _ended(grades: Sequence[tuple[int, str]]) -> str:
    failed = grades[0][1]
    return f"Ended at: {failed}." if failed else "Passed every gate."


def build(settings: Settings) -> Instrument:
    return VStyle(judge(settings))
