"""How near the reply comes in meaning to one that would be right."""

from collections.abc import Mapping
from dataclasses import dataclass

from server.scoring.exchange import Exchange
from server.scoring.score import Instrument, Measure, Score, Unavailable
from server.scoring.settings import Settings
from server.scoring.words import bertscore
from server.scoring.words.bertscore import NONE, Match
from server.scoring.words.encoders import (
    Absent,
    ReadsPieces,
    ReadsSentences,
    Vector,
    cosine,
    mean,
    or_absent,
)
from server.scoring.words.hub_encoders import HubPieces, sentences
from server.scoring.words.kept import answered, expected
from server.scoring.words.minilm import NAME, minilm

VERSION = 1
NO_REPLY = "no reply"

_SILENCE = "No reply counts as 0."
_PACKAGED = f"By {NAME}: not to be compared with what others publish."
MEASURES = (
    Measure(
        "bertscore",
        "BERTScore",
        "words",
        "Pieces of words of reply and reference matched by likeness in context: F1.",
        "By the encoder that is configured (EchoMind's code: bert-base-uncased, layer 9); not "
        f"rescaled, no idf weights. {_SILENCE}",
        "",
        True,
        largest=100,
    ),
    Measure(
        "bertscore_rescaled",
        "BERTScore, rescaled",
        "words",
        "BERTScore so that unrelated texts come near 0.",
        "As EchoMind's code has it, by the baseline that is configured. The values it published "
        "are too high for this: it is not to be compared with that column.",
        "",
        True,
        largest=100,
    ),
    Measure(
        "bertscore_minilm",
        "BERTScore (MiniLM)",
        "words",
        "Pieces of words of reply and reference matched by likeness in context: F1.",
        f"{_PACKAGED} Last layer, not rescaled, no idf weights. {_SILENCE}",
        "",
        True,
        largest=100,
    ),
    Measure(
        "similarity",
        "Likeness to the reference",
        "words",
        "Cosine between the vectors of the reply and of the reference.",
        "By the encoder that is configured. With Qwen3-Embedding-0.6B it is our best reading of "
        f"what EchoMind's BERTScore column shows. {_SILENCE}",
        "",
        True,
        largest=100,
    ),
    Measure(
        "similarity_minilm",
        "Likeness to the reference (MiniLM)",
        "words",
        "Cosine between the vectors of the reply and of the reference.",
        f"{_PACKAGED} {_SILENCE}",
        "",
        True,
        largest=100,
    ),
    Measure(
        "steering_minilm",
        "Steered by the cue (MiniLM)",
        "words",
        "How much nearer the reply is to the reference than to the reply another cue asks for.",
        f"Our own, by {NAME}: the difference of two cosines.",
        "",
        True,
    ),
)


@dataclass(frozen=True, slots=True)
class Meaning:
    key: str
    packaged: ReadsPieces | Absent
    pieces: ReadsPieces | Absent
    baseline: Match | Absent
    sentences: ReadsSentences | Absent
    judge: None = None

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        right, reply = expected(exchange), answered(exchange).strip()
        other = (exchange.annotation.alternative_reference or "").strip()
        return {
            **self._by_own(reply, right),
            **self._by_packaged(reply, right, other),
            "similarity": self._likeness(reply, right),
        }

    def _by_own(self, reply: str, right: str) -> dict[str, Score]:
        if isinstance(self.pieces, Absent):
            missing = Score.none(self.pieces.reason)
            return {"bertscore": missing, "bertscore_rescaled": missing}
        found = NONE
        if reply:
            found = bertscore.match(self.pieces.pieces(reply), self.pieces.pieces(right))
        plain = _told(found, reply)
        if isinstance(self.baseline, Absent):
            return {"bertscore": plain, "bertscore_rescaled": Score.none(self.baseline.reason)}
        again = bertscore.rescaled(found, self.baseline)
        return {"bertscore": plain, "bertscore_rescaled": _told(again, reply)}

    def _by_packaged(self, reply: str, right: str, other: str) -> dict[str, Score]:
        names = ("bertscore_minilm", "similarity_minilm", "steering_minilm")
        if isinstance(self.packaged, Absent):
            return dict.fromkeys(names, Score.none(self.packaged.reason))
        if not reply:
            nothing = Score(0.0, NO_REPLY)
            return dict(zip(names, (nothing, nothing, Score.none(NO_REPLY)), strict=True))
        said, wanted = self.packaged.pieces(reply), self.packaged.pieces(right)
        near = 100 * cosine(mean(said), mean(wanted))
        return {
            "bertscore_minilm": _told(bertscore.match(said, wanted), reply),
            "similarity_minilm": Score(near),
            "steering_minilm": self._steering(self.packaged, near, mean(said), right, other),
        }

    @staticmethod
    def _steering(encoder: ReadsPieces, near: float, said: Vector, right: str, other: str) -> Score:
        if not other:
            return Score.none("no reference reply for another cue")
        if other == right:
            return Score.none("both cues have the same reference reply")
        away = 100 * cosine(said, mean(encoder.pieces(other)))
        return Score(near - away, f"{near:.1f} to this one, {away:.1f} to the other")

    def _likeness(self, reply: str, right: str) -> Score:
        if isinstance(self.sentences, Absent):
            return Score.none(self.sentences.reason)
        if not reply:
            return Score(0.0, NO_REPLY)
        return Score(100 * cosine(self.sentences.vector(reply), self.sentences.vector(right)))


def build(settings: Settings) -> Instrument:
    given = settings.encoders
    packaged = or_absent(minilm)
    pieces = or_absent(
        lambda: HubPieces(
            given.bertscore, "encoders.bertscore", given.bertscore_layer, settings.device
        )
    )
    baseline: Match | Absent = Absent("no encoder is configured: encoders.bertscore")
    if isinstance(pieces, HubPieces):
        layer = pieces.layer
        baseline = or_absent(lambda: bertscore.read_baseline(given.bertscore_baseline, layer))
    whole = or_absent(lambda: sentences(given.semsim, "encoders.semsim", settings.device))
    if all(isinstance(each, Absent) for each in (packaged, pieces, whole)):
        raise Unavailable("no encoder is here: run python -m models.weights, or configure one")
    key = (
        f"meaning {VERSION}; {packaged.key}; bertscore {pieces.key}{_baseline(baseline)}; "
        f"similarity {whole.key}"
    )
    return Meaning(key, packaged, pieces, baseline, whole)


def _baseline(found: Match | Absent) -> str:
    """In a key."""
    if isinstance(found, Absent):
        return ", not rescaled"
    return f", baseline {found.precision:g} {found.recall:g} {found.f:g}"


def _told(found: Match, reply: str) -> Score:
    told = f"precision {100 * found.precision:.1f}, recall {100 * found.recall:.1f}"
    return Score(100 * found.f, told if reply else NO_REPLY)
