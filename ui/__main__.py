"""python -m ui: the server and its pages, on one port."""

import os
import secrets
import sys
import webbrowser
from typing import Annotated

import typer
from fastapi import FastAPI
from pydantic import SecretStr
from rich.console import Console

from models.protocols import Models
from server.company import Company
from server.config import Config
from server.launch import (
    Clock,
    ConfigFile,
    Host,
    Insecure,
    Port,
    Processes,
    Profile,
    Seats,
    TlsCert,
    TlsKey,
    launch,
)


class WithPages:
    """The server with its pages, and a key to the operator's where nobody set one."""

    def __init__(self, open_browser: bool) -> None:
        self._open_browser = open_browser
        self._key: str | None = None
        self._code: str | None = None

    def prepared(self, settings: Config) -> Config:
        """The settings, with tokens of our own where none are set and somebody can read them."""
        made: dict[str, SecretStr] = {}
        # A kiosk has no pages for an operator.
        wanted = settings.on_loopback or settings.make_tokens
        if settings.operator_token is None and wanted and not settings.ui.kiosk:
            self._key = secrets.token_urlsafe(24)
            made["operator_token"] = SecretStr(self._key)
        if settings.make_tokens and settings.asks_for_tokens and not settings.talkers:
            self._code = secrets.token_urlsafe(12)
            made["talker_token"] = SecretStr(self._code)
        if settings.processes > 1:  # imported before they part, it is in memory once
            from ui import app  # noqa: F401
        return settings.model_copy(update=made)

    def build(self, models: Models, settings: Config, company: Company) -> FastAPI:
        from ui import app  # gradio takes seconds to import: after the models

        return app.create(models, settings, company)

    def opened(self, url: str) -> None:
        console = Console(highlight=False, soft_wrap=True)
        # Every address of a machine has no name; this one does for whoever reads it there.
        url = url.replace("//0.0.0.0:", "//localhost:").replace("//[::]:", "//localhost:")
        code = f"/#access={self._code}" if self._code else ""
        console.print(f"\n  [bold]Talk[/]      {url}{code}")
        if self._key:  # good until it stops; whoever can read this may see what was recorded
            console.print(f"  [bold]Operator[/]  {url}/sessions#operator={self._key}\n")
        if self._open_browser and _has_desktop():
            webbrowser.open(url)


def _has_desktop() -> bool:
    if not sys.stdout.isatty():
        return False
    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in screens)


def main(
    config_file: ConfigFile = None,
    host: Host = None,
    port: Port = None,
    models: Profile = None,
    clock: Clock = None,
    seats: Seats = None,
    processes: Processes = None,
    insecure: Insecure = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Show it in a browser.")] = False,
) -> None:
    """Serve the pages, and conversations, on one port."""
    flags = {
        "host": host,
        "port": port,
        "profile": models,
        "clock": clock,
        "seats": seats,
        "processes": processes,
        "insecure": insecure,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
    }
    launch(WithPages(open_browser), config_file, flags)


if __name__ == "__main__":
    typer.run(main)
