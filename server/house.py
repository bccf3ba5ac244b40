"""The house: who talks with us now, and all that they share."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from models.guarded import breakers, guarded, hears
from models.protocols import Models
from models.provenance import describe
from server import system_api
from server.admission import Guest
from server.company import ALONE, Company
from server.config import Config, choices
from server.disk import Disk
from server.draining import Talk
from server.health import Health
from server.last_known import LastKnown
from server.metrics import Sources
from server.parking import Parking
from server.porter import Porter
from server.probing import Prober
from server.readiness import Judgement, Nobody, Readiness, Supervised
from server.recording.desk import Desk, used
from server.sessions.library import Library
from server.tally import Tally
from server.tidying import Tidying
from server.version import SOFTWARE, VERSION
from server.vitals import Vitals
from server.watchdog import Watchdog


class House:
    """Who is talking with us now."""

    def __init__(self, models: Models, config: Config, company: Company = ALONE) -> None:
        self.breakers = breakers()
        self.models = guarded(models, self.breakers)
        self.config = config
        self.company = company
        self.seats = company.seats(config.seats)
        self.vitals = Vitals()
        self.porter = Porter(config, self.vitals, self.seats)
        self.watchdog = Watchdog(self.vitals.stalled)
        self.library = Library.open(config.recording.runs, config.recording.spool)
        self.chosen = choices(config)
        self.used = used(describe(self.chosen))
        self.desk = Desk(
            config.recording,
            self.library,
            SOFTWARE,
            config.profile,
            self.used,
        )
        self.ready = True
        self.stopping = False  # nobody new is let in
        self.health = Health(self.chosen)
        self.disk = Disk(self.library.local)
        self.supervised: Supervised = Nobody()
        self.judgement = Judgement(
            self.breakers,
            self.health,
            self.disk if config.recording.enabled else None,
            hears=hears(models.responder),
        )
        self._perceiver = models.perceiver
        self.talks: set[Talk] = set()
        self.parking = Parking(config.resume_sec, company.name, self.vitals)
        self._rounds: dict[str, Guest] = {}
        self._able = LastKnown(self._is_able)
        self.tidying = Tidying(lambda: len(self.sessions), lambda: self.vitals.endings.total())

    @property
    def sessions(self) -> set[str]:
        """Those in this process."""
        return self.seats.here

    def sit(self, who: str) -> bool:
        """A seat for something that is no call; False if there is none."""
        guest = self.porter.admission.sit(who)
        if not isinstance(guest, Guest):
            return False
        self._rounds[who] = guest
        return True

    def rise(self, who: str) -> None:
        self.porter.admission.leave(self._rounds.pop(who))

    @property
    def full(self) -> bool:
        return not self.porter.admission.free

    async def readiness(self) -> Readiness:
        # Any of them may hang: together, they take no longer than one of them.
        unable, there, recording = await asyncio.gather(
            self.judgement.unable(), self.company.models_there(), self.judgement.recording()
        )
        return Readiness(
            ready=self.ready and there and not any(each.needed for each in unable),
            profile=self.config.profile,
            seats_free=self.porter.admission.free,
            unable=unable,
            recording=recording,
            backends=self.supervised.backends,
        )

    async def _is_able(self) -> bool:
        """Whether the models could hold a conversation."""
        unable, there = await asyncio.gather(self.judgement.unable(), self.company.models_there())
        return there and not any(each.needed for each in unable)

    @asynccontextmanager
    async def kept_well(self) -> AsyncGenerator[None, None]:
        """Meanwhile, what is out of order is tried again and again."""
        trying = asyncio.create_task(Prober(self.models, self.breakers).run())
        try:
            yield
        finally:
            trying.cancel()
            await asyncio.gather(trying, self._able.close(), return_exceptions=True)

    async def tally(self) -> Tally:
        """What all processes have counted, and how they are."""
        here, others = await asyncio.gather(self.tally_here(), self.company.tallies())
        return here.joined(others)

    async def tally_here(self) -> Tally:
        """What this process has counted, and how it is.

        Whoever asks is soon told, whatever hangs: else the counts would be lost with the answer.
        """
        is_able = await self._able.told()
        tally = self.counted()
        tally.not_ready = int(not (self.ready and is_able))
        return tally

    def counted(self) -> Tally:
        """All of it but whether it is ready, which it takes a while to find out."""
        tally = Tally.of(self.vitals)
        admission = self.porter.admission
        tally.seats = admission.total - (self.seats.taken - len(self.seats.here))
        tally.waiting = admission.waiting_here
        tally.pressure = self.porter.pressed.level
        for role, breaker in self.breakers.items():
            tally.openings[role] = breaker.opened
            tally.unable[role] = int(breaker.state != "closed")
        return self.company.kept(tally)

    @property
    def watch(self) -> system_api.Watch:
        """What its operator may look at."""
        return system_api.Watch(
            vitals=self.vitals,
            porter=self.porter,
            seats=self.config.seats,
            version=VERSION,
            profile=self.config.profile,
            models=self.used,
            perceiver=self._perceiver,
            records=self.config.recording.enabled,
            disk=self.disk,
            health=self.health,
            breakers=self.breakers,
            backends=lambda: self.supervised.backends,
            chosen=self.chosen,
            company=self.company,
            tally=self.tally,
        )

    @property
    def figures(self) -> Sources:
        """What Prometheus may read."""
        return Sources(
            info={"version": VERSION, "profile": self.config.profile},
            sessions=lambda: self.seats.taken,
            seats=self.config.seats,
            restarts=lambda: {each.name: each.restarts for each in self.supervised.backends},
        )
