"""Would the judge rather have what we did not do? A check of the judge as much as of us."""

from collections.abc import Mapping

from server.scoring.judging import material
from server.scoring.judging.flat import FlatVoices
from server.scoring.judging.judge import Judge, Sound, Verdict
from server.scoring.judging.pairs import preference
from server.scoring.judging.rubric import rubric
from server.scoring.judging.sitting import Judged, Sitting, judge, self_agreement
from server.scoring.score import Instrument, Measure, Score, Unscored, tried
from server.scoring.settings import Settings

NAME = "counterfactual"
VOICE = ("prefers_ours_voice", "prefers_first_voice")
WORDS = ("prefers_ours_words", "prefers_first_words")
NO_OTHER = "no reply to another cue"
BOTH_WAYS = "Asked in both orders: 100 both times ours, 50 once each or equal, 0 never."

MEASURES = (
    Measure(
        "prefers_ours_voice", "Prefers our voice to a flat one", "counterfactual",
        "Whether the judge prefers the reply as it was played to the same words in a flat voice.",
        f"After AEQ-Bench's idea; the protocol is ours. {BOTH_WAYS}", "%", True, 0, 100,
    ),
    Measure(
        "prefers_first_voice", "Prefers whatever it hears first", "counterfactual",
        "How often the judge chose the voice it heard first: 50 where the order decides nothing.",
        "", "%", None, 0, 100,
    ),
    Measure(
        "prefers_ours_words", "Prefers our words to those for another cue", "counterfactual",
        "Whether the judge prefers the reply's words to a right reply to another cue.",
        f"After AEQ-Bench's idea; the protocol is ours. {BOTH_WAYS}", "%", True, 0, 100,
    ),
    Measure(
        "prefers_first_words", "Prefers whatever it reads first", "counterfactual",
        "How often the judge chose the words it read first: 50 where the order decides nothing.",
        "", "%", None, 0, 100,
    ),
    self_agreement(NAME, "counterfactual pairs", "counterfactual"),
)  # fmt: skip


class Counterfactual(Judged):
    name = NAME
    version = 2
    rubrics = ("counterfactual_voice", "counterfactual_words")

    def __init__(self, judge: Judge) -> None:
        super().__init__(judge)
        self._flat = FlatVoices()

    def judged(self, sitting: Sitting) -> dict[str, Score]:
        voice = tried(VOICE, lambda: self._voice(sitting))
        return voice | tried(WORDS, lambda: self._words(sitting))

    def _voice(self, sitting: Sitting) -> Mapping[str, Score]:
        sitting.judge.listening()
        exchange = sitting.exchange
        sitting.judge.admit(exchange)  # before a voice has to speak in vain
        user, ours = exchange.user_sound(), exchange.reply_sound()
        flat, told = self._flat.said(exchange), material.state(exchange)

        def ask(ours_first: bool) -> Verdict:
            one, other = (ours, flat) if ours_first else (flat, ours)
            sounds = [
                Sound("the user", user),
                Sound("the first reply", one),
                Sound("the second reply", other),
            ]
            return sitting.ask(rubric("counterfactual_voice"), told, sounds)

        return preference(ask).scores(*VOICE)

    def _words(self, sitting: Sitting) -> Mapping[str, Score]:
        exchange = sitting.exchange
        other = exchange.annotation.alternative_reference
        if not other:
            raise Unscored(NO_OTHER)
        cue = material.cue(exchange)
        ours = exchange.reply_words()
        told = material.about(exchange) | {
            "user_said": material.said(exchange),
            "how_it_was_said": cue.words,
        }

        def ask(ours_first: bool) -> Verdict:
            one, two = (ours, other) if ours_first else (other, ours)
            pair = {"first_reply": one, "second_reply": two}
            return sitting.ask(rubric("counterfactual_words"), told | pair)

        return preference(ask).scores(*WORDS)


def build(settings: Settings) -> Instrument:
    return Counterfactual(judge(settings))
