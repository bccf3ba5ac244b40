"""Training the perceiver: `python -m models.perception.train`.

Reads a manifest of recordings, tunes Moonshine's encoder with heads for all that is labelled, makes
the chances honest on speakers it was not taught with, and writes one ONNX file. The seed is fixed:
the same rows give the same network, up to the rounding of sums.
"""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from models import weights as store
from models.perception.hearing import Card
from models.perception.training import calibrate, clips, encoder, finish
from models.perception.training.export import export
from models.perception.training.network import HEADS, Network
from models.perception.training.practice import Practice, Recipe
from models.perception.training.tune import Plan, tune

COMMAND = "python -m models.perception.train"
LESSONS = 400  # batches
RIGHT = {"emotion": 0.6, "gender": 0.95, "age": 0.85}  # how often what is called sure shall be
# What made sounds alone teach well enough to be told of real ones: AUC from 0.85 on recordings
# of the research collections' train part (docs/perception.md). The default weights know these by no
# recording. A horn (0.80) fell short; of moan, basketball, cheering, chatter and ringtone there was
# nothing to try them on.
CONVINCING = (
    "cough", "sigh", "laughter", "yawn", "throat", "scream", "sobbing", "breath", "wind",
    "thunderstorm", "car", "subway", "applause", "children", "alarm", "music",
)  # fmt: skip
LICENCES = {
    "default": "Apache-2.0; trained on CREMA-D (ODbL), LibriSpeech (CC BY 4.0), speechocean762, "
    "ESC-10 (CC BY); encoder from Moonshine (MIT)",
    "research": "non-commercial research only: trained also on RAVDESS (CC BY-NC-SA 4.0), "
    "ESC-50 and UrbanSound8K (CC BY-NC), Deeply Nonverbal Vocalization (CC BY-NC-ND 4.0)",
}


class Which(StrEnum):
    DEFAULT = "default"
    RESEARCH = "research"


def main(
    manifest: Annotated[Path, typer.Option(help="The table of recordings (manifest.csv).")],
    audio: Annotated[Path, typer.Option(help="The folder the recordings were unpacked into.")],
    weights: Annotated[Which, typer.Option(help="What to learn from.")] = Which.DEFAULT,
    out: Annotated[Path | None, typer.Option(help="The file to write.")] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the speech.")] = Plan().epochs,
    threads: Annotated[int, typer.Option(help="Of the processor.")] = 1,
) -> None:
    """Train the perception network and write it as ONNX."""
    console = Console(stderr=True)
    torch.set_num_threads(threads)
    begun = time.monotonic()
    out = out or (
        Path(__file__).with_name("weights") / "voice.onnx"
        if weights is Which.DEFAULT
        else store.cache_dir() / "perception-research.onnx"
    )
    found = clips.read(manifest, audio, "train", shippable=weights is Which.DEFAULT)
    held = clips.held_out(found)
    taught = [clip for clip in found if clip not in held]
    plan = Plan(epochs=epochs)
    practice = Practice(taught, Recipe(), plan.seed)
    torch.manual_seed(plan.seed)
    network = Network(encoder.pretrained(store.path("moonshine-encoder")))
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=console
    ) as progress:
        task = progress.add_task("learning", total=epochs * len(practice))
        tune(
            network,
            practice,
            plan,
            lambda epoch, step, loss: progress.update(
                task, advance=1, description=f"epoch {epoch + 1}/{epochs}, loss {loss:.2f}"
            ),
        )
        lessons = Practice(taught, Recipe(sounds=16, mix=0.5), plan.seed)
        task = progress.add_task("listening to sounds", total=LESSONS)
        lesson, kept = finish.collect(network, lessons, LESSONS, lambda: progress.advance(task))
    finish.refit(network.heads["sounds"], lesson, plan.seed)
    card = describe(network, held + calibrate.elsewhere(held, plan.seed), taught, kept, weights)
    export(network, card, out)
    minutes = (time.monotonic() - begun) / 60
    console.print(f"{out} ({out.stat().st_size / 1e6:.1f} MB) in {minutes:.0f} min: {card.licence}")


def describe(
    network: Network,
    held: list[clips.Clip],
    taught: list[clips.Clip],
    kept: finish.Lesson,
    weights: str,
) -> Card:
    """What the network may say, and how surely, by speakers it does not know."""
    names = {head: tuple(n for n in HEADS[head] if _taught(taught, head, n)) for head in HEADS}
    said = calibrate.heard(network, held)
    temperature = {"sounds": calibrate.of_sounds(network, kept)}
    sure = {}
    for head in ("emotion", "gender", "age"):
        columns = [HEADS[head].index(name) for name in names[head]]
        rows = [at for at, clip in enumerate(held) if getattr(clip, head) in names[head]]
        truth = [names[head].index(getattr(held[at], head)) for at in rows]
        logits = said[head][rows][:, columns]
        temperature[head] = calibrate.of_classes(logits, truth)
        scaled = np.exp(logits / temperature[head])
        sure[head] = calibrate.sure_from(scaled / scaled.sum(1, keepdims=True), truth, RIGHT[head])
    return Card(str(weights), LICENCES[weights], names, temperature, sure)


def _taught(taught: list[clips.Clip], head: str, name: str) -> bool:
    if head == "sounds":
        return name != clips.OTHER and (
            name in CONVINCING or any(clip.sound == name for clip in taught)
        )
    return any(getattr(clip, head) == name for clip in taught)


if __name__ == "__main__":
    typer.run(main)
