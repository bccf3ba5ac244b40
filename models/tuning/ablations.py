"""Whose emotion is worth learning: `python -m models.tuning.ablations`.

EmoBank tells of every sentence how its writer felt and how a reader does. Arms learn from one side,
from both or from none, in some genres; they are asked about the same genres and about others. Each
arm is trained and asked in a process of its own; what is there already is not made again.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from models.adapter_files import SUM
from models.complaints import in_a_line
from models.tuning.emobank import Perspective, Sides, check

# The genres that are learned from in each fold; the rest are the others.
FOLDS = (
    ("fiction", "headlines", "letters"),
    ("newspapers", "blogs", "travel guides"),
    ("essays", "fiction", "newspapers"),
)
ASKED = ("--sentences=80", "--scripts=0")  # of either kind of genre; what follows is no reply
SEED = 7  # of the first fold; each further one has the next


@dataclass(frozen=True, slots=True)
class Arm:
    """What is learned of EmoBank, and from what share of the sentences."""

    name: str
    sides: Sides
    share: float = 1.0


# Two sides of every sentence are twice as many examples: half the sentences give as many.
ARMS = (
    Arm("none", Sides.NONE),
    Arm("writer", Sides.WRITER),
    Arm("reader", Sides.READER),
    Arm("both, as many examples", Sides.BOTH, 0.5),
    Arm("both, as many sentences", Sides.BOTH),
)


@dataclass(frozen=True, slots=True)
class Run:
    """One arm in one fold."""

    arm: Arm
    fold: int
    folder: Path

    @property
    def figures(self) -> Path:
        return self.folder / "figures.json"

    def commands(self, emobank: Path, sentences: int, scripts: int) -> Iterator[list[str]]:
        """What is yet to be done."""
        stage = self.folder / "understand"
        genres = [word for name in FOLDS[self.fold] for word in ("--genre", name)]
        bank = ["--emobank", str(emobank), *genres]
        if not (stage / SUM).exists():
            module = [sys.executable, "-m", "models.train_reply", "--stage", "understand"]
            told = [
                f"--out={self.folder}",
                f"--perspectives={self.arm.sides.value}",
                f"--sentences={round(sentences * self.arm.share)}",
                f"--understood={scripts}",
                f"--seed={SEED + self.fold}",
            ]
            yield [*module, *told, *bank, "--threads=1"]
        module = [sys.executable, "-m", "models.tuning.evaluation.understanding"]
        # Who is in the file is not asked again: asking is safe to repeat.
        asked = [f"--contestant={self.arm.name}={stage}", f"--out={self.figures}", *ASKED, *bank]
        yield [*module, *asked]


def main(
    emobank: Annotated[Path, typer.Option(help="EmoBank's folder.")],
    out: Annotated[Path, typer.Option(help="Where adapters and figures go.")],
    sentences: Annotated[int, typer.Option(help="Of EmoBank, that a side is learned from.")] = 400,
    scripts: Annotated[int, typer.Option(help="Of the corpus, which every arm learns from.")] = 30,
    folds: Annotated[int, typer.Option(min=1, max=len(FOLDS), help="So many.")] = len(FOLDS),
    at_once: Annotated[int, typer.Option(help="Arms at work, each on one core.")] = 2,
) -> None:
    """Train and compare all arms in all folds."""
    console = Console(stderr=True)
    with in_a_line(console, FileNotFoundError):
        check(emobank)
    runs = [
        Run(arm, fold, out / f"{fold}-{arm.sides.value}-{arm.share:g}")
        for fold in range(folds)
        for arm in ARMS
    ]
    with Progress(console=console) as progress, ThreadPoolExecutor(at_once) as pool:
        task = progress.add_task("arms", total=len(runs))

        def make(run: Run) -> None:
            run.folder.mkdir(parents=True, exist_ok=True)
            with (run.folder / "output.txt").open("a", encoding="utf-8") as said:
                for command in run.commands(emobank, sentences, scripts):
                    subprocess.run(command, check=True, stdout=said, stderr=said)
            progress.advance(task)

        list(pool.map(make, runs))
    found = {arm.name: summed_up(_read(runs, arm)) for arm in ARMS}
    made = {"sentences": sentences, "scripts": scripts, "folds": FOLDS[:folds], "seed": SEED}
    text = json.dumps({"made": made, "arms": found}, indent=1)
    (out / "ablations.json").write_text(text + "\n", encoding="utf-8")
    Console().print(table(found))


def _read(runs: Sequence[Run], arm: Arm) -> list[dict[str, Any]]:
    of_arm = [run for run in runs if run.arm is arm]
    return [json.loads(run.figures.read_text("utf-8"))[arm.name] for run in of_arm]


Folds = dict[str, Any]  # the mean over the folds, and each


def summed_up(folds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How well an arm goes along with what was felt, and how often it is right."""
    found: dict[str, Any] = {}
    for where in ("taught", "others"):
        of_where = [fold["emobank"][where] for fold in folds]
        for side in Perspective:
            rows = [each[side.value] for each in of_where]
            found[f"{where}: {side.value}"] = {
                "r": _over([row["r"]["mean"] for row in rows]),
                "accuracy": _over([row["accuracy"]["value"] for row in rows]),
            }
    return found


def _over(folds: Sequence[float]) -> Folds:
    return {"mean": round(fmean(folds), 4), "folds": list(folds)}


def table(found: dict[str, Any]) -> Table:
    """Correlations over the three scales: means over the folds, with the least and the most."""
    columns = list(next(iter(found.values())))
    shown = Table("", *columns)
    for name, row in found.items():
        shown.add_row(name, *(_cell(row[column]["r"]) for column in columns))
    return shown


def _cell(over: Folds) -> str:
    return f"{over['mean']:.2f} ({min(over['folds']):.2f}-{max(over['folds']):.2f})"


if __name__ == "__main__":
    typer.run(main)
