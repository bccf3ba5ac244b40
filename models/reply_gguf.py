"""The reply model that ships: the packaged GGUF with our adapters' changes in its weights.

Needs numpy and the gguf package alone, so that it is made wherever Attune runs. Llama's queries and
keys lie in a GGUF in another order of rows than in the network that was trained; the changes are
put into that order. Changed tensors are written with 8 bits: the steps of an adapter are finer than
those of 4, and rounding to these would take most of them back. The file says of itself what it is:
its own name, the licence it bears, its precision, and the base's name as that of its base.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gguf import (
    GGMLQuantizationType,
    GGUFReader,
    GGUFValueType,
    GGUFWriter,
    Keys,
    LlamaFileType,
    ReaderField,
)
from gguf.quants import dequantize, quantize
from numpy.typing import NDArray

from models.adapter_files import (
    CONFIG,
    FILE,
    SHARE_ALIKE,
    AdapterError,
    bears_share_alike,
    card,
)

Floats = NDArray[np.float32]
PRECISION, FILE_TYPE = GGMLQuantizationType.Q8_0, LlamaFileType.MOSTLY_Q8_0
# What a base says of itself, and how it is said of a base.
OF_BASE: Mapping[str, str] = {
    Keys.General.NAME: Keys.General.BASE_MODEL_NAME.format(id=0),
    Keys.General.ORGANIZATION: Keys.General.BASE_MODEL_ORGANIZATION.format(id=0),
}
# Which tensor of a GGUF is which layer of the network.
LAYERS: Mapping[str, str] = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
Report = Callable[[int, int], None]  # bytes of the base read so far, and in all


def merge(
    base: Path, adapters: Sequence[Path], out: Path, report: Report = lambda *_: None
) -> None:
    """Write the base with all adapters' changes, under `out`'s name; whole, or not at all."""
    reader = GGUFReader(base)
    changes = [Change.read(folder) for folder in adapters]
    architecture = str(reader.fields["general.architecture"].contents())
    heads = {
        "attn_q": int(reader.fields[f"{architecture}.attention.head_count"].contents()),
        "attn_k": int(reader.fields[f"{architecture}.attention.head_count_kv"].contents()),
    }
    partial = out.with_name(out.name + ".partial")
    writer = GGUFWriter(partial, architecture)
    written: Counter[GGMLQuantizationType] = Counter()  # matrices alone: the rest stays as it is
    done, total = 0, sum(tensor.data.nbytes for tensor in reader.tensors)
    for tensor in reader.tensors:
        layer = network_name(tensor.name)
        found = [change.delta(layer) for change in changes if layer and layer in change]
        if found:
            kind = tensor.name.split(".")[-2]
            whole = dequantize(tensor.data, tensor.tensor_type)
            for delta in found:
                whole = whole + (reordered(delta, heads[kind]) if kind in heads else delta)
            data, precision = quantize(whole.astype(np.float32), PRECISION), PRECISION
        else:
            data, precision = tensor.data, tensor.tensor_type
        writer.add_tensor(tensor.name, data, raw_dtype=precision)
        written[precision] += len(tensor.shape) > 1
        done += tensor.data.nbytes
        report(done, total)
    own: dict[str, Any] = {Keys.General.NAME: out.stem}
    if any(bears_share_alike(card(folder)) for folder in adapters):
        own[Keys.General.LICENSE] = SHARE_ALIKE
    if max(written, key=lambda each: written[each]) is PRECISION:  # as llama.cpp finds the type
        own[Keys.General.FILE_TYPE] = FILE_TYPE
    _write_fields(reader, writer, own)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(partial, out)


def network_name(tensor: str) -> str | None:
    """The layer a tensor is, as an adapter names it; None if adapters do not change it."""
    parts = tensor.split(".")
    if len(parts) != 4 or parts[0] != "blk" or parts[2] not in LAYERS:
        return None
    return f"model.layers.{parts[1]}.{LAYERS[parts[2]]}"


def reordered(delta: Floats, heads: int) -> Floats:
    """Rows as llama.cpp turns pairs of them: neighbours rather than halves of a head."""
    rows, columns = delta.shape
    halves = delta.reshape(heads, 2, rows // heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns)


class Change:
    """What an adapter adds to each layer."""

    def __init__(self, tensors: Mapping[str, Floats], scale: float) -> None:
        self._tensors = tensors
        self._scale = scale

    @classmethod
    def read(cls, folder: Path) -> "Change":
        config = json.loads((folder / CONFIG).read_text("utf-8"))
        tensors = dict(_safetensors(folder / FILE))
        return cls(tensors, config["lora_alpha"] / config["r"])

    def __contains__(self, layer: str) -> bool:
        return f"base_model.model.{layer}.lora_A.weight" in self._tensors

    def delta(self, layer: str) -> Floats:
        """Sums of so few half-precision products are exact in double, in whatever order a machine
        adds them up: the file that is made is the same everywhere, and so is its hash."""
        down = self._tensors[f"base_model.model.{layer}.lora_A.weight"].astype(np.float64)
        up = self._tensors[f"base_model.model.{layer}.lora_B.weight"].astype(np.float64)
        return ((up @ down) * self._scale).astype(np.float32)


def _safetensors(file: Path) -> Iterator[tuple[str, Floats]]:
    """The tensors of a file: its length of header, a header in JSON, and the numbers."""
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    for name, row in header.items():
        start, end = (8 + length + at for at in row["data_offsets"])
        if row["dtype"] != "F16":  # of which sums are exact; training saves no other
            raise AdapterError(f"{file} holds {row['dtype']} instead of half precision.")
        flat = np.frombuffer(data[start:end], dtype=np.float16)
        yield name, flat.reshape(row["shape"]).astype(np.float32)


def _write_fields(reader: GGUFReader, writer: GGUFWriter, own: Mapping[str, Any]) -> None:
    """What the merged file says of itself, and all else as the base says it."""
    writer.add_base_model_count(1)
    for name, value in own.items():
        kind = GGUFValueType.STRING if isinstance(value, str) else GGUFValueType.UINT32
        writer.add_key_value(name, value, kind)
    for field in reader.fields.values():
        name = OF_BASE.get(field.name, field.name)
        if field.name.startswith(("GGUF.", "general.base_model.")) or name in own:
            continue  # the writer's own, what the base was made from, or what is said above
        if name != Keys.General.ARCHITECTURE:  # which the writer has said already
            kind, inner = _kinds(field)
            writer.add_key_value(name, field.contents(), kind, sub_type=inner)


def _kinds(field: ReaderField) -> tuple[GGUFValueType, GGUFValueType | None]:
    kind = field.types[0]
    return kind, field.types[-1] if kind is GGUFValueType.ARRAY else None
