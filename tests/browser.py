"""Pages in a real Chromium: with a microphone that hears a recording, and nothing overlooked."""

import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    async_playwright,
    expect,
)

from models.protocols import Models
from server.config import Config
from server.house import House
from tests.serving import UNMEASURED, running, standins
from ui import app

CHROMIUM = shutil.which("chromium")
OPERATOR = "operator-key-for-tests"
expect.set_options(timeout=20_000)  # ms: as long as a busy machine may take to show something
SIZES = {"wide": (1440, 900), "middle": (1024, 768), "phone": (390, 844)}


@dataclass(slots=True)
class Watched:
    """A page, and all that went wrong in it or left it for another host."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Nothing went wrong, and nobody else was asked for anything."""
        assert self.complaints == []
        assert self.elsewhere == []


@asynccontextmanager
async def paged(
    models: Models | None = None, **settings: Any
) -> AsyncGenerator[tuple[str, House], None]:
    """The address of a running server with its pages, and its house."""
    admission = {**UNMEASURED, **settings.pop("admission", {})}
    given = {"profile": "standin", "operator_token": OPERATOR, "admission": admission, **settings}
    application = app.create(models or standins(), Config.model_validate(given))
    async with running(application) as port:
        yield f"http://127.0.0.1:{port}", application.state.house


@asynccontextmanager
async def chromium(
    *flags: str, microphone: Path | None = None, allowed: bool = True
) -> AsyncGenerator[Browser, None]:
    """A browser whose microphone hears this WAV file over and over; without one, a beep."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium; `make chromium` brings it, as root on Debian")
    given = ["--no-sandbox", "--autoplay-policy=user-gesture-required", *flags]
    given.append("--use-fake-device-for-media-stream")
    if allowed:
        given.append("--use-fake-ui-for-media-stream")
    if microphone:
        given.append(f"--use-file-for-fake-audio-capture={microphone}")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=given)
        try:
            yield browser
        finally:
            await browser.close()


async def open_page(
    browser: Browser,
    url: str,
    size: str = "wide",
    *,
    dark: bool = False,
    expected: Sequence[str] = (),
    **context: Any,
) -> Watched:
    """Open an address and watch it; `expected` are parts of complaints that belong to the test."""
    width, height = SIZES[size]
    opened: BrowserContext = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        locale=context.pop("locale", "en-GB"),
        has_touch=size == "phone",
        # Tests take it for an empty page; as an answer in JSON it may run nothing.
        bypass_csp=urlsplit(url).path == "/health",
        **context,
    )
    watched = Watched(await opened.new_page())
    home = urlsplit(url).netloc

    def complain(text: str) -> None:
        if not any(part in text for part in expected):
            watched.complaints.append(text)

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complain(f"{message.type}: {message.text}")

    def asked(address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("data", "blob", "about") and parts.netloc != home:
            watched.elsewhere.append(address)

    watched.page.on("console", said)
    watched.page.on("pageerror", lambda error: complain(str(error)))
    watched.page.on("request", lambda request: asked(request.url))
    watched.page.on("websocket", lambda socket: asked(socket.url))
    await watched.page.goto(url)
    return watched


async def module(watched: Watched, script: str, *given: Any) -> Any:
    """Run a function body with `import()` at hand in the page; what it returns comes back."""
    return await watched.page.evaluate(f"async (given) => {{ {script} }}", list(given))
