"""What is installed is locked, looked up among known weaknesses, and ours to use."""

import json
import re
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from typer import Typer
from typer.testing import CliRunner

from server import advisories, audit, licences, locked
from server.config import ROOT
from server.locked import Locked
from server.needed import needed


def test_the_lock_is_what_the_project_asks_for_and_every_line_has_its_hashes() -> None:
    lock = locked.read()
    assert locked.complaints(lock, locked.wanted()) == []
    assert len(lock) > len(locked.wanted())  # and what they need in turn


def test_the_lock_for_gpus_is_the_lock_and_what_the_gpu_profile_asks_for_besides() -> None:
    lock, with_gpus = locked.read(), locked.read(locked.GPU_LOCK)
    assert locked.complaints(with_gpus, locked.wanted(extra="gpu")) == []
    for name, each in lock.items():
        found = with_gpus[name]
        assert (found.version, set(found.hashes)) == (each.version, set(each.hashes)), name
    # With CUDA: torch for a processor alone, to which a pip.conf may point, has another version.
    assert with_gpus["torch"].version.local is None and "triton" in with_gpus


@pytest.mark.parametrize("lock", [locked.LOCK, locked.GPU_LOCK])
def test_a_lock_names_no_place_to_fetch_from(lock: Path) -> None:
    text = lock.read_text("utf-8")
    assert not re.search(r"(?m)^--|://|index-url|trusted-host|find-links", text)


def test_a_lock_that_is_not_what_was_asked_for_is_told() -> None:
    lock = {
        "one": Locked("one", Version("1.0"), ("0" * 64,)),
        "two": Locked("two", Version("2.0"), ()),
    }
    asked = [Requirement("One>=2"), Requirement("three")]
    assert locked.complaints(lock, asked) == [
        "two has no hash",
        "One is locked to 1.0, but wanted>=2",
        "three is not locked",
    ]


def test_a_line_without_a_version_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("numpy>=2\n")
    with pytest.raises(locked.BadLock):
        locked.read(tmp_path / "lock")


# ---- advisories


def advisory(package: str = "numpy", **affected: Any) -> dict[str, Any]:
    place = {"package": {"ecosystem": "PyPI", "name": package}, **affected}
    return {"id": "OSV-1", "summary": "It can be fooled.", "affected": [place]}


def within(*events: dict[str, str]) -> dict[str, Any]:
    return advisory(ranges=[{"type": "ECOSYSTEM", "events": list(events)}])


@pytest.mark.parametrize(
    ("told", "weak"),
    [
        (within({"introduced": "0"}), True),
        (within({"introduced": "0"}, {"fixed": "2.5"}), True),
        (within({"introduced": "0"}, {"fixed": "2.4.6"}), False),
        (within({"introduced": "2.4.7"}), False),
        (within({"fixed": "1.9"}, {"introduced": "0"}, {"introduced": "2.4"}), True),
        (within({"introduced": "0"}, {"last_affected": "2.4.6"}), True),
        (within({"introduced": "0"}, {"last_affected": "2.4.5"}), False),
        (advisory(versions=["2.4.6"]), True),
        (advisory(versions=["2.4.6.post1"]), False),
        (advisory("NumPy", versions=["2.4.6"]), True),
        (advisory("other", versions=["2.4.6"]), False),
        ({**advisory(versions=["2.4.6"]), "withdrawn": "2026-01-01T00:00:00Z"}, False),
        (advisory(ranges=[{"type": "GIT", "events": [{"introduced": "0"}]}]), False),
    ],
)
def test_an_advisory_is_matched_by_its_versions(told: dict[str, Any], weak: bool) -> None:
    lock = {"numpy": Locked("numpy", Version("2.4.6"), ())}
    assert bool(list(advisories.matched([told], lock))) is weak


def run(*flags: str) -> tuple[int, str]:
    app = Typer()
    app.command()(audit.main)
    result = CliRunner().invoke(app, list(flags))
    return result.exit_code, result.output


def test_the_audit_tells_what_is_weak_and_what_it_does_not_know(tmp_path: Path) -> None:
    version = str(locked.read()["uvicorn"].version)
    told = advisory("uvicorn", versions=[version])
    (tmp_path / "OSV-1.json").write_text(json.dumps(told))
    code, said = run("--advisories", str(tmp_path))
    assert code == 1 and f"weak: uvicorn {version}: OSV-1" in said
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("OSV-2.json", json.dumps(advisory("uvicorn", versions=["0.0.1"])))
    code, said = run("--advisories", str(tmp_path / "all.zip"))
    assert code == 0 and "1 read, 0 about what is locked" in said
    (tmp_path / "empty").mkdir()
    assert run("--advisories", str(tmp_path / "empty"))[0] == 3
    code, said = run("--offline")
    assert code == 0 and "nothing is known about weaknesses" in said


def a_lock(folder: Path, *, without: str = "", **versions: str) -> Path:
    """The lock as it is here, but for one package, or with other versions."""
    lines = [
        f"{name}=={versions.get(name, str(each.version))} --hash=sha256:{each.hashes[0]}"
        for name, each in locked.read().items()
        if name != without
    ]
    (folder / "lock").write_text("\n".join(lines))
    return folder / "lock"


def here(name: str) -> dict[str, str]:
    """Every locked package in the version it is installed in, but one that is in no version."""
    versions = {each: metadata.version(each) for each in locked.read()}
    return versions | ({name: "0.0.1"} if name else {})


def test_asked_to_the_audit_holds_what_is_installed_against_the_lock(tmp_path: Path) -> None:
    same = a_lock(tmp_path, **here(""))
    assert run("--offline", "--installed", "--lock", str(same))[0] == 0
    other = a_lock(tmp_path, **here("idna"))
    told = f"another version: idna {metadata.version('idna')} (locked: 0.0.1)"
    code, said = run("--offline", "--installed", "--lock", str(other))
    assert code == 1 and told in said
    code, said = run("--offline", "--lock", str(other))
    assert code == 0 and told in said


def test_a_lock_without_a_package_that_another_needs_is_told(tmp_path: Path) -> None:
    code, said = run("--offline", "--lock", str(a_lock(tmp_path, without="starlette")))
    assert code == 1 and "starlette, which fastapi needs, is not locked" in said


def test_a_lock_with_a_hash_left_out_is_told_offline_too(tmp_path: Path) -> None:
    lock = a_lock(tmp_path)
    lock.write_text(re.sub(r"(?m)^(idna==\S+) .*$", r"\1", lock.read_text()))
    code, said = run("--offline", "--lock", str(lock))
    assert code == 1 and "idna has no hash" in said


def test_what_an_extra_needs_counts_only_if_the_extra_is_asked_for() -> None:
    plain = {need.name for _, need in needed([Requirement("uvicorn")])}
    extra = {need.name for _, need in needed([Requirement("uvicorn[standard]")])}
    assert {"h11", "click"} <= plain < extra
    assert "httptools" in extra - plain
    assert list(needed([Requirement("there-is-no-such-package")])) == []


# ---- licences


def test_every_runtime_dependency_is_listed_with_its_licence() -> None:
    listed = (ROOT / "docs" / "licences.md").read_text("utf-8")
    rows = dict(re.findall(r"(?m)^\| ([a-z0-9-]+) \| (\d\S*) \|", listed))
    assert rows == {name: str(each.version) for name, each in locked.read().items()}


def test_no_licence_that_asks_for_more_goes_unremarked() -> None:
    assert licences.unremarked() == []
    assert licences.ASKING.search("GNU Affero General Public License v3 (AGPLv3)")
    assert not any(
        re.search(r"\bA?GPL", licences.terms(name)) for name in locked.read()
    )  # LGPL, with a remark, is the most we take


def test_an_unknown_licence_is_told_as_such() -> None:
    assert licences.terms("there-is-no-such-package") == "unknown"
