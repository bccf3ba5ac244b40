"""Adapters: low-rank changes to a network, put on, saved small, and put together.

`python -m models.tuning.adapters joined OUT ADAPTER ADAPTER` makes one of several.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file

from models.adapter_files import CONFIG, FILE, TRAINED, AdapterError, card, check, seal

RANK = 16
SENSES = r".*\.(?:audio_tower|visual)\..*"  # of a network that hears and sees


def put_on(network: Any, seed: int, rank: int = RANK) -> Any:
    """The network with a new adapter on every linear layer but the last, and but ears and eyes."""
    torch.manual_seed(seed)
    senses = any(re.fullmatch(SENSES, name) for name, _ in network.named_modules())
    config = LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        target_modules="all-linear",
        exclude_modules=SENSES if senses else None,
        task_type="CAUSAL_LM",
    )
    return get_peft_model(network, config)


def save(adapted: Any, folder: Path, base: str) -> None:
    """In half precision, under the base's name, with a hash beside it."""
    config = adapted.peft_config["default"]
    config.base_model_name_or_path = base
    config.target_modules = sorted(config.target_modules)  # a set: each run would order it anew
    adapted.save_pretrained(folder, save_embedding_layers=False)  # else it asks the model hub
    (folder / "README.md").unlink(missing_ok=True)  # peft's own template of a model card
    tensors = {
        name: tensor.half().contiguous() for name, tensor in load_file(folder / FILE).items()
    }
    save_file(tensors, folder / FILE, metadata={"format": "pt"})
    seal(folder)


def worn(network: Any, folder: Path, *, trainable: bool = False) -> Any:
    """The network with a saved adapter on it."""
    check(folder)
    return PeftModel.from_pretrained(network, str(folder), is_trainable=trainable)


def merged(network: Any, folders: Sequence[Path]) -> Any:
    """The network with the adapters' changes in its own weights, one after the other."""
    for folder in folders:
        network = worn(network, folder).merge_and_unload()
    return network


def joined(folders: Sequence[Path], out: Path) -> None:
    """One adapter that does what several in a row do, for servers that put on one at a time.

    Changes add up, so their factors stand side by side, each with its scale in the second.
    """
    for folder in folders:
        check(folder)
    parts = [load_file(folder / FILE) for folder in folders]
    configs = [json.loads((folder / CONFIG).read_text("utf-8")) for folder in folders]
    tensors: dict[str, Any] = {}
    for name in parts[0]:
        if name.endswith("lora_A.weight"):
            tensors[name] = torch.cat([part[name] for part in parts], dim=0)
        else:
            scaled = [part[name] * scale(c) for part, c in zip(parts, configs, strict=True)]
            tensors[name] = torch.cat(scaled, dim=1)
    rank = sum(int(config["r"]) for config in configs)
    out.mkdir(parents=True, exist_ok=True)
    save_file(tensors, out / FILE, metadata={"format": "pt"})
    config = {**configs[0], "r": rank, "lora_alpha": rank}
    (out / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    learned = {"joined": [card(folder) for folder in folders]}  # whose licences it bears
    (out / TRAINED).write_text(json.dumps(learned, indent=2) + "\n", encoding="utf-8")
    seal(out)


def scale(config: Mapping[str, Any]) -> float:
    return float(config["lora_alpha"]) / float(config["r"])


app = typer.Typer(add_completion=False)


@app.callback()
def main() -> None:
    """What can be done with adapters that are there."""


@app.command(name="joined")
def join(
    out: Annotated[Path, typer.Argument(help="A new folder.")],
    folders: Annotated[list[Path], typer.Argument(help="Adapters, the first put on first.")],
) -> None:
    """Make one adapter of several, for servers that put on one at a time."""
    try:
        joined(folders, out)
    except (AdapterError, OSError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    rank = json.loads((out / CONFIG).read_text("utf-8"))["r"]
    typer.echo(f"{out} has rank {rank}: vLLM wants --max-lora-rank {rank} or more.")


if __name__ == "__main__":
    app()
