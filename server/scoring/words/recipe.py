"""How a folder of sentence-transformers wants its network to be used."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from server.scoring.score import Unavailable

Pooling = Literal["mean", "max", "cls", "lasttoken"]

_PARTS = ("Transformer", "Pooling", "Normalize")


@dataclass(frozen=True, slots=True)
class Recipe:
    """Of a plain network, too: its vectors' mean, as sentence-transformers takes it."""

    network: str = ""  # folder inside the folder
    pooling: Pooling = "mean"
    longest: int | None = None
    prompt: str = ""  # before every text
    lower_case: bool = False

    @classmethod
    def read(cls, folder: Path, option: str) -> "Recipe":
        """Unavailable where it says something that is not known here: a guess would be wrong."""
        try:
            parts = _json(folder / "modules.json")
            if not parts:
                return cls()
            named = {str(part["type"]).rpartition(".")[2]: str(part["path"]) for part in parts}
            if unknown := [name for name in named if name not in _PARTS]:
                raise Unavailable(f"the encoder of {option} has an unknown part: {unknown[0]}")
            network = named["Transformer"]
            shape = _json(folder / network / "sentence_bert_config.json")
            pools = _json(folder / named["Pooling"] / "config.json")
            return cls(
                network,
                _pooling(pools, option),
                shape.get("max_seq_length"),
                _prompt(_json(folder / "config_sentence_transformers.json"), pools, option),
                bool(shape.get("do_lower_case")),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unavailable(f"the folder given as {option} has files that do not fit") from error


def _pooling(told: Any, option: str) -> Pooling:
    mode = told.get("pooling_mode")
    modes = [mode] if isinstance(mode, str) else mode
    if modes is None:
        names = {
            "pooling_mode_mean_tokens": "mean", "pooling_mode_max_tokens": "max",
            "pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "lasttoken",
        }  # fmt: skip
        modes = [names.get(name, name) for name, on in told.items() if on is True]
        modes = [mode for mode in modes if mode != "include_prompt"]
    if len(modes) != 1 or modes[0] not in get_args(Pooling):
        raise Unavailable(f"the encoder of {option} pools in a way that is not known here")
    return cast(Pooling, modes[0])


def _prompt(told: Any, pools: Any, option: str) -> str:
    name = told.get("default_prompt_name")
    prompt = str(told["prompts"][name]) if name else ""
    if prompt and pools.get("include_prompt") is False:
        raise Unavailable(f"the encoder of {option} leaves its prompt out of the mean")
    return prompt


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}
