"""Fits the heads of `words.py`: emotion to GoEmotions, both views of affect to EmoBank.

`python -m models.perception.train_words --emobank DIR --goemotions DIR --out DIR` writes the same
files again from the same data: numpy alone, one thread, a fixed seed.
"""

import csv
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.progress import Progress

from models.perception.labels import EMOTIONS
from models.perception.words import (
    BUCKETS,
    FITTED,
    AffectHead,
    Buckets,
    EmotionHead,
    Encoder,
    Rows,
    Vector,
    grams,
)

SPLITS = ("train", "dev", "test")
OURS = {"joy": "happy", "sadness": "sad", "anger": "angry"}  # the other four are called alike
VIEWS = tuple(f"{view}_{side}" for view in ("writer", "reader") for side in "VAD")

# Chosen on the dev rows; WORDS.md has the figures of what was compared.
SEED = 20_170_403
EPOCHS, BATCH = 6, 256
HIDDEN, DROPPED, DECAY = 128, 0.3, 1e-3
STEP, GRAMS_STEP = 1e-3, 1e-2  # the table of grams moves faster: most of it is seldom met
STIFFNESS = 3_000.0  # of the ridge
FLAT = 1e-3  # added to a scale: three of the encoder's outputs never move
TEMPERATURES = np.arange(0.6, 1.61, 0.02)
ENCODED_AT_ONCE = 32

Figures = dict[str, dict[str, float]]
Encode = Callable[[str, Sequence[str]], Rows]  # a label for the bar, and the sentences


@dataclass(frozen=True, slots=True)
class Texts:
    """Sentences, and what people said of each, a row to a sentence."""

    texts: list[str]
    truth: Rows


@dataclass(frozen=True, slots=True)
class Part:
    """Sentences as the heads see them."""

    texts: list[str]
    rows: Rows  # of the encoder
    truth: Rows

    def __add__(self, other: "Part") -> "Part":
        rows, truth = np.concatenate([self.rows, other.rows]), [self.truth, other.truth]
        return Part(self.texts + other.texts, rows, np.concatenate(truth))


def encoded(splits: dict[str, Texts], label: str, encode: Encode) -> dict[str, Part]:
    """Train rows take the two ways of putting them by turns; dev and test are there in both."""
    ways = (written, spoken)
    texts = {"train": [ways[at % 2](text) for at, text in enumerate(splits["train"].texts)]}
    truth = {"train": splits["train"].truth}
    for split in ("dev", "test"):
        for way in ways:
            texts[f"{split} {way.__name__}"] = [way(text) for text in splits[split].texts]
            truth[f"{split} {way.__name__}"] = splits[split].truth
    return {
        name: Part(held, encode(f"{label} {name}", held), truth[name])
        for name, held in texts.items()
    }


# --- the two collections


def read_goemotions(folder: Path) -> dict[str, Texts]:
    """Truth is a share to each emotion: rows with two labels count half to each."""
    names = [OURS.get(name, name) for name in (folder / "labels.txt").read_text().split()]
    column = [EMOTIONS.index(name) for name in names]
    splits = {}
    for split in SPLITS:
        # Split at newlines alone: some texts hold other characters that end lines.
        lines = (folder / f"{split}.tsv").read_text("utf-8").strip("\n").split("\n")
        texts, truth = [], np.zeros((len(lines), len(EMOTIONS)), np.float32)
        for line, row in zip(lines, truth, strict=True):
            text, labels, _ = line.split("\t")
            texts.append(text)
            row[[column[int(label)] for label in labels.split(",")]] = 1
        splits[split] = Texts(texts, truth / truth.sum(axis=1, keepdims=True))
    return splits


def read_emobank(folder: Path) -> dict[str, Texts]:
    """Truth is the writer's valence, arousal and dominance, then the reader's."""
    sentences = _by_id(folder / "emobank.csv")
    views = [_by_id(folder / f"{view}.csv") for view in ("writer", "reader")]
    splits = {}
    for split in SPLITS:
        ids = [name for name, row in sentences.items() if row["split"] == split]
        ids = [name for name in ids if all(name in view for view in views)]
        truth = [[float(view[name][side]) for view in views for side in "VAD"] for name in ids]
        texts = [sentences[name]["text"] for name in ids]
        splits[split] = Texts(texts, np.array(truth, np.float32))
    return splits


def _by_id(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["id"]: row for row in csv.DictReader(lines)}


def written(text: str) -> str:
    """As people type it, but for what is never heard: emoji, and masked names."""
    text = text.replace("[NAME]", "Sam").replace("[RELIGION]", "religious").replace("’", "'")
    return " ".join(re.sub(r"[^\x00-\u2fff]+", " ", text).split())


def spoken(text: str) -> str:
    """As a transcript without punctuation has it."""
    words = re.sub(r"[^\w' ]+", " ", written(text).lower()).split()
    return " ".join(word.strip("'") for word in words if word.strip("'"))


# --- fitting


class _Fitted(NamedTuple):
    """The arrays of an EmotionHead that are learned, or something to each of them."""

    hidden: Any
    hidden_bias: Any
    out: Any
    out_bias: Any
    grams: Any


def fit_emotion(part: Part, advance: Callable[[], None]) -> EmotionHead:
    """Adam on the cross-entropy, with dropout, the step shrinking to nothing as a cosine."""
    chance = np.random.default_rng(SEED)
    mean, scale = part.rows.mean(axis=0), part.rows.std(axis=0) + FLAT
    rows, bags = (part.rows - mean) / scale, [grams(text) for text in part.texts]
    width, names = rows.shape[1], len(EMOTIONS)
    head = _Fitted(
        chance.normal(0, (2 / width) ** 0.5, (width, HIDDEN)).astype(np.float32),
        np.zeros(HIDDEN, np.float32),
        chance.normal(0, 0.3 * HIDDEN**-0.5, (HIDDEN, names)).astype(np.float32),
        np.zeros(names, np.float32),
        np.zeros((BUCKETS, names), np.float32),
    )
    first, second = (_Fitted(*map(np.zeros_like, head)) for _ in range(2))
    rates = _Fitted(STEP, STEP, STEP, STEP, GRAMS_STEP)
    steps, step = EPOCHS * (len(rows) // BATCH), 0
    for _ in range(EPOCHS):
        order = chance.permutation(len(rows))
        for start in range(0, len(rows) - BATCH + 1, BATCH):
            step += 1
            batch = order[start : start + BATCH]
            slopes = _slopes(
                head, rows[batch], [bags[at] for at in batch], part.truth[batch], chance
            )
            ease = 0.5 * (1 + np.cos(np.pi * step / steps))
            for array, slope, m, v, rate in zip(head, slopes, first, second, rates, strict=True):
                m += 0.1 * (slope - m)
                v += 0.001 * (slope**2 - v)
                move = m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
                decay = 0 if array is head.grams else DECAY
                array -= float(rate * ease) * (move + decay * array)
        advance()
    return EmotionHead(mean, scale, *head[:4], head.grams.astype(np.float16), _prior(part.truth))


def _slopes(
    head: "_Fitted", rows: Rows, bags: list[Buckets], truth: Rows, chance: np.random.Generator
) -> "_Fitted":
    rows = rows * _kept(rows.shape, DROPPED / 2, chance)
    inner = np.maximum(rows @ head.hidden + head.hidden_bias, 0)
    kept = _kept(inner.shape, DROPPED, chance)
    inner *= kept

    # All sentences' grams in one line: which sentence each is of, and what it counts there.
    sizes = np.array([len(bag) for bag in bags])
    owner, bucket = np.repeat(np.arange(len(bags)), sizes), np.concatenate(bags)
    count = _kept(bucket.shape, DROPPED, chance) / np.sqrt(sizes, dtype=np.float32)[owner]
    exact = _summed(owner, head.grams[bucket] * count[:, None], len(bags))

    logits = inner @ head.out + head.out_bias + exact
    error = (EmotionHead.chances(logits) - truth) / np.float32(len(rows))
    back = (error @ head.out.T) * kept * (inner > 0)
    table = _summed(bucket, error[owner] * count[:, None], BUCKETS)
    return _Fitted(rows.T @ back, back.sum(axis=0), inner.T @ error, error.sum(axis=0), table)


def _summed(places: Buckets, values: Rows, length: int) -> Rows:
    """Values added up by place."""
    columns = [np.bincount(places, column, length) for column in values.T]
    return np.stack(columns, axis=1).astype(np.float32)


def _prior(truth: Rows) -> Vector:
    prior: Vector = truth.mean(axis=0)
    return prior


def _kept(shape: tuple[int, ...], dropped: float, chance: np.random.Generator) -> Rows:
    kept = chance.random(shape, dtype=np.float32) >= dropped
    return kept.astype(np.float32) / np.float32(1 - dropped)


def calibrate_emotion(head: EmotionHead, part: Part) -> EmotionHead:
    """The head with its logits divided by the temperature that suits rows of one label best."""
    single = part.truth.max(axis=1) == 1
    logits, truth = head.logits(part.texts, part.rows)[single], part.truth[single]

    def loss(temperature: float) -> float:
        chances = head.chances(logits / np.float32(temperature))
        return float(-(truth * np.log(chances + 1e-9)).sum(axis=1).mean())

    best = np.float32(min(TEMPERATURES, key=loss))
    cooler = (head.grams / best).astype(np.float16)
    return replace(head, out=head.out / best, out_bias=head.out_bias / best, grams=cooler)


def fit_affect(part: Part, emotion: EmotionHead) -> AffectHead:
    """Ridge regression; the spread is left for the dev rows to tell."""
    logits = emotion.logits(part.texts, part.rows)
    shown = np.concatenate([part.rows, logits], axis=1).astype(np.float64)
    mean, scale = shown.mean(axis=0), shown.std(axis=0) + FLAT
    shown = (shown - mean) / scale
    bias = part.truth.mean(axis=0, dtype=np.float64)
    square = shown.T @ shown + STIFFNESS * np.eye(shown.shape[1])
    slope = np.linalg.solve(square, shown.T @ (part.truth - bias))
    parts = (mean, scale, slope, bias, np.zeros_like(bias))
    return AffectHead(*(array.astype(np.float32) for array in parts))


def calibrate_affect(head: AffectHead, part: Part, emotion: EmotionHead) -> AffectHead:
    """Each view stretched so that what it says is right on average, and its error measured."""
    logits, truth = emotion.logits(part.texts, part.rows), part.truth
    said = head.affect(part.rows, logits)
    stretch = ((said - said.mean(0)) * (truth - truth.mean(0))).mean(0) / said.var(0)
    bias = truth.mean(0) + stretch * (head.bias - said.mean(0))
    stretched = replace(head, slope=head.slope * stretch, bias=bias)
    return replace(stretched, spread=(stretched.affect(part.rows, logits) - truth).std(axis=0))


# --- how well it does


def score_emotion(head: EmotionHead, part: Part) -> dict[str, float]:
    """On rows with one label. `flat` is the guess when every emotion is taken as equally common."""
    single = part.truth.max(axis=1) == 1
    chances = head.chances(head.logits(part.texts, part.rows))[single]
    right, prior = part.truth[single].argmax(axis=1), head.prior
    figures: dict[str, float] = {"n": int(single.sum())}
    for name, guess in (("", chances.argmax(1)), ("flat_", (chances / prior).argmax(1))):
        hits = [(guess[right == e] == e).sum() for e in range(len(EMOTIONS))]
        recall = [h / (right == e).sum() for e, h in enumerate(hits)]
        f1 = [2 * h / ((right == e).sum() + (guess == e).sum()) for e, h in enumerate(hits)]
        figures |= {f"{name}uar": _short(np.mean(recall)), f"{name}macro_f1": _short(np.mean(f1))}
    sure, hit = chances.max(axis=1), chances.argmax(axis=1) == right
    bins = np.minimum((sure * 15).astype(int), 14)
    gaps = [abs(sure[bins == b].sum() - hit[bins == b].sum()) for b in range(15)]
    return figures | {"ece": _short(sum(gaps) / len(sure)), "accuracy": _short(hit.mean())}


def score_affect(head: AffectHead, emotion: EmotionHead, part: Part) -> dict[str, float]:
    """Pearson's r for each view and side."""
    said = head.affect(part.rows, emotion.logits(part.texts, part.rows))
    truth = part.truth
    r = [np.corrcoef(said[:, k], truth[:, k])[0, 1] for k in range(len(VIEWS))]
    return {"n": len(said)} | {name: _short(value) for name, value in zip(VIEWS, r, strict=True)}


def _short(value: np.floating[Any] | float) -> float:
    return round(float(value), 4)


# --- the command


class _Encoding:
    """Sentences to rows, in batches of like length, with a bar."""

    def __init__(self, progress: Progress) -> None:
        self._encoder, self._progress = Encoder(), progress

    def __call__(self, label: str, texts: Sequence[str]) -> Rows:
        rows: list[Vector] = [np.empty(0, np.float32)] * len(texts)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        task = self._progress.add_task(label, total=len(texts))
        for start in range(0, len(order), ENCODED_AT_ONCE):
            batch = order[start : start + ENCODED_AT_ONCE]
            for at, row in zip(batch, self._encoder.encode([texts[i] for i in batch]), strict=True):
                rows[at] = row
            self._progress.advance(task, len(batch))
        return np.stack(rows)


def train(emobank: Path, goemotions: Path, out: Path, progress: Progress) -> dict[str, Figures]:
    """Fit both heads, write them, and score them; only test rows had no part in any choice."""
    encode = _Encoding(progress)

    go = encoded(read_goemotions(goemotions), "GoEmotions", encode)
    task = progress.add_task("emotion head", total=EPOCHS)
    emotion = fit_emotion(go["train"], lambda: progress.advance(task))
    emotion = calibrate_emotion(emotion, go["dev written"] + go["dev spoken"])

    bank = encoded(read_emobank(emobank), "EmoBank", encode)
    affect = fit_affect(bank["train"], emotion)
    affect = calibrate_affect(affect, bank["dev written"] + bank["dev spoken"], emotion)

    out.mkdir(parents=True, exist_ok=True)
    np.savez(out / "words-goemotions.npz", **asdict(emotion))
    np.savez(out / "words-emobank.npz", **asdict(affect))
    scored = [name for name in go if name != "train"]
    return {
        "goemotions": {name: score_emotion(emotion, go[name]) for name in scored},
        "emobank": {name: score_affect(affect, emotion, bank[name]) for name in scored},
    }


def main(
    emobank: Annotated[Path, typer.Option(help="Folder of emobank.csv, writer.csv, reader.csv.")],
    goemotions: Annotated[Path, typer.Option(help="Folder of train.tsv, dev.tsv and test.tsv.")],
    out: Annotated[Path, typer.Option(help="Where the fitted files go.")] = FITTED,
) -> None:
    """Fit the words' heads anew and write them with their figures."""
    with Progress() as progress:
        figures = train(emobank, goemotions, out, progress)
    text = json.dumps(figures, indent=2) + "\n"
    (out / "words-figures.json").write_text(text)
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
