"""docs/security.md promises a test for each threat: they exist."""

import re

from server.config import ROOT, Config

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")


def test_every_test_that_the_threat_model_names_exists() -> None:
    written = "\n".join(file.read_text("utf-8") for file in (ROOT / "tests").glob("test_*.py"))
    there = set(re.findall(r"(?m)^(?:async )?def (test_\w+)\(", written))
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named and named <= there, named - there


def test_every_threat_has_a_test() -> None:
    table = PAGE.partition("## Threats")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    assert [row for row in rows if "`test_" not in row] == []


def test_the_settings_it_tells_of_are_ours() -> None:
    table = PAGE.partition("| setting | |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    named = {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}
    assert named and named <= set(Config.model_fields)
