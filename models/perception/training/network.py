"""The network that perceives: an encoder, what its states amount to over a span, and heads."""

import torch
from torch import Tensor, nn

from models.perception.labels import EMOTIONS
from models.perception.training.clips import AGES, GENDERS, SOUNDS
from models.perception.training.encoder import WIDTH, Encoder

HEADS = {"emotion": EMOTIONS, "gender": GENDERS, "age": AGES, "sounds": SOUNDS}


class Network(nn.Module):
    """From sound and spans to every head's logits, in the order of HEADS."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        numbers = (len(encoder.layers) + 1) * 3 * WIDTH
        self.even = nn.BatchNorm1d(numbers, affine=False, momentum=0.02)
        self.heads = nn.ModuleDict({name: _head(numbers, len(HEADS[name])) for name in HEADS})

    def forward(self, sound: Tensor, spans: Tensor) -> tuple[Tensor, ...]:
        """`spans` weighs the steps: batch, span, step; the weights of a span add up to 1."""
        numbers = statistics(self.encoder(sound), spans)
        even = self.even(numbers.flatten(0, 1)).unflatten(0, numbers.shape[:2])
        return tuple(head(even) for head in self.heads.values())


def statistics(states: list[Tensor], spans: Tensor) -> Tensor:
    """Mean, spread and change of every layer's states over each span: batch, span, number."""
    found = []
    for state in states:
        mean = spans @ state
        spread = (spans @ state.square() - mean.square()).clamp(min=1e-6).sqrt()
        change = spans[:, :, 1:] @ (state[:, 1:] - state[:, :-1]).abs()
        found += [mean, spread, change]
    return torch.cat(found, -1)


def _head(numbers: int, answers: int) -> nn.Module:
    """One hidden layer; while it learns it is shown half of everything."""
    return nn.Sequential(
        nn.Dropout(0.5),
        nn.Linear(numbers, 192),
        nn.GELU(),
        nn.Dropout(0.5),
        nn.Linear(192, answers),
    )
