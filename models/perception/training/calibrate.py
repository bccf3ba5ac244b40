"""Making chances honest: what is said with 70 % should be right seven times in ten."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from models.perception.stretch import Stretch
from models.perception.training.clips import Clip
from models.perception.training.finish import Lesson
from models.perception.training.network import HEADS, Network
from models.perception.training.practice import finished

Rows = NDArray[np.float32]

_TEMPERATURES = np.geomspace(0.5, 5, 60)


def heard(network: Network, clips: Sequence[Clip]) -> dict[str, Rows]:
    """Each head's logits of whole clips, as the perceiver comes to them."""
    found: dict[str, list[Rows]] = {head: [] for head in HEADS}
    with torch.no_grad():
        for clip in clips:
            parts = Stretch().parts(clip.samples)
            answers = [
                network(
                    torch.from_numpy(part.window.sound[None]),
                    torch.from_numpy(part.window.spans[0][None, None]),
                )
                for part in parts
            ]
            sizes = [part.size for part in parts]
            for at, head in enumerate(HEADS):
                rows = [answer[at][0, 0].numpy() for answer in answers]
                found[head].append(np.average(rows, axis=0, weights=sizes))
    return {head: np.stack(rows) for head, rows in found.items()}


def elsewhere(clips: Sequence[Clip], seed: int) -> list[Clip]:
    """The same clips from other rooms and lines: chances that are honest only where the network
    was taught would be boasts everywhere else."""
    rng = np.random.default_rng(seed)

    def moved(clip: Clip) -> Clip:
        samples = finished(clip.samples, True, rng)
        return replace(clip, pcm=(samples * 32767).astype(np.int16))

    return [moved(clip) for clip in clips]


def of_classes(logits: Rows, truth: Sequence[int]) -> float:
    """The temperature under which the truth is likeliest."""
    picked = np.arange(len(truth)), np.asarray(truth)

    def surprise(temperature: float) -> float:
        scaled = logits / temperature
        top = scaled.max(1, keepdims=True)
        chances = scaled - top - np.log(np.exp(scaled - top).sum(1, keepdims=True))
        return -float(chances[picked].mean())

    return float(min(_TEMPERATURES, key=surprise))


def of_sounds(network: Network, kept: Lesson) -> float:
    """The same for what may or may not sound, on mixtures it was not taught with."""
    with torch.no_grad():
        said = network.heads["sounds"](kept.numbers).numpy()
    true = kept.sounds.numpy()
    certain = true >= 0
    said, true = said[certain], true[certain]

    def surprise(temperature: float) -> float:
        scaled = said / temperature
        return float((np.logaddexp(0, scaled) - true * scaled).mean())

    return float(min(_TEMPERATURES, key=surprise))


def sure_from(chances: Rows, truth: Sequence[int], right: float) -> float:
    """The chance from which answers are right that often; below it, doubt is declared."""
    top, correct = chances.max(1), chances.argmax(1) == np.asarray(truth)
    guess = 1 / chances.shape[1]
    for limit in np.arange(guess + 0.1, 0.95, 0.01):
        if (kept := top >= limit).any() and correct[kept].mean() >= right:
            return round(float(limit), 2)
    return 0.95
