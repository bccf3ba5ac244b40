"""The Compare page in a real browser: rounds from turn to vote, by mouse, voice and keys."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from playwright.async_api import Route

from models.audio import wav
from models.types import WIRE_RATE
from server.arena.keepsakes import Keepsake
from server.config import Config
from tests.browser import Watched, chromium, module, open_page, paged
from tests.made_rounds import made_ballot, made_round
from tests.serving import running, standins
from tests.talker import VOICE, sound
from ui import app

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less of a turn is said in real time."""
    monkeypatch.setattr("server.arena.answering.LIVE_SEC", 0.1)


async def listened(watched: Watched) -> None:
    page = watched.page
    await page.wait_for_selector(".compare-listen")
    for side in "ab":
        await page.click(f"[data-side={side}] .compare-play")
        await page.wait_for_selector(f"[data-side={side}].heard")


def votes(runs: Path) -> list[Any]:
    return [json.loads(path.read_text()) for path in runs.glob("arena/votes/*/*.json")]


def kept(runs: Path) -> set[str]:
    return {path.name for path in runs.glob("arena/2*/*/*")}


async def test_a_recording_is_compared_and_the_vote_stored_and_deleted(tmp_path: Path) -> None:
    recording = {"runs": str(tmp_path)}
    async with paged(recording=recording) as (url, _), chromium() as browser:
        watched = await open_page(browser, f"{url}/compare")
        page = watched.page
        await page.click("[data-clip]")
        await page.wait_for_selector(".compare-listen")
        assert await page.locator(".compare-board").is_hidden()  # nothing to be led by
        assert await page.locator(".compare-comment").count() == 0
        before = await page.locator(".compare").inner_text()
        assert "Hears" not in before
        assert "Plain" not in before
        assert await page.locator("[data-vote=a]").is_disabled()
        await page.keyboard.press("a")  # too early
        await listened(watched)
        assert await page.locator("[data-vote=a]").is_enabled()
        await page.click("[data-vote=b]")
        chosen = page.locator(".revealed.chosen")
        await chosen.wait_for()
        (vote,) = votes(tmp_path)
        assert (vote["vote"], vote["source"]) == ("b", "prepared")
        assert await chosen.get_attribute("data-system") == vote["b"]["name"]
        assert kept(tmp_path) == set()
        won = page.locator(f"tr[data-system={vote['b']['name']}] [data-name=Won]")
        await won.get_by_text("1").wait_for()

        await page.click(".compare-kept button")
        await page.wait_for_selector("text=Deleted")
        assert votes(tmp_path) == []
        await page.click(".compare-again")
        await page.wait_for_selector(".compare-record")
        assert await page.locator("[data-round]").count() == 0
        watched.check()


async def test_what_one_says_is_compared_with_keys_alone_and_kept_as_allowed(
    tmp_path: Path,
) -> None:
    microphone = tmp_path / "voice.wav"
    hush = np.zeros(WIRE_RATE * 4, np.float32)
    microphone.write_bytes(wav(np.concatenate([sound(VOICE, 1.0), hush]), WIRE_RATE))
    recording = {"runs": str(tmp_path / "runs")}
    async with (
        paged(recording=recording) as (url, _),
        chromium(microphone=microphone) as browser,
    ):
        watched = await open_page(browser, f"{url}/compare", "phone")
        page = watched.page
        await page.wait_for_selector(".compare-record")
        assert "People near you" in await page.locator(".compare-terms").inner_text()
        await page.locator(".compare-keep summary").press("Enter")
        for name in ("audio", "adult"):
            await page.locator(f"[name=keep-{name}]").press("Space")
        await page.locator(".compare-record").press("Enter")
        await page.wait_for_selector(".recording")
        await page.wait_for_selector(".compare-listen", timeout=20_000)  # it stopped by itself
        for side, key in (("a", "1"), ("b", "2")):
            await page.keyboard.press(key)
            await page.wait_for_selector(f"[data-side={side}].heard")
        await page.locator("#compare-comment").press_sequentially("abtx")  # letters, and no votes
        await page.locator(".compare-listen h2").focus()
        await page.keyboard.press("t")
        await page.wait_for_selector(".compare-reveal")
        (vote,) = votes(tmp_path / "runs")
        assert vote["vote"] == "tie"
        assert kept(tmp_path / "runs") == {"turn.flac", "a.flac", "b.flac", "round.json"}
        await page.wait_for_selector(".compare-key")
        wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        key = await page.locator(".compare-key input").input_value()
        assert key.startswith(f"{vote['id']}.")
        await page.click(".compare-again")  # what was kept can still be deleted
        await page.click(f"[data-round={vote['id']}] button")
        await page.locator(f"[data-round={vote['id']}]").wait_for(state="detached")
        assert (votes(tmp_path / "runs"), kept(tmp_path / "runs")) == ([], set())
        watched.check()


def voted(application: FastAPI, **how: Any) -> str:
    """A vote with all that may be kept of its round; the key to it."""
    made = made_round()
    ballot = made_ballot("one", "two", "a", id=made.id, secret_sha256=made.secret_sha256, **how)
    keepsake = Keepsake(made.consent, made.turn, made.answers)
    application.state.arena.archive.add(ballot, keepsake)
    return f"{made.id}.{made.secret}"


async def test_who_hears_is_told_once_it_is_known_and_a_key_deletes_a_round_later(
    tmp_path: Path,
) -> None:
    consent = tmp_path / "consent.txt"
    consent.write_text("We are from the university.")
    config = Config.model_validate(
        {
            "profile": "standin",
            "recording": {"runs": str(tmp_path)},
            "ui": {"consent_file": str(consent)},
        }
    )
    application = app.create(standins(), config)
    key = voted(application)
    async with running(application) as port, chromium() as browser:
        watched = await open_page(browser, "about:blank", expected=["404"])
        page = watched.page
        asked, known = asyncio.Event(), asyncio.Event()

        async def hold(route: Route) -> None:
            asked.set()
            await known.wait()
            await route.continue_()

        await page.route("**/api/arena/leaderboard", hold)
        await page.goto(f"http://127.0.0.1:{port}/compare")
        await page.wait_for_selector(".compare-terms >> text=We are from the university.")
        await asked.wait()
        assert await page.locator("text=Nothing leaves").count() == 0
        known.set()
        await page.wait_for_selector("text=Nothing leaves this server")

        await page.click(".compare-door button")
        await page.fill("#compare-key", "sess_1.2")
        await page.click(".compare-door .danger")
        await page.wait_for_selector("text=That is no key")
        await page.fill("#compare-key", key)
        await page.click(".compare-door .danger")
        await page.wait_for_selector("text=Deleted: your vote")
        assert (votes(tmp_path), kept(tmp_path)) == ([], set())
        await page.fill("#compare-key", key)
        await page.click(".compare-door .danger")
        await page.wait_for_selector("text=No round opens with this key")
        assert watched.complaints == []


async def test_a_blocked_microphone_and_a_full_server_are_told_in_a_sentence(
    tmp_path: Path,
) -> None:
    recording = {"runs": str(tmp_path)}
    async with (
        paged(recording=recording, seats=1) as (url, house),
        chromium(allowed=False) as browser,
    ):
        watched = await open_page(browser, f"{url}/compare", expected=["503"], permissions=[])
        page = watched.page
        await page.evaluate(
            """() => { navigator.mediaDevices.getUserMedia = async () => {
                throw new DOMException('', 'NotAllowedError');
            }; }"""
        )
        await page.click(".compare-record")
        await page.wait_for_selector("[role=alert] >> text=microphone is blocked")
        house.sessions.add("somebody")
        await page.click("[data-clip]")
        await page.wait_for_selector("[role=alert] >> text=All seats are taken")
        watched.check()


async def test_a_take_ends_in_silence_and_not_in_a_breath(tmp_path: Path) -> None:
    async with paged(recording={"runs": str(tmp_path)}) as (url, _), chromium() as browser:
        watched = await open_page(browser, f"{url}/compare")
        heard = await module(
            watched,
            """
            const { Take } = await import("/static/compare/take.js");
            const { scaleOf } = await import("/static/compare/forest.js");
            const { jsonLines } = await import("/static/compare/lines.js");
            const frame = (level) =>
              Int16Array.from({length: 960}, (_, n) => (n % 2 ? 1 : -1) * level * 32767);
            const run = (...parts) => {
              const take = new Take();
              let verdict = "more", frames = 0;
              for (const [level, count] of parts) {
                for (let n = 0; n < count && verdict === "more"; n++, frames++) {
                  verdict = take.push(frame(level));
                }
              }
              return [verdict, frames, take.speech.size];
            };
            const noise = 0.002;
            async function* pieces() {
              const encoder = new TextEncoder();
              for (const part of ['{"a":', '1}\\n{"b"', ':"é"}\\n\\n{"c":3}']) {
                yield encoder.encode(part);
              }
            }
            const lines = [];
            for await (const line of jsonLines(pieces())) lines.push(line);
            const scale = scaleOf([{ elo_low: 100, elo_high: 1100 }]);
            return {
              spoken: run([noise, 20], [0.2, 50], [noise, 25], [0.2, 25], [noise, 100]),
              silent: run([noise, 500]),
              click: run([noise, 20], [0.5, 1], [noise, 500]),
              noisy: run([0.03, 40], [0.3, 50], [0.03, 100]),
              long: run([0.2, 3000]),
              lines,
              scale: [scale.low, scale.high, scale.at(100), scale.at(1000)],
            };
            """,
        )
        # After 20 + 50 + 25 + 25 frames of 40 ms, and 1.5 s more.
        assert heard["spoken"] == ["enough", 120 + 38, 158 * 960 * 2]
        assert heard["silent"][:2] == ["nothing", 200]
        assert heard["click"][0] == "nothing"
        assert heard["noisy"][:2] == ["enough", 90 + 38]
        assert heard["long"][:2] == ["enough", 1450]
        assert heard["lines"] == [{"a": 1}, {"b": "é"}, {"c": 3}]
        assert heard["scale"] == [400, 1600, 0, 50]
        watched.check()
