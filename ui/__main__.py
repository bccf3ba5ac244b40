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
from server.launch import Clock, ConfigFile, Host, Port, Processes, Profile, Seats, launch


class WithPages:
    """The server with its pages, and a key to the operator's where nobody set one."""

    def __init__(self, open_browser: bool) -> None:
        self._open_browser = open_browser
        self._key: str | None = None

    def prepared(self, settings: Config) -> Config:
        # A kiosk has no pages for an operator.
        if settings.operator_token is None and settings.on_loopback and not settings.ui.kiosk:
            self._key = secrets.token_urlsafe(24)
            settings = settings.model_copy(update={"operator_token": SecretStr(self._key)})
        if settings.processes > 1:  # imported before they part, it is in memory once
            from ui import app  # noqa: F401
        return settings

    def build(self, models: Models, settings: Config, company: Company) -> FastAPI:
        from ui import app  # gradio takes seconds to import: after the models

        return app.create(models, settings, company)

    def opened(self, url: str) -> None:
        console = Console(highlight=False, soft_wrap=True)
        console.print(f"\n  [bold]Talk[/]      {url}")
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
    open_browser: Annotated[bool, typer.Option("--open", help="Show it in a browser.")] = False,
) -> None:
    """Serve the pages, and conversations, on one port."""
    flags = {"host": host, "port": port, "profile": models, "clock": clock, "seats": seats}
    flags["processes"] = processes
    launch(WithPages(open_browser), config_file, flags)


if __name__ == "__main__":
    typer.run(main)
