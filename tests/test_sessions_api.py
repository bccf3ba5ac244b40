"""Recorded sessions over HTTP: who may see, hear, rate and delete which, and what is answered."""

import asyncio
import io
import json
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import numpy as np
import pytest
import pytest_asyncio
import soundfile
from s3fs.core import S3File

from server.access import WITHIN_SEC, WRONG, Attempts
from server.app import may_connect
from server.byte_ranges import Span, Unsatisfiable, asked
from server.config import Config
from server.consent import Consent
from server.http_refusals import Refusal
from server.openapi import DescribedApp
from server.recorded_sound import BLOCK
from server.recording.lock import Lock
from server.sessions.format import AUDIO_FILE, EVENTS_FILE, SESSION_FILE, Line
from server.sessions.index import Filter, Page
from server.sessions.library import Library
from server.sessions_api import MOST_JSON, MOST_RATINGS, router
from server.storage_threads import AT_ONCE, THREADS, StorageThreads
from tests.made_sessions import Exchange, folder_of, made_session, made_sound
from tests.object_storage import s3_server
from tests.serving import serving
from tests.talker import Talker, play_until, talking

TOKEN = "the operator's own token"
SECRET = "a secret of the talker's own"
OPERATOR, TALKER = {"Authorization": f"Bearer {TOKEN}"}, {"Authorization": f"Bearer {SECRET}"}
STRANGER = {"Authorization": "Bearer a guess, and a wrong one"}
UNKNOWN = "sess_00000000000000000000"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Nobody:
    """No conversation goes on here; or just the one with `here`."""

    here: str | None = None
    told: list[tuple[str, Consent | None]] = field(default_factory=list)
    running: list[str] = field(default_factory=list)

    async def forget(self, session_id: str, consent: Consent | None) -> bool:
        self.told.append((session_id, consent))
        return session_id == self.here

    async def written(self, session_id: str) -> None:
        pass


@dataclass
class Place:
    runs: Path
    library: Library
    live: Nobody
    client: httpx2.AsyncClient

    def made(self, **how: Any) -> str:
        session_id = made_session(self.runs, secret=SECRET, **how)
        self.library.rebuild()
        return session_id

    async def get(self, path: str, who: dict[str, str] = OPERATOR, **more: str) -> httpx2.Response:
        return await self.client.get(f"/api/sessions{path}", headers={**who, **more})

    async def send(
        self, method: str, path: str, body: Any = None, who: dict[str, str] = OPERATOR
    ) -> httpx2.Response:
        return await self.client.request(method, f"/api/sessions{path}", json=body, headers=who)


@dataclass
class Shelf:
    """A place with one session."""

    place: Place
    id: str

    @property
    def audio(self) -> bytes:
        return (folder_of(self.place.runs, self.id) / AUDIO_FILE).read_bytes()


@asynccontextmanager
async def asking(
    runs: Path, token: str | None = TOKEN, library: Any = None, live: Nobody | None = None
) -> AsyncGenerator[Place, None]:
    library, live = library or Library.open(str(runs)), live or Nobody()
    app = DescribedApp()
    app.include_router(router(library, token, partial(may_connect, config=Config()), live))
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield Place(runs, library, live, client)
    if isinstance(library, Library):
        library.close()


@pytest_asyncio.fixture(loop_scope="module")
async def place(tmp_path: Path) -> AsyncGenerator[Place, None]:
    async with asking(tmp_path) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shelf(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Shelf, None]:
    """For tests that leave everything as it is."""
    async with asking(tmp_path_factory.mktemp("shelf")) as found:
        yield Shelf(found, found.made())


def code(answer: httpx2.Response) -> Any:
    """An error in OpenAI's form, by its code."""
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    return answer.json()["error"]["code"]


# ---- who may


async def test_without_a_token_nobody_learns_whether_a_session_exists(place: Place) -> None:
    real = place.made()
    answers = [await place.get(f"/{each}{what}", {}) for each in (real, UNKNOWN)
               for what in ("", "/audio", "/events")]  # fmt: skip
    assert {answer.status_code for answer in answers} == {401}
    assert all(answer.headers["www-authenticate"].startswith("Bearer") for answer in answers)
    assert (await place.get("", {})).status_code == 401


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Basic abc", TOKEN, "Bearer\t"])
async def test_what_is_no_bearer_token_is_none(shelf: Shelf, header: str) -> None:
    assert (await shelf.place.get("", {"Authorization": header})).status_code == 401


async def test_a_wrong_token_is_answered_as_if_there_were_no_such_session(place: Place) -> None:
    real = place.made()
    made_session(place.runs, secret="somebody else's", session_id="sess_" + "a" * 20)
    for path in ("", "/audio", "/events"):
        for who in (STRANGER, {"Authorization": "Bearer somebody else's"}):
            refused = await place.get(f"/{real}{path}", who)
            unknown = await place.get(f"/{UNKNOWN}{path}", who)
            assert refused.status_code == unknown.status_code == 404
            assert refused.json() == unknown.json()
    for method, path in (("DELETE", ""), ("POST", "/ratings"), ("POST", "/consent")):
        refused = await place.send(method, f"/{real}{path}", {}, STRANGER)
        assert refused.status_code == 404
    assert (await place.get(f"/{real}", TALKER)).status_code == 200
    assert (await place.get("/sess_" + "a" * 20, TALKER)).status_code == 404


async def test_only_the_operator_lists_sessions_and_writes_notes(place: Place) -> None:
    real = place.made()
    for who in (TALKER, STRANGER):
        assert (await place.get("", who)).status_code == 401
        put = await place.send("PUT", f"/{real}/notes", {"notes": "hm"}, who)
        assert put.status_code == 401
    assert (await place.get("")).status_code == 200


async def test_without_an_operator_token_the_answer_says_which_setting_to_make(
    tmp_path: Path,
) -> None:
    async with asking(tmp_path, token=None) as place:
        real = place.made()
        for who in (OPERATOR, {}, TALKER):
            refused = await place.get("", who)
            assert refused.status_code == 403
            assert "ATTUNE_OPERATOR_TOKEN" in refused.json()["error"]["message"]
        assert (await place.get(f"/{real}", TALKER)).status_code == 200  # their own is still theirs
        assert (await place.get(f"/{real}", OPERATOR)).status_code == 404


async def test_a_session_without_a_secret_opens_to_no_talker(place: Place) -> None:
    gone = place.made(state="deleted")
    assert (await place.get(f"/{gone}", TALKER)).status_code == 404
    assert (await place.get(f"/{gone}")).json()["session"]["state"] == "deleted"


async def test_a_page_of_somebody_else_is_refused(place: Place) -> None:
    real = place.made()
    refused = await place.get(f"/{real}", TALKER, Origin="https://elsewhere.example")
    assert (refused.status_code, code(refused)) == (403, "origin_not_allowed")
    assert (await place.get(f"/{real}", TALKER, Host="elsewhere.example")).status_code == 403


async def test_who_guesses_again_and_again_is_held_up_and_others_are_not(tmp_path: Path) -> None:
    async with asking(tmp_path) as place:
        real = place.made()
        for _ in range(WRONG):
            assert (await place.get(f"/{real}", STRANGER)).status_code == 404
        held_up = await place.get(f"/{real}", STRANGER)
        assert (held_up.status_code, code(held_up)) == (429, "rate_limit_exceeded")
        assert int(held_up.headers["retry-after"]) <= WITHIN_SEC + 1
        # Whoever has the right token is never held up, from the same address or another.
        for who in (TALKER, OPERATOR):
            assert (await place.get(f"/{real}", who)).status_code == 200
        assert (await place.get("")).status_code == 200
        assert (await place.get("", STRANGER)).status_code == 429
        app = place.client._transport.app  # type: ignore[attr-defined]
        neighbour = httpx2.ASGITransport(app, client=("192.0.2.7", 1))
        async with httpx2.AsyncClient(transport=neighbour, base_url="http://localhost") as other:
            answer = await other.get(f"/api/sessions/{real}", headers=TALKER)
            assert answer.status_code == 200


async def test_wrong_tokens_from_all_addresses_of_an_ipv6_subscriber_count_together(
    place: Place,
) -> None:
    real = place.made()
    app = place.client._transport.app  # type: ignore[attr-defined]
    statuses = []
    for last in (*range(WRONG), "ffff:1"):
        somewhere = httpx2.ASGITransport(app, client=(f"2001:db8:1:2::{last}", 1))
        async with httpx2.AsyncClient(transport=somewhere, base_url="http://localhost") as client:
            answer = await client.get(f"/api/sessions/{real}", headers=STRANGER)
            statuses.append(answer.status_code)
    assert statuses == [404] * WRONG + [429]


async def test_wrong_tokens_are_forgiven_after_a_while() -> None:
    now = 0.0
    attempts = Attempts(lambda: now)
    for _ in range(WRONG):
        attempts.check("here")
        attempts.failed("here")
    with pytest.raises(Refusal):
        attempts.check("here")
    now = WITHIN_SEC
    attempts.check("here")
    attempts.failed("here")
    attempts.check("here")


# ---- looking


async def test_the_operator_finds_sessions_by_what_they_are(place: Place) -> None:
    first = place.made(consent="transcript", responder="vllm")
    second = place.made(consent="transcript,audio,research", turns=3)
    place.made(state="deleted")
    listed = (await place.get("")).json()
    assert {row["id"] for row in listed["sessions"]} == {first, second}
    assert listed["total"] == 2
    assert [row["id"] for row in (await place.get("?model=vllm")).json()["sessions"]] == [first]
    found = (await place.get("?consent=audio&consent=research")).json()
    assert [row["id"] for row in found["sessions"]] == [second]
    assert (await place.get("?since=2100-01-01")).json() == {"sessions": [], "total": 0}
    part = (await place.get("?limit=1&order=longest&offset=1")).json()
    assert [row["id"] for row in part["sessions"]] == [first]
    assert part["total"] == 2
    assert (await place.get("?deleted=true")).json()["total"] == 3


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "offset=-1", "since=yesterday", "consent=all", "order=sideways",
     "longer=nan", "longer=-1", "rating_min=inf", "lenght=3", f"offset={2**64}"],
)  # fmt: skip
async def test_a_filter_that_will_not_do_is_named(shelf: Shelf, query: str) -> None:
    refused = await shelf.place.get(f"?{query}")
    assert (refused.status_code, code(refused)) == (400, "invalid_value")
    assert refused.json()["error"]["param"] == query.split("=")[0]


async def test_a_session_is_shown_without_what_recognises_its_talker(place: Place) -> None:
    real = place.made()
    await place.send("PUT", f"/{real}/notes", {"notes": "quite a hiss", "tags": ["hiss"]})
    shown = await place.get(f"/{real}")
    kept = json.loads((folder_of(place.runs, real) / SESSION_FILE).read_text())
    del kept["secret_sha256"]
    assert shown.json()["session"] == kept
    assert shown.json()["summary"]["turns"] == 2
    assert shown.json()["notes"] == {"notes": "quite a hiss", "tags": ["hiss"]}
    assert shown.headers["cache-control"] == "no-store"


async def test_a_talker_sees_their_own_ratings_and_no_notes(place: Place) -> None:
    real = place.made()
    await place.send("PUT", f"/{real}/notes", {"notes": "quite a hiss", "tags": ["hiss"]})
    await place.send("POST", f"/{real}/ratings", {"scores": {"empathy": 2}})
    await place.send("POST", f"/{real}/ratings", {"scores": {"overall": 5}}, TALKER)
    shown = (await place.get(f"/{real}", TALKER)).json()
    assert [rating["scores"] for rating in shown["ratings"]] == [{"overall": 5.0}]
    assert shown["notes"] is None
    assert "hiss" not in json.dumps(shown)


@pytest.mark.parametrize("name", ["sess_short", "..", "%2e%2e", "..%2f..%2fetc", "sess_%00", "é"])
async def test_what_is_no_session_id_is_an_unknown_session(shelf: Shelf, name: str) -> None:
    answer = await shelf.place.get(f"/{name}/events")
    assert answer.status_code == 404


async def test_events_come_as_lines(place: Place) -> None:
    real = place.made(turns=40)
    answer = await place.get(f"/{real}/events", TALKER)
    assert answer.headers["content-type"] == "application/jsonl"
    lines = [Line.model_validate_json(line) for line in answer.text.splitlines()]
    kept = (folder_of(place.runs, real) / EVENTS_FILE).read_text().splitlines()
    assert lines == [Line.model_validate_json(line) for line in kept]


async def test_a_session_without_events_has_no_lines(place: Place) -> None:
    real = place.made()
    (folder_of(place.runs, real) / EVENTS_FILE).unlink()
    answer = await place.get(f"/{real}/events")
    assert (answer.status_code, answer.text) == (200, "")


# ---- listening


async def test_the_recording_comes_as_it_lies_there(place: Place) -> None:
    turns = [Exchange(), Exchange()]
    real = place.made(turns=turns)
    answer = await place.get(f"/{real}/audio", TALKER)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "audio/flac"
    assert answer.headers["accept-ranges"] == "bytes"
    sound, rate = soundfile.read(io.BytesIO(answer.content), dtype="int16")
    assert rate == 24_000
    assert np.array_equal(sound, made_sound(turns))


@pytest.mark.parametrize(
    ("wanted", "begin", "end"),
    [("bytes=0-99", 0, 100), ("bytes=100-", 100, None), ("bytes=-50", -50, None),
     ("bytes=7-7", 7, 8), ("bytes=10-99999999", 10, None), ("BYTES = 1-2", None, None),
     ("Bytes=1-2", 1, 3)],
)  # fmt: skip
async def test_a_part_of_the_recording_is_what_was_asked_for(
    shelf: Shelf, wanted: str, begin: int | None, end: int | None
) -> None:
    whole = shelf.audio
    answer = await shelf.place.get(f"/{shelf.id}/audio", TALKER, Range=wanted)
    assert answer.content == whole[begin:end]
    assert answer.headers["content-length"] == str(len(answer.content))
    if begin is None:
        assert answer.status_code == 200 and "content-range" not in answer.headers
    else:
        assert answer.status_code == 206
        first = whole.index(answer.content) if len(answer.content) > 8 else begin
        last = first + len(answer.content) - 1
        assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(whole)}"


async def test_parts_put_together_are_the_whole(shelf: Shelf) -> None:
    whole, parts = shelf.audio, b""
    while len(parts) < len(whole):
        wanted = f"bytes={len(parts)}-{len(parts) + 4999}"
        parts += (await shelf.place.get(f"/{shelf.id}/audio", Range=wanted)).content
    assert parts == whole


@pytest.mark.parametrize("wanted", ["bytes=99999999-", "bytes=-0", "bytes=999999999-9999999999"])
async def test_a_part_beyond_the_end_cannot_be_had(shelf: Shelf, wanted: str) -> None:
    answer = await shelf.place.get(f"/{shelf.id}/audio", Range=wanted)
    assert (answer.status_code, code(answer)) == (416, "range_not_satisfiable")
    assert answer.headers["content-range"] == f"bytes */{len(shelf.audio)}"


@pytest.mark.parametrize(
    "wanted", ["lines=0-9", "bytes=", "bytes=-", "bytes=9-3", "bytes=a-b", "bytes=0-1,5-6", "x"]
)
async def test_a_range_that_is_malformed_or_many_gives_the_whole(shelf: Shelf, wanted: str) -> None:
    answer = await shelf.place.get(f"/{shelf.id}/audio", Range=wanted)
    assert answer.status_code == 200
    assert answer.content == shelf.audio


async def test_a_part_is_given_only_of_the_recording_the_asker_knows(place: Place) -> None:
    real, other = place.made(), place.made(turns=3)
    etag = (await place.get(f"/{real}/audio")).headers["etag"]
    assert etag == (await place.get(f"/{real}/audio", Range="bytes=5-9")).headers["etag"]
    same = await place.get(f"/{real}/audio", OPERATOR | {"Range": "bytes=0-9", "If-Range": etag})
    assert same.status_code == 206
    for unlike in (f"W/{etag}", '"other"', "Wed, 21 Oct 2026 07:28:00 GMT"):
        wish = {"Range": "bytes=0-9", "If-Range": unlike}
        answer = await place.get(f"/{real}/audio", OPERATOR | wish)
        assert answer.status_code == 200
    assert etag != (await place.get(f"/{other}/audio")).headers["etag"]


async def test_asking_for_the_head_tells_all_but_the_sound(shelf: Shelf) -> None:
    whole = await shelf.place.get(f"/{shelf.id}/audio")
    head = await shelf.place.client.head(f"/api/sessions/{shelf.id}/audio", headers=OPERATOR)
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers == whole.headers


async def test_a_session_without_sound_says_so(place: Place) -> None:
    real = place.made(consent="transcript")
    answer = await place.get(f"/{real}/audio", TALKER)
    assert (answer.status_code, code(answer)) == (404, "no_audio")


async def test_a_long_recording_is_never_whole_in_memory(place: Place) -> None:
    real = place.made()
    file = folder_of(place.runs, real) / AUDIO_FILE
    with file.open("ab") as audio:
        audio.truncate(20 * BLOCK)  # sparse
    sent: list[int] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            sent.append(len(message["body"]))

    shown = [(b"host", b"localhost"), (b"authorization", f"Bearer {TOKEN}".encode())]
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/api/sessions/{real}/audio",
        "query_string": b"",
        "headers": shown,
        "client": ("127.0.0.1", 1),
    }
    app = place.client._transport.app  # type: ignore[attr-defined]
    await app(scope, receive, send)
    assert sum(sent) == 20 * BLOCK
    assert max(sent) <= BLOCK


async def test_ranges_are_cut_to_the_file() -> None:
    assert asked("bytes=-500", None, '"e"', 100) == Span(0, 100, 100, partial=True)
    assert asked("bytes=99-", None, '"e"', 100) == Span(99, 100, 100, partial=True)
    with pytest.raises(Unsatisfiable):
        asked("bytes=100-", None, '"e"', 100)


# ---- deleting and withdrawing


@pytest.mark.parametrize("who", [OPERATOR, TALKER])
async def test_a_deleted_session_leaves_nothing_but_its_tombstone(
    place: Place, who: dict[str, str]
) -> None:
    real = place.made()
    answer = await place.send("DELETE", f"/{real}", who=who)
    assert answer.status_code == 200
    assert answer.json()["id"] == real
    assert any(AUDIO_FILE in name for name in answer.json()["removed"])
    assert answer.json()["exports"] == []
    left = [path.name for path in folder_of(place.runs, real).iterdir()]
    assert left == [SESSION_FILE]
    assert place.live.told == [(real, None)]
    assert (await place.get("")).json()["total"] == 0


async def test_deleting_again_does_no_harm(place: Place) -> None:
    real = place.made()
    await place.send("DELETE", f"/{real}", who=TALKER)
    again = await place.send("DELETE", f"/{real}")
    assert again.status_code == 200
    assert again.json()["removed"] == []
    # Their secret went with the rest: for the talker there is no such session any more.
    assert (await place.send("DELETE", f"/{real}", who=TALKER)).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [("DELETE", "", None, "it is deleted as soon as"),
     ("POST", "/consent", {"audio": False}, "it is narrowed as soon as")],
)  # fmt: skip
async def test_what_is_still_being_written_is_waited_for_and_then_put_off(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    body: Any,
    told: str,
) -> None:
    monkeypatch.setattr("server.sessions_api.WAIT_SEC", 0.0)
    real = place.made()
    folder = folder_of(place.runs, real)
    lock = Lock.take(folder)
    answer = await place.send(method, f"/{real}{path}", body, TALKER)
    assert answer.status_code == 202
    assert answer.json()["id"] == real and told in answer.json()["message"]
    assert (folder / AUDIO_FILE).exists()
    lock.release(folder)
    place.library.added(folder)  # as it is once it is whole
    assert not (folder / AUDIO_FILE).exists()


async def test_deleting_just_after_hanging_up_waits_until_the_folder_is_whole(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = place.made()
    folder = folder_of(place.runs, real)
    lock = Lock.take(folder)
    delete, tries = Library.delete, []

    def finished_meanwhile(library: Library, *given: Any) -> Any:
        tries.append(given)
        if len(tries) == 2:
            lock.release(folder)
        return delete(library, *given)

    monkeypatch.setattr(Library, "delete", finished_meanwhile)
    answer = await place.send("DELETE", f"/{real}", who=TALKER)
    assert answer.status_code == 200 and AUDIO_FILE in answer.json()["removed"]
    assert [path.name for path in folder.iterdir()] == [SESSION_FILE]


async def test_the_operator_deletes_what_nobody_can_read(place: Place) -> None:
    real = place.made()
    folder = folder_of(place.runs, real)
    (folder / SESSION_FILE).write_text('{"zanzibar": ')
    for who in (TALKER, STRANGER):  # nobody can tell whether it is theirs
        assert (await place.send("DELETE", f"/{real}", who=who)).status_code == 404
    answer = await place.send("DELETE", f"/{real}")
    assert answer.status_code == 200 and AUDIO_FILE in answer.json()["removed"]
    assert [path.name for path in folder.iterdir()] == [SESSION_FILE]
    assert (await place.get(f"/{real}")).json()["session"]["state"] == "deleted"


async def test_deleting_a_session_names_the_replays_that_went_with_it(place: Place) -> None:
    real = place.made()
    replay = place.made(replay_of=real)
    answer = await place.send("DELETE", f"/{real}", who=TALKER)
    assert f"its replay {replay}" in answer.json()["removed"]
    assert (await place.get("")).json()["total"] == 0


async def test_what_was_deleted_can_neither_be_heard_nor_changed(place: Place) -> None:
    real = place.made(state="deleted")
    answers = [
        await place.get(f"/{real}/audio"),
        await place.get(f"/{real}/events"),
        await place.send("POST", f"/{real}/ratings", {"scores": {"overall": 3}}),
        await place.send("POST", f"/{real}/consent", {"audio": False}),
        await place.send("PUT", f"/{real}/notes", {"notes": "hm"}),
    ]
    assert {(answer.status_code, code(answer)) for answer in answers} == {(410, "session_deleted")}


async def test_a_talker_withdraws_what_they_allowed(place: Place) -> None:
    real = place.made()
    answer = await place.send("POST", f"/{real}/consent", {"audio": False}, TALKER)
    assert answer.status_code == 200
    assert answer.json()["consent"] == {"transcript": True, "audio": False, "research": True}
    assert any("audio" in name for name in answer.json()["removed"])
    assert not (folder_of(place.runs, real) / AUDIO_FILE).exists()
    assert (await place.get(f"/{real}/audio", TALKER)).status_code == 404
    shown = (await place.get(f"/{real}", TALKER)).json()["session"]
    assert shown["consent"][-1]["audio"] is False
    assert shown["tombstones"][-1]["what"] == ["audio"]
    again = await place.send("POST", f"/{real}/consent", {"audio": False}, TALKER)
    assert (again.status_code, again.json()["removed"]) == (200, [])


async def test_consent_cannot_be_given_afterwards(place: Place) -> None:
    real = place.made(consent="transcript")
    for wish in ({"audio": True}, {"transcript": False, "research": True}):
        answer = await place.send("POST", f"/{real}/consent", wish, TALKER)
        assert (answer.status_code, code(answer)) == (409, "consent_only_narrows")
    assert (await place.get(f"/{real}")).json()["summary"]["transcript"] is True
    as_it_is = await place.send("POST", f"/{real}/consent", {"transcript": True}, TALKER)
    assert as_it_is.status_code == 200


async def test_a_conversation_that_goes_on_here_is_told_itself(place: Place) -> None:
    real = place.made()
    place.live.here = real
    answer = await place.send("POST", f"/{real}/consent", {"audio": False}, TALKER)
    assert answer.json()["removed"] == ["audio"]
    assert place.live.told == [(real, Consent(transcript=True, research=True))]


# ---- rating and noting


async def test_ratings_say_by_whom_they_are(place: Place) -> None:
    real = place.made()
    bodies = [({"scores": {"overall": 4}}, TALKER), ({"scores": {"overall": 2}}, OPERATOR),
              ({"scores": {"overall": 5}, "by": "user", "rater": "panel 3"}, OPERATOR)]  # fmt: skip
    answers = [await place.send("POST", f"/{real}/ratings", *each) for each in bodies]
    assert [answer.status_code for answer in answers] == [201] * 3
    assert [answer.json()["by"] for answer in answers] == ["user", "expert", "user"]
    kept = place.library.session(real).ratings()
    assert [rating.model_dump(mode="json") for rating in kept] == [a.json() for a in answers]
    summary = (await place.get(f"/{real}")).json()["summary"]
    assert (summary["user_ratings"], summary["expert_ratings"]) == (2, 1)
    faked = await place.send(
        "POST", f"/{real}/ratings", {"scores": {"a": 1}, "by": "expert"}, TALKER
    )
    assert (faked.status_code, faked.json()["error"]["param"]) == (400, "by")


async def test_a_rating_may_be_of_one_reply_in_the_session(place: Place) -> None:
    real = place.made()
    turns = place.library.session(real).file().turns
    user, reply = turns[0].item_id, turns[1].item_id
    body = {"scores": {"overall": 4}}
    good = await place.send("POST", f"/{real}/ratings", {**body, "item_id": reply})
    assert good.status_code == 201
    for other in (user, "item_ffff"):
        bad = await place.send("POST", f"/{real}/ratings", {**body, "item_id": other})
        assert (bad.status_code, bad.json()["error"]["param"]) == (400, "item_id")


@pytest.mark.parametrize(
    "body",
    [{}, {"scores": {}}, {"comment": "  "}, {"scores": {"a": 6}}, {"scores": {"a": 0.9}},
     {"scores": {"a": "x"}}, {"scores": {"a" * 33: 3}}, {"scores": {"her words": 3}},
     {"scores": {f"a{n}": 3 for n in range(33)}},
     {"scores": {"a": 3}, "wall": "2026-01-01T00:00:00Z"}, {"comment": "a" * 4001}, [], "x", None],
)  # fmt: skip
async def test_a_rating_that_will_not_do_is_refused(shelf: Shelf, body: Any) -> None:
    answer = await shelf.place.send("POST", f"/{shelf.id}/ratings", body, TALKER)
    assert (answer.status_code, code(answer)) == (400, "invalid_value")
    assert shelf.place.library.session(shelf.id).ratings() == []


@pytest.mark.parametrize("body", [b"", b"{", b'{"scores": {"a": NaN}}', b"\xff", b"[" * 100_000])
async def test_what_is_no_json_is_refused(shelf: Shelf, body: bytes) -> None:
    url = f"/api/sessions/{shelf.id}/ratings"
    answer = await shelf.place.client.post(url, content=body, headers=TALKER)
    assert answer.status_code == 400


async def test_a_body_that_is_too_large_is_not_read_to_its_end(shelf: Shelf) -> None:
    read = 0

    async def endless() -> AsyncGenerator[bytes, None]:
        nonlocal read
        for _ in range(1000):
            read += MOST_JSON
            yield b" " * MOST_JSON

    for who, status in ((OPERATOR, 413), (STRANGER, 401)):
        url = f"/api/sessions/{shelf.id}/notes"
        answer = await shelf.place.client.put(url, content=endless(), headers=who)
        assert answer.status_code == status
    assert read <= 8 * MOST_JSON


async def test_nobody_fills_the_disk_with_ratings(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.sessions_api.MOST_RATINGS", 2)
    assert MOST_RATINGS >= 100
    real = place.made()
    answers = [
        await place.send("POST", f"/{real}/ratings", {"scores": {"a": 3}}, TALKER) for _ in range(3)
    ]
    assert [answer.status_code for answer in answers] == [201, 201, 409]
    assert code(answers[-1]) == "too_many_ratings"
    # Talkers do not use up the room of experts.
    expert = await place.send("POST", f"/{real}/ratings", {"scores": {"a": 3}})
    assert (expert.status_code, expert.json()["by"]) == (201, "expert")


async def test_of_who_allowed_nothing_no_words_are_kept(place: Place) -> None:
    real = place.made(consent="none")
    for method, path, body in (
        ("POST", "/ratings", {"scores": {"a": 3}, "comment": "she spoke of her dog"}),
        ("POST", "/ratings", {"scores": {"a": 3}, "rater": "the dog's vet"}),
        ("PUT", "/notes", {"notes": "spoke of her dog"}),
        ("PUT", "/notes", {"tags": ["dog"]}),
    ):
        answer = await place.send(method, f"/{real}{path}", body)
        assert (answer.status_code, code(answer)) == (409, "words_not_allowed")
    assert (await place.send("POST", f"/{real}/ratings", {"scores": {"a": 3}})).status_code == 201
    assert (await place.send("PUT", f"/{real}/notes", {"tags": []})).status_code == 200
    for file in folder_of(place.runs, real).iterdir():
        assert b"dog" not in file.read_bytes()


async def test_notes_and_tags_are_kept_and_found(place: Place) -> None:
    real, other = place.made(), place.made()
    notes = {"notes": "A dog barks.", "tags": ["noise", "dog"]}
    answer = await place.send("PUT", f"/{real}/notes", notes)
    assert (answer.status_code, answer.json()) == (200, notes)
    assert [r["id"] for r in (await place.get("?tag=noise")).json()["sessions"]] == [real]
    assert [r["id"] for r in (await place.get("?text=BARKS")).json()["sessions"]] == [real]
    assert (await place.get(f"/{other}")).json()["notes"] == {"notes": "", "tags": []}


# ---- where it really happens


@asynccontextmanager
async def recorded_talk(runs: Path) -> AsyncGenerator[tuple[Talker, httpx2.AsyncClient, str], None]:
    """Somebody who allowed everything and has been answered once; their own way to the session."""
    async with (
        serving(recording={"runs": str(runs)}) as (url, _),
        talking(url, "?attune=1") as talker,
    ):
        await talker.send("attune.consent", transcript=True, audio=True, research=True)
        told = await talker.until("attune.recording")
        assert told["recording"]
        (who,) = talker.of("attune.session")
        await talker.ask()
        await play_until(talker, "response.done")
        own = {"Authorization": f"Bearer {who['secret']}"}
        await until(lambda: any(runs.glob(f"*/{who['id']}/{SESSION_FILE}")))
        address = f"http://{urlsplit(url).netloc}"
        async with httpx2.AsyncClient(base_url=address, headers=own) as client:
            yield talker, client, who["id"]


async def test_a_talker_withdraws_while_they_talk(tmp_path: Path) -> None:
    async with asyncio.timeout(60), recorded_talk(tmp_path) as (talker, client, session_id):
        own = f"/api/sessions/{session_id}"
        answer = await client.post(f"{own}/consent", json={"audio": False})
        assert answer.json()["consent"] == {"transcript": True, "audio": False, "research": True}
        folder = folder_of(tmp_path, session_id)
        await until(lambda: not any(folder.glob("*.pcm")))
        await talker.ask()  # the conversation goes on
        await play_until(talker, "response.done")
        assert (await client.get(f"{own}/audio")).json()["error"]["code"] == "no_audio"
        assert not any(folder.glob("*.pcm"))
        assert (await client.get(own)).json()["session"]["tombstones"][-1]["what"] == ["audio"]


async def test_a_talker_deletes_their_session_while_they_talk(tmp_path: Path) -> None:
    async with asyncio.timeout(60), recorded_talk(tmp_path) as (talker, client, session_id):
        own = f"/api/sessions/{session_id}"
        assert (await client.delete(own)).status_code == 200
        folder = folder_of(tmp_path, session_id)
        assert [path.name for path in folder.iterdir()] == [SESSION_FILE]
        assert json.loads((folder / SESSION_FILE).read_text())["state"] == "deleted"
        await talker.ask()  # the conversation goes on
        await play_until(talker, "response.done")
        assert [path.name for path in folder.iterdir()] == [SESSION_FILE]
        assert (await client.get(own)).status_code == 404
    assert [path.name for path in folder.iterdir()] == [SESSION_FILE]


@pytest.mark.slow
async def test_a_part_of_a_recording_in_object_storage_comes_without_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as bucket:
        library = Library.open(bucket, tmp_path / "spool")
        session_id = made_session(library.local, secret=SECRET)
        folder = folder_of(library.local, session_id)
        with (folder / AUDIO_FILE).open("ab") as audio:
            audio.write(bytes(8 * BLOCK))
        whole = (folder / AUDIO_FILE).read_bytes()
        library.added(folder)
        assert not folder.exists()
        fetched: list[int] = []
        fetch = S3File._fetch_range

        def counted(file: object, start: int, end: int) -> Any:
            fetched.append(end - start)
            return fetch(file, start, end)

        monkeypatch.setattr(S3File, "_fetch_range", counted)
        async with asking(tmp_path, library=library) as place:
            wanted = f"bytes={len(whole) - 1000}-{len(whole) - 500}"
            part = await place.get(f"/{session_id}/audio", TALKER, Range=wanted)
            assert (part.status_code, part.content) == (206, whole[-1000:-499])
            assert sum(fetched) < len(whole) / 2
            assert (await place.get(f"/{session_id}/audio", TALKER)).content == whole
            assert (await place.get(f"/{session_id}/events", TALKER)).text.count("\n") > 5
            gone = await place.send("DELETE", f"/{session_id}", who=TALKER)
            assert AUDIO_FILE in gone.json()["removed"]
            left = library.store.runs.stats(library.session(session_id).folder)
            assert list(left) == [SESSION_FILE]


# ---- what goes wrong


async def test_a_broken_session_is_said_to_be_broken_and_nothing_of_it_is_told(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    real = place.made()
    (folder_of(place.runs, real) / SESSION_FILE).write_text('{"zanzibar": ')
    answer = await place.get(f"/{real}")
    assert (answer.status_code, code(answer)) == (500, "session_broken")
    assert "zanzibar" not in answer.text + caplog.text


class Stuck:
    """A library whose storage does not answer until it may."""

    def __init__(self) -> None:
        self.entered = 0
        self.may = threading.Event()

    def find(self, _: Filter) -> Page:
        self.entered += 1
        assert self.may.wait(20)
        return Page([], 0)


class Failing:
    def find(self, _: Filter) -> Page:
        raise PermissionError("zanzibar")


async def test_slow_storage_holds_up_a_few_threads_and_no_conversation(tmp_path: Path) -> None:
    stuck = Stuck()
    async with asyncio.timeout(20), asking(tmp_path, library=stuck) as place:
        waiting = [asyncio.create_task(place.get("")) for _ in range(AT_ONCE)]
        try:
            await until(lambda: stuck.entered == THREADS)
            too_many = await place.get("")
            assert too_many.status_code == 429
            # Threads that others use are free.
            assert await asyncio.to_thread(lambda: "free") == "free"
            assert stuck.entered == THREADS
        finally:
            stuck.may.set()
        answers = await asyncio.gather(*waiting)
        assert {answer.status_code for answer in answers} == {200}


async def test_storage_that_fails_is_told_without_its_details(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with asking(tmp_path, library=Failing()) as place:
        answer = await place.get("")
        assert (answer.status_code, code(answer)) == (503, "storage_failed")
        assert "zanzibar" not in answer.text + caplog.text
        assert "PermissionError" in caplog.text


async def test_another_method_is_told_which_ones_there_are(shelf: Shelf) -> None:
    answer = await shelf.place.send("PATCH", f"/{UNKNOWN}")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET")
    answer = await shelf.place.send("POST", f"/{UNKNOWN}/audio")
    assert answer.headers["allow"] == "GET, HEAD"


async def test_a_stream_that_is_left_closes_its_source_after_the_step_it_is_in() -> None:
    threads, closed, may = StorageThreads(), threading.Event(), threading.Event()
    entered = threading.Event()

    def source() -> Any:
        try:
            yield 1
            entered.set()
            may.wait(20)
            yield 2
        finally:
            closed.set()

    stream = threads.stream(source())
    assert await anext(stream) == 1
    step = asyncio.ensure_future(anext(stream))
    await asyncio.to_thread(entered.wait, 20)
    step.cancel()
    await asyncio.wait([step])
    await stream.aclose()
    assert not closed.is_set()
    may.set()
    assert await asyncio.to_thread(closed.wait, 20)
    threads.close()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.005)
