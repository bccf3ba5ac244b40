"""Likelihood in torch, where the network can be looked into; what is read is read once."""

from collections.abc import Sequence
from copy import deepcopy
from os.path import commonprefix
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import log_softmax
from transformers import DynamicCache

from models.tuning import adapters
from models.tuning.base import Base, load
from models.tuning.encoded import LONGEST, encode, laid_out
from models.tuning.examples import Example
from models.types import Turn


class TorchWeigher:
    """A Weigher of a network as it was trained, adapters merged."""

    def __init__(self, base: Base) -> None:
        self._network = base.network.eval()
        self._tokenizer = base.tokenizer
        self._read: list[int] = []
        self._memory: Any = DynamicCache(config=base.network.config)  # of what was read

    @classmethod
    def of(cls, name: str, folders: Sequence[Path], device: str = "cpu") -> "TorchWeigher":
        base = load(name, device)
        return cls(Base(base.name, adapters.merged(base.network, folders), base.tokenizer))

    def answers(self, turns: Sequence[Turn], answers: Sequence[str]) -> list[float]:
        encoded = [encode(self._tokenizer, Example(tuple(turns), each)) for each in answers]
        read = min(each.read for each in encoded)  # a long dialogue is cut alike for all
        before = encoded[0].tokens[encoded[0].read - read : encoded[0].read]
        said = self._said(before, [each.tokens[each.read :] for each in encoded])
        return [sum(values) / len(values) for values in said]

    def endings(self, turns: Sequence[Turn], begun: str, endings: Sequence[str]) -> list[float]:
        tails = [self._tokens(ending) for ending in endings]
        before = self._tokens(laid_out(self._tokenizer, turns, begun))
        return [sum(values) for values in self._said(before[-LONGEST:], tails)]

    def _tokens(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    def _said(self, before: Sequence[int], tails: Sequence[Sequence[int]]) -> list[list[float]]:
        """The log-probability of every token of each tail after the same beginning."""
        with torch.inference_mode():
            device = next(self._network.parameters()).device
            # All but the last token are remembered: the last one's outcome differs by row anyway.
            memory = self._remembered(before[:-1], device)
            memory.batch_repeat_interleave(len(tails))
            width = max(map(len, tails))
            rows = [[before[-1], *tail[:-1]] for tail in tails]
            shown = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=device)
            # Padding stands behind what is asked for, where nothing looks at it.
            logits = self._network(
                input_ids=shown, past_key_values=memory, use_cache=True
            ).logits.float()
            chances = log_softmax(logits, dim=-1)
            return [
                [float(chances[row, at, token]) for at, token in enumerate(tail)]
                for row, tail in enumerate(tails)
            ]

    def _remembered(self, tokens: Sequence[int], device: torch.device) -> Any:
        """What is remembered of tokens; where they begin as the last ones did, that is kept."""
        same = len(commonprefix([self._read, list(tokens)]))
        if same < len(self._read):
            self._memory.crop(same - len(self._read))
        if more := tokens[same:]:
            self._network(
                input_ids=torch.tensor([more], device=device),
                past_key_values=self._memory,
                use_cache=True,
                logits_to_keep=1,
            )
        self._read = list(tokens)
        return deepcopy(self._memory)
