"""Servers that are asked over HTTP: what is made ready for them holds nobody up."""

import httpcore2
import httpx2
import pytest

from models.peer import trusted
from server.health import status_of
from server.processes.neighbours import Neighbours
from server.supervision import _answers

NOBODY = "http://127.0.0.1:9/health"


def test_only_who_speaks_tls_is_verified_and_what_it_takes_is_made_once() -> None:
    assert trusted("http://far.example/v1") is False
    assert trusted("https://far.example/v1") is trusted(httpx2.URL("https://near.example"))


async def test_to_ask_in_the_clear_no_certificates_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def read(**how: object) -> None:  # takes some 70 ms, and the loop stands still
        raise AssertionError("certificates were read")

    monkeypatch.setattr(httpcore2, "default_ssl_context", read)
    with pytest.raises(httpx2.ConnectError):
        await status_of(NOBODY)
    assert not await _answers(NOBODY, 1.0)
    neighbours = Neighbours(tmp_path_factory.mktemp("n"), 0, 2)
    assert await neighbours.ask(1, "anything") is None
    await neighbours.client(1).aclose()
