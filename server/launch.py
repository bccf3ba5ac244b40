"""Load the models, warm them, open the port: for `python -m server` and `python -m ui` alike."""

import asyncio
import gc
import logging
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer
import uvicorn
from fastapi import FastAPI

from models import registry
from models.errors import BackendError
from models.protocols import Models
from models.warm import warm
from models.weights import WeightsError
from server import config
from server.company import ALONE, Company

MAX_MESSAGE_BYTES = 24 * 1024 * 1024  # a 15 MiB append in base64, with room

ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="A TOML file; attune.toml is read by itself.")
]
Host = Annotated[str | None, typer.Option(help="Address to bind (HOST).")]
# Numbers are taken as text: config tells about a bad one in a line, wherever it was set.
Port = Annotated[
    str | None, typer.Option(metavar="INTEGER", help="Port to bind, 0 for any (PORT).")
]
Profile = Annotated[
    str | None, typer.Option("--models", help="Profile: embedded, or standin for none at all.")
]
Clock = Annotated[str | None, typer.Option(help="wall, or samples: paced by the audio received.")]
Seats = Annotated[str | None, typer.Option(metavar="INTEGER", help="Conversations at once.")]


Processes = Annotated[
    str | None, typer.Option(metavar="INTEGER", help="That serve the port, with one set of models.")
]


class Served(Protocol):
    """What is put behind the port, and what to say once it is open."""

    def prepared(self, settings: config.Config) -> config.Config:
        """Once, before there are several processes; what they have in common is made here."""
        ...

    def build(self, models: Models, settings: config.Config, company: Company) -> FastAPI: ...

    def opened(self, url: str) -> None: ...


def launch(served: Served, config_file: Path | None, flags: dict[str, Any]) -> None:
    """Serve until stopped; what is wrong with the settings is told in a line."""
    with ExitStack() as opened:
        try:
            settings = config.read(config_file, flags)
            logging.basicConfig(
                level=settings.log_level.upper(),
                format="%(asctime)s %(levelname)s %(name)s %(message)s",
            )
            door = opened.enter_context(bind(settings.host, settings.port))
            settings = served.prepared(settings)
            if settings.processes > 1:
                raise typer.Exit(_together(served, settings, door))
            loaded = registry.load(config.choices(settings))
        except (config.ConfigError, BackendError, WeightsError, ValueError) as error:
            raise _refused(error) from None
        opened.callback(loaded.close)
        try:
            uvloop_run(serve(served, settings, loaded, door))
        except KeyboardInterrupt:
            pass
        except config.ConfigError as error:
            raise _refused(error) from None


def _together(served: Served, settings: config.Config, door: socket.socket) -> int:
    if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
        raise config.ConfigError("processes = 1 is all this system allows: run it on Linux")
    from server.processes import parent  # it knows us

    return parent.run(served, settings, door)


def _refused(error: Exception) -> typer.Exit:
    print(f"attune: {error}", file=sys.stderr)
    return typer.Exit(2)


def bind(host: str, port: int) -> socket.socket:
    """Our address, taken before the models load; nobody can connect until uvicorn listens."""
    door: socket.socket | None = None
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = min(found, key=lambda info: info[0])  # IPv4 first
        door = socket.socket(family, kind, protocol)
        if os.name == "posix":  # elsewhere it would let two servers share the port
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(address)
    except OSError as error:
        if door:
            door.close()
        raise config.ConfigError(no_door(host, port, error)) from None
    return door


def no_door(host: str, port: int, error: OSError) -> str:
    return f"cannot listen on {host}:{port}: {error.strerror}; choose others with HOST and PORT"


class Server(uvicorn.Server):
    """One that says where it listens, once it does."""

    def __init__(self, settings: uvicorn.Config, opened: Callable[[str], None]) -> None:
        super().__init__(settings)
        self._opened = opened

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for door in sockets or []:
            self._opened(shown(door))


def shown(door: socket.socket) -> str:
    """Where it listens, as one writes it."""
    host, port = door.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


async def serve(
    served: Served, settings: config.Config, models: Models, door: socket.socket
) -> None:
    await warm(models)
    app = served.build(models, settings, ALONE)
    settle()
    server = Server(wire(app), served.opened)
    try:
        await server.serve(sockets=[door])
    except OSError as error:  # another server bound the same port while we loaded, and listens
        raise config.ConfigError(no_door(settings.host, settings.port, error)) from None


def settle() -> None:
    """What is loaded stays: the collector need not walk through it again while people talk."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)


def wire(app: Any) -> uvicorn.Config:
    """How an application is served, wherever its connections come from."""
    return uvicorn.Config(
        app,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,  # speech does not compress, and it costs a core
        log_level="warning",
        timeout_graceful_shutdown=5,
    )


def uvloop_run(main: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop
    except ModuleNotFoundError:  # Windows
        asyncio.run(main)
    else:
        uvloop.run(main)
