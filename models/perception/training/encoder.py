"""Moonshine tiny's encoder in torch, with the weights its package ships, so that it can learn on.

The packaged file holds ONNX Runtime's own format, with most matrices rounded to 8 bits. They are
read through the schema that comes with onnxruntime and brought back to floating point.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, INNER, LAYERS = 288, 8, 1152, 6
ROTATED = 32  # of a head's 36 channels


class Encoder(nn.Module):
    """Sound at 16 kHz to states every 24 ms: the stem's and each layer's."""

    def __init__(self, layers: int = LAYERS) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(1, WIDTH, 127, 64, bias=False)
        self.groupnorm = nn.GroupNorm(1, WIDTH)
        self.conv2 = nn.Conv1d(WIDTH, 2 * WIDTH, 7, 3)
        self.conv3 = nn.Conv1d(2 * WIDTH, WIDTH, 3, 2)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))

    def forward(self, sound: Tensor) -> list[Tensor]:
        x = self.groupnorm(torch.tanh(self.conv1(sound[:, None])))
        x = functional.gelu(self.conv3(functional.gelu(self.conv2(x)))).transpose(1, 2)
        cos, sin = _rotation(x.shape[1])
        states = [x]
        for layer in self.layers:
            x = layer(x, cos.to(x), sin.to(x))
            states.append(x)
        return states


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm = nn.LayerNorm(WIDTH, bias=False)
        self.post_attention_layernorm = nn.LayerNorm(WIDTH, bias=False)
        self.q_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.v_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.o_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.fc1 = nn.Linear(WIDTH, INNER)
        self.fc2 = nn.Linear(INNER, WIDTH)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        normed = self.input_layernorm(x)
        query, key, value = (
            project(normed).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        heard = functional.scaled_dot_product_attention(
            _rotate(query, cos, sin), _rotate(key, cos, sin), value
        )
        x = x + self.o_proj(heard.transpose(1, 2).flatten(2))
        return x + self.fc2(functional.gelu(self.fc1(self.post_attention_layernorm(x))))


def _rotation(length: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines of every position, each standing for a pair of neighbouring channels."""
    speeds = 10_000.0 ** -(torch.arange(0, ROTATED, 2) / ROTATED)
    angles = (torch.arange(length)[:, None] * speeds).repeat_interleave(2, dim=-1)
    return angles.cos(), angles.sin()


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    turned, rest = x[..., :ROTATED], x[..., ROTATED:]
    pairs = turned.unflatten(-1, (-1, 2))
    swapped = torch.stack((-pairs[..., 1], pairs[..., 0]), -1).flatten(-2)
    return torch.cat((turned * cos + swapped * sin, rest), -1)


def pretrained(path: Path, layers: int = LAYERS) -> Encoder:
    """The encoder as packaged, or its lower layers."""
    encoder = Encoder(layers)
    found = read(path)
    encoder.load_state_dict({name: found[name] for name in encoder.state_dict()})
    return encoder


def read(path: Path) -> dict[str, Tensor]:
    """The packaged weights by the names of our modules."""
    graph = _schema("InferenceSession").GetRootAsInferenceSession(path.read_bytes(), 0)
    graph = graph.Model().Graph()
    stored = {}
    for at in range(graph.InitializersLength()):
        tensor = graph.Initializers(at)
        stored[tensor.Name().decode()] = _values(tensor)
    found = {
        f"conv{n}.{kind}": stored[name]
        for n, kind, name in (
            (1, "weight", "conv1.weight_add_tensor"),
            (2, "weight", "conv2.weight_add_tensor"),
            (3, "weight", "conv3.weight_add_tensor"),
            (2, "bias", "conv2.bias"),
            (3, "bias", "conv3.bias"),
        )
    }
    for name, values in stored.items():
        if match := re.fullmatch(r"(layers\.\d\.)(?:mlp\.)?(.*layernorm\.weight|fc\d\.bias)", name):
            found[match[1] + match[2]] = values
    for at in range(graph.NodesLength()):
        node = graph.Nodes(at)
        inputs = [node.Inputs(k).decode() for k in range(node.InputsLength())]
        output = node.Outputs(0).decode()
        if match := re.match(r"/layers\.(\d)/(?:self_attn|mlp)/(\w_proj|fc\d)/", output):
            matrix = next(name for name in inputs if re.fullmatch(r"onnx::.*_quantized", name))
            base = matrix.removesuffix("_quantized")
            zero, scale = stored[base + "_zero_point"], stored[base + "_scale"]
            values = (stored[matrix].astype(np.float32) - zero.astype(np.float32)) * scale
            found[f"layers.{match[1]}.{match[2]}.weight"] = values.T
        elif output == "/groupnorm/Mul_output_0":
            found["groupnorm.weight"] = stored[inputs[1]].ravel()
        elif output == "/groupnorm/Add_output_0":
            found["groupnorm.bias"] = stored[inputs[1]].ravel()
    return {name: torch.tensor(np.ascontiguousarray(values)) for name, values in found.items()}


_KINDS = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64}


def _values(tensor: Any) -> np.ndarray[Any, Any]:
    shape = [tensor.Dims(k) for k in range(tensor.DimsLength())]
    kind = _KINDS.get(tensor.DataType(), np.uint8)
    raw = tensor.RawDataAsNumpy()
    if isinstance(raw, int):  # the schema's way of saying that there is none
        return np.empty(0, kind)
    return np.frombuffer(raw.tobytes(), kind).reshape(shape)


def _schema(name: str) -> Any:
    package = "onnxruntime.tools.ort_format_model.ort_flatbuffers_py.fbs"
    return getattr(import_module(f"{package}.{name}"), name)
