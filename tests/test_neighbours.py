"""Who else gets the sound or words of a conversation, known in one place."""

import pytest

from models.registry import Choice
from server.neighbours import address, elsewhere


def test_a_server_a_backend_knows_by_itself_is_found() -> None:
    assert address("responder", Choice("vllm")) == "http://127.0.0.1:8000/v1"
    assert address("responder", Choice("standin")) is None


def test_only_servers_on_other_machines_are_named_once_and_never_their_keys() -> None:
    far = Choice("openai", {"url": "https://me:pass@Voices.example/v1", "key": "k"})
    first = {
        "responder": Choice("vllm", {"url": "http://127.0.0.1:8000/v1"}),
        "speaker": far,
        "transcriber": Choice("standin", {}),
    }
    assert elsewhere([first, {"speaker": far}]) == [("speaker", "voices.example")]


def test_a_far_server_that_is_a_backends_own_default_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def vllm(url: str = "https://far.example/v1") -> None: ...

    monkeypatch.setattr("models.responder_vllm.VllmResponder", vllm)
    assert elsewhere([{"responder": Choice("vllm")}]) == [("responder", "far.example")]


def test_what_is_no_address_is_nobody() -> None:
    assert elsewhere([{"responder": Choice("vllm", {"url": "http://[half"})}]) == []
