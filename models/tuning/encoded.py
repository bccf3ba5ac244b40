"""Examples as tokens: what is read, and what of it is to be said."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from models.tuning.examples import Example
from models.types import Turn

UNSAID = -100  # of no weight in the loss: what the model only reads
LONGEST = 512  # tokens of one example
POOL = 16  # batches whose examples are sorted by length together: little padding, much chance


@dataclass(frozen=True, slots=True)
class Encoded:
    tokens: list[int]
    read: int  # so many from the start are not to be said


@dataclass(frozen=True, slots=True)
class Batch:
    tokens: Tensor
    labels: Tensor
    mask: Tensor


def laid_out(tokenizer: Any, turns: Sequence[Turn], begun: str = "") -> str:
    """A dialogue up to where the model speaks, in its own form."""
    messages = [{"role": turn.role, "content": turn.text} for turn in turns]
    text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return text + begun


def encode(tokenizer: Any, example: Example) -> Encoded:
    before = _tokens(tokenizer, laid_out(tokenizer, example.turns))
    said = _tokens(tokenizer, example.answer) + [tokenizer.eos_token_id]
    before = before[-(LONGEST - len(said)) :]
    return Encoded(before + said, len(before))


def _tokens(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return found


def batches(encoded: Sequence[Encoded], size: int, pad: int, seed: int) -> Iterator[Batch]:
    """All examples once, in an order of chance, those of a batch about equally long."""
    rng = random.Random(seed)
    order = rng.sample(range(len(encoded)), len(encoded))
    groups = []
    for at in range(0, len(order), size * POOL):
        pool = sorted(order[at : at + size * POOL], key=lambda i: len(encoded[i].tokens))
        groups += [pool[i : i + size] for i in range(0, len(pool), size)]
    rng.shuffle(groups)
    for group in groups:
        yield padded([encoded[i] for i in group], pad)


def padded(rows: Sequence[Encoded], pad: int) -> Batch:
    width = max(len(row.tokens) for row in rows)
    tokens = torch.full((len(rows), width), pad)
    labels = torch.full((len(rows), width), UNSAID)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for at, row in enumerate(rows):
        length = len(row.tokens)
        tokens[at, :length] = torch.tensor(row.tokens)
        labels[at, row.read : length] = torch.tensor(row.tokens[row.read :])
        mask[at, :length] = 1
    return Batch(tokens, labels, mask)
