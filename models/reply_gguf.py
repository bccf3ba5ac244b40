"""The reply model that ships: the packaged GGUF with our adapters' changes in its weights.

Needs numpy and the gguf package alone, so that it is made wherever Attune runs. Llama's queries and
keys lie in a GGUF in another order of rows than in the network that was trained; the changes are
put into that order. Changed tensors are written with 8 bits: the steps of an adapter are finer than
those of 4, and rounding to these would take most of them back.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, ReaderField
from gguf.quants import dequantize, quantize
from numpy.typing import NDArray

from models.adapter_files import CONFIG, FILE, AdapterError

Floats = NDArray[np.float32]
PRECISION = GGMLQuantizationType.Q8_0
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
    """Write the base with all adapters' changes; whole, or not at all."""
    reader = GGUFReader(base)
    changes = [Change.read(folder) for folder in adapters]
    architecture = str(reader.fields["general.architecture"].contents())
    heads = {
        "attn_q": int(reader.fields[f"{architecture}.attention.head_count"].contents()),
        "attn_k": int(reader.fields[f"{architecture}.attention.head_count_kv"].contents()),
    }
    partial = out.with_name(out.name + ".partial")
    writer = GGUFWriter(partial, architecture)
    _copy_fields(reader, writer)
    done, total = 0, sum(tensor.data.nbytes for tensor in reader.tensors)
    for tensor in reader.tensors:
        layer = network_name(tensor.name)
        found = [change.delta(layer) for change in changes if layer and layer in change]
        if found:
            kind = tensor.name.split(".")[-2]
            whole = dequantize(tensor.data, tensor.tensor_type)
            for delta in found:
                whole = whole + (reordered(delta, heads[kind]) if kind in heads else delta)
            data = quantize(whole.astype(np.float32), PRECISION)
            writer.add_tensor(tensor.name, data, raw_dtype=PRECISION)
        else:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        done += tensor.data.nbytes
        report(done, total)
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


def _copy_fields(reader: GGUFReader, writer: GGUFWriter) -> None:
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue  # the writer's own
        kind, inner = _kinds(field)
        writer.add_key_value(field.name, field.contents(), kind, sub_type=inner)


def _kinds(field: ReaderField) -> tuple[GGUFValueType, GGUFValueType | None]:
    kind = field.types[0]
    return kind, field.types[-1] if kind is GGUFValueType.ARRAY else None
