"""Turns as traces: what leaves, what does not, and what happens when nobody takes them."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from server import tracing
from server.config import ConfigError
from tests.serving import serving
from tests.talker import play_until, talking


class Collector:
    """A collector of traces that speaks OTLP over HTTP."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.raw = b""

    def take(self, body: bytes) -> None:
        self.raw += body
        asked = ExportTraceServiceRequest.FromString(body)
        for resource in asked.resource_spans:
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)


@contextmanager
def collecting() -> Iterator[tuple[str, Collector]]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_a_spoken_turn_leaves_one_trace_with_its_stages_and_without_its_words() -> None:
    with collecting() as (endpoint, collector):
        async with serving(watching={"traces": endpoint}) as (url, _), talking(url) as talker:
            await talker.ask()
            done = await play_until(talker, "response.done")
            await talker.say(0.0, 10.0)  # time for all of it to be played
            await talker.settle()
        # A server that stops sends what it still has.
        (whole,) = (span for span in collector.spans if span.name == "turn")
        stages = {span.name: span for span in collector.spans if span is not whole}
        assert {"words", "planned", "first_audio", "gate", "first_sent"} <= set(stages)
        for span in stages.values():
            assert span.parent_span_id == whole.span_id
            assert whole.start_time_unix_nano <= span.start_time_unix_nano
            assert span.start_time_unix_nano <= span.end_time_unix_nano
            assert span.end_time_unix_nano <= whole.end_time_unix_nano
        (outcome,) = (a.value.string_value for a in whole.attributes if a.key == "attune.outcome")
        assert outcome == "completed"
        said = done["response"]["output"][0]["content"][0]["transcript"]
        words = [word for word in said.split() if len(word) > 3]
        assert words and not any(word.encode() in collector.raw for word in words)


async def test_of_a_reply_that_is_hung_up_on_the_trace_says_so() -> None:
    with collecting() as (endpoint, collector):
        async with serving(watching={"traces": endpoint}) as (url, _), talking(url) as talker:
            await talker.ask()
            await play_until(talker, "response.output_audio.delta")
        (whole,) = (span for span in collector.spans if span.name == "turn")
        assert [a.value.string_value for a in whole.attributes] == ["broken off"]


@pytest.mark.slow
async def test_a_collector_that_is_not_there_holds_nobody_up() -> None:
    watching = {"traces": "http://127.0.0.1:9/v1/traces"}
    async with serving(watching=watching) as (url, _), talking(url) as talker:
        await talker.ask()
        async with asyncio.timeout(30):
            await play_until(talker, "response.done")


def test_without_the_package_the_setting_is_refused_in_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracing, "find_spec", lambda _: None)
    tracing.check(None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[tracing\]'"):
        tracing.check("http://127.0.0.1:4318/v1/traces")
    assert find_spec("opentelemetry") is not None
