"""A way to the client that outlives its socket: what is lost with one is sent over the next."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import orjson

from server.link import LinkLost, Wake, WebSocketLink
from server.sent import Sent
from server.server_events import Event

HUNG_UP = (1000, 1001, 1005, 1012)  # by a client that meant to, or by our own server
# Said anew over every socket, and not again.
OPENINGS = ("session.created", "conversation.created", "attune.session")


class Relink:
    """A Link over one socket after another.

    When a socket is lost, `messages` goes on waking the conversation for as long as the client
    may take to come back; what is said to it meanwhile is kept.
    """

    def __init__(self, link: WebSocketLink, tick_sec: float | None) -> None:
        self.patience_sec = 0.0  # for a lost client to come back; 0: it cannot
        self.stopped = False  # we hung up
        self._ended = False  # nobody is waited for
        self.greet: Callable[[], Sequence[Event]] = tuple
        self.heard: Callable[[], object] = bool  # from a client that is back, for the first time
        self._tick_sec = tick_sec
        self._link: WebSocketLink | None = link
        self._last = link
        self._next: tuple[WebSocketLink, int] | None = None
        self._behind = False  # the client is being told what it missed
        self._sent = Sent()
        self._woken = asyncio.Event()

    @property
    def close_code(self) -> int | None:
        """Why the far end hung up, as it says."""
        return self._last.close_code

    async def messages(self) -> AsyncGenerator[str | bytes | Wake, None]:
        """Everything that arrives, until the client hangs up or stays away too long."""
        link: WebSocketLink | None = self._last
        unheard = False
        while link:
            async with aclosing(link.messages()) as messages:
                async for message in messages:
                    if unheard and not isinstance(message, Wake):
                        unheard = False
                        self.heard()
                    yield message
            if self._over(link):
                return
            self._let_go(link)
            yield Wake.LEFT
            async with aclosing(self._waiting()) as wakes:
                async for wake in wakes:
                    yield wake
            link = self._link
            if link:
                unheard = True
                yield Wake.BACK

    def wake(self, why: Wake = Wake.NOTE) -> None:
        if self._link and not self._behind:
            self._link.wake(why)
        else:
            self._woken.set()

    async def tell(self, event: Event) -> None:
        said = orjson.dumps(event).decode()
        again = None if event["type"] in OPENINGS else said
        await self._send(said, again, event["event_id"])

    async def play(self, frame: bytes) -> None:
        await self._send(frame, frame, None)

    def take_over(self, link: WebSocketLink, after: str | None) -> bool:
        """Go on over another socket, from after an event; False if that is too long ago."""
        number = self._sent.after(after)
        if self._ended or number is None:
            return False
        if self._next:  # two at once: the later one
            self._next[0].over.set()
        self._next = link, number
        if self._link:
            self._link.part()
        self._woken.set()
        return True

    @property
    def socket(self) -> WebSocketLink | None:
        """The socket in use, if there is one."""
        return self._link

    async def shut(self, code: int, reason: str) -> None:
        """Hang up, or stop waiting for one who is away."""
        self.stopped = self._ended = True
        self._woken.set()
        if self._link:
            await self._link.shut(code, reason)
            self._link.part()

    def abort(self) -> None:
        """Let the line go at once, and wait for nobody."""
        self._ended = True
        self._woken.set()
        if self._link:
            self._link.abort()
            self._link.part()

    def release(self) -> None:
        """The conversation is over: nobody needs any of its sockets."""
        self._last.over.set()
        if self._next:
            self._next[0].over.set()

    async def _send(self, said: str | bytes, again: str | bytes | None, event: str | None) -> None:
        if not self.patience_sec:
            await self._last.send(said)
            return
        number = self._sent.add(again, event)
        if self._link is None or self._behind:
            return  # it will be told
        try:
            await self._link.send(said)
        except LinkLost:
            pass  # `messages` comes to know of it as well
        except asyncio.CancelledError:
            self._sent.withdraw(number)
            raise

    def _over(self, link: WebSocketLink) -> bool:
        if self._ended or not self.patience_sec:
            return True
        return self._next is None and link.close_code in HUNG_UP

    def _let_go(self, link: WebSocketLink) -> None:
        self._link = None
        if link.close_code is None and self._next is None:
            link.abort()  # it may look open for hours
        link.over.set()

    async def _waiting(self) -> AsyncGenerator[Wake, None]:
        """While nobody is there. Afterwards somebody is, or will not be any more."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.patience_sec
        while not self._ended:
            if self._next:
                (link, number), self._next = self._next, None
                if await self._caught_up(link, number):
                    return
                link.over.set()
            if (left := until - loop.time()) <= 0:
                return
            try:
                async with asyncio.timeout(min(left, self._tick_sec or left)):
                    await self._woken.wait()
                self._woken.clear()
                yield Wake.NOTE
            except TimeoutError:
                yield Wake.TICK

    async def _caught_up(self, link: WebSocketLink, number: int) -> bool:
        """Tell whoever is back what they missed, and all that is said meanwhile."""
        self._link = self._last = link
        self._behind = True
        try:
            greeting = self.greet()
            self._sent.greeted(frozenset(said["event_id"] for said in greeting), number)
            for said in greeting:
                await link.tell(said)
            while missed := self._sent.get(number):
                await link.send(missed[1])
                number = missed[0] + 1
        except LinkLost:
            self._link = None
            return False
        finally:
            self._behind = False
        return True
