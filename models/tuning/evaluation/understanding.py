"""What the first stage is good for: `python -m models.tuning.evaluation.understanding`.

Contestants that learned from different sides and genres of EmoBank are asked about sentences of the
genres they learned from, and of the others, if genres are named; and which of two replies they
would rather give. They are not made to speak, so that many can be compared.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from models import weights
from models.complaints import in_a_line
from models.corpus.exchange import Split, load
from models.thinking.told import Told
from models.tuning import emobank
from models.tuning.emobank import Perspective, Sentence
from models.tuning.evaluation import emotions
from models.tuning.evaluation.contestants import Contestant, hashes, model_key, parse_all
from models.tuning.evaluation.emotions import Guess, pearson
from models.tuning.evaluation.errors import EvaluationError
from models.tuning.evaluation.intervals import figure
from models.tuning.evaluation.preference import preference
from models.tuning.evaluation.questions import Plans
from models.tuning.evaluation.weighing import Weigher

BASE = "smollm2"
SEED = 7


def asked_about(
    bank: Sequence[Sentence], taught: Sequence[str], most: int
) -> dict[str, list[Sentence]]:
    """Sentences of test, as many of the genres that were learned from as of the others.

    Where all genres were learned from, or none is named, there are no others.
    """
    found = {"taught": emobank.sampled(emobank.of_genres(bank, taught), "test", most, SEED)}
    others = [name for name in (*emobank.GENRES, emobank.OTHER) if name not in taught]
    if taught and others:
        found["others"] = emobank.sampled(emobank.of_genres(bank, others), "test", most, SEED)
    return found


def summed_up(found: Mapping[str, Sequence[Guess]]) -> dict[str, Any]:
    """Over the three scales: how often right, and how well each goes along with what was felt."""
    by_sentence = zip(*found.values(), strict=True)  # the scales of one stand or fall together
    r = {
        scale: pearson([row.expected for row in rows], [row.felt for row in rows])
        for scale, rows in found.items()
    }
    return {
        "accuracy": figure([[guess.right for guess in each] for each in by_sentence], SEED),
        "r": {**r, "mean": round(fmean(each or 0.0 for each in r.values()), 4)},
    }


def understood(
    weigher: Weigher, sentences: Mapping[str, Sequence[Sentence]], label: str, console: Console
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for where, some in sentences.items():
        for side in Perspective:
            told: dict[str, list[Guess]] = {scale: [] for scale in emotions.SCALES}
            for each in track(some, f"{label}: {where}, {side}", console=console, transient=True):
                for scale, guess in emotions.guesses([each], side, weigher).items():
                    told[scale] += guess
            found.setdefault(where, {})[side.value] = summed_up(told)
    return found


def main(
    contestant: Annotated[list[str], typer.Option(help="NAME=ADAPTER[,ADAPTER…]; base= for none.")],
    out: Annotated[Path, typer.Option(help="A JSON file; nobody is asked the same again.")],
    emobank_folder: Annotated[Path, typer.Option("--emobank", help="EmoBank's folder.")],
    genre: Annotated[
        list[str] | None, typer.Option(help="That was learned from; can be repeated.")
    ] = None,
    sentences: Annotated[int, typer.Option(help="Of either kind of genre, at most.")] = 100,
    scripts: Annotated[int, typer.Option(help="Of test, to prefer a reply to; 0: none.")] = 120,
    base: Annotated[
        str, typer.Option(help="smollm2 (packaged), a GGUF file, a folder, or a hub's name.")
    ] = BASE,
    device: Annotated[str, typer.Option(help="cpu, cuda, …")] = "cpu",
    threads: Annotated[int, typer.Option(help="Of the processor.")] = 1,
) -> None:
    """Compare what contestants understand, and which replies they prefer."""
    console = Console(stderr=True)
    with in_a_line(console, EvaluationError, ValueError, OSError, weights.WeightsError):
        contestants = parse_all(contestant)
        bank = emobank.read(emobank_folder)
        asked = asked_about(bank, genre or [], sentences)
        keys = {each.name: asked_key(each, base, asked, scripts) for each in contestants}
    found = json.loads(out.read_text("utf-8")) if out.exists() else {}
    for each in contestants:
        if found.get(each.name, {}).get("asked") != keys[each.name]:
            weigher = _weigher(each, base, device, threads)
            figures = _figures(each.name, weigher, asked, scripts, console)
            found[each.name] = {"asked": keys[each.name], **figures}
            out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    same = keys[contestants[0].name]["of"]  # who was asked something else cannot be set beside
    Console().print(table({n: row for n, row in found.items() if _of(row) == same}))


def asked_key(
    contestant: Contestant, base: str, asked: Mapping[str, Sequence[Sentence]], scripts: int
) -> dict[str, Any]:
    """Who was asked, by what it is made of, and of what: figures of anything else are others."""
    file = weights.path(BASE) if base == BASE else Path(base)
    if file.is_file():
        made_of = model_key(contestant, file)
    else:  # a folder, or a name on the hub: as it is called
        made_of = " ".join([base, *hashes(contestant)])
    told = hashlib.sha256(repr(asked).encode()).hexdigest()[:16]
    counts = {where: len(some) for where, some in asked.items()}
    return {"who": made_of, "of": {"sentences": counts, "emobank": told, "scripts": scripts}}


def _of(row: Mapping[str, Any]) -> Any:
    return row.get("asked", {}).get("of")


def _weigher(contestant: Contestant, base: str, device: str, threads: int) -> Weigher:
    import torch

    from models.tuning.evaluation.likelihood import TorchWeigher  # of the train extra

    torch.set_num_threads(threads)
    return TorchWeigher.of(base, contestant.adapters, device)


def _figures(
    name: str,
    weigher: Weigher,
    asked: Mapping[str, Sequence[Sentence]],
    scripts: int,
    console: Console,
) -> dict[str, Any]:
    exchanges = load(Split.TEST)[:scripts] if scripts else []
    return {
        "emobank": understood(weigher, asked, name, console),
        "replies": preference(exchanges, Told.PLAN, Plans.RULES, weigher, SEED),
    }


def table(found: Mapping[str, Any]) -> Table:
    """Of contestants that were asked the same."""
    asked = next(iter(found.values()))["emobank"]
    places = [(where, side.value) for where in asked for side in Perspective]
    shown = Table("", *(f"{where}: {side}" for where, side in places), "prefers the cue's reply")
    for name, row in found.items():
        cells = [
            f"{_share(row['emobank'][where][side]['accuracy'])}, "
            f"r {row['emobank'][where][side]['r']['mean']:.2f}"
            for where, side in places
        ]
        shown.add_row(name, *cells, _share(row["replies"]["follows"]))
    return shown


def _share(of: Mapping[str, float] | None) -> str:
    return f"{of['value']:.0%} ({of['low']:.0%}-{of['high']:.0%}, n {of['n']})" if of else "-"


if __name__ == "__main__":
    typer.run(main)
