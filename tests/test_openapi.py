"""What /openapi.json says is true: for whatever is asked, the answer is one it names."""

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.types import ASGIApp, Receive, Scope, Send

from models.types import WIRE_RATE
from server import app as server_app
from server.config import Config
from server.sessions.library import Library
from server.speech_formats import WAV_HEADER
from tests.made_reports import made_report
from tests.made_rounds import made_round
from tests.made_sessions import made_session
from tests.serving import standins

TOKEN, SECRET = "the operator's own token", "a secret of the talker's own"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OPERATORS = ("/api/system", "/api/reports", "/api/exports")
ARENA = {  # who may ask it what
    "/api/arena/leaderboard": [],
    "/api/arena/rounds/recorded": ["operator"],
    "/api/arena/rounds/{round_id}": ["operator", "voter"],
    "/api/arena/rounds/{round_id}/answers/{side}": ["voter"],
    "/api/arena/rounds/{round_id}/vote": ["voter"],
}
BY_TICKET = ("/api/reports/{name}/view/{ticket}/{path}", "/api/exports/{ticket}")
EXAMPLES = 100  # of good requests, and as many of bad ones
# Every operation, and the answers that must have been seen for the checks to mean anything.
REACHED = {
    "GET /": {200},
    "GET /health": {200},
    "GET /ready": {200},
    "GET /metrics": {200},
    "GET /v1/models": {200},
    "POST /v1/realtime/client_secrets": {200, 400},
    "POST /v1/audio/speech": {200, 400},
    "POST /v1/audio/transcriptions": {200, 400},
    "GET /api/sessions": {200, 400, 401},
    "GET /api/sessions/{session_id}": {200, 401, 404},
    "DELETE /api/sessions/{session_id}": {200, 401, 404},
    "GET /api/sessions/{session_id}/audio": {200, 206, 401, 404},
    "HEAD /api/sessions/{session_id}/audio": {200, 206, 401, 404},
    "GET /api/sessions/{session_id}/events": {200, 401, 404},
    "GET /api/sessions/{session_id}/waveform": {200, 400, 401, 404},
    "GET /api/sessions/{session_id}/spectrogram": {200, 400, 401, 404},
    "GET /api/sessions/{session_id}/clip": {200, 400, 401, 404},
    "GET /api/sessions/{session_id}/story": {200, 401, 404},
    "POST /api/sessions/{session_id}/consent": {200, 400, 401, 404},
    "POST /api/sessions/{session_id}/ratings": {201, 400, 401, 404},
    "PUT /api/sessions/{session_id}/notes": {200, 400, 401},
    "GET /api/system": {200, 400, 401},
    "GET /api/reports": {200, 401},
    "POST /api/reports": {202, 400, 401, 409},
    "GET /api/reports/{name}": {200, 401, 404},
    "DELETE /api/reports/{name}": {200, 401, 404},
    "GET /api/reports/{name}/exchanges": {200, 400, 401, 404},
    "GET /api/reports/{name}/trend": {200, 400, 401, 404},
    "GET /api/reports/{name}/progress": {401, 404},
    "GET /api/reports/{name}/files/{path}": {200, 401},
    "GET /api/reports/{name}/view/{ticket}/{path}": {404},
    "GET /api/exports": {200, 401},
    "POST /api/exports": {200, 201, 400, 401, 409},
    "GET /api/exports/{ticket}": {404},
    "GET /api/arena/leaderboard": {200},
    "GET /api/arena/rounds": {200, 400, 401},
    "POST /api/arena/rounds": {400},
    "POST /api/arena/rounds/recorded": {400, 401, 404},
    "GET /api/arena/rounds/{round_id}/answers/{side}": {200, 400, 401, 404},
    "POST /api/arena/rounds/{round_id}/vote": {200, 400, 401, 404},
    "DELETE /api/arena/rounds/{round_id}": {204, 401, 404},
}


@dataclass
class Described:
    """The whole application over a few sessions, of which some are always left."""

    app: FastAPI
    schema: BaseSchema
    runs: Path
    library: Library
    sessions: list[str] = field(default_factory=list)

    def session(self, nth: int) -> str:
        """Made anew if it was deleted meanwhile."""
        while len(self.sessions) <= nth:
            self.sessions.append(self._made(len(self.sessions)))
        session_id = self.sessions[nth]
        if nth < 3 and self.library.session(session_id).file().state == "deleted":
            session_id = self.sessions[nth] = self._made(nth)
        return session_id

    def report(self) -> str:
        """Made anew if it was deleted meanwhile."""
        if not (self.runs / "reports" / "made").exists():
            made_report(self.runs / "reports", "made")
        return "made"

    def round(self) -> str:
        """One that was heard, and waits for its vote."""
        waiting = self.app.state.arena.waiting
        made = made_round(secret=SECRET, heard={"a", "b"}, begun=waiting.now())
        waiting.add(made)
        return made.id

    def _made(self, nth: int) -> str:
        how: list[dict[str, Any]] = [{}, {"consent": "transcript"}, {"consent": "none"},
                                     {"state": "deleted"}]  # fmt: skip
        session_id = made_session(self.runs, secret=SECRET, **how[nth])
        self.library.sync()
        return session_id


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Generator[Described, None, None]:
    runs = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("server.access.WRONG", 10**9)  # or soon everything would be too often
        patch.setattr("server.export_desk.VALID_SEC", 0.0)  # or the next would have to wait
        patch.setattr("server.export_download.NICE", 0)
        patch.setattr("server.reports_api.COMMAND", ("true",))  # a scorer with nothing to say
        recording = {"runs": str(runs), "enabled": False}
        settings = {"profile": "standin", "operator_token": TOKEN, "recording": recording}
        config = Config.model_validate(settings)
        app = server_app.create(standins(), config)
        headers = {"Host": "localhost"}
        schema = schemathesis.openapi.from_asgi("/openapi.json", _answering(app), headers=headers)
        yield Described(app, schema, runs, app.state.house.library)


def _answering(app: FastAPI) -> ASGIApp:
    """The application as long as it runs: schemathesis would stop it after a test."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await app(scope, receive, send)

    return answer


def test_every_route_is_described(described: Described) -> None:
    paths = described.app.openapi()["paths"]
    told = {f"{method.upper()} {path}" for path, of in paths.items() for method in of}
    assert told == set(REACHED)
    routes = {
        f"{method} {(found.path or '').replace(':path}', '}')}"
        for found in iter_route_contexts(described.app.routes)
        if isinstance(found.original_route, APIRoute)
        for method in found.methods or ()
    }
    assert told == routes


def test_what_is_described_holds_together(described: Described) -> None:
    document = described.app.openapi()
    described.schema.validate()
    assert "422" not in {status for path in document["paths"].values() for operation in
                         path.values() for status in operation["responses"]}  # fmt: skip
    names = [operation["operationId"] for path in document["paths"].values()
             for operation in path.values()]  # fmt: skip
    assert len(names) == len(set(names))
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            schemes = [name for each in operation.get("security", []) for name in each]
            if path.startswith("/api/arena"):
                of_rounds = ["operator"] if method == "get" else []
                assert schemes == ARENA.get(path, of_rounds), (method, path)
                continue
            if path in BY_TICKET:
                assert schemes == []
                continue
            by_operator = path.endswith("/notes") or path.startswith(OPERATORS)
            by_operator = by_operator or path == "/api/sessions"
            of_sessions = ["operator"] if by_operator else ["operator", "talker"]
            assert schemes == (of_sessions if path.startswith("/api/") else []), (method, path)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_part_beyond_the_end_is_refused_as_described(described: Described, method: str) -> None:
    operation = described.schema["/api/sessions/{session_id}/audio"][method]
    case = operation.Case(path_parameters={"session_id": described.session(0)})
    told = {"Host": "localhost", "Authorization": f"Bearer {TOKEN}", "Range": "bytes=99999999-"}
    answer = case.call(headers=told)
    assert answer.status_code == 416
    case.validate_response(answer, checks=CHECKS)


@pytest.mark.slow
@pytest.mark.parametrize("operation", REACHED)
def test_every_answer_is_one_that_is_described(described: Described, operation: str) -> None:
    method, path = operation.split()
    found = described.schema[path][method]
    seen: Counter[int] = Counter()
    # In turn, not by chance: chance depends on whatever else is loaded, and may leave some out.
    asking = cycle(product(TOKENS, SESSIONS, (True, False)))

    def holds(case: Case[Any], wanted: str | None) -> None:
        token, nth, some = next(asking)
        if nth is not None:
            _make_apt(case, described.session(nth), described.report(), some)
            if "round_id" in case.path_parameters:
                case.path_parameters["round_id"] = described.round()
        case.headers.pop("Authorization", None)
        told = {"Host": "localhost"}
        told |= {"Authorization": f"Bearer {token}"} if token else {}
        told |= {"Range": wanted} if wanted else {}
        answer = case.call(headers=told)
        seen[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    nothing_to_get_wrong = operation in (
        "GET /",
        "GET /health",
        "GET /ready",
        "GET /metrics",
        "GET /v1/models",
        "GET /api/arena/leaderboard",
        "GET /api/exports/{ticket}",
    )
    # What chance tries first depends on whatever else is loaded: it may need another beginning.
    for beginning in range(BEGINNINGS):
        for mode in GenerationMode:
            if mode is GenerationMode.POSITIVE or not nothing_to_get_wrong:
                run = given(found.as_strategy(mode), RANGES)(holds)
                seed(beginning)(BOUNDED(run))()
        if REACHED[operation] <= set(seen):
            return
    raise AssertionError(f"never answered with {REACHED[operation] - set(seen)}: {seen}")


def _make_apt(case: Case[Any], session_id: str, report: str, some: bool) -> None:
    """What chance would hardly hit: a session that is there, all of it rated, a real recording."""
    if "name" in case.path_parameters:
        case.path_parameters["name"] = report
    if "path" in case.path_parameters:
        case.path_parameters["path"] = "report/index.html"
    if "session_id" in case.path_parameters:
        case.path_parameters["session_id"] = session_id
    body: Any = case.body
    if isinstance(body, dict):
        if isinstance(body.get("item_id"), str):
            body["item_id"] = None
        if "file" in body:
            body |= {"file": RECORDING, "language": "en"}
        if "format" in body:
            body.pop("filter", None)
            body["ticket"] = some
        if case.operation.path.endswith("/ratings") and some:
            case.body = {"scores": {"ctx_fit": 4}}


BEGINNINGS = 4
BOUNDED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
)
RECORDING = WAV_HEADER + bytes(WIRE_RATE)
TOKENS = (TOKEN, SECRET, "a wrong one", None)
SESSIONS = (0, 1, 2, 3, None)
RANGES = st.one_of(
    st.sampled_from(["bytes=0-99", "bytes=-1", "bytes=99999999-", "bytes=7-"]),
    st.sampled_from([None, "bytes=99999999-", "bytes=5-1", "bytes=1-2,4-5"]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126)),
)
