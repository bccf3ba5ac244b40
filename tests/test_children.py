"""Where children may not be recorded, nothing is kept of a conversation in which one is heard."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.perceiver_off import Off
from models.percept import Percept
from models.protocols import Attention
from models.types import AudioChunk
from server.sessions.format import AUDIO_FILE
from tests.fakes import known
from tests.serving import serving, standins
from tests.talker import Talker, play_until, talking
from tests.test_recording import (
    ALL,
    NOTHING,
    consent,
    folder,
    folders,
    full,
    kinds,
    record,
)


class Ages:
    """A Perceiver that hears one age after the other, a turn each; the last for good."""

    def __init__(self, *turns: Percept) -> None:
        self._turns = list(turns)

    def attend(self) -> Attention:
        return _Heard(self._turns.pop(0) if len(self._turns) > 1 else self._turns[0])


class _Heard:
    def __init__(self, percept: Percept) -> None:
        self._percept = percept

    async def glance(self, audio: AudioChunk) -> Percept:
        return self._percept

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept:
        return self._percept


def of_age(**age: float) -> Percept:
    return known(age=age)


ADULT = of_age(adult=0.9, child=0.1)
CHILD = of_age(adult=0.2, child=0.8)


@asynccontextmanager
async def heard(
    runs: Path, *turns: Percept, children: bool = False
) -> AsyncGenerator[Talker, None]:
    models = standins(perceiver=Ages(*turns))
    async with (
        serving(models, recording={"runs": str(runs), "children": children}) as (url, _),
        talking(url, "?attune=1") as talker,
    ):
        yield talker


async def take_a_turn(talker: Talker) -> dict[str, Any] | None:
    """The last word on recording that was told in it."""
    before = len(talker.of("attune.recording"))
    await talker.ask()
    await play_until(talker, "response.done")
    told = talker.of("attune.recording")[before:]
    return told[-1] if told else None


async def test_a_child_ends_the_recording_and_takes_what_was_kept_with_it(tmp_path: Path) -> None:
    async with heard(tmp_path, ADULT, CHILD) as talker:
        await consent(talker, **ALL, name="Ada Lovelace")
        assert await take_a_turn(talker) is None
        told = await take_a_turn(talker) or await play_until(talker, "attune.recording")
        assert (told["recording"], told["scopes"], told["reason"]) == (False, [], "child")
    assert not (folder(tmp_path) / AUDIO_FILE).exists()
    assert "attune.percept" not in kinds(tmp_path)
    everything = b"".join(file.read_bytes() for file in folder(tmp_path).iterdir())
    assert b"heard you" not in everything
    session = record(tmp_path)
    assert (session.state, session.speaker, session.client) == ("finished", None, None)
    assert [stop.reason for stop in session.stopped] == ["child"]
    (stone,) = session.tombstones
    assert set(stone.what) == {"transcript", "audio", "percepts", "research"}


async def test_it_is_told_once_however_often_a_child_is_heard(tmp_path: Path) -> None:
    async with heard(tmp_path, CHILD) as talker:
        await consent(talker, **ALL)
        for _ in range(3):
            await take_a_turn(talker)
        await talker.settle()
    reasons = [told["reason"] for told in talker.of("attune.recording")]
    assert reasons == [None, "child"]
    assert len(record(tmp_path).tombstones) == 1


async def test_no_later_consent_has_anything_kept(tmp_path: Path) -> None:
    async with heard(tmp_path, CHILD, ADULT) as talker:
        await consent(talker, **ALL)
        await take_a_turn(talker)
        told = await consent(talker, **ALL, name="Ada")
        assert (told["recording"], told["scopes"], told["reason"]) == (False, [], "child")
        await take_a_turn(talker)
    assert not (folder(tmp_path) / AUDIO_FILE).exists()
    assert record(tmp_path).consent[-1].transcript is False
    assert b"heard you" not in b"".join(f.read_bytes() for f in folder(tmp_path).iterdir())


async def test_a_child_heard_before_any_consent_bars_it_and_leaves_nothing(tmp_path: Path) -> None:
    async with heard(tmp_path, CHILD, ADULT) as talker:
        assert await take_a_turn(talker) is None  # nobody asked
        told = await consent(talker, **ALL)
        assert (told["recording"], told["reason"]) == (False, "child")
        await take_a_turn(talker)
    assert not folders(tmp_path)


async def test_the_conversation_goes_on(tmp_path: Path) -> None:
    async with heard(tmp_path, CHILD) as talker:
        await consent(talker, **ALL)
        await take_a_turn(talker)
        await take_a_turn(talker)
    done = [event["response"]["status"] for event in talker.of("response.done")]
    assert done == ["completed", "completed"]


async def test_a_person_who_refused_is_told_too(tmp_path: Path) -> None:
    async with heard(tmp_path, CHILD) as talker:
        await consent(talker, **NOTHING)
        told = await take_a_turn(talker)
        assert told and (told["recording"], told["reason"]) == (False, "child")
    assert not record(tmp_path).tombstones


async def test_where_children_may_be_recorded_a_child_is(tmp_path: Path) -> None:
    async with heard(tmp_path, CHILD, children=True) as talker:
        await consent(talker, **ALL)
        assert await take_a_turn(talker) is None
    assert (folder(tmp_path) / AUDIO_FILE).exists()


@pytest.mark.parametrize(
    "percept",
    [
        pytest.param(of_age(adult=0.35, child=0.65), id="it is not likely enough"),
        pytest.param(of_age(elderly=0.95, child=0.05), id="it is an old voice"),
        pytest.param(known(gender={"female": 1.0}), id="nothing is known of the age"),
    ],
)
async def test_a_guess_that_is_not_sure_changes_nothing(percept: Percept, tmp_path: Path) -> None:
    async with heard(tmp_path, percept) as talker:
        await consent(talker, **ALL)
        assert await take_a_turn(talker) is None
    assert (folder(tmp_path) / AUDIO_FILE).exists()


async def test_a_child_in_a_dimension_nobody_should_rely_on_changes_nothing(
    tmp_path: Path,
) -> None:
    unsure = known(age={"child": 0.99, "adult": 0.01})
    async with heard(tmp_path, replace(unsure, unknown=(*unsure.unknown, "age"))) as talker:
        await consent(talker, **ALL)
        assert await take_a_turn(talker) is None
    assert (folder(tmp_path) / AUDIO_FILE).exists()


OFF = {"attune": {"perception": False}}
ON = {"attune": {"perception": True}}


async def test_without_perception_nothing_personal_is_recorded_until_it_is_on_again(
    tmp_path: Path,
) -> None:
    async with heard(tmp_path, CHILD) as talker:
        assert (await talker.update(**OFF))["type"] == "session.updated"
        told = await consent(talker, **ALL, name="Ada Lovelace")
        assert (told["recording"], told["scopes"], told["reason"]) == (False, [], "perception_off")
        await take_a_turn(talker)
        assert not folders(tmp_path)
        told = await consent(talker, **NOTHING)  # timings tell nothing of anybody
        assert (told["recording"], told["reason"]) == (False, None)
        assert (await consent(talker, **ALL))["reason"] == "perception_off"
        assert (await talker.update(**ON))["type"] == "session.updated"
        told = await consent(talker, **ALL)
        assert (told["recording"], told["reason"]) == (True, None)
        told = await take_a_turn(talker) or await play_until(talker, "attune.recording")
        assert told["reason"] == "child"
    assert not (folder(tmp_path) / AUDIO_FILE).exists()


async def test_a_server_that_perceives_nothing_records_nobody(tmp_path: Path) -> None:
    recording = {"runs": str(tmp_path), "children": False}
    async with (
        serving(standins(perceiver=Off()), recording=recording) as (url, _),
        talking(url, "?attune=1") as talker,
    ):
        assert (await consent(talker, **ALL))["reason"] == "perception_off"
        await take_a_turn(talker)
    assert not folders(tmp_path)


async def test_perception_stays_on_while_somebody_is_recorded(tmp_path: Path) -> None:
    async with heard(tmp_path, ADULT) as talker:
        await consent(talker, **ALL)
        refused = (await talker.update(instructions="Be brief.", **OFF))["error"]
        assert refused["code"] == "recording_needs_perception"
        assert refused["param"] == "session.attune.perception"
        assert "stop the recording first" in refused["message"]
        updated = await talker.update(instructions="Be kind.")
        assert updated["session"]["attune"]["perception"] is True
        await consent(talker, **NOTHING)
        assert (await talker.update(**OFF))["session"]["attune"]["perception"] is False


async def test_where_children_may_be_recorded_perception_is_a_matter_of_taste(
    tmp_path: Path,
) -> None:
    async with heard(tmp_path, CHILD, children=True) as talker:
        await talker.update(**OFF)
        assert (await consent(talker, **ALL))["recording"] is True
        await talker.update(**ON)
        assert (await talker.update(**OFF))["type"] == "session.updated"


async def test_what_a_full_disk_had_ended_before_stays_counted_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = {"runs": str(tmp_path), "children": False}
    models = standins(perceiver=Ages(ADULT, CHILD))
    async with (
        serving(models, recording=recording) as (url, house),
        talking(url, "?attune=1") as talker,
    ):
        await consent(talker, **ALL)
        with monkeypatch.context() as disk:
            disk.setattr("os.pwrite", full)
            await talker.ask()
            while (await play_until(talker, "attune.recording"))["recording"]:
                pass
            await play_until(talker, "response.done")
        assert house.vitals.stopped == {"disk_full": 1}
        told = await take_a_turn(talker) or await play_until(talker, "attune.recording")
        assert told["reason"] == "child"
        assert house.vitals.stopped == {"disk_full": 1}
    assert not (folder(tmp_path) / AUDIO_FILE).exists()
