"""Teaching the reply model: `python -m models.train_reply`.

Three stages, each an adapter on what came before: to understand how people are, to answer them
aloud, and to let the answer follow from how they speak. Stopped and run again with the same
options, it goes on where it was.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from models.adapter_files import FILE, AdapterError
from models.complaints import in_a_line
from models.corpus import plain, simple
from models.corpus.exchange import CorpusError, Split, load
from models.digest import sha256
from models.tuning import adapters, emobank, examples
from models.tuning.base import PACKAGED, Base
from models.tuning.base import load as load_base
from models.tuning.curves import draw
from models.tuning.emobank import Perspective, Sentence, Sides
from models.tuning.encoded import forked
from models.tuning.examples import Example, Stage
from models.tuning.lesson import Recipe, Step, fingerprint, learn, read_log

CHECKED = 150  # held-out examples the loss is watched on
HELD_OUT = 40  # scripts with plain replies that are not learned
# The first stage is an adapter of its own, for it may have learned from EmoBank, whose licence it
# then bears. The other two are one adapter, taught in two steps.
RECIPES = {
    Stage.UNDERSTAND: Recipe(epochs=1.0),
    Stage.REPLY: Recipe(epochs=0.5),
    Stage.EMPATHY: Recipe(epochs=1.0, trim=0.2),
}


class Which(StrEnum):
    UNDERSTAND = "understand"
    REPLY = "reply"
    EMPATHY = "empathy"
    ALL = "all"


class Taught(StrEnum):
    """Whose replies are learned."""

    SIMPLE = "simple"  # plain ones: all that a network of a hundred million numbers can follow
    AUTHOR = "author"  # the corpus's own, for larger ones


@dataclass(frozen=True, slots=True)
class Matter:
    """What there is to learn from."""

    skip_understanding: bool
    perspectives: Sides
    sentences: int  # of EmoBank, at most
    genres: tuple[str, ...]  # of EmoBank; all if none is named
    replies: Taught
    scripts: int  # of the corpus, at most; 0: all
    understood: int  # of these, from which the first stage learns, at most

    def of(self, stage: Stage) -> dict[str, Any]:
        """All of it that a stage learns from."""
        own = {"scripts": self.scripts, "replies": self.replies}
        if stage is not Stage.UNDERSTAND:
            return {**own, "after_understanding": not self.skip_understanding}
        bank = {"sentences": self.sentences, "genres": self.genres}
        return {"scripts": self.understood, **bank, "perspectives": self.perspectives}


app = typer.Typer(add_completion=False)


@app.command()
def main(
    out: Annotated[Path, typer.Option(help="Where adapters, logs and curves go.")],
    stage: Annotated[Which, typer.Option(help="Which to train.")] = Which.ALL,
    base: Annotated[
        str, typer.Option(help="smollm2 (packaged), a GGUF file, a folder, or a hub's name.")
    ] = PACKAGED,
    emobank_folder: Annotated[
        Path | None, typer.Option("--emobank", help="EmoBank's folder, for the first stage.")
    ] = None,
    perspectives: Annotated[Sides, typer.Option(help="Of EmoBank.")] = Sides.BOTH,
    sentences: Annotated[int, typer.Option(help="Of EmoBank, at most.")] = 1000,
    genre: Annotated[
        list[str] | None, typer.Option(help="Of EmoBank's, to learn from; can be repeated; all.")
    ] = None,
    replies: Annotated[
        Taught, typer.Option(help="Plain ones, or the corpus's own.")
    ] = Taught.SIMPLE,
    scripts: Annotated[int, typer.Option(help="Of the corpus, at most; 0: all.")] = 0,
    understood: Annotated[
        int, typer.Option(help="Scripts for the first stage, at most: more teach it little.")
    ] = 300,
    epochs: Annotated[float, typer.Option(help="Of each stage; 0: as the recipe says.")] = 0.0,
    apart: Annotated[
        float, typer.Option(help="Weight of telling right answers from wrong ones, in the third.")
    ] = 0.0,
    skip_understanding: Annotated[
        bool, typer.Option(help="Train the later stages without the first.")
    ] = False,
    rank: Annotated[int, typer.Option(help="Of the adapters.")] = adapters.RANK,
    seed: Annotated[int, typer.Option(help="The same seed gives the same adapters.")] = 7,
    device: Annotated[str, typer.Option(help="cpu, cuda, …")] = "cpu",
    threads: Annotated[int, typer.Option(help="Of the processor; 0: all.")] = 0,
) -> None:
    """Train the reply model's adapters."""
    console = Console(stderr=True)
    if threads:
        torch.set_num_threads(threads)
    with in_a_line(console, CorpusError, AdapterError, ValueError, OSError):
        bank = emobank.read(emobank_folder) if emobank_folder else []
        genres = tuple(genre or ())
        bank = emobank.of_genres(bank, genres)
        if genres and not bank:
            raise ValueError("--genre chooses among EmoBank's sentences: say where they are.")
        matter = Matter(
            skip_understanding,
            perspectives,
            sentences if bank else 0,
            genres,
            replies,
            scripts,
            understood,
        )
        lessons = _lessons(bank, matter, seed)
        for each in _stages(stage, skip_understanding):
            trained = load_base(base, device)
            recipe = replace(RECIPES[each], seed=seed, epochs=epochs or RECIPES[each].epochs)
            if each is Stage.EMPATHY:
                recipe = replace(recipe, apart=apart)
            _train(trained, each, lessons[each], out, recipe, rank, matter, console)


Lesson = tuple[list[Example], list[Example]]  # to learn from, and held out


def _lessons(bank: Sequence[Sentence], matter: Matter, seed: int) -> dict[Stage, Lesson]:
    taught, held = load(Split.TRAIN), load(Split.DEV)
    plainly = plain.load()
    easy = simple.load() if matter.replies is Taught.SIMPLE else None
    if easy:  # which only scripts to learn from have: some of these are held out
        known = simple.simplified(taught, easy)
        taught, held = known[:-HELD_OUT], known[-HELD_OUT:]
    if matter.scripts:
        taught, plainly = taught[: matter.scripts], plainly[: matter.scripts // 4]
    chosen = _sides(matter.perspectives)
    learned = emobank.sampled(bank, "train", matter.sentences, seed)
    asked = emobank.sampled(bank, "dev", CHECKED, seed)
    return {
        Stage.UNDERSTAND: (
            examples.understanding(taught[: matter.understood], learned, chosen),
            examples.understanding(held, asked, chosen),
        ),
        Stage.REPLY: (examples.replies(taught, plainly), examples.replies(held, [])),
        Stage.EMPATHY: (
            examples.empathy(taught, plainly, seed, easy),
            examples.empathy(held, [], seed, easy),
        ),
    }


def _sides(sides: Sides) -> Sequence[Perspective]:
    if sides is Sides.NONE:
        return ()
    return tuple(Perspective) if sides is Sides.BOTH else (Perspective(sides.value),)


def _stages(which: Which, skip_understanding: bool) -> list[Stage]:
    if which is not Which.ALL:
        return [Stage(which.value)]
    return [each for each in Stage if not (skip_understanding and each is Stage.UNDERSTAND)]


def _train(
    base: Base,
    stage: Stage,
    lesson: Lesson,
    out: Path,
    recipe: Recipe,
    rank: int,
    matter: Matter,
    console: Console,
) -> None:
    folder = out / stage
    network = base.network
    made_of: dict[str, Any] = {
        "base": base.name,
        "network": fingerprint(network),
        **matter.of(stage),
    }
    if stage is not Stage.UNDERSTAND and not matter.skip_understanding:
        network = adapters.merged(network, [out / Stage.UNDERSTAND])
        made_of["after"] = sha256(out / Stage.UNDERSTAND / FILE)[:16]
    if stage is Stage.EMPATHY:
        network = adapters.worn(network, out / Stage.REPLY, trainable=True)
        made_of["goes_on_from"] = sha256(out / Stage.REPLY / FILE)[:16]
    else:
        network = adapters.put_on(network, recipe.seed, rank)
        made_of["rank"] = rank
    held_out = lesson[1]
    parts = lesson[0], held_out[:: -(-len(held_out) // CHECKED) or 1]  # some of every kind
    taught, held = (forked(base.tokenizer, part) for part in parts)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=console
    ) as progress:
        task = progress.add_task(stage.value)

        def report(step: Step, steps: int) -> None:
            told = f"{stage.value} {step.step}/{steps} loss {step.loss:.2f}"
            progress.update(task, description=told, completed=step.step, total=steps)

        pad = base.tokenizer.pad_token_id
        learn(network, taught, held, recipe, folder, pad, report, made_of)
    adapters.save(network, folder, base.name)
    steps = read_log(folder)
    draw(f"{stage.value}: loss by step", steps, folder / "loss.svg")
    card = {
        "stage": stage,
        "base": base.name,
        "recipe": asdict(recipe),
        "learned_from": matter.of(stage),
        "examples": len(parts[0]),
    }
    (folder / "trained.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    app()
