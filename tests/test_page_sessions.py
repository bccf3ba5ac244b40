"""The Sessions page in a real browser: finding sessions, looking into one, and taking it away."""

import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any
from zipfile import ZipFile

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from server.export_download import ROOM
from server.sessions.format import Notes
from tests.browser import OPERATOR, Watched, chromium, module, open_page, paged
from tests.made_sessions import STARTED, Exchange, made_session

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

SPOKEN = [
    Exchange("My dog is ill.", "Oh no, your poor dog. What happened?", emotion="sad",
             event="sigh", interrupted=True, seconds=1.5, reply_seconds=1.2),
    Exchange("She ate my homework.", "All of it?", emotion="happy", seconds=1.0,
             reply_seconds=0.8),
]  # fmt: skip
MANY = 60
BARE = "/static/sessions/filters.js"  # enough for what needs no page around it
READY = ".sessions .rows[aria-busy=false], .session > .stack:not([aria-busy])"
SLOW_MS = 15_000  # on a machine that has much else to do


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Any, None]:
    """A server with many sessions, and a browser."""
    runs = tmp_path_factory.mktemp("runs")
    for n in range(MANY):
        turns = [replace(SPOKEN[n % 2], interrupted=False, seconds=0.2 + n / 100)]
        started = STARTED - timedelta(days=n)
        responder = "vllm" if n == 7 else "llamacpp"
        consent = "transcript" if n % 3 == 0 else "transcript,audio,research"
        made_session(runs, turns=turns, started=started, responder=responder, consent=consent)
    expect.set_options(timeout=SLOW_MS)
    recording = {"runs": str(runs), "enabled": False}
    async with paged(recording=recording) as (url, house), chromium() as browser:
        yield url, house, runs, browser
    expect.set_options(timeout=5000)


async def opened(place: Any, path: str = "/sessions", **how: Any) -> Watched:
    url, _, _, browser = place
    watched = await open_page(browser, f"{url}{path}#operator={OPERATOR}", **how)
    if path != BARE:
        await watched.page.wait_for_selector(READY)
    return watched


def made(place: Any, **how: Any) -> str:
    _, house, runs, _ = place
    session_id = made_session(runs, **{"turns": SPOKEN, "started": STARTED, **how})
    house.library.sync()
    return session_id


def rows(page: Page) -> Any:
    return page.locator(".session-table tbody tr")


async def test_a_page_of_sessions_is_asked_for_and_the_next_one_when_wanted(place: Any) -> None:
    watched = await opened(place)
    await expect(rows(watched.page)).to_have_count(50)
    await expect(watched.page.locator(".count")).to_have_text(re.compile(r"1–50 of \d+ sessions"))
    await watched.page.get_by_role("button", name="Next").click()
    await expect(watched.page.locator(".count")).to_have_text(re.compile("51–"))
    assert "page=2" in watched.page.url
    watched.check()


async def test_filters_and_order_stand_in_the_address_and_come_back_from_it(place: Any) -> None:
    watched = await opened(place, "/sessions?emotion=sad")
    page = watched.page
    await expect(page.locator(".count")).to_have_text("30 sessions")
    await page.get_by_role("button", name="Length").click()
    await expect(page.locator("th[aria-sort]")).to_have_text(re.compile("Length"))
    await page.get_by_role("button", name="More filters").click()
    await page.get_by_label("Model").fill("vllm")
    await expect(page.get_by_text("No session matches these filters")).to_be_visible()
    assert {"emotion=sad", "order=longest", "model=vllm"} <= set(page.url.split("?")[1].split("&"))
    await page.get_by_label("Emotion").select_option("happy")
    await expect(rows(page)).to_have_count(1)
    await page.reload()
    await expect(rows(page)).to_have_count(1)
    await expect(page.get_by_label("Model")).to_have_value("vllm")
    watched.check()


async def test_a_row_opens_its_session_and_back_leads_to_the_same_list(place: Any) -> None:
    watched = await opened(place, "/sessions?order=oldest")
    page = watched.page
    await rows(page).first.click()
    await expect(page.locator(".said .turn")).to_have_count(2)
    await expect(page).to_have_url(re.compile(r"id=sess_\w+"))
    await page.go_back()
    await expect(rows(page)).to_have_count(50)
    assert "order=oldest" in page.url
    watched.check()


async def test_a_turn_is_heard_when_it_is_clicked_and_the_transcript_follows(place: Any) -> None:
    watched = await opened(place, f"/sessions?id={made(place)}")
    page = watched.page
    async with page.expect_response(re.compile("/clip")) as answer:
        await page.get_by_role("button", name=re.compile("Play: Reply, at 0:02")).click()
    clip = await answer.value
    assert "channel=reply" in clip.url
    spoken = page.locator(".turn[aria-current]")
    await expect(spoken).to_contain_text("Oh no, your poor dog.")
    await expect(spoken).to_have_count(0)  # it ended by itself
    await page.get_by_role("button", name="▶ Play").click()
    await expect(page.locator(".turn.of-user[aria-current]")).to_contain_text("my homework")
    await page.get_by_role("button", name="Pause").click()
    await expect(spoken).to_have_count(0)
    watched.check()


async def test_the_timeline_shows_both_sides_and_a_click_on_a_turn_plays_it(place: Any) -> None:
    watched = await opened(place, f"/sessions?id={made(place)}")
    page = watched.page
    surface = page.locator(".surface")
    box = await surface.bounding_box()
    assert box is not None
    await expect(page.locator(".voice-lanes .block").first).to_be_visible()
    painted = await module(watched, INKED)
    assert painted["during"] > 50 > painted["before"]
    async with page.expect_response(re.compile("/clip.*channel=user")):
        await surface.click(position={"x": box["width"] * 0.15, "y": 60})
    await expect(page.locator(".turn.chosen")).to_contain_text("My dog is ill.")
    async with page.expect_response(re.compile("/spectrogram.*channel=reply")) as answer:
        await page.get_by_text("Spectrogram").click()
    assert (await answer.value).ok
    async with page.expect_response(re.compile(r"/spectrogram.*start=\d+")):
        await surface.press("+")
    watched.check()


INKED = """
  const shown = document.querySelector(".lanes");
  const copy = new OffscreenCanvas(shown.clientWidth, shown.clientHeight);
  const paint = copy.getContext("2d", { willReadFrequently: true });
  paint.drawImage(shown, 0, 0, copy.width, copy.height);
  const strong = (share) => {
    const { data } = paint.getImageData(Math.round(copy.width * share), 27, 1, 95);
    return data.filter((value, n) => n % 4 === 0 && value < 120).length;
  };
  return { before: strong(0.02), during: strong(0.15) };
"""


async def test_notes_and_tags_are_kept_and_an_experts_rating_is_stored(place: Any) -> None:
    _, house, _, _ = place
    session_id = made(place, notes=Notes(notes="first", tags=["pilot"]))
    watched = await opened(place, f"/sessions?id={session_id}")
    page = watched.page
    await page.get_by_label("Notes").fill("listen again")
    await page.get_by_label("Tags").fill("pilot, to discuss, pilot")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    stored = house.library.session(session_id).notes()
    assert (stored.notes, stored.tags) == ("listen again", ["pilot", "to discuss"])
    await page.get_by_text("Rate it as an expert").click()
    async with page.expect_response(re.compile("/ratings")) as answer:
        await page.locator(".rate-conversation label, .rate-conversation input").first.click()
    assert (await answer.value).status == 201
    assert [each.by for each in house.library.session(session_id).ratings()] == ["expert"]
    watched.check()


async def test_deleting_names_what_goes_first_and_leaves_a_tombstone(place: Any) -> None:
    _, house, _, _ = place
    session_id = made(place)
    watched = await opened(place, f"/sessions?id={session_id}")
    page = watched.page
    await page.get_by_role("button", name="Delete this session…").click()
    await expect(page.locator(".goes")).to_contain_text("the sound of both sides")
    assert house.library.session(session_id).file().state == "finished"
    await page.get_by_role("button", name="Delete for good").click()
    await expect(page.get_by_role("heading", name="This session was deleted")).to_be_visible()
    assert house.library.session(session_id).file().state == "deleted"
    watched.check()


async def test_what_the_list_shows_is_exported_and_saved_by_the_browser(place: Any) -> None:
    _, house, runs, _ = place
    watched = await opened(place, "/sessions?model=vllm", accept_downloads=True)
    page = watched.page
    await page.get_by_text("Export this session").click()
    await expect(page.locator(".export pre")).to_contain_text("--format parquet")
    async with page.expect_download(timeout=SLOW_MS) as download:
        await page.get_by_role("button", name="Export", exact=True).click()
    saved = await download.value
    with ZipFile(await saved.path()) as archive:
        inside = {PurePosixPath(name).name: name for name in archive.namelist()}
        (session_id,) = archive.read(inside["sessions.txt"]).decode().split()
    told = page.locator(".export").get_by_role("status").first
    await expect(told).to_contain_text(f"{saved.suggested_filename} is ready")
    await expect(told).to_contain_text("Sessions in it: 1. Left out: 0.")
    assert house.library.row(session_id).responder == "vllm"
    assert house.library.derived.exports(session_id) == [f"download://{saved.suggested_filename}"]
    assert not list((runs / ROOM).iterdir())
    watched.check()


async def test_an_export_can_be_stopped_and_one_with_nothing_in_it_says_so(place: Any) -> None:
    _, _, runs, _ = place
    day = f"{STARTED - timedelta(days=3):%Y-%m-%d}"  # its only session is not for research
    watched = await opened(place, f"/sessions?since={day}&until={day}", expected=["409"])
    page = watched.page
    told = page.locator(".export").get_by_role("status").first
    begin = page.get_by_role("button", name="Export", exact=True)
    await page.get_by_text("Export this session").click()
    await begin.click()
    await page.get_by_role("button", name="Stop").click()
    await expect(told).to_have_text("Stopped. Nothing was exported.")
    await expect(begin).to_be_focused()
    await module(watched, UNTIL_OVER)
    assert not list((runs / ROOM).iterdir())
    await begin.click()
    await expect(told).to_contain_text("There is nothing to export")
    watched.check()


UNTIL_OVER = """
  const { api, operator } = await import("/static/core/api.js");
  while ((await api("/api/exports", { token: operator.token })).state !== "over") {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
"""


@pytest.mark.parametrize(("size", "language", "inside"), [("phone", "en", False),
                         ("phone", "zh", True), ("middle", "en", True)])  # fmt: skip
async def test_nothing_sticks_out_at_the_side_and_no_word_is_missing(
    place: Any, size: str, language: str, inside: bool
) -> None:
    path = f"/sessions?id={made(place)}" if inside else "/sessions?deleted=true"
    watched = await opened(place, f"{path}&lang={language}", size=size, dark=True)
    assert await watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "sessions." not in await watched.page.locator(".page").inner_text()
    watched.check()


async def test_of_a_session_without_sound_the_words_are_shown(place: Any) -> None:
    watched = await opened(place, f"/sessions?id={made(place, consent='transcript')}")
    await expect(watched.page.get_by_text("No sound was kept")).to_be_visible()
    await expect(watched.page.locator(".turn").first).to_contain_text("My dog is ill.")
    await expect(watched.page.get_by_role("button", name=re.compile("Play"))).to_have_count(0)
    watched.check()


# --- pure parts


async def test_what_is_sought_survives_the_way_through_an_address(place: Any) -> None:
    watched = await opened(place, BARE)
    told = await module(
        watched,
        """const f = await import("/static/sessions/filters.js");
        const sought = f.fromAddress("?since=2026-03-01&consent=audio&consent=research&order=best"
          + "&text=it's&page=3&__theme=dark&state=nonsense&latency_min_ms=800");
        return {
          again: f.fromAddress(f.toAddress(sought)), sought,
          kept: f.toAddress(sought, "?__theme=dark&id=sess_1"),
          query: f.toQuery(sought), command: f.exportCommand(sought, "hf"),
          next: [f.reordered("began", "newest"), f.reordered("began", "oldest"),
                 f.reordered("latency", "newest"), f.reordered("latency", "slowest")],
        };""",
    )
    assert told["again"] == told["sought"]
    assert "__theme=dark" in told["kept"]
    assert "id=" not in told["kept"]
    assert "offset=100" in told["query"]
    assert told["command"] == (
        "python -m server.sessions export --format hf --out EXPORT --since 2026-03-01 "
        "--slower 800 --notes 'it'\\''s' --consent audio,research"
    )
    assert told["next"] == ["oldest", "newest", "slowest", "fastest"]


async def test_scores_of_a_session_are_told_with_what_could_not_be_scored(place: Any) -> None:
    watched = await opened(place)
    page = watched.page
    metric = {"name": "vocal_empathy", "title": "Vocal empathy", "unit": ""}
    report = {"name": "march", "made": STARTED.isoformat(), "metrics": [metric]}
    scores = [{"value": 4}, {"value": 3}, {"value": None, "unscored": "no sound"}]
    given = [{"scores": {"vocal_empathy": score}} for score in scores]
    await page.route("**/api/reports", lambda route: route.fulfill(json={"reports": [report]}))
    await page.route("**/exchanges?*", lambda route: route.fulfill(json={"exchanges": given}))
    await module(
        watched,
        """const { scoresOf } = await import("/static/sessions/scores.js");
        const card = scoresOf("sess_1", new AbortController().signal);
        document.querySelector(".page").replaceChildren(card);""",
    )
    await expect(page.locator(".scored tr")).to_have_text(re.compile("Vocal empathy.*3.5.*1 not"))
    watched.check()


async def test_positions_and_pixels_agree_however_one_zooms(place: Any) -> None:
    watched = await opened(place, BARE)
    told = await module(
        watched,
        """const s = await import("/static/sessions/scale.js");
        const total = 24000 * 100, view = { start: 24000 * 10, end: 24000 * 30 };
        const at = s.scale(view, 1000);
        const near = s.zoomed(view, 0.5, at.at(250), total, 24000);
        return {
          same: at.x(at.at(123)), still: s.scale(near, 1000).x(at.at(250)),
          all: s.zoomed(view, 99, view.start, total, 24000),
          closest: s.zoomed({ start: 0, end: total }, 1e-9, 0, total, 24000).end,
          edge: s.moved(view, 1e12, total),
          ticks: s.ticks(view, 900, 24000).map((each) => each.label),
          clocks: [s.clock(42), s.clock(3909), s.clock(59.96, 1), s.clock(5.25, 1)],
        };""",
    )
    assert told["same"] == pytest.approx(123)
    assert told["still"] == pytest.approx(250)
    assert told["all"] == {"start": 0, "end": 2_400_000}
    assert told["closest"] == 6000
    assert told["edge"] == {"start": 24000 * 80, "end": 24000 * 100}
    assert told["ticks"] == ["0:10", "0:12", "0:14", "0:16", "0:18", "0:20", "0:22", "0:24",
                             "0:26", "0:28", "0:30"]  # fmt: skip
    assert told["clocks"] == ["0:42", "1:05:09", "1:00.0", "0:05.3"]
