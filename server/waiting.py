"""What somebody says while they wait for a seat: little is kept, and no sound at all."""

import time
from contextlib import suppress

import orjson
from starlette.websockets import WebSocket

from server.bulk import bulk
from server.errors import ClientError
from server.limits import Limits, Meter, PassedOver, Shared
from server.link import LinkLost, WebSocketLink
from server.server_events import event
from server.vitals import Vitals

KEPT = 32  # messages
KEPT_CHARS = 256 * 1024  # of all of them
ENDS = 256  # characters at either end of a long message in which its type is looked for
SOUND = "input_audio_buffer."


class Waiting:
    """Reads along, so that hanging up is noticed, until somebody else does."""

    def __init__(
        self,
        socket: WebSocket,
        link: WebSocketLink,
        limits: Limits,
        vitals: Vitals,
        shared: Shared | None = None,
    ) -> None:
        self.kept: list[str] = []
        self._socket = socket
        self._link = link
        self._chars = 0
        self._meter = Meter(limits, time.monotonic(), vitals, shared)

    async def read(self) -> None:
        """Until they hang up, or have said far too much."""
        while not self._meter.over(time.monotonic()):
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            said = bulk(text if text is not None else message.get("bytes") or b"")
            try:
                self._meter.message(time.monotonic(), said.weight)
            except (ClientError, PassedOver):
                continue
            if text is None or _is_sound(text):
                continue  # nobody listens yet, and nothing is recorded
            if len(self.kept) >= KEPT or self._chars + len(text) > KEPT_CHARS:
                await self._refuse()
            else:
                self.kept.append(text)
                self._chars += len(text)

    async def _refuse(self) -> None:
        problem = ClientError(
            "queue_messages_exceeded",
            f"Only {KEPT} messages of {KEPT_CHARS // 1024} KiB in all are kept while you wait;"
            " say it once the session has begun.",
        )
        with suppress(LinkLost):  # the next message says so
            await self._link.tell(event("error", error=problem.payload(None)))


def _is_sound(text: str) -> bool:
    if len(text) > KEPT_CHARS:  # too long to be read for nothing
        return SOUND in text[:ENDS] or SOUND in text[-ENDS:]
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False  # told once the session has begun
    kind = said.get("type") if isinstance(said, dict) else None
    return isinstance(kind, str) and kind.startswith(SOUND)
