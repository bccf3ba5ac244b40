"""Whether a conversation could be held now, and what would be missing from it."""

from collections.abc import Mapping
from typing import Literal, Protocol

from pydantic import BaseModel, Field

from models.breaker import Breaker
from server.disk import LEAST, Disk
from server.health import Check, Health

NEEDED = ("voice_detector", "transcriber", "responder", "speaker")

Trouble = Literal["out_of_order", "hung", "failing", "unreachable"]


class Unable(BaseModel):
    """A role that is not believed able to do its work."""

    role: str
    state: Trouble = Field(
        description="Out of order or hung: it failed lately, and is tried again. Failing or "
        "unreachable: its server says so, or nothing."
    )
    needed: bool = Field(description="Without it there is no conversation.")


class Backend(BaseModel):
    """A process that the server looks after."""

    name: str
    state: Literal["starting", "up", "waiting", "stopped"] = Field(
        description="Waiting: it died or hung, and is started again after a while."
    )
    restarts: int


class Readiness(BaseModel):
    ready: bool
    profile: str
    seats_free: int
    unable: list[Unable] = []
    recording: Literal["on", "off", "disk_full", "disk_failing"] = Field(
        "on", description="A disk that is full or fails ends recordings, and no conversation."
    )
    backends: list[Backend] = []


class Supervised(Protocol):
    """Who looks after processes."""

    @property
    def backends(self) -> list[Backend]: ...


class Nobody:
    """Where there are none to look after."""

    backends: list[Backend] = []


class Judgement:
    """What breakers, servers and the disk tell, put together."""

    def __init__(
        self,
        breakers: Mapping[str, Breaker],
        health: Health,
        disk: Disk | None,
        *,
        hears: bool,
    ) -> None:
        """Takes what there is to ask.

        Args:
            breakers: by role.
            health: of the servers that do a role's work.
            disk: where sessions are recorded, if they are.
            hears: the reply model does, and so needs no words.
        """
        self._breakers = breakers
        self._health = health
        self._disk = disk
        self._needed = [role for role in NEEDED if role != "transcriber" or not hears]

    async def unable(self) -> list[Unable]:
        checks = {check.role: check for check in await self._health.checks()}
        found = []
        for role, breaker in self._breakers.items():
            if trouble := _trouble(breaker, checks.get(role)):
                found.append(Unable(role=role, state=trouble, needed=role in self._needed))
        return found

    async def recording(self) -> Literal["on", "off", "disk_full", "disk_failing"]:
        if self._disk is None:
            return "off"
        free = await self._disk.free()
        if free is None:
            return "disk_failing"
        return "on" if free >= LEAST else "disk_full"


def _trouble(breaker: Breaker, check: Check | None) -> Trouble | None:
    if breaker.state != "closed":
        return "hung" if breaker.hung else "out_of_order"
    match check.state if check else "ok":
        case "failing":
            return "failing"
        case "unreachable":
            return "unreachable"
    return None
