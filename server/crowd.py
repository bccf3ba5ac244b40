"""How many lines may be open at once: from one address, and in all.

Each is an open file, and so are recordings and models: those who come must leave some of them.
Where there is no room, whoever has been silent longest makes way, having said nothing yet, of the
newcomer's address if it is there that is no room; only where all have spoken is a newcomer turned
away.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from ipaddress import ip_address, ip_network

from server.budgets import subscriber
from server.limits import Limits
from server.proxies import in_both_spellings
from server.vitals import Vitals

FILES_SHARE = 2  # of the files we may have open, lines are at most one in so many
KEPT_SHARE = 8  # of the lines, one in so many is kept for who comes from this machine


class Place:
    """One line's, until it leaves."""

    def __init__(self, crowd: "Crowd", whose: str | None) -> None:
        self.whose = whose  # address it is counted for
        self.hang_up: Callable[[], object] = lambda: None
        self._crowd = crowd

    def heard(self) -> None:
        """A whole request came, so that it need not make way."""
        self._crowd.heard(self)

    def leave(self) -> None:
        """The line is no more; telling it twice does no harm."""
        self._crowd.left(self)


class Crowd:
    """All lines of one process."""

    def __init__(
        self,
        limits: Limits,
        files: int | None = None,
        proxies: Iterable[str] = (),
        vitals: Vitals | None = None,
    ) -> None:
        self.silent: dict[Place, None] = {}  # in the order in which they came
        self._vitals = vitals or Vitals()
        self._proxies = [ip_network(each) for each in in_both_spellings(proxies)]
        self._most = min(limits.connections, files // FILES_SHARE if files else limits.connections)
        self._for_strangers = self._most - self._most // KEPT_SHARE
        # Where there are few, one address may not have them all.
        self._each = min(limits.address_connections, max(1, self._for_strangers // 2))
        self._open: set[Place] = set()
        self._of: Counter[str] = Counter()
        self._tell: Callable[[int], object] = lambda _: None

    def __len__(self) -> int:
        return len(self._open)

    @property
    def room(self) -> int:
        """For so many, whoever they are; 0 if somebody silent would have to make way. If nobody is
        silent, -1 where only who comes from this machine has a place left, and -2 where nobody has.
        """
        free = self._for_strangers - len(self._open)
        if free > 0 or self.silent:
            return max(0, free)
        return -1 if len(self._open) < self._most else -2

    def tell_room(self, tell: Callable[[int], object]) -> None:
        """Now, and whenever it changes."""
        self._tell = tell
        tell(self.room)

    def enter(self, address: str) -> Place | None:
        """A place for who comes from there; None if there is none."""
        stranger = subscriber(address)
        whose = None if self._is_proxy(address) else stranger  # behind a proxy are many
        if whose and self._of[whose] >= self._each:
            self._vitals.limited("address_connections")
            if not self._make_way(each for each in self.silent if each.whose == whose):
                return None
        if len(self._open) >= (self._for_strangers if stranger else self._most):
            self._vitals.limited("connections")
            if not self._make_way(self.silent):
                return None
        place = Place(self, whose)
        self._open.add(place)
        self.silent[place] = None
        if whose:
            self._of[whose] += 1
        self._tell(self.room)
        return place

    def heard(self, place: Place) -> None:
        if place in self.silent:
            del self.silent[place]
            self._tell(self.room)

    def left(self, place: Place) -> None:
        if place not in self._open:
            return
        self._open.remove(place)
        self.silent.pop(place, None)
        if place.whose:
            self._of[place.whose] -= 1
            if not self._of[place.whose]:
                del self._of[place.whose]
        self._tell(self.room)

    def _make_way(self, silent: Iterable[Place]) -> bool:
        """Whoever has been silent longest of these hangs up, if there is anybody."""
        oldest = next(iter(silent), None)
        if oldest:
            oldest.leave()
            oldest.hang_up()
        return oldest is not None

    def _is_proxy(self, address: str) -> bool:
        if not self._proxies:
            return False
        try:
            known = ip_address(address)
        except ValueError:
            return False
        return any(known in each for each in self._proxies)
