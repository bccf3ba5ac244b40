"""What one address may ask of us, however many connections it opens.

Each connection has limits of its own. These are for all of an address together: wide enough for a
room of people behind one, and too narrow for somebody who opens many connections to get around
the others.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from starlette.requests import HTTPConnection

from server.budgets import Budget, subscriber
from server.http_refusals import Refusal
from server.limits import MINUTE_SEC, Limits
from server.vitals import Vitals

AHEAD_REFILL_SEC = 300.0  # until an address that was ahead as far as it may be could be so again


@dataclass(frozen=True, slots=True)
class Together:
    """A connection's way to what its subscriber has left."""

    whose: str
    messages: Budget | None
    traffic: Budget | None
    sound: Budget | None

    def message(self) -> bool:
        return self.messages is None or self.messages.take(self.whose)

    def weigh(self, count: float) -> bool:
        return self.traffic is None or self.traffic.take(self.whose, count)

    def ahead(self, seconds: float) -> bool:
        return self.sound is None or self.sound.take(self.whose, seconds)


class AddressLimits:
    """Kept by each process for itself, in bounded memory."""

    def __init__(
        self,
        limits: Limits,
        now: Callable[[], float] = time.monotonic,
        vitals: Vitals | None = None,
    ) -> None:
        self._vitals = vitals or Vitals()
        rate, ahead = limits.address_messages_per_sec, limits.address_audio_ahead_sec
        often, much = limits.requests_per_minute, limits.address_bytes_per_sec
        self._messages = Budget(rate, limits.address_messages_burst, now) if rate else None
        self._traffic = Budget(much, limits.address_bytes_burst, now) if much else None
        self._sound = Budget(ahead / AHEAD_REFILL_SEC, ahead, now) if ahead else None
        self._requests = Budget(often / MINUTE_SEC, often, now) if often else None

    def of(self, address: str | None) -> Together | None:
        """For a connection from there; None if nobody is counted there."""
        whose = subscriber(address)
        return Together(whose, self._messages, self._traffic, self._sound) if whose else None

    def request(self, request: HTTPConnection) -> None:
        """A request that costs work; a Refusal if too many came from there."""
        whose = subscriber(request.client.host if request.client else None)
        if whose is None or self._requests is None or self._requests.take(whose):
            return
        self._vitals.limited("requests_per_minute")
        raise Refusal(
            429,
            "Too many requests from this address; please try again soon.",
            "rate_limit_exceeded",
            kind="rate_limit_error",
            headers={"Retry-After": str(ceil(self._requests.wait_sec(whose)))},
        )
