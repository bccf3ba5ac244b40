"""Whose emotion carries over to other kinds of text: `python -m models.tuning.sides`.

EmoBank tells of every sentence how its writer felt and how a reader does. Small networks learn one
side or both from what the reply model sees in a sentence, its own weights untouched, in all genres
but one, and are asked about that one. That is cheap, so every genre is left out once, all sentences
count, and several seeds are tried: how far one side helps the other is told from chance.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from torch import Tensor, nn

from models.complaints import in_a_line
from models.tuning import emobank
from models.tuning.base import PACKAGED, load
from models.tuning.emobank import GENRES, OTHER, Perspective, Sentence
from models.tuning.evaluation.intervals import DIGITS, DRAWN, LEVEL

Numbers = NDArray[np.float32]
Report = Callable[[int, int], None]  # done, and of how many

READ = 32  # sentences that are read at once
LONGEST = 128  # tokens of a sentence
WIDTH, DROPPED = 64, 0.3  # of the one layer that an arm learns, and how much of it is left out
EPOCHS, BATCH, PACE, DECAY = 20, 64, 1e-3, 1e-2
SEED = 7


@dataclass(frozen=True, slots=True)
class Arm:
    """Whose emotion is learned, and from what share of the sentences."""

    name: str
    sides: tuple[Perspective, ...]
    share: float = 1.0


# Two sides of every sentence are twice as many examples: half the sentences give as many.
ARMS = (
    Arm("writer", (Perspective.WRITER,)),
    Arm("reader", (Perspective.READER,)),
    Arm("both, as many examples", tuple(Perspective), 0.5),
    Arm("both, as many sentences", tuple(Perspective)),
)
PLACES = ("taught", "others")  # genres that were learned from, and the one that was left out


@dataclass(frozen=True, slots=True)
class Bank:
    """Sentences by row: what the network sees in them, how they are felt, and of what kind."""

    states: Numbers
    felt: Mapping[Perspective, Numbers]  # valence, arousal, dominance
    genres: NDArray[np.str_]
    splits: NDArray[np.str_]

    @classmethod
    def of(cls, sentences: Sequence[Sentence], states: Numbers) -> "Bank":
        felt = {
            side: np.array([astuple(each.felt[side]) for each in sentences], np.float32)
            for side in Perspective
        }
        genres = np.array([emobank.genre(each.id) for each in sentences])
        return cls(states, felt, genres, np.array([each.split for each in sentences]))


def seen(sentences: Sequence[Sentence], base: str, device: str, report: Report) -> Numbers:
    """What the network has in mind of each sentence: half way up and at the top, over its words."""
    found = load(base, device)
    body, tokenizer = found.network.base_model.eval(), found.tokenizer
    tokenizer.padding_side = "right"
    order = sorted(range(len(sentences)), key=lambda at: len(sentences[at].text))
    states: dict[int, Numbers] = {}
    for begin in range(0, len(order), READ):
        places = order[begin : begin + READ]
        texts = [sentences[at].text for at in places]
        told = tokenizer(
            texts, return_tensors="pt", padding=True, truncation=True, max_length=LONGEST
        ).to(device)
        with torch.inference_mode():
            layers = body(**told, output_hidden_states=True, use_cache=False).hidden_states
            words = told["attention_mask"].unsqueeze(-1).float()
            means = [
                (layer.float() * words).sum(1) / words.sum(1)
                for layer in (layers[len(layers) // 2], layers[-1])
            ]
        for at, row in zip(places, torch.cat(means, dim=1).cpu().numpy(), strict=True):
            states[at] = row
        report(len(states), len(sentences))
    return np.stack([states[at] for at in range(len(sentences))])


class Heads(nn.Module):  # type: ignore[misc]
    """One layer that all sides share, and an answer for each."""

    def __init__(self, size: int, sides: Sequence[Perspective]) -> None:
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(size, WIDTH), nn.GELU(), nn.Dropout(DROPPED))
        self.answers = nn.ModuleDict({side.value: nn.Linear(WIDTH, 3) for side in sides})

    def forward(self, states: Tensor) -> dict[str, Tensor]:
        shared = self.shared(states)
        return {side: answer(shared) for side, answer in self.answers.items()}


def learned(bank: Bank, arm: Arm, rows: NDArray[np.intp], seed: int) -> dict[Perspective, Numbers]:
    """What an arm that learned from these rows says of all sentences, of each side.

    An arm of one side says the same of the other: it knows no better.
    """
    torch.manual_seed(seed)
    chance = np.random.default_rng(seed)
    rows = chance.permutation(rows)[: round(arm.share * len(rows))]
    states = torch.from_numpy(_standard(bank.states, rows))
    felt = {side: torch.from_numpy(_standard(bank.felt[side], rows)) for side in arm.sides}
    heads = Heads(states.shape[1], arm.sides)
    optimizer = torch.optim.AdamW(heads.parameters(), lr=PACE, weight_decay=DECAY)
    for _ in range(EPOCHS):
        for begin in range(0, len(shuffled := chance.permutation(rows)), BATCH):
            batch = torch.from_numpy(shuffled[begin : begin + BATCH])
            said = heads(states[batch])
            losses = [((said[side.value] - felt[side][batch]) ** 2).mean() for side in arm.sides]
            optimizer.zero_grad()
            torch.stack(losses).mean().backward()
            optimizer.step()
    heads.eval()
    with torch.inference_mode():
        said = {side: answer.numpy() for side, answer in heads(states).items()}
    return {side: said.get(side.value, said[arm.sides[0].value]) for side in Perspective}


def _standard(values: Numbers, rows: NDArray[np.intp]) -> Numbers:
    """As those rows would have them: about nothing, and as wide as one."""
    known = values[rows]
    scaled: Numbers = (values - known.mean(axis=0)) / (known.std(axis=0) + 1e-6)
    return scaled


@dataclass(frozen=True, slots=True)
class Fold:
    """What the arms said when one genre was left out, the mean over the seeds."""

    genre: str
    asked: Mapping[str, NDArray[np.intp]]  # by place
    said: Mapping[str, Mapping[Perspective, Numbers]]  # by arm


def folds(bank: Bank, seeds: int, report: Report) -> list[Fold]:
    """Every genre left out once; EmoBank's own split keeps what is asked from what is learned."""
    found: list[Fold] = []
    genres = [genre for genre in (*GENRES, OTHER) if np.any(bank.genres == genre)]
    for genre in genres:
        out = bank.genres == genre
        asked = {"taught": ~out & (bank.splits == "test"), "others": out}
        rows = np.flatnonzero(~out & (bank.splits == "train"))
        said = {}
        for arm in ARMS:
            tries = [learned(bank, arm, rows, SEED + seed) for seed in range(seeds)]
            said[arm.name] = {
                side: np.mean([each[side] for each in tries], axis=0) for side in Perspective
            }
            report(len(found) * len(ARMS) + len(said), len(genres) * len(ARMS))
        found.append(Fold(genre, {at: np.flatnonzero(row) for at, row in asked.items()}, said))
    return found


def likeness(said: Numbers, felt: Numbers, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson's r, the mean over the scales, with each sentence counted so often: one a row."""

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = counts @ values / counts.sum(axis=1, keepdims=True)
        return found

    x, y = said.astype(np.float64), felt.astype(np.float64)
    both = mean(x * y) - mean(x) * mean(y)
    spread = (mean(x * x) - mean(x) ** 2) * (mean(y * y) - mean(y) ** 2)
    found: NDArray[np.float64] = (both / np.sqrt(np.maximum(spread, 1e-12))).mean(axis=1)
    return found


def compared(bank: Bank, found: Sequence[Fold]) -> dict[str, Any]:
    """By place and side: each arm's r, the mean over the folds, and how far it is from its own.

    The first row of counts takes every sentence once; the others draw sentences by chance, the
    same ones for all arms, so that what differs is told from what sentences happened to be asked.
    """
    chance = np.random.default_rng(SEED)
    told: dict[str, Any] = {}
    for place in PLACES:
        rows = [fold.asked[place] for fold in found]
        counts = [
            np.vstack([np.ones(n), chance.multinomial(n, np.full(n, 1 / n), DRAWN)])
            for n in map(len, rows)
        ]
        for side in Perspective:
            r = {
                arm.name: np.array(
                    [
                        likeness(fold.said[arm.name][side][row], bank.felt[side][row], count)
                        for fold, row, count in zip(found, rows, counts, strict=True)
                    ]
                )
                for arm in ARMS
            }
            means = {name: each.mean(axis=0) for name, each in r.items()}
            told[f"{place}: {side}"] = {
                name: {
                    "r": _figure(means[name]),
                    "against its own side alone": _figure(means[name] - means[side.value]),
                    "genres": {
                        fold.genre: round(float(row[0]), DIGITS)
                        for fold, row in zip(found, r[name], strict=True)
                    },
                }
                for name in r
            } | {"n": sum(map(len, rows))}
    return told


def _figure(drawn: NDArray[np.float64]) -> dict[str, float]:
    low, high = np.quantile(drawn[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    values = {"value": drawn[0], "low": low, "high": high}
    return {name: round(float(value), DIGITS) for name, value in values.items()}


def main(
    emobank_folder: Annotated[Path, typer.Option("--emobank", help="EmoBank's folder.")],
    out: Annotated[Path, typer.Option(help="Where what was read and the figures go.")],
    base: Annotated[
        str, typer.Option(help="smollm2 (packaged), a GGUF file, a folder, or a hub's name.")
    ] = PACKAGED,
    seeds: Annotated[int, typer.Option(min=1, help="So many tries of each arm.")] = 5,
    device: Annotated[str, typer.Option(help="cpu, cuda, …, for reading.")] = "cpu",
    threads: Annotated[int, typer.Option(help="Of the processor; 0: all.")] = 0,
) -> None:
    """Read EmoBank once, teach all arms, and compare them."""
    if threads:
        torch.set_num_threads(threads)
    console = Console(stderr=True)
    with in_a_line(console, FileNotFoundError):
        sentences = emobank.read(emobank_folder)
    out.mkdir(parents=True, exist_ok=True)
    with Progress(console=console) as progress:

        def reporting(label: str) -> Report:
            task = progress.add_task(label)
            return lambda done, of: progress.update(task, completed=done, total=of)

        bank = Bank.of(sentences, _states(sentences, base, device, out, reporting("read")))
        found = compared(bank, folds(bank, seeds, reporting("taught")))
    made = {"base": base, "sentences": len(sentences), "seeds": seeds}
    text = json.dumps({"made": made, "sides": found}, indent=1)
    (out / "sides.json").write_text(text + "\n", encoding="utf-8")
    Console().print(table(found))


def _states(
    sentences: Sequence[Sentence], base: str, device: str, out: Path, report: Report
) -> Numbers:
    """What was read once is not read again."""
    texts = hashlib.sha256(repr((base, [each.text for each in sentences])).encode()).hexdigest()
    file = out / f"states-{texts[:16]}.npy"
    if not file.exists():
        np.save(file, seen(sentences, base, device, report))
    states: Numbers = np.load(file)
    report(len(states), len(states))
    return states


def table(found: Mapping[str, Any]) -> Table:
    """Correlations, and how far each is from that of the arm that learned what is asked alone."""
    shown = Table("", *(f"{place} (n {row['n']})" for place, row in found.items()))
    for arm in ARMS:
        shown.add_row(arm.name, *(_cell(row[arm.name]) for row in found.values()))
    return shown


def _cell(row: Mapping[str, Mapping[str, float]]) -> str:
    apart = row["against its own side alone"]
    return f"{row['r']['value']:.3f} ({apart['low']:+.3f} to {apart['high']:+.3f})"


if __name__ == "__main__":
    typer.run(main)
