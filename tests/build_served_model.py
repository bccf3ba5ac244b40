"""Builds the speech LM that vLLM serves in tests: SmolLM2 with ears. Runs in .venv-vllm.

A Qwen2-Audio container: SmolLM2's own weights as its language model, which therefore answers as
SmolLM2 does, and a tiny audio tower and projector of chance, which hear nothing that makes sense.
It proves the path, the latency and the batching of a speech LM, never its quality.

    python tests/build_served_model.py smollm2.gguf folder
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedConfig,
    Qwen2AudioConfig,
    Qwen2AudioEncoder,
    Qwen2AudioEncoderConfig,
    Qwen2AudioProcessor,
    Qwen2Config,
    WhisperFeatureExtractor,
)

AUDIO_TOKENS = ["<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"]
MEL_BINS = 80
TOWER = Qwen2AudioEncoderConfig(
    num_mel_bins=MEL_BINS,
    encoder_layers=2,
    encoder_attention_heads=2,
    encoder_ffn_dim=64,
    d_model=32,
)


def build(gguf: Path, folder: Path) -> None:
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer.add_special_tokens({"additional_special_tokens": AUDIO_TOKENS})
    llama = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name)
    config = Qwen2AudioConfig(
        text_config=_as_qwen2(llama.config, len(tokenizer)),
        audio_config=TOWER,
        audio_token_index=tokenizer.convert_tokens_to_ids(AUDIO_TOKENS[0]),
        architectures=["Qwen2AudioForConditionalGeneration"],
        dtype="float32",
    )
    weights = _language(llama.state_dict()) | _ears(llama.config.hidden_size)

    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    GenerationConfig(
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id
    ).save_pretrained(folder)
    Qwen2AudioProcessor(
        feature_extractor=WhisperFeatureExtractor(feature_size=MEL_BINS),
        tokenizer=tokenizer,
        chat_template=tokenizer.chat_template,
    ).save_pretrained(folder)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _as_qwen2(llama: PreTrainedConfig, vocabulary: int) -> Qwen2Config:
    """The same network by its other name: Qwen2 is Llama with biases on q, k and v."""
    same = (
        "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "max_position_embeddings", "rms_norm_eps", "rope_parameters",
        "bos_token_id", "eos_token_id", "pad_token_id",
    )  # fmt: skip
    shared = {name: getattr(llama, name) for name in same}
    return Qwen2Config(**shared, vocab_size=vocabulary, tie_word_embeddings=False)


def _language(llama: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    weights = {}
    for name, tensor in llama.items():
        if name in ("model.embed_tokens.weight", "lm_head.weight"):
            # The audio tokens mean nothing by themselves, and are never said.
            tensor = torch.cat([tensor, torch.zeros(len(AUDIO_TOKENS), tensor.shape[1])])
        weights[f"language_model.{name}"] = tensor.contiguous()
        if name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight")):
            bias = name.removesuffix("weight") + "bias"
            weights[f"language_model.{bias}"] = torch.zeros(tensor.shape[0])
    return weights


def _ears(hidden: int) -> dict[str, torch.Tensor]:
    tower = Qwen2AudioEncoder(TOWER).state_dict()
    projector = torch.nn.Linear(TOWER.d_model, hidden).state_dict()
    return {f"audio_tower.{name}": tensor for name, tensor in tower.items()} | {
        f"multi_modal_projector.linear.{name}": tensor for name, tensor in projector.items()
    }


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))
