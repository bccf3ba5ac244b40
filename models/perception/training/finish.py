"""The last lesson: with the encoder as it is, the head for sounds hears many more of them.

While the encoder learns, speech comes first and sounds are few. A head alone learns from numbers
that are worked out once, so it can have as many examples as there is patience for.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from models.perception.training.network import Network, statistics
from models.perception.training.practice import Practice

CHECKED = 10  # one in so many batches is kept to make the chances honest by


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the head is shown, and what of it sounds (1), does not (0), or nobody knows (-1)."""

    numbers: Tensor
    sounds: Tensor


def collect(
    network: Network, practice: Practice, batches: int, tell: Callable[[], None]
) -> tuple[Lesson, Lesson]:
    """Examples to learn from, and some to check with."""
    numbers: tuple[list[Tensor], list[Tensor]] = [], []
    sounds: tuple[list[Tensor], list[Tensor]] = [], []
    done = 0
    practice.turn = 1000  # no epoch's
    with torch.no_grad():
        while done < batches:
            for batch in practice:
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    states = network.encoder(batch.sound)
                found = statistics([state.float() for state in states], batch.spans)[:, 0]
                checked = int(done % CHECKED == 0)
                numbers[checked].append(network.even(found))
                sounds[checked].append(batch.sounds)
                tell()
                done += 1
                if done == batches:
                    break
            practice.turn += 1
    taught, kept = (
        Lesson(torch.cat(n), torch.cat(s)) for n, s in zip(numbers, sounds, strict=True)
    )
    return taught, kept


def refit(head: nn.Module, lesson: Lesson, seed: int, epochs: int = 12) -> None:
    """Teach the head anew."""
    torch.manual_seed(seed)
    optimizer = torch.optim.AdamW(head.parameters(), 1e-3, weight_decay=0.05)
    order = np.random.default_rng(seed)
    size = 64
    steps = epochs * -(-len(lesson.numbers) // size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    head.train()
    for _ in range(epochs):
        for rows in torch.from_numpy(order.permutation(len(lesson.numbers))).split(size):
            truth = lesson.sounds[rows]
            certain = truth >= 0
            each = functional.binary_cross_entropy_with_logits(
                head(lesson.numbers[rows]), truth.clamp(min=0), reduction="none"
            )
            loss = (each * certain).sum() / certain.sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    head.eval()
