"""python -m server.client, run as people run it, against stand-in models."""

import asyncio
import gc
import json
import re
import sys
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer import Typer
from typer.testing import CliRunner

from models.audio import resample
from models.errors import BackendError
from models.perceiver_off import unknown
from models.percept import Conflict
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Turn
from server.client import kept, main, sounded
from server.config import ROOT
from server.sessions.format import SessionFile
from tests.fakes import Sadness, known
from tests.serving import serving, standins
from tests.talker import HUSH, VOICE, sound, talking


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str


async def started(*arguments: str | Path) -> Ran:
    """The program as people start it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.client", *map(str, arguments)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())


async def called(*arguments: str | Path) -> Ran:
    """The same in a thread of ours, which spares a start."""
    app = Typer()
    app.command()(main)
    ran = await asyncio.to_thread(CliRunner().invoke, app, [str(part) for part in arguments])
    if ran.exception and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return Ran(ran.exit_code, ran.stdout, ran.stderr)


class Broken:
    """A Responder out of order."""

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        raise BackendError("responder", "It is out of order.")
        yield ""


class Quoting:
    """A Transcriber of people who speak of markup."""

    async def transcribe(self, audio: AudioChunk) -> str:
        return "say [bold] or [/nothing]"


@pytest.fixture
def question(tmp_path: Path) -> Path:
    """A recording at another rate, in stereo: most of a second of voice, then silence."""
    file = tmp_path / "question.wav"
    mono = np.concatenate([sound(VOICE, 0.8), sound(HUSH, 0.3)])
    both = resample(mono, WIRE_RATE, EAR_RATE)
    soundfile.write(file, np.stack([both, both], axis=1), EAR_RATE)
    return file


@pytest.mark.parametrize(("pace", "clock"), [("--fast", "samples"), ("--realtime", "wall")])
async def test_a_recording_is_said_and_the_reply_written_down(
    pace: str, clock: str, question: Path, tmp_path: Path
) -> None:
    reply, events = tmp_path / "reply.wav", tmp_path / "events.jsonl"
    async with serving(clock=clock) as (url, house):
        ran = await started(question, "--url", url, "--out", reply, "--events", events, pace)
    assert (ran.code, ran.err) == (0, "")
    assert not house.sessions

    told = [json.loads(line) for line in events.read_text().splitlines()]
    assert told[0]["type"] == "session.created"
    assert told[-1]["type"] == "response.done"
    assert told[-1]["response"]["status"] == "completed"
    heard = next(e["transcript"] for e in told if e["type"].endswith("transcription.completed"))
    said = told[-1]["response"]["output"][0]["content"][0]["transcript"]
    assert said == f"I heard you, you said {heard}."

    samples, rate = soundfile.read(reply)
    assert rate == WIRE_RATE
    assert len(samples) / rate == pytest.approx(0.2 * len(said.split()), abs=0.02)
    assert np.abs(samples).max() > 0.2

    shown = " ".join(ran.out.split())
    assert f"you said {heard}" in shown
    assert f"reply {said}" in shown
    assert re.search(r"latency first audible sample -?\d+ ms after the end of speech", shown)
    assert "speech_end 0" in shown and "first_sent" in shown


async def test_a_server_that_hangs_up_has_said_why(
    question: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(seats=1, admission={"queue": 0}) as (url, _), talking(url):
        ran = await called(question, "--url", url)
    assert ran.code == 1
    assert ran.err == ("attune: the server hung up: All seats are taken; please try again soon.\n")


async def test_a_caller_who_must_wait_is_told_so_and_then_answered(question: Path) -> None:
    async with serving(seats=1) as (url, house):
        async with talking(url):
            calling = asyncio.create_task(called(question, "--url", url, "--fast"))
            while not house.porter.admission.waiting:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.005)
        ran = await calling
    assert ran.code == 0
    assert ran.err == "attune: all seats are taken; place 1 in line\n"
    assert "reply" in ran.out


@pytest.mark.slow
async def test_a_reply_that_fails_is_one_line(question: Path) -> None:
    async with serving(standins(responder=Broken())) as (url, _):
        ran = await called(question, "--url", url, "--fast")
    assert (ran.code, ran.err) == (1, "attune: the reply failed: It is out of order.\n")


async def test_what_is_said_may_look_like_markup(question: Path) -> None:
    async with serving(standins(transcriber=Quoting())) as (url, _):
        ran = await called(question, "--url", url, "--fast")
    assert ran.code == 0, ran.err
    assert "[bold] or [/nothing]" in ran.out


@pytest.mark.slow
async def test_how_one_sounded_is_told_in_a_line_and_on_the_way_only_if_asked(
    question: Path,
) -> None:
    async with serving(standins(perceiver=Sadness())) as (url, _):
        plain = await called(question, "--url", url, "--fast")
        verbose = await called(question, "--url", url, "--fast", "-v")
    assert "you sounded sad 90%\n" in plain.out
    on_the_way = re.compile(r"after +\d\.\d s sad 90%")
    assert not on_the_way.search(plain.out) and "{" not in plain.out
    assert on_the_way.search(verbose.out) and '"sad": 0.9' in verbose.out


def test_what_is_unknown_or_goes_without_saying_is_not_told() -> None:
    percept = known(
        emotion={"neutral": 0.8, "sad": 0.2},
        volume={"normal": 0.9, "shout": 0.1},
        events={"sneeze": 0.7, "cough": 0.1},
        environment={"rain": 0.9, "dog": 0.9},
    )
    known_weather = replace(
        percept,
        unknown=tuple(n for n in percept.unknown if n != "weather"),
        conflict=Conflict("happy", "sad", 0.9),
    )
    assert sounded(known_weather.to_json()) == (
        "neutral 80%, sneeze 70%, rain 90%, the words say happy, the voice sad"
    )
    assert sounded(unknown(1.0).to_json()) == "(nothing can be told)"


def folders(place: Path) -> list[Path]:
    return list(place.glob("runs/????-??-??/sess_*"))


async def test_without_consent_nothing_is_said_of_it_and_nothing_kept(
    question: Path, tmp_path: Path
) -> None:
    async with serving(recording={"runs": str(tmp_path / "runs")}) as (url, _):
        ran = await called(question, "--url", url, "--fast")
    assert ran.code == 0 and "recorded" not in ran.out
    assert not folders(tmp_path)


async def test_with_consent_the_call_is_recorded_from_its_first_sample(
    question: Path, tmp_path: Path
) -> None:
    async with serving(recording={"runs": str(tmp_path / "runs")}) as (url, _):
        ran = await called(
            *(question, "--url", url, "--fast"), "--consent", "audio, transcript", "--name", "Ada"
        )
    assert ran.code == 0, ran.err
    (folder,) = folders(tmp_path)
    assert f"recorded {folder.name}: transcript, audio" in " ".join(ran.out.split())
    session = SessionFile.model_validate_json((folder / "session.json").read_bytes())
    assert session.allowed and session.allowed.at == 0
    assert (session.allowed.transcript, session.allowed.research) == (True, False)
    assert session.speaker and session.speaker.startswith("spk_")
    assert session.audio and session.audio.recorded_from == 0


@pytest.mark.slow
async def test_one_who_refuses_or_is_not_recorded_is_told_so(
    question: Path, tmp_path: Path
) -> None:
    runs = str(tmp_path / "runs")
    async with serving(recording={"runs": runs}) as (url, _):
        refused = await called(question, "--url", url, "--fast", "--consent", "none")
    async with serving(recording={"runs": runs, "enabled": False}) as (url, _):
        off = await called(question, "--url", url, "--fast", "--consent", "audio")
    assert re.search(r"recorded +sess_[0-9a-f]{20}: anonymous timings only\n", refused.out)
    assert re.search(r"recorded +no: recording is switched off there\n", off.out)
    full = {"recording": False, "scopes": [], "reason": "disk_full", "session_id": "sess_1"}
    assert kept(full) == "no: its disk is full"


async def test_a_consent_nobody_knows_is_one_line(question: Path) -> None:
    ran = await called(question, "--consent", "audio,everything")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "attune: unknown consent 'everything'; choose from: transcript, audio, research, none\n"
    )


async def test_what_cannot_work_is_one_line(
    question: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken, empty = tmp_path / "broken.wav", tmp_path / "empty.wav"
    broken.write_text("no sound at all")
    soundfile.write(empty, np.zeros(0), WIRE_RATE)
    async with serving() as (url, _):
        elsewhere = url.removesuffix("/realtime")
        closed = "ws://127.0.0.1:9/v1/realtime"
        tries: dict[str, tuple[str | Path, ...]] = {
            f"cannot read {broken}": (broken, "--url", url),
            f"{empty} holds no audio": (empty, "--url", url),
            "absent.wav: No such file or directory": (tmp_path / "absent.wav", "--url", url),
            f"cannot reach {closed}": (question, "--url", closed),
            f"cannot reach {elsewhere}": (question, "--url", elsewhere),
            "cannot reach http:": (question, "--url", url.replace("ws:", "http:")),
            "No such file or directory: ": (
                *(question, "--url", url, "--fast"),
                *("--out", tmp_path / "nowhere" / "reply.wav"),
            ),
        }
        for said, arguments in tries.items():
            ran = await called(*arguments)
            assert ran.code == 1, said
            assert ran.err.startswith("attune: ") and ran.err.count("\n") == 1, ran.err
            assert said in ran.err
    gc.collect()  # a task that failed unseen would be reported by asyncio, after the line
    assert not [record for record in caplog.records if record.name == "asyncio"]
