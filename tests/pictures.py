"""python -m tests.pictures: the pages as docs/images shows them, from real conversations."""

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, expect

from models import registry
from models.warm import warm
from server.config import PROFILES
from tests.browser import OPERATOR, chromium, open_page, paged

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PATIENCE = 60_000  # ms


async def main() -> None:
    models = registry.load(registry.read(PROFILES / "embedded.toml"))
    await warm(models)
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as runs:
        settings: dict[str, Any] = {"profile": "embedded", "recording": {"runs": runs}}
        async with paged(models, **settings) as (url, _), chromium() as browser:
            await first_view(browser, url)
            await conversation(browser, url, "talk", "wide", ("Good news", "A loss"))
            await conversation(browser, url, "talk-dark", "wide", ("After a short", "exam"), True)
            await conversation(browser, url, "talk-phone", "phone", ("A loss",))
            await comparison(browser, url)
            await operators_pages(browser, url)
    models.close()


async def first_view(browser: Browser, url: str) -> None:
    page = (await open_page(browser, url)).page
    await page.get_by_role("button", name="Start talking").wait_for()
    await shoot(page, "first")
    await page.get_by_role("button", name="Start talking").click()
    await page.get_by_role("dialog").wait_for()
    await shoot(page, "consent")
    await page.context.close()


async def conversation(
    browser: Browser, url: str, name: str, size: str, clips: tuple[str, ...], dark: bool = False
) -> None:
    page = (await open_page(browser, f"{url}/?demo=1", size, dark=dark)).page
    dialog = page.get_by_role("dialog")
    for scope in ("My words", "The sound", "Use for research"):
        await dialog.get_by_label(scope).check()
    await dialog.locator("#consent-adult").check()
    await dialog.get_by_role("button", name="Talk and keep").click()
    await page.get_by_role("button", name="Stop", exact=True).click()
    for clip in clips:
        await page.get_by_role("button", name=re.compile(f"Play .*{clip}")).click()
        await expect(page.locator(".dock-phase")).to_have_text("Speaking", timeout=PATIENCE)
        if clip is clips[-1]:
            await page.wait_for_timeout(1500)  # some words of the answer
            break
        ready = re.compile("Ready|Listening")
        await expect(page.locator(".dock-phase")).to_have_text(ready, timeout=PATIENCE)
    await shoot(page, name)
    if name == "talk":
        await page.get_by_role("button", name="ms").first.click()
        await page.locator(".waterfall").first.wait_for()
        await shoot(page, "waterfall")
        await page.keyboard.press("Escape")
    await page.get_by_role("button", name="End", exact=True).click()
    await page.get_by_role("heading", name="Thank you").wait_for()
    if name == "talk":
        await page.wait_for_timeout(1500)  # what was kept is looked up
        await shoot(page, "closing")
    await page.context.close()


async def comparison(browser: Browser, url: str) -> None:
    page = (await open_page(browser, f"{url}/compare")).page
    await page.wait_for_selector(".attune:not([aria-busy])")
    await shoot(page, "compare")
    await page.context.close()


async def operators_pages(browser: Browser, url: str) -> None:
    page = (await open_page(browser, f"{url}/sessions#operator={OPERATOR}")).page
    await page.wait_for_selector("tbody tr")
    await shoot(page, "sessions")
    await page.locator("tbody tr a").first.click()
    await page.wait_for_selector("canvas")
    await page.wait_for_timeout(2500)  # waveforms come piece by piece
    await shoot(page, "session")
    await page.goto(f"{url}/system")
    await page.wait_for_selector(".attune:not([aria-busy])")
    await page.wait_for_timeout(4500)  # two readings
    await shoot(page, "system")
    await page.context.close()


async def shoot(page: Page, name: str) -> None:
    await page.wait_for_timeout(600)  # movements come to rest
    await page.screenshot(path=IMAGES / f"{name}.png")
    print(f"docs/images/{name}.png")


if __name__ == "__main__":
    asyncio.run(main())
