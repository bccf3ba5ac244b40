"""Who does the work: this process, or several others, each with instruments of its own."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Protocol

from server.scoring.errors import ScoringError
from server.scoring.scored import Broken
from server.scoring.working import Kit, Message, Over, Spec, Task, Told, Worker

# One thread each: workers that split their sums over all cores wait for one another.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
LAST_SEC = 1.0  # for a worker that was told to end


class Pool(Protocol):
    kit: Kit

    def results(self, tasks: Iterator[Task]) -> Iterator[Message]:
        """Those of all tasks, in any order; tasks are taken as there is room for them."""
        ...

    def close(self) -> None: ...


class Here:
    """In this process."""

    def __init__(self, spec: Spec) -> None:
        self._worker = Worker(spec)
        self.kit = self._worker.kit

    def results(self, tasks: Iterator[Task]) -> Iterator[Message]:
        for task in tasks:
            yield from self._worker.score(task)

    def close(self) -> None:
        pass


@dataclass(slots=True)
class _Hand:
    process: BaseProcess
    line: Connection
    task: Task | None = None  # what it is at


class Processes:
    """In processes of their own. One that dies takes the session it was at with it, no other."""

    def __init__(self, spec: Spec, count: int) -> None:
        self._spec = spec
        self._hands = [self._started() for _ in range(count)]
        try:
            self.kit = [self._ready(hand) for hand in self._hands][0]
        except BaseException:
            self.close()
            raise

    def results(self, tasks: Iterator[Task]) -> Iterator[Message]:
        while True:
            for hand in self._hands:
                if hand.task is None and (task := next(tasks, None)) is not None:
                    self._give(hand, task)
            busy = {hand.line: hand for hand in self._hands if hand.task}
            if not busy:
                return
            for line in wait(list(busy)):
                assert isinstance(line, Connection)
                message = self._next(busy[line])
                yield message
                if isinstance(message, Told):  # it is kept by now: the next may come
                    self._answer(line)

    def close(self) -> None:
        for hand in self._hands:
            hand.process.terminate()
        for hand in self._hands:
            hand.process.join(LAST_SEC)
            if hand.process.is_alive():
                hand.process.kill()
                hand.process.join(LAST_SEC)
            hand.line.close()

    def _give(self, hand: _Hand, task: Task) -> None:
        try:
            hand.line.send(task)
        except OSError:  # it died while it had nothing to do
            self._replace(hand)
            hand.line.send(task)
        hand.task = task

    def _answer(self, line: Connection) -> None:
        with suppress(OSError):  # that it died is told when it is listened to
            line.send(None)

    def _next(self, hand: _Hand) -> Message:
        assert hand.task is not None
        try:
            message: Message = hand.line.recv()
        except (EOFError, OSError):
            session_id = hand.task.unit.session_id
            self._replace(hand)
            problem = "the process that scored it ended without a word"
            return Over(session_id, problems=(Broken(session_id, problem),))
        if isinstance(message, Over):
            hand.task = None
        return message

    def _replace(self, hand: _Hand) -> None:
        hand.process.join(LAST_SEC)
        hand.line.close()
        new = self._started()
        hand.process, hand.line, hand.task = new.process, new.line, None
        self._ready(hand)

    def _started(self) -> _Hand:
        ours, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=_work, args=(self._spec, theirs), daemon=True)
        with _one_thread_each():
            process.start()
        theirs.close()
        return _Hand(process, ours)

    def _ready(self, hand: _Hand) -> Kit:
        try:
            kit: Kit = hand.line.recv()
        except (EOFError, OSError):
            raise ScoringError("a worker ended before it could begin") from None
        return kit


def _work(spec: Spec, line: Connection) -> None:
    """What a process does, until nobody is at the other end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends it
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        worker = Worker(spec)
        line.send(worker.kit)
        while True:
            for message in worker.score(line.recv()):
                line.send(message)
                if isinstance(message, Told):
                    line.recv()  # should all be killed, at most one exchange of each is lost


@contextmanager
def _one_thread_each() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
