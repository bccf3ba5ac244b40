"""Whether a backend is worth asking: one that is dead is not waited for again and again."""

import time
from collections.abc import Callable
from typing import Literal

from models.backoff import Backoff

OPENS_AFTER = 3  # failures in a row
TOGETHER_SEC = 0.25  # what fails at once fails for one reason, and counts once

State = Literal["closed", "open", "half_open"]


class Breaker:
    """Closed while the backend works; open while it is left alone; half open while it is tried.

    It opens after some failures in a row, or one hang: that costs a person too much to wait for
    another. A hang while others were answered is about what was asked, and a failure like any.
    From time to time one attempt is let through, and what comes of it decides.
    """

    def __init__(
        self,
        opens_after: int = OPENS_AFTER,
        backoff: Backoff | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failures = 0  # in a row
        self.hung = False  # the last failure was that nothing came
        self.opened = 0  # how often it has
        self._opens_after = opens_after
        self._backoff = backoff or Backoff()
        self._now = now
        self._failed_at = self._succeeded_at = float("-inf")
        self._tries = 0  # in vain, since it opened
        self._due: float | None = None  # when it may be tried again; None: it is closed
        self._trial: Attempt | None = None

    @property
    def state(self) -> State:
        if self._due is None:
            return "closed"
        return "half_open" if self._trial else "open"

    @property
    def due_sec(self) -> float | None:
        """How long until it may be tried; None if there is nothing to try, or somebody does."""
        if self._due is None or self._trial:
            return None
        return max(0.0, self._due - self._now())

    def attempt(self) -> "Attempt | None":
        """Leave to ask the backend; None while it is left alone."""
        if self._due is None:
            return Attempt(self, self._now())
        if self._trial or self._now() < self._due:
            return None
        self._trial = Attempt(self, self._now())
        return self._trial

    def told(self, *, well: bool) -> None:
        """Learn from a use that nobody asked leave for."""
        attempt = self.attempt() or Attempt(self, self._now())
        if well:
            attempt.succeeded()
        else:
            attempt.failed()

    def _succeeded(self, attempt: "Attempt") -> None:
        if self._due is not None and attempt is not self._trial:
            return  # it was asked before the trouble began
        self._succeeded_at = self._now()
        self.failures = self._tries = 0
        self.hung = False
        self._due = self._trial = None

    def _failed(self, attempt: "Attempt", hung: bool) -> None:
        now = self._now()
        if self._due is not None:
            if attempt is self._trial:
                self._trial = None
                self.hung = hung
                self._leave_alone(now)
            return
        hung = hung and self._succeeded_at <= attempt.began
        if hung or now - self._failed_at >= TOGETHER_SEC:
            self.failures += 1
            self._failed_at = now
        if hung or self.failures >= self._opens_after:
            self.hung = hung
            self.opened += 1
            self._leave_alone(now)

    def _left(self, attempt: "Attempt") -> None:
        if attempt is self._trial:
            self._trial = None  # the next one to come may try

    def _leave_alone(self, now: float) -> None:
        self._tries += 1
        self._due = now + self._backoff.after(self._tries)


class Attempt:
    """One use of a backend; whoever makes it says once how it went."""

    def __init__(self, breaker: Breaker, began: float) -> None:
        self.began = began
        self._breaker = breaker

    def succeeded(self) -> None:
        self._breaker._succeeded(self)

    def failed(self, *, hung: bool = False) -> None:
        self._breaker._failed(self, hung)

    def left(self, *, alive: bool = False) -> None:
        """Given up before it was over, which says nothing unless something had come already."""
        if alive:
            self._breaker._succeeded(self)
        else:
            self._breaker._left(self)
