"""Multiple choice: whether the reply names the right option."""

from collections.abc import Mapping
from dataclasses import dataclass

from server.scoring.exchange import Exchange
from server.scoring.score import Instrument, Measure, Score, Unscored
from server.scoring.settings import Settings
from server.scoring.words.answers import key_letter, parsed
from server.scoring.words.kept import answered

VERSION = 1

_CAVEAT = (
    'EchoMind asks for "The answer is: X" but did not release how it reads answers. Here that form '
    "comes first, then the letter by itself or named, then the option's own words; each score says "
    "which. A reply that names none, or two, is wrong."
)
MEASURES = (
    Measure(
        "choice_understanding",
        "Voice understanding, multiple choice",
        "understanding",
        "Whether questions about how something was said are answered right.",
        _CAVEAT,
        "%",
        True,
        0,
        100,
    ),
    Measure(
        "choice_reasoning",
        "Reasoning, multiple choice",
        "understanding",
        "Whether questions that need both the words and how they were said are answered right.",
        _CAVEAT,
        "%",
        True,
        0,
        100,
    ),
)


@dataclass(frozen=True, slots=True)
class Choices:
    key: str = f"choices {VERSION}"
    judge: None = None

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        told = exchange.annotation
        if told.question is None or told.answer is None:
            raise Unscored("no multiple-choice question")
        if told.level is None:
            raise Unscored("a question of no level")
        right = key_letter(told.answer, told.options)
        if right is None:
            raise Unscored("the question's key is no option")
        mine = f"choice_{told.level}"
        return {
            measure.name: self._score(exchange, right)
            if measure.name == mine
            else Score.none("a question of the other level")
            for measure in MEASURES
        }

    def _score(self, exchange: Exchange, right: str) -> Score:
        reply = answered(exchange)
        found = parsed(reply, exchange.annotation.options)
        if found is None:
            what = "unparsed" if reply.strip() else "no answer"
            return Score(0.0, f"{what}; right is {right}")
        value = 100.0 if found.letter == right else 0.0
        return Score(value, f"{found.letter} ({found.way}); right is {right}")


def build(settings: Settings) -> Instrument:
    return Choices()
