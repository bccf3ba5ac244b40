"""The mood of what was said: emotion, valence, arousal and dominance of one turn's transcript."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from models import weights
from models.inference import session
from models.percept import Affect, Chances
from models.perception.labels import EMOTIONS
from models.perception.wordpiece import LONGEST_WORD, WordPiece
from models.worker import Worker

FITTED = Path(__file__).with_name("weights")
LONGEST = 40  # pieces of words the network is shown of one sentence: 15 ms
SENTENCE_WORDS = 25  # a run of words without a full stop is cut after so many
BUCKETS = 1 << 16  # of exact words and letters: hashed, so that none need be listed
MOST_SENTENCES = 8  # of a long turn its last ones count: a mood is of now

_CLAIMS_WELL = re.compile(
    r"\b(?:i'?m|i am|i'?ll be|i will be) (?:(?!not\b|never\b|hardly\b)\w+ )?"
    r"(?:fine|ok|okay|all right|alright|good|not (?:upset|sad|crying|angry|mad|hurt|scared))"
    r"(?=$|[.,;!?]| (?:really|honestly|thanks|thank|now|i promise|don't)\b)"
    r"|\bnothing(?:'s| is) (?:wrong|the matter)\b"
    r"|\b(?:don't|do not) worry about me\b"
)

Vector = NDArray[np.float32]
Rows = NDArray[np.float32]  # one vector to a row
Buckets = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class WordsMood:
    """What the words alone say. The spreads are how far off each view usually is (1 sd)."""

    emotion: Chances
    prior: Chances  # how common each emotion was where this was learned
    writer: Affect  # as meant
    writer_spread: Affect
    reader: Affect  # as it strikes who reads it
    reader_spread: Affect
    claims_well: bool = False  # "I'm fine", "nothing's wrong": said of oneself, whatever the tone


class Words:
    """A sentence encoder in its own thread, with small fitted heads on top."""

    def __init__(self, fitted: Path = FITTED, encoder: "Encoder | None" = None) -> None:
        self._encoder = encoder or shared_encoder()
        self._emotion = EmotionHead.load(fitted / "words-goemotions.npz")
        self._affect = AffectHead.load(fitted / "words-emobank.npz")
        self._worker = Worker("words")

    async def mood(self, transcript: str) -> WordsMood | None:
        return await self._worker.run(lambda: self.judge(transcript))

    def close(self) -> None:
        self._worker.close()

    def judge(self, transcript: str) -> WordsMood | None:
        """The mood of the turn, sentences counting by their words; None where nothing was said."""
        parts = sentences(transcript)
        if not parts:
            return None
        rows = self._encoder.encode(parts)
        share = np.array([len(part.split()) for part in parts], np.float32)
        share /= share.sum()
        logits = self._emotion.logits(parts, rows)
        emotion = np.einsum("s,se->e", share, self._emotion.chances(logits))
        each = self._affect.affect(rows, logits)
        affect = np.einsum("s,sa->a", share, each)
        # Sentences that pull apart leave the turn less certain than any one of them.
        apart = np.einsum("s,sa->a", share, np.square(each - affect))
        spread = np.sqrt(np.square(self._affect.spread) + apart)
        return WordsMood(
            emotion=_named(emotion),
            prior=_named(self._emotion.prior),
            writer=_affect(affect[:3]),
            writer_spread=_affect(spread[:3]),
            reader=_affect(affect[3:]),
            reader_spread=_affect(spread[3:]),
            claims_well=bool(_CLAIMS_WELL.search(" ".join(parts).lower().replace("’", "'"))),
        )


class Encoder:
    """all-MiniLM-L6-v2: a sentence as one vector that stands for its meaning."""

    def __init__(self, threads: int = 1) -> None:
        self._session = session(weights.path("minilm"), threads)
        self._pieces = WordPiece(weights.path("minilm-tokenizer"))

    def encode(self, sentences: Sequence[str]) -> Rows:
        """A row for each: the mean over its pieces."""
        ids = [self._pieces.ids(sentence, LONGEST) for sentence in sentences]
        shown = np.zeros((len(ids), max(map(len, ids))), np.int64)
        mask = np.zeros_like(shown)
        for row, numbers in enumerate(ids):
            shown[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        inputs = {"input_ids": shown, "attention_mask": mask}
        (hidden,) = self._session.run(None, inputs | {"token_type_ids": np.zeros_like(shown)})
        summed = np.einsum("spv,sp->sv", hidden, mask.astype(np.float32))
        return cast(Rows, summed / mask.sum(axis=1, keepdims=True, dtype=np.float32))

    def nearness(self, text: str, others: Sequence[str]) -> list[float]:
        """How near in meaning each of the others is to the text: the cosine of their vectors."""
        rows = self.encode([text, *others])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return [float(near) for near in np.einsum("sv,v->s", rows[1:], rows[0])]


@cache
def shared_encoder() -> Encoder:
    """The one that all in this process may use, from any thread: it keeps nothing of a sentence."""
    return Encoder()


@dataclass(frozen=True, slots=True)
class EmotionHead:
    """From a sentence to the logits of its emotion, fitted to GoEmotions.

    Two parts that add up: one hidden layer over the sentence's vector, which knows what is alike,
    and a weight for each group of letters and words, which knows the exact ones that matter.
    """

    mean: Vector  # of the vectors it was fitted on, and their scale
    scale: Vector
    hidden: Rows
    hidden_bias: Vector
    out: Rows
    out_bias: Vector
    grams: NDArray[np.float16]
    prior: Vector

    @classmethod
    def load(cls, path: Path) -> "EmotionHead":
        return cls(**_arrays(path, cls.__slots__))

    def logits(self, sentences: Sequence[str], rows: Rows) -> Rows:
        # einsum, not a matrix product: that would wake the BLAS threads, dear when cores are busy.
        shown = (rows - self.mean) / self.scale
        inner = np.maximum(np.einsum("si,ih->sh", shown, self.hidden) + self.hidden_bias, 0)
        exact = np.stack([weigh(self.grams, grams(sentence)) for sentence in sentences])
        return cast(Rows, np.einsum("sh,he->se", inner, self.out) + self.out_bias + exact)

    @staticmethod
    def chances(logits: Rows) -> Rows:
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        return cast(Rows, raised / raised.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class AffectHead:
    """A linear map from a sentence's vector and its emotion to both views, fitted to EmoBank."""

    mean: Vector
    scale: Vector
    slope: Rows
    bias: Vector
    spread: Vector  # writer's valence, arousal, dominance, then the reader's

    @classmethod
    def load(cls, path: Path) -> "AffectHead":
        return cls(**_arrays(path, cls.__slots__))

    def affect(self, rows: Rows, logits: Rows) -> Rows:
        shown = (np.concatenate([rows, logits], axis=1) - self.mean) / self.scale
        return cast(Rows, np.clip(np.einsum("si,ia->sa", shown, self.slope) + self.bias, 1, 5))


def sentences(transcript: str) -> list[str]:
    """The last sentences of a turn, each short enough for the network to see whole."""
    found = []
    for sentence in re.split(r"(?<=[.!?…])\s+", transcript.strip()):
        words = [word[:LONGEST_WORD] for word in sentence.split()]
        found += [
            " ".join(words[at : at + SENTENCE_WORDS]) for at in range(0, len(words), SENTENCE_WORDS)
        ]
    return [sentence for sentence in found if re.search(r"\w", sentence)][-MOST_SENTENCES:]


def grams(sentence: str) -> Buckets:
    """Where in the table a sentence's words, pairs of words and groups of 3-5 letters stand."""
    words = re.findall(r"[\w']+|[?!]", sentence.lower())
    exact = {*words, *(f"{one} {two}" for one, two in pairwise(words))}
    for word in words:
        marked = f"<{word}>"
        exact |= {f"~{marked[at : at + n]}" for n in (3, 4, 5) for at in range(len(marked) - n + 1)}
    codes = (zlib.crc32(gram.encode(errors="replace")) for gram in sorted(exact))
    return np.array([code % BUCKETS for code in codes], np.intp)


def weigh(table: NDArray[np.floating[Any]], buckets: Buckets) -> Vector:
    """What the table holds there, added up over the root of their number: length tells little."""
    summed = table[buckets].sum(axis=0, dtype=np.float32)
    return cast(Vector, summed / np.float32(max(1, len(buckets)) ** 0.5))


def _arrays(path: Path, names: Sequence[str]) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as held:
        return {name: held[name] for name in names}


def _named(chances: Vector) -> Chances:
    return {name: float(chance) for name, chance in zip(EMOTIONS, chances, strict=True)}


def _affect(values: Vector) -> Affect:
    valence, arousal, dominance = map(float, values)
    return Affect(valence, arousal, dominance)
