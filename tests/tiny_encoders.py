"""Encoders of a few kilobytes in the model hub's form, the same wherever they are built."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TEXT = (
    "i you we they he she it the a an is are was were do did not so really very sad happy sorry "
    "glad test results today hear that sounds great down about here for want to talk oh no yes "
    "how feel what went wrong well done tell me more ##s ##ing ##ed . , ! ? '"
)
WORDS = TEXT.split()
MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def bert(folder: Path, layers: int = 4, lacking: Sequence[str] = ()) -> Path:
    """A BERT; `lacking` are beginnings of the names of weights that are left out."""
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=len(MARKS) + len(WORDS),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=32,
        pad_token_id=0,
    )
    return _saved(folder, BertModel(config), _pieces(), lacking)


def qwen(folder: Path) -> Path:
    """Of the kind of Qwen3-Embedding: a decoder that closes a text with a mark of its own."""
    from transformers import Qwen3Config, Qwen3Model

    config = Qwen3Config(
        vocab_size=len(MARKS) + len(WORDS),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=64,
    )
    _saved(folder, Qwen3Model(config), _pieces(begins=False), ())
    return sentence_form(folder, pooling_mode_lasttoken=True)


def sentence_form(
    folder: Path, longest: int = 24, prompt: str | None = None, **pooling: bool
) -> Path:
    """With the files by which sentence-transformers knows how to use a network."""
    kinds = ("Transformer", "Pooling", "Normalize")
    parts = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (kind, path) in enumerate(zip(kinds, ("", "1_Pooling", "2_Normalize"), strict=True))
    ]
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "lasttoken")
    told = {f"pooling_mode_{mode}": False for mode in modes} | pooling
    _write(folder / "modules.json", parts)
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 16, **told})
    _write(folder / "sentence_bert_config.json", {"max_seq_length": longest})
    prompts = {"given": prompt} if prompt else {}
    named = {"prompts": prompts, "default_prompt_name": "given" if prompt else None}
    _write(folder / "config_sentence_transformers.json", named)
    return folder


def _saved(folder: Path, network: Any, tokenizer: Any, lacking: Sequence[str]) -> Path:
    import torch

    with torch.no_grad():
        for at, (name, weight) in enumerate(sorted(network.named_parameters())):
            around = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
            wide = 3.0 if "embed" in name and weight.dim() == 2 else 1.0
            weight.copy_((around + wide * _scattered(weight.numel(), at)).reshape(weight.shape))
    kept = {
        name: weight
        for name, weight in network.state_dict().items()
        if not name.startswith(tuple(lacking) or "-")
    }
    network.save_pretrained(folder, state_dict=kept)
    tokenizer.save_pretrained(folder)
    return folder


def _scattered(count: int, seed: int) -> Any:
    """Numbers from -0.5 to 0.5 by whole-number arithmetic alone: the same on any machine."""
    import torch

    mixed = (torch.arange(count, dtype=torch.int64) * 1_000_003 + seed * 7_919 + 1) % 2**31
    for _ in range(2):
        mixed = ((mixed ^ (mixed >> 15)) * 1_597_334_677) % 2**31
    return (mixed.double() / 2**31 - 0.5).float()


def _pieces(begins: bool = True) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: at for at, word in enumerate((*MARKS, *WORDS))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]" if begins else "$A [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {"cls_token": "[CLS]"} if begins else {}
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="[PAD]",
        unk_token="[UNK]",
        sep_token="[SEP]",
        model_max_length=32,
        **names,
    )


def _write(path: Path, told: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(told))
