"""What leaves this machine: only what people allow, in forms that others can load."""

import csv
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from models.perception.labels import DIMENSIONS
from models.types import WIRE_RATE
from server.consent import Consent
from server.sessions.export import hf, making
from server.sessions.export.datasheet import Tally
from server.sessions.export.making import ExportError, Form, Wanted, export
from server.sessions.export.spoken_info import PLACES, STRINGS, spoken_info
from server.sessions.export.spreadsheet import FORMULA, Spreadsheet, cell
from server.sessions.export.wav import WavExport
from server.sessions.format import (
    AUDIO_FILE,
    EVENTS_FILE,
    SESSION_FILE,
    Consented,
    Rating,
    SessionFile,
)
from server.sessions.library import Library
from tests.made_sessions import (
    STARTED,
    Exchange,
    folder_of,
    made_percept,
    made_session,
    made_sound,
    placed,
)

WORDS = "My aunt Philomena told me so."
ALICE = "spk_" + "a" * 16


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def library(runs: Path) -> Iterator[Library]:
    with Library.open(str(runs)) as library:
        yield library


def made(library: Library, form: Form, out: Path, **options: Any) -> Tally:
    """Export everything there is."""
    return export(
        list(library.store.ids()),
        library.session,
        Wanted(form, out, **options),
        library.derived,
    )


def sessions_in(out: Path) -> list[str]:
    return (out / "sessions.txt").read_text().split()


def rows_of(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(out / "exchanges.parquet").to_pylist()
    return rows


def redescribed(runs: Path, session_id: str, **changes: Any) -> None:
    """Change what a session's record says, and nothing else of it."""
    path = folder_of(runs, session_id) / SESSION_FILE
    file = SessionFile.model_validate_json(path.read_text())
    path.write_text(file.model_copy(update=changes).model_dump_json())


def word(at: int, listed: str) -> Consented:
    given = Consent.of(listed)
    return Consented(
        at=at, wall=STARTED, transcript=given.transcript, audio=given.audio,
        research=given.research,
    )  # fmt: skip


# --- what may go out


@pytest.mark.parametrize("form", Form)
def test_only_sessions_with_consent_to_research_are_exported(
    form: Form, library: Library, runs: Path, tmp_path: Path
) -> None:
    allowed = made_session(runs)
    made_session(runs, consent="transcript,audio")
    made_session(runs, consent="none")
    made_session(runs, state="deleted")
    made_session(runs, state="recording")
    tally = made(library, form, tmp_path / "out")
    assert sessions_in(tmp_path / "out") == [allowed]
    assert tally.left_out.total() == 4


def test_all_consented_drops_the_condition_of_research_and_no_other(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    expected = {
        made_session(runs),
        made_session(runs, consent="transcript"),
        made_session(runs, consent="audio"),
    }
    made_session(runs, consent="none")
    made_session(runs, state="deleted")
    made_session(runs, state="recording")
    made(library, Form.HF, tmp_path / "out", all_consented=True)
    assert set(sessions_in(tmp_path / "out")) == expected
    for row in pq.read_table(tmp_path / "out" / "data").to_pylist():
        assert (row["user_text"] is None) == ("transcript" not in row["consent"])
        assert (row["user_audio"] is None) == ("audio" not in row["consent"])


@pytest.mark.parametrize("form", Form)
def test_words_never_go_out_without_consent_to_a_transcript_even_if_the_folder_holds_them(
    form: Form, library: Library, runs: Path, tmp_path: Path
) -> None:
    session_id = made_session(runs, turns=[Exchange(user=WORDS, reply=WORDS)])
    redescribed(runs, session_id, consent=[word(0, "audio,research")])
    assert WORDS in (folder_of(runs, session_id) / EVENTS_FILE).read_text()
    out = tmp_path / "out"
    made(library, form, out, csv=form is Form.PARQUET)
    for file in (path for path in out.rglob("*") if path.is_file()):
        found = file.read_bytes()
        if file.suffix == ".parquet":
            found = json.dumps(pq.read_table(file).to_pylist(), default=str).encode()
        assert b"Philomena" not in found, file
        assert b"Be kind." not in found, file  # the instructions


@pytest.mark.parametrize("form", Form)
def test_sound_never_goes_out_without_consent_to_audio_even_if_the_folder_holds_it(
    form: Form, library: Library, runs: Path, tmp_path: Path
) -> None:
    session_id = made_session(runs)
    redescribed(runs, session_id, consent=[word(0, "transcript,research")])
    assert (folder_of(runs, session_id) / AUDIO_FILE).exists()
    out = tmp_path / "out"
    if form in (Form.WAV, Form.ECHOMIND):
        with pytest.raises(ExportError, match="nothing to export"):
            made(library, form, out)
        assert not out.exists()
        return
    made(library, form, out)
    rows = pq.read_table(out / "data").to_pylist() if form is Form.HF else rows_of(out)
    assert [row["user_text"] for row in rows] == [
        "This is turn number 0.",
        "This is turn number 1.",
    ]
    assert not any(row.get("user_audio") or row.get("reply_audio") for row in rows)


def test_percepts_go_out_only_with_consent_to_words_or_sound(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    session_id = made_session(runs, speaker=ALICE)
    redescribed(runs, session_id, consent=[word(0, "research")])
    made(library, Form.PARQUET, tmp_path / "out")
    row = rows_of(tmp_path / "out")[0]
    personal = ("speaker", "percept", "heard", "emotion", "valence", "user_text", "plan_emotion")
    assert [row[name] for name in personal] == [None] * len(personal)
    assert row["latency_ms"] == 420.0


def test_what_was_said_before_consent_to_research_stays_here(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    exchanges = [Exchange(user="before"), Exchange(user="after")]
    session_id = made_session(runs, turns=exchanges)
    later = placed(exchanges)[1].user[0]
    words = [word(0, "transcript,audio"), word(later, "transcript,audio,research")]
    redescribed(runs, session_id, consent=words)
    made(library, Form.PARQUET, tmp_path / "table")
    assert [row["user_text"] for row in rows_of(tmp_path / "table")] == ["after"]
    made(library, Form.WAV, tmp_path / "sound")
    sound, _ = soundfile.read(tmp_path / "sound" / "audio" / f"{session_id}.wav", dtype="int16")
    expected = made_sound(exchanges)
    assert not sound[:later].any()
    np.testing.assert_array_equal(sound[later:], expected[later:])


def test_words_begun_before_consent_to_a_transcript_are_not_handed_out(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    exchanges = [Exchange(user="before"), Exchange(user="after")]
    session_id = made_session(runs, turns=exchanges)
    inside = placed(exchanges)[0].user[0] + 100
    redescribed(
        runs, session_id, consent=[word(0, "research"), word(inside, "transcript,research")]
    )
    made(library, Form.PARQUET, tmp_path / "out")
    assert [row["user_text"] for row in rows_of(tmp_path / "out")] == [None, "after"]


def test_a_session_withdrawn_while_it_is_exported_is_not_handed_out(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    session_id = made_session(runs)

    def step() -> None:
        exports = library.revoke(session_id, Consent(transcript=True, audio=True)).exports
        assert exports == [str(tmp_path / "out")]  # it may yet appear

    with pytest.raises(ExportError, match="meanwhile"):
        wanted = Wanted(Form.HF, tmp_path / "out")
        export([session_id], library.session, wanted, library.derived, step)
    assert list(tmp_path.glob("*out*")) == []
    assert library.delete(session_id).exports == []  # nothing was handed out


class _Killed:
    """Dies at a step, as by kill -9."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def __call__(self) -> None:
        self._left -= 1
        if not self._left:
            os._exit(9)


def test_an_export_that_was_killed_is_listed_with_what_it_left(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    written, unwritten = made_session(runs), made_session(runs, consent="transcript")
    out, left = tmp_path / "out", tmp_path / ".out.partial"
    child = os.fork()
    if child == 0:
        ids, wanted = [unwritten, written], Wanted(Form.WAV, out)
        export(ids, library.store.session, wanted, library.derived, _Killed(2))
    os.waitpid(child, 0)
    assert left.is_dir() and not out.exists()
    deletion = library.delete(written)
    assert deletion.exports == [str(out)] and deletion.left == [str(left)]
    assert library.session(written).file().tombstones[-1].exports == [str(out)]
    assert library.delete(unwritten).exports == []


def test_an_earlier_export_that_a_killed_one_moved_aside_is_listed(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    session_id = made_session(runs)
    made(library, Form.WAV, tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / ".out.replaced")
    assert library.delete(session_id).left == [str(tmp_path / ".out.replaced")]


def test_a_session_is_registered_before_its_first_byte_and_once_in_the_end(
    library: Library, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = made_session(runs)
    add, seen = WavExport.add, []

    def watched(exporter: WavExport, session: Any) -> Any:
        seen.append(library.derived.exports(session_id))
        return add(exporter, session)

    monkeypatch.setattr(WavExport, "add", watched)
    made(library, Form.WAV, tmp_path / "out")
    assert seen == [[str(tmp_path / "out")]]
    assert [each.kind for each in library.derived.of(session_id)] == ["export"]


def test_deleting_a_session_lists_the_exports_it_is_in(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    session_id = made_session(runs)
    made(library, Form.WAV, tmp_path / "out")
    assert library.delete(session_id).exports == [str(tmp_path / "out")]


def test_a_damaged_session_is_left_out_whole_and_the_others_are_exported(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    good, bad = made_session(runs), made_session(runs)
    audio = folder_of(runs, bad) / AUDIO_FILE
    audio.write_bytes(audio.read_bytes()[: audio.stat().st_size // 2])
    for form in (Form.HF, Form.ECHOMIND, Form.WAV):
        out = tmp_path / form
        made(library, form, out)
        assert sessions_in(out) == [good]
        assert not [path for path in out.rglob("*") if bad in path.name]
        assert bad not in "".join(path.read_text() for path in out.rglob("*.json"))
    told = pq.read_table(tmp_path / "hf" / "data").column("session_id").to_pylist()
    assert set(told) == {good}


# --- the folder


def test_a_folder_with_anything_in_it_is_never_written_to_unasked(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    made_session(runs)
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    with pytest.raises(ExportError, match="not empty"):
        made(library, Form.PARQUET, out)
    with pytest.raises(ExportError, match="something else"):
        made(library, Form.PARQUET, out, over=True)
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


def test_force_replaces_an_earlier_export_and_leaves_nothing_of_it(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    first = made_session(runs)
    made(library, Form.WAV, tmp_path / "out")
    library.delete(first)
    second = made_session(runs)
    made(library, Form.WAV, tmp_path / "out", over=True)
    assert sessions_in(tmp_path / "out") == [second]
    assert [path.stem for path in (tmp_path / "out" / "audio").iterdir()] == [second]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "runs"]


def test_an_export_that_fails_leaves_nothing_behind(
    library: Library, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_session(runs)

    def failing(*arguments: Any, **options: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(making, "datasheet", failing)
    with pytest.raises(OSError, match="No space"):
        made(library, Form.HF, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_the_datasheet_counts_what_is_in_the_export_and_what_is_not(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    told = Exchange(seconds=1.8, gender="male", age="elderly")
    made_session(runs, turns=[told, Exchange(reply=None)], speaker=ALICE)
    made_session(runs, consent="audio,research", turns=[told], speaker=ALICE)
    made_session(runs, consent="audio")
    made(library, Form.ECHOMIND, tmp_path / "out")
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text()
    for line in (
        "| sessions | 2 |",
        "| exchanges | 2 |",  # nobody answered the third
        "| speakers who gave a name (pseudonyms) | 1 |",
        "| elderly | 2 |",
        "| male | 2 |",
        "| en | 1 |",
        "| transcript, audio, research | 1 |",
        "| no consent to research | 1 |",
        "| responder: llamacpp 1.0 (Apache-2.0) | 2 |",
    ):
        assert line in sheet
    assert "Nobody was asked" in sheet
    assert "docs/perception.md" in sheet
    assert "operator decides" in sheet


# --- EchoMind


def test_echomind_has_a_case_for_every_answered_turn_in_its_own_layout(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    exchanges = [
        Exchange(user=WORDS, event="sigh", topic="family"),
        Exchange(reply=None),
        Exchange(reply="All of it, and more.", heard="All of it", interrupted=True),
    ]
    session_id = made_session(runs, turns=exchanges)
    out = tmp_path / "out"
    made(library, Form.ECHOMIND, out)
    data = out / "data_human"
    scripts = json.loads((data / "script_info_human.json").read_text())
    assert [each["case_id"] for each in scripts] == [f"{session_id}_000", f"{session_id}_002"]
    first = scripts[0]
    assert first["topic"] == "family"
    assert first["spoken_info"] == "sigh sound"
    assert first["speak_A"] == WORDS
    # As its released runner goes through the records and finds the files.
    found = []
    for record in scripts:
        for kind in ("target", "neutral", "alternative"):
            name = record[f"{kind}_audio_info"][f"{kind}_input_audio_file"]
            assert name == "" or "/" in name
            if (data / "audio" / name).is_file():
                found.append(data / "audio" / name)
    expected = made_sound(exchanges)
    spots = [spot for spot in placed(exchanges) if spot.of.reply]
    for path, spot in zip(found, spots, strict=True):
        sound, rate = soundfile.read(path, dtype="int16")
        assert rate == WIRE_RATE
        np.testing.assert_array_equal(sound, expected[slice(*spot.user), 0])
    answers = json.loads((data / "responses_human.json").read_text())
    given = [each["output_content"]["target"] for each in answers]
    assert given[1]["response_audio_transcript"] == "All of it"
    reply, _ = soundfile.read(out / "audio_response" / given[1]["file"], dtype="int16")
    np.testing.assert_array_equal(reply, expected[slice(*spots[1].reply), 1])


def test_spoken_info_is_only_told_when_perception_is_sure() -> None:
    assert spoken_info(made_percept(Exchange())).text == "sad-toned expressive voice"
    assert spoken_info(made_percept(Exchange(age="elderly", emotion="neutral"))).text == "elderly"
    assert spoken_info(made_percept(Exchange(emotion="neutral"))).text == "neutral"
    assert spoken_info(None).text == "unknown"
    doubted = made_percept(Exchange())
    doubted["unknown"] += ["emotion"]
    assert spoken_info(doubted).text == "unknown"
    faint = made_percept(Exchange())
    faint["emotion"] = {"sad": 0.6, "neutral": 0.4}
    assert spoken_info(faint).text == "unknown"


def test_every_attribute_of_the_taxonomy_has_echominds_string_but_gender_and_music() -> None:
    names = {name for dimension in DIMENSIONS.values() for name in dimension.attributes}
    assert names - {*STRINGS, *PLACES} == {"male", "female", "music"}


def test_a_topic_in_the_log_cannot_become_a_path(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    made_session(runs, turns=[Exchange(topic="../../../escaped")])
    made(library, Form.ECHOMIND, tmp_path / "out")
    names = [path.name for path in (tmp_path / "out").rglob("*.wav")]
    assert len(names) == 2 and all("no_specific_topics" in name for name in names)
    assert not list(tmp_path.parent.rglob("*escaped*"))


# --- Hugging Face


def test_datasets_loads_the_hugging_face_export_with_its_sound(
    library: Library, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    exchanges = [Exchange(user=WORDS), Exchange(reply=None)]
    rating = Rating(wall=STARTED, by="expert", scores={"warmth": 4, "fit": 5})
    session_id = made_session(runs, turns=exchanges, speaker=ALICE, ratings=[rating])
    made_session(runs, consent="transcript,research", turns=1)
    made(library, Form.HF, tmp_path / "out")
    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(
        str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert loaded.features["user_audio"] == datasets.Audio(sampling_rate=WIRE_RATE)
    assert loaded.features["plan_strategies"] == datasets.List(datasets.Value("string"))
    [shard] = (tmp_path / "out" / "data").iterdir()  # a shard alone says so as well
    assert datasets.Features.from_arrow_schema(pq.read_schema(shard)) == loaded.features
    for column in ("user_audio", "reply_audio"):
        loaded = loaded.cast_column(column, datasets.Audio(decode=False))
    rows = {(row["session_id"], row["exchange"]): row for row in loaded}
    assert len(rows) == 3
    row, spot, sound = rows[session_id, 0], placed(exchanges)[0], made_sound(exchanges)
    assert row["user_text"] == WORDS
    assert row["speaker"] == ALICE
    assert (row["user_start"], row["user_end"]) == spot.user
    assert row["emotion"] == "sad" and row["heard_surely"] == ["sad"]
    assert row["plan_emotion"] == "comforting"
    assert row["plan_strategies"] == ["reflection", "question"]
    assert row["latency_ms"] == 420.0
    assert row["session_rating_expert"] == 4.5 and row["reply_rating_expert"] is None
    for column, span, channel in (("user_audio", spot.user, 0), ("reply_audio", spot.reply, 1)):
        heard, rate = soundfile.read(io.BytesIO(row[column]["bytes"]), dtype="int16")
        assert rate == WIRE_RATE
        np.testing.assert_array_equal(heard, sound[slice(*span), channel])
    assert rows[session_id, 1]["reply_audio"] is None
    assert rows[session_id, 1]["reply_turn"] is None


def test_a_large_hugging_face_export_is_spread_over_shards(
    library: Library, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hf, "SHARD_BYTES", 1)
    for _ in range(3):
        made_session(runs, turns=1)
    made(library, Form.HF, tmp_path / "out")
    shards = sorted(path.name for path in (tmp_path / "out" / "data").iterdir())
    assert shards == [f"train-{number:05d}.parquet" for number in range(3)]
    assert pq.read_table(tmp_path / "out" / "data").num_rows == 3
    assert "num_examples: 3" in (tmp_path / "out" / "README.md").read_text()


# --- tables


def test_parquet_holds_exchanges_and_sessions(library: Library, runs: Path, tmp_path: Path) -> None:
    session_id = made_session(runs, turns=[Exchange(interrupted=True), Exchange(reply=None)])
    made(library, Form.PARQUET, tmp_path / "out")
    [session] = pq.read_table(tmp_path / "out" / "sessions.parquet").to_pylist()
    assert session["session_id"] == session_id
    assert (session["exchanges"], session["interruptions"]) == (2, 1)
    assert session["seconds"] == len(made_sound([Exchange(), Exchange(reply=None)])) / WIRE_RATE
    assert session["echo_cancellation"] is True and session["capture_rate"] == 48_000
    rows = rows_of(tmp_path / "out")
    assert [(row["user_turn"], row["reply_turn"]) for row in rows] == [(0, 1), (2, None)]
    assert json.loads(rows[0]["percept"])["emotion"]["sad"] == 0.9


def test_csv_cells_can_be_no_formulas_and_numbers_stay_numbers(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    made_session(runs, turns=[Exchange(user='=HYPERLINK("http://x")', reply="-2+3", heard="@SUM")])
    made(library, Form.PARQUET, tmp_path / "out", csv=True)
    raw = (tmp_path / "out" / "exchanges.csv").read_text()
    [row] = csv.DictReader(io.StringIO(raw))
    assert row["user_text"] == '\'=HYPERLINK("http://x")'
    assert row["reply_text"] == "'@SUM"
    assert float(row["latency_ms"]) == 420.0
    assert ",420.0," in raw  # not quoted: a number
    assert [cell(-2.5), cell(-3), cell(None), cell(True)] == [-2.5, -3, "", "true"]


@given(st.text(max_size=8), st.lists(st.text(max_size=4), max_size=2))
def test_no_text_whatever_becomes_a_formula(text: str, listed: list[str]) -> None:
    file = io.StringIO(newline="")
    Spreadsheet(file, ["one", "many"]).add({"one": text, "many": listed})
    rows = list(csv.reader(io.StringIO(file.getvalue(), newline="")))
    assert len(rows) == 2 and len(rows[1]) == 2
    for shown, meant in zip(rows[1], (text, " ".join(listed)), strict=True):
        assert not shown.lstrip(" ").startswith(FORMULA)
        assert shown in (meant, f"'{meant}")


# --- sound


def test_wav_gives_whole_sessions_as_they_sounded(
    library: Library, runs: Path, tmp_path: Path
) -> None:
    exchanges = [Exchange(), Exchange()]
    session_id = made_session(runs, turns=exchanges)
    made(library, Form.WAV, tmp_path / "out")
    [row] = csv.DictReader(io.StringIO((tmp_path / "out" / "index.csv").read_text()))
    sound, rate = soundfile.read(tmp_path / "out" / row["file"], dtype="int16")
    assert rate == WIRE_RATE and row["session_id"] == session_id
    np.testing.assert_array_equal(sound, made_sound(exchanges))


def test_wav_gives_each_turn_alone_if_asked(library: Library, runs: Path, tmp_path: Path) -> None:
    exchanges = [Exchange(user="+1"), Exchange()]
    made_session(runs, turns=exchanges)
    made(library, Form.WAV, tmp_path / "out", turns=True)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "index.csv").read_text())))
    assert [row["role"] for row in rows] == ["user", "assistant"] * 2
    assert rows[0]["text"] == "'+1"
    expected = made_sound(exchanges)
    for row in rows:
        sound, _ = soundfile.read(tmp_path / "out" / row["file"], dtype="int16")
        span = slice(int(row["start"]), int(row["end"]))
        np.testing.assert_array_equal(sound, expected[span, int(row["role"] == "assistant")])
