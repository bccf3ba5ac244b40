"""How well what was said was recognised: word errors, and what they do to the meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from server.scoring.exchange import Exchange
from server.scoring.score import Instrument, Measure, Score, Unscored
from server.scoring.settings import Settings
from server.scoring.words.encoders import Absent, ReadsSentences, cosine, or_absent
from server.scoring.words.hub_encoders import sentences
from server.scoring.words.kept import recognised
from server.scoring.words.minilm import NAME, minilm
from server.scoring.words.normal import normal

VERSION = 1
NOTHING = "nothing was recognised"

MEASURES = (
    Measure(
        "wer_raw",
        "Word error rate, as written",
        "understanding",
        "Words substituted, left out or put in, by the words really said; case and marks count.",
        "As EchoMind computes it, for each item by itself. Nothing recognised counts as all wrong.",
        "%",
        False,
        0,
    ),
    Measure(
        "wer",
        "Word error rate",
        "understanding",
        "Words substituted, left out or put in, by the words really said.",
        "After a normaliser like Whisper's: lower case, no fillers or punctuation, contractions "
        "and titles written out, numbers in digits, one form for British and American spellings "
        "(by rules, where Whisper has a list). EchoMind does not normalise.",
        "%",
        False,
        0,
    ),
    Measure(
        "semsim",
        "Meaning recognised",
        "understanding",
        "Cosine between the vectors of what was said and of what was recognised.",
        "By the encoder that is configured; EchoMind used Qwen3-Embedding-0.6B. "
        "Nothing recognised counts as 0.",
        "",
        True,
        largest=100,
    ),
    Measure(
        "semsim_minilm",
        "Meaning recognised (MiniLM)",
        "understanding",
        "Cosine between the vectors of what was said and of what was recognised.",
        f"By {NAME}: not to be compared with EchoMind's SemSim. Nothing recognised counts as 0.",
        "",
        True,
        largest=100,
    ),
)


def word_errors(truth: str, heard: str) -> Score:
    """In percent of the words of the truth; it may be over 100."""
    import jiwer

    if not (words := truth.split()):
        raise Unscored("no words to compare with")
    found = jiwer.process_words(" ".join(words), " ".join(heard.split()))
    counts = (
        f"{found.substitutions} substituted, {found.deletions} left out, "
        f"{found.insertions} put in, {found.hits} right"
    )
    return Score(100 * found.wer, counts)


@dataclass(frozen=True, slots=True)
class Understanding:
    key: str
    minilm: ReadsSentences | Absent
    encoder: ReadsSentences | Absent
    judge: None = None

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        truth = exchange.true_words().strip()
        if not truth:
            raise Unscored("the true transcript is empty")
        heard = recognised(exchange).strip()
        plain = normal(truth)
        return {
            "wer_raw": word_errors(truth, heard),
            "wer": word_errors(plain, normal(heard))
            if plain
            else Score.none("nothing is left of the true transcript once normalised"),
            "semsim": _likeness(self.encoder, truth, heard),
            "semsim_minilm": _likeness(self.minilm, truth, heard),
        }


def build(settings: Settings) -> Instrument:
    packaged = or_absent(minilm)
    own = or_absent(lambda: sentences(settings.encoders.semsim, "encoders.semsim", settings.device))
    key = f"understanding {VERSION}; jiwer {version('jiwer')}; {packaged.key}; semsim {own.key}"
    return Understanding(key, packaged, own)


def _likeness(encoder: ReadsSentences | Absent, truth: str, heard: str) -> Score:
    if isinstance(encoder, Absent):
        return Score.none(encoder.reason)
    if not heard:
        return Score(0.0, NOTHING)
    return Score(100 * cosine(encoder.vector(truth), encoder.vector(heard)))
