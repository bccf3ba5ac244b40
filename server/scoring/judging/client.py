"""A judge behind an OpenAI-style chat endpoint: one question, one answer, and what it cost."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
from pydantic import BaseModel, ValidationError

from models.peer import trusted
from server.scoring.judging.hosts import address, beside_us
from server.scoring.score import Passing, Unavailable
from server.scoring.scored import Usage
from server.scoring.settings import JudgeSettings

Message = Mapping[str, Any]
Pause = Callable[[float], None]

NOT_CONFIGURED = "no judge is configured: --judge URL --judge-model NAME"
NO_ANSWER = "the judge did not answer"
NO_KEY = f"{NO_ANSWER}: it did not accept our key"
NO_MODEL = f"{NO_ANSWER}: it does not know the model"
REFUSED = f"{NO_ANSWER}: it refused the question"
TRIES = 4
FIRST_PAUSE_SEC, LONGEST_PAUSE_SEC = 1.0, 60.0
CONNECT_SEC = 10.0
GIVEN_UP_AFTER = 3  # questions in a row that nobody answered: the rest need not wait as long
BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
# What a server may not know and we can do without, in the order in which it is left out.
DISPENSABLE = ("response_format", "seed")


class NoAnswer(Passing):
    """The judge is not there, or not for us: the next question will not fare better."""


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    whole: bool  # it ended by itself


class _Said(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Said = _Said()
    finish_reason: str | None = None


class _Tokens(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Reply(BaseModel):
    choices: list[_Choice]
    usage: _Tokens | None = None


@dataclass(slots=True)
class Meter:
    """What was asked so far."""

    calls: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    told: bool = True  # by every answer, how many tokens it took


class Endpoint:
    """Where questions go. Nothing of them, and no key, is ever logged."""

    def __init__(self, settings: JudgeSettings, pause: Pause = time.sleep) -> None:
        if not settings.url or not settings.model:
            raise Unavailable(NOT_CONFIGURED)
        self.url = address(settings.url)
        self.local = beside_us(self.url)
        self.model = settings.model
        self.meter = Meter()
        self._settings = settings
        self._pause = pause
        self._left_out = 0  # of DISPENSABLE, which this server does not take
        self._troubles: list[str] = []  # of the last questions, without an answer since
        self._client = httpx2.Client(
            headers=_authorization(settings),
            timeout=httpx2.Timeout(settings.timeout_sec, connect=CONNECT_SEC),
            # None is kept: what runs out while we reach for it would count as a failure.
            limits=httpx2.Limits(max_keepalive_connections=0),
            # Made only where it is needed: it takes longer than a connection.
            verify=trusted(self.url),
            trust_env=False,  # what is meant for this machine must not go through a proxy
        )

    @property
    def usage(self) -> Usage:
        meter, prices = self.meter, (self._settings.price_in, self._settings.price_out)
        cost = None
        if meter.told and prices[0] is not None and prices[1] is not None:
            cost = (meter.tokens_in * prices[0] + meter.tokens_out * prices[1]) / 1e6
        return Usage(
            self.model, meter.calls, meter.retries, meter.tokens_in, meter.tokens_out, cost
        )

    def complete(self, messages: Sequence[Message], seed: int) -> Completion:
        """The judge's answer; NoAnswer once it has been asked often enough."""
        if len(self._troubles) >= GIVEN_UP_AFTER:
            raise NoAnswer(self._troubles[-1])
        try:
            reply = self._asked(messages, seed)
        except NoAnswer as trouble:
            self._troubles.append(str(trouble))
            raise
        self._troubles.clear()
        return self._counted(reply)

    def _asked(self, messages: Sequence[Message], seed: int) -> httpx2.Response:
        """Leaves out, one after another, what the server may not know, if it refuses."""
        for left_out in range(self._left_out, len(DISPENSABLE) + 1):
            reply = self._tried(self._question(messages, seed, left_out))
            if reply.status_code not in (400, 422):
                break
        if reply.is_success:
            self._left_out = left_out
            return reply
        if reply.status_code in (401, 403):
            raise NoAnswer(NO_KEY)
        if reply.status_code == 404:
            raise NoAnswer(NO_MODEL)
        raise Passing(REFUSED)

    def _tried(self, question: Mapping[str, Any]) -> httpx2.Response:
        """Asks again, later and later, where the trouble may pass."""
        for attempt in range(TRIES):
            self.meter.calls += 1
            wait = FIRST_PAUSE_SEC * 2**attempt
            try:
                reply = self._client.post(f"{self.url}/chat/completions", json=question)
            except httpx2.TransportError:
                pass
            else:
                if reply.status_code not in BUSY:
                    return reply
                wait = _asked_to_wait(reply) or wait
            if attempt + 1 < TRIES:
                self.meter.retries += 1
                self._pause(min(wait, LONGEST_PAUSE_SEC))
        raise NoAnswer(NO_ANSWER)

    def _question(self, messages: Sequence[Message], seed: int, left_out: int) -> dict[str, Any]:
        question: dict[str, Any] = {
            "model": self.model,
            "messages": list(messages),
            "temperature": self._settings.temperature,
            "max_tokens": self._settings.max_tokens,
            "seed": seed,
            "response_format": {"type": "json_object"},
        }
        for name in DISPENSABLE[:left_out]:
            del question[name]
        return question

    def _counted(self, reply: httpx2.Response) -> Completion:
        try:
            read = _Reply.model_validate_json(reply.content)
        except ValidationError:
            read = _Reply(choices=[])
        if read.usage is None:
            self.meter.told = False
        else:
            self.meter.tokens_in += read.usage.prompt_tokens
            self.meter.tokens_out += read.usage.completion_tokens
        if not read.choices:
            return Completion("", whole=True)
        choice = read.choices[0]
        return Completion(choice.message.content or "", choice.finish_reason != "length")


def _authorization(settings: JudgeSettings) -> dict[str, str]:
    key = settings.key.get_secret_value() if settings.key else ""
    if not key:
        return {}
    if not (key.isascii() and key.isprintable() and key == key.strip()):
        raise Unavailable("the judge's key holds characters that cannot be in a key")
    return {"Authorization": f"Bearer {key}"}


def _asked_to_wait(reply: httpx2.Response) -> float | None:
    """Seconds of Retry-After, which is a number or a date."""
    told = reply.headers.get("retry-after", "").strip()
    if told.isdigit():
        return float(told)
    try:
        return max((parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None
