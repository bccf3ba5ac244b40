"""Each spoken turn as a trace, sent to whatever understands OpenTelemetry: when, never what."""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from server.config import ConfigError
from server.version import VERSION
from server.vitals import Vitals

# What each stage waited for; the latest of those that were reached is where it began.
AFTER: Mapping[str, tuple[str, ...]] = {
    "paused": ("speech_end",),
    "words": ("paused",),
    "judged": ("paused",),
    "percept": ("paused",),
    "planned": ("words",),
    "first_token": ("planned",),
    "first_clause": ("planned",),
    "first_audio": ("first_clause",),
    "gate": ("speech_end",),
    "first_sent": ("gate", "first_audio"),
}
NEEDS = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")
FLUSH_MS = 2_000  # how long a stopping server waits for the last traces to leave


class Tracer:
    """Turns moments of the monotonic clock into spans; they leave in a thread of their own."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("attune", VERSION)

    def turn(self, moments: Mapping[str, float], outcome: str) -> None:
        """One turn that is over: from the end of speech to the last stage that was reached."""
        from opentelemetry import trace

        ago = time.time_ns() - time.monotonic_ns()

        def ns(at: float) -> int:
            return ago + round(at * 1e9)

        begin = moments["speech_end"]
        whole = self._tracer.start_span(
            "turn", start_time=ns(begin), attributes={"attune.outcome": outcome}
        )
        inside = trace.set_span_in_context(whole)
        for stage, before in AFTER.items():
            if (end := moments.get(stage)) is None:
                continue
            began = max((moments[each] for each in before if each in moments), default=begin)
            span = self._tracer.start_span(stage, inside, start_time=ns(min(began, end)))
            span.end(ns(end))
        whole.end(ns(max(moments.values())))

    def close(self) -> None:
        self._provider.force_flush(FLUSH_MS)
        self._provider.shutdown()


def check(endpoint: str | None) -> None:
    """Whether what is set can be done at all: one line for the person who set it."""
    if endpoint and not _there():
        raise ConfigError("watching.traces needs OpenTelemetry: pip install -e '.[tracing]'")


def _there() -> bool:
    try:
        return all(find_spec(name) is not None for name in NEEDS)
    except ModuleNotFoundError:  # not even what it is a part of
        return False


def provider(endpoint: str) -> Any:
    """One that sends to an OTLP/HTTP endpoint, in batches."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    made = TracerProvider(
        resource=Resource.create({"service.name": "attune", "service.version": VERSION})
    )
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return made


@asynccontextmanager
async def tracing(endpoint: str | None, vitals: Vitals) -> AsyncGenerator[None, None]:
    """Every turn is traced for as long as the server runs, where an endpoint is set."""
    if endpoint is None:
        yield
        return
    tracer = Tracer(provider(endpoint))
    vitals.on_turn = tracer.turn
    try:
        yield
    finally:
        vitals.on_turn = None
        await asyncio.to_thread(tracer.close)  # it waits for the network
