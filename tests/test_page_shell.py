"""The pages' frame, in a real browser: one port, nobody else asked, and words in two languages."""

import pytest

from tests.browser import OPERATOR, chromium, open_page, paged

pytestmark = pytest.mark.browser
PAGES = ("", "compare", "sessions", "scores", "system")


async def test_every_page_opens_without_a_complaint_and_asks_nobody_else() -> None:
    async with paged() as (url, _), chromium() as browser:
        for name in PAGES:
            watched = await open_page(browser, f"{url}/{name}#operator={OPERATOR}")
            await watched.page.wait_for_selector(".attune:not([aria-busy]) #main > *")
            watched.check()


async def test_the_key_in_the_address_opens_the_operators_pages_and_leaves_the_address() -> None:
    async with paged() as (url, _), chromium() as browser:
        watched = await open_page(browser, f"{url}/sessions#operator={OPERATOR}")
        await watched.page.wait_for_selector(".attune:not([aria-busy])")
        assert OPERATOR not in watched.page.url
        assert await watched.page.locator("#operator-key").count() == 0


async def test_without_the_key_the_operators_pages_show_nothing() -> None:
    async with paged() as (url, _), chromium() as browser:
        watched = await open_page(browser, f"{url}/sessions", expected=["401"])
        await watched.page.fill("#operator-key", "wrong-key-entirely")
        await watched.page.keyboard.press("Enter")
        await watched.page.wait_for_selector("[role=alert]")
        assert await watched.page.locator("table").count() == 0
        await watched.page.fill("#operator-key", OPERATOR)
        await watched.page.keyboard.press("Enter")
        await watched.page.wait_for_selector("#operator-key", state="detached")
        watched.check()


async def test_a_chinese_browser_gets_chinese_pages_and_may_choose_english() -> None:
    async with paged() as (url, _), chromium() as browser:
        watched = await open_page(browser, url, locale="zh-CN")
        await watched.page.wait_for_selector("nav >> text=对话")
        await watched.page.click("button[lang=en]")
        await watched.page.wait_for_selector("nav >> text=Talk")
        watched.check()
