"""The parent: it opens the port, starts the others, and starts again those that die or hang."""

import gc
import logging
import os
import selectors
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from models.errors import BackendError
from models.weights import WeightsError
from server import log_lines
from server.config import Config, ConfigError
from server.launch import Served, no_door, shown
from server.processes import backend_process, front, model_process
from server.processes.handing import Doorman
from server.processes.heartbeat import BEAT_SEC, Heartbeats
from server.processes.ledger import Ledger
from server.processes.lifeline import Lifeline
from server.processes.notice_board import NoticeBoard
from server.processes.seating import Table

log = logging.getLogger(__name__)

BACKLOG = 2048
SIGNS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
STOP_SEC = 20.0  # beyond drain_sec, after which a process that should end is killed
FIRST_PAUSE_SEC, LONGEST_PAUSE_SEC = 0.2, 30.0  # before one that died is started again
STEADY_SEC = 60.0  # one that lived so long is started again at once
BUSY_SEC = 0.02  # until connections are offered again that no front could take
LONGEST_PATH = 90  # bytes: the address of a socket has room for little more
REFUSED = 2  # what the settings ask for cannot be done


@dataclass(slots=True)
class Member:
    """One of the processes, from its start to its end, and again."""

    name: str
    live: Callable[["Member", int], None]  # in the child, with the pipe to say that it is ready
    front: int | None = None  # its number, if it is one
    pid: int = 0
    starts: int = 0
    born: float = 0.0
    ready: bool = False
    due: float | None = None  # when it is to be started
    pause: float = FIRST_PAUSE_SEC
    told: int = -1  # our end of its pipe
    hall: socket.socket | None = None  # where connections are handed to it


class Parent:
    """Does nothing that can fail with the work: no models, no requests, no threads."""

    def __init__(self, served: Served, settings: Config, door: socket.socket, folder: Path) -> None:
        count = settings.processes
        self._served = served
        self._settings = settings
        self._door = door
        self._folder = folder
        self._table = Table(settings.seats, count, settings.admission.queue, folder / "seats.lock")
        self._ledger = Ledger(count)
        self._patience_sec = settings.drain_sec + STOP_SEC
        self._lifeline = Lifeline(folder, self._patience_sec)
        self._doorman = Doorman(
            self._table.talking,
            lambda number: int(self._table.adopted[number]),
            lambda number: int(self._table.room[number]),
            count,
        )
        self._heartbeats = Heartbeats(len(self._table.pids))
        self._look_at = time.monotonic() + BEAT_SEC  # whether all are well
        self._board = NoticeBoard(list(settings.backends))
        self._backends = Member("backends", self._live_as_backends) if settings.backends else None
        self._models = Member("models", self._live_as_models)
        self._fronts = [Member(f"front {n}", self._live_as_front, n) for n in range(count)]
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._before: dict[int, object] = {}
        self._is_open = False
        self._stops = 0  # how often we were told to
        self._kill_at: float | None = None
        self._code = 0

    # --- in the parent

    def run(self) -> int:
        """Until told to stop; the exit code."""
        self._watch_signals()
        # Some models ask their server when they are built.
        (self._backends or self._models).due = time.monotonic()
        while not self._is_over():
            self._start_who_is_due()
            for key, _ in self._selector.select(self._timeout()):
                key.data()
            self._end_who_hangs()
            self._bury()
            self._offer_again()
            self._end()
        return self._code

    @property
    def _members(self) -> list[Member]:
        backends = [self._backends] if self._backends else []
        return [*backends, self._models, *self._fronts]

    def _watch_signals(self) -> None:
        for end in (self._wake, self._woken):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, self._on_signal)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for sign in SIGNS:
            signal.signal(sign, _noted)

    def _on_signal(self) -> None:
        with suppress(BlockingIOError):
            for number in self._woken.recv(64):
                if number != signal.SIGCHLD:
                    self._stop()

    def _is_over(self) -> bool:
        return bool(self._stops) and not any(member.pid for member in self._members)

    def _timeout(self) -> float | None:
        due = [member.due for member in self._members if member.due is not None]
        due += [self._kill_at] if self._kill_at is not None else []
        due += [self._look_at] if not self._stops else []
        due += [time.monotonic() + BUSY_SEC] if self._doorman.waiting else []
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _start_who_is_due(self) -> None:
        for member in self._members:
            if member.due is not None and member.due <= time.monotonic() and not self._stops:
                self._start(member)

    def _start(self, member: Member) -> None:
        told, ready = os.pipe()
        if member.front is not None:
            member.hall, hall = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            member.hall.setblocking(False)
        else:
            hall = None
        member.due, member.ready = None, False
        member.born = time.monotonic()
        member.starts += 1
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            pid = os.fork()
        except OSError as error:  # too many processes, or no memory: it may pass
            log.error("%s cannot be started: %s", member.name, error.strerror)
            os.close(told)
            pid = -1
        if pid == 0:
            os.close(told)
            self._live(member, hall, ready)
        os.close(ready)
        if hall:
            hall.close()
        if pid < 0:
            member.due = time.monotonic() + LONGEST_PAUSE_SEC
            return
        member.pid, member.told = pid, told
        self._table.pids[self._place(member)] = pid
        self._selector.register(told, selectors.EVENT_READ, lambda: self._on_told(member))

    def _place(self, member: Member) -> int:
        if member.front is not None:
            return member.front
        return self._table.fronts + (member is self._backends)

    def _on_told(self, member: Member) -> None:
        """It is ready, or will never be."""
        is_ready = bool(os.read(member.told, 1))
        self._forget_pipe(member)
        if not is_ready or self._stops:
            return
        member.ready = True
        self._heartbeats.begin(self._place(member))
        if member.front is not None:
            assert member.hall is not None, "fronts have one"
            self._doorman.opened(member.front, member.hall)
            log.info("%s serves, process %d", member.name, member.pid)
        elif member.starts > 1:
            log.info("the %s are there again, process %d", member.name, member.pid)
        # The index of recordings is opened, and made if need be, before others look into it.
        first, *others = self._fronts
        if member is self._backends and not self._models.starts:
            self._models.due = time.monotonic()
        elif member is self._models and not first.starts:
            first.due = time.monotonic()
        elif member is first and first.starts == 1:
            for each in others:
                each.due = time.monotonic()
        if not self._is_open and all(each.ready for each in self._fronts):
            self._open()

    def _open(self) -> None:
        self._is_open = True
        try:
            self._door.listen(BACKLOG)
        except OSError as error:  # another server bound the same port while we loaded, and listens
            told = no_door(self._settings.host, self._settings.port, error)
            print(f"attune: {told}", file=sys.stderr)
            self._stop(REFUSED)
            return
        self._door.setblocking(False)
        self._selector.register(self._door, selectors.EVENT_READ, self._on_door)
        self._served.opened(shown(self._door, self._settings.tls_cert is not None))

    def _on_door(self) -> None:
        try:
            connection, _ = self._door.accept()
        except BlockingIOError:
            return
        except OSError:  # it has gone, or there are more than we may have open
            time.sleep(BUSY_SEC)
            return
        self._doorman.receive([connection])
        if self._doorman.waiting:  # whoever comes now waits in the system's queue
            self._selector.unregister(self._door)

    def _offer_again(self) -> None:
        if self._doorman.waiting and not self._stops:
            self._doorman.receive([])
            if not self._doorman.waiting:
                self._selector.register(self._door, selectors.EVENT_READ, self._on_door)

    def _end_who_hangs(self) -> None:
        """Whoever was ready and gives no sign of life: as one that died, it is started again."""
        if self._stops or time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + BEAT_SEC
        for member in (self._models, *self._fronts):
            if member.ready and self._heartbeats.hangs(self._place(member)):
                log.error("%s: no sign of life, it is ended", member.name)
                self._heartbeats.begin(self._place(member))
                _tell(member, signal.SIGKILL)

    def _bury(self) -> None:
        for member in self._members:
            if not member.pid:
                continue
            pid, status = os.waitpid(member.pid, os.WNOHANG)
            if pid:
                self._mourn(member, os.waitstatus_to_exitcode(status))

    def _mourn(self, member: Member, code: int) -> None:
        was_ready = member.ready
        member.pid, member.ready = 0, False
        self._forget_pipe(member)
        if member.front is not None:
            self._doorman.closed(member.front)
            self._table.clear(member.front)
            if member.hall:
                member.hall.close()
                member.hall = None
        if member is self._backends:
            self._board.all_stopped()
        if self._stops:
            return
        if member.starts == 1 and not was_ready:  # it said why
            self._stop(code if code > 0 else 1)
            return
        if member is self._backends:
            self._board.all_restart()
        if time.monotonic() - member.born > STEADY_SEC:
            member.pause = FIRST_PAUSE_SEC
        log.error("%s ended with %d; it is started again", member.name, code)
        member.due = time.monotonic() + member.pause
        member.pause = min(2 * member.pause, LONGEST_PAUSE_SEC)

    def _forget_pipe(self, member: Member) -> None:
        if member.told >= 0:
            self._selector.unregister(member.told)
            os.close(member.told)
            member.told = -1

    def _stop(self, code: int = 0) -> None:
        """The first time in good order; the second time at once."""
        self._stops += 1
        self._code = self._code or code
        if self._stops > 1:
            self._kill_at = time.monotonic()
            return
        self._kill_at = time.monotonic() + self._patience_sec
        if self._is_open:
            with suppress(KeyError):
                self._selector.unregister(self._door)
        self._door.close()
        for each in self._members:
            each.due = None
        for each in self._fronts:
            _tell(each, signal.SIGTERM)
        self._end()

    def _end(self) -> None:
        """The models go after the fronts, so that what is being said is said to its end; last of
        all go the backends, which models may be asking."""
        if not self._stops:
            return
        if not any(each.pid for each in self._fronts):
            _tell(self._models, signal.SIGTERM)
            if self._backends and not self._models.pid:
                _tell(self._backends, signal.SIGTERM)
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            for each in self._members:
                _tell(each, signal.SIGKILL)
            self._kill_at = None

    # --- in a child

    def _live(self, member: Member, hall: socket.socket | None, ready: int) -> None:
        code = 1
        try:
            os.setpgid(0, 0)  # a terminal's Ctrl-C is for the parent to tell
            signal.set_wakeup_fd(-1)
            for sign in SIGNS:
                signal.signal(sign, signal.SIG_DFL)
            self._lifeline.hold()
            self._let_go()
            member.hall = hall
            log_lines.name_process(member.name)
            member.live(member, ready)
            code = 0
        except (ConfigError, BackendError, WeightsError, ValueError) as error:
            print(f"attune: {error}", file=sys.stderr)
            code = REFUSED
        except KeyboardInterrupt:
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException:
            log.exception("%s failed", member.name)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _let_go(self) -> None:
        """What only the parent uses: the port would stay taken if it were killed."""
        self._selector.close()
        self._door.close()
        for end in (self._wake, self._woken):
            end.close()
        for each in self._members:
            if each.told >= 0:
                os.close(each.told)
            if each.hall:
                each.hall.close()
        for connection in self._doorman.waiting:
            connection.close()

    def _live_as_backends(self, _: Member, ready: int) -> None:
        backend_process.run(self._settings.backends, self._board, lambda: _say_ready(ready))

    def _live_as_models(self, member: Member, ready: int) -> None:
        alive = self._heartbeats.beating(self._place(member))
        path = self._folder / "models"
        model_process.run(self._settings, path, alive, lambda: _say_ready(ready))

    def _live_as_front(self, member: Member, ready: int) -> None:
        assert member.front is not None and member.hall is not None, "it is one"
        front.run(
            self._served,
            self._settings,
            front.Place(
                member.front,
                self._folder,
                self._table,
                self._ledger,
                member.hall,
                is_first=member.starts == 1,
                supervised=self._board,
                alive=self._heartbeats.beating(self._place(member)),
                ready=lambda: _say_ready(ready),
            ),
        )


def run(served: Served, settings: Config, door: socket.socket) -> int:
    """Serve with several processes until stopped; the exit code."""
    with ExitStack() as opened:
        # Only our own user can look into it: what is said goes through its sockets.
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="attune-")))
        if len(os.fsencode(folder)) > LONGEST_PATH:
            raise ConfigError(f"sockets cannot lie in {folder}: set TMPDIR to a shorter path")
        gc.collect()
        gc.freeze()  # what is there now stays shared
        return Parent(served, settings, door, folder).run()


def _noted(sign: int, frame: FrameType | None) -> None:
    """The number goes through the wake-up socket."""


def _say_ready(pipe: int) -> None:
    with suppress(OSError):
        os.write(pipe, b"r")
        os.close(pipe)


def _tell(member: Member, sign: signal.Signals) -> None:
    if member.pid:
        with suppress(ProcessLookupError):
            os.kill(member.pid, sign)
