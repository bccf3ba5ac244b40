"""How much one client may ask of us: messages, bytes, sound ahead of time, and time itself.

None of it is felt by people who talk. What is over a limit is refused, and told at most once a
second; who goes on all the same is cut off.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn, Protocol

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import HTTPConnection

from models.types import WIRE_RATE
from server.budgets import Bucket, subscriber
from server.errors import ClientError
from server.http_refusals import Refusal
from server.vitals import Limit, Vitals

TELL_SEC = 1.0  # between two refusals of the same kind: an answer to each would only help a flood
ADDRESSES = 4096  # remembered
MINUTE_SEC = 60.0
JITTER_SEC = 1.0  # of sound that comes early is only the line's doing, ...
LATE_SEC = 30.0  # ... and so long a line may have stalled, and deliver what was said meanwhile
REFUSAL_BYTES = 64 * 1024  # of what is refused: large messages cost more to receive and pass over
# Of limits that others keep, by the code of the error that says so.
BY_CODE: Mapping[str, Limit] = {
    "conversation_too_long": "conversation_bytes",
    "settings_too_long": "settings_bytes",
}


class Limits(BaseModel):
    """As the operator sets them. None is no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    messages_per_sec: float | None = Field(250, gt=0)  # 50 of sound and as many reports are usual
    messages_burst: int = Field(2_000, ge=1)
    # A bracket or comma counts as many bytes. Sound in base64 has 64,000 in a second.
    bytes_per_sec: float | None = Field(256 * 1024, gt=0)
    bytes_burst: int = Field(32 * 1024 * 1024, ge=1)  # 300 s of sound, and all a conversation holds
    refusals: int = Field(10_000, ge=1)  # of one conversation; then it ends
    audio_ahead_sec: float | None = Field(300, gt=0)  # of sound, faster than it can be spoken
    conversation_bytes: int = Field(4 * 1024 * 1024, ge=1)  # of text, over all items, as UTF-8
    settings_bytes: int = Field(256 * 1024, ge=4096)  # of a session or a response, as JSON
    session_minutes: float | None = Field(120, gt=0)
    idle_minutes: float | None = Field(15, gt=0)  # without a message of any kind
    # From one address in a minute. On loopback nobody is counted.
    connections_per_minute: int | None = Field(120, ge=1)
    # Of all connections of one address together: fifty people may sit behind it.
    address_messages_per_sec: float | None = Field(5_000, gt=0)
    address_messages_burst: int = Field(20_000, ge=1)
    address_bytes_per_sec: float | None = Field(6 * 1024 * 1024, gt=0)
    address_bytes_burst: int = Field(256 * 1024 * 1024, ge=1)  # 3,000 s of sound, and more
    address_audio_ahead_sec: float | None = Field(3_000, gt=0)  # whole again after five minutes
    requests_per_minute: int | None = Field(600, ge=1)  # over HTTP, where they cost work
    # Open at once, in each process; never more than half of the files it may have open.
    connections: int = Field(4_096, ge=8)
    address_connections: int = Field(512, ge=1)  # of one address: a page takes up to seven


EndCode = Literal["session_expired", "idle_timeout", "rate_limit_exceeded"]


@dataclass(frozen=True, slots=True)
class Ended:
    """Why a conversation ends here, in the protocol's words."""

    code: EndCode
    message: str


class Shared(Protocol):
    """What all connections of an address have together: each says whether it was still there."""

    def message(self) -> bool: ...
    def weigh(self, count: float) -> bool: ...
    def ahead(self, seconds: float) -> bool: ...


class Meter:
    """One conversation's use of what there is. Times are of the clock it is paced by.

    What its own limits refuse takes nothing from those it shares an address with.
    """

    def __init__(
        self,
        limits: Limits,
        now: float,
        vitals: Vitals | None = None,
        shared: Shared | None = None,
    ) -> None:
        self._limits = limits
        self._shared = shared  # of the address it began at; None: nobody is counted there
        self._vitals = vitals or Vitals()
        self._began = self._last = now
        often, much = limits.messages_per_sec, limits.bytes_per_sec
        self._messages = Bucket(often, limits.messages_burst, now) if often else None
        self._bytes = Bucket(much, limits.bytes_burst, now) if much else None
        self._ahead_since = now  # sound received since then is compared with the time since then
        self._samples = 0
        self._in_time_sec = JITTER_SEC  # of sound that could have been spoken, and has not come
        self._in_time_at = now
        self._refused = 0
        self._told: dict[str, float] = {}

    def message(self, now: float, weight: int = 0) -> None:
        """Count a message in. Raises ClientError, or PassedOver where it was just told."""
        self._last = now
        if self._messages and not self._messages.take(1, now):
            rate = self._limits.messages_per_sec
            self._refuse(
                "messages_per_sec",
                f"More than {rate:g} messages a second: this one was passed over.",
                now,
            )
        if self._shared and not self._shared.message():
            rate = self._limits.address_messages_per_sec
            self._pass_over(
                "address_messages_per_sec",
                f"More than {rate:g} messages a second from your address: passed over.",
                now,
            )
        self.weigh(weight, now)

    def weigh(self, count: int, now: float) -> None:
        """Count what there is to read or to write, weighed by the work it is."""
        if self._bytes and not self._bytes.take(count, now):
            self._refused += count // REFUSAL_BYTES
            rate = self._limits.bytes_per_sec
            self._refuse(
                "bytes_per_sec",
                f"More than {rate:g} bytes a second: this message was passed over.",
                now,
            )
        if self._shared and not self._shared.weigh(count):
            rate = self._limits.address_bytes_per_sec
            self._pass_over(
                "address_bytes_per_sec",
                f"More than {rate:g} bytes a second from your address: passed over.",
                now,
            )

    def sound(self, samples: int, now: float) -> None:
        """Count sound in, before it is heard. Whoever speaks as people do is never ahead."""
        self._own_sound(samples, now)
        if self._shared:
            self._shared_sound(self._shared, samples / WIRE_RATE, now)
        self._samples += samples

    def _shared_sound(self, shared: Shared, seconds: float, now: float) -> None:
        since, self._in_time_at = now - self._in_time_at, now
        self._in_time_sec = min(LATE_SEC, self._in_time_sec + since)
        early = max(0.0, seconds - self._in_time_sec)
        if early and not shared.ahead(early):
            self._pass_over(
                "address_audio_ahead_sec",
                "Too much sound came ahead of time from your address; this was not taken.",
                now,
                "audio",
            )
        self._in_time_sec -= seconds - early

    def _own_sound(self, samples: int, now: float) -> None:
        ahead = self._limits.audio_ahead_sec
        if ahead is None:
            return
        spoken = (now - self._ahead_since) * WIRE_RATE
        if self._samples < spoken:  # behind: what was not sent then cannot be made up for
            self._ahead_since, self._samples, spoken = now, 0, 0.0
        if self._samples + samples - spoken > ahead * WIRE_RATE:
            self._refuse(
                "audio_ahead_sec",
                f"Sound may be sent at most {ahead:g} s ahead of time; this was not taken.",
                now,
                "audio",
            )

    def over(self, now: float) -> Ended | None:
        """Whether the conversation has to end."""
        limits = self._limits
        if limits.session_minutes and now - self._began >= limits.session_minutes * 60:
            message = (
                f"Your session hit the maximum duration of {limits.session_minutes:g} minutes."
            )
            return self._end("session_minutes", "session_expired", message)
        if limits.idle_minutes and now - self._last >= limits.idle_minutes * 60:
            message = f"Nothing was sent for {limits.idle_minutes:g} minutes."
            return self._end("idle_minutes", "idle_timeout", message)
        if self._refused >= limits.refusals:
            message = "Too much was sent, for too long."
            return self._end("refusals", "rate_limit_exceeded", message)
        return None

    def _end(self, limit: Limit, code: EndCode, message: str) -> Ended:
        self._vitals.limited(limit)
        return Ended(code, message)

    def _refuse(self, limit: Limit, message: str, now: float, param: str | None = None) -> NoReturn:
        self._refused += 1
        self._pass_over(limit, message, now, param)

    def _pass_over(
        self, limit: Limit, message: str, now: float, param: str | None = None
    ) -> NoReturn:
        """Refused, and not held against this conversation: it may be another's doing."""
        self._vitals.limited(limit)
        if now - self._told.get(message, float("-inf")) < TELL_SEC:
            raise PassedOver
        self._told[message] = now
        raise ClientError("rate_limit_exceeded", message, param)


class PassedOver(Exception):
    """A message over the limit, of whose kind the client has just been told."""


class Doorbell:
    """How often each address has come lately."""

    def __init__(
        self,
        most: int | None,
        now: Callable[[], float] = time.monotonic,
        vitals: Vitals | None = None,
    ) -> None:
        self._most = most
        self._vitals = vitals or Vitals()
        self._now = now
        self._came: OrderedDict[str, deque[float]] = OrderedDict()

    def ring(self, connection: HTTPConnection) -> None:
        """Somebody comes; a Refusal if too many came from there within a minute."""
        address = subscriber(connection.client.host if connection.client else None)
        if address and not self.rings(address):
            self._vitals.limited("connections_per_minute")
            message = "Too many connections from this address; please try again in a minute."
            raise Refusal(429, message, "rate_limit_exceeded", kind="rate_limit_error")

    def rings(self, address: str) -> bool:
        """Somebody comes from there; False if too many did within a minute."""
        if self._most is None:
            return True
        now = self._now()
        came = self._came.setdefault(address, deque(maxlen=self._most))
        self._came.move_to_end(address)
        if len(self._came) > ADDRESSES:
            self._came.popitem(last=False)
        if len(came) == self._most and now - came[0] < MINUTE_SEC:
            return False
        came.append(now)
        return True
