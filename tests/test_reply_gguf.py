"""The merged reply model says of itself what it is."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, Keys, LlamaFileType
from gguf.quants import dequantize, quantize

from models import adapter_files, reply_gguf, weights

WIDTH = 32
LAYER = "blk.0.ffn_up.weight"
EMOBANK = {"sentences": 1000, "perspectives": "both"}


def base(file: Path) -> Path:
    """A model of two matrices, with what a published one says of itself."""
    writer = GGUFWriter(file, "llama")
    writer.add_name("Small 1M")
    writer.add_organization("Someone")
    writer.add_license("apache-2.0")
    writer.add_file_type(LlamaFileType.MOSTLY_Q4_1)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_base_model_count(1)
    writer.add_base_model_name(0, "Smaller")
    for name in (LAYER, "blk.0.ffn_down.weight"):
        data = quantize(np.ones((WIDTH, WIDTH), np.float32), GGMLQuantizationType.Q4_1)
        writer.add_tensor(name, data, raw_dtype=GGMLQuantizationType.Q4_1)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def adapter(
    folder: Path, learned: Mapping[str, Any], layers: tuple[str, ...] = ("up", "down")
) -> Path:
    """One that adds two to every number of the layers."""
    folder.mkdir()
    header: dict[str, Any] = {}
    numbers = b""
    for layer in layers:
        for side, shape in (("A", (1, WIDTH)), ("B", (WIDTH, 1))):
            data = np.ones(shape, np.float16).tobytes()
            at = [len(numbers), len(numbers) + len(data)]
            name = f"base_model.model.model.layers.0.mlp.{layer}_proj.lora_{side}.weight"
            header[name] = {"dtype": "F16", "shape": shape, "data_offsets": at}
            numbers += data
    told = json.dumps(header).encode()
    data = len(told).to_bytes(8, "little") + told + numbers
    (folder / adapter_files.FILE).write_bytes(data)
    (folder / adapter_files.CONFIG).write_text('{"r": 1, "lora_alpha": 2}')
    (folder / adapter_files.TRAINED).write_text(json.dumps({"learned_from": learned}))
    adapter_files.seal(folder)
    return folder


def told(file: Path) -> dict[str, Any]:
    fields = GGUFReader(file).fields
    return {name: field.contents() for name, field in fields.items() if "GGUF" not in name}


def test_a_merged_file_bears_its_own_name_and_precision_and_names_its_base(tmp_path: Path) -> None:
    made = tmp_path / "attune-reply.gguf"
    reply_gguf.merge(base(tmp_path / "base.gguf"), [adapter(tmp_path / "a", {})], made)
    assert told(made) == {
        Keys.General.ARCHITECTURE: "llama",
        Keys.General.NAME: "attune-reply",
        Keys.General.LICENSE: "apache-2.0",
        Keys.General.FILE_TYPE: LlamaFileType.MOSTLY_Q8_0,
        Keys.General.BASE_MODEL_COUNT: 1,
        Keys.General.BASE_MODEL_NAME.format(id=0): "Small 1M",
        Keys.General.BASE_MODEL_ORGANIZATION.format(id=0): "Someone",
        "llama.attention.head_count": 2,
        "llama.attention.head_count_kv": 1,
    }
    [up] = [each for each in GGUFReader(made).tensors if each.name == LAYER]
    assert np.allclose(dequantize(up.data, up.tensor_type), 3.0, atol=0.02)


@pytest.mark.parametrize(
    ("learned", "licence"),
    [
        ([{}, EMOBANK], "cc-by-sa-4.0"),
        ([{**EMOBANK, "perspectives": "writer"}, {}], "cc-by-sa-4.0"),
        ([{}, {**EMOBANK, "sentences": 0}], "apache-2.0"),
        ([{**EMOBANK, "perspectives": "none"}], "apache-2.0"),
    ],
)
def test_a_merged_file_bears_the_licence_of_what_any_adapter_learned_from(
    learned: list[dict[str, Any]], licence: str, tmp_path: Path
) -> None:
    worn = [adapter(tmp_path / str(at), each) for at, each in enumerate(learned)]
    reply_gguf.merge(base(tmp_path / "base.gguf"), worn, tmp_path / "made.gguf")
    assert told(tmp_path / "made.gguf")[Keys.General.LICENSE] == licence


def test_several_adapters_made_one_bear_the_licence_of_each() -> None:
    free = {"learned_from": {"scripts": 3}}
    bound = {"joined": [free, None, {"learned_from": EMOBANK}]}
    assert adapter_files.bears_share_alike({"joined": [free, bound]})
    assert not adapter_files.bears_share_alike({"joined": [free, None]})
    assert not adapter_files.bears_share_alike(None)


def test_a_file_most_of_which_is_unchanged_keeps_its_type(tmp_path: Path) -> None:
    made = tmp_path / "made.gguf"
    reply_gguf.merge(base(tmp_path / "base.gguf"), [adapter(tmp_path / "a", {}, ())], made)
    assert told(made)[Keys.General.FILE_TYPE] == LlamaFileType.MOSTLY_Q4_1


def test_merged_twice_it_is_the_same_file(tmp_path: Path) -> None:
    worn = [adapter(tmp_path / "a", EMOBANK)]
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        reply_gguf.merge(base(tmp_path / "base.gguf"), worn, tmp_path / folder / "made.gguf")
    one, other = (tmp_path / folder / "made.gguf" for folder in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()


def test_the_file_that_ships_says_what_the_table_says() -> None:
    row = weights.find("attune-reply")
    said = told(weights.path(row.name))
    assert said[Keys.General.NAME] == row.name
    assert said[Keys.General.LICENSE] == row.licence.lower()
    assert said[Keys.General.FILE_TYPE] == LlamaFileType.MOSTLY_Q8_0
    assert "smollm2" in said[Keys.General.BASE_MODEL_NAME.format(id=0)].lower()
