"""The way in where a server asks for an access code, in a real browser."""

import json

import pytest

from tests.browser import OPERATOR, chromium, open_page, paged

pytestmark = pytest.mark.browser
CODE = "a code for visitors"
BUTTON = ".orb-start"


async def test_a_visitor_enters_the_code_once_and_talks() -> None:
    async with paged(talker_tokens=[CODE]) as (url, house), chromium() as browser:
        watched = await open_page(browser, url, expected=["401"])
        sockets: list[str] = []
        watched.page.on("websocket", lambda socket: sockets.append(socket.url))
        await watched.page.fill("#access-code", "not the code at all")
        await watched.page.keyboard.press("Enter")
        await watched.page.wait_for_selector("[role=alert]")
        assert await watched.page.locator(BUTTON).count() == 0
        await watched.page.fill("#access-code", CODE)
        await watched.page.keyboard.press("Enter")
        await watched.page.wait_for_selector(BUTTON)
        await watched.page.reload()
        await watched.page.click(BUTTON)
        asked = watched.page.get_by_role("dialog")
        await asked.get_by_role("button", name="Talk without being recorded").click()
        await watched.page.wait_for_selector(".live")
        assert len(house.sessions) == 1
        assert CODE not in json.dumps(sockets) and "ek_" not in json.dumps(sockets)
        watched.check()


@pytest.mark.parametrize("given", [f"access={CODE}", f"operator={OPERATOR}"])
async def test_a_link_with_the_code_opens_the_door_and_loses_it(given: str) -> None:
    async with paged(talker_tokens=[CODE]) as (url, _), chromium() as browser:
        for path, there in (("", BUTTON), ("compare", ".compare-stage")):
            watched = await open_page(browser, f"{url}/{path}#{given}")
            await watched.page.wait_for_selector(there)
            assert given not in watched.page.url
            watched.check()


async def test_the_door_speaks_chinese_and_fits_a_phone() -> None:
    async with paged(talker_tokens=[CODE]) as (url, _), chromium() as browser:
        watched = await open_page(browser, url, "phone", dark=True, locale="zh-CN")
        await watched.page.wait_for_selector("text=请输入访问码")
        wide = "document.documentElement.scrollWidth <= innerWidth"
        assert await watched.page.evaluate(wide)
        watched.check()
