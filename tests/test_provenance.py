"""Which models answered, to the byte, and nothing that is secret."""

import hashlib
import json
from pathlib import Path

import pytest

from models import provenance, registry, weights
from models.perception import perceiver
from models.perception.hearing import Hearing
from models.provenance import Described, describe
from models.registry import Choice
from server.config import PROFILES
from server.sessions.format import ModelUsed


def one(role: str, backend: str, **options: object) -> Described:
    return describe({role: Choice(backend, options)})[role]


def field(number: int, data: bytes) -> bytes:
    """One field of a protocol buffer, as an ONNX file holds them."""
    length = len(data)
    size = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
    return bytes([number << 3 | 2]) + size + data


@pytest.mark.parametrize("profile", ["embedded", "gpu", "standin"])
def test_every_role_of_a_profile_is_described_and_fits_a_session_file(profile: str) -> None:
    choices = registry.read(PROFILES / f"{profile}.toml")
    told = describe(choices)
    assert told.keys() == choices.keys()
    for role, described in told.items():
        assert described.backend == choices[role].backend
        kept = ModelUsed.model_validate(described, from_attributes=True)
        assert json.loads(kept.model_dump_json())["options"] == dict(choices[role].options)


def test_every_backend_with_weights_names_them() -> None:
    ours = {("thinker", name) for name in ("plain", "dual", "tuned")} | {("perceiver", "off")}
    elsewhere = {("transcriber", "openai"), ("responder", "vllm"), ("speaker", "openai")}
    for role, backends in registry.BACKENDS.items():
        for backend in backends:
            if backend != "standin" and (role, backend) not in ours | elsewhere:
                assert (role, backend) in provenance.MAKEUP


def test_a_pinned_file_is_told_from_the_table_without_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTUNE_CACHE", str(tmp_path))  # where there is none
    row = weights.find("attune-reply")
    (file,) = one("responder", "llamacpp").files
    assert (file.name, file.sha256, file.licence) == ("attune-reply.gguf", row.sha256, row.licence)
    assert (one("responder", "llamacpp").version or "").startswith("xllamacpp 20")


def test_a_file_of_ones_own_is_hashed_instead_and_again_when_it_changes(tmp_path: Path) -> None:
    own = tmp_path / "mine.gguf"
    own.write_bytes(b"first")
    told = one("responder", "llamacpp", model=str(own))
    assert told.files == (provenance.File("mine.gguf", hashlib.sha256(b"first").hexdigest()),)
    assert told.options == {"model": "mine.gguf"}  # not where it lies on this machine
    own.write_bytes(b"the second")
    (file,) = one("responder", "llamacpp", model=str(own)).files
    assert file.sha256 == hashlib.sha256(b"the second").hexdigest()


def test_a_file_too_large_to_hash_at_start_is_only_named(tmp_path: Path) -> None:
    large = tmp_path / "large.gguf"
    with large.open("wb") as sparse:
        sparse.truncate((provenance.HASHED_MB << 20) + 1)
    (file,) = one("responder", "llamacpp", model=str(large)).files
    assert (file.name, file.sha256) == ("large.gguf", None)


def test_the_shipped_perception_names_its_hash_and_the_licence_on_its_card() -> None:
    told = one("perceiver", "attune")
    voice = told.files[0]
    assert voice.name == "voice.onnx"
    assert voice.sha256 == hashlib.sha256(perceiver.DEFAULT.read_bytes()).hexdigest()
    assert voice.licence == Hearing(perceiver.DEFAULT).card.licence
    assert told.licence is None  # it restricts nobody


def test_the_licence_of_research_weights_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTUNE_CACHE", str(tmp_path))
    entry = field(1, b"attune") + field(2, json.dumps({"licence": "for research only"}).encode())
    other = field(1, b"made") + field(2, b"by hand")
    made = field(2, b"pytorch") + field(7, bytes(500)) + field(14, other) + field(14, entry)
    (tmp_path / "perception-research.onnx").write_bytes(made)
    for backend in ("attune", "attune+hf"):
        told = one("perceiver", backend, weights="research")
        assert (told.licence, told.files[0].licence) == ("for research only",) * 2


def test_nothing_secret_is_told() -> None:
    told = one(
        "speaker",
        "openai",
        url="https://jane:hunter2@voices.example:8443/v1?api_key=hunter2#hunter2",
        model="m",
        voice="v",
        api_key="hunter2",
        timeout_sec=3.0,
        extra={"Authorization": "hunter2", "x-api-key": "hunter2", "deep": [{"token": "hunter2"}]},
        max_tokens=5,
    )
    assert "hunter2" not in repr(told) and "jane" not in repr(told)
    assert told.version == "https://voices.example:8443/v1"
    assert told.options == {
        "url": "https://voices.example:8443/v1",
        "model": "m",
        "voice": "v",
        "timeout_sec": 3.0,
        "extra": {"deep": [{}]},
        "max_tokens": 5,
    }


def test_a_file_is_read_once_however_often_it_is_described() -> None:
    choices = registry.read(PROFILES / "embedded.toml")
    provenance._read.cache_clear()
    assert describe(choices) == describe(choices)
    read = provenance._read.cache_info()
    assert (read.misses, read.hits) == (4, 4)  # the voice's network, two heads, the speaker's


def test_what_is_no_network_has_no_licence_and_does_no_harm() -> None:
    assert provenance._licence(b"\xff" * 64) is None
    assert provenance._licence(b"") is None
    assert provenance._licence(b"no protocol buffer at all") is None
