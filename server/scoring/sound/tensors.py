"""Networks run straight from their published tensors: the names in a checkpoint are the network."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from models.digest import sha256
from server.scoring.score import Unavailable

Tensor = Any  # torch's; it is imported only where it is needed


def torch_for(what: str) -> ModuleType:
    """torch, or Unavailable with what to install."""
    try:
        import torch
    except ModuleNotFoundError:
        raise Unavailable(f"{what} needs torch: pip install -e '.[score]'") from None
    found: ModuleType = torch
    return found


def load(path: Path, what: str) -> Any:
    """What a checkpoint holds. Only tensors and plain values are read: no code of it is run."""
    torch = torch_for(what)
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise Unavailable(f"{what} is not at {path}") from None
    except Exception as error:  # pickle's, zip's and torch's own have no common base
        raise Unavailable(f"{path.name} cannot be read as {what}'s checkpoint") from error


def digest(path: Path) -> str:
    """Tells one file of weights from another."""
    return sha256(path)[:16]


@dataclass(frozen=True, slots=True)
class Tensors:
    """A checkpoint's tensors, or those of one part of it; layers by name, without dropout."""

    state: Mapping[str, Tensor]
    prefix: str = ""

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: str) -> "Tensors":
        return cls({name: tensor.to(device) for name, tensor in state.items()})

    def part(self, name: str) -> "Tensors":
        return Tensors(self.state, f"{self.prefix}{name}.")

    def __getitem__(self, name: str) -> Tensor:
        return self.state[self.prefix + name]

    def __contains__(self, name: str) -> bool:
        """Whether there is a tensor or a part of that name."""
        whole = self.prefix + name
        return whole in self.state or any(each.startswith(f"{whole}.") for each in self.state)

    def numbered(self, name: str) -> Iterator["Tensors"]:
        """The parts name.0, name.1 and so on."""
        at = 0
        while (each := f"{name}.{at}") in self:
            yield self.part(each)
            at += 1

    def linear(self, name: str, x: Tensor) -> Tensor:
        from torch.nn.functional import linear

        return linear(x, self[f"{name}.weight"], self[f"{name}.bias"])

    def norm(self, name: str, x: Tensor) -> Tensor:
        """Layer normalisation."""
        from torch.nn.functional import layer_norm

        weight = self[f"{name}.weight"]
        return layer_norm(x, weight.shape, weight, self[f"{name}.bias"])

    def batch_norm(self, name: str, x: Tensor) -> Tensor:
        """With the statistics that were learned; channels are the second dimension."""
        from torch.nn.functional import batch_norm

        here = self.part(name)
        return batch_norm(
            x, here["running_mean"], here["running_var"], here["weight"], here["bias"]
        )

    def attention(self, name: str, x: Tensor, heads: int) -> Tensor:
        """Self-attention over batch × time × features; the three inputs joined or apart."""
        import torch
        from torch.nn.functional import linear, scaled_dot_product_attention

        here = self.part(name)
        if "in_proj_weight" in here:
            joined = linear(x, here["in_proj_weight"], here["in_proj_bias"])
            parts = joined.chunk(3, dim=-1)
        else:
            parts = tuple(here.linear(f"{side}_proj", x) for side in "qkv")
        batch, time, size = x.shape
        query, key, value = (
            part.view(batch, time, heads, size // heads).transpose(1, 2) for part in parts
        )
        mixed = scaled_dot_product_attention(query, key, value)
        return here.linear("out_proj", torch.flatten(mixed.transpose(1, 2), 2))

    def pooled(self, x: Tensor) -> Tensor:
        """NISQA's attention pooling: a small network says how much each moment counts."""
        import torch

        shares = torch.softmax(self.linear("linear2", torch.relu(self.linear("linear1", x))), dim=1)
        return self.linear("linear3", (shares * x).sum(dim=1))
