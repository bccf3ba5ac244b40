"""The processes that serve one port: what a server asks of the others, also if there are none."""

from collections.abc import Sequence
from typing import Protocol

from models.registry import Choice
from server.chores import Chores
from server.live_sessions import Live
from server.seats import OwnSeats, Seats
from server.system_shapes import Process
from server.tally import Tally


class Company(Protocol):
    @property
    def name(self) -> str:
        """Of this process among the others."""

    @property
    def chores(self) -> Chores: ...

    def seats(self, total: int) -> Seats: ...

    def live(self, here: Live) -> Live:
        """The conversations of all processes, those here among them."""

    async def models_there(self) -> bool:
        """Whether the models that processes share can be asked."""

    def is_shared(self, role: str, choice: Choice) -> bool:
        """Whether a role's model is one of these."""

    def kept(self, here: Tally) -> Tally:
        """What this process has counted, with what was counted in its place before: noted where
        it outlives this process, before anybody is told."""

    async def tallies(self) -> Sequence[Tally]:
        """What the other processes have counted."""

    def processes(self) -> list[Process]:
        """All that belong together."""


class Alone:
    """One process that does everything."""

    name = "0"
    chores = Chores.ALL

    def seats(self, total: int) -> Seats:
        return OwnSeats(total)

    def live(self, here: Live) -> Live:
        return here

    async def models_there(self) -> bool:
        return True

    def is_shared(self, role: str, choice: Choice) -> bool:
        return False

    def kept(self, here: Tally) -> Tally:
        return here

    async def tallies(self) -> Sequence[Tally]:
        return ()

    def processes(self) -> list[Process]:
        return []


ALONE = Alone()
