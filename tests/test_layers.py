"""Imports point one way: models know nobody, the server knows models, the pages know the server."""

import ast
from pathlib import Path

import pytest

import models

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "models": {"models"},
    "server": {"models", "server"},
    "ui": {"models", "server", "ui"},
}
OURS = {*MAY_IMPORT, "tests"}
FILES = sorted(file for layer in MAY_IMPORT for file in (ROOT / layer).rglob("*.py"))


def layers_imported(source: str, layer: str) -> set[str]:
    """Which of our layers a file imports, wherever in the file it does so."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            # A relative import stays in its layer: the layer is the outermost package.
            found.add(layer if node.level else (node.module or "").partition(".")[0])
    return found & OURS


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_imports_only_what_its_layer_may(file: Path) -> None:
    layer = file.relative_to(ROOT).parts[0]
    assert layers_imported(file.read_text(), layer) <= MAY_IMPORT[layer]


def test_an_import_is_seen_however_it_is_written() -> None:
    source = """
import os, ui.app
from server.link import Link
def late():
    from tests import fakes
    from . import audio
"""
    assert layers_imported(source, "models") == {"models", "server", "tests", "ui"}


def test_there_are_files_to_look_at() -> None:
    assert {file.relative_to(ROOT).parts[0] for file in FILES} >= {"models", "server"}


def test_the_package_called_models_is_ours() -> None:
    assert models.__file__ is not None
    assert Path(models.__file__).parent == ROOT / "models"
