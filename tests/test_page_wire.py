"""The page's half of a conversation, in Chromium and with a real server; its sound is made up."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Route

from models.protocols import Models
from models.standin import StandinResponder, StandinSpeaker
from models.types import WIRE_RATE, AudioChunk, SpokenChunk, Turn
from server.clock import SampleClock
from server.playout import Playout
from server.recording.folder import verify
from server.recording.record import read
from tests.browser import Watched, chromium, module, open_page
from tests.serving import serving, standins
from tests.talker import VOICE, play_until, talking
from tests.test_children import ADULT, CHILD, Ages
from tests.test_recording import folder

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

ROOT = Path(__file__).parent.parent
ALL = {"transcript": True, "audio": True, "research": True}
EXPECTED = ("404", "WebSocket", "net::ERR_")  # what the browser itself says of a broken connection


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncGenerator[Browser, None]:
    async with chromium() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scripts(browser: Browser) -> AsyncGenerator[Watched, None]:
    """A page with our scripts at hand, and no server."""
    page = await (await browser.new_context()).new_page()
    await page.route("**/*", _script)
    await page.goto("http://page.test/")
    yield Watched(page)
    await page.context.close()


async def _script(route: Route) -> None:
    path = urlsplit(route.request.url).path.lstrip("/")
    if not path.endswith(".js"):
        await route.fulfill(body="<!doctype html>", content_type="text/html")
        return
    file = ROOT / ("ui" if path.startswith("static/") else "") / path
    await route.fulfill(body=file.read_text(), content_type="text/javascript")


@dataclass(slots=True)
class Caller:
    """A page with a conversation in it, and everything the page sent."""

    watched: Watched
    sent: list[list[Any]] = field(default_factory=list)  # by socket; sound as bytes

    async def begin(self, wait: bool = True, **wishes: Any) -> bool:
        """Start; with `patience` ms to reconnect in, and another `url` if need be."""
        conversation = {name: wishes.pop(name) for name in ("url", "patience") if name in wishes}
        script = """
            const [options, wishes, wait] = given;
            const { Conversation } = await import("/static/wire/conversation.js");
            const { FakeSound } = await import("/tests/page_sound.js");
            window.sound = new FakeSound();
            window.talk = new Conversation({ url: "/v1/realtime", sound, ...options });
            window.states = [talk.state];
            talk.addEventListener("change", () => states.push(talk.state));
            window.outcome = talk.start({ devices: {}, consent: null, ...wishes });
            return wait && (await outcome);
        """
        return bool(await module(self.watched, script, conversation, wishes, wait))

    async def run(self, script: str) -> Any:
        return await module(self.watched, script)

    async def until(self, such: str) -> dict[str, Any]:
        """Wait for a state of which this holds; `s` is the state, `r` its last turn."""
        page = self.watched.page
        test = f"() => {{ const s = talk.state, r = s.turns.at(-1); return {such}; }}"
        await page.wait_for_function(test, timeout=15_000, polling=10)
        return await self.state()

    async def was(self, such: str) -> dict[str, Any]:
        """Wait until this has held of some state, however shortly; returns the first."""
        page = self.watched.page
        await page.wait_for_function(f"() => states.some((s) => {such})", timeout=15_000)
        found: dict[str, Any] = await page.evaluate(f"states.find((s) => {such})")
        return found

    async def phases(self) -> list[str]:
        script = "states.map((s) => s.phase).filter((phase, n, all) => phase !== all[n - 1])"
        phases: list[str] = await self.watched.page.evaluate(script)
        return phases

    async def state(self) -> dict[str, Any]:
        state: dict[str, Any] = await self.watched.page.evaluate("talk.state")
        return state

    async def hears_answer(self, count: int = 1) -> dict[str, Any]:
        """Wait until so many replies have been heard to the end."""
        replies = "s.turns.filter((t) => t.role === 'assistant' && !t.partial).length"
        return await self.until(f"s.phase === 'listening' && {replies} >= {count}")

    def told(self, kind: str, socket: int = -1) -> list[dict[str, Any]]:
        return [
            said for said in self.sent[socket] if isinstance(said, dict) and said["type"] == kind
        ]


@asynccontextmanager
async def calling(browser: Browser, url: str) -> AsyncGenerator[Caller, None]:
    """A page of the server at this address, with nothing in it yet."""
    watched = await open_page(browser, f"http://{urlsplit(url).netloc}/health", expected=EXPECTED)
    caller = Caller(watched)

    def opened(socket: Any) -> None:
        said: list[Any] = []
        caller.sent.append(said)
        socket.on("framesent", lambda frame: said.append(_read(frame)))

    watched.page.on("websocket", opened)
    await watched.page.route("**/static/**", _script)
    await watched.page.route("**/tests/**", _script)
    try:
        yield caller
    finally:
        with suppress(Exception):
            await watched.page.evaluate("window.talk?.end()")
        await watched.page.context.close()
    watched.check()


def _read(frame: str | bytes) -> Any:
    return json.loads(frame) if isinstance(frame, str) else frame


TALE = "Once upon a time there was a little house by the sea, and nobody lived in it but a cat."


class Pleading:
    """A Transcriber to whom every sound is a plea to be heard."""

    async def transcribe(self, audio: AudioChunk) -> str:
        return "wait, listen to me" if np.abs(audio.samples).max(initial=0) > 0.05 else ""


class Telling:
    """A Responder with one tale to tell."""

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        for word in TALE.split():
            yield f"{word} "


def telling(word_sec: float = 0.2) -> Models:
    speaker = StandinSpeaker(word_sec=word_sec)
    return standins(transcriber=Pleading(), responder=Telling(), speaker=speaker)


brief = partial(standins, speaker=StandinSpeaker(word_sec=0.08))
wall = partial(serving, clock="wall")


# ---- what follows from what, without a server


async def reduced(scripts: Watched, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The states after each event; none may change the one before it."""
    script = """
        const { BEGINNING, story } = await import("/static/wire/story.js");
        const frozen = (value) => {
          const parts = value && typeof value === "object" ? Object.values(value) : [];
          parts.forEach(frozen);
          return Object.freeze(value);
        };
        const states = [BEGINNING];
        for (const event of given[0]) states.push(frozen(story(states.at(-1), frozen(event))));
        return states.slice(1);
    """
    states: list[dict[str, Any]] = await module(scripts, script, events)
    return states


async def test_words_are_cut_where_the_server_cuts_them(scripts: Watched) -> None:
    dice = np.random.default_rng(6)
    cases, expected = [], []
    for _ in range(40):
        playout = Playout(SampleClock(), _nowhere, lead_sec=1e9, keeps_buffer=True)
        pieces = []
        for word in ("I heard you, ", "well", " and so", ". ", "Tell me more about it."):
            length = int(dice.integers(1, 4_000))
            pieces.append({"begin": playout.sent, "text": word})
            silence = AudioChunk(np.zeros(length, np.float32), WIRE_RATE)
            await playout.play(SpokenChunk(silence, word))
        sample = int(dice.integers(0, playout.sent + 100))
        cases.append([pieces, playout.sent, sample])
        expected.append(playout.words_until(sample))
    script = """
        const { wordsUntil } = await import("/static/wire/heard.js");
        return given[0].map((one) => wordsUntil(...one));
    """
    assert await module(scripts, script, cases) == expected


async def _nowhere(piece: Any, pcm: bytes, offset: int) -> None:
    pass


async def _interruption() -> list[dict[str, Any]]:
    """What a server tells of a reply that is interrupted."""
    async with serving(telling()) as (url, _), talking(url, "?attune=1") as talker:
        await talker.update(attune={"binary": True})
        await talker.ask()
        await play_until(talker, "response.output_audio_transcript.delta", seconds=5)
        await talker.say(VOICE, 1.2)
        await play_until(talker, "conversation.item.truncated", seconds=5)
        await play_until(talker, "response.created", seconds=10)
        return talker.events


async def test_the_story_of_an_interruption_as_the_server_told_it(scripts: Watched) -> None:
    events: list[dict[str, Any]] = [{"type": "local.connecting"}, *await _interruption()]
    dones = [event["response"] for event in events if event["type"] == "response.done"]
    place = next(at for at, event in enumerate(events) if event["type"] == "attune.timing")
    of = {"responseId": dones[0]["id"]}
    arrived = {"type": "local.audio", **of, "received": 960, "onset": 480, "at": 1_000}
    played = {"type": "local.played", **of, "why": "first", "samples": 1, "at": 1_040}
    events[place + 1 : place + 1] = [arrived, {**played, "latency": 10}]
    states = await reduced(scripts, events)
    phases = [state["phase"] for state in states]
    order = [phase for place, phase in enumerate(phases) if phases[place - 1 : place] != [phase]]
    wanted = ["connecting", "listening", "hearing", "thinking", "speaking", "hearing"]
    assert order[:6] == wanted
    assert order[6:9] == ["interrupted", "hearing", "thinking"]
    asked, reply, again, *_ = states[-1]["turns"]
    assert (asked["role"], reply["role"], again["role"]) == ("user", "assistant", "user")
    assert reply["interrupted"] and reply["text"] and reply["unheard"]
    assert TALE.startswith(f"{reply['text']} {reply['unheard']}")
    stages = reply["timing"]["stages"]
    assert reply["timing"]["heard"] == pytest.approx(stages["opened"] + 40 + 10 + 20, abs=0.11)
    assert asked["percept"] and reply["plan"]["line"] and not again["partial"]


async def test_a_reply_cut_when_all_of_it_had_been_sent_shows_what_the_server_remembers(
    scripts: Watched,
) -> None:
    at = {"response_id": "r1", "item_id": "i1"}
    heard = {"id": "i1", "role": "assistant", "status": "completed"}
    told = "response.output_audio_transcript"
    events: list[dict[str, Any]] = [
        _response("r1", "in_progress"),
        {"type": f"{told}.delta", **at, "delta": "One two "},
        {"type": f"{told}.delta", **at, "delta": "three."},
        {"type": f"{told}.done", **at, "transcript": "One two three."},
        {"type": "conversation.item.done", "item": heard},
        _response("r1", "completed"),
        {"type": "conversation.item.truncated", "item_id": "i1"},
        {
            "type": "conversation.item.retrieved",
            "item": {**heard, "content": [{"type": "output_audio", "transcript": "One two"}]},
        },
    ]
    states = await reduced(scripts, events)
    assert [state["turns"][0]["interrupted"] for state in states[-3:]] == [False, True, True]
    assert states[-2]["turns"][0]["text"] == "One two three."
    reply = states[-1]["turns"][0]
    assert (reply["text"], reply["unheard"]) == ("One two", "three.")


async def test_a_sound_without_words_leaves_no_turn(scripts: Watched) -> None:
    item = {"item_id": "item_1"}
    completed = "conversation.item.input_audio_transcription.completed"
    events = [
        {"type": "input_audio_buffer.speech_started", **item},
        {"type": "input_audio_buffer.speech_stopped", **item},
        {"type": completed, **item, "transcript": ""},
    ]
    states = await reduced(scripts, events)
    assert [state["phase"] for state in states] == ["hearing", "thinking", "listening"]
    assert states[-1]["turns"] == []


def _response(name: str, status: str) -> dict[str, Any]:
    kind = "response.created" if status == "in_progress" else "response.done"
    return {"type": kind, "response": {"id": name, "status": status}}


async def test_a_reply_that_fails_is_marked_and_one_that_says_nothing_ends(
    scripts: Watched,
) -> None:
    events = [
        _response("r1", "in_progress"),
        {"type": "response.output_item.added", "response_id": "r1", "item": {"id": "i1"}},
        _response("r1", "failed"),
        {"type": "error", "error": {"code": "model_error"}},
        _response("r2", "in_progress"),
        _response("r2", "completed"),
    ]
    states = await reduced(scripts, events)
    assert states[2]["turns"][0]["failed"]
    assert states[3]["problem"] is None and states[3]["notice"] is None
    assert states[4]["phase"] == "thinking" and states[5]["phase"] == "listening"


async def test_rather_a_gap_than_a_lag_and_the_count_follows_what_was_sent(
    scripts: Watched,
) -> None:
    script = """
        const { Uplink } = await import("/static/wire/uplink.js");
        let gaps = 0, sent = 0;
        const link = { open: true, backlog: 0, sendAudio: () => (sent += 1) };
        const uplink = new Uplink(() => (gaps += 1));
        const frame = new Int16Array(960);
        const found = [uplink.position(500)];
        uplink.begin(link);
        uplink.frame(frame, 9_600);
        found.push(uplink.position(9_600), uplink.position(9_700), uplink.position(100));
        link.backlog = 48_001;
        for (let count = 1; count <= 10; count += 1) uplink.frame(frame, 9_600 + count * 960);
        link.backlog = 20_000;
        uplink.frame(frame, 20_160);
        link.backlog = 100;
        uplink.frame(frame, 21_120);
        found.push(uplink.position(21_120));
        return { gaps, sent, found };
    """
    found = await module(scripts, script)
    assert found == {"gaps": 1, "sent": 2, "found": [None, 960, 1_060, None, 1_920]}


async def test_what_an_earlier_session_or_a_stopped_reply_still_says_is_not_played(
    scripts: Watched,
) -> None:
    script = """
        const { Downlink } = await import("/static/wire/downlink.js");
        const played = [];
        const sound = { play: (...part) => played.push(part.slice(0, 2)), flush() {} };
        const downlink = new Downlink(sound, () => {}, () => {});
        const created = (id, sequence) =>
          downlink.follow({ type: "response.created", response: { id, attune: { sequence } } });
        const audio = (sequence, offset) => {
          const frame = new DataView(new ArrayBuffer(12));
          frame.setUint32(0, sequence, true);
          frame.setUint32(4, offset, true);
          downlink.audio(frame.buffer, 0);
        };
        created("a", 1);
        audio(1, 0);
        downlink.follow({ type: "response.done", response: { id: "a", status: "cancelled" } });
        audio(1, 2);
        created("b", 3);
        audio(3, 0);
        downlink.begin();
        audio(3, 2);
        created("c", 1);
        audio(1, 0);
        return played;
    """
    assert await module(scripts, script) == [[1, 0], [3, 0], [4, 0]]


async def test_silencing_a_reply_silences_those_before_it(scripts: Watched) -> None:
    script = """
        const { Downlink } = await import("/static/wire/downlink.js");
        const flushed = [];
        const sound = { flush: (sequence) => flushed.push(sequence) };
        const downlink = new Downlink(sound, () => {}, () => {});
        for (const sequence of [1, 2, 3, 4]) {
          const response = { id: `r${sequence}`, attune: { sequence } };
          downlink.follow({ type: "response.created", response });
        }
        const cancel = (id) =>
          downlink.follow({ type: "response.done", response: { id, status: "cancelled" } });
        ["r1", "r3", "r2"].forEach(cancel);
        return flushed;
    """
    assert await module(scripts, script) == [1, 2, 3]


# A socket that does as the test says: `made` are all of them, `begin` is what each does.
SOCKETS = """
    const made = [];
    let begin = () => {};
    class Socket extends EventTarget {
      bufferedAmount = 0;
      sent = [];
      constructor() {
        super();
        made.push(this);
        queueMicrotask(() => (this.onopen(), begin(this)));
      }
      send(data) { this.sent.push(typeof data === "string" ? JSON.parse(data) : data); }
      says(event) { this.onmessage({ data: JSON.stringify(event) }); }
      close(code = 1006) { this.onclose({ code }); this.dispatchEvent(new Event("close")); }
    }
    const real = { WebSocket: window.WebSocket, setTimeout: window.setTimeout };
    window.WebSocket = Socket;
"""


async def test_percepts_on_their_way_when_perception_is_switched_off_are_ignored(
    scripts: Watched,
) -> None:
    script = f"""
        {SOCKETS}
        const {{ Conversation }} = await import("/static/wire/conversation.js");
        const {{ FakeSound }} = await import("/tests/page_sound.js");
        begin = (socket) => socket.says({{ type: "session.created" }});
        const talk = new Conversation({{ sound: new FakeSound() }});
        await talk.start({{ perception: true }});
        const heard = () => {{
          const percept = {{ seconds: 1 }};
          made[0].says({{ type: "attune.percept", item_id: "i", percept, final: true }});
          return talk.state.percept !== null;
        }};
        const found = [heard()];
        talk.setPerception(false);
        found.push(heard());
        await talk.end();
        Object.assign(window, real);
        return found;
    """
    assert await module(scripts, script) == [True, False]


async def test_a_name_goes_only_with_something_it_could_stand_beside(scripts: Watched) -> None:
    script = """
        const { consentEvent } = await import("/static/wire/opening.js");
        const named = (consent) => "name" in consentEvent({ consent, name: "Ada" });
        return [null, { research: true }, { audio: true }, { transcript: true }].map(named);
    """
    assert await module(scripts, script) == [False, False, True, True]


LINE = f"""
    {SOCKETS}
    const {{ Line }} = await import("/static/wire/line.js");
    const called = [];
    const over = new AbortController();
    const outcome = new Promise((resolve) => {{
      const calls = Object.fromEntries(
        ["onbegin", "onevent", "onaudio", "ondrop", "onwait", "onback", "onfail"].map((name) =>
          [name, (...told) => {{
            called.push(name);
            if (name === "onfail") resolve(told[0]);
            if (name === "onback" && made.length === given[1]) resolve("back");
          }}]));
      window.line = new Line("/v1/realtime", calls, {{ patience: given[0], signal: over.signal }});
    }});
"""


async def test_sessions_that_break_at_once_do_not_go_on_for_ever(scripts: Watched) -> None:
    script = f"""
        {LINE}
        begin = (socket) => {{
          socket.says({{ type: "session.created" }});
          setTimeout(() => socket.close());
        }};
        line.connect();
        const late = new Promise((resolve) => setTimeout(() => resolve("late"), 6_000));
        const found = await Promise.race([outcome, late]);
        over.abort();
        Object.assign(window, real);
        return [found, made.length];
    """
    found, made = await module(scripts, script, 1_000, -1)
    assert found == "error" and made <= 4


async def test_a_session_that_settled_gives_all_the_patience_back(scripts: Watched) -> None:
    script = f"""
        {LINE}
        const {{ now }} = performance;
        let skipped = 0;
        performance.now = () => now.call(performance) + skipped;
        begin = (socket) => {{
          socket.says({{ type: "session.created" }});
          if (made.length === 3) return;
          if (made.length === 2) skipped += 20_000;
          setTimeout(() => socket.close());
        }};
        line.connect();
        const found = await outcome;
        over.abort();
        delete performance.now;
        Object.assign(window, real);
        return [found, made.length];
    """
    assert await module(scripts, script, 5_000, 3) == ["back", 3]


async def test_a_socket_that_opens_and_says_nothing_is_given_up(scripts: Watched) -> None:
    script = f"""
        {LINE}
        window.setTimeout = (call, ms) => real.setTimeout.call(window, call, ms >= 9_000 ? 30 : ms);
        line.connect();
        const late = new Promise((resolve) => setTimeout(() => resolve("late"), 3_000));
        const found = await Promise.race([outcome, late]);
        Object.assign(window, real);
        return [found, called];
    """
    assert await module(scripts, script, 1_000, -1) == ["refused", ["onfail"]]


async def test_waits_grow_to_eight_seconds_and_differ_between_pages(scripts: Watched) -> None:
    script = """
        const { waitBefore } = await import("/static/wire/backoff.js");
        const waits = (chance) => [0, 1, 2, 3, 4, 9].map((n) => waitBefore(n, chance));
        return [0, 0.5, 1].map(waits);
    """
    least, middle, most = await module(scripts, script)
    assert middle == [500, 1_000, 2_000, 4_000, 8_000, 8_000]
    assert least[0] == 375 and most[4] == 10_000


# ---- talking


async def test_a_spoken_turn_from_consent_to_the_last_sample(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        wall(recording={"runs": str(tmp_path)}) as (url, house),
        calling(browser, url) as caller,
    ):
        assert await caller.begin(consent=ALL, persona="Be kind.", name="Ada")
        await caller.run("sound.say(0.7)")
        await caller.was("s.phase === 'hearing' && s.turns[0].partial")
        state = await caller.hears_answer()
        asked, reply = state["turns"]
        assert reply["text"] == f"I heard you, you said {asked['text']}."
        assert not asked["partial"] and not reply["interrupted"] and reply["unheard"] == ""
        assert asked["percept"]["emotion"]["neutral"] == 1 and state["percept"]["final"]
        assert reply["plan"]["line"].startswith("heard:")
        assert reply["timing"]["heard"] > reply["timing"]["stages"]["opened"]
        assert state["recording"] == {"recording": True, "scopes": [*ALL], "reason": None}
        assert [session["id"] for session in state["sessions"]] == [state["session"]["id"]]
        order = ["idle", "connecting", "listening", "hearing", "thinking", "speaking", "listening"]
        assert await caller.phases() == order
        _reported(caller, reply, await caller.run("return sound.told"))
        await caller.run("await talk.end()")
        assert (await caller.state())["phase"] == "ended"
        assert (await caller.run("return sound.calls.at(-1)")) == ["close"]
        _consent_came_first(caller.sent[0])
        kept = await _kept(tmp_path, state["session"]["id"])
    assert kept["client"]["capture"] == {
        "echo_cancellation": True,
        "noise_suppression": True,
        "auto_gain_control": True,
        "sample_rate": 48_000,
        "channel_count": 1,
    }
    assert kept["client"]["binary"] and kept["prompts"]["instructions"] == "Be kind."


def _reported(caller: Caller, reply: dict[str, Any], sounded: list[dict[str, Any]]) -> None:
    """The server learnt all that the loudspeaker did, by its own count of the input."""
    reports = caller.told("attune.playback")
    assert [report["played_samples"] for report in reports] == [told["samples"] for told in sounded]
    assert [sounded[0]["why"], sounded[-1]["why"]] == ["first", "ended"] and len(sounded) > 5
    assert {report["item_id"] for report in reports} == {reply["id"]}
    assert {report["response_id"] for report in reports} == {reply["responseId"]}
    sent = sum(len(said) for said in caller.sent[0] if isinstance(said, bytes)) // 2
    for report, told in zip(reports, sounded, strict=True):
        assert 0 < report["input_samples"] <= min(sent, told["inputSamples"])


def _consent_came_first(sent: list[Any]) -> None:
    kinds = ["sound" if isinstance(said, bytes) else said["type"] for said in sent]
    assert kinds[:2] == ["attune.consent", "session.update"]
    assert "sound" in kinds and "input_audio_buffer.append" not in kinds


async def _kept(runs: Path, session_id: str) -> dict[str, Any]:
    """The session's file, once it is whole."""
    async with asyncio.timeout(10):
        while not (file := _read_session(runs, session_id)).get("ended"):  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.05)
    return file


def _read_session(runs: Path, session_id: str) -> dict[str, Any]:
    found = list(runs.glob(f"*/{session_id}/session.json"))
    return dict(json.loads(found[0].read_text())) if found else {}


def _written(runs: Path) -> dict[str, str]:
    """All that was written down, by file name; of sound, that there is any."""
    files = [file for file in runs.rglob("*") if file.is_file()]
    words = (".json", ".jsonl")
    return {file.name: file.read_text() if file.suffix in words else "" for file in files}


async def test_refusing_keeps_nothing_of_what_was_said(browser: Browser, tmp_path: Path) -> None:
    async with (
        wall(brief(), recording={"runs": str(tmp_path)}) as (url, house),
        calling(browser, url) as caller,
    ):
        await caller.begin(consent=None, name="Ada")
        await caller.run("sound.say(0.4)")
        state = await caller.hears_answer()
        assert state["recording"]["recording"] is False
        words = state["turns"][0]["text"]
        await caller.run("await talk.end()")
        await _kept(tmp_path, state["session"]["id"])
    said = caller.told("attune.consent")[0]
    assert [said["transcript"], said["audio"], said["research"]] == [False] * 3
    kept = _written(tmp_path)
    assert "session.json" in kept and "audio.flac" not in kept
    assert words and not any(words in text for text in kept.values())


async def test_consent_withdrawn_and_perception_switched_off_hold_at_once(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        wall(brief(), recording={"runs": str(tmp_path)}) as (url, _),
        calling(browser, url) as caller,
    ):
        await caller.begin(consent=ALL)
        await caller.until("s.recording?.recording")
        await caller.run("talk.setConsent(null); talk.setPerception(false); sound.say(0.4)")
        state = await caller.hears_answer()
        assert state["recording"]["recording"] is False
        assert state["turns"][0]["percept"] is None and state["percept"] is None


# ---- interrupting


async def test_an_interruption_cuts_the_reply_where_it_was_heard(browser: Browser) -> None:
    async with wall(telling()) as (url, _), calling(browser, url) as caller:
        await caller.begin()
        await caller.run("sound.say(0.4)")
        await caller.until("s.phase === 'speaking' && s.reply.played > 15_000")
        await caller.run("sound.say(1)")
        await caller.was("s.phase === 'interrupted' && s.user")
        state = await caller.until("s.turns[1].unheard && s.turns.length > 2")
        reply = state["turns"][1]
        words = (await caller.run("return sound.played.get(1)")) / (WIRE_RATE / 5)
        assert reply["interrupted"] and words - 1 <= len(reply["text"].split()) <= words + 1
        assert TALE.startswith(f"{reply['text']} {reply['unheard']}")
        calls = [call[:2] for call in await caller.run("return sound.calls")]
        assert calls[1:3] == [["hold", 1], ["flush", 1]]
        assert caller.told("conversation.item.retrieve")[0]["item_id"] == reply["id"]
        state = await caller.until("s.turns.length === 4 && s.phase === 'speaking'")
        assert [turn["interrupted"] for turn in state["turns"]] == [False, True, False, False]


async def test_a_cough_holds_the_reply_and_lets_it_go_on(browser: Browser) -> None:
    async with wall() as (url, _), calling(browser, url) as caller:
        await caller.begin()
        await caller.run("sound.say(0.5)")
        await caller.until("s.phase === 'speaking' && s.reply.played > 6_000")
        await caller.run("sound.say(0.16)")
        await caller.was("s.held")
        state = await caller.hears_answer()
        assert [turn["interrupted"] for turn in state["turns"]] == [False, False]
        names = [call[0] for call in await caller.run("return sound.calls")]
        assert names == ["open", "hold", "resume", "finish"]


async def test_a_reply_can_be_stopped_and_typed_words_come_before_it(browser: Browser) -> None:
    async with wall() as (url, _), calling(browser, url) as caller:
        await caller.begin(greeting="Hello there.")
        assert await caller.run("return talk.sendText('  ')") is False
        assert await caller.run("return talk.sendText(' What is up? ')") is True
        state = await caller.until("s.phase === 'speaking' && s.reply.played > 15_000")
        assert [turn["text"] for turn in state["turns"][:2]] == ["Hello there.", "What is up?"]
        await caller.run("await talk.stopReply()")
        state = await caller.until("s.phase === 'interrupted' && r.unheard")
        assert state["turns"][2]["text"] and state["turns"][2]["interrupted"]
        kinds = [said["type"] for said in caller.sent[0] if isinstance(said, dict)]
        told = kinds.index("output_audio_buffer.clear")
        assert kinds[told - 1] == "attune.playback" and "attune.playback" not in kinds[told:]
        assert caller.told("attune.playback")[-1]["played_samples"] == (
            await caller.run("return sound.played.get(1)")
        )
        await caller.run("talk.sendText('One')")
        await caller.until("s.phase === 'speaking'")
        await caller.run("talk.sendText('Two')")
        state = await caller.until("r.text.endsWith('Two.') && s.phase === 'listening'")
        assert [turn["interrupted"] for turn in state["turns"][-4:]] == [False, True, False, False]
        assert state["notice"] is None and state["problem"] is None


# ---- push to talk


async def test_push_to_talk_hears_only_what_is_said_while_pressed(browser: Browser) -> None:
    async with wall(telling(0.08)) as (url, _), calling(browser, url) as caller:
        await caller.begin(pushToTalk=True)
        await caller.run("await sound.say(0.4); talk.press(); await talk.release()")
        assert (await caller.phases())[-2:] == ["hearing", "listening"]
        unheard = [said for said in caller.sent[0] if isinstance(said, bytes)]
        assert len(unheard) > 9 and not any(map(any, unheard)), "before the press, silence"
        state = await caller.until("s.notice?.kind === 'too_short'")
        assert state["turns"] == [] and state["phase"] == "listening"
        assert caller.told("input_audio_buffer.commit") == []
        await caller.run("talk.press(); await sound.say(0.6); await talk.release()")
        state = await caller.hears_answer()
        assert [turn["text"] for turn in state["turns"]] == ["wait, listen to me", TALE]
        assert 0.6 <= state["turns"][0]["percept"]["seconds"] <= 1, "nothing from before the press"
        await caller.run("talk.setPushToTalk(false); sound.say(1.5)")
        await caller.hears_answer(2)


async def test_pressing_stops_the_reply_and_pressing_again_at_once_is_one_turn(
    browser: Browser,
) -> None:
    async with wall(telling()) as (url, _), calling(browser, url) as caller:
        await caller.begin(pushToTalk=True)
        await caller.run("talk.press(); await sound.say(0.4); await talk.release()")
        await caller.until("s.phase === 'speaking' && s.reply.played > 10_000")
        await caller.run("talk.press(); await sound.say(0.3)")
        state = await caller.until("s.turns[1].unheard")
        assert state["turns"][1]["interrupted"] and state["phase"] == "hearing"
        await caller.run("talk.release(); talk.press(); await sound.say(0.2); await talk.release()")
        state = await caller.until("s.phase === 'speaking'")
        assert [turn["role"] for turn in state["turns"]] == ["user", "assistant"] * 2
        assert len(caller.told("input_audio_buffer.commit")) == 2
        assert len(caller.told("input_audio_buffer.clear")) == 2, "its beginning is not lost"


async def test_a_long_silence_does_not_pile_up_while_nobody_presses(scripts: Watched) -> None:
    script = """
        const { PushToTalk } = await import("/static/wire/push_to_talk.js");
        const sent = [];
        const uplink = { sent: 0 };
        const button = new PushToTalk(uplink, (event) => sent.push(event.type), () => {});
        button.begin(true);
        for (; uplink.sent < 24_000 * 150; uplink.sent += 960) button.tick();
        return { sent, listens: uplink.listens };
    """
    found = await module(scripts, script)
    assert found == {"sent": ["input_audio_buffer.clear"] * 2, "listens": False}


# ---- when it breaks


class Wire:
    """A TCP way to a server that can be cut, frozen, and laid to another one."""

    def __init__(self) -> None:
        self.target = 0
        self.frozen = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            beyond, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        for source, sink in ((reader, back), (beyond, writer)):
            pump = asyncio.create_task(self._pump(source, sink))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65_536):
                if not self.frozen:
                    sink.write(data)
                    await sink.drain()
        sink.close()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def end(self) -> None:
        self.cut()
        for pump in list(self._pumps):
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)


@asynccontextmanager
async def wired(url: str) -> AsyncGenerator[tuple[str, Wire], None]:
    wire = Wire()
    wire.target = urlsplit(url).port or 0
    listening = await asyncio.start_server(wire.take, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        yield f"ws://127.0.0.1:{port}/v1/realtime", wire
    finally:
        listening.close()
        await wire.end()


async def test_after_a_cut_the_same_session_goes_on_and_the_reply_with_it(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        wall(telling(0.1), recording={"runs": str(tmp_path)}) as (direct, house),
        wired(direct) as (url, wire),
        calling(browser, url) as caller,
    ):
        await caller.begin(consent=ALL)
        await caller.run("sound.say(0.5)")
        await caller.until("s.phase === 'speaking' && s.reply.played > 15_000")
        wire.cut()
        state = await caller.was("s.phase === 'reconnecting'")
        assert state["notice"] == {"kind": "dropped"}
        assert not state["turns"][1]["interrupted"], "it may yet go on"
        state = await caller.was("s.reconnected")
        assert state["phase"] == "speaking" and state["notice"] == {"kind": "resumed"}
        assert state["recording"]["recording"] is True
        state = await caller.hears_answer(1)
        assert state["reconnected"] == 1 and len(state["sessions"]) == 1
        reply = state["turns"][1]
        assert reply["text"] == TALE and not reply["interrupted"]
        assert state["reply"]["played"] == state["reply"]["received"]
        await caller.run("sound.say(0.4)")
        state = await caller.hears_answer(2)
        assert len(state["turns"]) == 4 and len(house.sessions) == 1
        await caller.run("await talk.end()")
    said = [each if isinstance(each, dict) else {} for each in caller.sent[1]]
    assert [each.get("type") for each in said[:3]] == ["session.update", "attune.playback", None]
    assert not caller.told("attune.consent", 1) and not caller.told("conversation.item.create", 1)
    assert verify(folder(tmp_path)) == []
    turns = [turn for turn in read(folder(tmp_path)).turns if turn.role == "assistant"]
    assert len(turns) == 2 and not any(turn.interrupted for turn in turns)


async def test_a_token_that_is_void_makes_a_new_session_of_it(browser: Browser) -> None:
    async with (
        wall(brief(), resume_sec=0.1) as (direct, house),
        wired(direct) as (url, wire),
        calling(browser, url) as caller,
    ):
        await caller.begin()
        await caller.run("sound.say(0.4)")
        await caller.hears_answer()
        wire.cut()
        state = await caller.until("s.phase === 'listening' && s.reconnected")
        assert state["notice"] == {"kind": "reconnected"} and len(state["sessions"]) == 2
        assert len(house.sessions) == 1 and len(caller.sent) == 3
    assert len(caller.told("conversation.item.create", 2)) == 2


async def test_what_was_decided_while_nobody_was_there_is_told_afterwards(
    browser: Browser,
) -> None:
    async with (
        wall(brief()) as (direct, _),
        wired(direct) as (url, wire),
        calling(browser, url) as caller,
    ):
        await caller.begin(consent=ALL)
        await caller.until("s.recording?.recording")
        wire.cut()
        await caller.was("s.phase === 'reconnecting'")
        await caller.run("talk.setConsent(null)")
        await caller.until("s.reconnected && s.recording?.recording === false")
    assert caller.told("attune.consent", 1) == [REFUSED]


async def test_where_nobody_can_come_back_the_page_remembers_what_was_said(
    browser: Browser,
) -> None:
    async with (
        wall(resume_sec=0) as (direct, house),
        wired(direct) as (url, wire),
        calling(browser, url) as caller,
    ):
        await caller.begin(consent=ALL)
        await caller.run("sound.say(0.5)")
        await caller.until("s.phase === 'speaking' && s.reply.played > 15_000")
        wire.cut()
        state = await caller.was("s.phase === 'reconnecting'")
        reply = state["turns"][1]
        assert reply["interrupted"] and reply["text"].startswith("I heard")
        assert state["notice"] == {"kind": "dropped"}
        assert state["recording"] is None, "nothing is known of the new session yet"
        state = await caller.until("s.phase === 'listening' && s.reconnected")
        assert state["reconnected"] == 1 and state["notice"] == {"kind": "reconnected"}
        assert len(state["sessions"]) == 2 and state["session"] == state["sessions"][1]
        await caller.until("s.recording?.recording")
        await caller.run("sound.say(0.4)")
        state = await caller.hears_answer(2)
        assert len(state["turns"]) == 4 and len(house.sessions) == 1
    first = ["" if isinstance(said, bytes) else said["type"] for said in caller.sent[1]][:5]
    assert first[:4] == ["attune.consent", "session.update", *["conversation.item.create"] * 2]
    assert first[4] == "", "sound comes after all that"
    asked, answered = (said["item"] for said in caller.told("conversation.item.create", 1))
    assert asked["content"] == [{"type": "input_text", "text": state["turns"][0]["text"]}]
    assert answered["content"] == [{"type": "output_text", "text": reply["text"]}]
    assert state["turns"][3]["sessionId"] != state["turns"][1]["sessionId"]


REFUSED = {"type": "attune.consent", "transcript": False, "audio": False, "research": False}
DELETE = """const { id, secret } = talk.state.session;
    const headers = { authorization: `Bearer ${secret}` };
    await fetch(`/api/sessions/${id}`, { method: "DELETE", headers });"""


@pytest.mark.parametrize(
    ("giving_up", "reason"),
    [
        ("sound.say(0.4)", "child"),
        (DELETE, "deleted"),
        ("talk.setConsent(null)", None),
    ],
    ids=["child", "deleted", "stopped"],
)
@pytest.mark.parametrize("resume_sec", [0, 30], ids=["anew", "resumed"])
async def test_recording_given_up_stays_given_up_after_a_cut(
    browser: Browser, tmp_path: Path, giving_up: str, reason: str | None, resume_sec: int
) -> None:
    heard = CHILD if reason == "child" else ADULT
    rules = {"runs": str(tmp_path), "children": False}
    async with (
        wall(brief(perceiver=Ages(heard)), recording=rules, resume_sec=resume_sec) as (direct, _),
        wired(direct) as (url, wire),
        calling(browser, url) as caller,
    ):
        await caller.begin(consent=ALL, name="Ada")
        await caller.until("s.recording?.recording")
        await caller.run(giving_up)
        state = await caller.until("s.recording?.recording === false")
        assert state["recording"]["reason"] == reason
        wire.cut()
        state = await caller.until("s.reconnected && s.recording")
        assert state["recording"]["recording"] is False
        assert len(state["sessions"]) == (2 if resume_sec == 0 else 1)
    assert caller.sent[0][0] == {"type": "attune.consent", **ALL, "name": "Ada"}
    told = [] if resume_sec and reason is None else [REFUSED]  # it had been told before
    assert caller.told("attune.consent", 1) == told


def _port(url: str) -> int:
    return urlsplit(url).port or 0


async def test_a_server_that_stops_is_named_and_its_successor_answers_what_was_asked(
    browser: Browser,
) -> None:
    slow = standins(responder=StandinResponder(first_delay_sec=30))
    async with AsyncExitStack() as first:
        direct, _ = await first.enter_async_context(wall(slow))
        async with wired(direct) as (url, wire), calling(browser, url) as caller:
            await caller.begin()
            await caller.run("sound.say(0.4)")
            await caller.until("s.phase === 'thinking' && r && !r.partial")
            await first.aclose()
            state = await caller.was("s.phase === 'reconnecting' && s.problem?.seconds")
            assert state["problem"]["kind"] == "gone"
            async with wall(brief()) as (other, _):
                wire.target = _port(other)
                await caller.run("dispatchEvent(new Event('online'))")  # which waits no longer
                state = await caller.until("s.reconnected && s.phase === 'listening'")
                await caller.run("await talk.end()")
    assert state["problem"] is None and state["reconnected"] == 1
    asked, reply = state["turns"]
    assert reply["text"] == f"I heard you, you said {asked['text']}."


async def test_a_server_that_stays_away_is_given_up_and_can_be_asked_again(
    browser: Browser,
) -> None:
    async with AsyncExitStack() as first:
        direct, _ = await first.enter_async_context(wall(brief()))
        async with wired(direct) as (url, wire), calling(browser, url) as caller:
            await caller.begin(patience=700)
            await caller.run("sound.say(0.4)")
            await caller.hears_answer()
            await first.aclose()
            state = await caller.until("s.phase === 'ended'")
            assert state["problem"] == {"kind": "gone"}
            assert (await caller.run("return sound.calls.at(-1)")) == ["close"]
            assert await caller.run("return talk.start({ devices: {} })") is False
            assert (await caller.state())["problem"] == {"kind": "gone"}
            async with wall(brief()) as (other, _):
                wire.target = _port(other)
                assert await caller.run("return talk.start({ devices: {} })") is True
                state = await caller.until("s.phase === 'listening'")
                await caller.run("await talk.end()")
    assert len(state["turns"]) == 2, "what was said is not forgotten"
    assert len(caller.told("conversation.item.create")) == 2


async def test_a_network_that_swallows_everything_is_noticed(browser: Browser) -> None:
    async with (
        wall() as (direct, _),
        wired(direct) as (url, wire),
        calling(browser, url) as caller,
    ):
        await caller.begin()
        await asyncio.sleep(1.1)  # nothing was said for a while
        wire.frozen = True
        await caller.run("dispatchEvent(new Event('offline'))")
        assert (await caller.state())["notice"] == {"kind": "offline"}
        await caller.was("s.phase === 'reconnecting'")
        wire.frozen = False
        await caller.run("dispatchEvent(new Event('online'))")
        state = await caller.until("s.phase === 'listening'")
        assert state["reconnected"] == 1


async def test_what_a_network_swallowed_of_a_reply_is_heard_afterwards(browser: Browser) -> None:
    async with (
        wall(telling(0.3)) as (direct, house),
        wired(direct) as (url, wire),
        calling(browser, url) as caller,
    ):
        await caller.begin()
        await caller.run("sound.say(0.5)")
        await caller.until("s.phase === 'speaking' && s.reply.played > 10_000")
        wire.frozen = True
        await asyncio.sleep(1.1)  # until nothing has come for a while
        await caller.run("dispatchEvent(new Event('offline'))")
        await caller.was("s.phase === 'reconnecting'")
        wire.frozen = False
        await caller.run("dispatchEvent(new Event('online'))")
        state = await caller.hears_answer(1)
        assert state["turns"][1]["text"] == TALE and not state["turns"][1]["interrupted"]
        assert state["reply"]["played"] == state["reply"]["received"]
        assert len(house.sessions) == 1 and len(state["sessions"]) == 1


async def test_a_full_server_says_so_and_lets_us_in_when_somebody_leaves(browser: Browser) -> None:
    full = wall(brief(), seats=1, admission={"queue": 0})
    async with full as (url, _), calling(browser, url) as caller:
        async with talking(url):
            await caller.begin(wait=False)
            state = await caller.was("s.problem?.seconds")
            assert state["problem"]["kind"] == "full" and state["phase"] == "connecting"
        assert await caller.run("return await outcome") is True
        state = await caller.until("s.phase === 'listening'")
        assert state["problem"] is None and state["reconnected"] == 0
        await caller.run("sound.say(0.4)")
        await caller.hears_answer()


async def test_in_line_nothing_is_sent_and_the_session_begins_when_it_is_our_turn(
    browser: Browser,
) -> None:
    async with wall(brief(), seats=1) as (url, _), calling(browser, url) as caller:
        async with talking(url):
            await caller.begin(wait=False)
            state = await caller.was("s.queue")
            assert state["queue"] == {"position": 1, "seconds": None}
            assert state["phase"] == "connecting" and state["problem"] is None
            await caller.run("sound.say(0.2)")
            assert caller.sent == [[]]
        assert await caller.run("return await outcome") is True
        state = await caller.until("s.phase === 'listening'")
        assert state["queue"] is None and state["reconnected"] == 0
        await caller.run("sound.say(0.4)")
        await caller.hears_answer()


async def test_ending_while_in_line_gives_the_place_up(browser: Browser) -> None:
    async with wall(seats=1) as (url, house), talking(url), calling(browser, url) as caller:
        await caller.begin(wait=False)
        await caller.was("s.queue")
        await caller.run("await talk.end()")
        assert await caller.run("return await outcome") is False
        state = await caller.state()
        assert state["queue"] is None and state["problem"] is None
        while house.porter.admission.waiting:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def test_a_server_that_stays_full_is_given_up(browser: Browser) -> None:
    full = wall(seats=1, admission={"queue": 0})
    async with full as (url, _), talking(url), calling(browser, url) as caller:
        assert await caller.begin(patience=300) is False
        state = await caller.state()
        assert state["problem"] == {"kind": "full"} and state["phase"] == "idle"


async def test_a_page_of_another_origin_is_refused_and_told_so(browser: Browser) -> None:
    async with wall() as (url, _):
        named = url.replace("127.0.0.1", "localhost")
        async with calling(browser, named) as caller:
            assert await caller.begin(url=url) is False
            state = await caller.state()
            caller.watched.elsewhere.clear()
    assert state["problem"] == {"kind": "refused"} and state["phase"] == "idle"


async def test_a_microphone_that_is_denied_or_lost_is_a_problem(browser: Browser) -> None:
    async with wall() as (url, house), calling(browser, url) as caller:
        assert await caller.begin(devices={"deviceId": "denied"}) is False
        state = await caller.state()
        assert state["problem"] == {"kind": "denied"} and state["phase"] == "idle"
        assert not house.sessions and caller.sent == []
        assert await caller.begin()
        await caller.run("sound.dispatchEvent(new CustomEvent('lost'))")
        assert (await caller.state())["problem"] == {"kind": "lost"}
        await caller.run("await talk.choose({ deviceId: 'other' })")
        state = await caller.state()
        assert state["problem"] is None and state["phase"] == "listening"
