"""A stand-in for a judge: an OpenAI-style endpoint on the loopback that answers as scripted."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from server.scoring.settings import JudgeSettings, Settings

Body = dict[str, Any]


@dataclass(frozen=True)
class Says:
    """One answer; the last of a script is given again and again."""

    text: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    tokens: tuple[int, int] | None = (100, 20)
    finish: str = "stop"
    body: bytes | None = None  # as it is, in place of all that
    hangs_up: bool = False

    def content(self) -> bytes:
        if self.body is not None:
            return self.body
        if self.status != 200:
            return orjson.dumps({"error": {"message": "No."}})
        choice = {"index": 0, "message": {"content": self.text}, "finish_reason": self.finish}
        told: Body = {"id": "x", "choices": [choice]}
        if self.tokens:
            told["usage"] = dict(
                zip(("prompt_tokens", "completion_tokens"), self.tokens, strict=True)
            )
        return orjson.dumps(told)


def grades(**told: Any) -> Says:
    return Says(orjson.dumps(told).decode())


Script = Callable[[Body, int], Says]  # the question and how many came before it


@dataclass
class JudgeServer:
    url: str = ""
    asked: list[Body] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def settings(self, **more: Any) -> Settings:
        return Settings(judge=JudgeSettings(url=self.url, model="fair-judge-9b", **more))

    def text(self, number: int = -1) -> str:
        """All the words of a question."""
        parts = []
        for message in self.asked[number]["messages"]:
            content = message["content"]
            parts += [content] if isinstance(content, str) else [p.get("text", "") for p in content]
        return "\n".join(parts)

    def sounds(self, number: int = -1) -> list[str]:
        content = self.asked[number]["messages"][1]["content"]
        if isinstance(content, str):
            return []
        return [part["input_audio"]["data"] for part in content if part["type"] == "input_audio"]


@contextmanager
def judging(*answers: Says | Script) -> Iterator[JudgeServer]:
    found = JudgeServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.path == "/v1/chat/completions"
            number = len(found.asked)
            found.asked.append(body)
            found.headers.append({name.lower(): value for name, value in self.headers.items()})
            answer = answers[min(number, len(answers) - 1)]
            said = answer if isinstance(answer, Says) else answer(body, number)
            if said.hangs_up:
                return
            content = said.content()
            self.send_response(said.status)
            for name, value in {"Content-Length": str(len(content)), **said.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
