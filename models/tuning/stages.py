"""What each stage is good for, heard in replies: `python -m models.tuning.stages`.

Arms learn all three stages, some without the first, or with the corpus alone, or with one side of
EmoBank beside it; all of them, the untaught network and what one arm says after each of its stages
answer the same held-out scripts. Each is trained and asked in a process of its own; what is there
already is not made again.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
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
from models.tuning.emobank import Sides, check
from models.tuning.examples import Stage

SEED = 7  # of the first round; each further one has the next
# What is told of each, by where evaluation.json keeps it.
TOLD = {
    "goes the way of its cue": ("told", "plan", "steering", "all"),
    "by three references": ("told", "plan", "steering_by_all", "all"),
    "both replies together": ("told", "plan", "steering", "follows"),
    "nearness to the reference": ("told", "plan", "similarity"),
    "plain questions": ("chat", "untold", "sane"),
}


@dataclass(frozen=True, slots=True)
class Arm:
    """What the first stage learns of EmoBank; None: there is no first stage."""

    name: str
    sides: Sides | None


WHOLE = Arm("both", Sides.BOTH)
ARMS = (
    Arm("no first stage", None),
    Arm("corpus alone", Sides.NONE),
    Arm("writer", Sides.WRITER),
    Arm("reader", Sides.READER),
    WHOLE,
)


@dataclass(frozen=True, slots=True)
class Contestant:
    """Who answers: an arm after some of its stages, or nobody's pupil."""

    name: str
    arm: Arm | None
    stages: tuple[Stage, ...]


UNTAUGHT = Contestant("untaught", None, ())
# The third stage's adapter went on from the second's, and holds it.
CONTESTANTS = (
    UNTAUGHT,
    Contestant("understanding alone", WHOLE, (Stage.UNDERSTAND,)),
    Contestant("understanding and replies", WHOLE, (Stage.UNDERSTAND, Stage.REPLY)),
    *(
        Contestant(
            arm.name, arm, (*([] if arm.sides is None else [Stage.UNDERSTAND]), Stage.EMPATHY)
        )
        for arm in ARMS
    ),
)


@dataclass(frozen=True, slots=True)
class Size:
    """How much is learned and asked."""

    scripts: int  # of the corpus, that the later stages learn from
    understood: int  # of these, that the first learns from
    sentences: int  # of EmoBank
    asked: int  # scripts of test; 0: all


@dataclass(frozen=True, slots=True)
class Round:
    """All arms and contestants, by one seed."""

    seed: int
    folder: Path

    def place(self, arm: Arm) -> Path:
        return self.folder / arm.name.replace(" ", "-")

    def training(self, arm: Arm, emobank: Path, size: Size) -> list[str] | None:
        """None if it is taught already."""
        out = self.place(arm)
        if (out / Stage.EMPATHY / SUM).exists():
            return None
        command = [
            *(sys.executable, "-m", "models.train_reply", f"--out={out}"),
            *(f"--scripts={size.scripts}", f"--seed={self.seed}", "--threads=1"),
        ]
        if arm.sides is None:
            return [*command, "--skip-understanding"]
        learned = [f"--understood={size.understood}", f"--sentences={size.sentences}"]
        return [*command, *learned, f"--perspectives={arm.sides.value}", f"--emobank={emobank}"]

    def asking(self, who: Contestant, size: Size) -> list[str]:
        """Safe to repeat: what was answered before is not asked again."""
        folders = [str(self.place(who.arm) / stage) for stage in who.stages] if who.arm else []
        return [
            *(sys.executable, "-m", "models.evaluate_reply"),
            f"--contestant={who.name}={','.join(folders)}",
            *("--told=plan", "--no-likelihood", "--pairs=0", f"--limit={size.asked}"),
            f"--out={self.answers(who)}",
        ]

    def answers(self, who: Contestant) -> Path:
        return self.folder / "answers" / who.name.replace(" ", "-")

    def figures(self, who: Contestant) -> dict[str, Any]:
        text = (self.answers(who) / "evaluation.json").read_text("utf-8")
        found: dict[str, Any] = json.loads(text)["contestants"][who.name]
        return found


def main(
    emobank: Annotated[Path, typer.Option(help="EmoBank's folder.")],
    out: Annotated[Path, typer.Option(help="Where adapters, answers and figures go.")],
    scripts: Annotated[int, typer.Option(help="Of the corpus, to learn from.")] = 300,
    understood: Annotated[int, typer.Option(help="Of these, for the first stage.")] = 100,
    sentences: Annotated[int, typer.Option(help="Of EmoBank, to learn from.")] = 300,
    limit: Annotated[int, typer.Option(help="Scripts of test to answer; 0: all.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="So many rounds.")] = 1,
    at_once: Annotated[int, typer.Option(help="At work together, each on one core.")] = 2,
) -> None:
    """Train all arms and ask all contestants."""
    console = Console(stderr=True)
    with in_a_line(console, FileNotFoundError):
        check(emobank)
    size = Size(scripts, understood, sentences, limit)
    rounds = [Round(seed, out / str(seed)) for seed in range(SEED, SEED + seeds)]
    taught = [(each, arm) for each in rounds for arm in ARMS]
    asked = [(each, who) for each in rounds for who in CONTESTANTS]
    with Progress(console=console) as progress, ThreadPoolExecutor(at_once) as pool:
        teaching = progress.add_task("taught", total=len(taught))
        asking = progress.add_task("asked", total=len(asked))

        def teach(pair: tuple[Round, Arm]) -> None:
            turn, arm = pair
            if command := turn.training(arm, emobank, size):
                _run(command, turn.place(arm) / "output.txt")
            progress.advance(teaching)

        def ask(pair: tuple[Round, Contestant]) -> None:
            turn, who = pair
            _run(turn.asking(who, size), turn.answers(who) / "output.txt")
            progress.advance(asking)

        list(pool.map(teach, taught))
        list(pool.map(ask, asked))
    found = {who.name: summed_up([each.figures(who) for each in rounds]) for who in CONTESTANTS}
    made = {
        **{"scripts": scripts, "understood": understood, "sentences": sentences},
        **{"limit": limit, "seeds": [each.seed for each in rounds]},
    }
    text = json.dumps({"made": made, "contestants": found}, indent=1)
    (out / "stages.json").write_text(text + "\n", encoding="utf-8")
    Console().print(table(found))


def _run(command: Sequence[str], output: Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("a", encoding="utf-8") as said:
        subprocess.run(command, check=True, stdout=said, stderr=said)


def summed_up(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Each figure: the mean over the rounds, and how each of them found it."""
    found: dict[str, Any] = {}
    for name, path in TOLD.items():
        each = [_at(figures, path) for figures in rounds]
        found[name] = {"mean": round(fmean(row["value"] for row in each), 4), "rounds": each}
    return found


def _at(figures: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    for key in path:
        figures = figures[key]
    return figures


def table(found: dict[str, Any]) -> Table:
    """Means over the rounds; of a single one, with its interval."""
    shown = Table("", *TOLD)
    for name, row in found.items():
        shown.add_row(name, *(_cell(row[column]) for column in TOLD))
    return shown


def _cell(over: dict[str, Any]) -> str:
    rounds = over["rounds"]
    if len(rounds) == 1:
        low, high = rounds[0]["low"], rounds[0]["high"]
    else:
        low, high = (choose(row["value"] for row in rounds) for choose in (min, max))
    return f"{over['mean']:.2f} ({low:.2f}-{high:.2f})"


if __name__ == "__main__":
    typer.run(main)
