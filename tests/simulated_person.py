"""A person with consent to give, on the samples clock, who remembers exactly what happened.

Session time is what the person has captured: on that clock the server counts nothing else.
"""

import asyncio
import random
import time
from base64 import b64decode, b64encode
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from struct import unpack
from typing import Any, Literal

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from models.types import WIRE_RATE
from server.client import HEADER
from server.consent import Consent
from tests.marked import Span, Track, Words, word
from tests.simulated_loudspeaker import Loudspeaker

SPEED = 20.0  # times real time
PIECES = (480, 777, 960, 1000, 1440, 2400)  # samples sent at once; some fit no block
SYNC_SEC = 1.0  # of session time between questions whether all has arrived
AHEAD = 3  # questions that may be unanswered
NOTHING = Consent()
COMBINATIONS = [Consent(bool(n & 1), bool(n & 2), bool(n & 4)) for n in range(1, 8)]

Ending = Literal["hang_up", "drop", "stay"]
Event = dict[str, Any]

ENDINGS: tuple[Ending, ...] = ("hang_up", "drop", "stay")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a person is going to be like."""

    number: int
    seconds: float
    kind: str  # of consent
    consents: tuple[tuple[float, Consent], ...]  # at which part of the session
    opted_in: bool
    binary: bool
    acknowledges: bool
    piece: int
    ending: Ending


def planned(number: int, shortest: float, longest: float) -> Plan:
    dice = random.Random(number)
    kind = dice.choice(
        ["unasked", "refused", "given", "given", "later", "withdrawn", "withdrawn", "again"]
    )
    opted_in = dice.random() < 0.75
    return Plan(
        number,
        dice.uniform(shortest, longest),
        kind,
        _consents(kind, dice),
        opted_in,
        opted_in and dice.random() < 0.6,
        dice.random() < 0.7,
        dice.choice(PIECES),
        dice.choices(ENDINGS, [6, 3, 1])[0],
    )


def _consents(kind: str, dice: random.Random) -> tuple[tuple[float, Consent], ...]:
    given, later, last = dice.choice(COMBINATIONS), dice.uniform(0.1, 0.5), dice.uniform(0.55, 0.9)
    less = dice.choice([NOTHING, *(c for c in COMBINATIONS if _loses(given, c))])
    match kind:
        case "unasked":
            return ()
        case "refused":
            return ((0.0, NOTHING),)
        case "given":
            return ((0.0, given),)
        case "later":
            return ((later, given),)
        case "withdrawn":
            return ((dice.choice([0.0, later]), given), (last, less))
    return ((0.0, given), (later, less), (last, dice.choice(COMBINATIONS)))


def _loses(before: Consent, after: Consent) -> bool:
    return not set(before.scopes) <= set(after.scopes)


@dataclass(slots=True)
class Truth:
    """What happened, as the person knows it."""

    plan: Plan
    words: Words
    session_id: str = ""
    user_agent: str = ""
    captured: int = 0
    loud: list[Span] = field(default_factory=list)
    consents: list[tuple[int, Consent]] = field(default_factory=list)
    arrived: list[tuple[float, int]] = field(default_factory=list)  # known to have, and when known
    sounded: list[tuple[int, bytes]] = field(default_factory=list)
    barge_ins: int = 0
    replies: int = 0
    ended: Literal["hung_up", "dropped", "cut"] = "cut"  # cut: by the server's end
    ended_at: float = 0.0  # on the monotonic clock
    killed_at: float | None = None  # the server, with this conversation, or a moment after it
    errors: list[str] = field(default_factory=list)

    @property
    def lost_nothing(self) -> bool:
        """Whether everything that was captured must be there."""
        return self.ended == "hung_up" and self.killed_at is None

    def surely_written(self, grace_sec: float) -> int:
        """What of the captured samples must be on the disk."""
        if self.lost_nothing:
            return self.captured
        latest = (self.killed_at or float("inf")) - grace_sec
        return max((at for when, at in self.arrived if when <= latest), default=0)


class Person:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.truth = Truth(plan, Words(plan.number))
        self._dice = random.Random(plan.number + 1_000_000)
        self._track = Track(plan.number, plan.seconds + 30)
        self._speaker = Loudspeaker()
        self._asked: deque[int] = deque()  # positions whose arrival was asked about
        self._answered = asyncio.Condition()
        self._due = [(part * plan.seconds, consent) for part, consent in plan.consents]
        self._synced = 0
        self._begin = 0.0

    async def live(self, url: str) -> Truth:
        """Talk until the plan is over, or the server is."""
        truth = self.truth
        truth.user_agent = word(self.plan.number, 0)
        query = "?attune=1" if self.plan.opted_in else ""
        try:
            async with connect(
                url + query, max_size=None, compression=None, user_agent_header=truth.user_agent
            ) as socket:
                await self._talk(socket)
        except (WebSocketException, OSError):
            pass  # the server's end
        truth.ended_at = truth.ended_at or time.monotonic()
        truth.sounded = self._speaker.sounded
        return truth

    async def _talk(self, socket: ClientConnection) -> None:
        self._socket = socket
        created = orjson.loads(await socket.recv())
        self.truth.session_id = created["session"]["id"]
        listening = asyncio.create_task(self._listen())
        try:
            self._begin = time.monotonic()
            await self._agree_if_due()
            await self._settings()
            while self.truth.captured < self.plan.seconds * WIRE_RATE or self._stays:
                await self._dice.choice([self._speak, self._speak, self._type, self._settings])()
            await self._end(listening)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    @property
    def _stays(self) -> bool:
        """Whether the person goes on, within limits, for the server to end it."""
        limit = (self.plan.seconds + 20) * WIRE_RATE
        return self.plan.ending == "stay" and self.truth.captured < limit

    async def _end(self, listening: "asyncio.Task[None]") -> None:
        if self.plan.ending == "drop":
            await self._capture(self._dice.uniform(0.2, 0.8), loud=True)  # in mid-turn
            self.truth.ended, self.truth.ended_at = "dropped", time.monotonic()
            self._socket.transport.abort()
            await listening
            return
        await self._ask()
        async with self._answered:
            await self._answered.wait_for(lambda: not self._asked or listening.done())
        if listening.done():
            return
        self.truth.ended, self.truth.ended_at = "hung_up", time.monotonic()
        await self._socket.close()

    # -- what people do

    async def _speak(self) -> None:
        """A turn, with time for an answer, or for a part of it."""
        over_reply = self._speaker.busy
        await self._capture(self._dice.uniform(0.5, 2.5), loud=True)
        self.truth.barge_ins += over_reply
        await self._capture(self._dice.choice([0.3, 1.2, 2.0, 4.0]), loud=False)

    async def _type(self) -> None:
        text = " ".join(self.truth.words.new() for _ in range(3))
        content = [{"type": "input_text", "text": text}]
        item = {"type": "message", "role": "user", "content": content}
        await self._say(type="conversation.item.create", item=item, event_id=self._word())
        if self._dice.random() < 0.7:
            await self._say(type="response.create")
        await self._capture(self._dice.uniform(0.5, 3.0), loud=False)

    async def _settings(self) -> None:
        ours: Event = {"capture": {"echo_cancellation": True, "sample_rate": 48_000}}
        if self.plan.binary:
            ours |= {"binary": True, "events": True}
        session = {"instructions": self.truth.words.new("set"), "attune": ours}
        self._asked.append(self.truth.captured)
        await self._say(type="session.update", session=session)
        if self.plan.binary and self.truth.captured == 0:
            async with self._answered:
                await self._answered.wait_for(lambda: not self._asked)

    def _word(self) -> str:
        return self.truth.words.new()

    async def _agree_if_due(self) -> None:
        truth = self.truth
        if not self._due or truth.captured < self._due[0][0] * WIRE_RATE:
            return
        _, consent = self._due.pop(0)
        named = {"name": truth.words.new("never")} if self._dice.random() < 0.5 else {}
        await self._say(type="attune.consent", **asdict(consent), **named)
        truth.words.consent(consent)
        truth.consents.append((truth.captured, consent))

    # -- microphone and loudspeaker

    async def _capture(self, seconds: float, *, loud: bool) -> None:
        truth, start = self.truth, self.truth.captured
        end = start + round(seconds * WIRE_RATE)
        while truth.captured < end:
            await self._agree_if_due()
            begin, stop = truth.captured, min(end, truth.captured + self.plan.piece)
            reports = self._speaker.play(begin, stop - begin)
            pcm = self._track.take(begin, stop, loud).tobytes()
            await asyncio.sleep(self._begin + stop / WIRE_RATE / SPEED - time.monotonic())
            truth.captured = stop
            if loud:
                truth.loud.append((begin, stop))
            await self._hand_over(pcm)
            for reply, at in reports if self.plan.acknowledges else []:
                await self._say(
                    type="attune.playback",
                    response_id=reply.response_id,
                    item_id=reply.item_id,
                    played_samples=reply.played,
                    input_samples=at,
                )
            if stop - self._synced >= SYNC_SEC * WIRE_RATE:
                await self._ask()

    async def _hand_over(self, pcm: bytes) -> None:
        if self.plan.binary:
            await self._socket.send(pcm)
        else:
            await self._say(type="input_audio_buffer.append", audio=b64encode(pcm).decode())

    async def _ask(self) -> None:
        """Whether everything so far has arrived; and wait if the server is far behind."""
        self._synced = self.truth.captured
        self._asked.append(self.truth.captured)
        await self._say(type="session.update", session={})
        async with self._answered:
            await self._answered.wait_for(lambda: len(self._asked) <= AHEAD)

    async def _say(self, **event: Any) -> None:
        await self._socket.send(orjson.dumps(event).decode())

    # -- what comes back

    async def _listen(self) -> None:
        try:
            with suppress(ConnectionClosed):
                async for message in self._socket:
                    if isinstance(message, bytes):
                        sequence, _ = unpack("<II", message[:HEADER])
                        self._speaker.receive(sequence, message[HEADER:])
                    else:
                        await self._obey(orjson.loads(message))
        finally:
            async with self._answered:
                self._asked.clear()
                self._answered.notify_all()

    async def _obey(self, event: Event) -> None:
        speaker = self._speaker
        match event["type"]:
            case "response.created":
                speaker.created(event["response"])
            case "response.output_item.added":
                speaker.named(event["response_id"], event["item"]["id"])
            case "response.output_audio.done":
                speaker.complete(event["response_id"])
            case "response.output_audio.delta":
                speaker.receive(event["response_id"], b64decode(event["delta"]))
            case "response.done":
                speaker.complete(event["response"]["id"])
                self.truth.replies += event["response"]["status"] == "completed"
            case "attune.hold":
                speaker.hold()
            case "attune.resume":
                speaker.resume()
            case "input_audio_buffer.speech_started":
                speaker.stop()
            case "session.updated":
                self.truth.arrived.append((time.monotonic(), self._asked.popleft()))
                async with self._answered:
                    self._answered.notify_all()
            case "error":
                self.truth.errors.append(str(event["error"].get("code")))
