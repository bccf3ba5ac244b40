"""Trying what is out of order, so that nobody who talks has to wait for it to be found well."""

import asyncio
import logging
from collections.abc import Mapping

from models.breaker import Breaker
from models.errors import BackendError
from models.protocols import Models
from models.trying import TRIALS
from server.private_log import where

log = logging.getLogger(__name__)

LOOK_SEC = 0.25


class Prober:
    """One task, and one more for each role being tried; cancel it to stop them all."""

    def __init__(self, models: Models, breakers: Mapping[str, Breaker]) -> None:
        """Takes what it needs.

        Args:
            models: guarded by the breakers, which learn in this way how a trial went.
            breakers: by role.
        """
        self._models = models
        self._breakers = breakers

    async def run(self) -> None:
        trying: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as tasks:
            while True:
                for role, breaker in self._breakers.items():
                    busy = role in trying and not trying[role].done()
                    if breaker.due_sec == 0 and not busy:
                        trying[role] = tasks.create_task(self._try(role))
                await asyncio.sleep(LOOK_SEC)

    async def _try(self, role: str) -> None:
        try:
            await TRIALS[role](self._models)
        except BackendError as error:
            log.warning("%s is still out of order: %s", role, where(error))
        except Exception as error:  # whatever a broken model may raise, trying it breaks nothing
            log.error("%s is broken: %s", role, where(error))
        else:
            log.warning("%s works again", role)
