"""What the parts of one conversation share."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import Any, Protocol

from models.protocols import Models
from models.types import WIRE_RATE
from server.clock import Clock, Task
from server.ear import Ear
from server.items import Conversation
from server.limits import Limits
from server.link import Wake
from server.pressure import Calm, Pressed
from server.recording.paper import Paper
from server.recording.recorder import Recorder
from server.server_events import Event
from server.session_config import SemanticVad, ServerVad, SessionConfig
from server.timeline import Timeline
from server.turns import TurnOptions
from server.vitals import Vitals


class Link(Protocol):
    """The far end: a browser, a test, a load generator."""

    def messages(self) -> AsyncGenerator[str | bytes | Wake, None]: ...
    def wake(self, why: Wake = Wake.NOTE) -> None: ...
    async def tell(self, event: Event) -> None: ...
    async def play(self, frame: bytes) -> None: ...


class Room:
    """One conversation's settings, ear, clock and history, and the way to the client.

    Work runs in tasks that decide nothing: they post a note, and the one coroutine that takes
    the client's messages acts on it.
    """

    def __init__(
        self,
        link: Link,
        models: Models,
        clock: Clock,
        config: SessionConfig,
        paper: Paper,
        vitals: Vitals | None = None,
        pressed: Pressed | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.link = link
        self.models = models
        self.clock = clock
        self.config = config
        self.vitals = vitals or Vitals()
        self.pressed = pressed or Calm()
        self.limits = limits or Limits()
        self.conversation = Conversation(self.limits.conversation_bytes)
        self.timeline = Timeline(clock.time())
        self.recorder = Recorder(paper, self.timeline)
        self.ear = Ear(models.voice_detector.open(), turn_options(config))
        self._notes: deque[Callable[[], Awaitable[None]]] = deque()
        self._tasks: asyncio.TaskGroup | None = None
        self._work: set[Task] = set()

    @property
    def position(self) -> int:
        """Session time: samples at WIRE_RATE."""
        return self.timeline.position

    @property
    def detection(self) -> ServerVad | SemanticVad | None:
        return self.config.audio.input.turn_detection

    def position_at(self, clock_time: float) -> int:
        """Session position at a moment of the pacing clock."""
        now = self.clock.time()
        return self.timeline.now(now) + round((clock_time - now) * WIRE_RATE)

    async def tell(self, said: Event) -> None:
        self.recorder.told(said)
        if said["type"].startswith("attune.") and not self.config.attune.events:
            return
        await self.link.tell(said)

    def open(self, tasks: asyncio.TaskGroup) -> None:
        """From now on work can be done, in this group."""
        self._tasks = tasks

    def spawn(self, work: Coroutine[Any, Any, None]) -> Task:
        assert self._tasks is not None, "the conversation has not begun"
        task = self.clock.spawn(self._tasks, work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    def post(self, note: Callable[[], Awaitable[None]]) -> None:
        """News from a task, for the coroutine that decides."""
        self._notes.append(note)
        self.link.wake()

    async def take_notes(self) -> None:
        while self._notes:
            await self._notes.popleft()()

    def close(self) -> None:
        for task in self._work:
            task.cancel()


def turn_options(config: SessionConfig) -> TurnOptions:
    match config.audio.input.turn_detection:
        case ServerVad() as vad:
            return TurnOptions(vad.threshold, vad.prefix_padding_ms, vad.silence_duration_ms)
        case SemanticVad() as vad:
            return TurnOptions(eagerness=vad.eagerness)
        case None:
            return TurnOptions()
