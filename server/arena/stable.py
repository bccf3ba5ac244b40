"""The models behind the systems: the server's own where they are the same, others when needed."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import partial
from typing import Any

from models import registry
from models.errors import BackendError
from models.protocols import Models
from models.registry import Choice
from models.warm import warm
from models.weights import WeightsError
from server.arena.flat_voice import FlatVoice
from server.arena.systems import Contestant, alike

log = logging.getLogger(__name__)

AGAIN_SEC = 300.0  # after which one that could not be loaded is tried again
FAILURES = (BackendError, WeightsError, ValueError, TypeError, OSError)
ROLES = tuple(each.name for each in fields(Models) if each.name != "close")


class Unavailable(Exception):
    """The system cannot answer here and now."""


class Stable:
    """Loads each model once, however many systems use it."""

    def __init__(
        self,
        models: Models,
        own: Mapping[str, Choice],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now = now
        self._built: dict[tuple[str, str], Any] = {
            (role, alike(own[role])): getattr(models, role) for role in ROLES
        }
        self._opened = ExitStack()
        self._one_at_a_time = asyncio.Lock()
        self._failed: dict[str, float] = {}  # systems by name, and when

    def available(self, system: Contestant) -> bool:
        """As far as is known: one that was never asked for may still fail."""
        failed = self._failed.get(system.name)
        return failed is None or self._now() - failed > AGAIN_SEC

    async def models(self, system: Contestant) -> Models:
        """Ready to answer; the first time that may take as long as loading does."""
        async with self._one_at_a_time:
            missing = [key for key in map(partial(_key, system), ROLES) if key not in self._built]
            try:
                for role, key in missing:
                    await self._build(role, key, system.choices[role])
                found = self._of(system)
                if missing:
                    await warm(found)
            except FAILURES as error:
                self._failed[system.name] = self._now()
                log.warning("the arena goes on without '%s': %s", system.name, error)
                raise Unavailable(system.name) from error
        self._failed.pop(system.name, None)
        return found

    def failed(self, system: Contestant) -> None:
        """It was loaded, and could not answer."""
        self._failed[system.name] = self._now()

    def close(self) -> None:
        self._opened.close()

    async def _build(self, role: str, key: str, choice: Choice) -> None:
        built = await asyncio.to_thread(registry.build, role, choice)
        if close := getattr(built, "close", None):
            self._opened.callback(close)
        self._built[role, key] = built

    def _of(self, system: Contestant) -> Models:
        roles = {role: self._built[_key(system, role)] for role in ROLES}
        found = Models(**roles, close=lambda: None)
        return replace(found, speaker=FlatVoice(found.speaker)) if system.flat_voice else found


def _key(system: Contestant, role: str) -> tuple[str, str]:
    return role, alike(system.choices[role])
