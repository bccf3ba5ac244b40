"""Examples as tokens: what is read, and what of it is to be said.

Examples that begin alike, as one script said in three ways does, are read together: their beginning
once, and each one's own rest behind it, unseen by the others. That saves a third of all work. An
answer that would be wrong there stands behind the right one, unseen by it, too.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
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
    wrong: list[int] = field(default_factory=list)  # an answer that fits less; none if empty


@dataclass(frozen=True, slots=True)
class Fork:
    """Examples that share their first tokens."""

    shared: list[int]
    rests: list[Encoded]  # each with at least one token to be read

    def __len__(self) -> int:
        return len(self.shared) + sum(
            len(rest.tokens) + (len(rest.wrong) + 1 if rest.wrong else 0) for rest in self.rests
        )


@dataclass(frozen=True, slots=True)
class Batch:
    tokens: Tensor
    labels: Tensor
    places: Tensor  # of each token in its own example
    owners: Tensor  # which answer a token is part of: numbers from 0
    seen: Tensor  # which token may look at which: 0, or minus infinity where it may not
    rivals: Tensor  # pairs of answers: a right one, and the wrong one to the same


def laid_out(tokenizer: Any, turns: Sequence[Turn], begun: str = "") -> str:
    """A dialogue up to where the model speaks, in its own form."""
    messages = [{"role": turn.role, "content": turn.text} for turn in turns]
    text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return text + begun


def encode(tokenizer: Any, example: Example) -> Encoded:
    before = _tokens(tokenizer, laid_out(tokenizer, example.turns, example.begun))
    said = _tokens(tokenizer, example.answer) + [tokenizer.eos_token_id]
    before = before[-(LONGEST - len(said)) :]
    wrong = _tokens(tokenizer, example.wrong) + [tokenizer.eos_token_id] if example.wrong else []
    return Encoded(before + said, len(before), wrong)


def forked(tokenizer: Any, examples: Sequence[Example]) -> list[Fork]:
    """The examples as tokens, those of one script together where they follow one another."""
    return [
        fork([encode(tokenizer, each) for each in group])
        for _, group in groupby(examples, key=lambda each: each.script)
    ]


def fork(rows: Sequence[Encoded]) -> Fork:
    """What is said first must follow something of its own: so much of the reading is not shared."""
    most = min(row.read for row in rows) - 1
    alike = takewhile(
        lambda column: len(set(column)) == 1, zip(*(r.tokens for r in rows), strict=False)
    )
    shared = min(most, sum(1 for _ in alike)) if len(rows) > 1 else 0
    rests = [Encoded(row.tokens[shared:], row.read - shared, row.wrong) for row in rows]
    return Fork(rows[0].tokens[:shared], rests)


def _tokens(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return found


def batches(forks: Sequence[Fork], size: int, pad: int, seed: int) -> Iterator[Batch]:
    """All forks once, in an order of chance, those of a batch about equally long.

    Args:
        forks: what there is to learn.
        size: examples in a batch, about.
        pad: the token that fills up.
        seed: the same one gives the same order.
    """
    each = max(1, round(size / (sum(len(fork.rests) for fork in forks) / max(1, len(forks)))))
    rng = random.Random(seed)
    order = rng.sample(range(len(forks)), len(forks))
    groups = []
    for at in range(0, len(order), each * POOL):
        pool = sorted(order[at : at + each * POOL], key=lambda i: len(forks[i]))
        groups += [pool[i : i + each] for i in range(0, len(pool), each)]
    rng.shuffle(groups)
    for group in groups:
        yield padded([forks[i] for i in group], pad)


def padded(forks: Sequence[Fork], pad: int) -> Batch:
    width = max(map(len, forks))
    tokens = torch.full((len(forks), width), pad)
    labels = torch.full((len(forks), width), UNSAID)
    places = torch.zeros((len(forks), width), dtype=torch.long)
    owners = torch.zeros((len(forks), width), dtype=torch.long)
    number, rivals = 0, []
    seen = torch.zeros((len(forks), 1, width, width), dtype=torch.bool)
    seen[:, 0].diagonal(dim1=1, dim2=2).fill_(True)  # what fills up sees itself, or sums to nothing
    for row, fork in enumerate(forks):
        start = len(fork.shared)
        tokens[row, :start] = torch.tensor(fork.shared, dtype=torch.long)
        places[row, :start] = torch.arange(start)
        seen[row, 0, :start, :start] = _before(start)
        at = start
        for rest in fork.rests:
            end = at + len(rest.tokens)
            tokens[row, at:end] = torch.tensor(rest.tokens)
            labels[row, at + rest.read : end] = torch.tensor(rest.tokens[rest.read :])
            places[row, at:end] = torch.arange(start, start + end - at)
            owners[row, at:end] = number
            number += 1
            seen[row, 0, at:end, :start] = True
            seen[row, 0, at:end, at:end] = _before(end - at)
            if rest.wrong:  # behind the last token read once more, for it follows that one
                last = at + rest.read - 1
                stop = end + 1 + len(rest.wrong)
                tokens[row, end:stop] = torch.tensor([rest.tokens[rest.read - 1], *rest.wrong])
                labels[row, end + 1 : stop] = tokens[row, end + 1 : stop]
                first = start + rest.read - 1
                places[row, end:stop] = torch.arange(first, first + stop - end)
                owners[row, end:stop] = number
                rivals.append((number - 1, number))
                number += 1
                seen[row, 0, end:stop, :start] = True
                seen[row, 0, end:stop, at:last] = True
                seen[row, 0, end:stop, end:stop] = _before(stop - end)
                end = stop
            at = end
    paired = torch.tensor(rivals, dtype=torch.long).reshape(-1, 2)
    return Batch(tokens, labels, places, owners, _weights(seen), paired)


def _before(length: int) -> Tensor:
    return torch.ones((length, length), dtype=torch.bool).tril()


def _weights(seen: Tensor) -> Tensor:
    return torch.zeros(seen.shape).masked_fill_(~seen, torch.finfo(torch.float32).min)
