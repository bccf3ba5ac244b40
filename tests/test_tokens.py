"""Who may talk where tokens are asked for, and what a browser is given instead of one."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from openai import AsyncOpenAI, AuthenticationError
from openai.types.realtime import RealtimeServerEvent
from openai.types.realtime.client_secret_create_response import ClientSecretCreateResponse
from pydantic import TypeAdapter
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from server import access
from server.client import CallError, calling
from tests.serving import serving

TALKER, OPERATOR = "a talker's own token", "the operator's own token"
BOTH: dict[str, Any] = {"talker_tokens": [TALKER], "operator_token": OPERATOR}
OFFICIAL: TypeAdapter[RealtimeServerEvent] = TypeAdapter(RealtimeServerEvent)
pytestmark = pytest.mark.asyncio(loop_scope="module")


def http(url: str) -> str:
    return url.replace("ws://", "http://").removesuffix("/v1/realtime")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def protocols(key: str) -> list[Subprotocol]:
    return [Subprotocol("realtime"), Subprotocol(f"openai-insecure-api-key.{key}")]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def door() -> AsyncGenerator[str, None]:
    """The address of a server that asks for tokens, and never tires of wrong ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(access, "WRONG", 10**9)
        async with serving(**BOTH) as (url, _):
            yield url


@asynccontextmanager
async def asking(url: str, token: str | None = None) -> AsyncGenerator[httpx2.AsyncClient, None]:
    """Somebody who asks a server that wants tokens over HTTP."""
    headers = bearer(token) if token else {}
    async with httpx2.AsyncClient(base_url=http(url), headers=headers) as client:
        yield client


async def created(socket: ClientConnection) -> dict[str, Any]:
    first = json.loads(await socket.recv())
    OFFICIAL.validate_python(first)
    assert first["type"] == "session.created"
    return dict(first["session"])


async def secret(url: str, token: str = TALKER, **body: Any) -> dict[str, Any]:
    async with httpx2.AsyncClient(base_url=http(url), headers=bearer(token)) as client:
        answer = await client.post("/v1/realtime/client_secrets", json=body)
        assert answer.status_code == 200, answer.text
        ClientSecretCreateResponse.model_validate(answer.json(), strict=False)
        return dict(answer.json())


async def refused(url: str, **how: Any) -> tuple[int, dict[str, Any]]:
    with pytest.raises(InvalidStatus) as told:
        async with connect(url, **how):
            pass
    answer = told.value.response
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    return answer.status_code, json.loads(answer.body or b"{}")["error"]


async def test_whoever_shows_a_token_may_talk(door: str) -> None:
    for token in (TALKER, OPERATOR):
        async with connect(door, additional_headers=bearer(token)) as socket:
            await created(socket)


async def test_whoever_shows_none_is_refused_before_the_socket_opens(door: str) -> None:
    wrong = [{}, bearer("none at all"), bearer(""), bearer("\xe9" * 20)]
    for headers in [*wrong, {"Authorization": f"Basic {TALKER}"}]:
        status, error = await refused(door, additional_headers=headers)
        assert (status, error["code"]) == (401, "invalid_api_key")
        assert set(error) == {"message", "type", "param", "code"}


async def test_the_official_client_gets_in_with_a_token_and_is_told_without(door: str) -> None:
    base = http(door) + "/v1"
    async with AsyncOpenAI(api_key=TALKER, base_url=base) as client:
        made = await client.realtime.client_secrets.create(
            session={"type": "realtime", "instructions": "Be brief."}
        )
        assert made.session.type == "realtime"
        async with client.realtime.connect(model="attune") as connection:
            assert (await connection.recv()).type == "session.created"
        assert [model.id async for model in client.models.list()] == ["attune"]
    brief = AsyncOpenAI(api_key=made.value, base_url=base)
    async with brief, brief.realtime.connect(model="attune") as connection:
        first = await connection.recv()
        assert first.type == "session.created"
        assert first.session.type == "realtime"
        assert first.session.instructions == "Be brief."
    async with AsyncOpenAI(api_key="wrong", base_url=base, max_retries=0) as client:
        with pytest.raises(AuthenticationError):
            await client.models.list()


async def test_a_browser_shows_its_secret_in_a_sub_protocol(door: str) -> None:
    made = await secret(door, session={"type": "realtime", "model": "gpt-realtime"})
    async with connect(door, subprotocols=protocols(made["value"])) as socket:
        assert socket.subprotocol == "realtime"
        assert (await created(socket))["model"] == "gpt-realtime"
    status, _ = await refused(door, subprotocols=protocols(made["value"] + "x"))
    assert status == 401


async def test_a_secret_may_open_several_sessions_and_transcriptions_too(door: str) -> None:
    made = await secret(door, session={"type": "transcription"})
    for _ in range(2):
        async with connect(door, subprotocols=protocols(made["value"])) as socket:
            assert (await created(socket))["type"] == "transcription"


async def test_a_secret_opens_conversations_and_nothing_else(door: str) -> None:
    value = (await secret(door))["value"]
    async with httpx2.AsyncClient(base_url=http(door), headers=bearer(value)) as client:
        for path in ("/v1/models", "/api/arena/leaderboard", "/api/sessions"):
            assert (await client.get(path)).status_code == 401
        again = await client.post("/v1/realtime/client_secrets", json={})
        assert again.status_code == 401


async def test_every_door_to_the_models_asks_for_a_token(door: str) -> None:
    doors = [
        ("GET", "/v1/models"),
        ("POST", "/v1/audio/speech"),
        ("POST", "/v1/audio/transcriptions"),
        ("POST", "/v1/realtime/client_secrets"),
        ("POST", "/api/arena/rounds"),
        ("GET", "/api/arena/leaderboard"),
    ]
    async with asking(door) as client:
        for method, path in doors:
            answer = await client.request(method, path)
            assert answer.status_code == 401, path
            assert answer.json()["error"]["code"] == "invalid_api_key"
        described = (await client.get("/openapi.json")).json()["paths"]
        for method, path in doors:
            assert described[path][method.lower()]["security"] == [{"guest": []}], path
            assert "401" in described[path][method.lower()]["responses"]
        for path in ("/health", "/ready", "/"):
            assert (await client.get(path)).status_code == 200


async def test_a_talkers_token_does_not_open_what_is_the_operators(door: str) -> None:
    async with asking(door, TALKER) as client:
        for path in ("/api/sessions", "/api/system", "/api/reports", "/api/exports"):
            assert (await client.get(path)).status_code == 401, path


async def test_wrong_tokens_are_held_up_and_right_ones_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access, "WRONG", 3)
    async with serving(**BOTH) as (url, _):
        seen = [(await refused(url, additional_headers=bearer("wrong")))[0] for _ in range(5)]
        assert seen == [401, 401, 401, 429, 429]
        async with connect(url, additional_headers=bearer(TALKER)) as socket:
            await created(socket)


async def test_whoever_is_refused_makes_no_error_in_the_log(
    door: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await refused(door))[0] == 401
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


async def test_a_secret_for_what_cannot_be_is_refused(door: str) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"expires_after": {"seconds": 9}}, "expires_after"),
        ({"expires_after": {"seconds": 7201}}, "expires_after"),
        ({"expires_after": {"anchor": "now"}}, "expires_after"),
        ({"session": {"type": "realtime", "nonsense": 1}}, "session.nonsense"),
        ({"session": {"instructions": 5}}, "session.instructions"),
        ({"other": 1}, "other"),
    ]
    async with asking(door, TALKER) as client:
        for body, param in wrong:
            answer = await client.post("/v1/realtime/client_secrets", json=body)
            assert answer.status_code == 400
            assert answer.json()["error"]["param"] == param


async def test_on_loopback_nobody_is_asked_and_a_secret_still_sets_its_session() -> None:
    async with serving() as (url, _):
        async with connect(url, additional_headers=bearer("none")) as socket:
            await created(socket)
        made = await secret(url, token="none", session={"instructions": "Be brief."})
        async with connect(url, subprotocols=protocols(made["value"])) as socket:
            assert (await created(socket))["instructions"] == "Be brief."
        status, _ = await refused(url, subprotocols=protocols("ek_of.another"))
        assert status == 401


async def test_our_own_caller_shows_the_token_of_its_environment(
    door: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ATTUNE_TOKEN", raising=False)
    with pytest.raises(CallError, match="set ATTUNE_TOKEN"):
        async with calling(door):
            pass
    monkeypatch.setenv("ATTUNE_TOKEN", TALKER)
    async with calling(door) as call, asyncio.timeout(5):
        await call.until("session.created")


async def test_a_longest_secret_still_opens_a_conversation(door: str) -> None:
    words = " ".join(str(number**3) for number in range(1_000))
    made = await secret(door, session={"instructions": words})
    assert len(made["value"]) > 4_000
    async with connect(door, subprotocols=protocols(made["value"])) as socket:
        async with asyncio.timeout(5):
            assert (await created(socket))["instructions"] == words
