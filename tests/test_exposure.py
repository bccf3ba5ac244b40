"""Who can reach the server, what they must show, and that nobody overhears or overlooks it."""

import asyncio
import json
import logging
import os
import re
import ssl
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from server import access, app, config, launch
from server.config import ROOT, Config, ConfigError
from server.exposure import checked, with_files
from server.page import policy
from server.private_log import TALKATIVE, hush
from tests.made_certificate import made_certificate
from tests.serving import running, serving, standins
from ui.__main__ import WithPages

TOKEN = "a talker's own token"


def settings(**given: Any) -> Config:
    named = {name.upper() if name == "host" else name: value for name, value in given.items()}
    return Config.model_validate({"profile": "standin", **named})


@asynccontextmanager
async def served(**given: Any) -> AsyncGenerator[str, None]:
    """The address of a server that is served as the program serves it."""
    chosen = settings(**given)
    application = app.create(standins(), chosen)
    scheme = "https" if chosen.tls_cert else "http"
    async with running(application, launch.web(application, chosen)) as port:
        yield f"{scheme}://127.0.0.1:{port}"


# ---- the address it listens on


@pytest.mark.parametrize(
    "open_to_others",
    [{"host": "0.0.0.0"}, {"host": "192.0.2.1"}, {"forwarded_allow_ips": "10.0.0.1"}],
)
def test_what_others_can_reach_needs_a_token_or_a_word_that_it_does_not(
    open_to_others: dict[str, Any],
) -> None:
    with pytest.raises(ConfigError, match="ATTUNE_TALKER_TOKEN.*--insecure"):
        checked(settings(**open_to_others))
    for enough in ({"talker_token": TOKEN}, {"operator_token": TOKEN}):
        assert checked(settings(**open_to_others, **enough)).asks_for_tokens
    assert not checked(settings(**open_to_others, insecure=True)).asks_for_tokens


def test_loopback_is_open_until_a_talkers_token_is_set() -> None:
    assert not checked(settings()).asks_for_tokens
    assert not checked(settings(operator_token=TOKEN)).asks_for_tokens
    assert checked(settings(talker_tokens=[TOKEN])).asks_for_tokens


def test_the_operators_token_is_not_handed_to_talkers() -> None:
    with pytest.raises(ConfigError, match="operator_token"):
        checked(settings(operator_token=TOKEN, talker_token=TOKEN))


def test_the_pages_make_tokens_where_somebody_asks_for_that(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pages = WithPages(open_browser=False)
    made = checked(pages.prepared(settings(host="0.0.0.0", make_tokens=True)))
    assert made.asks_for_tokens and len(made.talkers) == 1 and made.operator_token
    pages.opened("http://0.0.0.0:7860")
    told = capsys.readouterr().out
    assert f"http://localhost:7860/#access={made.talkers[0]}" in told
    assert f"/sessions#operator={made.operator_token.get_secret_value()}" in told
    with pytest.raises(ConfigError):
        checked(WithPages(open_browser=False).prepared(settings(host="0.0.0.0")))
    own = WithPages(open_browser=False).prepared(
        settings(host="0.0.0.0", make_tokens=True, talker_token=TOKEN)
    )
    assert own.talkers == [TOKEN]


# ---- tokens in files


def test_tokens_may_lie_in_files(tmp_path: Path) -> None:
    (tmp_path / "operator").write_text("the operator's own token\n")
    (tmp_path / "talkers").write_text(f"{TOKEN}\n\n  another talker's token \n")
    found = with_files(
        settings(
            operator_token_file=tmp_path / "operator",
            talker_token_file=tmp_path / "talkers",
            talker_token="the one in the settings",
        )
    )
    assert found.operator_token == SecretStr("the operator's own token")
    assert found.talkers == [TOKEN, "another talker's token", "the one in the settings"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b"too short", "16 characters"),
        (b"\xff", "no text"),
        (b"one token of mine\nanother token of mine", "one token"),
    ],
)
def test_a_file_without_a_token_is_told_in_a_line_that_does_not_show_it(
    content: bytes | None, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "operator"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=said) as told:
        with_files(settings(operator_token_file=file))
    assert "too short" not in str(told.value) and "mine" not in str(told.value)


@pytest.mark.parametrize(
    "name", ["operator_token", "talker_token", "talker_tokens", "client_secret_key"]
)
def test_a_secret_that_will_not_do_is_not_shown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"ATTUNE_{name.upper()}", "hush")
    with pytest.raises(ConfigError) as told:
        config.read(flags={"profile": "standin"})
    assert name in str(told.value) and "hush" not in str(told.value)


def test_settings_hide_their_secrets_when_they_are_printed() -> None:
    given = settings(operator_token=TOKEN, talker_tokens=[TOKEN], client_secret_key=TOKEN * 2)
    assert TOKEN not in repr(given) and TOKEN not in str(given.model_dump())


# ---- TLS


async def test_conversations_go_over_tls(tmp_path: Path) -> None:
    cert, key = made_certificate(tmp_path)
    trusted = ssl.create_default_context(cafile=str(cert))
    async with served(tls_cert=cert, tls_key=key) as url:
        wss = url.replace("https", "wss") + "/v1/realtime"
        async with connect(wss, ssl=trusted) as socket:
            assert json.loads(await socket.recv())["type"] == "session.created"
        async with httpx2.AsyncClient(verify=trusted, base_url=url) as client:
            answer = await client.get("/health")
            assert answer.headers["Strict-Transport-Security"].startswith("max-age=")
    async with served() as url, httpx2.AsyncClient(base_url=url) as client:
        assert "Strict-Transport-Security" not in (await client.get("/health")).headers


@pytest.mark.parametrize("wrong", ["alone", "missing", "mismatched", "nonsense"])
def test_a_certificate_that_cannot_be_used_is_told_before_anything_loads(
    wrong: str, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    cert, key = made_certificate(tmp_path)
    _, other_key = made_certificate(tmp_path / "other")
    given: dict[str, Any] = {"tls_cert": cert, "tls_key": key}
    match wrong:
        case "alone":
            del given["tls_key"]
        case "missing":
            given["tls_cert"] = tmp_path / "none.pem"
        case "mismatched":
            given["tls_key"] = other_key
        case _:
            key.write_text("no key at all")
    with pytest.raises(ConfigError, match="tls_cert"):
        checked(settings(**given))


# ---- behind a proxy


async def test_a_clients_word_on_its_address_counts_only_from_a_trusted_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access, "WRONG", 2)

    async def wrong_from(url: str, *addresses: str) -> list[int]:
        async with httpx2.AsyncClient(base_url=url) as client:
            return [
                (await client.get("/v1/models", headers={"X-Forwarded-For": each})).status_code
                for each in addresses
            ]

    same, others = ["192.0.2.7"] * 3, ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
    async with served(talker_token=TOKEN) as url:  # whatever one writes, one is one
        assert await wrong_from(url, *others) == [401, 401, 429]
    async with served(talker_token=TOKEN, forwarded_allow_ips="127.0.0.1") as url:
        assert await wrong_from(url, *others) == [401, 401, 401]
        assert await wrong_from(url, *same) == [401, 401, 429]
        # The proxy adds the address it sees: what a client wrote before it is not believed.
        forged = [f"{each}, 192.0.2.9" for each in others]
        assert await wrong_from(url, *forged) == [401, 401, 429]
    with pytest.raises(ConfigError, match="forwarded_allow_ips"):
        checked(settings(talker_token=TOKEN, forwarded_allow_ips="my.proxy"))


@pytest.mark.parametrize("seen", ["10.1.2.3", "::ffff:10.1.2.3"])
async def test_a_proxys_word_counts_also_where_a_socket_of_ipv6_writes_its_address(
    seen: str,
) -> None:
    told: list[Any] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        told.append(scope["client"][0])

    chosen = settings(talker_token=TOKEN, forwarded_allow_ips="10.0.0.0/8")
    web = launch.web(application, chosen)
    web.load()
    forwarded = [(b"x-forwarded-for", b"192.0.2.7")]
    for client in (seen, "::ffff:11.1.2.3"):
        scope = {"type": "http", "client": (client, 1), "headers": forwarded}
        await web.loaded_app(scope, None, None)
    assert told == ["192.0.2.7", "::ffff:11.1.2.3"]


async def test_behind_a_proxy_the_name_of_an_allowed_page_is_ours() -> None:
    async with serving(origins=["https://talk.example"]) as (url, _):
        page = {"Host": "talk.example", "Origin": "https://talk.example"}
        base = url.replace("ws://", "http://").removesuffix("/realtime")
        async with httpx2.AsyncClient() as client:
            assert (await client.get(f"{base}/models", headers=page)).status_code == 200
            page["Host"] = "rebound.example"
            assert (await client.get(f"{base}/models", headers=page)).status_code == 403


# ---- what browsers are told


async def test_every_answer_tells_browsers_to_be_careful() -> None:
    async with served(talker_token=TOKEN) as url, httpx2.AsyncClient(base_url=url) as client:
        for path in ("/", "/health", "/v1/models", "/api/sessions", "/nothing", "/openapi.json"):
            headers = (await client.get(path)).headers
            assert headers["X-Content-Type-Options"] == "nosniff", path
            assert headers["Referrer-Policy"] == "no-referrer"
            assert headers["X-Frame-Options"] == "SAMEORIGIN"
            assert headers["Permissions-Policy"].startswith("microphone=(self), camera=()")
            assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert "frame-ancestors" in headers["Content-Security-Policy"], path
            assert "unsafe" not in headers["Content-Security-Policy"]
            assert "server" not in headers
            if path.startswith(("/api", "/v1")):
                assert headers["Cache-Control"] == "no-store"


def test_the_plain_page_may_run_its_own_script_and_no_other() -> None:
    one, other = "<style>a</style><script>one()</script>", "<style>a</style><script>two()</script>"
    assert policy(one) != policy(other)
    assert re.search(r"script-src 'sha256-[\w+/]{43}=';", policy(one))


# ---- the log


def test_libraries_that_write_addresses_down_are_hushed_at_any_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in TALKATIVE:
        monkeypatch.setattr(logging.getLogger(name), "level", logging.DEBUG)
    hush()
    assert not any(logging.getLogger(name).isEnabledFor(logging.INFO) for name in TALKATIVE)


@pytest.mark.slow
async def test_no_secret_is_in_the_log_even_where_it_tells_everything(tmp_path: Path) -> None:
    cert, key = made_certificate(tmp_path)
    secrets = {
        "ATTUNE_TALKER_TOKEN": "talker-token-in-header",
        "ATTUNE_OPERATOR_TOKEN": "operator-token-in-settings",
        "ATTUNE_CLIENT_SECRET_KEY": "signing-key-" * 4,
    }
    environment = {**os.environ, **secrets, "ATTUNE_LOG_LEVEL": "debug", "PYTHONUNBUFFERED": "1"}
    environment |= {"ATTUNE_RECORDING__RUNS": str(tmp_path / "runs")}
    flags = ("--models", "standin", "--port", "0", "--tls-cert", str(cert), "--tls-key", str(key))
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "server", *flags, cwd=ROOT, env=environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    assert program.stdout is not None
    try:
        written = b""
        async with asyncio.timeout(60):
            while b"listens on" not in written:
                line = await program.stdout.readline()
                assert line, written.decode()
                written += line
            found = re.search(rb"listens on (https://\S+)", written)
            assert found is not None
            await _show_secrets_everywhere(found[1].decode(), cert, secrets["ATTUNE_TALKER_TOKEN"])
            program.terminate()
            written += await program.stdout.read()
            await program.wait()
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    log = written.decode()
    assert log.count("opened, 1 in all") == 2, log
    shown = ["in-header", "in-query", "in-protocol", "in-settings", "signing-key", "ek_", "hushed"]
    assert [each for each in shown if each in log] == []


async def _show_secrets_everywhere(url: str, cert: Path, token: str) -> None:
    trusted = ssl.create_default_context(cafile=str(cert))
    wss = url.replace("https", "wss") + "/v1/realtime"
    bearer = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(verify=trusted, base_url=url, headers=bearer) as client:
        made = await client.post("/v1/realtime/client_secrets", json={})
        assert (await client.get("/api/sessions?token=secret-in-query")).status_code == 401
        assert (await client.get("/api/sessions/sess_hushed")).status_code in (401, 404)
        odd = await client.post("/v1/audio/speech", content=b'{"input": hushed')
        assert odd.status_code == 400
    async with connect(
        f"{wss}?resume=0.sess_hushed.secret-in-query", ssl=trusted, additional_headers=bearer
    ) as nobody:
        assert json.loads(await nobody.recv())["error"]["code"] == "resume_failed"
    async with connect(
        f"{wss}?attune=1&note=secret-in-query", ssl=trusted, additional_headers=bearer
    ) as one:
        await one.recv()
        await one.send('{"type": "session.update", "session": {"instructions": "hushed", "x": 1}}')
        await one.send("not even JSON: hushed")
        errors = 0
        while errors < 2:
            errors += json.loads(await one.recv())["type"] == "error"
    named = [
        Subprotocol("realtime"),
        Subprotocol("openai-insecure-api-key." + made.json()["value"]),
    ]
    async with connect(wss, ssl=trusted, subprotocols=named) as two:
        await two.recv()
    wrong = [Subprotocol("openai-insecure-api-key.secret-in-protocol")]
    with pytest.raises(InvalidStatus):
        async with connect(wss, ssl=trusted, subprotocols=wrong):
            pass
