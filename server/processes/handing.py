"""Connections handed from the parent, which accepts them, to the front that has least to do, of
those that have room for one more.

Were all fronts to accept by themselves, the one that waited last would be woken first, and get
most of the conversations.
"""

import array
import socket
from collections import deque
from collections.abc import Callable, Iterable

MOST_AT_ONCE = 64
NOTE = b"c"


def to_front(hall: socket.socket, connection: socket.socket) -> bool:
    """False if the front has too many waiting, or is gone."""
    try:
        socket.send_fds(hall, [NOTE], [connection.fileno()])
    except OSError:
        return False
    return True


def taken_in(hall: socket.socket) -> list[socket.socket | None]:
    """What was handed to us by now; None for what was lost on the way."""
    found: list[socket.socket | None] = []
    room = socket.CMSG_SPACE(array.array("i").itemsize)
    for _ in range(MOST_AT_ONCE):
        try:
            note, notes, _, _ = hall.recvmsg(len(NOTE), room)
        except OSError:  # nothing more
            break
        if not note:  # the parent is gone
            break
        if not notes:  # we have as much open as we may: the connection is lost
            found.append(None)
            continue
        handles = array.array("i")
        handles.frombytes(notes[0][2])
        found.append(socket.socket(fileno=handles[0]))
    for connection in found:
        if connection:
            connection.setblocking(False)
    return found


class Doorman:
    """Who is at the door, and where they are sent."""

    def __init__(
        self,
        talking: Callable[[], list[int]],
        adopted: Callable[[int], int],
        room: Callable[[int], int],
        fronts: int,
    ) -> None:
        self._talking = talking
        self._adopted = adopted
        self._room = room  # as a crowd tells it
        self._halls: dict[int, socket.socket] = {}
        self._handed = [0] * fronts
        self._served = [0] * fronts  # when each got its last one, counted in connections
        self._count = 0
        self.waiting: deque[socket.socket] = deque()

    def opened(self, front: int, hall: socket.socket) -> None:
        """A front can be handed connections."""
        self._halls[front] = hall
        self._handed[front] = self._adopted(front)

    def closed(self, front: int) -> None:
        self._halls.pop(front, None)

    def receive(self, connections: Iterable[socket.socket]) -> None:
        self.waiting.extend(connections)
        while self.waiting and self._hand(self.waiting[0]):
            self.waiting.popleft().close()  # ours; the front has its own

    def _hand(self, connection: socket.socket) -> bool:
        for front in self.by_load():
            if to_front(self._halls[front], connection):
                self._handed[front] += 1
                self._count += 1
                self._served[front] = self._count
                return True
        return False

    def by_load(self) -> list[int]:
        """The fronts, the one with least to do first, and those without room last.

        What a front was handed and has not taken in counts as well: so one that hangs is avoided.
        """
        talking = self._talking()

        def load(front: int) -> tuple[int, int, int]:
            pending, room = self._handed[front] - self._adopted(front), self._room(front)
            # Those on their way say nothing yet: where they fill a front, one of them makes way.
            lack = 0 if pending < room else 1 - min(0, room)
            return lack, talking[front] + pending, self._served[front]

        return sorted(self._halls, key=load)
