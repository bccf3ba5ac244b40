"""What Prometheus is told, who may read it, and that the dashboard asks for what there is."""

import asyncio
import json
import math
import re
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import HTTPConnection
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from models.errors import BackendError
from models.standin import StandinResponder
from models.types import WIRE_RATE
from server import access
from server.address_limits import AddressLimits
from server.config import BackendProcess
from server.errors import ClientError
from server.http_refusals import Refusal
from server.limits import Limits, Meter
from server.metrics import BOUNDS_SEC, REASONS, ROLES, WHYS, Sources, exposed
from server.percentiles import Digest
from server.pressure import Level
from server.supervision import Supervision
from server.tally import Tally
from server.vitals import LIMITS, Vitals
from tests.leaving import back, cut, returned
from tests.many_processes import many
from tests.serving import serving, standins
from tests.talker import HUSH, Talker, play_until, talking
from tests.test_queue import Pinned
from tests.test_supervision import SOON, free_port

ROOT = Path(__file__).parent.parent
TOKEN = "the operator's own token"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}

Told = dict[str, float]  # by name with its labels


def read(text: str) -> Told:
    """Every sample, under its name with its labels."""
    found: Told = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def told(tally: Tally) -> Told:
    return read(exposed(Sources({"version": "1"}, seats=64, sessions=lambda: 0))(tally).decode())


def page_of(url: str, path: str = "/metrics") -> str:
    return url.replace("ws://", "http://").replace("/v1/realtime", path)


async def figures_of(url: str) -> Told:
    """What a running server tells."""
    async with httpx2.AsyncClient(headers=OPERATOR, trust_env=False) as client:
        answer = await client.get(page_of(url))
    assert answer.status_code == 200, answer.text
    return read(answer.text)


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what tells nobody when it happens."""
    async with asyncio.timeout(20):
        while not await true():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.02)


def test_counts_and_histograms_are_those_of_the_vitals() -> None:
    vitals = Vitals()
    vitals.turns = 3
    vitals.failed("speaker")
    vitals.replied({"speech_end": 0.0, "words": 120.0, "first_sent": 450.0}, 2.0)
    vitals.replied({"speech_end": 0.0, "words": -20.0, "first_sent": 700.0}, 2.0)
    figures = told(Tally.of(vitals))
    assert figures["attune_turns_total"] == 3
    assert figures["attune_replies_total"] == 2
    assert figures["attune_replies_failed_total{role=speaker}"] == 1
    assert figures["attune_stage_seconds_bucket{le=0.4,stage=first_sent}"] == 0
    assert figures["attune_stage_seconds_bucket{le=0.5,stage=first_sent}"] == 1
    assert figures["attune_stage_seconds_count{stage=first_sent}"] == 2
    assert math.isclose(figures["attune_stage_seconds_sum{stage=first_sent}"], 1.15, rel_tol=0.01)
    # What was ready before the person had finished is in the first bucket, and adds nothing.
    assert figures["attune_stage_seconds_bucket{le=0.0,stage=words}"] == 1
    assert math.isclose(figures["attune_stage_seconds_sum{stage=words}"], 0.12, rel_tol=0.01)


def test_a_digest_counts_what_is_no_greater_than_a_bound() -> None:
    digest = Digest()
    for ms in range(1, 1001):
        digest.add(ms)
    assert digest.at_most([0, 100, 500, 2000]) == [0, *(_near(digest, b) for b in (100, 500)), 1000]
    assert [round(n, -1) for n in digest.at_most([100, 500])] == [100, 500]
    assert math.isclose(digest.total, 500_500, rel_tol=0.005)


def _near(digest: Digest, bound: float) -> int:
    (count,) = digest.at_most([bound])
    assert abs(count - bound) <= 0.006 * bound
    return count


async def test_a_conversation_is_counted_from_its_turn_to_its_end() -> None:
    async with serving() as (url, house):
        async with talking(url, "?attune=1") as talker:
            await talker.ask()
            await play_until(talker, "response.done")
            while not any(percept["final"] for percept in talker.of("attune.percept")):
                await talker.next()
            during = await figures_of(url)
        await until(lambda: _none(house.talks))
        afterwards = await figures_of(url)
    assert (during["attune_sessions"], afterwards["attune_sessions"]) == (1, 0)
    assert during["attune_sessions_opened_total"] == 1
    assert during["attune_turns_total"] == 1
    assert during["attune_replies_total"] == 1
    assert during["attune_stage_seconds_count{stage=first_sent}"] == 1
    assert during["attune_percept_seconds_count"] == 1
    assert during["attune_ready"] == 1
    assert during["process_resident_memory_bytes"] > 1 << 20
    assert during["attune_sessions_ended_total{why=hung_up}"] == 0
    assert afterwards["attune_sessions_ended_total{why=hung_up}"] == 1


async def _none(some: set[Any]) -> bool:
    return not some


async def test_a_recording_is_counted_from_the_consent_and_stays_counted(tmp_path: Path) -> None:
    async with serving(recording={"runs": str(tmp_path)}) as (url, house):
        async with talking(url, "?attune=1") as talker:
            before = recordings(await figures_of(url))
            await talker.send("attune.consent", transcript=True, audio=True, research=False)
            await talker.until("attune.recording")
            during = recordings(await figures_of(url))
        await until(lambda: _none(house.talks))
        assert (before, during) == ((0, 0), (1, 1))
        assert recordings(await figures_of(url)) == (0, 1)


def recordings(figures: Told) -> tuple[float, float]:
    return figures["attune_recordings"], figures["attune_recordings_begun_total"]


async def test_seats_queue_and_pressure_are_those_of_the_door() -> None:
    async with serving(seats=1) as (url, house):
        before = await figures_of(url)
        assert (before["attune_seats"], before["attune_queue"]) == (1, 0)
        house.porter.pressed = pinned = Pinned()
        pinned.level = Level.PARTIALS
        async with talking(url), connect(f"{url}?attune=1") as socket:
            await Talker(socket).until("attune.queue")
            full = await figures_of(url)
    assert (full["attune_seats"], full["attune_sessions"], full["attune_queue"]) == (1, 1, 1)
    assert (before["attune_pressure"], full["attune_pressure"]) == (0, 2)


class Failing(StandinResponder):
    def respond(self, *_: Any, **__: Any) -> Any:
        raise BackendError("responder", "The reply server cannot be reached.")


async def test_a_breaker_that_opens_is_counted_for_its_role() -> None:
    async with serving(standins(responder=Failing())) as (url, house), talking(url) as talker:
        before = await figures_of(url)
        async with asyncio.timeout(20):
            while house.breakers["responder"].state == "closed":  # what fails at once counts once
                await talker.ask()
                await play_until(talker, "response.done")
        after = await figures_of(url)
    openings = {
        name: count for name, count in after.items() if name.startswith("attune_breaker_openings")
    }
    assert openings.pop("attune_breaker_openings_total{role=responder}") == 1
    assert len(openings) == len(house.breakers) - 1 and not any(openings.values())
    able = "attune_role_able{role=responder}"
    assert (before[able], after[able], after["attune_ready"]) == (1, 0, 0)


async def test_a_backend_that_dies_is_counted_whenever_it_is_started_again(tmp_path: Path) -> None:
    dies = BackendProcess(
        command=[sys.executable, "-c", "pass"],
        ready=f"http://127.0.0.1:{free_port()}/",
        log=tmp_path / "tts.log",
    )
    restarts = "attune_backend_restarts_total{backend=tts}"
    async with serving() as (url, house):
        assert restarts not in await figures_of(url)
        with Supervision({"tts": dies}, SOON).at_work() as house.supervised:
            await until(lambda: _told(url, restarts, 2))
            least = house.supervised.backends[0].restarts
            assert least <= (await figures_of(url))[restarts] <= least + 2


async def _told(url: str, name: str, least: float) -> bool:
    return (await figures_of(url))[name] >= least


async def test_a_loop_that_is_kept_is_counted_with_the_longest_time() -> None:
    async with serving() as (url, _):

        async def seen() -> bool:
            time.sleep(0.2)  # noqa: ASYNC251 - it is what is to be seen
            await asyncio.sleep(0.1)
            return await _told(url, "attune_longest_stall_seconds", 0.1)

        await until(seen)  # on a busy machine a dog may sleep through one
        figures = await figures_of(url)
    assert figures["attune_stalls_total"] >= 1
    assert figures["attune_longest_stall_seconds"] < 20


async def flood(talker: Talker) -> None:
    for _ in range(200):
        await talker.send("input_audio_buffer.clear")
    await cut_off(talker)


async def speak_ahead(talker: Talker) -> None:
    await talker.say(HUSH, 2.0)
    await talker.until("error")


async def write_much(talker: Talker) -> None:
    content = [{"type": "input_text", "text": "x" * 200}]
    item = {"type": "message", "role": "user", "content": content}
    await talker.send("conversation.item.create", item=item)
    await talker.until("error")


async def set_much(talker: Talker) -> None:
    assert (await talker.update(instructions="x" * 5_000))["type"] == "error"


async def cut_off(talker: Talker) -> None:
    with pytest.raises(ConnectionClosed):
        while True:
            await talker.next()


@pytest.mark.parametrize(
    ("limits", "does", "counted"),
    [
        (
            {"messages_per_sec": 0.1, "messages_burst": 5, "refusals": 50},
            flood,
            {"messages_per_sec": 50, "refusals": 1},
        ),
        ({"audio_ahead_sec": 1.5}, speak_ahead, {"audio_ahead_sec": 1}),
        ({"conversation_bytes": 100}, write_much, {"conversation_bytes": 1}),
        ({"settings_bytes": 4_096}, set_much, {"settings_bytes": 1}),
        ({"session_minutes": 0.005}, cut_off, {"session_minutes": 1}),
        ({"idle_minutes": 0.005}, cut_off, {"idle_minutes": 1}),
    ],
)
async def test_what_is_refused_is_counted_by_its_limit(
    limits: dict[str, float], does: Callable[[Talker], Awaitable[None]], counted: dict[str, int]
) -> None:
    async with serving(clock="wall", limits=limits) as (url, _):
        async with talking(url) as talker:
            await does(talker)
        assert refusals(await figures_of(url)) == NOTHING | counted


NOTHING: dict[str, float] = dict.fromkeys(LIMITS, 0)  # is refused by any limit


def refusals(figures: Told) -> dict[str, float]:
    found = (re.fullmatch(r"attune_refusals_total{limit=(\w+)}", name) for name in figures)
    return {each[1]: figures[each[0]] for each in found if each}


OUTSIDE: dict[str, Any] = {
    "clock": "wall",
    "HOST": "0.0.0.0",
    "operator_token": TOKEN,
    "insecure": True,
}


async def test_an_address_that_comes_too_often_is_counted() -> None:
    async with serving(**OUTSIDE, limits={"connections_per_minute": 2}) as (url, _):
        elsewhere = {"X-Forwarded-For": "192.0.2.1"}
        for _ in range(2):
            async with connect(url, additional_headers=elsewhere):
                pass
        for _ in range(3):
            with pytest.raises(InvalidStatus):
                await connect(url, additional_headers=elsewhere)
        assert refusals(await figures_of(url))["connections_per_minute"] == 3


def test_what_an_address_may_not_is_counted_by_its_limit() -> None:
    """Nobody counts this machine's own address, so no test comes from another over a socket."""
    vitals = Vitals()
    limits = Limits(
        address_messages_per_sec=1,
        address_messages_burst=1,
        address_bytes_per_sec=1,
        address_bytes_burst=1,
        address_audio_ahead_sec=1,
        requests_per_minute=1,
    )
    addresses = AddressLimits(limits, vitals=vitals)
    came = HTTPConnection({"type": "http", "client": ("203.0.113.1", 4000)})
    addresses.request(came)
    with pytest.raises(Refusal):
        addresses.request(came)
    meter = Meter(limits, 0.0, vitals, addresses.of("203.0.113.1"))
    meter.message(0.0)
    with pytest.raises(ClientError):
        meter.message(0.0)
    with pytest.raises(ClientError):
        meter.weigh(2, 0.0)
    with pytest.raises(ClientError):
        meter.sound(60 * WIRE_RATE, 0.0)
    counted = {
        "requests_per_minute",
        "address_messages_per_sec",
        "address_bytes_per_sec",
        "address_audio_ahead_sec",
    }
    assert {name for name, count in vitals.refusals.items() if count == 1} == counted


async def test_wrong_tokens_are_counted_wherever_they_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access, "WRONG", 3)
    wrong = {"Authorization": "Bearer of nothing"}
    asks = {**OUTSIDE, "insecure": False, "talker_tokens": "a talker's own token"}
    async with serving(**asks) as (url, _), httpx2.AsyncClient(headers=wrong) as client:
        seen = [
            (await client.get(page_of(url, path))).status_code
            for path in ("/metrics", "/api/system", "/api/sessions")
        ]
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, additional_headers=wrong)
        figures = await figures_of(url)
    assert (seen, refused.value.response.status_code) == ([401, 401, 401], 429)
    assert figures["attune_wrong_tokens_total"] == 4
    assert refusals(figures) == NOTHING | {"wrong_tokens": 1}


async def test_one_who_comes_back_is_counted_and_one_who_cannot_as_well() -> None:
    async with serving() as (url, _), talking(url, "?attune=1") as lost:
        await lost.settle()
        cut(lost)
        async with returned(url, lost) as talker:
            await talker.settle()
            assert resumes(await figures_of(url)) == (1, 0)
            async with connect(url, additional_headers={"X-Attune-Resume": "0.none.such"}) as other:
                error = (await Talker(other).until("error"))["error"]
            assert error["code"] == "resume_failed"
            assert resumes(await figures_of(url)) == (1, 1)
            async with back(url, talker, after="event_never_told") as late:
                assert (await Talker(late).until("error"))["error"]["code"] == "resume_failed"
            assert resumes(await figures_of(url)) == (1, 2)


def resumes(figures: Told) -> tuple[float, float]:
    return figures["attune_sessions_resumed_total"], figures["attune_resumes_failed_total"]


def test_processes_are_told_as_one() -> None:
    ours, theirs = Vitals(), Vitals()
    for vitals, ms in ((ours, 80.0), (theirs, 300.0)):
        vitals.stalled(ms)
        vitals.limited("idle_minutes")
        vitals.wrong_tokens += 2
    here, there = Tally.of(ours), Tally.of(theirs)
    here.seats, here.waiting, here.pressure = 40, 1, 3
    there.seats, there.waiting, there.not_ready = 40, 2, 1
    here.openings.update(speaker=1, responder=0)
    there.openings.update(speaker=2, responder=0)
    there.unable.update(speaker=1, responder=0)
    sent = orjson.loads(orjson.dumps(there.to_json()))
    figures = told(here.joined([Tally.from_json(sent)]))
    assert figures["attune_stalls_total"] == 2
    assert figures["attune_longest_stall_seconds"] == 0.3
    assert figures["attune_wrong_tokens_total"] == 4
    assert figures["attune_refusals_total{limit=idle_minutes}"] == 2
    assert figures["attune_breaker_openings_total{role=speaker}"] == 3
    assert figures["attune_breaker_openings_total{role=responder}"] == 0
    assert figures["attune_role_able{role=speaker}"] == 0
    assert figures["attune_role_able{role=responder}"] == 1
    assert figures["attune_seats"] == 64  # there are no more, whoever asks
    assert figures["attune_queue"] == 3
    assert figures["attune_pressure"] == 3
    assert figures["attune_ready"] == 0


@pytest.mark.slow
async def test_whichever_process_answers_tells_of_all(tmp_path: Path) -> None:
    flags = ("--clock", "samples", "--seats", "7")
    async with many(tmp_path, *flags, ATTUNE_PROFILE="standin") as server:
        for _ in range(6):  # by turns to one and the other
            wrong = {"Authorization": "Bearer of nothing"}
            assert (await server.get("/api/system", headers=wrong)).status_code == 401
        for _ in range(2):
            figures = read((await server.get("/metrics")).text)
            assert figures["attune_wrong_tokens_total"] == 6
            assert figures["attune_seats"] == 7
            assert (figures["attune_ready"], figures["attune_queue"]) == (1, 0)
            assert figures["attune_role_able{role=speaker}"] == 1


async def test_figures_are_told_though_the_disk_and_the_models_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def hang() -> Any:
        await asyncio.Event().wait()

    async with serving() as (url, house):
        assert (await figures_of(url))["attune_ready"] == 1
        monkeypatch.setattr(house.disk, "free", hang)
        assert (await figures_of(url))["attune_ready"] == 1  # people can talk without
        monkeypatch.setattr(house.company, "models_there", hang)
        assert (await figures_of(url))["attune_ready"] == 1  # as it was known last
        monkeypatch.setattr("server.last_known.OLDEST_SEC", 0.0)
        assert (await figures_of(url))["attune_ready"] == 0


async def test_readiness_takes_no_longer_than_the_slowest_that_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = asyncio.Barrier(3)  # who waits for an answer before asking the next never gets one

    async def meet() -> None:
        await together.wait()

    async with serving() as (_, house):
        monkeypatch.setattr(house.company, "models_there", _after(meet, True))
        monkeypatch.setattr(house.judgement, "unable", _after(meet, []))
        monkeypatch.setattr(house.judgement, "recording", _after(meet, "on"))
        async with asyncio.timeout(20):
            assert (await house.readiness()).ready


def _after(first: Callable[[], Awaitable[None]], told: Any) -> Callable[[], Awaitable[Any]]:
    async def answer() -> Any:
        await first()
        return told

    return answer


async def test_beyond_loopback_metrics_want_the_operators_token() -> None:
    async with (
        serving(clock="wall", HOST="0.0.0.0", operator_token=TOKEN) as (url, _),
        httpx2.AsyncClient() as client,
    ):
        page = page_of(url)
        assert (await client.get(page)).status_code == 401
        shown = await client.get(page, headers={"Authorization": f"Bearer {TOKEN}"})
        assert shown.status_code == 200
        assert "attune_turns_total" in shown.text


async def test_behind_a_proxy_on_this_machine_metrics_want_it_too() -> None:
    proxy = ["127.0.0.1"]
    async with (
        serving(forwarded_allow_ips=proxy, operator_token=TOKEN, insecure=True) as (url, _),
        httpx2.AsyncClient() as client,
    ):
        page = page_of(url)
        assert (await client.get(page)).status_code == 401


async def test_metrics_can_be_opened_or_left_out() -> None:
    for watching, status in (({"open_metrics": True}, 200), ({"metrics": False}, 404)):
        async with (
            serving(clock="wall", HOST="0.0.0.0", watching=watching) as (url, _),
            httpx2.AsyncClient() as client,
        ):
            page = page_of(url)
            assert (await client.get(page)).status_code == status


def test_the_dashboard_and_the_alerts_ask_only_for_what_is_told() -> None:
    sources = Sources({}, seats=1, sessions=lambda: 0)
    told = exposed(sources)(Tally()).decode()
    families = {family.name for family in text_string_to_metric_families(told)}
    dashboard = json.loads((ROOT / "deploy/grafana/dashboards/attune.json").read_text())
    shown = [t["expr"] for panel in dashboard["panels"] for t in panel.get("targets", [])]
    (group,) = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"]
    alerts = {rule["alert"]: rule["expr"] for rule in group["rules"]}
    for name in names_in(*shown, *alerts.values()):
        assert name in families, name
    ours = {name for name in families if name.startswith("attune_")}
    assert ours - names_in(*shown) == UNSHOWN
    assert "attune_breaker_openings" in names_in(alerts["BreakerKeepsOpening"])
    assert "attune_stalls" in names_in(alerts["EventLoopStalls"])


def names_in(*expressions: str) -> set[str]:
    """The families that are asked for."""
    found = {name for each in expressions for name in re.findall(r"\battune_\w+", each)}
    return {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in found}


async def test_a_count_by_label_that_an_alert_asks_for_is_told_before_anything_happens() -> None:
    """Prometheus sees no rise in a count that begins at 1: the first failure would wake nobody."""
    (group,) = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"]
    asked = {name for rule in group["rules"] for name in names_in(rule["expr"])}
    async with serving() as (_, house):
        tally = await house.tally_here()
    told = exposed(Sources({}, seats=1, sessions=lambda: 0, restarts=lambda: {"tts": 0}))(tally)
    counts = {
        family.name: family.samples
        for family in text_string_to_metric_families(told.decode())
        if family.type == "counter" and family.name in asked
    }
    assert {"attune_recordings_broken_off", "attune_replies_failed"} <= set(counts)
    for name, samples in counts.items():
        assert samples and not any(sample.value for sample in samples), name


def test_whoever_may_fail_and_whatever_may_end_is_told_as_0() -> None:
    figures = told(Tally())
    names = [f"sessions_ended_total{{why={why}}}" for why in WHYS]
    names += [f"replies_failed_total{{role={role}}}" for role in ROLES]
    names += [f"recordings_broken_off_total{{reason={reason}}}" for reason in REASONS]
    assert [figures.get(f"attune_{name}") for name in names] == [0] * len(names)
    assert {"failed", "responder", "disk_full"} <= {*WHYS, *ROLES, *REASONS}


def test_a_recording_that_ended_as_it_was_to_wakes_nobody() -> None:
    (group,) = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"]
    (asked,) = [rule["expr"] for rule in group["rules"] if rule["alert"] == "RecordingsBreakOff"]
    (left_out,) = re.findall(r'reason!="(\w+)"', asked)
    assert left_out == "child" and left_out in REASONS


def test_no_two_panels_share_a_place_or_a_number() -> None:
    panels = json.loads((ROOT / "deploy/grafana/dashboards/attune.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(places)) == len(places) and max(x for x, _ in places) < 24


def test_buckets_are_fine_around_the_latencies_promised() -> None:
    assert {0.5, 0.9, 1.5} <= set(BOUNDS_SEC)


# Of use in a question of one's own, and none on a wall.
UNSHOWN = {"attune_info", "attune_sessions_opened", "attune_sessions_queued"}
