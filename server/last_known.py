"""The answer to a question that may take long, for those who cannot wait for it."""

import asyncio
import time
from collections.abc import Awaitable, Callable

PATIENCE_SEC = 0.3  # who answers so soon is waited for
OLDEST_SEC = 30.0  # what was answered longer ago is not known any more


class LastKnown:
    """Asks aside, one question at a time, and tells what was answered last."""

    def __init__(
        self, ask: Callable[[], Awaitable[bool]], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask = ask
        self._now = now
        self._asking: asyncio.Task[None] | None = None
        self._answer = False
        self._answered = float("-inf")

    async def told(self) -> bool | None:
        """None if it is not known."""
        asking = self._asking = self._asking or asyncio.create_task(self._find_out())
        done, _ = await asyncio.wait([asking], timeout=PATIENCE_SEC)
        if done:
            asking.result()
        return self._answer if self._now() - self._answered <= OLDEST_SEC else None

    async def close(self) -> None:
        if self._asking:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _find_out(self) -> None:
        try:
            self._answer = await self._ask()
            self._answered = self._now()
        finally:
            self._asking = None
