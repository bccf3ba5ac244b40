"""UTMOS: how natural the reply sounds, by the strong learner of 2022 or an exported network.

`encoders.utmos` names a file or a folder with one: `utmos22_strong*.pt`, the tensors as the
SpeechMOS project publishes them, or `*.pt2`, any network saved with torch.export that takes
1 × samples at 16 kHz and gives the rating (UTMOSv2 can be exported so).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from models.types import Samples
from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unavailable, Unscored
from server.scoring.settings import Settings
from server.scoring.sound.clip import reply_clip
from server.scoring.sound.tensors import Tensor, Tensors, digest, load, torch_for

NAME = "UTMOS"
WHERE = (
    "UTMOS needs its weights: get utmos22_strong_step7459_v1.pt from the releases of "
    "github.com/tarepan/SpeechMOS (MIT) and name the file as encoders.utmos in the settings"
)
MEASURES = (
    Measure(
        "utmos",
        "UTMOS",
        "sound",
        "How natural the reply sounds, by UTMOS.",
        "EchoMind's column headed DNMOS looks like this one; its version is not known.",
        higher_is_better=True,
        smallest=1,
        largest=5,
    ),
)

_STRIDES = (5, 2, 2, 2, 2, 2, 2)  # of wav2vec 2.0's convolutions
_HEAD = 64  # features of one attention head

Network = Callable[[Tensor], Tensor]  # 1 × samples at 16 kHz to one rating


@dataclass(frozen=True, slots=True)
class Utmos:
    network: Network
    device: str
    key: str
    judge: JudgeNamed | None

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        return self.rate(reply_clip(exchange))

    def rate(self, clip: Samples) -> Mapping[str, Score]:
        """Of a clip at 16 kHz."""
        import torch

        shown = torch.from_numpy(clip.astype(np.float32))[None].to(self.device)
        with torch.inference_mode():
            rated = float(self.network(shown).flatten()[0])
        if not np.isfinite(rated):
            raise Unscored("the network gave no number")
        return {"utmos": Score(rated)}


def build(settings: Settings) -> Utmos:
    given = settings.encoders.utmos
    if given is None:
        raise Unavailable(WHERE)
    path = _file(given)
    torch_for(NAME)
    exported = path.suffix == ".pt2"
    device = "cpu" if exported else settings.device  # it runs where it was exported
    network = _exported(path) if exported else _strong(path, device)
    version = f"{path.name} {digest(path)}"
    # Which network was exported is known by the name of its file alone.
    named = JudgeNamed(f"{NAME} (exported)" if exported else f"{NAME}22 strong", version)
    return Utmos(network, device, f"utmos 1: {version}", named)


def _file(given: Path) -> Path:
    if given.is_file():
        return given
    found = [*sorted(given.glob("*.pt")), *sorted(given.glob("*.pt2"))]
    if len(found) != 1:
        held = "nothing" if not found else f"{len(found)} files"
        raise Unavailable(f"{given} holds {held} to load UTMOS from: name the .pt or .pt2 file")
    return found[0]


@lru_cache(1)  # the quality after overlaps is rated by the same one
def _exported(path: Path) -> Network:
    import torch

    try:
        network: Network = torch.export.load(path).module()
    except Exception as error:  # torch's own have no common base
        raise Unavailable(f"{path.name} cannot be read as an exported network") from error
    return network


@lru_cache(1)
def _strong(path: Path, device: str) -> Network:
    """Wav2vec 2.0, two learned tokens for domain and listener, a recurrent layer and a head."""
    import torch

    state = load(path, NAME)
    needed = ("domain_emb", "judge_emb", "blstm.weight_hh_l0", "wav2vec2.layer_norm.weight")
    if not isinstance(state, Mapping) or not all(name in state for name in needed):
        raise Unavailable(f"{path.name} is no checkpoint of UTMOS22 strong")
    net = Tensors.of(state, device)
    recurrent = torch.nn.LSTM(
        net["blstm.weight_ih_l0"].shape[1],
        net["blstm.weight_hh_l0"].shape[1],
        batch_first=True,
        bidirectional=True,
        device=device,
    )
    own = {name[6:]: tensor for name, tensor in net.state.items() if name.startswith("blstm.")}
    recurrent.load_state_dict(own)

    def rate(clip: Tensor) -> Tensor:
        heard = _wav2vec2(net.part("wav2vec2"), clip)
        tokens = [net[name][None].expand(1, heard.shape[1], -1) for name in needed[:2]]
        felt = recurrent(torch.cat([heard, *tokens], dim=2))[0]
        head = net.part("projection")
        return head.linear("2", torch.relu(head.linear("0", felt))).mean() * 2 + 3

    return rate


def _wav2vec2(net: Tensors, clip: Tensor) -> Tensor:
    """The network's last states, 1 × time × features."""
    from torch.nn.functional import conv1d, gelu, group_norm

    x = clip[:, None]
    for at, stride in enumerate(_STRIDES):
        layer = net.part(f"feature_extractor.conv_layers.{at}")
        x = conv1d(x, layer["0.weight"], stride=stride)
        if "2.weight" in layer:  # the first one is normalised over time
            x = group_norm(x, x.shape[1], layer["2.weight"], layer["2.bias"])
        x = gelu(x)
    x = net.linear("post_extract_proj", net.norm("layer_norm", x.transpose(1, 2)))
    encoder = net.part("encoder")
    x = encoder.norm("layer_norm", x + _positions(encoder.part("pos_conv.0"), x))
    for layer in encoder.numbered("layers"):
        mixed = layer.attention("self_attn", x, max(1, x.shape[2] // _HEAD))
        x = layer.norm("self_attn_layer_norm", x + mixed)
        grown = gelu(layer.linear("fc1", x))
        x = layer.norm("final_layer_norm", x + layer.linear("fc2", grown))
    return x


def _positions(net: Tensors, x: Tensor) -> Tensor:
    """Where in the sound something is, by a wide convolution whose weights are kept as lengths
    and directions."""
    from torch.nn.functional import conv1d, gelu

    directions = net["weight_v"]
    lengths = directions.square().sum(dim=(0, 1), keepdim=True).sqrt()
    size, each, width = directions.shape
    x = conv1d(
        x.transpose(1, 2),
        net["weight_g"] * directions / lengths,
        net["bias"],
        padding=width // 2,
        groups=size // each,
    )
    if width % 2 == 0:  # padded on both sides, there is one too many
        x = x[..., :-1]
    return gelu(x).transpose(1, 2)
