"""One of the processes that hold conversations: its connections come from the parent."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from server.chores import Chores
from server.config import Config, choices
from server.crowd import Crowd
from server.draining import LEAVE_SEC, DrainingServer
from server.entrance import Entrance
from server.launch import Served, crowd, settle, uvloop_run, web
from server.processes.forwarding import Forwarding
from server.processes.handing import taken_in
from server.processes.ledger import Ledger, entered
from server.processes.neighbours import Neighbours, inner_door
from server.processes.remote import Line
from server.processes.seating import Table
from server.processes.shared_models import models_of_a_front
from server.processes.together import Together
from server.readiness import Supervised

HOME = 0  # the front with what there can be only one of


@dataclass(frozen=True, slots=True)
class Place:
    """Where a front stands among the processes."""

    number: int
    folder: Path  # of our sockets
    table: Table
    ledger: Ledger
    hall: socket.socket  # where the parent hands connections to us
    is_first: bool  # nobody had this number before
    supervised: Supervised  # backends, looked after elsewhere
    alive: AbstractAsyncContextManager[None]  # meanwhile the parent sees that we do not hang
    ready: Callable[[], None]

    @property
    def chores(self) -> Chores:
        if self.number == HOME:
            return Chores.ALL
        return Chores.NONE if self.is_first else Chores.REPAIR


class FrontServer(DrainingServer):
    """Serves the neighbours' requests, and whatever the parent hands on."""

    def __init__(
        self,
        settings: uvicorn.Config,
        forwarding: Forwarding,
        place: Place,
        drain_sec: float,
        crowd: Crowd,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(settings)
        self._forwarding = forwarding
        self._drain_sec = drain_sec
        self._place = place
        self._entrance = Entrance(self, crowd, tls)  # for what comes from outside
        crowd.tell_room(self._tell_room)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._place.hall.setblocking(False)
        asyncio.get_running_loop().add_reader(self._place.hall, self._take_in)
        self._place.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().remove_reader(self._place.hall)
        for connection in taken_in(self._place.hall):
            if connection:
                connection.close()
        await self._entrance.close()
        await super().shutdown(sockets)

    async def part(self) -> None:
        seconds = self._drain_sec + LEAVE_SEC
        await asyncio.gather(super().part(), self._forwarding.relays_over(seconds))

    def _tell_room(self, room: int) -> None:
        self._place.table.room[self._place.number] = room

    def _take_in(self) -> None:
        for connection in taken_in(self._place.hall):
            self._place.table.adopted[self._place.number] += 1
            if connection:
                self._entrance.take_in(connection)


def run(served: Served, settings: Config, place: Place) -> None:
    """Hold conversations until told to stop."""
    uvloop_run(_serve(served, settings, place))


async def _serve(served: Served, settings: Config, place: Place) -> None:
    line = Line(place.folder / "models")
    models = await models_of_a_front(choices(settings), line)
    neighbours = Neighbours(place.folder, place.number, place.table.fronts)
    together = Together(place.number, place.table, place.ledger, place.chores, line, neighbours)
    try:
        app = served.build(models, settings, together)
        app.state.house.supervised = place.supervised
        settle(app)
        door = inner_door(place.folder, place.number)
        forwarding = Forwarding(app, neighbours, together.private(app), HOME)
        outside = web(forwarding, settings)
        outside.load()
        inside = web(forwarding, settings, tls=False)
        counted = crowd(app, settings)
        server = FrontServer(inside, forwarding, place, settings.drain_sec, counted, outside.ssl)
        house = app.state.house
        async with place.alive, house.tidying.at_work(), entered(house.counted):
            await server.serve(sockets=[door])
    finally:
        await neighbours.close()
        models.close()
