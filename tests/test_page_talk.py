"""The Talk page in Chromium: what somebody sees, presses and is told."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
import soundfile
from playwright.async_api import Browser, Page, Route, expect
from websockets.asyncio.client import connect

from tests.browser import chromium, open_page, paged

pytestmark = [
    pytest.mark.browser,
    pytest.mark.alone,
    pytest.mark.asyncio(loop_scope="module"),
]

RATE = 48_000
TALKS: dict[str, Any] = {"permissions": ["microphone"]}


def wav(folder: Path, samples: np.ndarray[Any, Any]) -> Path:
    soundfile.write(folder / "microphone.wav", samples, RATE, subtype="PCM_16")
    return folder / "microphone.wav"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def quiet(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Browser, None]:
    """A browser whose microphone hears nothing, and has to be allowed."""
    silence = wav(tmp_path_factory.mktemp("silence"), np.zeros(RATE))
    async with chromium(microphone=silence, allowed=False) as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[str, None]:
    """A server as it comes."""
    async with served(tmp_path_factory.mktemp("runs")) as address:
        yield address


@asynccontextmanager
async def served(
    runs: Path, *, children: bool = True, **settings: Any
) -> AsyncGenerator[str, None]:
    kept = {"runs": str(runs), "children": children}
    async with paged(recording=kept, **settings) as (address, _):
        yield address


@asynccontextmanager
async def visit(
    browser: Browser, url: str, size: str = "wide", **context: Any
) -> AsyncGenerator[Page, None]:
    """A page that is closed at the end, and in which nothing went wrong."""
    watched = await open_page(browser, url, size, **context)
    try:
        yield watched.page
        watched.check()
    finally:
        await watched.page.context.close()


async def begin(page: Page, *, keep: bool = False) -> None:
    """Press the large button and answer what is asked."""
    await page.get_by_role("button", name="Start talking").click()
    await answer(page, keep=keep)
    await page.locator(".live").wait_for()


async def answer(page: Page, *, keep: bool = False) -> None:
    dialog = page.get_by_role("dialog")
    if keep:
        await dialog.get_by_label("My words").check()
        for box in await dialog.locator("input[type=checkbox]:not([role=switch])").all():
            await box.check()
        await dialog.get_by_role("button", name="Talk and keep").click()
    else:
        await dialog.get_by_role("button", name="Talk without being recorded").click()


async def fits(page: Page) -> bool:
    """Nothing lies beyond the window's sides; the page clips, so scrolling alone tells little."""
    return bool(
        await page.evaluate(
            """() => document.documentElement.scrollWidth <= innerWidth
              && [...document.querySelectorAll(".attune :is(button, input, p, h1, h2, li)")]
                .filter((each) => each.checkVisibility() && !each.closest(".sr-only, .strip-row"))
                .map((each) => each.getBoundingClientRect())
                .every(({left, right}) => left >= -1 && right <= innerWidth + 1)"""
        )
    )


async def with_hearing(route: Route) -> None:
    """The stand-ins do not say what they hear; the page then shows no panel."""
    response = await route.fetch()
    settings = await response.json()
    settings["perception"] = {"weights": "default", "licence": None, "hears": ["emotion"]}
    await route.fulfill(response=response, json=settings)


async def test_somebody_presses_start_consents_talks_and_is_answered(
    url: str, tmp_path: Path
) -> None:
    time = np.arange(int(1.5 * RATE)) / RATE
    said = 0.3 * np.sin(2 * np.pi * 220 * time) * (0.6 + 0.4 * np.sin(2 * np.pi * 4 * time))
    voice = wav(tmp_path, np.concatenate([said, np.zeros(6 * RATE)]))  # who then listens
    async with chromium(microphone=voice) as browser, visit(browser, url) as page:
        await page.route("**/page/settings.json*", with_hearing)
        await page.reload()
        await expect(page.get_by_text("Your browser will ask for the microphone")).to_be_visible()
        await begin(page, keep=True)
        await expect(page.get_by_text("Recorded: words")).to_be_visible()
        await expect(page.locator(".dock-phase")).to_have_text("I hear you")
        await expect(page.locator(".turn-user.turn-partial")).to_be_visible()
        await expect(page.locator(".turn-user:not(.turn-partial)").first).to_be_visible()
        await expect(page.locator(".dock-phase")).to_have_text("Speaking")
        reply = page.locator(".turn-reply", has_text="I heard you").first
        await expect(reply.locator(".turn-plan")).to_contain_text("heard: nothing unusual →")
        await expect(reply.get_by_role("button", name="ms")).to_be_visible()
        await expect(page.locator(".percept")).to_contain_text("calm")
        await expect(page.locator(".dock-phase")).to_have_text("Listening")
        await expect(page.locator("[role=log]")).to_contain_text("You: ")

        await page.get_by_role("button", name="Stop recording").click()
        await expect(page.get_by_text("erase what was kept")).to_be_visible()
        await page.get_by_role("button", name="Stop and erase").click()
        await expect(page.locator(".recording-chip")).to_have_text("Not recorded")
        await page.get_by_role("button", name="End", exact=True).click()
        await expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        await page.get_by_role("button", name="Talk again").click()
        await expect(page.get_by_role("button", name="Start talking")).to_be_visible()


async def test_the_keyboard_is_enough_and_what_is_written_is_answered(
    quiet: Browser, url: str
) -> None:
    async with visit(quiet, url, **TALKS) as page:
        keys = page.keyboard
        await page.get_by_role("button", name="Start talking").wait_for()
        await tab_to(page, "Start talking")
        await keys.press("Enter")
        await page.get_by_role("dialog").wait_for()
        await tab_to(page, "Talk without being recorded")
        await keys.press("Enter")
        await page.locator(".live").wait_for()
        await keys.press("m")
        await expect(page.locator(".dock-phase")).to_have_text("Microphone is off")
        await keys.press("m")
        await keys.press("p")
        await expect(page.locator(".dock-phase")).to_have_text("Hold to talk")
        await keys.down("Space")
        await expect(page.locator(".dock-phase")).to_have_text("I hear you")
        await keys.up("Space")
        await expect(page.locator(".dock-phase")).to_have_text("Hold to talk")
        await keys.press("?")
        await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        await keys.press("Escape")
        await keys.press("t")
        await keys.type("me or you?")  # letters that would be shortcuts elsewhere
        await keys.press("Enter")
        await expect(page.locator(".turn-user .turn-text")).to_have_text("me or you?")
        await expect(page.locator(".turn-reply").last).to_contain_text("you said me or you")
        await keys.press("Escape")
        await page.locator(".orb").focus()
        await keys.press("e")
        await expect(page.get_by_role("heading", name="Thank you")).to_be_visible()


async def tab_to(page: Page, name: str) -> None:
    """Go on with Tab until the control of this name has the focus."""
    for _ in range(30):
        await page.keyboard.press("Tab")
        label = await page.evaluate(
            "(document.activeElement.ariaLabel ?? document.activeElement.textContent).trim()"
        )
        if label == name:
            return
    raise AssertionError(f"{name} cannot be reached with Tab")


async def test_a_phone_shows_it_all_and_remembers_the_size_of_the_words(
    quiet: Browser, url: str
) -> None:
    async with visit(quiet, url, "phone", **TALKS) as page:
        await page.get_by_role("button", name="Start talking").wait_for()
        assert await fits(page)
        await begin(page)
        await page.get_by_role("button", name="Options").click()
        await page.get_by_text("Very large").locator("..").click()
        await page.get_by_role("button", name="Close").click()
        await page.get_by_label("Write instead").fill("A sentence of some length, to be broken.")
        await page.keyboard.press("Enter")
        reply = page.locator(".turn-reply .turn-text", has_text="I heard you")
        await expect(reply).to_be_visible()
        large = await reply.evaluate("text => parseFloat(getComputedStyle(text).fontSize)")
        assert await fits(page)
        end = await page.get_by_role("button", name="End", exact=True).bounding_box()
        assert end and end["height"] >= 44 and end["y"] + end["height"] <= 844
        await page.reload()
        await page.get_by_role("button", name="Start talking").wait_for()
        assert await page.locator(".talk").get_attribute("data-captions") == "xl"
        assert large > 24


async def test_whoever_leaves_while_recorded_finds_the_key_on_coming_back(
    quiet: Browser, url: str
) -> None:
    async with visit(quiet, url, **TALKS) as page:
        await begin(page, keep=True)
        await expect(page.get_by_text("Recorded: words")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("heading", name="Thank you")).to_be_focused()
        await expect(page.get_by_role("button", name="Delete everything")).to_be_visible()
        await page.get_by_role("button", name="Talk again").click()
        await page.reload()
        await expect(page.get_by_role("button", name="Start talking")).to_be_visible()


async def test_a_blocked_microphone_is_explained_and_writing_is_offered(
    quiet: Browser, url: str
) -> None:
    async with visit(quiet, url) as page:
        await page.get_by_role("button", name="Start talking").click()
        await answer(page)
        alert = page.get_by_role("alert")
        await expect(alert).to_contain_text("The microphone is blocked.")
        await expect(alert).to_contain_text("press the sign beside the address")
        await expect(alert.get_by_role("button", name="Try again")).to_be_enabled()
        await alert.get_by_role("button", name="Write instead").click()
        await answer(page)
        await page.get_by_label("Write instead").fill("hello")
        await page.keyboard.press("Enter")
        await expect(page.locator(".turn-reply").last).to_contain_text("you said hello")


async def test_an_address_that_is_not_secure_is_explained(quiet: Browser, url: str) -> None:
    async with visit(quiet, url, **TALKS) as page:
        await page.evaluate("Object.defineProperty(window, 'isSecureContext', {value: false})")
        await page.get_by_role("button", name="Start talking").click()
        await answer(page)
        alert = page.get_by_role("alert")
        await expect(alert).to_contain_text("This address is not secure")
        await expect(alert).to_contain_text("Open the page over https")
        await expect(alert.get_by_role("button", name="Try again")).to_have_count(0)


async def test_a_full_server_is_explained_and_lets_us_in_once_somebody_leaves(
    quiet: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path, seats=1, admission={"queue": 0}) as url:
        other = await connect(url.replace("http", "ws") + "/v1/realtime")
        await other.recv()
        async with visit(quiet, url, expected=["WebSocket connection"], **TALKS) as page:
            await page.get_by_role("button", name="Start talking").click()
            await answer(page)
            alert = page.get_by_role("alert")
            await expect(alert).to_contain_text("All places are taken just now.")
            await expect(alert).to_contain_text("I am trying again by myself.")
            await other.close()
            await expect(page.locator(".live")).to_be_visible(timeout=10_000)


async def test_somebody_who_waits_sees_their_place_in_line_and_is_let_in(
    quiet: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path, seats=1) as url:
        wire = url.replace("http", "ws") + "/v1/realtime"
        async with connect(wire):
            pass  # so that something is known of how long people talk
        first = await connect(wire)
        assert "session.created" in str(await first.recv())
        ahead = await connect(wire + "?attune=1")
        await ahead.recv()
        async with visit(quiet, url, **TALKS) as page:
            await page.get_by_role("button", name="Start talking").click()
            await answer(page)
            line = page.get_by_role("status").filter(has_text="All places are taken.")
            await expect(line).to_contain_text("You are number 2 in line.")
            await expect(line).to_contain_text("It should take about 10 seconds.")
            await expect(line).to_contain_text("Nothing you say is heard until it begins.")
            await expect(page.get_by_role("alert")).to_have_count(0)
            await ahead.close()
            await expect(line).to_contain_text("You are next.")
            await first.close()
            await expect(page.locator(".live")).to_be_visible()
            await expect(page.locator(".queue")).to_have_count(0)


async def test_whoever_leaves_the_line_gives_up_their_place_at_once(
    quiet: Browser, tmp_path: Path
) -> None:
    kept = {"runs": str(tmp_path)}
    async with (
        paged(recording=kept, seats=1, ui={"language": "zh"}) as (url, house),
        connect(url.replace("http", "ws") + "/v1/realtime") as other,
    ):
        await other.recv()
        async with visit(quiet, url, "phone", **TALKS) as page:
            await page.locator(".orb-start").click()
            await page.get_by_role("dialog").get_by_role("button").last.click()
            line = page.locator(".queue")
            await expect(line).to_contain_text("下一位就是你。")
            assert house.porter.admission.waiting == 1
            await line.get_by_role("button", name="不等了").click()
            await expect(line).to_have_count(0)
            await expect(page.locator(".orb-start")).to_be_enabled()
            while house.porter.admission.waiting:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)


async def test_prepared_recordings_speak_where_there_is_no_microphone(
    quiet: Browser, tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    time = np.arange(15_000) / 24_000
    soundfile.write(folder / "one.flac", 0.3 * np.sin(2 * np.pi * 200 * time), 24_000)
    soundfile.write(folder / "two.flac", 0.3 * np.sin(2 * np.pi * 300 * time), 24_000)
    (folder / "demo.toml").write_text(
        '[[clip]]\nid = "one"\nfile = "one.flac"\ntitle = {en = "First"}\n'
        '[[clip]]\nid = "two"\nfile = "two.flac"\ntitle = {en = "Second"}\n'
    )
    async with (
        served(tmp_path, ui={"demo_folder": str(folder)}) as url,
        visit(quiet, f"{url}/?demo=1") as page,
    ):
        await answer(page)
        await expect(page.get_by_role("button", name="Play “First”")).to_have_attribute(
            "aria-pressed", "true"
        )
        replies = page.locator(".turn-reply", has_text="I heard you")
        await expect(replies).to_have_count(2, timeout=15_000)
        await expect(page.get_by_role("button", name="Play all", exact=True)).to_be_visible(
            timeout=10_000
        )


async def test_a_kiosk_returns_to_its_beginning_when_nobody_is_there(
    quiet: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path, ui={"kiosk": True}) as url, visit(quiet, url, **TALKS) as page:
        assert await page.locator("header.top").count() == 0
        await page.clock.install()
        await page.reload()
        await begin(page)
        await page.keyboard.press("m")
        await page.keyboard.press("+")
        await expect(page.locator(".talk")).to_have_attribute("data-captions", "l")
        await page.clock.fast_forward(52_000)
        await expect(page.get_by_role("alert")).to_contain_text("Still there?")
        await page.get_by_role("button", name="I am still here").click()
        await page.clock.fast_forward(52_000)
        await expect(page.get_by_role("alert")).to_contain_text("Still there?")
        await page.clock.fast_forward(10_000)
        await expect(page.get_by_role("button", name="Start talking")).to_be_visible()
        assert "sess_" not in await page.content()
        await expect(page.locator(".talk")).to_have_attribute("data-captions", "m")
        assert await page.evaluate("Object.keys(localStorage)") == []


async def test_where_no_child_may_be_recorded_the_voice_is_heard_until_recording_stops(
    quiet: Browser, tmp_path: Path
) -> None:
    async with served(tmp_path, children=False) as url, visit(quiet, url, **TALKS) as page:
        await page.route("**/page/settings.json*", with_hearing)
        await page.reload()
        await begin(page, keep=True)
        beside = page.locator(".live-side").get_by_role("switch")
        await expect(beside).to_be_disabled()
        await expect(page.locator(".live-side")).to_contain_text("Stop the recording first")
        await page.get_by_role("button", name="Options").click()
        dialog = page.get_by_role("dialog")
        option = dialog.get_by_label("Listen to how I sound")
        await expect(option).to_be_disabled()
        await expect(dialog).to_contain_text("Stop the recording first")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Stop recording").click()
        await page.get_by_role("button", name="Stop and erase").click()
        await expect(beside).to_be_enabled()
        await beside.uncheck()
        await page.get_by_role("button", name="Options").click()
        await expect(option).to_be_enabled()
        await expect(option).not_to_be_checked()


async def test_the_words_for_phases_deeds_and_plans_follow_from_what_is_going_on(
    quiet: Browser, url: str
) -> None:
    async with visit(quiet, url) as page:
        told = await page.evaluate(
            """async () => {
            const {shown, deed} = await import("/static/talk/phase.js");
            const {planWords} = await import("/static/talk/plan.js");
            const {t} = await import("/static/core/page.js");
            const {sound} = await import("/static/talk/remember.js");
            const {actionOf} = await import("/static/talk/keys.js");
            const hands = {muted: false, pushToTalk: false, pressed: false, silent: false};
            const push = {...hands, pushToTalk: true};
            const plan = {
              heard: [
                {name: "tired", sure: true}, {name: "sigh", sure: false},
                {name: "odd_new", sure: true},
              ],
              strategies: ["reflection", "question"], emotion: "comforting", style: {pace: 0.93},
              said: {emotion: "sad"},
            };
            return {
              phases: [
                shown("listening", hands), shown("listening", push),
                shown("listening", {...push, pressed: true}),
                shown("listening", {...hands, muted: true}),
                shown("speaking", {...hands, muted: true}),
                shown("hearing", {...hands, silent: true}),
                shown("listening", {...hands, silent: true}),
              ],
              deeds: [
                deed("speaking", hands), deed("speaking", push), deed("listening", hands),
                deed("muted", {...hands, muted: true}), deed("reconnecting", hands),
                deed("ready", {...hands, silent: true, demo: "waits"}),
              ],
              plan: planWords(plan, t),
              old: [undefined, {showAgeGender: true}].map((how) => planWords({
                heard: [
                  {dimension: "age", name: "elderly", sure: true},
                  {dimension: "gender", name: "female", sure: true},
                  {dimension: "nonverbal", name: "sigh", sure: true},
                ],
                strategies: ["address_elder", "address_child", "question"],
              }, t, how)),
              sound: sound({captions: "huge", perception: "no", shortcuts: false, consent: true}),
              keys: [
                actionOf({key: "M", code: "KeyM"}),
                actionOf({key: "m", code: "KeyM", ctrlKey: true}),
              ],
            };
            }"""
        )
        assert told["phases"] == [
            "listening",
            "waiting",
            "hearing",
            "muted",
            "speaking",
            "played",
            "writing",
        ]
        assert told["deeds"] == ["stop", "hold", "mute", "unmute", "none", "play"]
        assert told["plan"] == {
            "heard": "tired, perhaps a sigh, odd new, sad in your words",
            "does": "slow down, speak softly, acknowledge, ask gently",
        }
        plain, open_hearted = told["old"]
        assert plain == {"heard": "a sigh", "does": "ask gently"}
        assert open_hearted["heard"] == "an elderly person, a woman, a sigh"
        assert open_hearted["does"].startswith("speak clearly and kindly, speak to a child")
        assert told["sound"]["captions"] == "m"
        assert told["sound"]["perception"] is True
        assert told["sound"]["shortcuts"] is False
        assert "consent" not in told["sound"]
        assert told["keys"] == ["mute", None]
