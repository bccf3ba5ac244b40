"""What Prometheus is told, who may read it, and that the dashboard asks for what there is."""

import json
import math
import re
from pathlib import Path

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from server.metrics import BOUNDS_SEC, Sources, exposed
from server.percentiles import Digest
from server.tally import Tally
from server.vitals import Vitals
from tests.serving import serving
from tests.talker import play_until, talking

ROOT = Path(__file__).parent.parent
TOKEN = "the operator's own token"

Told = dict[str, float]  # by name with its labels


def read(text: str) -> Told:
    """Every sample, under its name with its labels."""
    found: Told = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def told(vitals: Vitals) -> Told:
    return read(exposed(Sources({"version": "1"}, {}))(Tally.of(vitals)).decode())


def test_counts_and_histograms_are_those_of_the_vitals() -> None:
    vitals = Vitals()
    vitals.turns = 3
    vitals.failed("speaker")
    vitals.replied({"speech_end": 0.0, "words": 120.0, "first_sent": 450.0}, 2.0)
    vitals.replied({"speech_end": 0.0, "words": -20.0, "first_sent": 700.0}, 2.0)
    figures = told(vitals)
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
    async with serving() as (url, _), httpx2.AsyncClient() as client:
        page = url.replace("ws://", "http://").replace("/v1/realtime", "/metrics")
        async with talking(url) as talker:
            await talker.ask()
            await play_until(talker, "response.done")
            during = read((await client.get(page)).text)
        assert during["attune_sessions"] == 1
        assert during["attune_turns_total"] == 1
        assert during["attune_replies_total"] == 1
        assert during["attune_stage_seconds_count{stage=first_sent}"] == 1
        assert during["attune_percept_seconds_count"] >= 0
        assert during["attune_ready"] == 1
        assert during["process_resident_memory_bytes"] > 0


async def test_beyond_loopback_metrics_want_the_operators_token() -> None:
    async with (
        serving(clock="wall", HOST="0.0.0.0", operator_token=TOKEN) as (url, _),
        httpx2.AsyncClient() as client,
    ):
        page = url.replace("ws://", "http://").replace("/v1/realtime", "/metrics")
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
        page = url.replace("ws://", "http://").replace("/v1/realtime", "/metrics")
        assert (await client.get(page)).status_code == 401


async def test_metrics_can_be_opened_or_left_out() -> None:
    for watching, status in (({"open_metrics": True}, 200), ({"metrics": False}, 404)):
        async with (
            serving(clock="wall", HOST="0.0.0.0", watching=watching) as (url, _),
            httpx2.AsyncClient() as client,
        ):
            page = url.replace("ws://", "http://").replace("/v1/realtime", "/metrics")
            assert (await client.get(page)).status_code == status


def test_the_dashboard_and_the_alerts_ask_only_for_what_is_told() -> None:
    vitals = Vitals()
    vitals.replied({"speech_end": 0.0, "first_sent": 1.0}, 1.0)
    sources = Sources({}, {name: ("", lambda: 0.0) for name in GAUGES})
    told = exposed(sources)(Tally.of(vitals)).decode()
    families = {family.name for family in text_string_to_metric_families(told)}
    dashboard = json.loads((ROOT / "deploy/grafana/dashboards/attune.json").read_text())
    asked = [t["expr"] for panel in dashboard["panels"] for t in panel.get("targets", [])]
    asked.append((ROOT / "deploy/prometheus/alerts.yml").read_text())
    names = {name for text in asked for name in re.findall(r"\battune_\w+", text)}
    assert len(names) >= 12, "the dashboard shows most of what there is"
    for name in names:
        assert re.sub(r"_(total|bucket|sum|count)$", "", name) in families, name


def test_buckets_are_fine_around_the_latencies_promised() -> None:
    assert {0.5, 0.9, 1.5} <= set(BOUNDS_SEC)


GAUGES = ("seats", "sessions", "queue", "pressure", "ready")
