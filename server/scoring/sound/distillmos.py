"""DistillMOS: the reply's sound as a small network hears it that learned from a large one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from models import weights
from models.types import EAR_RATE, Samples
from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unavailable
from server.scoring.settings import Settings
from server.scoring.sound.clip import reply_clip
from server.scoring.sound.tensors import Tensor, Tensors, load

NAME = "DistillMOS"
MEASURES = (
    Measure(
        "distillmos",
        "DistillMOS",
        "sound",
        "How good the reply's sound is, by a network distilled from XLS-R.",
        higher_is_better=True,
        smallest=1,
        largest=5,
    ),
)

SEGMENT = 122_880  # samples the network is shown
FARTHEST = EAR_RATE  # from one segment of a longer clip to the next
_HOP, _WINDOW = 160, 320
_COMPRESSED = 0.3  # the power that magnitudes are taken to
_HEADS = 8


@dataclass(frozen=True, slots=True)
class Distillmos:
    net: Tensors
    device: str
    key: str = "distillmos 1: distill_mos_v7"
    judge: JudgeNamed | None = JudgeNamed(NAME, "0.9.1 (v7)", licence="MIT")

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        return self.rate(reply_clip(exchange))

    def rate(self, clip: Samples) -> Mapping[str, Score]:
        """Of a clip at 16 kHz."""
        import torch

        pieces = segments(clip)
        with torch.inference_mode():
            rated = [
                float(_rated(self.net, torch.from_numpy(piece)[None].to(self.device)))
                for piece in pieces  # one at a time, so that a long reply takes no more memory
            ]
        why = f"mean of {len(rated)} segments" if len(rated) > 1 else "one segment"
        return {"distillmos": Score(float(np.mean(rated)), why)}


def build(settings: Settings) -> Distillmos:
    try:
        path = weights.path("distillmos")
    except weights.WeightsError as error:
        raise Unavailable(f"{NAME} cannot be taken: {error}") from error
    return Distillmos(Tensors.of(load(path, NAME)["model"], settings.device), settings.device)


def segments(clip: Samples) -> list[Samples]:
    """Evenly over the clip, a second apart at most, each as loud as it gets; silence behind."""
    clip = np.pad(clip, (0, max(0, SEGMENT - len(clip)))).astype(np.float32)
    spare = len(clip) - SEGMENT
    starts = np.linspace(0, 1, math.ceil(spare / FARTHEST) + 1) * spare
    cut = [clip[int(start) : int(start) + SEGMENT] for start in starts]
    return [piece / (np.abs(piece).max() + np.float32(1e-8)) for piece in cut]


def _rated(net: Tensors, x: Tensor) -> Tensor:
    import torch

    x = torch.flatten(_seen(net.part("cnn.cnn"), _spectra(x)), 1, 2).transpose(1, 2)
    net = net.part("transformer_pool_attn")
    x = _each_step(net, "norm_input", x)
    inner = net.part("transformer")
    x = inner.linear("linear_proj", _each_step(inner, "norm", x))
    x = x + inner["position_encoding.pe"]
    for layer in inner.numbered("transformer_encoder.layers"):
        x = layer.norm("norm1", x + layer.attention("self_attn", x, _HEADS))
        grown = torch.relu(layer.linear("linear1", x))
        x = layer.norm("norm2", x + layer.linear("linear2", grown))
    x = net.part("pool").pooled(_each_step(net, "norm_trans", x))
    return 1 + 4 * torch.sigmoid(x)


def _spectra(x: Tensor) -> Tensor:
    """Real and imaginary part as two channels, the magnitudes compressed."""
    import torch
    from torch.nn.functional import pad

    x = pad(x, ((_WINDOW - _HOP) // 2,) * 2, mode="reflect")
    shape = torch.hann_window(_WINDOW, device=x.device)
    x = torch.stft(x, _WINDOW, _HOP, window=shape, center=False, return_complex=True)
    x = torch.view_as_real(x).permute(0, 3, 1, 2)
    size = x.square().sum(dim=1, keepdim=True).sqrt().clip(1e-12)
    return size ** (_COMPRESSED - 1) * x


def _seen(net: Tensors, x: Tensor) -> Tensor:
    """Convolutions: all but the first halve the frequencies, the last one the time as well."""
    from torch.nn.functional import conv2d, leaky_relu

    last = 10  # their names count the activations between them, too
    for at in range(0, last + 1, 2):
        stride = (2 if at else 1, 2 if at == last else 1)
        x = conv2d(x, net[f"{at}.weight"], net[f"{at}.bias"], stride=stride, padding=(0, 1))
        x = leaky_relu(x, 0.1)
    return x


def _each_step(net: Tensors, name: str, x: Tensor) -> Tensor:
    return net.batch_norm(name, x.transpose(1, 2)).transpose(1, 2)
