"""The networks that are taught: the packaged GGUF, made whole numbers again, or any other."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedConfig

from models import weights

PACKAGED = "smollm2"  # the embedded profile's, of the weights table
PANGU = "PanguEmbedded"  # what openPangu-Embedded calls its architecture
OMNI = ("qwen2_5_omni", "qwen2_5_omni_thinker")  # whose thinker writes what its talker says


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
    about = {} if where else PreTrainedConfig.get_config_dict(str(place))[0]
    tokenizer = _tokenizer(place, about, where)
    network = _network(place, about, kind, where)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return Base(Path(name).name, network.to(device), tokenizer)


def _tokenizer(place: Path | str, about: dict[str, Any], where: dict[str, Any]) -> Any:
    if about.get("model_type") == PANGU:  # names code of its own, which is not run
        from transformers import PreTrainedTokenizerFast

        return PreTrainedTokenizerFast.from_pretrained(place)
    return AutoTokenizer.from_pretrained(place, trust_remote_code=False, **where)


def _network(
    place: Path | str, about: dict[str, Any], kind: torch.dtype, where: dict[str, Any]
) -> Any:
    """By what the folder says it is; no code that came with it is run."""
    architecture = about.get("model_type")
    if architecture == PANGU:  # a Llama whose attention has biases
        from transformers import LlamaConfig, LlamaForCausalLM

        foreign = ("architectures", "auto_map", "model_type", "bias")
        fields = {name: value for name, value in about.items() if name not in foreign}
        config = LlamaConfig(**fields, attention_bias=bool(about.get("bias", True)))
        return LlamaForCausalLM.from_pretrained(place, config=config, dtype=kind)
    if architecture in OMNI:
        from transformers import Qwen2_5OmniThinkerForConditionalGeneration as Thinker

        return Thinker.from_pretrained(place, dtype=kind)
    return AutoModelForCausalLM.from_pretrained(place, dtype=kind, trust_remote_code=False, **where)
