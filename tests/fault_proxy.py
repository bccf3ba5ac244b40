"""A bad network between a talker and the server: sound is lost, and everything comes late."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

APPEND = "input_audio_buffer.append"

Message = str | bytes


@dataclass(slots=True)
class Network:
    """How bad it is, and what it did."""

    loss: float = 0.01  # of messages that carry the user's sound
    jitter_sec: float = 0.3  # by which any message, either way, is late at the most
    seed: int = 0
    passed: list[bytes] = field(default_factory=list)  # the user's sound that arrived
    lost: int = 0


def _is_sound(message: Message) -> bool:
    return isinstance(message, bytes) or APPEND in message[:200]


async def _carry(
    source: AsyncGenerator[Message, None],
    send: Callable[[Message], Awaitable[None]],
    network: Network,
    dice: random.Random,
    loses: bool,
) -> None:
    """Deliver each message a while after it came, and never before one that came earlier."""
    loop = asyncio.get_running_loop()
    under_way: asyncio.Queue[tuple[float, Message] | None] = asyncio.Queue()

    async def deliver() -> None:
        while entry := await under_way.get():
            due, message = entry
            await asyncio.sleep(due - loop.time())
            if loses and isinstance(message, bytes):
                network.passed.append(message)
            await send(message)

    delivering = asyncio.create_task(deliver())
    try:
        async for message in source:
            if loses and _is_sound(message) and dice.random() < network.loss:
                network.lost += 1
                continue
            under_way.put_nowait((loop.time() + dice.uniform(0, network.jitter_sec), message))
        under_way.put_nowait(None)
        await delivering
    except ConnectionClosed:
        pass
    finally:
        delivering.cancel()
        await asyncio.gather(delivering, return_exceptions=True)


async def _messages(socket: object) -> AsyncGenerator[Message, None]:
    try:
        async for message in socket:  # type: ignore[attr-defined]
            yield message
    except ConnectionClosed:
        pass


@asynccontextmanager
async def through(url: str, network: Network) -> AsyncGenerator[str, None]:
    """The address at which the server is reached over such a network."""
    dice = random.Random(network.seed)

    async def relay(near: ServerConnection) -> None:
        assert near.request is not None
        query = urlsplit(near.request.path).query
        async with connect(f"{url}?{query}", max_size=None) as far:
            up = asyncio.create_task(_carry(_messages(near), far.send, network, dice, True))
            down = asyncio.create_task(_carry(_messages(far), near.send, network, dice, False))
            await asyncio.wait([up, down], return_when=asyncio.FIRST_COMPLETED)
            await far.close()
            await near.close()
            await asyncio.gather(up, down)

    async with serve(relay, "127.0.0.1", 0, max_size=None) as proxy:
        port = next(iter(proxy.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}{urlsplit(url).path}"
