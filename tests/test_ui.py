"""The pages' own part of the server: words, settings, and what stays shut."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI

from models.perceiver_off import Off
from models.registry import Choice
from server.config import Config, ConfigError, Recording
from tests.serving import standins
from ui import app
from ui.page_settings import PageSettings, storage, understood
from ui.wording import LANGUAGES, spoken, wording

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "ui" / "static"
# t("talk.start"), has("…"): names that are put together while running are tried in the browser.
NAMED = re.compile(r"\b(?:t|has)\(\s*[\"']([a-z][\w.]*)[\"']")
in_one_loop = pytest.mark.asyncio(loop_scope="module")
PLACEHOLDER = re.compile(r"\{\w+\}")


def settings(**ui: Any) -> PageSettings:
    return PageSettings.of(Config.model_validate({"profile": "standin", "ui": ui}), Off())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pages() -> AsyncGenerator[FastAPI, None]:
    """With everything on; made once, since Gradio takes its time."""
    made = app.create(standins(), Config.model_validate({"profile": "standin"}))
    yield made
    made.state.house.library.close()


@asynccontextmanager
async def asking(pages: FastAPI) -> AsyncGenerator[httpx2.AsyncClient, None]:
    transport = httpx2.ASGITransport(pages)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


# --- words


def test_both_languages_have_the_same_texts_with_the_same_gaps() -> None:
    english, chinese = wording("en"), wording("zh")
    assert english.keys() == chinese.keys()
    gaps: Mapping[str, list[set[str]]] = {
        name: [set(PLACEHOLDER.findall(texts[name])) for texts in (english, chinese)]
        for name in english
    }
    assert {name: found for name, found in gaps.items() if found[0] != found[1]} == {}


def test_chinese_is_not_english_left_as_it_was() -> None:
    english, chinese = wording("en"), wording("zh")
    same = [name for name, text in english.items() if " " in text and chinese[name] == text]
    assert same == []


@pytest.mark.parametrize(
    "script", sorted(STATIC.rglob("*.js")), ids=lambda path: str(path.relative_to(STATIC))
)
def test_every_text_a_script_names_exists(script: Path) -> None:
    named = {name for name in NAMED.findall(script.read_text("utf-8")) if "." in name}
    assert named - wording("en").keys() == set()


@pytest.mark.parametrize(
    ("accepted", "set_to", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "auto", "zh"),
        ("de-DE,de;q=0.9,en;q=0.5", "auto", "en"),
        ("zh-CN", "en", "en"),
        (None, "auto", "en"),
        ("*;;,,", "auto", "en"),
    ],
)
def test_the_page_speaks_as_the_operator_says_or_the_browser_asks(
    accepted: str | None, set_to: str, language: str
) -> None:
    assert spoken(accepted, set_to) == language


# --- settings


def test_the_operators_own_names_and_words_take_the_place_of_ours() -> None:
    shown = settings(
        name="Haven", tagline="Here to listen", text={"en": {"shell.pages.talk": "Say hello"}}
    ).shown("en")
    assert (shown["name"], shown["tagline"]) == ("Haven", "Here to listen")
    assert shown["strings"]["shell.pages.talk"] == "Say hello"
    assert shown["strings"]["shell.pages.compare"] == wording("en")["shell.pages.compare"]


def test_a_text_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"ui\.text\.en.*talk\.strat"):
        settings(text={"en": {"talk.strat": "Say hello"}})


def test_a_logo_that_is_not_there_or_no_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no"):
        settings(logo=tmp_path / "logo.svg")
    (tmp_path / "logo.html").write_text("<script>")
    with pytest.raises(ConfigError, match="neither an SVG nor a PNG"):
        settings(logo=tmp_path / "logo.html")


def test_the_operators_consent_text_is_shown_by_paragraphs(tmp_path: Path) -> None:
    (tmp_path / "consent.txt").write_text("You talk to\na machine.\n\n\nWe keep little.\n")
    shown = settings(consent_file=tmp_path / "consent.txt").shown("en")
    assert shown["consent"] == {"paragraphs": ["You talk to a machine.", "We keep little."]}
    with pytest.raises(ConfigError, match="cannot be read"):
        settings(consent_file=tmp_path / "absent.txt")


@pytest.mark.parametrize(
    ("runs", "host"),
    [("s3://bucket/runs", "bucket"), ("gs://me@bucket", "bucket"), ("runs", None)],
)
def test_storage_elsewhere_is_named_before_anybody_consents(runs: str, host: str | None) -> None:
    named = [each["host"] for each in storage(Recording(runs=runs))]
    assert named == ([host] if host else [])


def test_a_page_says_which_language_is_understood_where_it_is_but_one() -> None:
    assert understood(Choice("moonshine", {})) == "en"
    assert understood(Choice("whisper", {"language": "zh"})) == "zh"
    assert understood(Choice("whisper", {"language": ""})) is None


def test_demo_recordings_are_there_and_titled_in_both_languages() -> None:
    for language in LANGUAGES:
        clips = settings().shown(language)["demo"]
        assert len(clips) >= 5
        assert all(clip["title"] and 0.5 < clip["seconds"] < 20 for clip in clips)
    assert settings(demo=False).shown("en")["demo"] == []


def test_a_demo_folder_without_a_list_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"demo\.toml"):
        settings(demo_folder=tmp_path)


# --- what is served


@in_one_loop
async def test_pages_and_api_share_a_port(pages: FastAPI) -> None:
    async with asking(pages) as client:
        for path in ("/", "/compare", "/sessions", "/scores", "/system"):
            answer = await client.get(path)
            assert answer.status_code == 200 and "html" in answer.headers["content-type"], path
        assert (await client.get("/health")).json()["status"] == "ok"
        assert (await client.get("/page/settings.json?lang=zh")).json()["language"] == "zh"
        assert (await client.get("/static/core/shell.js")).status_code == 200


@in_one_loop
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/gradio_api/upload"),
        ("POST", "/gradio_api/queue/join"),
        ("POST", "/gradio_api/component_server"),
        ("POST", "/gradio_api/call/predict"),
        ("POST", "/vibe-edit"),
        ("GET", "/gradio_api/proxy=http://example.org"),
        ("GET", "/gradio_api/file=/etc/passwd"),
        ("GET", "/runs"),
        ("GET", "/monitoring"),
        ("POST", "/login"),
        ("GET", "/docs"),
        ("GET", "/redoc"),
    ],
)
async def test_what_the_pages_do_not_need_of_gradio_is_shut(
    pages: FastAPI, method: str, path: str
) -> None:
    async with asking(pages) as client:
        assert (await client.request(method, path)).status_code in (404, 405)


@in_one_loop
async def test_browsers_are_told_what_a_page_may_do(pages: FastAPI) -> None:
    async with asking(pages) as client:
        for path in ("/", "/sessions"):
            policy = (await client.get(path)).headers["content-security-policy"]
            assert "frame-ancestors 'self'" in policy and "object-src 'none'" in policy
            assert "connect-src 'self' blob:;" in policy  # and to nobody else's socket
        for path in ("/favicon.ico", "/page/logo"):  # a logo may hold scripts
            drawn = await client.get(path)
            assert drawn.headers["content-type"].startswith("image/svg")
            assert drawn.headers["content-security-policy"].startswith("default-src 'none'")
        for path in ("/static/core/shell.js", "/gradio_api/upload"):  # the doorkeeper's own, too
            script = await client.get(path)
            assert script.headers["x-content-type-options"] == "nosniff"
            assert script.headers["referrer-policy"] == "no-referrer"


@in_one_loop
@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/page/demo/..%2f"])
async def test_only_what_is_meant_for_the_pages_can_be_fetched(pages: FastAPI, path: str) -> None:
    async with asking(pages) as client:
        assert (await client.get(path)).status_code == 404


@in_one_loop
async def test_a_kiosk_has_the_conversation_and_nothing_else() -> None:
    made = app.create(
        standins(), Config.model_validate({"profile": "standin", "ui": {"kiosk": True}})
    )
    async with asking(made) as client:
        assert (await client.get("/")).status_code == 200
        assert (await client.get("/page/settings.json")).json()["kiosk"] is True
        for path in ("/compare", "/sessions", "/scores", "/system"):
            assert (await client.get(path)).status_code == 404, path
    made.state.house.library.close()
