"""What the house knows of itself: counts, percentiles, health, and who may see it."""

import asyncio
import random
from dataclasses import dataclass
from time import sleep
from typing import Any

import httpx2
import psutil
import pytest
from websockets.asyncio.client import connect

from models.errors import BackendError
from models.registry import Choice
from models.standin import StandinResponder
from server import app
from server.config import Config
from server.health import FRESH_SEC, Health
from server.percentiles import Digest, Lately
from server.pulse import Pulse
from server.vitals import LATELY_SEC, Vitals
from tests.serving import serving, standins
from tests.talker import play_until, talking

TOKEN = "the operator's own token"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}


@dataclass
class Time:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Recording:
    recording: bool = True
    broke_off: str | None = None
    begun: bool | None = True


# ---- percentiles


def test_percentiles_are_near_the_true_ones_with_negative_figures_too() -> None:
    chance = random.Random(3)
    figures = sorted(chance.gauss(300, 250) for _ in range(5000))
    digest = Digest()
    for figure in chance.sample(figures, len(figures)):
        digest.add(figure)
    assert figures[0] < 0
    for share in (0.01, 0.5, 0.95, 0.99):
        true = figures[int(share * len(figures)) - 1]
        (told,) = digest.percentiles([share])
        assert told == pytest.approx(true, rel=0.01, abs=0.2)


def test_of_a_single_figure_all_percentiles_are_that_figure_and_of_none_there_are_none() -> None:
    digest = Digest()
    assert digest.percentiles((0.5, 0.99)) == [None, None]
    digest.add(float("nan"))
    digest.add(420.0)
    assert digest.count == 1
    assert digest.percentiles((0.5, 0.95, 0.99)) == pytest.approx([420.0] * 3, rel=0.005)


def test_a_sum_is_the_same_to_the_last_bit_in_whatever_order_figures_came() -> None:
    figures = [random.Random(n).expovariate(0.001) for n in range(300)]
    sums = set()
    for n in range(20):
        random.Random(n).shuffle(figures)
        digest = Digest()
        for figure in figures:
            digest.add(figure)
        sums.add(digest.total)
    assert len(sums) == 1


def test_a_digest_stays_small_however_much_it_is_told() -> None:
    digest = Digest()
    for figure in range(-100_000, 2_000_000, 70):
        digest.add(float(figure))
    assert len(digest._steps) < 6000


def test_what_is_older_than_the_window_no_longer_counts() -> None:
    time = Time()
    lately = Lately(60, 6, time)
    lately.add(1000)
    time.now += 50
    lately.add(10)
    assert lately.digest().count == 2
    time.now += 25
    assert lately.digest().percentiles([0.5]) == pytest.approx([10.0], rel=0.01)
    time.now += 100
    assert lately.digest().count == 0


# ---- what conversations tell


def test_only_replies_to_speech_have_stages_and_all_are_counted() -> None:
    vitals = Vitals()
    vitals.replied({"speech_end": 0.0, "words": -40.0, "first_sent": 500.0}, 2.0)
    vitals.replied({"first_token": 80.0, "first_sent": 90.0}, None)
    assert vitals.replies == 2
    assert set(vitals.stages) == {"words", "first_sent", "overhead"}
    assert vitals.stages["first_sent"].ever.count == 1
    assert vitals.stages["words"].ever.percentiles([0.5]) == pytest.approx([-40.0], rel=0.01)


def test_what_was_long_ago_stays_in_the_figures_since_the_start() -> None:
    time = Time()
    vitals = Vitals(time)
    vitals.replied({"speech_end": 0.0, "first_sent": 500.0}, None)
    time.now += 2 * LATELY_SEC
    vitals.replied({"speech_end": 0.0, "first_sent": 100.0}, None)
    stage = vitals.stages["first_sent"]
    assert (stage.ever.count, stage.lately.digest().count) == (2, 1)


def test_recordings_are_counted_while_they_run_and_by_what_stopped_them() -> None:
    vitals = Vitals()
    whole, broken = Recording(), Recording()
    vitals.began(whole)
    vitals.began(broken)
    assert vitals.recording == 2
    broken.recording, broken.broke_off = False, "disk_full"
    assert (vitals.recording, vitals.stopped) == (1, {"disk_full": 1})
    vitals.ended(broken, "hung_up")
    vitals.ended(whole, "lost")
    assert (vitals.recording, vitals.stopped) == (0, {"disk_full": 1})
    assert vitals.endings == {"hung_up": 1, "lost": 1}


def test_a_recording_counts_as_begun_from_its_first_moment_and_once() -> None:
    vitals = Vitals()
    kept, not_kept = Recording(), Recording(recording=False, begun=None)
    vitals.began(kept)
    vitals.began(not_kept)
    assert vitals.recordings_begun == 1
    not_kept.recording = not_kept.begun = True  # consent may come late
    assert vitals.recordings_begun == 2
    for each in (kept, not_kept):
        each.recording = False
        vitals.ended(each, "hung_up")
    vitals.began(Recording(recording=False, begun=None))
    assert (vitals.recording, vitals.recordings_begun) == (0, 2)


async def test_a_blocked_event_loop_shows_as_lateness() -> None:
    pulse = Pulse(lambda: 3)
    beating = asyncio.create_task(pulse.beat())
    await asyncio.sleep(0.05)
    sleep(0.4)  # noqa: ASYNC251 - this is what is to be noticed
    while not pulse.lag.digest().count:  # noqa: ASYNC110 - the next beat tells
        await asyncio.sleep(0.01)
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    (late,) = pulse.lag.digest().percentiles([0.99])
    assert late is not None and 100 < late < 400
    assert pulse.load.seats_taken == 3
    assert pulse.load.memory_mb > 10


async def test_a_machine_that_does_not_say_how_it_is_now_and_then_is_measured_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pulse = Pulse(lambda: 3)
    monkeypatch.setattr("server.pulse.BEAT_SEC", 0.0)
    busy: list[Exception | float] = [
        OSError(24, "Too many open files"),
        psutil.AccessDenied(),
        50.0,
    ]

    def cpu_percent() -> float:
        found = busy.pop(0) if len(busy) > 1 else busy[0]
        if isinstance(found, Exception):
            raise found
        return float(found)

    monkeypatch.setattr("psutil.cpu_percent", cpu_percent)
    beating = asyncio.create_task(pulse.beat())
    async with asyncio.timeout(20):
        while pulse.load.machine_cpu != 50.0:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
    beating.cancel()


# ---- health


async def test_health_asks_servers_only_and_says_what_each_answered() -> None:
    asked: list[str] = []

    async def ask(url: str) -> int:
        asked.append(url)
        if "gone" in url:
            raise httpx2.ConnectError("refused")
        return 503 if "ill" in url else 200

    chosen = {
        "transcriber": Choice("moonshine"),
        "responder": Choice("vllm", {"url": "http://127.0.0.1:8000/v1"}),
        "speaker": Choice("openai", {"url": "https://ill.example.org/v1"}),
        "turn_judge": Choice("standin", {"url": "http://gone.example.org:9"}),
        "perceiver": Choice("off"),
    }
    told = {check.role: check for check in await Health(chosen, ask).checks()}
    assert {role: (check.where, check.state) for role, check in told.items()} == {
        "transcriber": ("process", "ok"),
        "responder": ("machine", "ok"),
        "speaker": ("remote", "failing"),
        "turn_judge": ("remote", "unreachable"),
        "perceiver": ("process", "off"),
    }
    assert told["speaker"].host == "ill.example.org"
    assert set(asked) == {
        "http://127.0.0.1:8000/v1/models",
        "https://ill.example.org/v1/models",
        "http://gone.example.org:9/health",
    }


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_server_that_refuses_is_there_but_not_called_ready(status: int) -> None:
    async def ask(_: str) -> int:
        return status

    chosen = {"responder": Choice("vllm", {"url": "http://127.0.0.1:8000/v1"})}
    (check,) = await Health(chosen, ask).checks()
    assert check.state == "refusing" and check.ms is not None


@pytest.mark.parametrize(
    ("url", "question"),
    [
        ("http://vllm", "http://vllm/health"),
        ("http://v1", "http://v1/health"),
        ("http://voices:9/voice", "http://voices:9/voice/health"),
        ("http://one:9/v1/", "http://one:9/v1/models"),
        ("http://one/api/v1beta", "http://one/api/v1beta/models"),
    ],
)
async def test_the_path_tells_what_a_server_is_asked_and_not_its_name(
    url: str, question: str
) -> None:
    asked: list[str] = []

    async def ask(url: str) -> int:
        asked.append(url)
        return 200

    await Health({"responder": Choice("vllm", {"url": url})}, ask).checks()
    assert asked == [question]


async def test_servers_are_not_asked_again_before_their_time_and_nobody_waits_for_a_slow_one() -> (
    None
):
    time, asked = Time(), 0
    asked_again, never = asyncio.Event(), asyncio.Event()

    async def ask(_: str) -> int:
        nonlocal asked
        asked += 1
        if asked > 1:
            asked_again.set()
            await never.wait()
        return 200

    health = Health({"responder": Choice("vllm", {"url": "http://one/v1"})}, ask, time)
    await asyncio.gather(health.checks(), health.checks())
    time.now += FRESH_SEC - 1
    await health.checks()
    assert asked == 1
    time.now += 2
    (check,) = await health.checks()  # answered from what is known
    await asked_again.wait()
    assert check.state == "ok"
    await health.close()


# ---- over HTTP


async def asked(url: str, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient() as client:
        base = url.replace("ws://", "http://").replace("/v1/realtime", "")
        return await client.get(f"{base}/api/system?history=true", headers=headers)


@pytest.mark.parametrize(
    ("token", "shown", "status"),
    [
        (TOKEN, {}, 401),
        (TOKEN, {"Authorization": "Bearer a wrong one"}, 401),
        (TOKEN, OPERATOR, 200),
        (TOKEN, {**OPERATOR, "Origin": "http://elsewhere.example"}, 403),
        (None, OPERATOR, 403),
    ],
)
async def test_only_the_operator_sees_the_system(
    token: str | None, shown: dict[str, str], status: int
) -> None:
    config = Config.model_validate({"profile": "standin", "operator_token": token})
    transport = httpx2.ASGITransport(app.create(standins(), config))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        assert (await client.get("/api/system", headers=shown)).status_code == status


async def test_a_conversation_shows_in_seats_counts_and_stages() -> None:
    async with serving(operator_token=TOKEN, seats=1) as (url, house):
        async with talking(url) as talker:
            await talker.ask()
            await play_until(talker, "response.done")
            system = (await asked(url, **OPERATOR)).json()
            assert system["seats"] == {
                "taken": 1, "free": 0, "total": 1, "most": 1, "waiting": 0,
            }  # fmt: skip
            assert system["pressure"] is None  # on this clock nothing takes time
            async with connect(url) as other:
                await other.recv()
        while house.sessions:  # noqa: ASYNC110 - the server notices a moment later
            await asyncio.sleep(0.005)
        system = (await asked(url, **OPERATOR)).json()
    assert system["conversations"] == {
        "opened": 1, "refused": 1, "queued": 0, "left_queue": 0, "failed": 0, "lost": 0,
        "replies": 1, "failed_replies": {},
    }  # fmt: skip
    stages = {each["stage"]: each for each in system["stages"]}
    assert {"words", "gate", "first_audio", "first_sent", "overhead"} <= set(stages)
    assert stages["first_sent"]["ever"]["n"] == stages["first_sent"]["lately"]["n"] == 1
    assert stages["first_sent"]["ever"]["p50"] == stages["first_sent"]["ever"]["p99"]
    assert {each["role"] for each in system["models"]} == {
        "voice_detector", "turn_judge", "transcriber", "perceiver", "thinker", "responder",
        "speaker",
    }  # fmt: skip
    assert {each["state"] for each in system["models"]} == {"ok"}
    assert set(system["history"]) >= {"process_cpu", "seats_taken", "lag_ms"}


async def test_a_reply_that_fails_is_counted_for_the_role_that_did() -> None:
    class Failing(StandinResponder):
        def respond(self, *_: Any, **__: Any) -> Any:
            raise BackendError("responder", "The reply server cannot be reached.")

    models = standins(responder=Failing())
    async with serving(models, operator_token=TOKEN) as (url, _):
        async with talking(url) as talker:
            await talker.ask()
            await play_until(talker, "response.done")
        system = (await asked(url, **OPERATOR)).json()
    assert system["conversations"]["failed_replies"] == {"responder": 1}
    assert {each["role"]: each["failures"] for each in system["models"]}["responder"] == 1
