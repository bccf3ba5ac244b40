"""python -m server: load the models, warm them, open the port."""

import asyncio
import gc
import logging
import os
import socket
import sys
from collections.abc import Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn

from models import registry
from models.errors import BackendError
from models.protocols import Models
from models.warm import warm
from models.weights import WeightsError
from server import app, config

MAX_MESSAGE_BYTES = 24 * 1024 * 1024  # a 15 MiB append in base64, with room

log = logging.getLogger("attune")


def main(
    config_file: Annotated[
        Path | None, typer.Option("--config", help="A TOML file; attune.toml is read by itself.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to bind (HOST).")] = None,
    port: Annotated[
        str | None, typer.Option(metavar="INTEGER", help="Port to bind, 0 for any (PORT).")
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Profile: embedded, or standin for none at all.")
    ] = None,
    clock: Annotated[
        str | None, typer.Option(help="wall, or samples: paced by the audio received.")
    ] = None,
    seats: Annotated[
        str | None, typer.Option(metavar="INTEGER", help="Conversations at once.")
    ] = None,
) -> None:
    """Serve conversations on one port."""
    # Numbers are taken as text: config tells about a bad one in a line, wherever it was set.
    flags = {"host": host, "port": port, "profile": models, "clock": clock, "seats": seats}
    with ExitStack() as opened:
        try:
            settings = config.read(config_file, flags)
            logging.basicConfig(
                level=settings.log_level.upper(),
                format="%(asctime)s %(levelname)s %(name)s %(message)s",
            )
            door = opened.enter_context(bind(settings.host, settings.port))
            loaded = registry.load(config.choices(settings))
        except (config.ConfigError, BackendError, WeightsError, ValueError) as error:
            raise _refused(error) from None
        opened.callback(loaded.close)
        try:
            uvloop_run(serve(settings, loaded, door))
        except KeyboardInterrupt:
            pass
        except config.ConfigError as error:
            raise _refused(error) from None


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
        raise config.ConfigError(_no_door(host, port, error)) from None
    return door


def _no_door(host: str, port: int, error: OSError) -> str:
    return f"cannot listen on {host}:{port}: {error.strerror}; choose others with HOST and PORT"


class Server(uvicorn.Server):
    """One that says where it listens, once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for door in sockets or []:
            host, port = door.getsockname()[:2]
            log.info("Attune listens on http://%s:%d", f"[{host}]" if ":" in host else host, port)


async def serve(settings: config.Config, models: Models, door: socket.socket) -> None:
    await warm(models)
    # What is loaded stays: the collector need not walk through it again while people talk.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
    server = Server(
        uvicorn.Config(
            app.create(models, settings),
            ws="websockets-sansio",
            ws_max_size=MAX_MESSAGE_BYTES,
            ws_per_message_deflate=False,  # speech does not compress, and it costs a core
            log_level="warning",
            timeout_graceful_shutdown=5,
        )
    )
    try:
        await server.serve(sockets=[door])
    except OSError as error:  # another server bound the same port while we loaded, and listens
        raise config.ConfigError(_no_door(settings.host, settings.port, error)) from None


def uvloop_run(main: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop
    except ModuleNotFoundError:  # Windows
        asyncio.run(main)
    else:
        uvloop.run(main)


if __name__ == "__main__":
    typer.run(main)
