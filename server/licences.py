"""python -m server.licences: under what terms each package is that the server runs on."""

import re
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from server import locked
from server.config import ROOT

PAGE = ROOT / "docs" / "licences.md"
# Terms that ask more than to keep a notice: each needs a remark on why it does no harm here.
ASKING = re.compile(r"GPL|MPL|Mozilla|EUPL|SSPL|BUSL|NonCommercial|Proprietary|unknown", re.I)
REMARKS = {
    "certifi": "a list of certificates, used unchanged",
    "orjson": "used unchanged, as a library",
    "soundfile": "its wheels carry libsndfile (LGPL-2.1), loaded at run time and replaceable",
    "soxr": "used unchanged, loaded at run time and replaceable",
    "tqdm": "used unchanged, as a library",
}
HEAD = """# Licences

Written by `make licences` from the metadata of the packages in `requirements.lock`: the runtime
dependencies, and what they need in turn. Attune itself is Apache-2.0. The models' weights have a
list of their own: `.venv/bin/python -m models.weights --list`. Tools of development and the extras
are not handed on, and not listed.

| package | version | licence | remark |
|---|---|---|---|
"""


def terms(name: str) -> str:
    """A package's licence, as it says itself."""
    try:
        told = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return "unknown"
    if "License-Expression" in told:
        return told["License-Expression"]
    classified = [
        line.rpartition(" :: ")[2]
        for line in told.get_all("Classifier") or []
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    if classified:
        return ", ".join(classified)
    given = (told.get_all("License") or [""])[0]
    return str(given).partition("\n")[0][:60] or "unknown"


def page() -> str:
    """The whole list."""
    rows = [
        f"| {name} | {package.version} | {terms(name)} | {REMARKS.get(name, '')} |"
        for name, package in sorted(locked.read().items())
    ]
    return HEAD + "\n".join(rows) + "\n"


def unremarked() -> list[str]:
    """Packages whose terms ask for more, and that nobody has thought about."""
    return [
        f"{name}: {terms(name)}"
        for name in locked.read()
        if ASKING.search(terms(name)) and name not in REMARKS
    ]


def main(out: Annotated[Path, typer.Option(help="Where the list goes.")] = PAGE) -> None:
    """Write the list of licences."""
    out.write_text(page(), "utf-8")
    for line in unremarked():
        print(f"to be thought about: {line}")
    raise typer.Exit(1 if unremarked() else 0)


if __name__ == "__main__":
    typer.run(main)
