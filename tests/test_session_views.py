"""A recorded session to look at and listen to: who may, what is shown, and that it is true."""

import base64
import io
import struct
import zlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
import pytest_asyncio
import soundfile
from numpy.typing import NDArray

from models.types import WIRE_RATE
from server.app import may_connect
from server.config import Config
from server.live_sessions import find
from server.openapi import DescribedApp
from server.sessions.format import AUDIO_FILE, Rating
from server.sessions.index import Filter
from server.sessions.library import Library
from server.sessions_api import router
from server.views import peaks, stretch
from server.views.colours import palette
from server.views.peaks import STEP, Outlines
from server.views.stretch import opened
from tests.made_sessions import STARTED, Exchange, folder_of, made_session, made_sound
from tests.test_sessions_api import Nobody

TOKEN, SECRET = "the operator's own token", "a secret of the talker's own"
OPERATOR, TALKER = {"Authorization": f"Bearer {TOKEN}"}, {"Authorization": f"Bearer {SECRET}"}
STRANGER = {"Authorization": "Bearer a guess, and a wrong one"}
TURNS = [
    Exchange("My dog is ill.", "Oh no, your poor dog. What happened?", heard="Oh no,",
             event="sigh", interrupted=True, seconds=1.5, reply_seconds=0.7),
    Exchange("She ate my homework.", None, perceived=False, seconds=0.6),
]  # fmt: skip
PATHS = ("waveform", "spectrogram", "clip", "story")

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Desk:
    runs: Path
    library: Library
    client: httpx2.AsyncClient
    id: str = ""

    def made(self, **how: Any) -> str:
        """From now on it is about this session."""
        self.id = made_session(self.runs, **{"turns": TURNS, "secret": SECRET, **how})
        self.library.sync()
        return self.id

    async def get(self, what: str, who: dict[str, str] = OPERATOR, **query: Any) -> httpx2.Response:
        path = f"/api/sessions/{self.id}/{what}"
        return await self.client.get(path, params=query, headers=who)

    async def peaks(self, channel: str, **query: Any) -> NDArray[np.int16]:
        told = (await self.get("waveform", **query)).json()
        found = np.frombuffer(base64.b64decode(told[channel]), "<i2").reshape(-1, 2)
        assert len(found) == told["points"]
        return found

    async def picture(self, **query: Any) -> NDArray[np.uint8]:
        """Numbers of colours, [height, width]."""
        answer = await self.get("spectrogram", **query)
        assert answer.headers["content-type"] == "image/png"
        return read_png(answer.content)[0]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Desk, None]:
    runs = tmp_path_factory.mktemp("runs")
    library = Library.open(str(runs))
    app = DescribedApp()
    app.include_router(router(library, TOKEN, partial(may_connect, config=Config()), Nobody()))
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield Desk(runs, library, client)
    library.close()


@pytest.fixture(scope="module")
def untouched(place: Desk) -> str:
    return place.made()


@pytest.fixture
def desk(place: Desk, untouched: str) -> Desk:
    """About a session with everything, which others look at as well."""
    place.id = untouched
    return place


def read_png(data: bytes) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Pixels and colours, with every checksum checked."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (told,) = struct.unpack_from(">I", data, at + 8 + length)
        assert told == zlib.crc32(kind + body)
        chunks[kind], at = body, at + 12 + length
    width, height, depth, colour = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert (depth, colour) == (8, 3)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    return rows[:, 1:], np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)


# --- who may


@pytest.mark.parametrize("what", PATHS)
async def test_the_operator_and_the_talker_may_look_and_nobody_else(desk: Desk, what: str) -> None:
    for who in (OPERATOR, TALKER):
        answer = await desk.get(what, who)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
    assert (await desk.get(what, STRANGER)).status_code == 404
    assert (await desk.get(what, {})).status_code == 401


@pytest.mark.parametrize("what", ["waveform", "spectrogram", "clip"])
@pytest.mark.parametrize("how", [{"consent": "transcript"}, {"consent": "none"}])
async def test_where_no_sound_was_allowed_there_is_none_to_see(
    desk: Desk, what: str, how: dict[str, Any]
) -> None:
    desk.made(**how)
    answer = await desk.get(what)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "no_audio"


@pytest.mark.parametrize("what", PATHS)
async def test_a_deleted_session_is_told_as_such(desk: Desk, what: str) -> None:
    desk.made(state="deleted")
    assert (await desk.get(what)).json()["error"]["code"] == "session_deleted"


# --- waveform


@pytest.mark.parametrize("query", [{}, {"points": 7}, {"points": 300, "start": 5000, "end": 29000}])
async def test_an_outline_encloses_the_sound_it_is_of(desk: Desk, query: dict[str, int]) -> None:
    sound = made_sound(TURNS)
    start, end = query.get("start", 0), query.get("end", len(sound))
    for column, channel in enumerate(("user", "reply")):
        found = await desk.peaks(channel, **query)
        assert len(found) == query.get("points", len(found))
        edges = np.linspace(start, end, len(found) + 1)
        for (low, high), begin, finish in zip(found, edges, edges[1:], strict=False):
            inner = sound[int(begin) + STEP : max(int(finish) - STEP, 0), column]
            outer = sound[max(int(begin) - STEP, 0) : int(finish) + STEP, column]
            assert outer.min() <= low <= inner.min(initial=high)
            assert outer.max() >= high >= inner.max(initial=low)
        assert (found.min(), found.max()) == (sound[start:end, column].min(),
                                              sound[start:end, column].max())  # fmt: skip


async def test_close_up_every_sample_is_shown(desk: Desk) -> None:
    sound = made_sound(TURNS)[6000:6100]
    found = await desk.peaks("user", start=6000, end=6100, points=1600)
    assert np.array_equal(found, np.repeat(sound[:, :1], 2, axis=1))


async def test_a_recording_is_gone_through_once_and_again_when_it_changed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.made()
    read: list[str] = []
    blocks = stretch.Recording.blocks

    def counted(self: stretch.Recording, *spot: int) -> Any:
        read.append(self.mark)
        return blocks(self, *spot)

    monkeypatch.setattr(stretch.Recording, "blocks", counted)
    await desk.peaks("user", points=5)
    await desk.peaks("user", points=9)
    assert len(read) == 1
    path = folder_of(desk.runs, desk.id) / AUDIO_FILE
    soundfile.write(path, made_sound(TURNS) // 2, WIRE_RATE, subtype="PCM_16")
    quieter = await desk.peaks("user", points=5)
    assert len(set(read)) == 2
    assert quieter.max() == 4000


async def test_only_the_last_recordings_are_remembered(desk: Desk) -> None:
    outlines = Outlines(most=1)
    session = desk.library.session(desk.id)
    with opened(session) as recording:
        outlines.of(recording, 0, recording.samples, 3)
        other = stretch.Recording(recording.file, recording.samples, "another")
        outlines.of(other, 0, recording.samples, 3)
    assert list(outlines._kept) == ["another"]


async def test_the_outline_is_the_same_however_it_is_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await desk.peaks("reply", points=50)
    monkeypatch.setattr(peaks, "BLOCK", 7 * STEP + 11)
    with opened(desk.library.session(desk.id)) as recording:
        pieced = Outlines().of(recording, 0, recording.samples, 50)
    assert np.array_equal(pieced.peaks[:, 1], whole)


@pytest.mark.parametrize("what", ["waveform", "spectrogram", "clip"])
@pytest.mark.parametrize(
    ("query", "param"),
    [({"start": 10**9}, "start"), ({"start": 500, "end": 500}, "end"), ({"start": -1}, "start")],
)
async def test_a_stretch_that_is_none_is_refused(
    desk: Desk, what: str, query: dict[str, Any], param: str
) -> None:
    answer = await desk.get(what, OPERATOR, **query)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param


# --- spectrogram


async def test_a_tone_is_a_line_at_its_pitch_while_it_sounds(desk: Desk) -> None:
    pixels = await desk.picture(width=200, height=128, look="dark")
    assert pixels.shape == (128, 200)
    total = len(made_sound(TURNS))
    during = round(200 * (4800 + 18000) / total)  # in the middle of the first turn
    top = 2595 * np.log10(1 + 12000 / 700)
    row = 127 - round(129 * 2595 * np.log10(1 + 220 / 700) / top - 1)
    assert abs(int(pixels[:, during].argmax()) - row) <= 1
    assert pixels[row, during] > 250
    assert pixels[:40, during].max() < 60  # far above it there is nothing
    assert pixels[:, 1].max() == 0  # before anybody spoke
    assert (await desk.picture(channel="reply", width=200))[:, during].max() == 0


async def test_a_close_look_shows_the_same_moment(desk: Desk) -> None:
    pixels = await desk.picture(start=12000, end=14400, width=50, height=64)
    assert (pixels.max(axis=0) > 250).all()


@pytest.mark.parametrize("look", ["light", "dark"])
async def test_colours_are_even_to_the_eye(look: Any) -> None:
    """Lightness as CIELAB has it, which the colours are not made with."""
    linear = (palette(look) / 255.0) ** 2.2
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])
    lightness = 116 * np.cbrt(luminance) - 16
    steps = np.diff(lightness[::15]) * (1 if look == "dark" else -1)
    assert steps.min() > 0
    assert steps.max() < 2 * steps.mean()


# --- clip


@pytest.mark.parametrize(("channel", "columns"), [("user", [0]), ("reply", [1]), ("both", [0, 1])])
async def test_a_clip_is_the_very_sound(desk: Desk, channel: str, columns: list[int]) -> None:
    answer = await desk.get("clip", start=30000, end=60001, channel=channel)
    assert answer.headers["content-type"] == "audio/wav"
    sound, rate = soundfile.read(io.BytesIO(answer.content), dtype="int16", always_2d=True)
    assert rate == WIRE_RATE
    assert np.array_equal(sound, made_sound(TURNS)[30000:60001, columns])


async def test_a_clip_ends_where_the_recording_does(desk: Desk) -> None:
    answer = await desk.get("clip", start=60000, end=60000 + 119 * WIRE_RATE)
    assert soundfile.info(io.BytesIO(answer.content)).frames == len(made_sound(TURNS)) - 60000


async def test_a_clip_is_two_minutes_at_most(desk: Desk) -> None:
    desk.made()
    path = folder_of(desk.runs, desk.id) / AUDIO_FILE
    soundfile.write(path, np.zeros((121 * WIRE_RATE, 2), np.int16), WIRE_RATE, subtype="PCM_16")
    assert (await desk.get("clip")).json()["error"]["param"] == "end"
    assert (await desk.get("clip", start=WIRE_RATE)).status_code == 200


async def test_a_recording_that_cannot_be_read_is_told_as_such(desk: Desk) -> None:
    desk.made()
    (folder_of(desk.runs, desk.id) / AUDIO_FILE).write_bytes(b"fLaC and nothing else")
    for what in ("waveform", "spectrogram", "clip"):
        assert (await desk.get(what)).json()["error"]["code"] == "session_broken"


# --- story


async def test_a_story_tells_every_turn_with_what_is_kept_of_it(desk: Desk) -> None:
    told = (await desk.get("story")).json()
    asked, answered, last = told["turns"]
    assert told["samples"] == len(made_sound(TURNS))
    assert [turn["role"] for turn in told["turns"]] == ["user", "assistant", "user"]
    assert asked["text"] == "My dog is ill."
    assert asked["percepts"][-1]["final"] is True
    assert asked["percepts"][-1]["percept"]["events"]["sigh"] == 0.93
    assert answered["interrupted"] is True
    assert answered["text"] == "Oh no, your poor dog. What happened?"
    assert answered["plan"]["line"].startswith("heard: sad")
    assert answered["timing"]["stages_ms"]["first_sent"] == 420.0
    assert answered["timing"]["overhead_ms"] == 3.1
    assert answered["heard_ms"] == 250.0
    assert last["percepts"] == []
    assert last["timing"] is None


async def test_a_story_has_only_what_consent_holds(desk: Desk) -> None:
    desk.made(consent="audio")
    for turn in (await desk.get("story")).json()["turns"]:
        assert turn["text"] is turn["heard"] is turn["plan"] is None
    desk.made(consent="none")
    told = (await desk.get("story")).json()
    assert [turn["percepts"] for turn in told["turns"]] == [[], [], []]
    assert told["recorded_from"] is None
    assert told["turns"][1]["timing"]["stages_ms"]["first_sent"] == 420.0


async def test_a_story_shows_talkers_their_own_ratings_only(desk: Desk) -> None:
    desk.made()
    reply = (await desk.get("story")).json()["turns"][1]["item_id"]
    for by, stars in (("user", 4), ("expert", 2)):
        rating = Rating(wall=STARTED, by=by, item_id=reply, scores={"overall": stars})
        desk.library.rate(desk.id, rating)
    seen = {}
    for name, who in (("operator", OPERATOR), ("talker", TALKER)):
        turn = (await desk.get("story", who)).json()["turns"][1]
        seen[name] = [rating["scores"]["overall"] for rating in turn["ratings"]]
    assert seen == {"operator": [4, 2], "talker": [4]}


async def test_a_session_that_has_just_begun_is_in_the_list(tmp_path: Path) -> None:
    unknown = "sess_00000000000000000000"
    with Library.open(str(tmp_path)) as library:
        begun = made_session(tmp_path, state="recording")
        assert library.find(Filter()).total == 0
        page = find(library, [begun, unknown], Filter())
    assert [(row.id, row.state) for row in page.rows] == [(begun, "recording")]


async def test_a_session_that_is_still_recorded_has_a_story_so_far(desk: Desk) -> None:
    desk.made(state="recording")
    told = (await desk.get("story")).json()
    assert told["state"] == "recording"
    assert len(told["turns"]) == 3
    assert told["samples"] >= told["turns"][-1]["end"]
