"""The arena over HTTP: a round from the turn to the vote, blind until then, and what is kept."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from models.audio import decode_pcm16, encode_pcm16, wav
from models.errors import BackendError
from models.types import WIRE_RATE
from server import app
from server.arena.arena import QUEUE
from server.arena.ballots import counted
from server.arena.listening import loudness
from server.arena_shapes import Step
from server.client import voice_span
from server.config import Config
from server.house import House
from server.http_refusals import Refusal
from server.sessions.exchanges import KINDS, turns
from tests.fakes import Sadness, known
from tests.made_rounds import made_ballot, made_round
from tests.made_sessions import Exchange, made_session
from tests.serving import running, standins
from tests.talker import VOICE, sound
from tests.test_children import Ages

TOKEN = "the operator's own token"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
NAMES = ("attune", "words", "plain", "flat")
TURN = encode_pcm16(np.concatenate([sound(VOICE, 0.8), np.zeros(WIRE_RATE // 5, np.float32)]))
RAW = {"Content-Type": "audio/pcm"}
SAME = {"systems": {"one": {}, "two": {"voice": "flat"}}}  # with no model of their own


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less of a turn is said in real time."""
    monkeypatch.setattr("server.arena.answering.LIVE_SEC", 0.1)
    monkeypatch.setattr("server.arena.answering.PATIENCE_SEC", 1.0)


@dataclass
class Played:
    """A round that waits for its vote."""

    client: httpx2.AsyncClient
    steps: list[dict[str, Any]]

    @property
    def path(self) -> str:
        return f"/api/arena/rounds/{self.steps[-1]['round_id']}"

    @property
    def own(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.steps[-1]['secret']}"}

    async def hear(self, side: str) -> httpx2.Response:
        return await self.client.get(f"{self.path}/answers/{side}", headers=self.own)

    async def vote(self, vote: str, **more: Any) -> httpx2.Response:
        told = {"vote": vote, **more}
        return await self.client.post(f"{self.path}/vote", json=told, headers=self.own)

    async def heard_and(self, vote: str, **more: Any) -> httpx2.Response:
        for side in "ab":
            await self.hear(side)
        return await self.vote(vote, **more)


@dataclass
class Place:
    client: httpx2.AsyncClient
    house: House
    arena: Any  # the server's, but for one without
    runs: Path

    async def begin(self, body: bytes = TURN, kind: str = "audio/pcm", **query: Any) -> Any:
        return await self.client.post(
            "/api/arena/rounds", content=body, params=query, headers={"Content-Type": kind}
        )

    async def played(self, *consent: str) -> Played:
        return played(self.client, await self.begin(consent=list(consent)))

    async def recorded(self, session_id: str, item_id: str) -> Any:
        told = {"session_id": session_id, "item_id": item_id}
        return await self.client.post("/api/arena/rounds/recorded", json=told, headers=OPERATOR)

    async def board(self) -> Any:
        return (await self.client.get("/api/arena/leaderboard")).json()

    def kept(self) -> list[str]:
        """What lies on the disk of rounds, votes apart."""
        found = (path.relative_to(self.runs) for path in self.runs.glob("arena/2*/*/*"))
        return sorted(path.name for path in found)

    def told(self) -> Any:
        (file,) = self.runs.glob("arena/2*/*/round.json")
        return json.loads(file.read_text())

    def votes(self) -> list[str]:
        return [path.read_text() for path in self.runs.glob("arena/votes/*/*.json")]


def played(client: httpx2.AsyncClient, response: httpx2.Response) -> Played:
    assert response.status_code == 200, response.text
    steps = [json.loads(line) for line in response.text.splitlines()]
    assert [Step.model_validate(step) for step in steps], "as /openapi.json describes them"
    assert steps[-1]["type"] == "ready", steps[-1]
    return Played(client, steps)


@asynccontextmanager
async def arena(runs: Path, models: Any = None, **settings: Any) -> AsyncGenerator[Place, None]:
    recording = {"runs": str(runs), **settings.pop("recording", {})}
    given = {"clock": "samples", "profile": "standin", "operator_token": TOKEN, **settings}
    config = Config.model_validate({**given, "recording": recording})
    application = app.create(models or standins(), config)
    state = application.state
    async with (
        running(application) as port,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
    ):
        yield Place(client, state.house, getattr(state, "arena", None), runs)


def problem(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


async def test_a_round_is_blind_until_the_vote_which_tells_and_counts(tmp_path: Path) -> None:
    async with arena(tmp_path) as place:
        round_ = await place.played()
        stages = [(s["stage"], s["answered"]) for s in round_.steps[:-1]]
        assert stages == [("preparing", 0), ("answering", 0), ("answering", 1)]
        answers = [await round_.hear(side) for side in "ab"]
        told = json.dumps(round_.steps) + str([dict(each.headers) for each in answers])
        assert not any(name in told for name in (*NAMES, "Hears", "plan", "latency"))
        assert set(answers[0].headers) == set(answers[1].headers)
        voices = [decode_pcm16(each.content[44:]) for each in answers]
        assert loudness(voices[0]) == pytest.approx(loudness(voices[1]), abs=0.3)

        vote = await round_.vote("b")
        assert vote.status_code == 200
        shown = vote.json()
        assert list(shown["answers"]) == ["a", "b"]
        systems = [shown["answers"][side]["system"] for side in "ab"]
        assert len(set(systems)) == 2
        assert set(systems) <= set(NAMES)
        assert shown["said"]
        assert all(each["text"] and each["latency_ms"] > 0 for each in shown["answers"].values())

        board = await place.board()
        assert board["rounds"] == 1
        records = {each["system"]: (each["wins"], each["losses"]) for each in board["systems"]}
        assert records[systems[1]] == (1, 0)
        assert records[systems[0]] == (0, 1)
        assert board["systems"][0]["system"] == systems[1]
        assert not place.house.sessions  # the seat is free again


async def test_one_must_hear_both_and_may_vote_once(tmp_path: Path) -> None:
    async with arena(tmp_path) as place:
        round_ = await place.played()
        await round_.hear("a")
        assert problem(await round_.vote("a")) == (409, "not_heard")
        await round_.hear("b")
        assert problem(await round_.vote("perhaps")) == (400, "invalid_value")
        both = await asyncio.gather(round_.vote("a"), round_.vote("b"))
        assert sorted(each.status_code for each in both) == [200, 409]
        assert problem(await round_.vote("b")) == (409, "already_voted")
        assert len(place.votes()) == 1


async def test_only_the_rounds_own_secret_opens_it(tmp_path: Path) -> None:
    async with arena(tmp_path) as place:
        round_ = await place.played()
        client, path = place.client, round_.path
        for who in ({"Authorization": "Bearer a guess"}, OPERATOR):  # the operator, too, is blind
            assert problem(await client.get(f"{path}/answers/a", headers=who)) == (
                404, "round_not_found",
            )  # fmt: skip
        assert (await client.get(f"{path}/answers/a")).status_code == 401
        answer = await client.post(f"{path}/vote", json={"vote": "a"})
        assert answer.status_code == 401
        answer = await client.delete(path, headers={"Authorization": "Bearer a guess"})
        assert problem(answer) == (404, "round_not_found")


async def test_without_consent_nothing_but_the_vote_is_ever_written(tmp_path: Path) -> None:
    async with arena(tmp_path) as place:
        round_ = await place.played()
        assert round_.steps[-1]["keeping"] == []
        assert problem(await round_.heard_and("a", comment="Nice.")) == (409, "words_not_allowed")
        shown = (await round_.vote("a")).json()
        assert shown["kept"] == []
        assert place.kept() == []
        (text,) = place.votes()
        assert not any(each in text for each in (shown["said"], shown["answers"]["a"]["text"]))


async def test_with_consent_it_is_kept_once_there_is_a_vote_and_can_be_deleted(
    tmp_path: Path,
) -> None:
    async with arena(tmp_path) as place:
        round_ = await place.played("transcript", "audio")
        assert round_.steps[-1]["keeping"] == ["transcript", "audio"]
        assert place.kept() == []
        shown = (await round_.heard_and("tie", comment="Both fine.")).json()
        assert shown["kept"] == ["transcript", "audio"]
        assert place.kept() == ["a.flac", "b.flac", "round.json", "turn.flac"]
        kept = place.told()
        assert kept["comment"] == "Both fine."
        assert kept["consent"] == {"transcript": True, "audio": True, "research": False}
        assert kept["answers"]["a"]["system"]["name"] == shown["answers"]["a"]["system"]

        assert (await place.client.delete(round_.path, headers=round_.own)).status_code == 204
        assert (place.kept(), place.votes()) == ([], [])
        assert (await place.board())["rounds"] == 0


async def test_a_round_can_be_given_up_before_the_vote(tmp_path: Path) -> None:
    async with arena(tmp_path) as place:
        round_ = await place.played("audio")
        assert (await place.client.delete(round_.path, headers=round_.own)).status_code == 204
        assert problem(await round_.hear("a")) == (404, "round_not_found")


async def test_a_server_that_records_nothing_keeps_the_vote_alone(tmp_path: Path) -> None:
    async with arena(tmp_path, recording={"enabled": False}) as place:
        round_ = await place.played("transcript", "audio")
        assert round_.steps[-1]["keeping"] == []
        await round_.heard_and("a")
        assert place.kept() == []
        assert len(place.votes()) == 1


class Broken:
    """A Perceiver that fails."""

    def attend(self) -> Any:
        raise BackendError("perceiver", "It is broken.")


DEAF = {"systems": {"one": {"perception": False}, "two": {"perception": False, "voice": "flat"}}}
ADULT, CHILD = known(age={"adult": 0.9, "child": 0.1}), known(age={"child": 0.9, "adult": 0.1})


@pytest.mark.parametrize(
    ("perceiver", "children", "keeping"),
    [
        pytest.param(Ages(ADULT), False, ["audio"], id="a grown-up"),
        pytest.param(Ages(CHILD), False, [], id="a child"),
        pytest.param(Ages(CHILD), True, ["audio"], id="a child, where one may be kept"),
        pytest.param(Ages(known(emotion={"sad": 1.0})), False, [], id="of no known age"),
        pytest.param(Ages(replace(ADULT, unknown=("age",))), False, [], id="of an unsure age"),
        pytest.param(Broken(), False, [], id="nobody could listen"),
        pytest.param(Broken(), True, ["audio"], id="nobody needs to listen"),
    ],
)
async def test_of_a_child_nothing_is_kept_where_none_may_be_whatever_the_systems_hear(
    tmp_path: Path, perceiver: Any, children: bool, keeping: list[str]
) -> None:
    models = standins(perceiver=perceiver)
    recording = {"children": children}
    async with arena(tmp_path, models, arena=DEAF, recording=recording) as place:
        round_ = await place.played("audio")
        assert round_.steps[-1]["keeping"] == keeping
        await round_.heard_and("a")
        assert ("turn.flac" in place.kept()) == bool(keeping)


async def test_a_child_only_one_of_the_systems_hears_is_one_too(tmp_path: Path) -> None:
    recording = {"children": False}
    models = standins(perceiver=Ages(CHILD, CHILD, ADULT))  # both systems, then the server
    async with arena(tmp_path, models, arena=SAME, recording=recording) as place:
        assert (await place.played("audio")).steps[-1]["keeping"] == []


async def test_nobody_listens_for_a_child_where_nothing_is_to_be_kept(tmp_path: Path) -> None:
    ear = Sadness()
    models = standins(perceiver=ear)
    async with arena(tmp_path, models, arena=DEAF, recording={"children": False}) as place:
        await place.played()
        assert ear.brought == []


async def test_who_deletes_a_round_while_its_vote_is_written_has_it_deleted(
    tmp_path: Path,
) -> None:
    async with arena(tmp_path) as place:
        round_ = await place.played("audio")
        for side in "ab":
            await round_.hear(side)
        archive = place.arena.archive
        begun, go_on, write = asyncio.Event(), threading.Event(), archive.add
        loop = asyncio.get_running_loop()

        def slowly(*given: Any) -> None:
            loop.call_soon_threadsafe(begun.set)
            assert go_on.wait(10)
            write(*given)

        archive.add = slowly
        voting = asyncio.create_task(round_.vote("a"))
        await begun.wait()
        (written,) = place.arena.waiting._rounds.values()
        deleting = asyncio.create_task(place.client.delete(round_.path, headers=round_.own))
        while not written.deleted:  # noqa: ASYNC110 - nobody tells when it has begun
            await asyncio.sleep(0.005)
        assert problem(await round_.vote("b"))[0] == 404
        go_on.set()
        assert (await deleting).status_code == 204
        assert (place.kept(), place.votes()) == ([], [])
        assert problem(await voting) == (404, "round_not_found")
        assert (await place.board())["rounds"] == 0


async def test_a_vote_whose_voter_has_left_is_written_once_and_to_its_end(tmp_path: Path) -> None:
    waiting = made_round()
    waiting.heard.update(("a", "b"))
    async with arena(tmp_path, arena=SAME) as place:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def run(call: Any) -> Any:
            begun.set()
            await go_on.wait()
            return call()

        ours = place.arena
        voting = asyncio.create_task(ours.vote(waiting, "a", "", run))
        await begun.wait()
        voting.cancel()
        await asyncio.wait([voting])
        with pytest.raises(Refusal, match="a vote on this round already"):
            await ours.vote(waiting, "b", "", run)
        go_on.set()
        assert waiting.writing
        await waiting.writing
        assert [json.loads(vote)["vote"] for vote in place.votes()] == ["a"]


async def test_the_standings_are_counted_again_only_for_other_votes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = 0

    def count(*given: Any) -> Any:
        nonlocal counts
        counts += 1
        return counted(*given)

    monkeypatch.setattr("server.arena.arena.counted", count)
    async with arena(tmp_path, arena=SAME) as place:
        archive = place.arena.archive
        boards = await asyncio.gather(*(place.board() for _ in range(4)))
        assert (counts, boards[0]["left_out"]) == (1, 0)
        archive.add(vote := made_ballot("one", "two", "a"))
        assert [(await place.board())["left_out"] for _ in range(2)] == [1, 1]
        assert counts == 2
        archive.remove(vote)
        assert (await place.board())["left_out"] == 0
        assert counts == 3


async def test_where_the_voice_is_is_found_once_and_not_in_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[bool] = []

    def span(samples: Any) -> Any:
        found.append(threading.current_thread() is threading.main_thread())
        return voice_span(samples)

    monkeypatch.setattr("server.arena.arena.voice_span", span)
    async with arena(tmp_path) as place:
        await place.played("audio")
    assert found == [False]


async def test_what_cannot_be_answered_is_refused_at_once(tmp_path: Path) -> None:
    long = wav(np.zeros(61 * 8000, np.float32), 8000)
    async with arena(tmp_path) as place:
        for body, kind, refusal in (
            (b"no sound at all", "audio/wav", (400, "invalid_file_format")),
            (b"odd", "audio/pcm", (400, "invalid_file_format")),
            (b"", "audio/wav", (400, "invalid_file_format")),
            (bytes(WIRE_RATE), "audio/pcm", (400, "no_words")),
            (bytes(61 * 2 * WIRE_RATE), "audio/pcm", (413, "recording_too_long")),
            (long, "audio/wav", (413, "recording_too_long")),
            (bytes(13 * 1024 * 1024), "audio/pcm", (413, "request_too_large")),
        ):
            assert problem(await place.begin(body, kind)) == refusal
        assert problem(await place.begin(TURN, consent="everything")) == (400, "invalid_value")


async def test_a_file_of_another_rate_is_heard_as_it_was_spoken(tmp_path: Path) -> None:
    speech = np.repeat(decode_pcm16(TURN), 2)  # at 48 kHz
    async with arena(tmp_path) as place:
        round_ = played(place.client, await place.begin(wav(speech, 48_000), "audio/wav"))
        assert (await round_.heard_and("bad")).json()["said"]


async def test_when_all_seats_are_taken_a_round_is_refused(tmp_path: Path) -> None:
    async with arena(tmp_path, seats=1) as place:
        assert place.house.sit("somebody")
        refused = await place.begin()
        assert problem(refused) == (503, "session_limit_reached")
        assert refused.headers["retry-after"]
        place.house.rise("somebody")
        await place.played()


@pytest.mark.slow
async def test_rounds_wait_for_each_other_and_too_many_are_refused(tmp_path: Path) -> None:
    class Slow:
        def __init__(self) -> None:
            self.asked, self.go_on = asyncio.Event(), asyncio.Event()

        async def transcribe(self, audio: Any) -> str:
            self.asked.set()
            await self.go_on.wait()
            return "well then"

    slow = Slow()
    async with (
        arena(tmp_path, standins(transcriber=slow), arena=SAME) as place,
        AsyncExitStack() as opened,
    ):
        begun, lines = [], []
        for nth in range(QUEUE + 1):
            asking = place.client.stream(
                "POST", "/api/arena/rounds", content=TURN, headers={**RAW, **come_from(nth)}
            )
            begun.append((await opened.enter_async_context(asking)).aiter_lines())
            lines.append(json.loads(await anext(begun[-1])))
        assert [each["stage"] for each in lines] == ["preparing", *["waiting"] * QUEUE]
        await slow.asked.wait()
        assert problem(await place.begin()) == (429, "rate_limit_exceeded")
        assert len(place.house.sessions) == 1
        slow.go_on.set()
        for each in begun:
            assert [json.loads(line)["type"] async for line in each][-1] == "ready"
        await place.played()  # there is room again


def come_from(nth: int) -> dict[str, str]:
    """Another address, as a proxy on this machine tells it."""
    return {"X-Forwarded-For": f"10.0.0.{nth + 1}"}


async def test_a_place_is_had_before_the_turn_is_read_one_for_each_address(
    tmp_path: Path,
) -> None:
    async with arena(tmp_path, arena=SAME) as place:
        half_sent, go_on = asyncio.Event(), asyncio.Event()

        async def slowly() -> AsyncGenerator[bytes, None]:
            yield TURN[: len(TURN) // 4 * 2]
            half_sent.set()
            await go_on.wait()
            yield TURN[len(TURN) // 4 * 2 :]

        url = "/api/arena/rounds"
        first = asyncio.create_task(place.client.post(url, content=slowly(), headers=RAW))
        await half_sent.wait()
        while not place.arena._queued:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)
        refused = await place.begin(b"never looked at", "audio/wav")
        assert problem(refused) == (429, "round_unfinished")
        assert refused.headers["retry-after"]
        other = await place.client.post(url, content=TURN, headers={**RAW, **come_from(1)})
        assert json.loads(other.text.splitlines()[0])["stage"] == "preparing"  # no wait for a body
        go_on.set()
        played(place.client, await first)
        assert problem(await place.begin(b"odd")) == (400, "invalid_file_format")
        assert place.arena._queued == []


async def test_a_turn_that_does_not_come_gives_its_place_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.arena_api.SEND_SEC", 0.05)
    async with arena(tmp_path, arena=SAME) as place:
        held = place.arena._queued

        async def slowly() -> AsyncGenerator[bytes, None]:
            yield TURN[:2]
            for wanted in (True, False):  # a place is taken, and given up
                while bool(held) != wanted:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.005)

        async with asyncio.timeout(10):
            asked = place.client.post("/api/arena/rounds", content=slowly(), headers=RAW)
            assert problem(await asked) == (400, "request_too_slow")


async def test_who_leaves_frees_the_seat(tmp_path: Path) -> None:
    class Never:
        def __init__(self) -> None:
            self.begun = asyncio.Event()

        async def transcribe(self, audio: Any) -> str:
            self.begun.set()
            await asyncio.Event().wait()
            return ""

    never = Never()
    async with arena(tmp_path, standins(transcriber=never), arena=SAME) as place:
        leaving = asyncio.create_task(place.begin())
        await never.begun.wait()
        assert len(place.house.sessions) == 1
        leaving.cancel()
        async with asyncio.timeout(10):
            while place.house.sessions:  # noqa: ASYNC110 - nobody tells when a seat is left
                await asyncio.sleep(0.01)


async def test_a_system_that_breaks_is_left_out_and_shown_so(tmp_path: Path) -> None:
    class Broken:
        async def respond(self, dialogue: Any, max_tokens: int) -> AsyncGenerator[str, None]:
            raise BackendError("responder", "It is broken at http://10.0.0.1:9.")
            yield ""

    systems: dict[str, Any] = {"one": {}, "two": {}}
    models = standins(responder=Broken())
    async with arena(tmp_path, models, arena={"systems": systems}) as place:
        response = await place.begin()
        last = json.loads(response.text.splitlines()[-1])
        assert (last["type"], last["error"]["code"]) == ("error", "model_error")
        assert "10.0.0.1" not in response.text
        board = await place.board()
        assert sorted(each["available"] for each in board["systems"]) == [False, True]
        response = await place.begin()
        last = json.loads(response.text.splitlines()[-1])
        assert last["error"]["code"] == "arena_unavailable"


async def test_the_operator_compares_a_recorded_turn_on_the_sessions_consent(
    tmp_path: Path,
) -> None:
    session_id = made_session(tmp_path, turns=[Exchange(seconds=1.0)])
    closed_id = made_session(tmp_path, consent="transcript,audio")
    async with arena(tmp_path) as place:
        library = place.house.library
        library.rebuild()
        item = user_item(library, session_id)
        told = {"session_id": session_id, "item_id": item}
        answer = await place.client.post("/api/arena/rounds/recorded", json=told)
        assert answer.status_code == 401
        assert problem(await place.recorded(closed_id, user_item(library, closed_id))) == (
            409, "consent_missing",
        )  # fmt: skip
        assert problem(await place.recorded(session_id, "item_none")) == (404, "turn_not_found")
        assert problem(await place.recorded("sess_" + "0" * 20, item)) == (
            404, "session_not_found",
        )  # fmt: skip

        kept = played(place.client, await place.recorded(session_id, item))
        assert (await kept.heard_and("a")).json()["kept"] == ["transcript", "audio", "research"]
        assert place.kept() == ["a.flac", "b.flac", "round.json", "turn.flac"]

        late = played(place.client, await place.recorded(session_id, item))
        library.delete(session_id)
        assert place.kept() == []  # it went with the session
        assert problem(await late.heard_and("b")) == (409, "consent_missing")
        assert place.kept() == []
        assert len(place.votes()) == 1


def user_item(library: Any, session_id: str) -> str:
    session = library.session(session_id)
    found = turns(session.file(), session.lines(KINDS))
    return next(turn.item_id for turn in found if turn.role == "user")


@pytest.mark.slow
async def test_the_operator_lists_votes_the_newest_first(tmp_path: Path) -> None:
    async with arena(tmp_path) as place:
        for vote in ("a", "bad"):
            await (await place.played()).heard_and(vote)
        assert (await place.client.get("/api/arena/rounds")).status_code == 401
        listed = (await place.client.get("/api/arena/rounds?limit=1", headers=OPERATOR)).json()
        assert listed["total"] == 2
        assert [each["vote"] for each in listed["rounds"]] == ["bad"]
        assert "secret" not in json.dumps(listed)


@pytest.mark.slow
async def test_pairs_are_evened_out(tmp_path: Path) -> None:
    systems = {"one": {}, "two": {"voice": "flat"}, "three": {"perception": False}}
    async with arena(tmp_path, arena={"systems": systems}) as place:
        for _ in range(3):
            await (await place.played()).heard_and("a")
        pairs = (await place.board())["pairs"]
        assert [each["first_wins"] + each["second_wins"] for each in pairs] == [1, 1, 1]


async def test_an_arena_that_is_switched_off_is_not_there(tmp_path: Path) -> None:
    async with arena(tmp_path, arena={"enabled": False}) as place:
        assert (await place.client.get("/api/arena/leaderboard")).status_code == 404
