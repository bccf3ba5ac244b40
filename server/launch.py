"""Load the models, warm them, open the port: for `python -m server` and `python -m ui` alike."""

import asyncio
import os
import secrets
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer
import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.types import ASGIApp

from models import registry
from models.errors import BackendError
from models.protocols import Models
from models.warm import warm
from models.weights import WeightsError
from server import config, exposure, log_lines, open_files, tracing
from server.company import ALONE, Company
from server.crowd import Crowd
from server.draining import DrainingServer
from server.entrance import Entrance
from server.http_lines import HttpLine
from server.private_log import hush
from server.proxies import in_both_spellings
from server.supervision import Supervision
from server.tidying import settle_memory
from server.wire_frames import Wire

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
# None where it is not given, so that the settings decide.
Insecure = Annotated[
    bool | None,
    typer.Option("--insecure", help="Anybody who can reach it may talk, wherever it listens."),
]
TlsCert = Annotated[
    str | None, typer.Option("--tls-cert", help="A certificate with its chain, in PEM.")
]
TlsKey = Annotated[str | None, typer.Option("--tls-key", help="Its key, in PEM.")]


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
            log_lines.begin(settings.log_level, settings.log_format)
            hush()
            tracing.check(settings.watching.traces)
            open_files.ask_for_enough()
            settings = exposure.checked(served.prepared(exposure.with_files(settings)))
            door = opened.enter_context(bind(settings.host, settings.port))
            if settings.processes > 1:
                raise typer.Exit(_together(served, settings, door))
            chosen = config.choices(settings)
            kept = opened.enter_context(Supervision(settings.backends).at_work())
            kept.wait_until_up()
            loaded = registry.load(chosen)
        except (config.ConfigError, BackendError, WeightsError, ValueError) as error:
            raise _refused(error) from None
        opened.callback(loaded.close)
        try:
            uvloop_run(serve(served, settings, loaded, door, kept))
        except KeyboardInterrupt:
            pass
        except config.ConfigError as error:
            raise _refused(error) from None


def _together(served: Served, settings: config.Config, door: socket.socket) -> int:
    if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
        raise config.ConfigError("processes = 1 is all this system allows: run it on Linux")
    if settings.client_secret_key is None:  # a secret that one process gives opens all of them
        made = {"client_secret_key": SecretStr(secrets.token_urlsafe(32))}
        settings = settings.model_copy(update=made)
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


class Server(DrainingServer):
    """One that says where it listens, once it does, and takes in no more than it has room for."""

    def __init__(
        self, settings: uvicorn.Config, crowd: Crowd, opened: Callable[[str], None]
    ) -> None:
        super().__init__(settings)
        self._crowd = crowd
        self._opened = opened
        self._entrance: Entrance | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])  # uvicorn itself listens nowhere
        self._entrance = Entrance(self, self._crowd, self.config.ssl)
        for door in sockets or []:
            self._entrance.open(door)
            self._opened(shown(door, self.config.is_ssl))

    async def part(self) -> None:
        await super().part()
        if self._entrance:
            await self._entrance.close()


def shown(door: socket.socket, tls: bool) -> str:
    """Where it listens, as one writes it."""
    host, port = door.getsockname()[:2]
    return f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def web(app: ASGIApp, settings: config.Config, *, tls: bool = True) -> uvicorn.Config:
    """How an application is served, wherever its connections come from."""
    return uvicorn.Config(
        app,
        http=HttpLine,
        ws=Wire,
        ws_ping_interval=settings.ping_sec,
        ws_ping_timeout=settings.ping_sec,
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,  # speech does not compress, and it costs a core
        log_config=None,  # it logs as we do: no error's words, which may be private
        log_level="warning",
        ssl_certfile=settings.tls_cert if tls else None,
        ssl_keyfile=settings.tls_key if tls else None,
        # Anybody can write X-Forwarded-For: only a proxy of ours is believed.
        proxy_headers=bool(settings.forwarded_allow_ips),
        forwarded_allow_ips=in_both_spellings(settings.forwarded_allow_ips),
        server_header=False,
        timeout_graceful_shutdown=5,
    )


def crowd(app: FastAPI, settings: config.Config) -> Crowd:
    """Who may come from outside to this process."""
    proxies, vitals = settings.forwarded_allow_ips, app.state.house.vitals
    return Crowd(settings.limits, open_files.allowed(), proxies, vitals)


async def serve(
    served: Served,
    settings: config.Config,
    models: Models,
    door: socket.socket,
    kept: Supervision,
) -> None:
    await warm(models)
    app = served.build(models, settings, ALONE)
    app.state.house.supervised = kept
    settle(app)
    server = Server(web(app, settings), crowd(app, settings), served.opened)
    try:
        async with app.state.house.tidying.at_work():
            await server.serve(sockets=[door])
    except OSError as error:  # another server bound the same port while we loaded, and listens
        raise config.ConfigError(no_door(settings.host, settings.port, error)) from None


def settle(app: FastAPI) -> None:
    """What could be done later is done before people talk."""
    for route in app.routes:  # FastAPI works them out when first asked
        route.matches({"type": "http", "method": "GET", "path": "/", "root_path": ""})
    app.openapi()  # a fifth of a second, for whoever asks first
    settle_memory()


def uvloop_run(main: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop
    except ModuleNotFoundError:  # Windows
        asyncio.run(main)
    else:
        uvloop.run(main)
