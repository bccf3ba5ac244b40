"""Networks that need torch: the real DistillMOS, and NISQA and UTMOS from tiny checkpoints."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.types import WIRE_RATE
from server.scoring.exchange import Exchange
from server.scoring.score import Unavailable
from server.scoring.settings import EncoderSettings, Settings
from server.scoring.sound import distillmos, nisqa, utmos
from server.scoring.sound.clip import reply_clip
from tests.test_scoring_sound import glide, replying, spoken

pytestmark = pytest.mark.slow


# ---- DistillMOS; values by the distillmos 0.9.1 package


@pytest.fixture(scope="module")
def distilled() -> distillmos.Distillmos:
    try:
        return distillmos.build(Settings())
    except Unavailable as error:
        pytest.skip(str(error))


def test_distillmos_is_that_of_the_package(distilled: distillmos.Distillmos) -> None:
    for sound, expected in (
        (glide(), 1.41195),
        (spoken("1069-133699-0000"), 4.27869),
        (spoken("1963-142393-0000"), 3.51568),
    ):
        assert distilled.rate(sound)["distillmos"].value == pytest.approx(expected, abs=0.001)


def test_distillmos_of_a_long_clip_is_the_mean_of_its_segments(
    distilled: distillmos.Distillmos,
) -> None:
    long = np.concatenate([spoken("1069-133699-0000"), spoken("1088-129236-0000")])
    told = distilled.rate(long)["distillmos"]
    assert told.value == pytest.approx(4.2940, abs=0.001)
    assert told.why == "mean of 6 segments"


def test_distillmos_does_not_mind_how_loud_it_is(distilled: distillmos.Distillmos) -> None:
    sound = spoken("118-121721-0000")
    told = [distilled.rate(gain * sound)["distillmos"].value for gain in (1.0, 0.25)]
    assert told[0] == pytest.approx(told[1], abs=0.001)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "utmos.pt").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Unavailable, match=r"DistillMOS needs torch: pip install -e '\.\[score\]'"):
        distillmos.build(Settings())
    with pytest.raises(Unavailable, match="UTMOS needs torch"):
        utmos.build(Settings(encoders=EncoderSettings(utmos=tmp_path)))


# ---- NISQA: a checkpoint of the published form, with the published network's parts made small

ARGUMENTS: dict[str, Any] = {
    "model": "NISQA_DIM", "ms_sr": None, "ms_fmax": 20_000, "ms_n_fft": 4096,
    "ms_hop_length": 0.01, "ms_win_length": 0.02, "ms_n_mels": 48, "ms_seg_length": 15,
    "ms_seg_hop_length": 4, "ms_max_segments": 1300,
    "cnn_model": "adapt", "cnn_c_out_1": 4, "cnn_c_out_2": 6, "cnn_c_out_3": 8,
    "cnn_kernel_size": (3, 3), "cnn_dropout": 0.2, "cnn_fc_out_h": None,
    "cnn_pool_1": [24, 7], "cnn_pool_2": [12, 5], "cnn_pool_3": [6, 3],
    "td": "self_att", "td_sa_d_model": 16, "td_sa_nhead": 2, "td_sa_pos_enc": None,
    "td_sa_num_layers": 2, "td_sa_h": 12, "td_2": "skip", "pool": "att", "pool_att_h": 10,
}  # fmt: skip


class Network:
    """The same network of torch's own layers; the keys of its tensors are NISQA's."""

    def __init__(self) -> None:
        import torch
        from torch import nn

        torch.manual_seed(3)
        widths = (1, 4, 6, 8, 8, 8, 8)
        self.parts: dict[str, Any] = {}
        for at in range(1, 7):
            last = at == 6
            shape = {"kernel_size": 3, "padding": (1, 0) if last else (1, 1)}
            self.parts[f"cnn.model.conv{at}"] = nn.Conv2d(widths[at - 1], widths[at], **shape)
            self.parts[f"cnn.model.bn{at}"] = nn.BatchNorm2d(widths[at], momentum=1.0)
        self.parts["time_dependency.model.linear"] = nn.Linear(8 * 6, 16)
        self.parts["time_dependency.model.norm1"] = nn.LayerNorm(16)
        for at in range(2):
            layer = nn.TransformerEncoderLayer(16, 2, 12, dropout=0.0, batch_first=True)
            self.parts[f"time_dependency.model.layers.{at}"] = layer
        for dimension in range(5):
            for at, (wide, narrow) in enumerate(((16, 10), (10, 1), (16, 1)), 1):
                layer = nn.Linear(wide, narrow)
                torch.nn.init.normal_(layer.weight)  # so that the sound makes a difference
                self.parts[f"pool_layers.{dimension}.model.linear{at}"] = layer

    def state(self) -> dict[str, Any]:
        return {
            f"{part}.{name}": tensor
            for part, layer in self.parts.items()
            for name, tensor in layer.state_dict().items()
        }

    def __call__(self, x: Any, learning: bool = False) -> Any:
        import torch
        from torch.nn.functional import adaptive_max_pool2d

        for layer in self.parts.values():
            layer.train(learning)
        sizes = {1: (24, 7), 2: (12, 5), 4: (6, 3)}
        for at in range(1, 7):
            x = torch.relu(self.parts[f"cnn.model.bn{at}"](self.parts[f"cnn.model.conv{at}"](x)))
            if at in sizes:
                x = adaptive_max_pool2d(x, sizes[at])
        x = self.parts["time_dependency.model.linear"](x.flatten(1))[None]
        x = self.parts["time_dependency.model.norm1"](x)
        for at in range(2):
            x = self.parts[f"time_dependency.model.layers.{at}"](x)
        first, second, third = (self.parts[f"pool_layers.0.model.linear{at}"] for at in (1, 2, 3))
        weight = torch.softmax(second(torch.relu(first(x))), dim=1)
        return third((weight * x).sum(dim=1)).item()


def shown(one: Exchange) -> Any:
    import torch

    clip, arguments = reply_clip(one, WIRE_RATE), nisqa.Arguments.model_validate(ARGUMENTS)
    return torch.from_numpy(nisqa.segments(clip, WIRE_RATE, arguments))


def checkpoint(folder: Path, network: Network, **changed: Any) -> Settings:
    import torch

    file = folder / "nisqa.tar"
    torch.save({"args": ARGUMENTS | changed, "model_state_dict": network.state()}, file)
    return Settings(encoders=EncoderSettings(nisqa=file))


def test_nisqa_runs_from_a_checkpoint_as_torchs_own_layers_do(tmp_path: Path) -> None:
    import torch

    network = Network()
    sounds = (glide(), spoken("118-121721-0000"), spoken("1624-142933-0000"))
    replies = [replying(sound) for sound in sounds]
    with torch.no_grad():
        network(shown(replies[1]), learning=True)  # its statistics are those of speech
        expected = [network(shown(one)) for one in replies]
    built = nisqa.build(checkpoint(tmp_path, network))
    found = [built.measure(one)["nisqa"].value for one in replies]
    assert found == pytest.approx(expected, abs=1e-4)
    assert max(expected) - min(expected) > 0.5  # the sound makes a difference


def test_nisqa_names_the_file_it_came_from(tmp_path: Path) -> None:
    built = nisqa.build(checkpoint(tmp_path, Network()))
    assert built.judge is not None
    assert built.judge.version is not None
    assert built.judge.version.startswith("nisqa.tar ")
    assert built.judge.version.split()[1] in built.key


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"td": "lstm"}, "another network than NISQA 2.0's published one"),
        ({"model": "NISQA_DE"}, "another network"),
        ({"ms_n_fft": "many"}, "is no checkpoint of NISQA 2.0"),
    ],
)
def test_other_checkpoints_are_refused(tmp_path: Path, changed: dict[str, Any], why: str) -> None:
    with pytest.raises(Unavailable, match=why):
        nisqa.build(checkpoint(tmp_path, Network(), **changed))


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nisqa.tar").write_bytes(b"not a checkpoint")
    settings = Settings(encoders=EncoderSettings(nisqa=tmp_path / "nisqa.tar"))
    with pytest.raises(Unavailable, match=r"nisqa\.tar cannot be read as NISQA's checkpoint"):
        nisqa.build(settings)
    with pytest.raises(Unavailable, match="NISQA is not at"):
        nisqa.build(Settings(encoders=EncoderSettings(nisqa=tmp_path / "other.tar")))


# ---- UTMOS: transformers' wav2vec 2.0, made small, is the reference


@pytest.fixture(scope="module")
def strong(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A file of tensors under UTMOS22's names, and the rating torch's own layers give."""
    import torch
    from torch import nn
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    torch.manual_seed(5)
    config = Wav2Vec2Config(
        hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=96,
        conv_dim=(32,) * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
    )  # fmt: skip
    heard = Wav2Vec2Model(config).eval()
    for layer in heard.feature_extractor.conv_layers:
        nn.init.normal_(layer.conv.weight, std=0.3)
    recurrent = nn.LSTM(128 + 6 + 6, 20, batch_first=True, bidirectional=True)
    head = nn.Sequential(nn.Linear(40, 16), nn.ReLU(), nn.Linear(16, 1))
    nn.init.normal_(head[2].weight)
    domain, listener = torch.randn(1, 6), torch.randn(1, 6)

    def rating(clip: Any) -> float:
        with torch.inference_mode():
            states = heard(torch.from_numpy(clip)[None]).last_hidden_state
            tokens = [token[None].expand(1, states.shape[1], -1) for token in (domain, listener)]
            felt = recurrent(torch.cat([states, *tokens], dim=2))[0]
            return float(head(felt).mean() * 2 + 3)

    state: dict[str, Any] = {"domain_emb": domain, "judge_emb": listener}
    state |= {f"blstm.{name}": tensor for name, tensor in recurrent.state_dict().items()}
    state |= {f"projection.{name}": tensor for name, tensor in head.state_dict().items()}
    state |= {f"wav2vec2.{_fairseq(name)}": each for name, each in heard.state_dict().items()}
    file = tmp_path_factory.mktemp("utmos") / "utmos22_strong_tiny.pt"
    torch.save(state, file)
    return file, rating


def _fairseq(name: str) -> str:
    """transformers' name of a tensor as fairseq has it."""
    for ours, theirs in (
        ("feature_projection.layer_norm", "layer_norm"),
        ("feature_projection.projection", "post_extract_proj"),
        (".conv.weight", ".0.weight"),
        ("conv_layers.0.layer_norm", "conv_layers.0.2"),
        ("pos_conv_embed.conv.parametrizations.weight.original0", "pos_conv.0.weight_g"),
        ("pos_conv_embed.conv.parametrizations.weight.original1", "pos_conv.0.weight_v"),
        ("pos_conv_embed.conv.bias", "pos_conv.0.bias"),
        (".attention.", ".self_attn."),
        ("feed_forward.intermediate_dense", "fc1"),
        ("feed_forward.output_dense", "fc2"),
        ("masked_spec_embed", "mask_emb"),
    ):
        name = name.replace(ours, theirs)
    if name.startswith("encoder.layers."):
        name = name.replace(".layer_norm.", ".self_attn_layer_norm.")
    return name


def test_utmos_runs_from_its_tensors_as_transformers_does(strong: tuple[Path, Any]) -> None:
    file, rating = strong
    for where in (file, file.parent):
        built = utmos.build(Settings(encoders=EncoderSettings(utmos=where)))
    ratings = []
    for sound in (glide()[:32_000], spoken("118-121721-0000"), spoken("1624-142933-0000")[:20_001]):
        one = replying(sound)
        expected = rating(reply_clip(one))
        assert built.measure(one)["utmos"].value == pytest.approx(expected, abs=1e-4)
        ratings.append(expected)
    assert len({round(each, 2) for each in ratings}) == 3  # the sound makes a difference
    assert built.judge is not None
    assert "utmos22_strong_tiny.pt" in built.key


def test_utmos_runs_an_exported_network(tmp_path: Path) -> None:
    import torch

    class Loud(torch.nn.Module):  # type: ignore[misc]
        def forward(self, clip: Any) -> Any:
            return 1 + 4 * clip.abs().amax(dim=1)

    length = torch.export.Dim("length", min=100, max=10_000_000)
    exported = torch.export.export(
        Loud(), (torch.zeros(1, 16_000),), dynamic_shapes={"clip": {1: length}}
    )
    torch.export.save(exported, tmp_path / "utmosv2.pt2")
    built = utmos.build(Settings(encoders=EncoderSettings(utmos=tmp_path / "utmosv2.pt2")))
    sound = 0.5 * np.sin(np.arange(24_000) / 10).astype(np.float32)
    assert built.measure(replying(sound))["utmos"].value == pytest.approx(3.0, abs=0.05)


def test_other_tensors_are_not_taken_for_utmos(tmp_path: Path) -> None:
    import torch

    torch.save({"weight": torch.zeros(2)}, tmp_path / "utmos.pt")
    with pytest.raises(Unavailable, match=r"utmos\.pt is no checkpoint of UTMOS22 strong"):
        utmos.build(Settings(encoders=EncoderSettings(utmos=tmp_path)))
    torch.save({}, tmp_path / "second.pt")
    with pytest.raises(Unavailable, match="holds 2 files to load UTMOS from"):
        utmos.build(Settings(encoders=EncoderSettings(utmos=tmp_path)))
    (tmp_path / "second.pt").unlink()
    (tmp_path / "utmos.pt").rename(tmp_path / "utmos.pt2")
    with pytest.raises(Unavailable, match="cannot be read as an exported network"):
        utmos.build(Settings(encoders=EncoderSettings(utmos=tmp_path)))


# ---- our perceiver, asked about a reply, says what it says of anybody


def test_the_listener_hears_what_the_perceiver_hears() -> None:
    from models.perception.perceiver import AttunePerceiver
    from server.scoring.sound import listening

    one = replying(spoken("118-121721-0000"))
    perceiver = AttunePerceiver()
    expected = perceiver.percept_of(reply_clip(one)).emotion
    perceiver.close()
    assert listening.heard(one, Settings()).chances == pytest.approx(dict(expected), abs=1e-6)
