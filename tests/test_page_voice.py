"""The sound of the pages, in a real browser: what it plays, what it captures, and what it tells."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
import soundfile
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

from models.types import WIRE_RATE
from tests.browser import Watched, chromium, module, open_page
from tests.serving import running
from ui.app import STATIC
from ui.demo_clips import OURS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

FRAME = 960
FADE_SEC = 0.008
HUMMED, SPOKEN = 437.5, 1250.0  # Hz: what the microphone hears, and what is said in its place
BLANK = "<!doctype html><link rel=icon href=data:,><p>…</p>"
UNASKED = """<script type="module">
  import { Sound } from "/static/voice/sound.js";
  globalThis.sound = new Sound();
  await sound.open({microphone: false});
  console.log(sound.running ? "sounds" : "waits");
</script>"""
AS_AT_HOME = "--autoplay-policy=document-user-activation-required"  # which is every user's
ELSEWHERE = "not-this-machine.test"  # a host that no browser trusts with a microphone

# Replies as a server sends them: 40 ms at a time. `constant` is 0.5 throughout, so that any step in
# what is played is a click; `noise` is different everywhere, so that every sample knows its place.
REPLIES = """
const voice = "/static/voice";
const { Player } = await import(`${voice}/player.js`);
const PIECE = 960;
const constant = (count) => new Int16Array(count).fill(16384);
const noise = (count) => Int16Array.from({length: count}, (_, n) => 8000 + (n * 7919) % 16001);
class Stage {
  constructor(rate = 24000) {
    this.rate = rate; this.frame = 0; this.out = []; this.told = [];
    this.player = new Player(rate, (told) => this.told.push(told));
  }
  give(sequence, pcm, from = 0, to = pcm.length) {
    for (let at = from; at < to; at += PIECE) {
      this.player.play(sequence, at, pcm.slice(at, Math.min(to, at + PIECE)), this.frame);
    }
  }
  run(seconds) {
    for (const end = this.frame + seconds * this.rate; this.frame < end; this.frame += 128) {
      const block = new Float32Array(128);
      this.player.render(block, this.frame);
      this.out.push(...block);
    }
  }
  result() {
    return {out: this.out, told: this.told, underruns: this.player.underruns, frame: this.frame};
  }
}
const stage = new Stage(given[0]);
"""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site() -> AsyncGenerator[str, None]:
    app = FastAPI()
    app.mount("/static", StaticFiles(directory=STATIC))
    app.mount("/demo", StaticFiles(directory=OURS))
    app.get("/")(lambda: HTMLResponse(BLANK))
    app.get("/unasked")(lambda: HTMLResponse(BLANK + UNASKED))
    async with running(app) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def heard(
    site: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Watched, None]:
    """A page whose microphone hears somebody hum."""
    humming = tmp_path_factory.mktemp("microphone") / "humming.wav"
    seconds = np.arange(48_000 * 2) / 48_000
    swelling = 0.3 * np.square(np.sin(np.pi * 3 * seconds))  # or it passes for noise to suppress
    soundfile.write(humming, swelling * np.sin(2 * np.pi * HUMMED * seconds), 48_000)
    async with chromium(AS_AT_HOME, microphone=humming) as browser:
        watched = await open_page(browser, site)
        await watched.page.click("p")
        yield watched
        watched.check()


async def acted(watched: Watched, script: str, rate: int = WIRE_RATE) -> dict[str, Any]:
    """What a player did in a scene of its own, with its clock in our hands."""
    told: dict[str, Any] = await module(watched, f"{REPLIES} {script} return stage.result();", rate)
    told["out"] = np.asarray(told["out"])
    return told


def noise(count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return (8000 + (np.arange(count) * 7919) % 16001) / 32768


def reasons(told: dict[str, Any], sequence: int = 1) -> list[tuple[str, int]]:
    return [
        (one["why"], one["samples"])
        for one in told["told"]
        if one["sequence"] == sequence and one["why"] != "progress"
    ]


def largest_step(out: Any) -> float:
    return float(np.abs(np.diff(out, prepend=0, append=0)).max())


# What a half-cosine over the fade of a sound of 0.5 moves by at the most, and a little.
SMOOTH = 0.5 * np.pi / 2 / (FADE_SEC * WIRE_RATE) * 1.05


@pytest.mark.parametrize("rate", [44_100, 48_000, 96_000])
async def test_a_tone_keeps_level_and_place_at_another_rate(heard: Watched, rate: int) -> None:
    there, back = await module(
        heard,
        """
        const { Resampler } = await import("/static/voice/resampler.js");
        return [[given[0], 24000], [24000, given[0]]].map(([from, to]) => {
          const resampler = new Resampler(from, to);
          const wave = (_, n) => Math.sin(2000 * Math.PI * n / from);
          const tone = Float32Array.from({length: from}, wave);
          return [...resampler.process(tone).slice(), ...resampler.flush()];
        });
        """,
        rate,
    )
    for made, made_rate in ((there, WIRE_RATE), (back, rate)):
        assert len(made) == made_rate
        inner = slice(made_rate // 100, -made_rate // 100)
        ideal = np.sin(2000 * np.pi * np.arange(made_rate) / made_rate)
        assert np.abs((np.asarray(made) - ideal)[inner]).max() < 10 ** (-60 / 20)


@pytest.mark.parametrize("hertz", [12_600, 15_000, 21_000])
async def test_what_the_wire_cannot_carry_does_not_fold_back(heard: Watched, hertz: int) -> None:
    folded = await module(
        heard,
        """
        const { Resampler } = await import("/static/voice/resampler.js");
        const wave = (_, n) => Math.sin(2 * Math.PI * given[0] * n / 48000);
        const tone = Float32Array.from({length: 48000}, wave);
        return [...new Resampler(48000, 24000).process(tone)].slice(500);
        """,
        hertz,
    )
    assert np.sqrt(np.mean(np.square(folded)) * 2) < 10 ** (-60 / 20)


async def test_blocks_of_any_size_give_what_one_block_gives(heard: Watched) -> None:
    same, count = await module(
        heard,
        """
        const { Resampler } = await import("/static/voice/resampler.js");
        const sound = Float32Array.from({length: 20000}, (_, n) => ((n * 7919) % 2001) / 1000 - 1);
        const [one, many] = [new Resampler(44100, 24000), new Resampler(44100, 24000)];
        const whole = [...one.process(sound).slice(), ...one.flush()];
        const parts = [];
        for (let at = 0, size = 1; at < sound.length; at += size, size = (size * 5) % 331) {
          parts.push(...many.process(sound.subarray(at, at + size)));
        }
        parts.push(...many.flush());
        return [whole.every((sample, n) => sample === parts[n]), parts.length];
        """,
    )
    assert same
    assert count == -(-20_000 * 24_000 // 44_100)


async def test_more_is_kept_in_hand_when_sound_arrives_unevenly_and_slowly_less_again(
    heard: Watched,
) -> None:
    calm, held_up, soon, later, stalled, most = await module(
        heard,
        """
        const { Jitter } = await import("/static/voice/jitter.js");
        // The server sends 100 ms ahead, at the pace of the loudspeaker; `late` is the network's.
        const reply = (jitter, begin, late) => {
          jitter.begin();
          for (let n = 0; n < 100; n += 1) {
            jitter.arrived(n * 0.04, begin + Math.max(0, n * 0.04 - 0.06) + late(n));
          }
        };
        const even = new Jitter();
        reply(even, 0, () => 0);
        const calm = even.target(4);
        const uneven = new Jitter();
        // Every tenth piece is held up, and those behind it come with it.
        reply(uneven, 0, (n) => Math.max(0, 0.12 - (n % 10) * 0.04));
        const held_up = uneven.target(4);
        const slow = new Jitter();
        reply(slow, 0, (n) => n < 50 ? 0 : 0.3); // the model had to think
        const wild = new Jitter();
        reply(wild, 0, (n) => Math.max(0, 0.8 - (n % 25) * 0.04));
        for (let n = 0; n < 9; n += 1) wild.ranDry(4);
        return [calm, held_up, uneven.target(6), uneven.target(60), slow.target(4), wild.target(4)];
        """,
    )
    assert 0.04 <= calm <= 0.06
    assert 0.12 <= held_up <= 0.16
    assert 0.85 * held_up < soon < held_up
    assert later < 0.06
    assert stalled <= 0.06
    assert most == 0.25


@pytest.mark.parametrize("rate", [WIRE_RATE, 48_000])
async def test_a_reply_sounds_whole_and_tells_how_far_it_is(heard: Watched, rate: int) -> None:
    told = await acted(
        heard,
        """
        const pcm = noise(24000 * 1.5 + 100);
        stage.give(1, pcm); stage.player.finish(1, pcm.length); stage.run(2);
        """,
        rate,
    )
    count = WIRE_RATE * 3 // 2 + 100
    assert reasons(told) == [("first", 0), ("ended", count)]
    reports = told["told"]
    begin = reports[0]["frame"]
    for one, other in zip(reports, reports[1:], strict=False):
        assert 0 < other["frame"] - one["frame"] <= 0.2 * rate
        assert abs((other["frame"] - begin) * WIRE_RATE / rate - other["samples"]) <= 1
    if rate == WIRE_RATE:
        fade = round(FADE_SEC * rate)
        inner = slice(begin + fade, begin + count - fade)
        np.testing.assert_allclose(told["out"][inner], noise(count)[fade:-fade], atol=1e-6)
    assert not told["out"][reports[-1]["frame"] :].any()


async def test_it_begins_and_ends_softly(heard: Watched) -> None:
    told = await acted(
        heard,
        "stage.give(1, constant(12000)); stage.player.finish(1, 12000); stage.run(1);",
    )
    assert told["out"].max() == 0.5
    assert largest_step(told["out"]) <= SMOOTH


async def test_a_flushed_reply_is_silent_within_50_ms_and_for_good(heard: Watched) -> None:
    told = await acted(
        heard,
        """
        const pcm = constant(24000);
        stage.give(1, pcm, 0, 12000); stage.run(0.2);
        stage.player.flush(1, stage.frame);
        stage.flushedAt = stage.frame;
        stage.run(0.1);
        stage.give(1, pcm, 12000); stage.run(0.2);
        stage.player.resume(1); stage.run(0.2);
        stage.told.push({sequence: 0, why: "at", samples: stage.flushedAt});
        """,
    )
    [(_, flushed_at)] = reasons(told, 0)
    last = int(np.flatnonzero(told["out"]).max())
    assert flushed_at < last <= flushed_at + 0.05 * WIRE_RATE
    assert reasons(told) == [("first", 0), ("flushed", last + 2)]  # the fade's last sample is 0
    assert largest_step(told["out"]) <= SMOOTH


async def test_sound_of_a_reply_that_is_over_or_older_never_sounds(heard: Watched) -> None:
    told = await acted(
        heard,
        """
        stage.player.flush(4, 0);
        stage.give(4, constant(2400)); stage.run(0.3);
        stage.give(5, constant(2400)); stage.player.finish(5, 2400); stage.run(0.3);
        stage.give(5, constant(4800), 2880); stage.give(3, constant(4800)); stage.run(0.5);
        """,
    )
    assert reasons(told, 5) == [("first", 0), ("ended", 2400)]
    assert {one["sequence"] for one in told["told"]} == {5}
    assert np.count_nonzero(told["out"]) <= 2400


async def test_the_next_reply_waits_for_the_one_before(heard: Watched) -> None:
    told = await acted(
        heard,
        """
        stage.give(1, constant(4800)); stage.run(0.05);
        stage.give(2, noise(4800)); stage.player.finish(2, 4800); stage.run(0.05);
        stage.player.finish(1, 4800); stage.run(0.5);
        """,
    )
    assert reasons(told) == [("first", 0), ("ended", 4800)]
    assert reasons(told, 2) == [("first", 0), ("ended", 4800)]
    [begin, end] = [one["frame"] for one in told["told"] if one["samples"] in (0, 4800)][1:3]
    assert begin == end == 4800


async def test_a_held_reply_goes_on_where_it_faded_and_loses_nothing(heard: Watched) -> None:
    told = await acted(
        heard,
        """
        const pcm = noise(24000);
        stage.give(1, pcm, 0, 4800); stage.run(0.1);
        stage.player.hold(1, stage.frame); stage.run(0.3);
        stage.player.resume(1);
        stage.give(1, pcm, 4800); stage.player.finish(1, 24000); stage.run(1.2);
        """,
    )
    out, fade = told["out"], round(FADE_SEC * WIRE_RATE)
    [_, (why, kept), (over, total)] = reasons(told)
    assert (why, over, total) == ("held", "ended", 24_000)
    held = next(one for one in told["told"] if one["why"] == "held")
    assert held["frame"] == kept  # it had begun at once, and nothing was left out
    resumed = held["frame"] + int(np.flatnonzero(out[held["frame"] :])[0])
    assert resumed - held["frame"] > 0.25 * WIRE_RATE
    gains = np.concatenate([out[:kept], out[resumed : resumed + 24_000 - kept]]) / noise(24_000)
    assert ((gains >= 0) & (gains <= 1 + 1e-5)).all()
    whole = np.abs(gains - 1) < 1e-5
    assert whole[fade : kept - fade - 1].all()
    assert whole[kept + fade : -fade - 1].all()
    assert (np.diff(gains[kept - fade : kept]) <= 1e-5).all()
    assert (np.diff(gains[kept : kept + fade]) >= -1e-5).all()


async def test_a_reply_that_runs_dry_fades_says_so_and_comes_back_with_more_in_hand(
    heard: Watched,
) -> None:
    told = await acted(
        heard,
        """
        const pcm = constant(48000);
        stage.give(1, pcm, 0, 4800); stage.run(0.3);
        stage.give(1, pcm, 4800, 6720); stage.run(0.04);
        stage.give(1, pcm, 6720, 48000); stage.player.finish(1, 48000);
        stage.run(2);
        """,
    )
    assert reasons(told) == [("first", 0), ("dry", 4800), ("ended", 48_000)]
    assert told["underruns"] == 1
    assert largest_step(told["out"]) <= SMOOTH
    silent = told["out"][4800 : int(0.34 * WIRE_RATE)]
    assert not silent.any()  # 80 ms were enough for the beginning, and are not any more
    assert told["out"][-1] == 0


async def test_the_end_of_a_reply_is_no_underrun(heard: Watched) -> None:
    told = await acted(
        heard,
        """
        stage.give(1, constant(4800)); stage.run(0.4);
        stage.player.finish(1, 4800); stage.run(0.1);
        """,
    )
    assert reasons(told) == [("first", 0), ("dry", 4800), ("ended", 4800)]
    assert told["underruns"] == 0


# From here on with the browser's own sound: `listen` gives what is captured, `tap` what is heard.
SOUND = """
const { Sound } = await import("/static/voice/sound.js");
const sound = new Sound();
const told = [];
sound.addEventListener("played", ({detail}) => told.push(detail));
const soon = (promise) => Promise.race([promise, new Promise((_, reject) => {
  setTimeout(() => reject(new Error("waited in vain")), 20_000);
})]);
const until = (kind, holds) => soon(new Promise((resolve) => {
  const look = (event) => {
    if (!holds(event.detail)) return;
    sound.removeEventListener(kind, look);
    resolve(event.detail);
  };
  sound.addEventListener(kind, look);
}));
const listen = (count) => soon(new Promise((resolve) => {
  const frames = [];
  sound.onframe = (frame, captured) => {
    frames.push({samples: [...frame], captured});
    if (frames.length === count) { sound.onframe = null; resolve(frames); }
  };
}));
const tap = async () => {
  const { context } = sound.output;
  const source = `registerProcessor("tap", class extends AudioWorkletProcessor {
    process([[block]]) {
      if (block) this.port.postMessage({frame: currentFrame, block: block.slice()});
      return true;
    }
  });`;
  const url = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
  await context.audioWorklet.addModule(url);
  const mono = {channelCount: 1, channelCountMode: "explicit"};
  const node = new AudioWorkletNode(context, "tap", mono);
  sound.output.connect(node);
  const blocks = [];
  node.port.onmessage = ({data}) => blocks.push(data);
  return blocks;
};
"""


def pitch(frames: list[dict[str, Any]]) -> float:
    """The median of several stretches: a busy machine's browser drops sound now and then."""
    found = []
    for begin in range(0, len(frames) - 4, 5):
        stretch = [frame["samples"] for frame in frames[begin : begin + 5]]
        samples = np.concatenate(stretch).astype(float)
        spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 8 * len(samples)))
        found.append(float(np.argmax(spectrum) * WIRE_RATE / (8 * len(samples))))
    return float(np.median(found))


@pytest.mark.parametrize("own_rate", [False, True])
async def test_the_microphone_comes_in_frames_of_40_ms_at_24_khz(
    heard: Watched, own_rate: bool
) -> None:
    frames, capture, rate, seconds = await module(
        heard,
        f"""
        {SOUND}
        const create = AudioContext.prototype.createMediaStreamSource;
        if (given[0]) AudioContext.prototype.createMediaStreamSource = function (stream) {{
          if (this.sampleRate === 24000) throw new DOMException("", "NotSupportedError");
          return create.call(this, stream);
        }};
        await sound.open();
        const began = performance.now();
        const frames = await listen(35);
        const seconds = (performance.now() - began) / 1000;
        const result = [frames, sound.capture, sound.output.context.sampleRate, seconds];
        await sound.close();
        AudioContext.prototype.createMediaStreamSource = create;
        return result;
        """,
        own_rate,
    )
    assert (rate == WIRE_RATE) is not own_rate
    assert [frame["captured"] for frame in frames] == [FRAME * n for n in range(1, 36)]
    assert {len(frame["samples"]) for frame in frames} == {FRAME}
    assert pitch(frames[10:]) == pytest.approx(HUMMED, abs=3)
    assert 1.0 < seconds < 10  # no faster than life; a busy machine may be slower
    assert capture["echo_cancellation"] and capture["noise_suppression"]
    assert capture["auto_gain_control"] and capture["channel_count"] == 1


async def test_a_muted_microphone_gives_silence_and_a_recording_speaks_in_its_place(
    heard: Watched,
) -> None:
    muted, levels, spoken, after, over, audible = await module(
        heard,
        f"""
        {SOUND}
        await sound.open();
        await listen(10);
        sound.muted = true;
        await listen(5);
        const muted = await listen(5);
        sound.muted = false;
        const [rate, seconds] = [24000, 0.8];
        const wav = new DataView(new ArrayBuffer(44 + 2 * rate * seconds));
        const text = (at, letters) => {{
          [...letters].forEach((c, n) => wav.setUint8(at + n, c.charCodeAt(0)));
        }};
        text(0, "RIFF"); text(8, "WAVEfmt "); text(36, "data");
        wav.setUint32(4, wav.byteLength - 8, true); wav.setUint32(16, 16, true);
        wav.setUint16(20, 1, true); wav.setUint16(22, 1, true); wav.setUint32(24, rate, true);
        wav.setUint32(28, 2 * rate, true); wav.setUint16(32, 2, true); wav.setUint16(34, 16, true);
        wav.setUint32(40, 2 * rate * seconds, true);
        for (let n = 0; n < rate * seconds; n += 1) {{
          wav.setInt16(44 + 2 * n, 9000 * Math.sin(2 * Math.PI * given[0] * n / rate), true);
        }}
        const levels = [];
        sound.addEventListener("level", ({{detail}}) => levels.push(detail));
        const blocks = await tap();
        let over = false;
        const url = URL.createObjectURL(new Blob([wav]));
        const said = sound.say(url).then(() => {{ over = true; }});
        await listen(5);
        const spoken = await listen(10);
        const early = over;
        const audible = blocks.some(({{block}}) => block.some((sample) => sample > 0.2));
        await said;
        await listen(10);
        const after = await listen(12);
        await sound.close();
        return [muted, levels, spoken, after, early, audible];
        """,
        SPOKEN,
    )
    assert not any(any(frame["samples"]) for frame in muted)
    assert not over
    assert pitch(spoken) == pytest.approx(SPOKEN, abs=5)
    assert pitch(after) == pytest.approx(HUMMED, abs=5)
    assert max(level["input"] for level in levels) > 0.5
    assert max(level["output"] for level in levels) == 0  # no reply
    assert audible
    assert all(0 <= level[side] <= 1 for level in levels for side in ("input", "output"))


async def test_the_loudspeaker_is_silent_within_50_ms_of_a_flush_and_told_the_truth(
    heard: Watched,
) -> None:
    blocks, told, called, latency = await module(
        heard,
        f"""
        {SOUND}
        await sound.open({{microphone: false}});
        const blocks = await tap();
        const pcm = new Int16Array(24000 * 3).fill(16384);
        for (let at = 0; at < pcm.length; at += 960) sound.play(7, at, pcm.subarray(at, at + 960));
        await until("played", ({{why, samples}}) => why === "progress" && samples > 12000);
        const called = sound.output.context.currentTime * 24000;
        sound.flush(7);
        await until("played", ({{why}}) => why === "flushed");
        await listen(5);
        const latency = sound.outputLatency;
        await sound.close();
        return [blocks.map(({{frame, block}}) => [frame, [...block]]), told, called, latency];
        """,
    )
    out = np.concatenate([block for _, block in blocks])
    sounding = np.flatnonzero(out)
    begin, end = blocks[0][0] + sounding[0], blocks[0][0] + sounding[-1]
    assert end - called <= 0.05 * WIRE_RATE
    assert largest_step(out[sounding[0] - 1 : sounding[-1] + 2]) <= SMOOTH
    assert [one["why"] for one in told if one["why"] != "progress"] == ["first", "flushed"]
    assert told[-1]["samples"] == pytest.approx(end - begin, abs=4)
    # Played and captured are counted by one clock; what is played is heard a little later.
    offsets = {one["inputSamples"] - one["samples"] for one in told}
    assert len(offsets) == 1
    assert 0 <= latency < 0.5


async def test_before_a_click_there_is_no_sound_and_after_one_there_is(
    heard: Watched, site: str
) -> None:
    browser = heard.page.context.browser
    assert browser is not None
    watched = await open_page(browser, site, expected=["user gesture"])
    async with watched.page.expect_console_message(lambda said: said.type == "log") as said:
        await watched.page.goto(f"{site}unasked")  # to ask the page itself would be a gesture
    assert (await said.value).text == "waits"
    await watched.page.click("p")
    await watched.page.wait_for_function("() => sound.running && sound.captured")
    watched.check()
    await watched.page.context.close()


async def test_a_microphone_that_is_unplugged_is_told_and_another_can_be_chosen(
    heard: Watched,
) -> None:
    lost, silent, again, inputs = await module(
        heard,
        f"""
        {SOUND}
        const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
        const tracks = [];
        navigator.mediaDevices.getUserMedia = async (wanted) => {{
          const stream = await ask(wanted);
          tracks.push(...stream.getAudioTracks());
          return stream;
        }};
        await sound.open();
        await listen(2);
        const lost = until("lost", () => true);
        tracks[0].stop();
        tracks[0].dispatchEvent(new Event("ended")); // a browser tells only of what others stopped
        await lost;
        await listen(5);
        const silent = await listen(3);
        const {{ inputs }} = await Sound.devices();
        await sound.choose({{deviceId: inputs.at(-1).id}});
        await listen(10);
        const again = await listen(15);
        delete navigator.mediaDevices.getUserMedia;
        await sound.close();
        return [true, silent, again, inputs];
        """,
    )
    assert lost
    assert not any(any(frame["samples"]) for frame in silent)
    assert [frame["captured"] // FRAME for frame in again] == list(range(21, 36))
    assert any(any(frame["samples"]) for frame in again)
    assert all(device["id"] and device["label"] for device in inputs)


async def test_what_is_wrong_has_a_kind(heard: Watched) -> None:
    kinds = await module(
        heard,
        f"""
        {SOUND}
        const refused = async (name) => {{
          navigator.mediaDevices.getUserMedia = async () => {{ throw new DOMException("", name); }};
          return sound.open().then(() => "none", ({{kind}}) => kind);
        }};
        const kinds = [];
        for (const name of given) kinds.push(await refused(name));
        delete navigator.mediaDevices.getUserMedia;
        return kinds;
        """,
        "NotFoundError",
        "NotReadableError",
        "TypeError",
    )
    assert kinds == ["missing", "busy", "unsupported"]


async def test_without_leave_or_a_safe_connection_it_says_which(site: str) -> None:
    asked = f"{SOUND} return sound.open().then(() => 'none', (problem) => problem.kind);"
    unsafe = site.replace("127.0.0.1", ELSEWHERE)
    async with chromium(
        f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1", allowed=False
    ) as browser:
        assert await module(await open_page(browser, site), asked) == "denied"
        assert await module(await open_page(browser, unsafe), asked) == "insecure"


async def test_every_prepared_recording_can_be_said(heard: Watched) -> None:
    lengths = await module(
        heard,
        """
        const context = new OfflineAudioContext(1, 1, 24000);
        return Promise.all(given.map(async (file) => {
          const sound = await (await fetch(`/demo/${file}`)).arrayBuffer();
          return (await context.decodeAudioData(sound)).length;
        }));
        """,
        *(file.name for file in recordings()),
    )
    assert lengths == [soundfile.info(file).frames for file in recordings()]


def recordings() -> list[Path]:
    return sorted(OURS.glob("*.flac"))
