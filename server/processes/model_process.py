"""The process with the weights: every role once, served to all fronts over a private socket."""

import asyncio
import logging
import os
import signal
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, aclosing, suppress
from pathlib import Path

from pydantic import ValidationError

from models import registry
from models.due import needed
from models.errors import BackendError
from models.protocols import Attention, Models
from models.warm import warm
from server.config import Config, choices
from server.launch import uvloop_run
from server.private_log import where
from server.processes import messages
from server.processes.messages import BUFFER, Message, Unreadable
from server.tidying import settle_memory

log = logging.getLogger(__name__)

AHEAD = 4  # items of a stream made before they are asked for
ATTENTION_SEC = 15.0  # after which what was worked out of a stretch is forgotten
BACKLOG = 4096  # calls that wait to be met; the system refuses further ones
HANG_UP_SEC = 30.0  # a front may take to read what it was told
FAILED = "The {role} failed on our side."


class Attentions:
    """Stretches of speech that fronts have us listen to, by the names fronts give them.

    Every call brings the whole stretch, so one that was forgotten is only worked out again.
    """

    def __init__(self, models: Models, now: Callable[[], float] = time.monotonic) -> None:
        self._models = models
        self._now = now
        self._open: OrderedDict[str, tuple[Attention, float]] = OrderedDict()

    def of(self, name: str) -> Attention:
        now = self._now()
        attention = self._open.pop(name, (None, now))[0] or self._models.perceiver.attend()
        self._open[name] = attention, now
        while (oldest := next(iter(self._open.values())))[1] < now - ATTENTION_SEC:
            assert oldest[0] is not attention, "it was used just now"
            self._open.popitem(last=False)
        return attention

    def __len__(self) -> int:
        return len(self._open)


class ModelHouse:
    """Answers one request on each connection; hanging up stops the work on it."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._attentions = Attentions(models)
        self._answers = {
            "card": self._card,
            "finished": self._finished,
            "transcribe": self._transcribe,
            "perceive": self._perceive,
            "glance": self._glance,
            "respond": self._respond,
            "speak": self._speak,
        }

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError, Unreadable):
                asked = await messages.receive(reader)
                wanted = asyncio.Semaphore(AHEAD)
                listening = asyncio.create_task(_listen(reader, wanted))
                doing = asyncio.create_task(self._do(asked, writer, wanted))
                both = (listening, doing)
                try:
                    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                    # The front hangs up: were we first, it might lose what it has not read.
                    await asyncio.wait([listening], timeout=HANG_UP_SEC)
                finally:
                    for task in both:
                        task.cancel()
                    await asyncio.gather(*both, return_exceptions=True)
        finally:
            writer.close()

    async def _do(
        self, asked: Message, writer: asyncio.StreamWriter, wanted: asyncio.Semaphore
    ) -> None:
        role = str(asked.head.get("role", "model"))
        need = Need(float(asked.head.get("due") or time.monotonic()))
        with needed(need):
            await self._answer(asked, role, need, writer, wanted)

    async def _answer(
        self,
        asked: Message,
        role: str,
        need: "Need",
        writer: asyncio.StreamWriter,
        wanted: asyncio.Semaphore,
    ) -> None:
        try:
            async with aclosing(self._answers[str(asked.head.get("do"))](asked)) as items:
                while True:
                    await wanted.acquire()
                    try:
                        item = await anext(items)
                    except StopAsyncIteration:
                        break
                    need.began = True
                    writer.write(item.packed())
                    await writer.drain()
            last = Message({"end": True})
        except BackendError as error:
            last = Message({"end": True, "role": error.role, "sentence": str(error)})
        except (KeyError, TypeError, ValueError, ValidationError, Unreadable) as error:
            log.error("a request could not be read: %s", where(error))
            last = Message({"end": True, "role": role, "sentence": FAILED.format(role=role)})
        except OSError:  # the front has gone
            return
        except Exception as error:
            log.error("%s failed: %s", role, where(error))
            last = Message({"end": True, "role": role, "sentence": FAILED.format(role=role)})
        writer.write(last.packed())
        await writer.drain()

    async def _card(self, asked: Message) -> AsyncGenerator[Message, None]:
        """What a page tells of the perceiver."""
        perceiver = self._models.perceiver
        told = {name: getattr(perceiver, name, None) for name in ("weights", "licence")}
        yield Message(told)

    async def _finished(self, asked: Message) -> AsyncGenerator[Message, None]:
        chance = await self._models.turn_judge.finished(messages.sound_in(asked))
        yield Message({"chance": float(chance)})

    async def _transcribe(self, asked: Message) -> AsyncGenerator[Message, None]:
        text = await self._models.transcriber.transcribe(messages.sound_in(asked))
        yield Message({"text": text})

    async def _perceive(self, asked: Message) -> AsyncGenerator[Message, None]:
        attention = self._attentions.of(asked.head["attention"])
        sound = messages.sound_in(asked)
        yield messages.of_percept(await attention.perceive(sound, asked.head["words"]))

    async def _glance(self, asked: Message) -> AsyncGenerator[Message, None]:
        attention = self._attentions.of(asked.head["attention"])
        yield messages.of_percept(await attention.glance(messages.sound_in(asked)))

    async def _respond(self, asked: Message) -> AsyncGenerator[Message, None]:
        dialogue, max_tokens = messages.dialogue_in(asked)
        async with aclosing(self._models.responder.respond(dialogue, max_tokens)) as tokens:
            async for token in tokens:
                yield messages.of_token(token)

    async def _speak(self, asked: Message) -> AsyncGenerator[Message, None]:
        clause, style = messages.clause_in(asked)
        async with aclosing(self._models.speaker.speak(clause, style)) as chunks:
            async for chunk in chunks:
                yield messages.of_spoken(chunk)


class Need:
    """By when somebody in a front needs an answer: its first part by then, others in their turn.

    How much of it they have in hand is not known here, so none goes before others' first parts.
    """

    def __init__(self, when: float) -> None:
        self.began = False
        self._when = when

    def __call__(self) -> float:
        return time.monotonic() if self.began else self._when


async def _listen(reader: asyncio.StreamReader, wanted: asyncio.Semaphore) -> None:
    """Until the front hangs up: each byte of it asks for one more item."""
    while asked := await reader.read(64):
        for _ in asked:
            wanted.release()


def run(
    settings: Config,
    path: Path,
    alive: AbstractAsyncContextManager[None],
    ready: Callable[[], None],
) -> None:
    """Load, warm and serve until told to stop."""
    with ExitStack() as opened:
        loaded = registry.load(choices(settings))
        opened.callback(loaded.close)
        uvloop_run(serve(loaded, path, alive, ready))


async def serve(
    models: Models,
    path: Path,
    alive: AbstractAsyncContextManager[None],
    ready: Callable[[], None],
) -> None:
    await warm(models)
    settle_memory()
    stop = asyncio.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, stop.set)
    async with alive, Listening(ModelHouse(models), path):
        ready()
        await stop.wait()


class Listening:
    """A socket only our own user can reach; the one a killed process left is replaced."""

    def __init__(self, house: ModelHouse, path: Path) -> None:
        self._house = house
        self._path = path
        self._server: asyncio.AbstractServer | None = None
        self._meetings: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> None:
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(
            self._meet, self._path, limit=BUFFER, backlog=BACKLOG
        )
        os.chmod(self._path, 0o600)

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None, "it was opened"
        self._server.close()
        for meeting in self._meetings:
            meeting.cancel()
        await asyncio.gather(*self._meetings, return_exceptions=True)
        self._path.unlink(missing_ok=True)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        meeting = asyncio.current_task()
        assert meeting is not None, "asyncio gives every connection a task"
        self._meetings.add(meeting)
        try:
            await self._house.meet(reader, writer)
        finally:
            self._meetings.discard(meeting)
