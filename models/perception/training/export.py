"""The trained network as one small ONNX file that says what it is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import Tensor, nn

from models.perception.hearing import Card
from models.perception.training.network import HEADS, Network
from models.perception.windows import WINDOW, steps


class _Answering(nn.Module):
    """The network with only those answers it has learnt to give."""

    def __init__(self, network: Network, names: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self.network = network
        self.kept = [[HEADS[head].index(name) for name in names[head]] for head in HEADS]

    def forward(self, sound: Tensor, spans: Tensor) -> tuple[Tensor, ...]:
        answers = self.network(sound, spans)
        return tuple(answer[..., kept] for answer, kept in zip(answers, self.kept, strict=True))


def export(network: Network, card: Card, path: Path) -> None:
    """Write the network with its weights rounded, and its card inside."""
    batch, samples = torch.export.Dim("batch", max=64), torch.export.Dim("samples", max=1 << 19)
    spans, at = torch.export.Dim("spans", max=64), torch.export.Dim("steps", max=1 << 11)
    example = torch.zeros(2, WINDOW), torch.full((2, 3, steps(WINDOW)), 1 / steps(WINDOW))
    with TemporaryDirectory() as folder:
        plain = Path(folder, "plain.onnx")
        torch.onnx.export(
            _Answering(network, card.names).eval(),
            example,
            plain,
            input_names=["sound", "spans"],
            output_names=list(HEADS),
            dynamic_shapes={"sound": {0: batch, 1: samples}, "spans": {0: batch, 1: spans, 2: at}},
            external_data=False,
            verbose=False,
        )
        model = onnx.load(plain)
    del model.graph.value_info[:]
    _round(model.graph)
    entry = model.metadata_props.add()
    entry.key, entry.value = "attune", card.write()
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)


def _round(graph: onnx.GraphProto) -> None:
    """Store matrices in 8 bits with a scale for each column, and convolutions in 16 bits.

    They are widened once, on loading, and all sums are in floating point. Rounding the sums as well
    would be faster, but its scale depends on the whole batch: what one person is taken for would
    hang on who else speaks.
    """
    kinds = {
        name: node.op_type
        for node in graph.node
        for name in node.input
        if node.op_type in ("MatMul", "Gemm", "Conv")
    }
    widened: list[onnx.NodeProto] = []
    for tensor in list(graph.initializer):
        values = numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.ndim < 2 or values.size < 4096:
            continue
        if kinds.get(tensor.name) == "Conv":
            stored = {"half": values.astype(np.float16)}
            widened.append(_cast(f"{tensor.name}.half", tensor.name))
        elif tensor.name in kinds:
            scale = np.maximum(np.abs(values).max(axis=0, keepdims=True), 1e-9) / 127
            stored = {"eighth": np.round(values / scale).astype(np.int8), "scale": scale}
            wide = f"{tensor.name}.wide"
            widened.append(_cast(f"{tensor.name}.eighth", wide))
            widened.append(helper.make_node("Mul", [wide, f"{tensor.name}.scale"], [tensor.name]))
        else:
            continue
        graph.initializer.remove(tensor)
        for kind, part in stored.items():
            graph.initializer.append(numpy_helper.from_array(part, f"{tensor.name}.{kind}"))
    for node in reversed(widened):
        graph.node.insert(0, node)


def _cast(stored: str, wide: str) -> onnx.NodeProto:
    return helper.make_node("Cast", [stored], [wide], to=onnx.TensorProto.FLOAT)
