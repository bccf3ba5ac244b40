"""The report in a real Chromium, as the server gives it out: in a cage, without scripts."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from playwright.async_api import Browser

from server.scoring.compare import _write
from server.scoring.report import page
from server.scoring.report.comparison import compare
from server.scoring.report.sides import side
from tests.browser import OPERATOR, SIZES, Watched, chromium, open_page, paged
from tests.scoring_example import results, saved, talk
from tests.scoring_example_rows import rows

pytestmark = pytest.mark.browser
WIDER = """() => [...document.querySelectorAll('body *')].filter((each) =>
  !each.closest('.scroll, pre') && !each.closest('details:not([open]) > :not(summary)')
  && each.getBoundingClientRect().right > document.documentElement.clientWidth + 1
).map((each) => each.outerHTML.slice(0, 120))"""

UNFOLD = "() => document.querySelectorAll('details').forEach((each) => { each.open = true; })"


@pytest.fixture
async def browser() -> AsyncGenerator[Browser, None]:
    async with chromium() as found:
        yield found


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A folder with a whole report."""
    folder = tmp_path / "runs" / "reports" / "april"
    page.write(saved(folder, results(rows())), folder, talk)
    return folder


def local(path: Path) -> str:
    return path.resolve().as_uri()


@pytest.mark.parametrize("size", SIZES)
async def test_nothing_is_wider_than_the_window(browser: Browser, report: Path, size: str) -> None:
    watched = await open_page(browser, local(report / page.PAGE), size)
    assert await watched.page.evaluate(WIDER) == []
    await watched.page.evaluate(UNFOLD)
    assert await watched.page.evaluate(WIDER) == []
    watched.check()


async def test_on_a_telephone_a_mean_stands_with_its_interval_and_its_n(
    browser: Browser, report: Path
) -> None:
    watched = await open_page(browser, local(report / page.PAGE), "phone")
    beyond = await watched.page.evaluate(
        """() => [...document.querySelectorAll('#headline .even td')].filter((each) =>
          each.getBoundingClientRect().right > document.documentElement.clientWidth).length"""
    )
    assert beyond == 0
    tall = await watched.page.evaluate(
        """() => [...document.querySelectorAll('section:not(#made, #unscored) tbody tr')]
          .filter((each) => !each.closest('details') && each.offsetHeight > 110)
          .map((each) => each.textContent.slice(0, 60))"""
    )
    assert tall == []


async def test_everything_unfolds_and_sounds_without_a_script_or_a_request(
    browser: Browser, report: Path
) -> None:
    runs = report.parents[1]
    async with paged(recording={"runs": str(runs)}) as (url, _):
        watched = await _opened(browser, url)
        shown = watched.page
        assert (await shown.title()).startswith("How it listens and answers · april: EchoMind")
        assert await shown.locator("section").count() == 18
        player = shown.locator("audio").first
        await player.evaluate("each => { each.muted = true; return each.play(); }")
        seconds = await player.evaluate("each => each.duration")
        assert seconds == pytest.approx(4.9, abs=0.2)
        watched.check()


async def test_words_can_be_read_on_every_ground(browser: Browser, report: Path) -> None:
    """The contrast of all text with what lies behind it, as WCAG counts it."""
    for dark in (False, True):
        watched = await open_page(browser, local(report / page.PAGE), dark=dark)
        await watched.page.evaluate(UNFOLD)
        low = await watched.page.evaluate(CONTRAST)
        assert low == [], dark


async def test_a_comparison_is_a_page_as_well(browser: Browser, tmp_path: Path) -> None:
    for name, shift in (("before", 0.0), ("after", 0.6)):
        saved(tmp_path / name, results(rows(8), shift=shift))
    found = compare(side(tmp_path / "before"), side(tmp_path / "after"), draws=500)
    _write(tmp_path / "out", found)
    for size in SIZES:
        watched = await open_page(browser, local(tmp_path / "out" / "comparison.html"), size)
        assert await watched.page.evaluate(WIDER) == []
        watched.check()


async def _opened(browser: Browser, url: str) -> Watched:
    """The address that the server gives out for a browser's tab."""
    head = {"Authorization": f"Bearer {OPERATOR}"}
    context = await browser.new_context(extra_http_headers=head)
    answer = await context.request.get(f"{url}/api/reports/april")
    address = (await answer.json())["page"]
    await context.close()
    return await open_page(browser, f"{url}{address}")


# Only what lies on one plain ground: text in drawings stands on cells, bands or paper.
CONTRAST = """() => {
  const parsed = (colour) => {
    const parts = colour.match(/[\\d.]+/g)?.map(Number) ?? [0, 0, 0];
    if (colour.startsWith("color(srgb")) return parts.slice(0, 3).map((part) => part * 255);
    return parts;
  };
  const light = (colour) => {
    const [r, g, b] = parsed(colour).slice(0, 3).map((part) => {
      const value = part / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/rgba\\(.*, 0\\)|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const low = [];
  const written = "p, td, th, dt, dd, li, summary, h1, h2, h3, small, bdi, figcaption, .who";
  for (const each of document.querySelectorAll(written)) {
    if (!each.textContent.trim() || each.closest("svg")) continue;
    const found = ratio(getComputedStyle(each).color, ground(each));
    if (found < 4.5) low.push([found.toFixed(2), each.outerHTML.slice(0, 80)]);
  }
  let previous = null;
  const cells = "rect.cell:not(.none) ~ text, rect.cell:not(.none)";
  for (const each of document.querySelectorAll(cells)) {
    if (each.tagName === "rect") { previous = each; continue; }
    if (!/on-(light|mid|dark)/.test(each.getAttribute("class") ?? "")) continue;
    const found = ratio(getComputedStyle(each).fill, getComputedStyle(previous).fill);
    if (found < 3.8) low.push([found.toFixed(2), each.textContent, previous.getAttribute("style")]);
  }
  return low.slice(0, 20);
}"""
