"""How the benchmark climbs, fits, compares and draws: nothing here measures anything."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest
import typer

from server.bench import plots
from server.bench.capacity import LIMIT_MS, climb
from server.bench.fit import growth
from server.bench.latency import Answered
from server.bench.peer.compare import Side, compared
from server.loadtest.report import report
from server.loadtest.seen import Seen
from server.loadtest.turn import TurnSeen

SVG = "{http://www.w3.org/2000/svg}"


# -- the fit ---------------------------------------------------------------------------------


def test_a_cost_in_line_with_the_talkers_is_linear() -> None:
    found = growth([1, 2, 4, 8], [15.0, 25.0, 45.0, 85.0])
    assert (found["per_talker"], found["base"], found["r2"]) == (10.0, 5.0, 1.0)
    assert found["steeper_at_the_end"] == 1.0 and found["linear"] is True


def test_a_cost_that_climbs_faster_and_faster_is_not() -> None:
    found = growth([1, 2, 4, 8], [10.0 * n * n for n in (1, 2, 4, 8)])
    assert found["linear"] is False and found["steeper_at_the_end"] > 1.5


def test_a_cost_that_flattens_is_no_worse_than_linear() -> None:
    assert growth([1, 2, 4, 8], [20.0, 35.0, 55.0, 80.0])["linear"] is True


def test_two_points_show_no_curve() -> None:
    found = growth([1, 2], [1.0, 9.0])
    assert found["linear"] is None and found["why"]


# -- the climb -------------------------------------------------------------------------------


def loaded(talkers: int, latency_ms: float, errors: int = 0) -> dict[str, Any]:
    turns = [TurnSeen("plain", "x", latency_ms, {"gate": 9.0}, answered=True, commits=1)] * 3
    seen = [Seen(n, False, turns=list(turns)) for n in range(talkers)]
    seen[0].errors = ["rate_limit"] * errors
    server = {"cpu_percent": 5 + 10.0 * talkers, "cpu_sec": 6.0, "memory_mb": {"most": 900.0}}
    client = {"cpu_sec": 1.0, "lag_p99_ms": 2.0}
    return report(seen, False, {"talkers": talkers, "server": server, "client": client})


async def climbed(latencies: dict[int, float], **of: Any) -> tuple[dict[str, Any], list[Any]]:
    asked: list[Any] = []

    async def load(talkers: int, minutes: float) -> dict[str, Any]:
        asked.append((talkers, minutes))
        return loaded(talkers, latencies[talkers], of.get("errors", {}).get(talkers, 0))

    found = await climb(load, of.get("seconds", 0.0), tuple(latencies))
    return found, asked


async def test_more_talkers_come_until_they_wait_too_long() -> None:
    found, asked = await climbed({1: 400, 2: 500, 3: 900, 4: LIMIT_MS + 1, 6: 400})
    assert [talkers for talkers, _ in asked] == [1, 2, 3, 4]
    assert found["talkers_within_limit"] == 3
    assert [load["kept_up"] for load in found["loads"]] == [True, True, True, False]
    assert found["cpu_percent_growth"]["n"] == 3  # an overloaded server puts its work off
    assert found["cpu_percent_growth"]["per_talker"] == 10.0
    assert found["loads"][1]["cpu_sec_per_turn"] == 1.0


async def test_an_error_ends_the_climb_however_quick_the_answers_are() -> None:
    found, asked = await climbed({1: 100, 2: 100, 3: 100}, errors={2: 1})
    assert [talkers for talkers, _ in asked] == [1, 2] and found["talkers_within_limit"] == 1


async def test_few_talkers_talk_longer_unless_one_says_for_how_long() -> None:
    _, asked = await climbed({1: 100, 2: 100, 8: 100})
    assert asked == [(1, 3.0), (2, 1.5), (8, 1.0)]
    _, asked = await climbed({1: 100, 2: 100}, seconds=30.0)
    assert asked == [(1, 0.5), (2, 0.5)]


# -- beside Pipecat --------------------------------------------------------------------------


def ours(latency_ms: float | None) -> Answered:
    return Answered("x", "recorded", 0, latency_ms, None, None, None, {}, False, 1, 1, 0, "", "")


def theirs(latency_ms: float | None, turns: int = 1) -> dict[str, Any]:
    return {
        "eos_to_first_audio_ms": latency_ms,
        "eos_to_first_frame_ms": latency_ms,
        "early": False,
        "turns": turns,
        "stages_ms": {"words": 200.0},
        "cpu_sec": 2.0,
    }


def test_ratios_are_ours_over_theirs() -> None:
    told = {"turns": [theirs(1000.0), theirs(1200.0, turns=2)], "versions": {"pipecat-ai": "1"}}
    asking = Side([ours(800.0), ours(900.0)], 6.0)
    found = compared(Side([ours(500.0), ours(600.0)], 3.0), asking, told)
    assert found["ratio"] == {"latency_p50": 0.5, "latency_p95": 0.5, "cpu": 0.75}
    assert found["ratio_asking"] == {"latency_p50": 0.773, "latency_p95": 0.752, "cpu": 1.5}
    assert found["attune_asking"]["cpu_sec_per_turn"] == 3.0
    assert found["pipecat"]["taken_for_several"] == 1
    assert found["turns"][1] == {
        "name": "x",
        "kind": "recorded",
        "attune_ms": 600.0,
        "pipecat_ms": 1200.0,
    }


def test_what_was_never_answered_is_counted_and_makes_no_ratio() -> None:
    told = {"turns": [theirs(None)], "versions": {}}
    found = compared(Side([ours(None)], 1.0), Side([ours(None)], 1.0), told)
    assert found["ratio"]["latency_p50"] is found["ratio_asking"]["latency_p50"] is None
    assert found["attune"]["unanswered"] == found["pipecat"]["unanswered"] == 1


# -- pictures --------------------------------------------------------------------------------


async def whole() -> dict[str, Any]:
    capacity, _ = await climbed({1: 400, 2: 500, 3: 900, 4: 1600})
    told = {"turns": [theirs(1000.0)], "versions": {}}
    percentiles = {"p50": 100.0, "p95": 220.0, "n": 9}
    latency = {
        "n": 9,
        "all": {"eos_to_first_audio_ms": percentiles, "stages_ms": {"first_token": percentiles}},
    }
    return {
        "machine": {"cores": 2, "cpu": "A & B <CPU>", "date": "2026-01-02T03:04", "commit": "ab"},
        "latency": latency,
        "capacity": capacity,
        "pipecat": compared(Side([ours(500.0)], 1.0), Side([ours(700.0)], 2.0), told),
    }


def texts(drawing: str) -> list[str]:
    found = ElementTree.fromstring(drawing).iter(f"{SVG}text")
    return ["".join(text.itertext()) for text in found]


async def test_every_section_is_drawn_and_says_where_it_was_measured() -> None:
    drawn = dict(plots.pictures(await whole()))
    assert set(drawn) == {"latency-stages", "capacity", "cost", "pipecat"}
    for drawing in drawn.values():
        assert any("2 cores, A & B <CPU>, 2026-01-02" in text for text in texts(drawing))
    assert "3 talkers keep p95 within 1,500 ms" in texts(drawn["capacity"])
    assert any("10 % of a core each" in text for text in texts(drawn["cost"]))
    assert {"first token", "100, p95 220"} <= set(texts(drawn["latency-stages"]))
    assert any("latency p50 0.5" in text for text in texts(drawn["pipecat"]))


async def test_a_point_lies_where_its_figure_says() -> None:
    drawing = dict(plots.pictures(await whole()))["capacity"]
    dots = [
        (float(each.get("cx", "nan")), float(each.get("cy", "nan")), each.findtext(f"{SVG}title"))
        for each in ElementTree.fromstring(drawing).iter(f"{SVG}circle")
    ]
    p95 = [(x, y) for x, y, about in dots if about and about.startswith("p95")]
    steps = [second[0] - first[0] for first, second in zip(p95, p95[1:], strict=False)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.05)  # one talker more each
    rises = [first[1] - second[1] for first, second in zip(p95, p95[1:], strict=False)]
    assert rises[1] / rises[0] == pytest.approx(400 / 100, rel=0.05)


async def test_what_failed_was_skipped_or_never_measured_is_not_drawn() -> None:
    given = await whole()
    given["pipecat"], given["capacity"] = {"skipped": "no"}, {"failed": "no server"}
    del given["latency"]
    assert dict(plots.pictures(given)) == {}


async def test_the_command_writes_pictures_and_refuses_what_is_no_report(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    file.write_bytes(orjson.dumps(await whole()))
    plots.main(file, tmp_path / "drawn")
    names = {each.name for each in (tmp_path / "drawn").iterdir()}
    assert names == {"latency-stages.svg", "capacity.svg", "cost.svg", "pipecat.svg"}
    file.write_text("[]")
    with pytest.raises(typer.Exit):
        plots.main(file, tmp_path / "drawn")


def test_pipecat_is_pinned_whole_and_brings_no_torch() -> None:
    listed = (Path(__file__).parent.parent / "requirements" / "bench.txt").read_text("utf-8")
    pins = [line for line in listed.splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.]+", pin) for pin in pins)
    assert not any(pin.lower().startswith(("torch", "nvidia")) for pin in pins)
    assert "pipecat-ai==1.14.0" in pins
