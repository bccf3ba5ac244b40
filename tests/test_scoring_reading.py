"""Reading sessions for scoring: what a path names, what consent covers, what is broken."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
import soundfile

from models.types import WIRE_RATE
from server.consent import Consent
from server.scoring.annotation import Annotation
from server.scoring.attributes import attributes
from server.scoring.errors import ScoringError
from server.scoring.exchange import NO_SOUND, NO_WORDS
from server.scoring.planning import Plan, is_still_allowed, plan
from server.scoring.reading import UNREADABLE, Read, exchange_digest, read
from server.scoring.score import Unscored
from server.scoring.sources import sources
from server.sessions.exchanges import TRANSCRIBED
from server.sessions.export.selection import LeftOut
from server.sessions.heard import in_words, known, noticed
from server.sessions.library import Library
from server.sessions.store import Store
from server.sessions.stored import BrokenSession
from tests.made_sessions import LEAD, Exchange, folder_of, made_session, made_sound, placed

SAD = Exchange(user="My dog ran away.", reply="Oh no. When was that?", emotion="sad")
CUT = Exchange(
    user="Tell me a story.", reply="Once there was a fox.", heard="Once there", interrupted=True,
    emotion="happy", first_sent_ms=510.0,
)  # fmt: skip


def reading(runs: Path, session_id: str, **how: Any) -> Read:
    found = read(Store.open(str(runs)).session(session_id), **how)
    assert isinstance(found, Read)
    return found


def planned(*paths: Path | str, **how: Any) -> Plan:
    return plan(sources([str(path) for path in paths]), **how)


def changed(runs: Path, session_id: str, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder_of(runs, session_id) / "session.json"
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))


def items(folder: Path, *lines: Any) -> None:
    told = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "items.jsonl").write_text("\n".join(told) + "\n")


# -- a session


def test_an_exchange_has_what_was_heard_what_was_meant_and_how_long_it_took(tmp_path: Path) -> None:
    session_id = made_session(tmp_path, turns=[SAD, CUT])
    first, second = reading(tmp_path, session_id).exchanges()
    assert (first.number, second.number) == (0, 1)
    assert first.user_words() == "My dog ran away."
    assert first.intended == first.reply_words() == "Oh no. When was that?"
    assert second.intended == "Once there was a fox."
    assert second.reply_words() == "Once there"
    assert second.reply is not None and second.reply.interrupted
    assert first.stages_ms["first_sent"] == 420.0
    assert second.stages_ms["first_sent"] == 510.0
    assert [turn.text for turn in second.before] == ["My dog ran away.", "Oh no. When was that?"]


def test_sound_is_cut_from_the_recording(tmp_path: Path) -> None:
    session_id = made_session(tmp_path, turns=[SAD])
    exchange = reading(tmp_path, session_id).exchanges()[0]
    begin, end = placed([SAD])[0].reply
    expected = made_sound([SAD])[begin:end, 1] / 32768
    heard = exchange.reply_sound()
    assert heard.rate == WIRE_RATE
    assert heard.samples == pytest.approx(expected)


def test_only_lines_that_instruments_read_are_given(tmp_path: Path) -> None:
    found = reading(tmp_path, made_session(tmp_path, turns=[SAD])).conversation
    kinds = {line.event["type"] for line in found.lines}
    assert "attune.timing" in kinds
    assert "response.output_audio_transcript.done" in kinds
    assert "recording.turn" in kinds
    assert "input_audio_buffer.speech_stopped" in kinds
    assert not kinds & {TRANSCRIBED, "attune.percept", "conversation.item.added"}


def test_attributes_tell_how_it_was_made_and_heard_and_annotated(tmp_path: Path) -> None:
    truth = Annotation(benchmark="csv", cue="sad", variant="target", text="My dog ran away.")
    session_id = made_session(tmp_path, turns=[SAD], responder="vllm")
    told = attributes(reading(tmp_path, session_id).exchanges({0: truth})[0])
    assert told["responder"] == "vllm"
    assert (told["emotion"], told["age"]) == ("sad", "adult")
    assert (told["benchmark"], told["cue"], told["variant"]) == ("csv", "sad", "target")
    assert "text" not in told and "topic" not in told


def test_what_perception_was_not_sure_of_is_told_as_that(tmp_path: Path) -> None:
    session_id = made_session(tmp_path, turns=[SAD])
    path = folder_of(tmp_path, session_id) / "events.jsonl"
    path.write_text(path.read_text().replace('"unknown":[', '"unknown":["emotion",'))
    assert attributes(reading(tmp_path, session_id).exchanges()[0])["emotion"] == "not sure"


@pytest.mark.parametrize(
    "odd", ['["x"]', '"sad"', '{"sad": "very"}', '{"sad": {"sad": 1}}', "7", "true", "null"]
)
def test_a_percept_in_another_form_is_passed_over(tmp_path: Path, odd: str) -> None:
    session_id = made_session(tmp_path, turns=[SAD])
    path = folder_of(tmp_path, session_id) / "events.jsonl"
    told = [json.loads(line) for line in path.read_text().splitlines()]
    for event in (line["event"] for line in told if line["event"]["type"] == "attune.percept"):
        kept = {"age": event["percept"]["age"]}
        names = ("emotion", "unknown", "vad", "prosody", "moments", "conflict", "seconds")
        event["percept"] = dict.fromkeys(names, json.loads(odd)) | kept
    path.write_text("".join(json.dumps(line) + "\n" for line in told))
    [one] = reading(tmp_path, session_id).exchanges()
    found = attributes(one)
    assert found["age"] == "adult" and "emotion" not in found
    assert one.user is not None and in_words(one.user.percept) == "nothing unusual"


def test_what_is_no_percept_at_all_says_nothing() -> None:
    for odd in (["emotion"], "emotion", 7):
        told: Any = odd
        assert (known(told, "emotion"), noticed(told)) == (None, ())
    whole = {"emotion": {"sad": 0.9, "happy": 0.1}, "unknown": "emotional"}
    assert known(whole, "emotion") == ("sad", 0.9), "a text is no list of names"


# -- consent


def test_without_consent_to_research_a_session_is_left_out(tmp_path: Path) -> None:
    session_id = made_session(tmp_path, consent="transcript,audio")
    stored = Store.open(str(tmp_path)).session(session_id)
    assert read(stored) == LeftOut("no consent to research")
    assert isinstance(read(stored, all_consented=True), Read)


def test_what_may_not_be_scored_is_counted_by_reason(tmp_path: Path) -> None:
    made_session(tmp_path)
    made_session(tmp_path, consent="transcript")
    made_session(tmp_path, consent="audio")
    made_session(tmp_path, consent="none")
    made_session(tmp_path, state="deleted")
    made_session(tmp_path, state="recording")
    found = planned(tmp_path)
    assert len(found.planned) == 1
    assert found.left_out == {
        "no consent to research": 2, "consent refused": 1, "deleted": 1, "still being recorded": 1,
    }  # fmt: skip
    assert len(planned(tmp_path, all_consented=True).planned) == 3


def test_what_a_benchmark_played_is_nobodys_own_talk(tmp_path: Path) -> None:
    made_session(tmp_path)
    one = made_session(tmp_path)
    changed(tmp_path, one, lambda told: told["client"].update(user_agent="attune-bench/echomind"))
    found = planned(tmp_path)
    assert len(found.planned) == 1 and found.left_out == {"played by a benchmark": 1}
    assert planned(folder_of(tmp_path, one)).left_out == {"played by a benchmark": 1}


def test_words_need_consent_to_words(tmp_path: Path) -> None:
    exchange = reading(tmp_path, made_session(tmp_path, consent="audio,research")).exchanges()[0]
    with pytest.raises(Unscored, match=NO_WORDS):
        exchange.user_words()
    assert exchange.intended is None
    assert exchange.reply is not None and exchange.reply.plan is None
    assert exchange.user is not None and exchange.user.percept is not None
    assert len(exchange.user_sound().samples) > 0


def test_sound_needs_consent_to_sound(tmp_path: Path) -> None:
    session_id = made_session(tmp_path, consent="transcript,research")
    exchange = reading(tmp_path, session_id).exchanges()[0]
    assert exchange.user_words() == "This is turn number 0."
    with pytest.raises(Unscored, match=NO_SOUND):
        exchange.reply_sound()
    with pytest.raises(Unscored, match=NO_SOUND):
        exchange.conversation.cut(0, 10)


def test_a_folder_that_holds_more_than_it_may_gives_no_more_than_it_may(tmp_path: Path) -> None:
    session_id = made_session(tmp_path, turns=[SAD, CUT])
    changed(
        tmp_path,
        session_id,
        lambda told: told["consent"][-1].update(transcript=False, audio=False),
    )
    found = reading(tmp_path, session_id)
    told = repr((found, found.exchanges(), list(found.conversation.lines)))
    assert "dog" not in told and "fox" not in told and "When was that" not in told
    assert "sad" not in told and "your test" not in told
    with pytest.raises(Unscored, match=NO_SOUND):
        found.conversation.cut(0, 10)


def test_consent_does_not_reach_back(tmp_path: Path) -> None:
    spots = placed([SAD, CUT])
    session_id = made_session(tmp_path, turns=[SAD, CUT])
    at = spots[1].user[0]
    changed(tmp_path, session_id, lambda told: told["consent"][-1].update(at=at))
    found = reading(tmp_path, session_id)
    assert [each.user_words() for each in found.exchanges()] == ["Tell me a story."]
    assert [each.number for each in found.exchanges()] == [0]
    assert "dog" not in repr(list(found.conversation.lines))
    assert not found.conversation.cut(LEAD, at).any()
    assert found.conversation.cut(at, at + 4000).any()


def test_a_session_that_allows_less_than_when_it_was_planned_is_not_used(tmp_path: Path) -> None:
    kept, narrowed, gone = (made_session(tmp_path) for _ in range(3))
    found = {each.unit.session_id: each for each in planned(tmp_path).planned}
    with Library.open(str(tmp_path)) as library:
        library.revoke(narrowed, Consent(transcript=True, research=True))
        library.delete(gone)
    assert [is_still_allowed(found[each]) for each in (kept, narrowed, gone)] == [
        True, False, False,
    ]  # fmt: skip


# -- paths


def test_a_session_folder_can_be_named(tmp_path: Path) -> None:
    session_id = made_session(tmp_path)
    made_session(tmp_path)
    found = planned(folder_of(tmp_path, session_id))
    assert [each.unit.session_id for each in found.planned] == [session_id]


def test_a_session_that_was_copied_somewhere_can_be_named(tmp_path: Path) -> None:
    session_id = made_session(tmp_path / "runs")
    folder_of(tmp_path / "runs", session_id).rename(tmp_path / session_id)
    [source] = sources([str(tmp_path / session_id)])
    assert source.is_homeless
    assert reading_of(planned(tmp_path / session_id)).exchanges()


def reading_of(found: Plan) -> Read:
    told = read(found.planned[0].unit.stored())
    assert isinstance(told, Read)
    return told


def test_sessions_can_lie_behind_a_url(tmp_path: Path) -> None:
    session_id = made_session(tmp_path, turns=[SAD])
    memory = fsspec.filesystem("memory")
    memory.put(f"{tmp_path}/", "/scored/runs/", recursive=True)
    try:
        found = planned("memory://scored/runs")
        assert [each.unit.session_id for each in found.planned] == [session_id]
        assert reading_of(found).exchanges()[0].reply_words() == SAD.reply
        assert len(reading_of(found).exchanges()[0].user_sound().samples) == WIRE_RATE // 2
        date = folder_of(tmp_path, session_id).parent.name
        one = planned(f"memory://scored/runs/{date}/{session_id}")
        assert [each.unit.session_id for each in one.planned] == [session_id]
    finally:
        memory.rm("/scored", recursive=True)


@pytest.mark.parametrize(
    ("make", "told"),
    [(lambda path: None, "there is no folder"), (Path.mkdir, "there are no sessions in")],
)
def test_a_path_with_nothing_to_score_is_told(
    tmp_path: Path, make: Callable[[Path], None], told: str
) -> None:
    make(tmp_path / "nothing")
    with pytest.raises(ScoringError, match=told):
        sources([str(tmp_path / "nothing")])


def test_a_session_given_twice_counts_once_and_with_its_truth(tmp_path: Path) -> None:
    one, other = made_session(tmp_path / "runs"), made_session(tmp_path / "runs")
    items(tmp_path, {"session_id": one, "annotation": {"cue": "sad"}})
    found = planned(tmp_path / "runs", folder_of(tmp_path / "runs", one), tmp_path)
    assert sorted(each.unit.session_id for each in found.planned) == sorted([one, other])
    truths = {each.unit.session_id: each.unit.truths for each in found.planned}
    assert truths == {one: {0: Annotation(cue="sad")}, other: None}


def test_a_limit_is_of_sessions_that_may_be_scored(tmp_path: Path) -> None:
    for consent in ("none", "transcript,research", "transcript,research", "transcript,research"):
        made_session(tmp_path, consent=consent)
    assert len(planned(tmp_path, limit=2).planned) == 2


# -- results of benchmarks


def test_the_result_of_a_benchmark_has_its_truths(tmp_path: Path) -> None:
    one, other = (made_session(tmp_path / "runs", turns=2) for _ in range(2))
    made_session(tmp_path / "runs")  # of an item that failed
    items(
        tmp_path,
        {"session_id": one, "number": 1, "annotation": {"benchmark": "csv", "item": "a"}},
        {"session_id": other, "annotation": {"item": "b"}},
        {"session_id": other, "number": 7, "annotation": {"item": "c"}},
    )
    found = {each.unit.session_id: each.unit for each in planned(tmp_path).planned}
    assert found.keys() == {one, other}
    [second] = reading(tmp_path / "runs", one).exchanges(found[one].truths)
    assert (second.number, second.annotation.item) == (1, "a")
    assert second.user_words() == "This is turn number 1."
    first, missing = reading(tmp_path / "runs", other).exchanges(found[other].truths)
    assert first.annotation.item == "b"
    assert (missing.number, missing.annotation.item) == (7, "c")
    with pytest.raises(Unscored, match="no reply"):
        missing.reply_words()


def test_items_that_cannot_be_read_or_found_are_told_of(tmp_path: Path) -> None:
    session_id = made_session(tmp_path / "runs")
    items(
        tmp_path,
        {"session_id": session_id},
        "{half",
        {"session_id": session_id, "number": 1, "annotation": {"variant": "odd"}},
        {"session_id": "sess_00000000000000000000"},
    )
    found = planned(tmp_path)
    assert [each.unit.session_id for each in found.planned] == [session_id]
    told = {each.where: each.problem for each in found.broken}
    assert told["line 2 of items.jsonl"] == "its JSON cannot be read"
    assert told["line 3 of items.jsonl"] == "annotation.variant cannot be read"
    assert "not in runs" in told["sess_00000000000000000000"]


@pytest.mark.parametrize("odd", [99_999_999_999, 2**70, -1])
def test_a_number_beyond_all_sessions_breaks_its_line_alone(tmp_path: Path, odd: int) -> None:
    session_id = made_session(tmp_path / "runs")
    items(
        tmp_path,
        {"session_id": session_id},
        {"session_id": session_id, "number": odd},
        {"session_id": session_id, "annotation": {"speech_end": odd << 60}},
        {"session_id": session_id, "annotation": {"suitability": {"sad": float("nan")}}},
    )
    found = planned(tmp_path)
    assert [each.unit.truths for each in found.planned] == [{0: Annotation()}]
    assert [(each.where, each.problem) for each in found.broken] == [
        ("line 2 of items.jsonl", "number cannot be read"),
        ("line 3 of items.jsonl", "annotation.speech_end cannot be read"),
        ("line 4 of items.jsonl", "annotation.suitability.sad cannot be read"),
    ]


def test_a_situation_is_laid_on_exchanges_that_have_none(tmp_path: Path) -> None:
    session_id = made_session(tmp_path, turns=2)
    truths = {0: Annotation(context="At the vet's."), 1: Annotation()}
    found = reading(tmp_path, session_id)
    told = [each.annotation.context for each in found.exchanges(truths, "In a car.")]
    assert told == ["At the vet's.", "In a car."]
    assert [each.annotation.context for each in found.exchanges()] == [None, None]


# -- what is broken


def test_a_session_file_that_cannot_be_read_is_told_and_stops_nothing(tmp_path: Path) -> None:
    broken, whole = made_session(tmp_path), made_session(tmp_path)
    (folder_of(tmp_path, broken) / "session.json").write_text("{")
    found = planned(tmp_path)
    assert [each.unit.session_id for each in found.planned] == [whole]
    assert [(each.where, each.problem) for each in found.broken] == [
        (broken, f"session.json of {broken} cannot be read")
    ]


def test_a_broken_line_of_the_log_breaks_the_session(tmp_path: Path) -> None:
    session_id = made_session(tmp_path)
    path = folder_of(tmp_path, session_id) / "events.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if TRANSCRIBED in line)
    lines[place] = lines[place][:60] + TRANSCRIBED.join('""') + "\n"
    path.write_text("".join(lines))
    with pytest.raises(BrokenSession, match=f"line {place + 1} of events.jsonl"):
        reading(tmp_path, session_id)


def test_sound_that_cannot_be_read_is_a_reason_and_a_problem(tmp_path: Path) -> None:
    missing, cut, garbled = (made_session(tmp_path) for _ in range(3))
    (folder_of(tmp_path, missing) / "audio.flac").unlink()
    path = folder_of(tmp_path, cut) / "audio.flac"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    (folder_of(tmp_path, garbled) / "audio.flac").write_bytes(b"no sound at all")
    for session_id in (missing, cut, garbled):
        found = reading(tmp_path, session_id)
        last = found.exchanges()[-1]
        assert last.user_words()
        for _ in range(2):
            with pytest.raises(Unscored, match=UNREADABLE):
                last.reply_sound()
        [problem] = found.problems
        assert "audio.flac" in problem and session_id in problem


def test_a_recording_shorter_than_it_says_is_told(tmp_path: Path) -> None:
    session_id = made_session(tmp_path, turns=[SAD])
    soundfile.write(
        folder_of(tmp_path, session_id) / "audio.flac", made_sound([SAD])[:1000], WIRE_RATE
    )
    found = reading(tmp_path, session_id)
    with pytest.raises(Unscored, match=UNREADABLE):
        found.exchanges()[0].reply_sound()
    assert found.problems == [f"audio.flac of {session_id} ends too soon"]


def test_ratings_that_cannot_be_read_cost_only_the_ratings(tmp_path: Path) -> None:
    session_id = made_session(tmp_path)
    (folder_of(tmp_path, session_id) / "ratings.jsonl").write_text("{\n")
    found = reading(tmp_path, session_id)
    assert found.conversation.ratings == [] and len(found.exchanges()) == 2
    assert len(found.problems) == 1


# -- what a cached score depends on


def test_the_same_content_has_the_same_digest_wherever_it_lies(tmp_path: Path) -> None:
    session_id = made_session(tmp_path / "a")
    before = [exchange_digest(each) for each in reading(tmp_path / "a", session_id).exchanges()]
    (tmp_path / "a").rename(tmp_path / "b")
    after = [exchange_digest(each) for each in reading(tmp_path / "b", session_id).exchanges()]
    assert before == after and len(set(before)) == 2


def _other_words(folder: Path) -> None:
    path = folder / "events.jsonl"
    path.write_text(path.read_text().replace("turn number 0", "turn number 9"))


def _other_sound(folder: Path) -> None:
    sound = made_sound([SAD, CUT])
    soundfile.write(folder / "audio.flac", sound[::-1], WIRE_RATE, subtype="PCM_16")


def _other_model(folder: Path) -> None:
    path = folder / "session.json"
    path.write_text(path.read_text().replace("llamacpp", "vllm"))


@pytest.mark.parametrize("change", [_other_words, _other_sound, _other_model])
def test_other_content_has_another_digest(tmp_path: Path, change: Callable[[Path], None]) -> None:
    session_id = made_session(tmp_path)
    before = exchange_digest(reading(tmp_path, session_id).exchanges()[0])
    change(folder_of(tmp_path, session_id))
    assert exchange_digest(reading(tmp_path, session_id).exchanges()[0]) != before


def test_another_truth_or_situation_has_another_digest(tmp_path: Path) -> None:
    found = reading(tmp_path, made_session(tmp_path))
    digests = {
        exchange_digest(found.exchanges()[0]),
        exchange_digest(found.exchanges({0: Annotation(cue="sad")})[0]),
        exchange_digest(found.exchanges({0: Annotation(cue="happy")})[0]),
        exchange_digest(found.exchanges(context="In a car.")[0]),
    }
    assert len(digests) == 4
