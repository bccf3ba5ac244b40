"""How many may talk at once."""

from typing import Protocol


class Seats(Protocol):
    """Taken one by one, over all processes that serve the port."""

    @property
    def here(self) -> set[str]:
        """Who has one in this process."""

    @property
    def taken(self) -> int:
        """In all processes."""

    def take(self, who: str) -> bool:
        """False if there is none."""

    def give_back(self, who: str) -> None:
        """Repeating it does no harm."""


class OwnSeats:
    """Those of a process that serves alone."""

    def __init__(self, total: int) -> None:
        self.here: set[str] = set()
        self._total = total

    @property
    def taken(self) -> int:
        return len(self.here)

    def take(self, who: str) -> bool:
        if len(self.here) >= self._total:
            return False
        self.here.add(who)
        return True

    def give_back(self, who: str) -> None:
        self.here.discard(who)
