"""A real server on a real port, for tests that talk to it over its wire."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import uvicorn
from fastapi import FastAPI

from models import registry
from models.protocols import Models
from server import app
from server.config import PROFILES, Config
from server.draining import DrainingServer
from server.house import House
from server.wire_frames import Wire

# What else runs beside the tests must not decide what conversations do.
UNMEASURED = {"measured": False}


def standins(**roles: Any) -> Models:
    """Deterministic models of every role; any single one may be another."""
    models = registry.load(registry.read(PROFILES / "standin.toml"))
    return replace(models, **roles)


@asynccontextmanager
async def serving(
    models: Models | None = None, **settings: Any
) -> AsyncGenerator[tuple[str, House], None]:
    """The URL of a running server, and its house. Paced by samples unless told otherwise."""
    admission = {**UNMEASURED, **settings.pop("admission", {})}
    given = {"clock": "samples", "profile": "standin", "admission": admission, **settings}
    config = Config.model_validate(given)
    application = app.create(models or standins(), config)
    async with running(application) as port:
        yield f"ws://127.0.0.1:{port}/v1/realtime", application.state.house


@asynccontextmanager
async def running(
    application: FastAPI, how: uvicorn.Config | None = None, *, compressed: bool = False
) -> AsyncGenerator[int, None]:
    """The port on which an application is served; in the way it would be, if that is given."""
    house: House | None = getattr(application.state, "house", None)
    ping_sec = house.config.ping_sec if house else 20.0
    if how is not None:
        how.host, how.port = "127.0.0.1", 0
    server = DrainingServer(
        how
        or uvicorn.Config(
            application,
            host="127.0.0.1",
            port=0,
            ws=Wire,
            ws_ping_interval=ping_sec,
            ws_ping_timeout=ping_sec,
            ws_max_size=24 * 1024 * 1024,
            ws_per_message_deflate=compressed,
            log_level="warning",
            lifespan="on",
        )
    )
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started:  # noqa: ASYNC110 - uvicorn offers no event to wait for
            await asyncio.sleep(0.005)
        yield int(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        await serving
