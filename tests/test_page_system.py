"""The operator's System and Scores pages in a real browser."""

import json
import shutil
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from server.house import House
from tests.browser import OPERATOR, chromium, module, open_page, paged
from tests.made_reports import MADE, made_report
from tests.talker import talking

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncGenerator[Browser, None]:
    async with chromium() as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncGenerator[tuple[str, House, Path], None]:
    runs = tmp_path_factory.mktemp("runs")
    async with paged(seats=2, recording={"runs": str(runs)}) as (url, house):
        yield url, house, runs


def at(url: str, path: str) -> str:
    return f"{url}{path}#operator={OPERATOR}"


async def fits(page: Any) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


# ---- the System page


async def test_the_system_page_follows_a_conversation_and_says_when_every_seat_is_taken(
    browser: Browser, served: tuple[str, House, Path]
) -> None:
    url, _, _ = served
    watched = await open_page(browser, at(url, "/system"))
    page = watched.page
    await expect(page.locator(".tile-seats .tile-figure")).to_contain_text("0of 2 taken")
    nobody = page.get_by_text("Nobody has been answered in the last 15 minutes")
    await expect(nobody).to_be_visible()
    await expect(page.locator(".model")).to_have_count(7)
    full = page.locator(".verdict li", has_text="All 2 seats are taken")
    socket = url.replace("http", "ws") + "/v1/realtime"
    async with talking(socket) as one, talking(socket):
        await one.ask()
        await expect(full).to_be_visible()
        await expect(page.locator(".tile-seats .tile-figure")).to_contain_text("2of 2 taken")
        await expect(page.locator("tr.heard th")).to_have_text("First sound sent")
    await expect(page.locator(".tile-seats .tile-figure")).to_contain_text("0of 2 taken")
    await expect(full).to_have_count(0)
    await page.get_by_role("button", name="Since the start").press("Enter")
    await expect(page.locator("tr.heard td.n")).to_have_text("1")
    assert await fits(page)
    watched.check()


async def test_without_the_key_the_system_asks_for_it_and_a_wrong_one_opens_nothing(
    browser: Browser, served: tuple[str, House, Path]
) -> None:
    url, _, _ = served
    watched = await open_page(browser, f"{url}/system", "phone", expected=["401"])
    page = watched.page
    await page.get_by_label("Operator key").fill("not the operator's key")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_be_visible()
    assert await page.locator(".tiles").count() == 0
    await page.get_by_label("Operator key").fill(OPERATOR)
    await page.keyboard.press("Enter")
    await expect(page.locator(".tile")).to_have_count(6)
    assert await fits(page)
    watched.check()


async def test_when_the_server_is_gone_the_page_says_that_its_figures_are_old(
    browser: Browser, served: tuple[str, House, Path]
) -> None:
    url, _, _ = served
    watched = await open_page(browser, at(url, "/system"), expected=["ERR_FAILED"])
    page = watched.page
    await expect(page.locator(".tile")).to_have_count(6)
    await page.route("**/api/system*", lambda route: route.abort())
    await expect(page.locator(".lost")).to_contain_text("What is shown is old.")
    await page.unroute("**/api/system*")
    await expect(page.locator(".lost")).to_be_hidden()
    watched.check()


async def test_nothing_is_asked_while_nobody_looks(
    browser: Browser, served: tuple[str, House, Path]
) -> None:
    url, _, _ = served
    watched = await open_page(browser, f"{url}/health")
    counts = await module(watched, """
        const { whileSeen } = await import('/static/system/poll.js');
        let hidden = false, asked = [], done;
        Object.defineProperty(document, 'hidden', { get: () => hidden });
        const ended = new Promise((resolve) => { done = resolve; });
        const element = document.createElement('div');
        document.body.append(element);
        whileSeen(element, async (awake) => {
          asked.push(awake);
          if (asked.length === 2) {
            hidden = true;
            document.dispatchEvent(new Event('visibilitychange'));
            setTimeout(() => {
              asked.push('nobody looked');
              hidden = false;
              document.dispatchEvent(new Event('visibilitychange'));
            }, 120);
          }
          if (asked.length === 5) { done(); return false; }
        }, 20);
        await ended;
        return asked;
    """)  # fmt: skip
    assert counts == [True, False, "nobody looked", True, False]
    watched.check()


async def test_what_the_figures_say_is_said_for_every_trouble(
    browser: Browser, served: tuple[str, House, Path]
) -> None:
    url, _, _ = served
    watched = await open_page(browser, f"{url}/health")
    told = await module(watched, """
        const { Series, axis, points, verdict } = await import('/static/system/readings.js');
        const well = {
          models: [{ role: 'responder', state: 'ok', failures: 0 }], seats: { free: 1, total: 2 },
          machine: { lag_p99_ms: 3 }, conversations: { failed: 0 },
          recordings: { enabled: true, stopped: {}, disk_free_gb: 40 },
        };
        const said = (change) => {
          const { level, findings } = verdict({ ...well, ...change });
          return [level, ...findings.map((each) => each.key)];
        };
        const series = new Series(['cpu']);
        series.remember({ step_sec: 2, cpu: Array(150).fill(1) });
        series.push({ cpu: 9 });
        const stage = (p50, p95, p99) => ({ now: { n: 5, p50, p95, p99 } });
        const scale = axis([stage(-130, 20, 40), stage(400, 700, 880)], 'now');
        return {
          well: said({}),
          gone: said({ models: [{ role: 'speaker', state: 'unreachable', failures: 2 }] }),
          refused: said({ models: [{ role: 'speaker', state: 'refusing', failures: 0 }] }),
          ill: said({ models: [{ role: 'speaker', state: 'ok', failures: 2 }] }),
          room: said({ seats: { free: 0, total: 2 }, machine: { lag_p99_ms: 300 },
            conversations: { failed: 1 },
            recordings: { enabled: true, stopped: { disk_full: 1 }, disk_free_gb: 0.5 } }),
          kept: [series.lines.cpu.length, series.lines.cpu.at(-1)],
          line: points([0, 5, 10], { slots: 3, least: 1 }),
          axis: [scale.from, scale.to, scale.marks.includes(0)],
          ends: [scale.at(scale.from), scale.at(scale.to)],
        };
    """)  # fmt: skip
    assert told["well"] == ["good"]
    assert told["gone"] == ["bad", "unreachable"]
    assert told["refused"] == ["warn", "refusing"]
    assert told["ill"] == ["warn", "failures"]
    assert told["room"] == ["warn", "full", "late", "failed", "stopped", "disk"]
    assert told["kept"] == [150, 9]
    assert told["line"] == [[0, 100], [50, 50], [100, 0]]
    assert (told["axis"], told["ends"]) == ([-250, 1000, True], [0, 100])
    watched.check()


# ---- the Scores page


async def test_with_nothing_scored_the_page_says_so_and_offers_to_score(
    browser: Browser, served: tuple[str, House, Path]
) -> None:
    url, _, runs = served
    shutil.rmtree(runs / "reports", ignore_errors=True)
    watched = await open_page(browser, at(url, "/scores"), "phone")
    page = watched.page
    await expect(page.get_by_role("heading", name="Nothing scored yet")).to_be_visible()
    await expect(page.get_by_role("button", name="Score all recordings")).to_be_enabled()
    assert await fits(page)
    watched.check()


async def test_reports_are_listed_opened_and_lead_to_their_exchanges_and_sessions(
    browser: Browser, served: tuple[str, House, Path]
) -> None:
    url, _, runs = served
    made_report(runs / "reports", "january", made=MADE - timedelta(days=60), better=-0.3)
    written = made_report(runs / "reports", "march", better=0.2)
    made_report(runs / "reports", "broken", schema_version=7)
    watched = await open_page(browser, at(url, "/scores"), dark=True)
    page = watched.page
    await expect(page.locator(".report h2")).to_have_text(["march", "january", "broken"])
    await expect(page.locator(".report").first.locator(".turn").first).to_have_text("▲ better")
    await expect(page.locator(".chart circle")).to_have_count(2)
    await page.get_by_role("link", name="march").press("Enter")
    await expect(page.locator("h1")).to_have_text("march")
    assert "report=march" in page.url
    await expect(page.locator(".metric")).to_have_count(7)
    empathy = page.locator(".metric", has=page.get_by_role("heading", name="Vocal empathy"))
    metric = next(each for each in written["metrics"] if each["name"] == "vocal_empathy")
    await expect(empathy).to_contain_text(f"over {metric['n']} exchanges")
    await empathy.get_by_text(f"{metric['unscored']} not scored").click()
    await expect(empathy).to_contain_text("no consent to sound")
    await expect(page.locator(".legend li")).to_have_count(3)
    await empathy.get_by_role("button", name="Exchanges scored for").click()
    await expect(page.locator("#ex-metric")).to_have_value("vocal_empathy")
    lowest = min(each["scores"]["vocal_empathy"]["value"] or 9 for each in written["exchanges"])
    await expect(page.locator(".exchange strong").first).to_have_text(f"{lowest:.2f}")
    link = await page.locator(".exchange a").first.get_attribute("href")
    assert link is not None and link.startswith("/sessions?id=sess_")
    await page.go_back()
    await expect(page.locator(".report")).to_have_count(3)
    watched.check()


async def test_what_has_no_value_is_shown_last_and_never_for_the_whole_report(
    browser: Browser, served: tuple[str, House, Path]
) -> None:
    url, _, runs = served
    shutil.rmtree(runs / "reports", ignore_errors=True)
    for name, valued in (("some", ("dnsmos", "latency")), ("more", ("latency",)), ("none", ())):
        written = made_report(runs / "reports", name)
        for metric in written["metrics"]:
            if metric["name"] not in valued:
                metric |= {"mean": None, "low": None, "high": None, "n": 0}
        (runs / "reports" / name / "scores.json").write_text(json.dumps(written))
    watched = await open_page(browser, at(url, "/scores"))
    page = watched.page
    card = page.locator(".report", has=page.get_by_role("heading", name="some"))
    await expect(card.locator("dt")).to_have_text(["Quality of sound", "Time to the first sound"])
    bare = page.locator(".report", has=page.get_by_role("heading", name="none"))
    await expect(bare).to_contain_text("Nothing could be scored")
    await expect(page.locator("#trend-metric")).to_have_value("dnsmos")
    await page.get_by_role("link", name="some").press("Enter")
    await expect(page.locator(".metric h3").first).to_have_text("Quality of sound")
    await expect(page.locator("#days-metric")).to_have_value("dnsmos")
    await expect(page.locator(".interval .most").first).to_have_text("5")
    await expect(page.locator(".metric .interval")).to_have_count(2)
    watched.check()


async def test_the_html_report_opens_styled_in_its_own_tab_and_runs_no_script(
    browser: Browser, served: tuple[str, House, Path]
) -> None:
    url, _, runs = served
    made_report(runs / "reports", "april")
    watched = await open_page(browser, at(url, "/scores?report=april"))
    async with watched.page.expect_popup() as opened:
        await watched.page.get_by_role("link", name="Open the full report").click()
    report = await opened.value
    await expect(report.locator("h1")).to_have_css("color", "rgb(1, 2, 3)")
    assert await report.title() == "Made up"
    async with watched.page.expect_download() as fetched:
        await watched.page.get_by_role("button", name="scores.json").click()
    path = await (await fetched.value).path()
    assert path.read_bytes() == (runs / "reports" / "april" / "scores.json").read_bytes()
    watched.check()


async def test_a_scoring_is_started_watched_and_stopped_from_the_page(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "scorer.py"
    script.write_text(
        "import json, time\n"
        "print(json.dumps({'done': 3, 'total': 4, 'doing': 'judging'}), flush=True)\n"
        "time.sleep(60)\n"
    )
    command = ("python3", str(script))
    monkeypatch.setattr("server.reports_api.COMMAND", command)
    async with paged(recording={"runs": str(tmp_path / "runs")}) as (url, _):
        watched = await open_page(browser, at(url, "/scores"))
        page = watched.page
        await page.get_by_role("button", name="Score all recordings").click()
        # It stands back behind everything else that runs here.
        await expect(page.locator(".run-now")).to_contain_text("3 of 4 · judging", timeout=20_000)
        assert await page.locator("progress").get_attribute("value") == "3"
        await page.reload()  # it goes on without the page
        await expect(page.locator(".run-now")).to_contain_text("3 of 4 · judging")
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_text("Stopped; nothing was kept.")).to_be_visible(timeout=20_000)
        watched.check()


async def test_a_change_is_only_called_one_where_intervals_do_not_meet(
    browser: Browser, served: tuple[str, House, Path]
) -> None:
    url, _, _ = served
    watched = await open_page(browser, f"{url}/health")
    told = await module(watched, """
        const { allMetrics, byModel, change, families, headlines, scaleOf, ticks } =
          await import('/static/scores/figures.js');
        const none = { mean: null, low: null, high: null, smallest: 0, largest: null };
        const metric = (name, family, mean = 1) => ({ ...none, name, family, mean });
        const metrics = [metric('a', 'one', null), metric('b', 'one', null), metric('c', 'two'),
          metric('d', 'two', null), metric('e', 'two'), metric('f', 'three')];
        const names = (some) => some.map((each) => each.name).join('');
        const of = (low, high, higher_is_better = true) => ({ low, high, higher_is_better });
        const point = (model) => ({ day: '2026-03-01', model, mean: 3, n: 1 });
        const lines = (...models) => byModel(models.map(point), 'all').map((each) => each.name);
        return {
          changes: [
            change(of(4, 5), of(2, 3)), change(of(2, 3), of(4, 5)), change(of(2, 4), of(3, 5)),
            change(of(4, 5, false), of(2, 3)), change(of(4, 5, null), of(2, 3)),
            change(of(4, 5), undefined), change(of(null, null), of(2, 3)),
          ],
          one: lines(null, 'a'),
          two: lines(null, 'a', 'b'),
          scale: [scaleOf({ smallest: 1, largest: 5, mean: 3, low: null, high: null }).at(3),
            scaleOf({ smallest: null, largest: null, mean: null, low: null, high: null }).most],
          ends: [scaleOf({ ...none, unit: '%', mean: 0 }).most,
            scaleOf({ ...none, unit: '%', mean: 103 }).most,
            scaleOf({ ...none, unit: 's', mean: 0.3 }).most],
          shown: [names(headlines(metrics, 2)), names(headlines(metrics, 4)),
            names(families(metrics).flatMap(([, some]) => some)),
            names(allMetrics([{ metrics: [metrics[0], metrics[2]] },
              { metrics: [metric('z', 'one', null), metric('a', 'one')] }]))],
          ticks: ticks(0, 1, 5),
        };
    """)  # fmt: skip
    assert told["changes"] == [1, -1, 0, -1, 0, 0, 0]
    assert (told["one"], told["two"]) == (["all"], ["all", "a", "b"])
    assert told["scale"] == [50, 1]
    assert told["ends"] == [100, 120, 0.35]  # 103 % and 0.3 s with room, rounded up
    # What has values comes first, of many families before many of one; the last is by family.
    assert told["shown"] == ["cf", "cef", "cedfab", "acz"]
    assert told["ticks"] == [0, 0.2, 0.4, 0.6, 0.8, 1]
    watched.check()
