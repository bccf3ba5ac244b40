"""What is installed is locked, looked up among known weaknesses, and ours to use."""

import json
import re
import zipfile
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


def test_the_lock_is_what_the_project_asks_for_and_every_line_has_its_hashes() -> None:
    lock = locked.read()
    assert locked.complaints(lock, locked.wanted()) == []
    assert len(lock) > len(locked.wanted())  # and what they need in turn


def test_the_lock_names_no_place_to_fetch_from() -> None:
    text = locked.LOCK.read_text("utf-8")
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
