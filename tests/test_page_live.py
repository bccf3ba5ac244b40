"""A person at the page, and the real models behind it: said, understood, felt, answered, kept."""

import json
import re
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
import pytest
import pytest_asyncio
import soundfile
from playwright.async_api import Page, expect

from models import registry
from models.audio import resample
from models.protocols import Models
from models.types import EAR_RATE, AudioChunk, Samples
from models.warm import warm
from server.config import PROFILES
from server.house import House
from tests.browser import chromium, open_page, paged

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

DEMO = Path(__file__).parents[1] / "ui" / "demo"
LISTENING = Path(__file__).with_name("listening.js").read_text()
RATE = 48_000
SILENT = 10 ** (-45 / 20)
PATIENCE = 60_000  # ms: the machine may be busy with other things


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedded() -> AsyncGenerator[Models, None]:
    models = registry.load(registry.read(PROFILES / "embedded.toml"))
    await warm(models)
    yield models
    models.close()


def microphone(folder: Path, *clips: str, rest: float) -> Path:
    """A recording for Chromium's microphone: these, one after the other, and then silence."""
    said = [np.zeros(2 * RATE, np.float32)]
    for clip in clips:
        samples, rate = soundfile.read(DEMO / f"{clip}.flac", dtype="float32")
        said += [resample(samples, rate, RATE), np.zeros(round(rest * RATE), np.float32)]
    soundfile.write(folder / "microphone.wav", np.concatenate(said), RATE, subtype="PCM_16")
    return folder / "microphone.wav"


@asynccontextmanager
async def talking(
    models: Models, runs: Path, file: Path | None = None, path: str = "/", **keep: bool
) -> AsyncGenerator[tuple[Page, House], None]:
    """At the page, past the question of consent; nothing may have gone wrong at the end."""
    settings: dict[str, Any] = {"profile": "embedded", "recording": {"runs": str(runs)}}
    async with (
        paged(models, **settings) as (url, house),
        chromium(microphone=file) as browser,
    ):
        watched = await open_page(browser, "about:blank", permissions=["microphone"])
        page = watched.page
        watched.elsewhere.clear()
        await page.add_init_script(LISTENING)
        await page.goto(url + path)
        if path == "/":
            await page.get_by_role("button", name="Start talking").click()
        await consent(page, **keep)
        await page.locator(".live").wait_for()
        yield page, house
        assert watched.complaints == []
        assert [each for each in watched.elsewhere if url.split("//")[1] not in each] == []


async def consent(page: Page, *, words: bool = False, sound: bool = False) -> None:
    dialog = page.get_by_role("dialog")
    for name, wanted in (("My words", words), ("The sound", sound)):
        if wanted:
            await dialog.get_by_label(name).check()
    if words or sound:
        await dialog.locator("#consent-adult").check()
        await dialog.get_by_role("button", name="Talk and keep").click()
    else:
        await dialog.get_by_role("button", name="Talk without being recorded").click()


async def sounded(page: Page) -> tuple[Samples, int, list[float]]:
    """What the loudspeaker was given, its rate, and when the page was told to hold."""
    told = await page.evaluate("sounded()")
    pcm = np.frombuffer(b64decode(told["pcm"]), "<i2").astype(np.float32) / np.float32(32768)
    return pcm, int(told["rate"]), told["holds"]


def folders(runs: Path) -> list[Path]:
    return sorted(file.parent for file in runs.glob("????-??-??/sess_*/session.json"))


async def test_what_is_said_is_understood_felt_answered_aloud_and_kept(
    embedded: Models, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    file = microphone(tmp_path, "sad", rest=30)
    async with talking(embedded, runs, file, words=True, sound=True) as (page, _):
        said = page.locator(".turn-user:not(.turn-partial) .turn-text").first
        await expect(said).to_contain_text(re.compile("dog", re.I), timeout=PATIENCE)
        planned = page.locator(".turn-plan:not([hidden])")
        reply = page.locator(".turn-reply").filter(has=planned).first
        await expect(reply.locator(".turn-plan")).to_contain_text("→", timeout=PATIENCE)
        await expect(page.locator(".dock-phase")).to_have_text("Speaking", timeout=PATIENCE)
        await expect(page.locator(".percept")).to_contain_text("%")
        await expect(page.locator(".dock-phase")).to_have_text("Listening", timeout=PATIENCE)
        shown = (await reply.locator(".turn-text").inner_text()).strip()

        await reply.get_by_role("button", name="ms").click()
        waterfall = page.locator(".waterfall").first
        for stage in ("turn decision", "words", "tone", "first word", "first sound", "in your ear"):
            await expect(waterfall).to_contain_text(re.compile(stage, re.I))
        await page.keyboard.press("Escape")

        samples, rate, _ = await sounded(page)
        heard = await embedded.transcriber.transcribe(
            AudioChunk(resample(samples, rate, EAR_RATE), EAR_RATE)
        )
        assert jiwer.wer(plain(shown), plain(heard)) < 0.35, (shown, heard)

        await page.get_by_role("button", name="End", exact=True).click()
        await expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        form = page.locator(".closing")
        await form.get_by_role("radio", name="good", exact=True).check(force=True)
        for question in (
            "Did it fit what you said?",
            "Did it flow naturally?",
            "Did it talk as people talk?",
            "Did it respond to how you sounded?",
            "Did its voice feel with you?",
        ):
            await (
                form.get_by_role("radiogroup", name=question)
                .get_by_role("radio")
                .nth(3)
                .check(force=True)
            )
        await form.get_by_role("button", name="Send").click()
        await expect(form).to_contain_text("Thank you, that was noted.")

    (folder,) = folders(runs)
    record = json.loads((folder / "session.json").read_text())
    assert record["consent"][-1]["transcript"] and record["consent"][-1]["audio"]
    ratings = [json.loads(line) for line in (folder / "ratings.jsonl").read_text().splitlines()]
    named = {"ctx_fit", "resp_nat", "colloq_deg", "speech_rel", "vocal_empathy"}
    assert any(named <= set(rating["scores"]) for rating in ratings)
    both, kept_rate = soundfile.read(folder / "audio.flac", dtype="float32")
    played = await embedded.transcriber.transcribe(
        AudioChunk(resample(np.ascontiguousarray(both[:, 1]), kept_rate, EAR_RATE), EAR_RATE)
    )
    assert jiwer.wer(plain(shown), plain(played)) < 0.35, (shown, played)


async def test_breaking_in_silences_the_page_at_once_and_cuts_the_words(
    embedded: Models, tmp_path: Path
) -> None:
    async with talking(embedded, tmp_path / "runs", path="/?demo=1") as (page, _):
        await page.get_by_role("button", name="Stop", exact=True).click()  # one by one, by hand
        await page.get_by_role("button", name="Play “A plain question”").click()
        await expect(page.locator(".dock-phase")).to_have_text("Speaking", timeout=PATIENCE)
        await page.get_by_role("button", name="Play “Breaking in”").click()
        cut = page.locator(".turn-reply").filter(has_text="not heard").first
        await expect(cut).to_be_visible(timeout=PATIENCE)
        samples, rate, holds = await sounded(page)
    loud = np.abs(samples) > SILENT
    sounding = [at for hold in holds if loud[(at := round(hold * rate)) - rate // 5 : at].any()]
    assert sounding  # it was in the middle of its words
    for at in sounding:
        after = np.flatnonzero(loud[at : at + rate // 4])
        assert not len(after) or after[-1] < 0.05 * rate


async def test_of_somebody_who_refuses_no_word_and_no_sound_is_kept(
    embedded: Models, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    async with talking(embedded, runs, microphone(tmp_path, "glad", rest=30)) as (page, _):
        await expect(page.locator(".recording-chip")).to_have_text("Not recorded")
        said = page.locator(".turn-user:not(.turn-partial) .turn-text").first
        await expect(said).to_contain_text(re.compile("job|happy|start", re.I), timeout=PATIENCE)
        await expect(page.locator(".dock-phase")).to_have_text("Speaking", timeout=PATIENCE)
        words = await said.inner_text()
        await page.get_by_role("button", name="End", exact=True).click()
        await expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    (folder,) = folders(runs)
    assert not (folder / "audio.flac").exists() and not list(folder.glob("*.pcm"))
    everything = "".join(file.read_text() for file in folder.iterdir() if file.is_file())
    assert words not in everything
    assert not any(word in everything.lower() for word in ("monday", "the job", '"emotion"'))


def plain(text: str) -> str:
    return re.sub(r"[^a-z' ]", " ", text.lower().replace("’", "'")).strip()
