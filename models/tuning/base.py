"""The networks that are taught: the packaged GGUF, made whole numbers again, or any other."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from models import weights

PACKAGED = "smollm2"  # the embedded profile's, of the weights table


@dataclass(frozen=True, slots=True)
class Base:
    """A network with its tokenizer, and the name adapters remember it by."""

    name: str
    network: Any
    tokenizer: Any


def load(name: str, device: str = "cpu") -> Base:
    """The network of a name: the packaged one, a GGUF file, a folder, or one of the model hub.

    On a GPU it is loaded in bfloat16; a CPU of today computes in float32 as fast.
    """
    kind = torch.float32 if device == "cpu" else torch.bfloat16
    where: dict[str, Any] = {}
    place: Path | str = name
    if name == PACKAGED or name.endswith(".gguf"):
        file = weights.path(PACKAGED) if name == PACKAGED else Path(name)
        place, where = file.parent, {"gguf_file": file.name}
    tokenizer = AutoTokenizer.from_pretrained(place, **where)
    network = AutoModelForCausalLM.from_pretrained(place, dtype=kind, **where)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return Base(Path(name).name, network.to(device), tokenizer)
