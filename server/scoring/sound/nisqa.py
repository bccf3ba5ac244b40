"""NISQA 2.0: the reply's overall quality, run from the checkpoint its authors publish."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from models.types import WIRE_RATE, Samples
from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unavailable, Unscored
from server.scoring.settings import Settings
from server.scoring.sound.clip import reply_clip
from server.scoring.sound.mel import Mel, decibels
from server.scoring.sound.tensors import Tensor, Tensors, digest, load

NAME = "NISQA"
WHERE = (
    "NISQA needs its weights: get weights/nisqa.tar from github.com/gabrielmittag/NISQA "
    "(CC BY-NC-SA 4.0) and name the file as encoders.nisqa in the settings"
)
MEASURES = (
    Measure(
        "nisqa",
        "NISQA",
        "sound",
        "How good the reply sounds overall, by NISQA 2.0.",
        "Replies are recorded at 24 kHz: the network's bands above 12 kHz stay empty.",
        higher_is_better=True,
        smallest=1,
        largest=5,
    ),
)

_AT_ONCE = 512  # segments in one go through the convolutions
_QUIETEST = 1e-8  # power below which a band is silent


class Arguments(BaseModel):
    """What a checkpoint says of its network, as far as it is not in the tensors."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: str = "NISQA_DIM"
    cnn_model: str = "adapt"
    td: str = "self_att"
    td_2: str | None = "skip"
    td_sa_pos_enc: bool | None = None
    pool: str = "att"

    ms_sr: int | None = None  # None: the sound's own rate
    ms_fmax: float
    ms_n_fft: int
    ms_hop_length: float  # seconds
    ms_win_length: float
    ms_n_mels: int
    ms_seg_length: int  # frames
    ms_seg_hop_length: int
    cnn_pool_1: tuple[int, int]
    cnn_pool_2: tuple[int, int]
    cnn_pool_3: tuple[int, int]
    td_sa_nhead: int

    @property
    def supported(self) -> bool:
        """Whether it is the network of the published weights: others have other parts."""
        parts = self.cnn_model, self.td, self.td_2 or "skip", self.pool
        named = self.model in ("NISQA", "NISQA_DIM")
        return named and parts == ("adapt", "self_att", "skip", "att") and not self.td_sa_pos_enc


@dataclass(frozen=True, slots=True)
class Nisqa:
    net: Tensors
    arguments: Arguments
    device: str
    key: str
    judge: JudgeNamed | None

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        import torch

        rate = self.arguments.ms_sr or WIRE_RATE
        shown = segments(reply_clip(exchange, rate), rate, self.arguments)
        with torch.inference_mode():
            rated = float(_rated(self.net, torch.from_numpy(shown).to(self.device), self.arguments))
        return {"nisqa": Score(rated, f"{len(shown)} segments")}


def build(settings: Settings) -> Nisqa:
    path = settings.encoders.nisqa
    if path is None:
        raise Unavailable(WHERE)
    held = load(path, NAME)
    arguments, state = _read(held, path)
    version = f"{path.name} {digest(path)}"
    judge = JudgeNamed(NAME, version, licence="CC BY-NC-SA 4.0")
    net = Tensors.of(state, settings.device)
    return Nisqa(net, arguments, settings.device, f"nisqa 1: {version}", judge)


def _read(held: Any, path: Path) -> tuple[Arguments, Mapping[str, Tensor]]:
    try:
        arguments = Arguments.model_validate(held["args"])
        state = held["model_state_dict"]
    except (KeyError, TypeError, IndexError, ValidationError):
        raise Unavailable(f"{path.name} is no checkpoint of NISQA 2.0") from None
    if not arguments.supported or not any("conv6" in name for name in state):
        raise Unavailable(f"{path.name} holds another network than NISQA 2.0's published one")
    return arguments, state


def segments(clip: Samples, rate: int, arguments: Arguments) -> Samples:
    """Overlapping pieces of the mel spectrum: segments × 1 × bands × frames."""
    mel = Mel(
        rate,
        arguments.ms_n_fft,
        int(rate * arguments.ms_win_length),
        int(rate * arguments.ms_hop_length),
        arguments.ms_n_mels,
        arguments.ms_fmax,
        power=1,
        mirrored=True,
    )
    if len(clip) <= arguments.ms_n_fft // 2:
        raise Unscored("the reply is too short")
    levels = decibels(np.square(mel(clip)), 1.0, _QUIETEST).astype(np.float32)
    if len(levels) < arguments.ms_seg_length:
        raise Unscored("the reply is too short")
    pieces = np.lib.stride_tricks.sliding_window_view(levels, arguments.ms_seg_length, axis=0)
    return np.ascontiguousarray(pieces[:: arguments.ms_seg_hop_length, None])


def _rated(net: Tensors, x: Tensor, arguments: Arguments) -> Tensor:
    import torch

    cnn = net.part("cnn.model")
    x = torch.cat([_seen(cnn, some, arguments) for some in x.split(_AT_ONCE)])[None]
    time = net.part("time_dependency.model")
    x = time.norm("norm1", time.linear("linear", x))
    for layer in time.numbered("layers"):
        x = layer.norm("norm1", x + layer.attention("self_attn", x, arguments.td_sa_nhead))
        grown = torch.relu(layer.linear("linear1", x))
        x = layer.norm("norm2", x + layer.linear("linear2", grown))
    overall = "pool_layers.0" if arguments.model == "NISQA_DIM" else "pool"
    return net.part(f"{overall}.model").pooled(x)


def _seen(cnn: Tensors, x: Tensor, arguments: Arguments) -> Tensor:
    """Six convolutions; after the first, the second and the fourth the picture is made smaller."""
    import torch
    from torch.nn.functional import adaptive_max_pool2d, conv2d

    pools = {1: arguments.cnn_pool_1, 2: arguments.cnn_pool_2, 4: arguments.cnn_pool_3}
    for at in range(1, 7):
        weight = cnn[f"conv{at}.weight"]
        wide = at < 6 and weight.shape[3] > 1  # the last one looks at all that is left of the time
        x = conv2d(x, weight, cnn[f"conv{at}.bias"], padding=(1, 1 if wide else 0))
        x = torch.relu(cnn.batch_norm(f"bn{at}", x))
        if at in pools:
            x = adaptive_max_pool2d(x, pools[at])
    x = torch.flatten(x, 1)
    return cnn.linear("fc", x) if "fc" in cnn else x
