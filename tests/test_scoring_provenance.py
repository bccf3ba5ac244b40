"""Exactly which models and which checkout scores come from."""

import json
import subprocess
from pathlib import Path

from server.scoring import provenance
from server.scoring.telling import MODELS_USED, session_told
from server.sessions.format import ModelFile, ModelUsed
from tests.scoring_parts import conversation


def used(sha: str, **others: ModelUsed) -> dict[str, str]:
    """What is told of a session whose responder has this file."""
    model = ModelUsed(
        backend="llamacpp",
        options={"url": "https://somebody:secret@host.example"},
        version="xllamacpp 1",
        files=[ModelFile(name="a.gguf", sha256=sha)],
    )
    talk = conversation([])
    session = talk.session.model_copy(update={"models": {"responder": model, **others}})
    object.__setattr__(talk, "session", session)
    told = session_told(talk, 1)
    return {MODELS_USED: told[MODELS_USED]}


def test_models_are_told_apart_by_their_files_and_counted() -> None:
    other = used("aa", speaker=ModelUsed(backend="hibari"))
    found = provenance.models([used("aa"), used("bb"), used("aa"), other, {}])
    told = [(each.role, [file.sha256 for file in each.used.files], each.sessions) for each in found]
    assert told == [("responder", ["aa"], 3), ("responder", ["bb"], 1), ("speaker", [], 1)]
    assert found[0].used.version == "xllamacpp 1"
    assert "secret" not in json.dumps(used("aa"))


def test_a_checkout_has_a_commit_and_a_folder_has_none(tmp_path: Path) -> None:
    assert provenance.commit(tmp_path / "none") is None
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.example")
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "file").write_text("one")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    told = provenance.commit(tmp_path)
    assert told and head.stdout.startswith(told)
    provenance.commit.cache_clear()
    (tmp_path / "file").write_text("two")
    assert provenance.commit(tmp_path) == f"{told}-dirty"
    provenance.commit.cache_clear()
