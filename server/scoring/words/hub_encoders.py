"""Encoders of one's own, from a local folder in the model hub's form. Nothing is fetched."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from server.scoring.score import Unavailable
from server.scoring.words.encoders import Pieces, Rows, Vector, fingerprint
from server.scoring.words.recipe import Pooling, Recipe

# By kind of network and number of layers: the one that bert_score found to agree best with people.
LAYERS = {
    ("bert", 12): 9, ("bert", 24): 18, ("roberta", 12): 10, ("roberta", 24): 17,
    ("distilbert", 6): 5,
}  # fmt: skip
_SPACE_BEFORE = ("roberta", "gpt2")  # they know a word's beginning by the space before it


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: Any
    network: Any
    longest: int | None  # pieces of words

    @property
    def kind(self) -> str:
        return str(self.network.config.model_type)

    def ids(self, text: str) -> list[int]:
        cut = {"truncation": True, "max_length": self.longest} if self.longest else {}
        return cast(list[int], self.tokenizer(text, **cut)["input_ids"])

    def states(self, ids: list[int], layer: int) -> Rows:
        """What a layer makes of them; 0 is before the first, -1 the last."""
        import torch

        shown = torch.tensor([ids], device=self.network.device)
        with torch.inference_mode():
            made = self.network(
                input_ids=shown, attention_mask=torch.ones_like(shown), output_hidden_states=True
            )
        # The last state has been through a network's closing norm, where it has one.
        rows = made.last_hidden_state if layer == -1 else made.hidden_states[layer]
        return cast(Rows, rows[0].float().cpu().numpy())


class HubSentences:
    """A sentence encoder: as sentence-transformers would run it, the vector of unit length."""

    def __init__(self, folder: Path | None, option: str, device: str = "cpu") -> None:
        folder = _there(folder, option)
        self._recipe = Recipe.read(folder, option)
        self._loaded = _load(folder / self._recipe.network, option, device, self._recipe.longest)
        self.key = f"{fingerprint(folder)} {device}"

    def vector(self, text: str) -> Vector:
        text = self._recipe.prompt + text
        ids = self._loaded.ids(text.lower() if self._recipe.lower_case else text)
        vector = _pooled(self._loaded.states(ids, -1), self._recipe.pooling)
        return cast(Vector, vector / max(float(np.linalg.norm(vector)), 1e-12))


@cache
def sentences(folder: Path | None, option: str, device: str) -> HubSentences:
    """One for all instruments of this process: such networks are large."""
    return HubSentences(folder, option, device)


class HubPieces:
    """A network of BERT's kind up to the layer that BERTScore looks at."""

    def __init__(
        self, folder: Path | None, option: str, layer: int | None = None, device: str = "cpu"
    ) -> None:
        folder = _there(folder, option)
        self._loaded = _load(folder, option, device, None)
        deep = int(self._loaded.network.config.num_hidden_layers)
        found = LAYERS.get((self._loaded.kind, deep)) if layer is None else layer
        if found is None:
            raise Unavailable(f"which layer to use is not known: give {option}_layer")
        if not 0 <= found <= deep:
            raise Unavailable(f"{option}_layer is {found}, but there are {deep} layers")
        self.layer = found
        self.key = f"{fingerprint(folder)} layer {found} {device}"
        marks = (self._loaded.tokenizer.cls_token_id, self._loaded.tokenizer.sep_token_id)
        self._marks = [mark for mark in marks if mark is not None]

    def pieces(self, text: str) -> Pieces:
        text = text.strip()
        ids = self._loaded.ids(f" {text}" if self._loaded.kind in _SPACE_BEFORE else text)
        return Pieces(self._loaded.states(ids, self.layer), ~np.isin(ids, self._marks))


def _there(folder: Path | None, option: str) -> Path:
    if folder is None:
        raise Unavailable(f"no encoder is configured: {option}")
    if not folder.is_dir():
        raise Unavailable(f"the folder given as {option} is not there")
    return folder


def _load(folder: Path, option: str, device: str, longest: int | None) -> _Loaded:
    try:
        import torch
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise Unavailable(
            f"the encoder of {option} needs torch and transformers: pip install -e '.[score]'"
        ) from error
    if device == "cuda" and not torch.cuda.is_available():
        raise Unavailable("there is no GPU here: say --device cpu")
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        network, told = AutoModel.from_pretrained(
            folder, local_files_only=True, dtype=torch.float32, output_loading_info=True
        )
    except Exception as error:  # whatever is wrong with somebody's files
        raise Unavailable(f"the folder given as {option} holds no encoder") from error
    # Weights that are missing would be made up at random. Nobody looks at the pooler.
    if lacking := [name for name in told["missing_keys"] if "pooler" not in name]:
        raise Unavailable(f"the encoder of {option} is not whole: {min(lacking)} is missing")
    network.to(device).eval()
    return _Loaded(tokenizer, network, _longest(tokenizer, network.config, longest))


def _longest(tokenizer: Any, config: Any, asked: int | None) -> int | None:
    places = getattr(config, "max_position_embeddings", None)
    if places and config.model_type == "roberta":
        places -= 2  # it counts from 2
    known = [asked, places, tokenizer.model_max_length]  # the last may be absurdly large
    return min((each for each in known if each and each < 1 << 24), default=None)


def _pooled(rows: Rows, pooling: Pooling) -> Vector:
    made = {
        "mean": lambda: rows.mean(axis=0),
        "max": lambda: rows.max(axis=0),
        "cls": lambda: rows[0],
        "lasttoken": lambda: rows[-1],
    }[pooling]()
    return cast(Vector, made)
