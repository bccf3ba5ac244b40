"""Teaching the network: what counts as wrong, and how boldly it is corrected."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from models.perception.labels import EMOTIONS
from models.perception.training.clips import AGES
from models.perception.training.network import Network
from models.perception.training.practice import Batch, Practice


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how boldly to learn."""

    epochs: int = 16
    head_rate: float = 1e-3
    encoder_rate: float = 2.5e-4
    decay: float = 0.05
    seed: int = 7


def tune(
    network: Network,
    practice: Practice,
    plan: Plan,
    tell: Callable[[int, int, float], None],
    after: Callable[[int], None] = lambda epoch: None,
) -> None:
    """Learn for all epochs. `tell` hears epoch, step and loss; `after` each epoch."""
    torch.manual_seed(plan.seed)
    encoder = network.encoder
    # The stem hears as it always did: it holds nothing of feelings, and most of the cost.
    for stem in (encoder.conv1, encoder.groupnorm, encoder.conv2, encoder.conv3):
        stem.requires_grad_(False)
    layers = list(encoder.layers.parameters())
    optimizer = torch.optim.AdamW(
        [
            {"params": layers, "lr": plan.encoder_rate},
            {"params": list(network.heads.parameters()), "lr": plan.head_rate},
        ],
        weight_decay=plan.decay,
    )
    steps = plan.epochs * len(practice)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _pace(step / steps))
    losses = Losses(practice)
    for epoch in range(plan.epochs):
        network.train()
        practice.turn = epoch
        loader = DataLoader(practice, batch_size=None, num_workers=1, prefetch_factor=8)
        for step, batch in enumerate(loader):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                answers = network(batch.sound, batch.spans)
            loss = losses([answer[:, 0].float() for answer in answers], batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            tell(epoch, step, float(loss.detach()))
        network.eval()
        after(epoch)


def _pace(done: float) -> float:
    """Up quickly, then down along a cosine."""
    return min(done / 0.05, 0.5 + 0.5 * math.cos(math.pi * min(done, 1))) + 1e-3


class Losses:
    """One number for how wrong all answers are. Rare ages count as much as common ones."""

    def __init__(self, practice: Practice) -> None:
        self._age = _balance([clip.age for clip in practice.speech], AGES)
        self._emotion = _balance([clip.emotion for clip in practice.speech], EMOTIONS)

    def __call__(self, answers: Sequence[Tensor], batch: Batch) -> Tensor:
        emotion, gender, age, sounds = answers
        loss = torch.zeros(())
        known = batch.emotion.sum(1) > 0
        if known.any():
            chances = functional.log_softmax(emotion[known], -1)
            loss = loss - (batch.emotion[known] * self._emotion * chances).sum(1).mean()
        for said, truth, weights in ((gender, batch.gender, None), (age, batch.age, self._age)):
            if (truth >= 0).any():
                loss = loss + 0.5 * functional.cross_entropy(said, truth, weights, ignore_index=-1)
        certain = batch.sounds >= 0
        each = functional.binary_cross_entropy_with_logits(
            sounds, batch.sounds.clamp(min=0), reduction="none"
        )
        counts = torch.where(batch.sounds > 0, 3.0, 1.0) * certain  # silence is easily learnt
        return loss + 5 * (each * counts).sum() / certain.sum().clamp(min=1)


def _balance(found: Sequence[str | None], names: Sequence[str]) -> Tensor:
    """Weights that lift rare names: by the root of how rare, 1 on average; 0 for absent ones."""
    counts = np.array([sum(f == name for f in found) for name in names], np.float32)
    weights = np.where(counts > 0, np.maximum(counts, 1) ** -0.5, 0)
    weights *= counts.sum() / max((weights * counts).sum(), 1e-9)
    return torch.tensor(weights, dtype=torch.float32)
