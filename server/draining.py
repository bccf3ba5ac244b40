"""Stopping a server in which people talk: each hears the sentence to its end, then we hang up."""

import asyncio
import logging
import socket
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Protocol

import uvicorn

from server.clock import Task
from server.config import Config
from server.relink import Relink
from server.session import Session

GOING_AWAY = 1001
LEAVE_SEC = 3.0  # for a conversation to end once nothing more is said

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Talk:
    """A conversation that goes on."""

    session: Session
    link: Relink
    over: asyncio.Event = field(default_factory=asyncio.Event)  # and all of it is on its way


class House(Protocol):
    """Where people talk."""

    config: Config
    ready: bool
    stopping: bool
    talks: set[Talk]


class DrainingServer(uvicorn.Server):
    """One that lets people hear what is being said before it closes; a second signal hurries."""

    def __init__(self, settings: uvicorn.Config) -> None:
        super().__init__(settings)
        self._hurry = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit and self._loop:
            self._loop.call_soon_threadsafe(self._hurry.set)
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self.part()
        await super().shutdown(sockets)

    async def part(self) -> None:
        """With everybody who talks."""
        if house := getattr(getattr(self.config.app, "state", None), "house", None):
            await drain(house, self._hurry)


async def drain(house: House, hurry: asyncio.Event) -> None:
    """Let nobody in any more, and part with everybody as soon as it is polite."""
    house.ready, house.stopping = False, True
    if house.talks:
        log.info("stopping; %d conversations are brought to an end", len(house.talks))
    seconds = house.config.drain_sec
    await asyncio.gather(*(_part(talk, seconds, hurry) for talk in list(house.talks)))


async def _part(talk: Talk, seconds: float, hurry: asyncio.Event) -> None:
    hurried = asyncio.ensure_future(hurry.wait())
    said = asyncio.ensure_future(_say_last(talk, seconds))
    over = asyncio.ensure_future(talk.over.wait())
    try:
        await asyncio.wait(
            [hurried, said, over], timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        talk.session.room.post(partial(_leave, talk))
        if not (await asyncio.wait([over], timeout=LEAVE_SEC))[0]:
            talk.link.abort()  # it reads nothing any more
            await asyncio.wait([over], timeout=LEAVE_SEC)
    finally:
        for waiting in (hurried, said, over):
            waiting.cancel()


async def _say_last(talk: Talk, seconds: float) -> None:
    """Until the sentence that is being said has been heard."""
    told: asyncio.Future[Task | None] = asyncio.get_running_loop().create_future()

    async def wind_up() -> None:
        last = await talk.session.wind_up(seconds)
        if not told.done():
            told.set_result(last)

    talk.session.room.post(wind_up)
    if speaking := await told:
        await asyncio.wait([speaking])


async def _leave(talk: Talk) -> None:
    await talk.session.replies.interrupt("")
    await talk.link.shut(GOING_AWAY, "server stopping")
