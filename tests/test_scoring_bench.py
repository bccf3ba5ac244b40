"""Benchmarks played to a live server: stand-ins answer, everything else is as it is."""

import asyncio
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
import soundfile
from typer import Typer
from typer.testing import CliRunner

from models.audio import resample
from models.perception.prosody import measure
from models.types import EAR_RATE, WIRE_RATE, Samples, Turn
from server.bench.process import served
from server.client import CallError
from server.config import ROOT
from server.consent import Consent
from server.scoring.alone import alone
from server.scoring.annotation import Annotation
from server.scoring.bench import __main__ as command
from server.scoring.bench import line, talk
from server.scoring.bench.conditions import CODECS, conditions, noisy, pink
from server.scoring.bench.errors import BenchmarkError, ItemError
from server.scoring.bench.fetching import Fetcher, http_url
from server.scoring.bench.folder import Benchmark, ResultFolder
from server.scoring.bench.item import Item
from server.scoring.bench.loaders import load
from server.scoring.bench.loudspeaker import REPORT, Loudspeaker
from server.scoring.bench.placing import found, position
from server.scoring.bench.planning import Play, Situation, Wanted, plays, situations
from server.scoring.bench.prompts import asked, described, instructions, material
from server.scoring.bench.running import IN_A_ROW, Runner
from server.scoring.bench.tempo import stretched
from server.scoring.planning import plan
from server.scoring.played import Played
from server.scoring.running import score
from server.scoring.settings import Settings
from server.scoring.sources import sources
from server.sessions.exchanges import exchanges, turns
from server.sessions.format import Line
from server.sessions.place import Place
from server.sessions.store import Store
from tests.fakes import SPEECH, Sadness, SaysByLevel
from tests.serving import serving, standins
from tests.talker import sound

ALL = Consent(transcript=True, audio=True, research=True)
WORDS = "please tell me more"
SPEECH_FILES = Path(__file__).parent / "data" / "speech"
CLEAN = conditions()


def item(audio: Path = Path("a.wav"), **told: Any) -> Item:
    told = {"benchmark": "csv", "item": "1", "task": "conversation", **told}
    return Item(Annotation(**told), audio)


def clip(file: Path, voice: float = 1.0) -> Path:
    """A voice of the tests', with silence around it."""
    hush = np.zeros(WIRE_RATE // 4, np.float32)
    soundfile.write(file, np.concatenate([hush, sound(SPEECH, voice), hush]), WIRE_RATE, "PCM_16")
    return file


def about(**told: Any) -> Benchmark:
    made = {"name": "csv", "title": "", "licence": "", "source": "", "url": ""}
    return Benchmark(**{**made, "began": datetime(2026, 3, 14, tzinfo=UTC), **told})


class Brief:
    """A Responder of few words."""

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        yield "I see."


@asynccontextmanager
async def server(runs: Path, perceiver: Any = None) -> AsyncGenerator[str, None]:
    roles = {"perceiver": perceiver} if perceiver else {}
    models = standins(transcriber=SaysByLevel(WORDS), responder=Brief(), **roles)
    async with serving(models, recording={"runs": str(runs)}) as (url, _):
        yield url


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No longer silences than the samples clock needs."""
    monkeypatch.setattr(talk, "PATIENCE_SEC", 1.5)
    monkeypatch.setattr(talk, "QUIET_SEC", 0.3)


async def played(out: Path, url: str, items: list[Item], **how: Any) -> list[Played]:
    wanted = {"tasks": ("conversation", "mcq"), "conditions": CLEAN, **how.pop("wanted", {})}
    folder = ResultFolder.open(out, about())
    runner = Runner(folder, url, how.pop("consent", ALL), realtime=False, **how)
    await runner.run(list(plays(items, Wanted(**wanted))))
    lines = (out / "items.jsonl").read_bytes().splitlines()
    return [Played.model_validate_json(line) for line in lines]


def told(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "bench.json").read_bytes())
    return found


# ---- played to a server


@pytest.mark.usefixtures("quick")
async def test_a_clip_becomes_a_whole_session_and_its_truth(tmp_path: Path) -> None:
    audio = clip(tmp_path / "a.wav")
    async with server(tmp_path / "theirs", Sadness()) as url:
        (one,) = await played(tmp_path / "out", url, [item(audio, cue="happy", text=WORDS)])
    store = Store.open(str(tmp_path / "out" / "runs"))
    stored = store.session(one.session_id)
    session = stored.file()
    assert (session.state, session.secret_sha256) == ("finished", None)
    assert (one.annotation.cue_given, one.annotation.prompt) == ("perceived", "zero")
    exchange = exchanges(turns(session, stored.lines()))[one.number]
    assert exchange.user is not None and exchange.user.text == WORDS
    assert exchange.user.percept is not None and exchange.user.percept["emotion"]["sad"] == 0.9
    assert exchange.reply is not None and exchange.reply.text

    # The voice lies between 0.25 s and 1.25 s of the clip; to the sample, as it was recorded.
    assert session.audio is not None
    pcm = stored.cut(0, session.audio.samples)
    loud = np.flatnonzero(np.abs(pcm[:, 0]) > 3_000)
    assert one.annotation.speech_end == loud[-1] + 1
    assert loud[-1] + 1 - loud[0] == WIRE_RATE
    reply = np.flatnonzero(pcm[:, 1])
    assert exchange.reply.start <= reply[0] and reply[-1] < exchange.reply.end
    assert reply[0] > one.annotation.speech_end
    assert not session.turns[-1].interrupted, "all of it was reported as heard"

    assert session.client is not None and session.client.user_agent == "attune-bench/csv"
    assert plan(sources([str(tmp_path / "theirs")])).left_out == {"played by a benchmark": 1}
    assert len(plan(sources([str(tmp_path / "out")])).planned) == 1
    theirs = Store.open(str(tmp_path / "theirs")).session(one.session_id)
    assert stored.cut(0, 10**9).tobytes() == theirs.cut(0, 10**9).tobytes()
    assert list(stored.lines()) == list(theirs.lines())
    summary = told(tmp_path / "out")
    assert (summary["wanted"], summary["played"], summary["failed"]) == (1, 1, 0)
    assert summary["ended"] and summary["models"]["responder"]["backend"] == "standin"


@pytest.mark.usefixtures("quick")
async def test_the_cue_is_told_or_kept_back_or_perceived(tmp_path: Path) -> None:
    audio = clip(tmp_path / "a.wav", 0.5)
    cues = ("true", "none", "perceived")
    async with server(tmp_path / "theirs", Sadness()) as url:
        items = [item(audio, cue="happy")]
        made = await played(tmp_path / "out", url, items, wanted={"cues": cues}, concurrency=3)
    heard = {}
    for one in made:
        stored = Store.open(str(tmp_path / "out" / "runs")).session(one.session_id)
        heard[one.annotation.cue_given] = turns(stored.file(), stored.lines())[0].percept
    told, perceived = heard["true"], heard["perceived"]
    assert told is not None and perceived is not None and heard["none"] is None
    assert (told["weights"], told["emotion"]["happy"]) == ("given", 1.0)
    assert (perceived["weights"], perceived["emotion"]["happy"]) == ("none", 0.0)


@pytest.mark.usefixtures("quick")
async def test_a_question_is_written_with_what_was_heard_and_words_without_any_reply(
    tmp_path: Path,
) -> None:
    audio = clip(tmp_path / "a.wav")
    question = {"question": "How?", "options": ("A. Sad", "B. Glad"), "answer": "A"}
    items = [
        item(audio, item="q", task="mcq", level="understanding", **question),
        item(audio, item="w", text=WORDS),
    ]
    wanted = {"tasks": ("asr", "mcq")}
    async with server(tmp_path / "theirs", Sadness()) as url:
        asked_of, wrote = await played(tmp_path / "out", url, items, wanted=wanted)
    store = Store.open(str(tmp_path / "out" / "runs"))
    stored = store.session(asked_of.session_id)
    (exchange,) = exchanges(turns(stored.file(), stored.lines()))
    assert exchange.user is not None and exchange.user.text == WORDS
    assert exchange.reply is not None and not exchange.reply.spoken
    (create,) = [
        line.event for line in stored.lines() if line.event.get("type") == "response.create"
    ]
    system, user = (each["content"][0]["text"] for each in create["response"]["input"])
    assert "emotion: sad (90%)" in system and WORDS in system and "B. Glad" in system
    assert user == "Which option is right, A or B?"

    stored = store.session(wrote.session_id)
    (exchange,) = exchanges(turns(stored.file(), stored.lines()))
    assert exchange.user is not None and (exchange.user.text, exchange.reply) == (WORDS, None)
    assert (wrote.annotation.task, wrote.annotation.reference) == ("asr", None)


@pytest.mark.usefixtures("quick")
async def test_one_that_fails_is_told_and_counted_and_the_rest_is_not_played_twice(
    tmp_path: Path,
) -> None:
    there = clip(tmp_path / "a.wav", 0.6)
    items = [item(there, item="1"), item(tmp_path / "gone.wav", item="2")]
    heard: list[tuple[int, int, str]] = []
    async with server(tmp_path / "theirs") as url:
        first = await played(
            tmp_path / "out", url, items, progress=lambda *each: heard.append(each)
        )
        assert [one.annotation.item for one in first] == ["1"]
        assert (heard[0][:2], heard[-1][:2]) == ((0, 2), (2, 2))
        assert "gone" not in heard[-1][2] and heard[-1][2].startswith("2 conversation clean")
        summary = told(tmp_path / "out")
        assert (summary["failed"], summary["played"]) == (1, 1)
        assert summary["problems"] == {"its audio cannot be read: No such file or directory": 1}

        clip(tmp_path / "gone.wav", 0.6)
        with (tmp_path / "out" / "items.jsonl").open("ab") as broken:
            broken.write(b'{"session_id": "sess_')  # as a crash leaves it
        both = await played(tmp_path / "out", url, items)
    assert [one.annotation.item for one in both] == ["1", "2"]
    assert both[0] == first[0]
    assert len(list((tmp_path / "out" / "runs").glob("*/*"))) == 2
    assert told(tmp_path / "out")["failed"] == 0


@pytest.mark.usefixtures("quick")
async def test_whoever_stops_in_the_middle_keeps_what_was_played(tmp_path: Path) -> None:
    items = [item(clip(tmp_path / f"{n}.wav", 0.5), item=str(n)) for n in range(3)]
    out = tmp_path / "out"
    async with server(tmp_path / "theirs") as url:
        folder = ResultFolder.open(out, about())
        wanted = list(plays(items, Wanted(CLEAN, tasks=("conversation",))))
        running: asyncio.Task[None]

        def stop(done: int, total: int, problem: str) -> None:
            if done == 1:
                running.cancel()

        runner = Runner(folder, url, ALL, realtime=False, progress=stop)
        running = asyncio.create_task(runner.run(wanted))
        with pytest.raises(asyncio.CancelledError):
            await running
        summary = told(out)
        assert (summary["played"], summary["wanted"], summary["ended"]) == (1, 3, None)
        assert len(await played(out, url, items)) == 3
    assert told(out)["ended"]


@pytest.mark.usefixtures("quick")
async def test_what_is_recorded_is_what_was_consented_to(tmp_path: Path) -> None:
    """Without sound the clip is placed by the log."""
    audio = clip(tmp_path / "a.wav")
    words = Consent(transcript=True, research=True)
    async with server(tmp_path / "theirs") as url:
        (one,) = await played(tmp_path / "out", url, [item(audio)], consent=words)
    (folder,) = (tmp_path / "out" / "runs").glob("*/*")
    assert sorted(file.name for file in folder.iterdir()) == ["events.jsonl", "session.json"]
    lead = round(talk.LEAD_SEC * WIRE_RATE)
    assert one.annotation.speech_end == lead + round(1.25 * WIRE_RATE)


async def test_a_server_that_is_not_there_or_fails_all_the_time_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [item(tmp_path / "none.wav", item=str(n)) for n in range(IN_A_ROW + 3)]
    with pytest.raises(BenchmarkError, match="No server answers at http://127.0.0.1:9 "):
        await played(tmp_path / "out", "ws://127.0.0.1:9/v1/realtime", items)
    assert told(tmp_path / "out")["failed"] == 0
    async with server(tmp_path / "theirs") as url:
        with pytest.raises(BenchmarkError, match=f"^{IN_A_ROW} items failed in a row, the last:"):
            await played(tmp_path / "out", url, items)
    assert told(tmp_path / "out")["failed"] == IN_A_ROW


async def test_a_server_that_records_nothing_fails_the_item(tmp_path: Path) -> None:
    audio = clip(tmp_path / "a.wav", 0.3)
    async with serving(recording={"enabled": False}) as (url, _):
        folder = ResultFolder.open(tmp_path / "out", about())
        runner = Runner(folder, url, ALL, realtime=False)
        await runner.run(list(plays([item(audio)], Wanted(CLEAN, tasks=("conversation",)))))
    (failure,) = told(tmp_path / "out")["failures"]
    assert failure["problem"] == "it was not recorded: no: recording is switched off there"


async def test_a_line_without_a_server_says_how_to_start_one() -> None:
    with pytest.raises(CallError, match="is the server running"):
        async with line.line("ws://127.0.0.1:9/", "csv", realtime=False):
            pass


# ---- the loudspeaker


def begun(speaker: Loudspeaker, sequence: int = 1) -> None:
    name = f"resp_{sequence}"
    speaker.told(
        {"type": "response.created", "response": {"id": name, "attune": {"sequence": sequence}}}
    )
    speaker.told(
        {
            "type": "response.output_item.added",
            "response_id": name,
            "item": {"id": f"item_{sequence}"},
        }
    )


def reports(speaker: Loudspeaker, pieces: int, piece: int = 480) -> list[tuple[str, int, int]]:
    return [
        (report.item_id, report.played_samples, report.input_samples)
        for _ in range(pieces)
        for report in speaker.advance(piece)
    ]


def test_a_reply_sounds_in_step_with_the_microphone_and_its_end_is_told() -> None:
    speaker = Loudspeaker()
    begun(speaker)
    assert reports(speaker, 2) == [] and speaker.silent
    speaker.receive(1, 0, 3_000)
    assert not speaker.silent
    # 960 samples were captured before; it reports every 100 ms, and when it has nothing left.
    assert reports(speaker, 8) == [("item_1", REPORT, 960 + REPORT), ("item_1", 3_000, 960 + 3_360)]
    assert speaker.silent


def test_a_held_reply_stands_still_and_goes_on() -> None:
    speaker = Loudspeaker()
    begun(speaker)
    speaker.receive(1, 0, 4_800)
    reports(speaker, 3)
    speaker.told({"type": "attune.hold"})
    assert reports(speaker, 4) == [("item_1", 1_440, 1_920)], "told once, when it fell silent"
    speaker.told({"type": "attune.resume"})
    assert reports(speaker, 7)[-1] == ("item_1", 4_800, 14 * 480)


def test_a_reply_that_was_cut_off_is_heard_no_more_and_the_next_is() -> None:
    speaker = Loudspeaker()
    begun(speaker)
    speaker.receive(1, 0, 48_000)
    reports(speaker, 5)
    speaker.told({"type": "attune.hold"})
    speaker.told({"type": "conversation.item.truncated", "item_id": "item_1"})
    assert speaker.silent
    speaker.receive(1, 48_000, 480)
    begun(speaker, 2)
    speaker.receive(2, 0, 480)
    assert reports(speaker, 2) == [("item_2", 480, 2_880), ("item_1", 2_400, 2_880)]


def test_two_replies_sound_one_after_the_other() -> None:
    speaker = Loudspeaker()
    begun(speaker)
    begun(speaker, 2)
    speaker.receive(1, 0, 700)
    speaker.receive(2, 0, 700)
    assert reports(speaker, 3) == [("item_1", 700, 960), ("item_2", 700, 1_440)]


# ---- what is played


def test_each_item_is_played_in_every_way_that_was_asked_for() -> None:
    items = [
        item(item="1", variant="target", cue="sad", text="Hm."),
        item(item="1", variant="neutral", cue="neutral", text="Hm."),
        item(item="q", task="mcq", cue="sad"),
        item(item="2"),
    ]
    made = plays(
        items,
        Wanted(
            conditions("10", "1.2"),
            ("target",),
            ("conversation", "asr"),
            ("true", "none"),
            "enhanced",
        ),
    )
    ways = [
        (told.item, told.task, told.condition, told.cue_given, told.prompt)
        for told in (play.annotation for play in made)
    ]
    named = ("clean", "noise 10 dB", "speed 1.2")
    assert ways == [
        *(("1", "conversation", how, cue, "enhanced") for how in named for cue in ("true", "none")),
        *(("1", "asr", how, "perceived", None) for how in named),
        *(("2", "conversation", how, "none", "enhanced") for how in named),
    ]


def test_a_limit_is_of_items_and_every_play_has_its_own_key() -> None:
    items = [item(item=str(n), cue="sad", text="Hm.") for n in range(5)]
    made = list(plays(items, Wanted(conditions("5"), cues=("true", "none"), limit=2)))
    assert {play.annotation.item for play in made} == {"0", "1"}
    assert len({play.key for play in made}) == len(made) == 2 * 2 * (2 + 1)


def test_a_limit_takes_a_group_whole_or_not_at_all() -> None:
    sizes = {"a": 2, "b": 3, "c": 2}
    # Groups lie across one another: the second of "a" comes when the limit is already reached.
    order = ["a", "b", "c", "c", "b", "a", "b"]
    items = [
        item(item=str(n), group=group, group_size=sizes[group]) for n, group in enumerate(order)
    ]

    def groups(limit: int) -> str:
        made = plays(items, Wanted(CLEAN, tasks=("conversation",), limit=limit))
        return "".join(str(play.annotation.group) for play in made)

    assert groups(5) == groups(6) == "abbab"
    assert groups(4) == "acca", "the second does not fit any more, the third does"
    assert groups(7) == "abccbab"
    with pytest.raises(BenchmarkError, match="--limit 1 is too few: 2 items belong together"):
        groups(1)


def test_a_situation_is_laid_under_conversations_and_takes_their_reference(tmp_path: Path) -> None:
    items = [item(item="1", reference="Oh.", text="Hm."), item(item="2")]
    lines = tmp_path / "lines.txt"
    lines.write_text("It rained.\n\nIt is her birthday.\n", "utf-8")
    made = list(plays(items, Wanted(CLEAN, situations=situations(lines))))
    told = [(each.annotation.item, each.annotation.task, each.annotation.context) for each in made]
    assert told == [
        ("1", "conversation", "It rained."), ("1", "conversation", "It is her birthday."),
        ("1", "asr", None), ("2", "conversation", "It rained."),
        ("2", "conversation", "It is her birthday."),
    ]  # fmt: skip
    assert {each.annotation.reference for each in made} == {None}
    assert made[0].annotation.setting == "context"
    assert "The situation: It rained." in instructions(made[0].annotation, "zero")

    table = tmp_path / "table.csv"
    table.write_text("item,context,reference\n2,It rained.,Oh dear.\n", "utf-8")
    assert situations(table) == [Situation("It rained.", "2", "Oh dear.")]
    first, second = plays(
        items, Wanted(CLEAN, tasks=("conversation",), situations=situations(table))
    )
    assert (first.annotation.context, first.annotation.reference) == (None, "Oh.")
    assert second.annotation.reference == "Oh dear."
    table.write_text(f"item,context\n2\n2,{'x' * 200_000}\n", "utf-8")
    with pytest.raises(BenchmarkError, match="cannot be read as a table"):
        situations(table)
    table.write_text("item,situation\n", "utf-8")
    with pytest.raises(BenchmarkError, match="no column 'context'"):
        situations(table)


def test_prompts_grow_stronger_and_the_strongest_depends_on_the_script() -> None:
    told = Annotation(topic="no_specific_topics", cue="sad")
    assert instructions(told, "zero") == ""
    basic = instructions(told, "basic")
    assert "no specific topics" in basic and "voice" not in basic
    assert instructions(told, "enhanced").startswith(basic)
    assert "how the voice sounds" in instructions(told, "enhanced")
    neutral = told.model_copy(update={"cue": "neutral"})
    assert instructions(neutral, "enhanced") == basic, "nobody knows what it was written for"
    assert "background" in instructions(neutral, "enhanced", "environment")
    assert "help desk" in instructions(neutral, "enhanced", "speaker")
    for prompt in ("basic", "enhanced"):
        assert "sad" not in instructions(told, prompt), "the cue itself is never told"


def test_a_question_holds_what_is_sure_and_nothing_else() -> None:
    percept = {
        "emotion": {"sad": 0.7, "neutral": 0.3}, "gender": {"female": 0.97, "male": 0.03},
        "age": {"adult": 0.9, "child": 0.1}, "events": {"sigh": 0.8, "cough": 0.2},
        "environment": {"rain": 0.9, "dog": 0.9}, "unknown": ["age", "other"],
    }  # fmt: skip
    heard = described(percept)
    assert (
        heard
        == "gender: female (97%), emotion: sad (70%), nonverbal: sigh (80%), weather: rain (90%)"
    )
    told = Annotation(question="What?", options=("A. x", "B. y", "C. z"))
    assert asked(told) == "Which option is right, A, B or C?"
    assert heard not in material(told, "Hm.", "") and "How it sounds" not in material(told, "", "")


# ---- worse circumstances


def voice() -> Samples:
    """A tone that comes and goes, with silence in between."""
    seconds = np.arange(2 * WIRE_RATE) / WIRE_RATE
    swell = np.where(seconds % 0.5 < 0.3, 0.3, 0.0)
    return (swell * np.sin(2 * np.pi * 300 * seconds)).astype(np.float32)


@pytest.mark.parametrize("snr", [20.0, 5.0])
def test_noise_lies_so_far_below_the_voice_alone(snr: float) -> None:
    clean = voice()
    noise = noisy(clean, snr) - clean
    spoken = clean[np.abs(clean) > 0]
    ratio = 10 * np.log10(np.mean(spoken**2) / np.mean(noise**2))
    assert ratio == pytest.approx(snr, abs=0.4)  # edges of frames are half silent
    assert np.array_equal(noisy(clean, snr), noisy(clean, snr)), "the same every time"


def test_noise_is_pink() -> None:
    power = np.abs(np.fft.rfft(pink(10 * WIRE_RATE))) ** 2
    hertz = np.fft.rfftfreq(10 * WIRE_RATE, 1 / WIRE_RATE)
    octaves = [power[(hertz >= low) & (hertz < 2 * low)].sum() for low in (100, 400, 1_600, 6_000)]
    assert np.ptp(10 * np.log10(octaves)) < 0.5
    assert power[hertz < 50].sum() == pytest.approx(0, abs=1e-9)


def test_a_faster_tape_is_shorter_and_higher() -> None:
    (_, fast) = conditions(rate="1.25")
    changed = fast.change(voice())
    assert (fast.name, fast.pace) == ("rate 1.25", 1.25)
    assert len(changed) == pytest.approx(2 * WIRE_RATE / 1.25, abs=2)
    spectrum = np.abs(np.fft.rfft(changed))
    pitch = np.argmax(spectrum) * WIRE_RATE / len(changed)
    assert pitch == pytest.approx(375, abs=1)


def test_a_faster_speaker_is_shorter_and_at_the_same_pitch() -> None:
    clean, rate = soundfile.read(SPEECH_FILES / "1624-142933-0000.ogg", dtype="float32")
    clean = resample(clean, rate, WIRE_RATE)
    own = measure(resample(clean, WIRE_RATE, EAR_RATE))
    assert own.f0_mean is not None and own.f0_range is not None
    for factor in (0.8, 1.25):
        _, changed, taped = conditions(speed=str(factor), rate=str(factor))
        assert (changed.name, changed.pace) == (f"speed {factor}", factor)
        faster = changed.change(clean)
        assert len(faster) == round(len(clean) / factor)
        found = measure(resample(faster, WIRE_RATE, EAR_RATE))
        assert found.f0_mean == pytest.approx(own.f0_mean, rel=0.04)
        assert found.f0_range == pytest.approx(own.f0_range, abs=2)
        assert found.loudness == pytest.approx(own.loudness, abs=1)
        tape = measure(resample(taped.change(clean), WIRE_RATE, EAR_RATE))
        assert tape.f0_mean == pytest.approx(own.f0_mean * factor, rel=0.05)


@pytest.mark.parametrize("pace", [0.5, 0.8, 1.0, 1.3, 2.0])
def test_a_stretched_tone_is_the_same_tone_and_lies_where_it_should(pace: float) -> None:
    # A second of silence, two of a tone that is no whole number of steps long, one of silence.
    at = np.arange(2 * WIRE_RATE) / WIRE_RATE
    tone = (0.3 * np.sin(2 * np.pi * 197.3 * at)).astype(np.float32)
    rest = np.zeros(WIRE_RATE, np.float32)
    found = stretched(np.concatenate([rest, tone, rest]), pace)
    assert found.dtype == np.float32 and len(found) == round(4 * WIRE_RATE / pace)
    loud = np.flatnonzero(np.abs(found) > 0.03) / WIRE_RATE
    assert loud[0] == pytest.approx(1 / pace, abs=0.025)
    assert loud[-1] == pytest.approx(3 / pace, abs=0.025)
    middle = found[round(1.2 / pace * WIRE_RATE) : round(2.8 / pace * WIRE_RATE)]
    spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle)), 8 * WIRE_RATE))
    assert np.argmax(spectrum) / 8 == pytest.approx(197.3, abs=0.5)
    assert np.sqrt(np.mean(middle**2)) == pytest.approx(0.3 / np.sqrt(2), rel=0.02)


def test_nothing_and_next_to_nothing_can_be_stretched() -> None:
    for samples in (0, 1, 50, 5_000):
        assert len(stretched(np.zeros(samples, np.float32), 1.25)) == round(samples / 1.25)


@pytest.mark.parametrize("codec", CODECS)
def test_a_codec_changes_the_sound_and_keeps_its_length(codec: str) -> None:
    (_, coded) = conditions(codec=codec)
    clean = voice()
    changed = coded.change(clean)
    assert coded.name == f"codec {codec}"
    assert abs(len(changed) - len(clean)) < 0.1 * WIRE_RATE
    shorter = min(len(changed), len(clean))
    lags = np.fft.irfft(
        np.fft.rfft(changed[:shorter], 2 * shorter).conj()
        * np.fft.rfft(clean[:shorter], 2 * shorter)
    )
    alike = np.abs(lags).max() / np.sqrt(np.sum(changed**2) * np.sum(clean**2))
    assert 0.9 < alike < 0.99999


@pytest.mark.parametrize(
    "flags",
    [{"noise": "loud"}, {"speed": "9"}, {"codec": "fax"}, {"noise": "nan"}, {"noise": "1e9"}],
)
def test_a_circumstance_nobody_knows_is_refused(flags: dict[str, str]) -> None:
    with pytest.raises(BenchmarkError, match=f"^--{next(iter(flags))} "):
        conditions(**flags)


# ---- where the clip lies


def test_the_clip_is_found_by_its_own_samples() -> None:
    random = np.random.default_rng(1)
    clip_of = random.integers(-9_000, 9_000, 20_000).astype("<i2")
    clip_of[:5_000] = 0
    recorded = np.concatenate([np.zeros(7_001, "<i2"), clip_of, np.zeros(99, "<i2")])
    assert found(recorded.tobytes(), clip_of.tobytes()) == 7_001
    assert found(recorded[9_000:].tobytes(), clip_of.tobytes()) is None, "its beginning is missing"
    assert found(recorded.tobytes(), (clip_of + 1).tobytes()) is None
    assert found(recorded.tobytes(), bytes(2_000)) is None, "silence is everywhere"


def test_without_sound_the_log_tells_where_a_sample_lies() -> None:
    wall = datetime(2026, 3, 14, tzinfo=UTC)

    def appended(n: int, begin: int, end: int, source: str = "client") -> Line:
        event = {"type": "input_audio_buffer.append", "samples": [begin, end], "messages": 1}
        return Line(n=n, at=end, wall=wall, source=source, event=event)

    # A second, then nothing for half of one, then another second.
    log = [appended(0, 0, 24_000), appended(1, 36_000, 60_000)]
    assert [position(log, sample) for sample in (0, 23_999, 24_000, 30_000)] == [
        0, 23_999, 36_000, 42_000,
    ]  # fmt: skip


def test_the_same_server_answers_http() -> None:
    assert http_url("ws://127.0.0.1:7860/v1/realtime?model=x") == "http://127.0.0.1:7860"
    assert http_url("wss://example.org/talk/v1/realtime") == "https://example.org/talk"
    for wrong in (
        "http://example.org", "127.0.0.1:7860", "ws://", "ws://[::1", "ws://127.0.0.1:99999/",
        "ws://user:pass/word@example.org",
    ):  # fmt: skip
        with pytest.raises(BenchmarkError, match="is no address of a server") as problem:
            http_url(wrong)
        assert "word" not in str(problem.value)


async def test_login_and_query_are_told_nobody(tmp_path: Path) -> None:
    url = "ws://me:pass@word@127.0.0.1:9/v1/realtime?key=secret#more"
    ResultFolder.open(tmp_path, about(url=url)).write(1)
    assert told(tmp_path)["url"] == "ws://127.0.0.1:9/v1/realtime"
    assert about(url="ws://[::1").url == ""
    fetcher = Fetcher(url, Place.at(tmp_path))
    with pytest.raises(BenchmarkError, match=r"^No server answers at http://127\.0\.0\.1:9 "):
        await fetcher.ready()
    await fetcher.close()
    for address in (url, url.removesuffix("#more"), f"{url} x"):
        with pytest.raises(CallError) as problem:
            async with line.line(address, "csv", realtime=False):
                pass
        assert not {"pass", "word", "secret"} & set(re.findall(r"\w+", str(problem.value)))


async def test_no_proxy_of_the_environment_stands_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.upper(), "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with server(tmp_path / "theirs") as url:
        fetcher = Fetcher(url, Place.at(tmp_path))
        await fetcher.ready()
        await fetcher.close()
        async with line.line(url, "csv", realtime=False) as call:
            await call.until("session.created")


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"7", b'{"session": []}', b"{}", b"\xff"])
async def test_a_server_that_tells_its_sessions_otherwise_fails_the_item(
    tmp_path: Path, answer: bytes
) -> None:
    fetcher = Fetcher("ws://127.0.0.1:9", Place.at(tmp_path))
    await fetcher.close()
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, content=answer))
    fetcher._client = httpx2.AsyncClient(transport=transport)
    with pytest.raises(ItemError, match="in another form"):
        await fetcher.fetch("sess_00000000000000000000", "")
    await fetcher.close()


async def test_a_server_that_talks_otherwise_fails_the_item(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def agree(*given: Any) -> dict[str, Any]:
        return {"type": "attune.recording"}

    monkeypatch.setattr(line.Line, "agree", agree)
    (play,) = plays([item()], Wanted(CLEAN))
    async with serving() as (url, _):
        with pytest.raises(ItemError, match="talks in another form: KeyError"):
            await talk.talk(play, sound(SPEECH, 0.1), url, "csv", ALL, realtime=False)


@pytest.mark.parametrize("token", ["geheimnisträger", "two\nlines"])
def test_a_token_that_is_none_is_refused_and_not_told(tmp_path: Path, token: str) -> None:
    with pytest.raises(BenchmarkError, match="^The operator's token has characters") as problem:
        Fetcher("ws://127.0.0.1:9", Place.at(tmp_path), token)
    assert token not in str(problem.value)


def test_items_that_cannot_be_gone_on_with_are_told(tmp_path: Path) -> None:
    line_of = {"session_id": "sess_1", "number": 99_999_999_999, "annotation": {}}
    (tmp_path / "items.jsonl").write_text(json.dumps(line_of) + "\n")
    with pytest.raises(BenchmarkError, match="has a line that cannot be read"):
        ResultFolder.open(tmp_path, about())
    (tmp_path / "items.jsonl").unlink()
    (tmp_path / "items.jsonl").mkdir()
    with pytest.raises(BenchmarkError, match="cannot be written to: Is a directory"):
        ResultFolder.open(tmp_path, about())


def test_a_folder_of_another_benchmark_is_left_alone(tmp_path: Path) -> None:
    ResultFolder.open(tmp_path, about(name="echomind")).write(1)
    with pytest.raises(BenchmarkError, match="holds a run of echomind"):
        ResultFolder.open(tmp_path, about())
    (tmp_path / "bench.json").write_bytes(b"{")
    with pytest.raises(BenchmarkError, match=r"bench\.json cannot be read"):
        ResultFolder.open(tmp_path, about())


# ---- the command


def run(*arguments: str) -> tuple[int, str]:
    app = Typer()
    app.command()(command.main)
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stderr.strip().splitlines()[-1] if result.stderr else ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("elsewhere",), "There is no benchmark 'elsewhere'"),
        (("echomind",), "is not there. Get EchoMind at https://huggingface.co/datasets/hlt-cuhksz"),
        (("csv", "--cue", "guessed"), "--cue takes some of true, none, perceived"),
        (("csv", "--tasks", "singing"), "--tasks takes some of conversation, asr, mcq"),
        (("csv", "--noise", "x"), "--noise takes numbers"),
        (("csv", "--judge", "http://127.0.0.1:9/v1"), "--judge needs --judge-model"),
        (("csv", "--metrics", "wer,werr"), "there is no metric, instrument or family 'werr'"),
    ],
)
def test_the_command_says_in_a_sentence_what_it_cannot_do(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    code, line = run(*arguments, "--data", str(tmp_path / "gone"), "--out", str(tmp_path / "out"))
    assert code == 1 and line.startswith("attune: ") and said in line
    assert not (tmp_path / "out").exists()


def test_the_command_plays_all_three_cues_and_scores_what_came_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("audio,cue\na.wav,sad\nb.wav,\n", "utf-8")
    seen: list[list[Play]] = []
    scored: list[tuple[Any, ...]] = []

    async def play(runner: Runner, wanted: list[Play]) -> None:
        seen.append(wanted)
        runner.folder.add(Played(session_id="sess_1", annotation=wanted[0].annotation))

    monkeypatch.setattr(Runner, "run", play)
    monkeypatch.setattr(command, "_score", lambda *how: scored.append(how))
    flags = ("--data", str(tmp_path / "t.csv"), "--out", str(tmp_path / "out"), "--ablation")
    assert run("csv", *flags, "--prompt", "basic")[0] == 0
    (wanted,) = seen
    assert [(each.annotation.cue, each.annotation.cue_given) for each in wanted] == [
        ("sad", "true"), ("sad", "none"), ("sad", "perceived"), (None, "none"), (None, "perceived"),
    ]  # fmt: skip
    assert [how[0] for how in scored] == [tmp_path / "out"]
    assert run("csv", *flags, "--no-score")[0] == 0 and len(scored) == 1
    judge = ("--judge", "http://127.0.0.1:9/v1", "--judge-model", "m", "--judge-hears")
    assert run("csv", *flags, *judge, "--judge-repeats", "3", "--metrics", "wer,ves")[0] == 0
    how = scored[1][1]
    assert (how.judge.hears, how.judge.repeats, how.metrics) == (True, 3, ("wer,ves",))


def test_playing_is_told_in_lines_of_json_and_problems_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what stdout is, as scoring is told; what is in a data set does not steer the terminal."""
    (tmp_path / "t.csv").write_text("audio,cue\na.wav,sad\n", "utf-8")

    async def play(runner: Runner, wanted: list[Play]) -> None:
        runner.progress(0, 1, "")
        runner.progress(1, 1, "1\x1b[2J: its audio cannot be read")

    monkeypatch.setattr(Runner, "run", play)
    app = Typer()
    app.command()(command.main)
    flags = ("csv", "--data", str(tmp_path / "t.csv"), "--out", str(tmp_path / "out"))
    done = CliRunner().invoke(app, list(flags))
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"done": 0, "total": 1, "doing": "playing"}, {"done": 1, "total": 1, "doing": "playing"},
    ]  # fmt: skip
    assert done.stderr.splitlines()[-1] == "attune: 1\ufffd[2J: its audio cannot be read"


def test_a_result_never_lies_among_sessions(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("audio,cue\na.wav,sad\n", "utf-8")
    (tmp_path / "runs/2026-03-14").mkdir(parents=True)
    code, line = run("csv", "--data", str(tmp_path / "t.csv"), "--out", str(tmp_path / "runs"))
    assert code == 1 and line.startswith(f"attune: {tmp_path / 'runs'} holds recorded sessions")
    assert [each.name for each in (tmp_path / "runs").iterdir()] == ["2026-03-14"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_being_told_to_end_while_playing_has_the_code_of_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    (tmp_path / "t.csv").write_text("audio,cue\na.wav,sad\n", "utf-8")
    tidied = []

    async def play(runner: Runner, wanted: list[Play]) -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.sleep(60)
        finally:
            tidied.append(runner)

    monkeypatch.setattr(Runner, "run", play)
    flags = ("--data", str(tmp_path / "t.csv"), "--out", str(tmp_path / "out"))
    before = signal.getsignal(signal.SIGTERM)
    told, line = run("csv", *flags)
    assert told == code and line.startswith("attune: stopped; 0 of 1 are in")
    assert tidied and signal.getsignal(signal.SIGTERM) == before


def test_two_do_not_play_into_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("audio,cue\na.wav,sad\n", "utf-8")
    monkeypatch.setattr(Runner, "run", lambda *_: pytest.fail("it played"))
    flags = ("--data", str(tmp_path / "t.csv"), "--out", str(tmp_path / "out"))
    with alone(tmp_path / "out"):
        (tmp_path / "out/items.jsonl").write_bytes(b'{"session_id": "sess_')  # being written
        code, line = run("csv", *flags)
        assert code == 1 and line.startswith("attune: another run is writing to")
        assert (tmp_path / "out/items.jsonl").read_bytes() == b'{"session_id": "sess_'


def test_items_are_only_read_from_what_is_there(tmp_path: Path) -> None:
    """The command lists everything before it plays anything."""
    (tmp_path / "t.csv").write_text("audio,cue\na.wav,sad\nb.wav,odd\n", "utf-8")
    with pytest.raises(BenchmarkError, match="Line 3"):
        list(plays(load("csv", tmp_path), Wanted(CLEAN)))
    assert replace(item(), about="speaker").task == "conversation"


# ---- for real


@pytest.mark.slow
async def test_a_run_that_is_told_to_end_is_whole_and_is_gone_on_with(tmp_path: Path) -> None:
    names = [clip(tmp_path / f"{number}.wav", 0.5).name for number in range(4)]
    (tmp_path / "t.csv").write_text("\n".join(["audio,cue", *(f"{n},sad" for n in names)]), "utf-8")
    async with server(tmp_path / "theirs") as url:
        flags = ("--data", tmp_path / "t.csv", "--out", tmp_path / "out", "--url", url)
        command = (sys.executable, "-m", "server.scoring.bench", "csv", *map(str, flags),
                   "--tasks", "conversation", "--fast", "--no-score")  # fmt: skip
        pipes: dict[str, Any] = {
            "stdout": asyncio.subprocess.PIPE,
            "stderr": asyncio.subprocess.PIPE,
        }
        child = await asyncio.create_subprocess_exec(*command, cwd=ROOT, **pipes)
        assert child.stdout is not None
        while json.loads(await child.stdout.readline())["done"] < 1:
            pass
        child.send_signal(signal.SIGTERM)
        _, problems = await child.communicate()
        assert child.returncode == 143
        assert b"attune: stopped; " in problems and b"run again to go on" in problems
        lines = (tmp_path / "out/items.jsonl").read_bytes().splitlines()
        kept = [Played.model_validate_json(line) for line in lines]
        assert 1 <= len(kept) < 4 and told(tmp_path / "out")["ended"] is None
        there = {each.name for each in (tmp_path / "out/runs").glob("*/*")}
        assert {each.session_id for each in kept} <= there
        child = await asyncio.create_subprocess_exec(*command, cwd=ROOT, **pipes)
        _, problems = await child.communicate()
    assert child.returncode == 0, problems
    again = (tmp_path / "out/items.jsonl").read_bytes().splitlines()
    assert len(again) == 4 and again[: len(lines)] == lines
    assert told(tmp_path / "out")["ended"]


@pytest.mark.slow
async def test_two_recordings_are_played_to_a_real_server_and_scored(tmp_path: Path) -> None:
    """As anybody would do it: two commands, the models that are shipped, and real speech."""
    speech = Path(__file__).parent / "data" / "speech"
    said = {
        "1624-142933-0000.ogg": "Peter sees Rosebreast and finds Redcoat.",
        "118-121721-0000.ogg": "A stitch in time saves embarrassing exposure.",
    }
    for name in said:
        shutil.copy(speech / name, tmp_path / name)
    rows = [f"{name},{words},neutral" for name, words in said.items()]
    (tmp_path / "t.csv").write_text("\n".join(["audio,text,cue", *rows]), "utf-8")
    async with served(runs=tmp_path / "theirs") as there:
        flags = ("--data", tmp_path / "t.csv", "--out", tmp_path / "out", "--url", there.url)
        more = ("--tasks", "conversation", "--cue", "true", "--concurrency", "2")
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "server.scoring.bench", "csv", *map(str, flags), *more,
            "--no-score", cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, problems = await child.communicate()
    assert child.returncode == 0, problems
    assert json.loads(out.splitlines()[-1]) == {"done": 2, "total": 2, "doing": "playing"}
    for words in said.values():
        assert words.encode() not in out + problems
    made = await asyncio.to_thread(
        score, [tmp_path / "out"], tmp_path / "report", Settings(metrics=("wer", "take_over"))
    )
    found = json.loads(made.read_bytes())
    figures = {metric["name"]: metric for metric in found["metrics"]}
    assert figures["wer"]["n"] == 2 and figures["wer"]["mean"] < 80
    assert figures["take_over"]["n"] == 2
    for exchange in found["exchanges"]:
        assert exchange["percept"]["weights"] == "given"
        assert exchange["annotation"]["cue_given"] == "true"
