"""How many may talk at once, and the one line in which all others wait."""

from typing import Protocol


class Seats(Protocol):
    """Taken one by one, over all processes that serve the port."""

    @property
    def here(self) -> set[str]:
        """Who has one in this process."""

    @property
    def taken(self) -> int:
        """In all processes."""

    @property
    def waiting(self) -> int:
        """In all processes."""

    @property
    def spare(self) -> int:
        """Free seats that those who wait leave over."""

    def take(self, who: str, ticket: int | None = None) -> bool:
        """False if older tickets need all that are free. The ticket is used up."""

    def give_back(self, who: str) -> None:
        """Repeating it does no harm."""

    def line_up(self, room: int) -> int | None:
        """A ticket, greater than all before it; None if so many wait already."""

    def step_out(self, ticket: int) -> None:
        """Its holder waits no more. Repeating it does no harm."""

    def ahead(self, ticket: int) -> int:
        """How many wait with older ones, in all processes."""

    def hold_back(self, is_full: bool) -> None:
        """This process holds no more, though seats may be free: those who wait in the others are
        not to wait for that."""


class OwnSeats:
    """Those of a process that serves alone."""

    def __init__(self, total: int) -> None:
        self.here: set[str] = set()
        self._total = total
        self._drawn = 0
        self._tickets: set[int] = set()

    @property
    def taken(self) -> int:
        return len(self.here)

    @property
    def waiting(self) -> int:
        return len(self._tickets)

    @property
    def spare(self) -> int:
        return max(0, self._total - self.taken - self.waiting)

    def take(self, who: str, ticket: int | None = None) -> bool:
        before = self.waiting if ticket is None else self.ahead(ticket)
        if self._total - self.taken <= before:
            return False
        if ticket is not None:
            self.step_out(ticket)
        self.here.add(who)
        return True

    def give_back(self, who: str) -> None:
        self.here.discard(who)

    def line_up(self, room: int) -> int | None:
        if self.waiting >= room:
            return None
        self._drawn += 1
        self._tickets.add(self._drawn)
        return self._drawn

    def step_out(self, ticket: int) -> None:
        self._tickets.discard(ticket)

    def ahead(self, ticket: int) -> int:
        return sum(other < ticket for other in self._tickets)

    def hold_back(self, is_full: bool) -> None:
        pass
