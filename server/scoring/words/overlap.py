"""How many words and runs of words the reply shares with one that would be right."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from server.scoring.exchange import Exchange
from server.scoring.score import Instrument, Measure, Score, Unavailable
from server.scoring.settings import Settings
from server.scoring.words.encoders import Absent, or_absent
from server.scoring.words.kept import answered, expected
from server.scoring.words.tokens import Tokenize, tokenizer
from server.scoring.words.wordnet import NoWordNet, WordNet, find

VERSION = 1
WEIGHTS = (0.25, 0.25, 0.25, 0.25)
NO_REPLY = "no reply"

_SILENCE = "No reply counts as 0."
_FEW = "There is one reference; many other replies would be as good."
MEASURES = (
    Measure(
        "bleu4",
        "BLEU-4",
        "words",
        "Runs of one to four words of the reply that the reference has, too.",
        "As EchoMind: by sentence, NLTK's tokens of the lower-cased text, smoothing method 1. "
        "Without NLTK's model of sentence ends a full stop after a rare abbreviation is a token "
        f"of its own. {_FEW} {_SILENCE}",
        "",
        True,
        0,
        100,
    ),
    Measure(
        "rouge_l",
        "ROUGE-L",
        "words",
        "The longest sequence of words that reply and reference have in common: F1.",
        "By rouge_score. EchoMind's code does not tell whether words were stemmed; here they "
        f"are not, which is the library's default. {_FEW} {_SILENCE}",
        "",
        True,
        0,
        100,
    ),
    Measure(
        "meteor",
        "METEOR",
        "words",
        "Words that match as they are, by stem or as synonyms, and how well they stay in order.",
        "As EchoMind: NLTK's, of the lower-cased text cut at spaces, with WordNet. It looks up "
        f"synonyms by stem, so that it misses many. {_FEW} {_SILENCE}",
        "",
        True,
        0,
        100,
    ),
    Measure(
        "meteor_nosyn",
        "METEOR without synonyms",
        "words",
        "Words that match as they are or by stem, and how well they stay in order.",
        f"METEOR where there is no WordNet: not to be compared with it. {_FEW} {_SILENCE}",
        "",
        True,
        0,
        100,
    ),
)


@dataclass(frozen=True, slots=True)
class Overlap:
    key: str
    tokenize: Tokenize
    rouge: Any  # of rouge_score
    wordnet: WordNet | Absent
    judge: None = None

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        right, reply = expected(exchange), answered(exchange).strip()
        name, other, missing = "meteor", "meteor_nosyn", "there is a WordNet: see meteor"
        synonyms: WordNet | NoWordNet
        if isinstance(self.wordnet, Absent):
            name, other, missing, synonyms = other, name, self.wordnet.reason, NoWordNet()
        else:
            synonyms = self.wordnet
        left_out = Score.none(missing)
        if not reply:
            nothing = Score(0.0, NO_REPLY)
            return {"bleu4": nothing, "rouge_l": nothing, name: nothing, other: left_out}
        return {
            "bleu4": self._bleu(reply, right),
            "rouge_l": self._rouge(reply, right),
            name: _meteor(reply, right, synonyms),
            other: left_out,
        }

    def _bleu(self, reply: str, right: str) -> Score:
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        value = sentence_bleu(
            [self.tokenize(right.lower())],
            self.tokenize(reply.lower()),
            weights=WEIGHTS,
            smoothing_function=SmoothingFunction().method1,
        )
        return Score(100 * float(value))

    def _rouge(self, reply: str, right: str) -> Score:
        found = self.rouge.score(right, reply)["rougeL"]
        return Score(
            100 * float(found.fmeasure),
            f"precision {100 * found.precision:.1f}, recall {100 * found.recall:.1f}",
        )


def _meteor(reply: str, right: str, wordnet: WordNet | NoWordNet) -> Score:
    from nltk.translate.meteor_score import single_meteor_score

    value = single_meteor_score(right.lower().split(), reply.lower().split(), wordnet=wordnet)
    return Score(100 * float(value))


def build(settings: Settings) -> Instrument:
    try:
        from nltk import data
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise Unavailable(
            "BLEU, ROUGE and METEOR need nltk and rouge-score: pip install -e '.[score]'"
        ) from error
    cut, tokenize = tokenizer()
    wordnet = or_absent(lambda: WordNet(find(settings.encoders.wordnet, data.path)))
    key = (
        f"overlap {VERSION}; nltk {version('nltk')}, {cut} tokens; "
        f"rouge-score {version('rouge-score')}; wordnet {wordnet.key}"
    )
    return Overlap(key, tokenize, RougeScorer(["rougeL"], use_stemmer=False), wordnet)
