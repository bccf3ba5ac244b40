"""A front's company: seats counted over all, conversations reached wherever they are held."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
import psutil
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from models.registry import Choice
from server.chores import Chores
from server.consent import Consent
from server.live_sessions import Live
from server.processes.ledger import Ledger
from server.processes.neighbours import PRIVATE, Neighbours
from server.processes.remote import Line
from server.processes.seating import SharedSeats, Table
from server.processes.shared_models import is_own
from server.seats import Seats
from server.sessions.library import StillRecording
from server.system_shapes import Process
from server.tally import Tally

MB = 1 << 20
TALLY_SEC = 2.0  # an operator who looks does not wait longer for a front


class Together:
    """Several processes that serve one port."""

    def __init__(
        self,
        number: int,
        table: Table,
        ledger: Ledger,
        chores: Chores,
        line: Line,
        neighbours: Neighbours,
    ) -> None:
        self.name = str(number)
        self.chores = chores
        self._number = number
        self._table = table
        self._line = line
        self._neighbours = neighbours
        self._here: Live | None = None
        self._ledger = ledger
        self._before = ledger.read(number)  # of those who had our number, and are no more
        self._told: dict[int, Tally] = {}

    def seats(self, total: int) -> Seats:
        assert total == self._table.seats, "the table was laid for the same settings"
        return SharedSeats(self._table, self._number)

    def live(self, here: Live) -> Live:
        self._here = here
        return Everywhere(here, self._number, self._table, self._neighbours)

    async def models_there(self) -> bool:
        return await self._line.there()

    def is_shared(self, role: str, choice: Choice) -> bool:
        return not is_own(role, choice)

    def kept(self, here: Tally) -> Tally:
        """Noted before it is told: so no sum falls below what anybody was told when a front dies.
        Lost is only what a front counted since somebody asked any front, or it noted by itself."""
        whole = here.joined([self._before])
        self._ledger.write(self._number, whole)
        return whole

    async def tallies(self) -> Sequence[Tally]:
        """Of one that does not answer, what it counted until it last told anybody, and how it said
        last that it was: or sums would fall, and rise again."""
        others = self._neighbours.others
        asked = (self._neighbours.ask(each, "tally", TALLY_SEC) for each in others)
        tallies = []
        for front, told in zip(others, await asyncio.gather(*asked), strict=True):
            if told is not None:
                self._told[front] = Tally.from_json(told)
                tallies.append(self._told[front])
            else:
                last = self._told.get(front, Tally()).momentary()
                tallies.append(self._ledger.read(front).joined([last]))
        return tallies

    def processes(self) -> list[Process]:
        talking = [*self._table.talking(), 0, 0]
        names = [f"front {number}" for number in range(self._table.fronts)] + ["models"]
        names += ["backends"] if self._table.pids[-1] else []  # where there are any
        return [
            Process(
                name=name,
                memory_mb=_memory_mb(int(self._table.pids[place])),
                seats_taken=talking[place],
                answers=place == self._number,
            )
            for place, name in enumerate(names)
        ]

    def private(self, app: FastAPI) -> ASGIApp:
        """What neighbours ask."""

        async def forget(request: Request) -> Response:
            told = orjson.loads(await request.body())
            left = told["consent"] and Consent(**told["consent"])
            assert self._here is not None, "the application has been built"
            try:
                found = await self._here.forget(told["session_id"], left)
            except StillRecording as error:
                return JSONResponse({"found": True, "still_recording": str(error)})
            return JSONResponse({"found": found})

        async def written(request: Request) -> Response:
            assert self._here is not None, "the application has been built"
            await self._here.written(orjson.loads(await request.body())["session_id"])
            return JSONResponse({})

        async def tally(_: Request) -> Response:
            return JSONResponse((await app.state.house.tally_here()).to_json())

        return Starlette(
            routes=[
                Route(f"{PRIVATE}/{each.__name__}", each, methods=["POST"])
                for each in (forget, written, tally)
            ]
        )


class Everywhere:
    """The conversations of all fronts; a request may land in another than the conversation did."""

    def __init__(self, here: Live, number: int, table: Table, neighbours: Neighbours) -> None:
        self._here = here
        self._number = number
        self._table = table
        self._neighbours = neighbours

    @property
    def running(self) -> list[str]:
        """Of those elsewhere all, also if nothing of them is kept."""
        everyone = self._table.everyone()
        return [*self._here.running, *(who for front, who in everyone if front != self._number)]

    async def forget(self, session_id: str, consent: Consent | None) -> bool:
        front = self._table.owner(session_id)
        if front is None or front == self._number:
            return await self._here.forget(session_id, consent)
        plain: dict[str, Any] | None = asdict(consent) if consent else None
        told = await self._neighbours.ask(front, "forget", session_id=session_id, consent=plain)
        if told and (why := told.get("still_recording")):
            raise StillRecording(why)
        return bool(told and told["found"])

    async def written(self, session_id: str) -> None:
        here = self._here.written(session_id)
        await asyncio.gather(here, self._neighbours.ask_all("written", session_id=session_id))


def _memory_mb(pid: int) -> float | None:
    try:
        return round(psutil.Process(pid).memory_info().rss / MB, 1) if pid else None
    except psutil.Error:
        return None
