"""Parts of the pages in Chromium: consent, what is heard, how long it took, ratings, the end."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from models.perception.labels import BEYOND, DIMENSIONS
from tests.browser import Watched, chromium, module, open_page, paged
from tests.talker import Talker, play_until, talking
from tests.test_recording import consent
from ui.wording import LANGUAGES, wording

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

HEARD = {
    "emotion": {"sad": 0.71, "neutral": 0.2, "happy": 0.09, "surprise": 0.0},
    "gender": {"female": 0.97, "male": 0.03},
    "age": {"adult": 0.9, "child": 0.06, "elderly": 0.04},
    "events": {"sigh": 0.81, "laughter": 0.1},
    "environment": {"rain": 0.92, "dog": 0.3, "car": 0.01},
    "physiological": {"tired": 0.64, "hoarse": 0.02},
    "volume": {"normal": 0.9, "shout": 0.0, "whisper": 0.1},
    "speed": {"slow": 0.43, "normal": 0.4, "fast": 0.17},
    "vad": {"expressed": {"valence": 2.1, "arousal": 2.0, "dominance": 2.7}, "perceived": None},
    "prosody": {"f0_mean": 188.4, "speaking_rate": None},
    "moments": [{"name": "sigh", "start": 0.2, "end": 0.9, "probability": 0.81}],
    "conflict": {"words": "happy", "voice": "sad", "strength": 0.7},
    "unknown": ["volume"],
    "not_heard": ["surprise"],
    "seconds": 4.0,
}
STAGES = {"words": -180, "speech_end": 0, "paused": 96, "gate": 240, "planned": 214,
          "first_clause": 250, "first_audio": 305, "first_sent": 307,
          "first_token": 392}  # fmt: skip
EMPTY = """document.body.innerHTML = '<div class="attune"><div id="main" class="page"></div></div>';
    const { replace, stylesheet } = await import("/static/core/dom.js");
    await stylesheet(location.origin, "/static/core/attune.css");
    window.put = (...made) => replace(document.querySelector("#main"), made);"""
ALL = {"transcript": True, "audio": True, "research": True}
NONE = {"transcript": False, "audio": False, "research": False}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncGenerator[Browser, None]:
    async with chromium() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[str, None]:
    runs = str(tmp_path_factory.mktemp("runs"))
    async with paged(clock="samples", recording={"runs": runs}) as (address, _):
        yield address


@asynccontextmanager
async def stage(
    browser: Browser, url: str, script: str, *given: Any, size: str = "wide", **watch: Any
) -> AsyncGenerator[Watched, None]:
    """A page with nothing on it but what the script makes, which it puts on with `put`."""
    watched = await open_page(browser, f"{url}/health", size, **watch)
    await module(watched, EMPTY)
    await module(watched, script, *given)
    try:
        yield watched
        watched.check()
    finally:
        await watched.page.context.close()


async def tell(watched: Watched, script: str, *given: Any) -> Any:
    return await module(watched, script, *given)


# -- what is heard


async def test_findings_name_what_is_likely_and_own_up_to_what_is_not(
    browser: Browser, url: str
) -> None:
    async with stage(browser, url, "") as watched:
        told = await tell(
            watched,
            """const words = await import("/static/percept/words.js");
            const [heard] = given;
            return {
              all: words.findings(heard),
              open: words.findings(heard, { showAgeGender: false }).map((each) => each.dimension),
              sounds: words.sounds(heard),
              corner: words.place({ valence: 5, arousal: 5 }),
              middle: words.place({ valence: 3, arousal: 3 }),
              nowhere: words.place(null),
              table: words.DIMENSIONS,
            };""",
            HEARD,
        )
    found = {(each["dimension"], each["name"]): each for each in told["all"]}
    assert found["emotion", "sad"]["sure"] and found["emotion", "sad"]["chance"] == 0.71
    assert not found["speed", "slow"]["sure"] and not found["speed", "slow"]["unknown"]
    assert not found["volume", "normal"]["sure"] and found["volume", "normal"]["unknown"]
    assert found["weather", "rain"]["sure"] and not found["other", "dog"]["sure"]
    assert ("location", "car") not in found  # too faint for a word
    assert not {"age", "gender"} & set(told["open"])
    assert told["sounds"] == [{"name": "sigh", "chance": 0.81, "at": 0.2}]
    assert told["corner"]["x"] ** 2 + told["corner"]["y"] ** 2 == pytest.approx(1)
    assert told["middle"] == {"x": 0, "y": 0} and told["nowhere"] is None
    for row in told["table"]:
        known = DIMENSIONS[row["name"]]
        beyond = BEYOND.get(known.field, ())
        assert (row["field"], set(row["names"])) == (known.field, {*known.answers, *beyond})
    assert {row["name"] for row in told["table"]} == set(DIMENSIONS)
    for language in LANGUAGES:
        for row in told["table"]:
            for name in row["names"]:
                assert f"percept.name.{name}" in wording(language)


async def test_the_panel_moves_and_says_where_it_is_not_sure(browser: Browser, url: str) -> None:
    script = """const { perceptPanel } = await import("/static/percept/panel.js");
        const panel = perceptPanel({ showAgeGender: false });
        put(panel.element); window.panel = panel;"""
    async with stage(browser, url, script) as watched:
        page = watched.page
        await expect(page.get_by_text("Speak, and you will see here")).to_be_visible()
        await tell(watched, "panel.show(given[0], { final: true });", HEARD)
        await expect(page.locator(".emotions .likeliest")).to_have_text("sad71%")
        await expect(page.locator(".emotions").get_by_text("surprised")).to_be_hidden()
        await expect(page.locator(".line", has_text="Pace")).to_contain_text("not sure")
        await expect(page.locator(".line", has_text="Body")).to_have_text("Bodytired64%")
        await expect(page.locator(".fact").first).to_have_text("sigh81%at 0.2 s")
        await expect(page.locator(".conflict")).to_contain_text("words say happy")
        await expect(page.locator(".plane")).to_have_attribute(
            "aria-label", "On a scale from 1 to 5: pleasant 2.1, lively 2."
        )
        assert not await page.get_by_text("female").count()
        await expect(page.locator(".percept [aria-live]")).to_contain_text("sad, tired, sigh, rain")
        doubtful = {**HEARD, "unknown": list(DIMENSIONS), "moments": [], "conflict": None}
        await tell(watched, "panel.show(given[0], { final: false });", doubtful)
        await expect(page.locator(".emotions .chip")).to_have_text("not sure")
        assert not await page.locator(".likeliest, .fact").count()
        await tell(watched, "panel.clear();")
        await expect(page.locator(".found")).to_be_hidden()


# -- how long it took


async def test_the_waterfall_shows_early_work_left_of_zero_and_only_what_is_known(
    browser: Browser, url: str
) -> None:
    script = """const { latencyBadge } = await import("/static/waterfall/waterfall.js");
        put(latencyBadge({ stages: given[0], overhead: 2.1, heard: 364 }));"""
    async with stage(browser, url, script, STAGES) as watched:
        page = watched.page
        told = await tell(
            watched,
            """const { axis, spans } = await import("/static/waterfall/stages.js");
            const known = spans({ stages: given[0], heard: 364 });
            return { known, axis: axis(known), none: spans({ stages: {} }),
                     sent: spans({ stages: given[0], heard: null }).map(({ name }) => name) };""",
            STAGES,
        )
        spans = {each["name"]: (each["start"], each["end"]) for each in told["known"]}
        assert list(spans) == [
            "decision", "words", "first_token", "first_clause", "first_audio", "heard",
        ]  # fmt: skip
        assert spans["words"] == (-180, -180) and told["axis"]["from"] <= -180
        # The opening is spoken before the model has said anything.
        assert spans["first_clause"] == (214, 250) and spans["first_audio"] == (250, 305)
        assert spans["heard"] == (305, 364) and told["sent"][-1] == "sent" and told["none"] == []
        badge = page.get_by_role("button", name="Answered after 364 ms")
        await badge.click()
        sheet = page.get_by_role("dialog")
        await expect(sheet).to_contain_text("You heard the answer 364 ms after you stopped")
        ground = await sheet.locator(".ground .end").bounding_box()
        early = await sheet.locator(".lane", has_text="Your words").locator("i").bounding_box()
        assert ground and early and early["x"] < ground["x"]
        await expect(sheet.get_by_role("table").get_by_role("row")).to_have_count(6)
        await page.keyboard.press("Escape")
        await expect(sheet).to_have_count(0)
        await expect(badge).to_be_focused()
        await badge.click()
        await badge.click()
        await expect(sheet).to_have_count(0)


# -- consent

ASK = """const { askConsent } = await import("/static/consent/consent.js");
    const { settings } = await import("/static/core/page.js");
    window.answer = askConsent({ settings: { ...settings, ...given[0] }, remembered: {} });"""
HEARS = {"perception": {"weights": "default", "hears": ["sad"]}}


async def test_everything_is_off_until_it_is_switched_on_and_an_adult_agrees(
    browser: Browser, url: str
) -> None:
    async with stage(browser, url, ASK, HEARS) as watched:
        dialog = watched.page.get_by_role("dialog")
        keep = dialog.get_by_role("button", name="Talk and keep")
        words, research = dialog.get_by_label("My words"), dialog.get_by_label("Use for research")
        for switch in (words, dialog.get_by_label("The sound"), research):
            await expect(switch).not_to_be_checked()
        await expect(keep).to_be_disabled()
        await expect(research).to_be_disabled()
        await expect(dialog).to_contain_text("Nothing leaves this server")
        await words.check()
        await expect(keep).to_be_disabled()
        await expect(dialog).to_contain_text("please tick that you are an adult")
        await dialog.get_by_label("I am an adult").check()
        await research.check()
        await words.uncheck()  # nothing is left to research
        await expect(research).not_to_be_checked()
        await words.check()
        await dialog.get_by_label("Name or nickname").fill("  Ada ")
        await dialog.get_by_label("Listen to how I sound").uncheck()
        await keep.click()
        assert await tell(watched, "return window.answer;") == {
            "consent": {"transcript": True, "audio": False, "research": False},
            "perception": False,
            "name": "Ada",
        }
        assert not await dialog.count()


async def test_one_may_talk_unrecorded_or_not_at_all_and_the_operators_text_replaces_ours(
    browser: Browser, url: str
) -> None:
    own = {
        "consent": {"paragraphs": ["Our study at the museum."]},
        "recording": {"enabled": True, "children": False},
        "services": [{"role": "responder", "host": "gpu.example.org"}],
        **HEARS,
    }
    async with stage(browser, url, ASK, own, size="phone") as watched:
        dialog = watched.page.get_by_role("dialog")
        await expect(dialog).to_contain_text("Our study at the museum.")
        await expect(dialog).to_contain_text("gpu.example.org gets your words")
        await expect(dialog).to_contain_text("If a child's voice is heard, recording stops")
        assert not await dialog.get_by_text("You will talk to a machine").count()
        await dialog.get_by_label("The sound").check()
        await dialog.get_by_role("button", name="Talk without being recorded").click()
        answer = await tell(watched, "return window.answer;")
        assert answer == {"consent": NONE, "perception": True, "name": None}
        await module(watched, ASK, own)
        await watched.page.keyboard.press("Escape")
        assert await tell(watched, "return window.answer;") is None
        await module(watched, ASK, {"recording": {"enabled": False, "children": True}})
        await expect(dialog).to_contain_text("This server records nothing.")
        await dialog.get_by_role("button", name="Talk", exact=True).click()
        assert (await tell(watched, "return window.answer;"))["consent"] == NONE


async def test_where_no_child_may_be_recorded_nothing_is_kept_unless_the_voice_is_heard(
    browser: Browser, url: str
) -> None:
    spared = {"recording": {"enabled": True, "children": False}}
    async with stage(browser, url, ASK, {**spared, **HEARS}) as watched:
        dialog = watched.page.get_by_role("dialog")
        keep = dialog.get_by_role("button", name="Talk and keep")
        words, hears = dialog.get_by_label("My words"), dialog.get_by_label("Listen to how I sound")
        await words.check()
        await dialog.get_by_label("I am an adult").check()
        await expect(keep).to_be_enabled()
        await hears.uncheck()
        for switch in (words, dialog.get_by_label("The sound")):
            await expect(switch).to_be_disabled()
            await expect(switch).not_to_be_checked()
        await expect(keep).to_be_disabled()
        await expect(dialog).to_contain_text("no child may be recorded here")
        await hears.check()
        await words.check()
        await expect(keep).to_be_enabled()
        await watched.page.keyboard.press("Escape")
        deaf: dict[str, Any] = {"perception": {"weights": None, "hears": []}}
        await module(watched, ASK, {**spared, **deaf})
        await expect(words).to_be_disabled()
        await expect(dialog).to_contain_text("cannot tell who is speaking")


async def test_a_key_is_promised_only_where_one_is_given(browser: Browser, url: str) -> None:
    async with stage(browser, url, ASK, {"kiosk": True}) as watched:
        more = watched.page.get_by_role("dialog").locator(".more")
        await expect(more).to_contain_text("there and then")
        assert "key" not in (await more.text_content() or "")


# -- ratings and the end


@asynccontextmanager
async def conversation(
    url: str, scopes: dict[str, bool]
) -> AsyncGenerator[tuple[Talker, dict[str, str], str], None]:
    """A conversation that goes on, its key, and the reply that was given in it."""
    async with talking(url.replace("http", "ws") + "/v1/realtime", "?attune=1") as talker:
        await consent(talker, **scopes)
        await talker.ask()
        await play_until(talker, "response.done")
        told = talker.of("attune.session")[0]
        reply = talker.of("response.done")[0]["response"]["output"][0]["id"]
        yield talker, {"id": told["id"], "secret": told["secret"]}, reply


async def ratings(watched: Watched, key: dict[str, str]) -> list[dict[str, Any]]:
    shown: dict[str, Any] = await tell(
        watched,
        """const { api } = await import("/static/core/api.js");
        return api(`/api/sessions/${given[0].id}`, { token: given[0].secret });""",
        key,
    )
    return [{name: each[name] for name in ("scores", "comment", "item_id", "by")}
            for each in shown["ratings"]]  # fmt: skip


RATE = """const { rateReply } = await import("/static/rate/rate.js");
    const [key, itemId] = given;
    put(rateReply({ sessionId: key.id, secret: key.secret, itemId }));"""


async def test_one_click_rates_a_reply_while_the_conversation_goes_on(
    browser: Browser, url: str
) -> None:
    async with (
        conversation(url, NONE) as (_, key, reply),
        stage(browser, url, RATE, key, reply) as watched,
    ):
        page = watched.page
        await page.get_by_label("good", exact=True).check(force=True)
        await expect(page.get_by_role("status")).to_have_text("Thank you, that was noted.")
        about = {"comment": "", "item_id": reply, "by": "user"}
        assert await ratings(watched, key) == [{"scores": {"overall": 4}, **about}]
        names = ("ctx_fit", "resp_nat", "colloq_deg", "speech_rel", "vocal_empathy")
        for score, name in enumerate(names, start=1):
            row = page.locator(f"[data-score={name}]")
            await row.get_by_role("radio").nth(score - 1).check(force=True)
        await page.get_by_role("button", name="Done").click()
        await expect(page.locator(".finer")).to_be_hidden()
        await expect(page.get_by_role("status")).to_have_text("Thank you, that was noted.")
        finer = {name: score for score, name in enumerate(names, start=1)}
        assert (await ratings(watched, key))[1:] == [{"scores": finer, **about}]


POSTS = """window.posts = [];
    const { fetch } = window;
    window.fetch = (url, options) => {
      if (!String(url).endsWith("/ratings")) return fetch(url, options);
      posts.push(JSON.parse(options.body));
      return Promise.resolve(Response.json({}));
    };
    window.over = new AbortController();
    window.leave = () => window.dispatchEvent(new Event("pagehide"));
    const { rateConversation } = await import("/static/rate/rate.js");
    const about = { sessionId: "sess_1", secret: "s", allowWords: true, signal: over.signal };
    put(rateConversation(about));"""


async def test_words_are_sent_only_when_their_writer_says_so(browser: Browser, url: str) -> None:
    async with stage(browser, url, POSTS) as watched:
        page = watched.page
        words = page.get_by_label("Anything you would like to tell us?")
        await words.fill("Not sure yet.")
        await words.blur()
        await page.get_by_label("very good").check(force=True)
        await page.evaluate("leave()")
        await expect(page.get_by_role("status")).to_have_text("Thank you, that was noted.")
        assert await page.evaluate("posts") == [{"scores": {"overall": 5}}]
        await expect(words).to_have_value("Not sure yet.")
        await words.fill("It listened.")
        await page.get_by_role("button", name="Send").click()
        await expect(words).to_have_value("")
        assert (await page.evaluate("posts"))[1:] == [{"scores": {}, "comment": "It listened."}]


async def test_a_view_that_closes_sends_its_scores_and_is_forgotten(
    browser: Browser, url: str
) -> None:
    async with stage(browser, url, POSTS) as watched:
        page = watched.page
        await page.get_by_label("bad", exact=True).check(force=True)
        await page.evaluate("over.abort()")
        assert await page.evaluate("posts") == [{"scores": {"overall": 1}}]
        await page.get_by_label("very good").check(force=True)
        await page.evaluate("leave()")
        assert len(await page.evaluate("posts")) == 1, "nobody listens for it any more"


async def test_a_rating_the_server_could_not_take_is_sent_again(browser: Browser, url: str) -> None:
    refused: list[str] = []

    async def once(route: Route) -> None:
        if refused:
            await route.continue_()
        else:
            refused.append(route.request.url)
            await route.fulfill(status=503, json={"error": {"code": "storage_failed"}})

    async with (
        conversation(url, NONE) as (_, key, reply),
        stage(browser, url, RATE, key, reply, expected=["503"]) as watched,
    ):
        await watched.page.route("**/ratings", once)
        await watched.page.get_by_label("bad", exact=True).check(force=True)
        await expect(watched.page.get_by_role("status")).to_have_text("Thank you, that was noted.")
        assert [each["scores"] for each in await ratings(watched, key)] == [{"overall": 1}]
    assert refused


CLOSE = """const { closingPanel } = await import("/static/closing/closing.js");
    put(closingPanel({ sessions: given[0], onAgain: () => put("again") }));"""


async def test_at_the_end_one_sees_what_was_kept_says_how_it_was_and_takes_it_along(
    browser: Browser, url: str
) -> None:
    async with conversation(url, ALL) as (_, key, _reply):
        pass
    async with stage(browser, url, CLOSE, [key], size="phone") as watched:
        page = watched.page
        await expect(page.locator(".kept li")).to_have_count(3)
        await page.get_by_label("very good").check(force=True)
        await page.get_by_label("Anything you would like to tell us?").fill("It listened.")
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator(".rate-status")).to_have_text("Thank you, that was noted.")
        assert await ratings(watched, key) == [
            {"scores": {"overall": 5}, "comment": "It listened.", "item_id": None, "by": "user"}
        ]
        async with page.expect_download() as sound:
            await page.get_by_role("button", name="Download sound").click()
        assert (await (await sound.value).path()).read_bytes()[:4] == b"fLaC"
        async with page.expect_download() as log:
            await page.get_by_role("button", name="Download record").click()
        lines = (await (await log.value).path()).read_text("utf-8").splitlines()
        assert all(json.loads(line) for line in lines) and len(lines) > 5
        await expect(page.locator(".key-card input")).to_have_value(f"{key['id']}.{key['secret']}")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.get_by_role("button", name="Talk again").click()
        await expect(page.locator("#main")).to_have_text("again")


async def test_a_kiosk_hands_out_nothing_that_would_stay_behind(browser: Browser, url: str) -> None:
    async with conversation(url, ALL) as (_, key, _reply):
        pass
    kiosk = """(await import("/static/core/page.js")).settings.kiosk = true;"""
    async with stage(browser, url, kiosk + CLOSE, [key]) as watched:
        page = watched.page
        await expect(page.locator(".kept li")).to_have_count(3)
        await expect(page.get_by_role("button", name="Delete everything")).to_be_visible()
        assert not await page.get_by_role("button", name="Download").count()
        assert key["secret"] not in await page.content()


async def test_with_its_key_somebody_comes_back_takes_back_the_sound_and_deletes_the_rest(
    browser: Browser, url: str
) -> None:
    async with conversation(url, {**ALL, "research": False}) as (_, key, _reply):
        pass
    script = """const { keyLink } = await import("/static/closing/key.js"); put(keyLink());"""
    async with stage(browser, url, script, expected=["404"]) as watched:
        page = watched.page
        await page.get_by_role("button", name="I have a key").click()
        await enter(page, "sess_nothing")
        await expect(page.get_by_role("alert")).to_contain_text("That is no key.")
        await enter(page, f"{key['id']}.{'x' * 32}")
        await expect(page.get_by_role("alert")).to_contain_text("No conversation opens with this")
        await enter(page, f" {key['id']}.{key['secret']}\n")
        await expect(page.locator(".kept li")).to_have_count(2)
        await page.locator(".kept li", has_text="Sound").get_by_role("button").click()
        await page.get_by_role("button", name="No, keep it").click()
        await expect(page.locator(".kept li")).to_have_count(2)
        await page.locator(".kept li", has_text="Sound").get_by_role("button").click()
        await page.get_by_role("button", name="Yes, take it back").click()
        await expect(page.locator(".removal")).to_contain_text("That was taken back.")
        await expect(page.locator(".kept li")).to_have_count(1)
        assert not await page.get_by_role("button", name="Download sound").count()
        await page.get_by_role("button", name="Delete everything").click()
        await page.get_by_role("button", name="Yes, delete it").click()
        await expect(page.locator(".removal")).to_contain_text("Everything was deleted.")
        assert not await page.locator(".rate, .key-card").count()


async def enter(page: Page, text: str) -> None:
    await page.get_by_label("The key of your conversation").fill(text)
    await page.get_by_role("button", name="Open", exact=True).click()


async def test_of_an_unrecorded_conversation_scores_are_taken_and_no_words(
    browser: Browser, url: str
) -> None:
    async with conversation(url, NONE) as (_, key, _reply):
        pass
    gone = {"id": "sess_" + "0" * 20, "secret": "x" * 32}
    async with stage(browser, url, CLOSE, [key], expected=["404"]) as watched:
        page = watched.page
        await expect(page.locator(".told")).to_contain_text("Only anonymous timings were kept")
        await expect(page.locator(".rate")).to_be_visible()
        assert not await page.get_by_label("Anything you would like to tell us?").count()
        await module(watched, CLOSE, [gone])
        await expect(page.locator(".told")).to_contain_text("Nothing was kept")
        assert not await page.locator(".rate").count()
