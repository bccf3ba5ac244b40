"""Requests over HTTP that cost work: one address may ask for so many a minute."""

from fastapi import Depends, Request
from fastapi.params import Depends as Dependency

from server.address_limits import AddressLimits
from server.guests import Guests
from server.openapi import Described, failures

# All are for holders of a token, where one is asked for. Recordings have their own secrets, and
# what only the operator may ask for is not counted.
COSTLY = {
    ("POST", "/v1/audio/speech"),
    ("POST", "/v1/audio/transcriptions"),
    ("POST", "/v1/realtime/client_secrets"),
    ("POST", "/api/arena/rounds"),
    ("GET", "/api/arena/leaderboard"),
}


class Costly:
    """Counts before anything of the request is read."""

    def __init__(self, guests: Guests, limits: AddressLimits | None) -> None:
        self._guests = guests
        self._limits = limits  # None: nobody but this machine's users can reach us

    @property
    def counted(self) -> list[Dependency]:
        """For routers that have such routes."""
        return [Depends(self.check)] if self._limits else []

    @property
    def refusals(self) -> Described:
        return failures(429) if self._limits else {}

    async def check(self, request: Request) -> None:
        """A dependency. Strangers are not counted: they could use up what their neighbours have."""
        if self._limits is None or (request.method, request.scope["path"]) not in COSTLY:
            return
        if self._guests.asked:
            await self._guests.check(request)
        self._limits.request(request)
