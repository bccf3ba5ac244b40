"""At the door: a seat, a place in the queue, or a polite refusal."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil

from starlette.websockets import WebSocket

from server.address_limits import AddressLimits, Together
from server.admission import Admission, Guest, Refused
from server.capacity import Capacity, Fixed
from server.config import Config
from server.errors import server_error
from server.link import LinkLost, WebSocketLink
from server.memory import MemoryWatch
from server.pressure import STEP_SEC, Calm, Load, Memory, Pressed, Pressure, worked_ms
from server.pulse import Pulse, cores
from server.seats import OwnSeats, Seats
from server.server_events import Event, event
from server.vitals import Vitals
from server.waiting import Waiting

log = logging.getLogger(__name__)

TRY_AGAIN_LATER = 1013
TELL_SEC = 5.0  # how often somebody who waits hears of it, though nothing changed


@dataclass(frozen=True, slots=True)
class Entered:
    """Somebody who has a seat, and what they said while they waited for it."""

    guest: Guest
    said: list[str]


class Porter:
    """Knows how many the house holds, and whose turn it is to come in.

    On the samples clock time says nothing about the machine: then only the number that was set
    counts, as it does where nothing is to be measured.
    """

    def __init__(self, config: Config, vitals: Vitals, seats: Seats | None = None) -> None:
        settings = config.admission
        self._vitals = vitals
        self._patience_sec = settings.patience_sec
        self._limits = config.limits
        taken = seats or OwnSeats(config.seats)
        self.pulse = Pulse(lambda: taken.taken)
        self.memory = MemoryWatch(settings.memory_mb)
        self.measured: Pressure | None = None
        if settings.measured and config.clock == "wall":
            load = partial(_load, self.pulse, cores())
            memory = Memory(lambda: self.memory.free, settings.memory_free)
            self.measured = Pressure(self.pulse, load, settings.target_ms, memory=memory)
            vitals.when_reached(self._turn)
        self.pressed: Pressed = self.measured or Calm()  # for conversations to look at
        holds = (
            Capacity(config.seats, self.measured, cores()) if self.measured else Fixed(config.seats)
        )
        share = ceil(config.seats * settings.share) if config.exposed else None
        self.admission = Admission(taken, holds, settings.queue, share)
        counts = AddressLimits(config.limits, vitals=vitals)
        self.address_limits = counts if config.exposed else None
        self._watches_memory = self.measured is not None and settings.memory_free > 0

    @asynccontextmanager
    async def at_work(self) -> AsyncGenerator[None, None]:
        """For as long as the server runs."""
        working = [asyncio.create_task(self._work())]
        if self._watches_memory:
            working.append(asyncio.create_task(self.memory.watch()))
        try:
            yield
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(STEP_SEC)
            if self.measured:
                was_short = self.short_of_memory
                self.measured.step()
                if self.short_of_memory != was_short:
                    self._log_memory()
            self.admission.step()

    @property
    def short_of_memory(self) -> bool:
        return self.measured is not None and self.measured.short_of_memory

    def _log_memory(self) -> None:
        left = 100 * (self.memory.free or 0.0)
        if self.short_of_memory:
            log.warning("memory is short, %.1f %% left: nobody new is let in", left)
        else:
            log.info("there is memory again, %.1f %%", left)

    def together(self, socket: WebSocket) -> Together | None:
        """What a connection shares with others of its address; None if nobody is counted there."""
        address = socket.client.host if socket.client else None
        return self.address_limits.of(address) if self.address_limits else None

    def _turn(self, stages_ms: Mapping[str, float]) -> None:
        worked = worked_ms(stages_ms)
        if self.measured and worked is not None:
            self.measured.turn(worked, self.admission.taken)

    # -- somebody comes

    async def meet(self, socket: WebSocket, session_id: str) -> Entered | None:
        """Let in whoever has connected, now or later; None if they were refused, or left.

        Only a client that asked for our events can be told of a queue, so only it waits in one.
        """
        link = WebSocketLink(socket, None)
        address = socket.client.host if socket.client else None
        found = self.admission.sit(session_id, address)
        if found is Refused.FULL and socket.query_params.get("attune") == "1":
            found = self.admission.wait(session_id, address)
            if isinstance(found, Guest):
                return await self._wait(socket, link, found)
        if isinstance(found, Refused):
            await self._refuse(socket, link, found)
            return None
        return Entered(found, [])

    async def _wait(self, socket: WebSocket, link: WebSocketLink, guest: Guest) -> Entered | None:
        self._vitals.queued += 1
        together = self.together(socket)
        waiting = Waiting(socket, link, self._limits, self._vitals, together)
        reading = asyncio.create_task(waiting.read())
        entered = tired = False
        try:
            async with asyncio.timeout(self._patience_sec):
                entered = await self._seated(link, guest, reading)
        except TimeoutError:
            tired = True
        except LinkLost:
            pass
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            if not entered:
                self._vitals.left_queue += not tired
                self.admission.leave(guest)
        if tired:
            await self._refuse(socket, link, Refused.FULL)
        return Entered(guest, waiting.kept) if entered else None

    async def _seated(self, link: WebSocketLink, guest: Guest, reading: asyncio.Task[None]) -> bool:
        """Tell them where they stand until they have a seat; False if they hang up."""
        while guest.sat is None:
            guest.news.clear()
            await link.tell(self._place(guest))
            news = asyncio.create_task(guest.news.wait())
            try:
                await asyncio.wait(
                    [reading, news], timeout=TELL_SEC, return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                news.cancel()
            if reading.done():
                return False
        return True

    def _place(self, guest: Guest) -> Event:
        position = self.admission.position(guest)
        # A seat that comes free is nobody's while memory is short: then nothing can be estimated.
        seconds = None if self.short_of_memory else self.admission.estimate_sec(position)
        estimate = None if seconds is None else max(1, round(seconds))
        return event("attune.queue", position=position, estimate_sec=estimate)

    async def _refuse(self, socket: WebSocket, link: WebSocketLink, why: Refused) -> None:
        self._vitals.refused += 1
        problem = server_error(self._excuse(why), "session_limit_reached")
        reason = "short of memory" if self._for_memory(why) else "all seats taken"
        try:
            await link.tell(event("error", error=problem))
            await socket.close(TRY_AGAIN_LATER, reason)
        except (LinkLost, RuntimeError):
            pass  # it did not wait for the answer

    def _excuse(self, why: Refused) -> str:
        if why is Refused.SHARE:
            return "Your address has as many seats as one may have; please end a conversation."
        if self._for_memory(why):
            return "The server is short of memory just now; please try again soon."
        seconds = self.admission.estimate_sec(self.admission.waiting + 1)
        when = "soon" if seconds is None else f"in about {5 * ceil(seconds / 5)} s"
        return f"All seats are taken; please try again {when}."

    def _for_memory(self, why: Refused) -> bool:
        return why is Refused.FULL and self.short_of_memory


def _load(pulse: Pulse, count: int) -> Load:
    return Load(pulse.load.machine_cpu / 100, pulse.load.process_cpu / 100 / count)
