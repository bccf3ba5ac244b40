"""EmpathyEval: of two or three replies, does the judge choose the one that people chose?"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from models.types import AudioChunk
from server.scoring.exchange import Exchange
from server.scoring.judging import candidates
from server.scoring.judging.judge import Sound
from server.scoring.judging.rubric import rubric
from server.scoring.judging.sitting import Judged, Sitting, judge, self_agreement
from server.scoring.score import Instrument, Measure, Passing, Score, Unscored, tried
from server.scoring.settings import Settings

NAME = "empathy_choice"
KEY = "most_empathetic"
NOT_ITS_TASK = "not an item of EmpathyEval"

MEASURES = (
    Measure(
        "empathy_choice", "Finds the most empathetic reply", "aeq",
        "Whether the judge chooses the reply that people chose. It tests the judge, not our reply.",
        "EmpathyEval's own prompt is not published. Of repeats the most frequent choice counts.",
        "%", True, 0, 100,
    ),
    self_agreement(NAME, "EmpathyEval", "aeq"),
)  # fmt: skip


class EmpathyChoice(Judged):
    name = NAME
    rubrics = (NAME,)

    def judged(self, sitting: Sitting) -> dict[str, Score]:
        return tried(["empathy_choice"], lambda: self._chosen(sitting))

    def _chosen(self, sitting: Sitting) -> Mapping[str, Score]:
        truth = sitting.exchange.annotation
        if truth.task != "empathy_choice":
            raise Unscored(NOT_ITS_TASK)
        options = candidates.lettered(truth.options)
        if len(options) < 2 or truth.answer not in options:
            raise Unscored("no right choice is known")
        told: dict[str, object] = {"situation": truth.context} if truth.context else {}
        sounds = _utterance(sitting, told)
        for letter, option in options.items():
            if path := candidates.sound(option):
                sitting.judge.listening()
                sounds.append(Sound(f"reply {letter}", _opened(path)))
            else:
                told[f"reply_{letter}"] = option
        asked = rubric(NAME).offering(KEY, list(options))
        verdict = sitting.ask(asked, told, sounds, contest=False)
        counts = Counter(str(answer[KEY]) for answer in verdict.answers)
        chosen, _ = counts.most_common(1)[0]  # of equals the one chosen first
        why = f"Chose {chosen}; people chose {truth.answer}. {verdict.why(KEY)}".strip()
        return {"empathy_choice": Score(100.0 * (chosen == truth.answer), why, raw=verdict.raw)}


def _utterance(sitting: Sitting, told: dict[str, object]) -> list[Sound]:
    """Heard where the judge hears; the data set's own words otherwise."""
    if sitting.judge.hears:
        return [Sound("the user", sitting.exchange.user_sound())]
    told["user_said"] = _words(sitting.exchange)
    return []


def _words(exchange: Exchange) -> str:
    return exchange.annotation.text or exchange.user_words()


def _opened(path: Path) -> AudioChunk:
    """Decoded here, so that nothing but sound can leave the disk."""
    import numpy as np
    import soundfile

    try:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    except (OSError, soundfile.SoundFileError):
        raise Passing("a candidate's sound cannot be read") from None
    return AudioChunk(np.ascontiguousarray(samples.mean(axis=1)), rate)


def build(settings: Settings) -> Instrument:
    return EmpathyChoice(judge(settings))
