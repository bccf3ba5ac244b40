"""The emotion2vec+ process: FunASR behind two HTTP paths, in an environment of its own.

GET /health gives the labels, POST /classify takes 16-bit mono sound at 16 kHz and gives a score
for each. It imports nothing of ours that needs a package.
"""

import argparse
import json
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

RATE = 16_000
MOST = 60 * RATE * 2  # bytes: a minute
MODEL = "emotion2vec/emotion2vec_plus_large"

Answer = dict[str, list[Any]]  # "labels", and as many "scores"
Classify = Callable[[bytes], Answer]


class Server(ThreadingHTTPServer):
    """A thread for each connection, and one question at a time to the model."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], classify: Classify) -> None:
        super().__init__(address, Handler)
        self._classify = classify
        self._alone = threading.Lock()
        self.labels = classify(bytes(RATE * 2))["labels"]  # warms the model as well

    def classify(self, sound: bytes) -> Answer:
        with self._alone:
            return self._classify(sound)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay open: a question costs no new one
    server: Server

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(HTTPStatus.OK, {"labels": self.server.labels})
        else:
            self._answer(HTTPStatus.NOT_FOUND, "there are GET /health and POST /classify")

    def do_POST(self) -> None:
        told = self.headers.get("Content-Length") or "0"
        if not re.fullmatch(r"[0-9]{1,18}", told):
            self.close_connection = True  # nobody knows where its sound would end
            self._answer(HTTPStatus.BAD_REQUEST, "the Content-Length is no number of bytes")
            return
        size = int(told)
        if size > MOST:
            self.close_connection = True  # its sound is not read
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "no more than a minute at a time")
            return
        sound = self.rfile.read(size)
        if self.path != "/classify":
            self._answer(HTTPStatus.NOT_FOUND, "there are GET /health and POST /classify")
        elif not size or size % 2:
            self._answer(HTTPStatus.BAD_REQUEST, "send 16-bit samples")
        else:
            try:
                answer = self.server.classify(sound)
            except Exception as error:  # FunASR's own have no common base
                self.log_error("%s", error)
                self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, "the model failed")
            else:
                self._answer(HTTPStatus.OK, answer)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing: a conversation asks twice a second."""

    def _answer(self, status: HTTPStatus, body: dict[str, Any] | str) -> None:
        kind = "text/plain" if isinstance(body, str) else "application/json"
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def load(model: str, device: str) -> Classify:
    """FunASR's model, from a folder or the hub, fetched if it is not here yet."""
    import numpy as np

    network = import_module("funasr").AutoModel(
        model=model, hub="hf", device=device, disable_update=True, disable_pbar=True
    )

    def classify(sound: bytes) -> Answer:
        samples = np.frombuffer(sound, "<i2").astype(np.float32) / 32_768
        (heard,) = network.generate(samples, granularity="utterance", extract_embedding=False)
        return {"labels": heard["labels"], "scores": [float(score) for score in heard["scores"]]}

    return classify


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="emotion2vec_server")
    parser.add_argument("--model", default=MODEL, help="of the hub, or a folder")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 or cpu")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=7861)
    asked = parser.parse_args()
    try:
        classify = load(asked.model, asked.device)
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is missing: pip install -r requirements/emotion2vec.txt")
    except Exception as error:  # FunASR's own have no common base
        reason = str(error).partition("\n")[0]
        sys.exit(f"cannot load {asked.model}; hf download {asked.model} brings it ({reason})")
    with Server((asked.host, asked.port), classify) as server:
        print(f"emotion2vec listens on http://{asked.host}:{asked.port}", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
