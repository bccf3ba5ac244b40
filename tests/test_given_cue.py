"""A client that knows how its user sounds says so, and is believed instead of the perceiver."""

from pathlib import Path
from typing import Any

import pytest

from models.perception.given import CUES, given
from models.perception.labels import DIMENSIONS
from models.protocols import Models
from models.thinking.noticing import notice
from server.consent import Consent
from server.recording.redaction import kept
from tests.fakes import Reciter, Sadness, SaysByLevel
from tests.serving import serving, standins
from tests.talker import Event, Talker, play_until, talking

ATTUNED = "?attune=1"
WORDS = "please tell me more"


def models(perceiver: Any, **roles: Any) -> Models:
    return standins(transcriber=SaysByLevel(WORDS), perceiver=perceiver, **roles)


async def turn(talker: Talker) -> list[Event]:
    """The percepts told in a turn, the final one last."""
    before = len(talker.of("attune.percept"))
    await talker.ask(voice=1.4)
    await play_until(talker, "response.done")
    return talker.of("attune.percept")[before:]


async def test_what_is_given_is_taken_for_what_was_heard_until_it_is_taken_back() -> None:
    perceiver, responder = Sadness(), Reciter()
    async with (
        serving(models(perceiver, responder=responder)) as (url, _),
        talking(url, ATTUNED) as talker,
    ):
        shown = await talker.update(attune={"cue": "happy"})
        assert shown["session"]["attune"]["cue"] == "happy"
        *running, final = await turn(talker)
        assert final["final"] and running
        for told in (*running, final):
            percept = told["percept"]
            assert percept["weights"] == "given"
            assert percept["emotion"]["happy"] == 1.0 == sum(percept["emotion"].values())
            assert percept["unknown"] == [name for name in DIMENSIONS if name != "emotion"]
        assert final["percept"]["seconds"] > 1.0
        assert not perceiver.brought, "nobody listened"
        assert responder.asked[-1][-1].text == f"{WORDS} [The user sounds happy.]"

        await talker.update(attune={"cue": None})
        *_, final = await turn(talker)
        assert (final["percept"]["weights"], final["percept"]["emotion"]["sad"]) == ("none", 0.9)
        assert perceiver.brought


async def test_with_perception_off_a_cue_changes_nothing() -> None:
    async with serving(models(Sadness())) as (url, _), talking(url, ATTUNED) as talker:
        await talker.update(attune={"cue": "happy", "perception": False})
        assert await turn(talker) == []


@pytest.mark.parametrize("cue", ["gloomy", "Sad", "", "adult", "normal"])
async def test_a_cue_that_is_no_attribute_is_refused_by_naming_some(cue: str) -> None:
    async with serving() as (url, _), talking(url, ATTUNED) as talker:
        told = await talker.update(attune={"cue": cue})
        assert told["error"]["code"] == "invalid_value"
        assert told["error"]["param"] == "session.attune.cue"
        assert "sad, angry" in told["error"]["message"]
        assert "Value error" not in told["error"]["message"]
        shown = await talker.update()
        assert shown["session"]["attune"]["cue"] is None


@pytest.mark.parametrize("cue", CUES)
def test_every_cue_is_certain_in_its_dimension_and_unknown_in_the_others(cue: str) -> None:
    percept = given(cue, 2.0)
    assert len(percept.unknown) == len(DIMENSIONS) - 1
    noticed = [(heard.name, heard.confidence, heard.sure) for heard in notice(percept)]
    unremarked = cue in ("neutral", "male", "female")  # nothing follows from a gender
    assert noticed == ([] if unremarked else [(cue, 1.0, True)])


async def test_where_no_child_may_be_recorded_nobody_stops_listening_for_one(
    tmp_path: Path,
) -> None:
    recording = {"runs": str(tmp_path), "children": False}
    async with (
        serving(models(Sadness()), recording=recording) as (url, _),
        talking(url, ATTUNED) as talker,
    ):
        scopes = {"transcript": True, "audio": True, "research": True}
        await talker.update(attune={"cue": "sad"})
        await talker.send("attune.consent", **scopes)
        told = await talker.until("attune.recording")
        assert (told["recording"], told["reason"]) == (False, "perception_off")

        await talker.update(attune={"cue": None})
        await talker.send("attune.consent", **scopes)
        assert (await talker.until("attune.recording"))["recording"]
        told = await talker.update(attune={"cue": "sad"})
        assert told["error"]["code"] == "recording_needs_perception"
        assert told["error"]["param"] == "session.attune.cue"


def test_a_cue_is_kept_as_settings_are_and_what_was_made_of_it_as_percepts_are() -> None:
    update: Event = {"type": "session.update", "session": {"attune": {"cue": "sad"}}}
    percept = given("sad", 1.0).to_json()
    told: Event = {"type": "attune.percept", "final": True, "percept": percept}
    words, sound, nothing = Consent(transcript=True), Consent(audio=True), Consent()
    assert kept(update, words) == update
    for consent in (sound, nothing):
        assert kept(update, consent) == {"type": "session.update", "session": {"attune": {}}}
    assert kept(told, words) == kept(told, sound) == told
    assert kept(told, nothing) is None
