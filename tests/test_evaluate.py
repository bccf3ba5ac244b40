"""Scoring a manifest, with a perceiver that answers by the pitch of a clip."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import soundfile
from rich.console import Console

from models.percept import Percept, Prosody
from models.perception import evaluate as command
from models.perception.evaluate import evaluate
from models.perception.manifest import ManifestError, read_manifest
from models.types import EAR_RATE, Samples

NOTHING = Percept({}, {}, {}, {}, {}, {}, {}, {}, None, None, Prosody(), ())
STEP = 100  # Hz between the pitches of two answers


class ByPitch:
    """Knows what to say to each pitch; refuses pitches it was told nothing of."""

    def __init__(self, *percepts: Percept) -> None:
        self.percepts = percepts
        self.heard: list[int] = []

    def percept_of(self, samples: Samples, words: str = "") -> Percept:
        hertz = np.abs(np.fft.rfft(samples)).argmax() * EAR_RATE / len(samples)
        number = round(hertz / STEP) - 1
        self.heard.append(number)
        if number >= len(self.percepts):
            raise ValueError("this is not speech")
        return self.percepts[number]


def feeling(**chances: float) -> Percept:
    return replace(NOTHING, emotion=chances)


def record(file: Path, answer: int, rate: int = EAR_RATE, channels: int = 1) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    time = np.arange(rate // 2) / rate
    tone = 0.5 * np.sin(2 * np.pi * STEP * (answer + 1) * time)
    soundfile.write(file, np.repeat(tone[:, None], channels, axis=1), rate)


def write_manifest(file: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, columns)
        writer.writeheader()
        writer.writerows(rows)
    return file


def score(
    folder: Path, rows: Sequence[tuple[int, Mapping[str, str]]], *percepts: Percept
) -> dict[str, Any]:
    """The report on clips that sound as numbered; a row without a path gets one."""
    table = []
    for i, (answer, cells) in enumerate(rows):
        row = {"path": f"some/{i}.wav", **cells}
        record(folder / row["path"], answer)
        table.append(row)
    manifest = write_manifest(folder / "m.csv", table)
    report = evaluate(manifest, folder, ByPitch(*percepts), resamples=50)
    loaded: dict[str, Any] = orjson.loads(orjson.dumps(report))
    return loaded


def test_the_likeliest_answer_is_scored_against_the_label(tmp_path: Path) -> None:
    sure, unsure = feeling(happy=0.8, sad=0.2), feeling(happy=0.4, sad=0.6)
    rows = [(0, "happy"), (0, "happy"), (1, "happy"), (1, "sad")]
    report = score(tmp_path, [(a, {"emotion": e}) for a, e in rows], sure, unsure)
    found = report["corpora"]["all"]["emotion"]
    assert found["n"] == 4
    assert found["labels"] == ["happy", "sad"]
    assert found["confusion"] == [[2, 1], [0, 1]]
    assert found["recall"] == {"happy": pytest.approx(2 / 3), "sad": 1}
    assert found["support"] == {"happy": 3, "sad": 1}
    assert found["uar"] == pytest.approx(5 / 6)
    assert found["macro_f1"] == pytest.approx((0.8 + 2 / 3) / 2)
    assert found["ece"] == pytest.approx((2 * 0.2 + 2 * 0.1) / 4)
    assert found["auc"]["sad"] == pytest.approx(2.5 / 3)
    assert sum(found["reliability"]["n"]) == 4
    assert found["ci"]["uar"][0] <= found["uar"] <= found["ci"]["uar"][1]
    assert found["seconds_per_audio_second"] > 0


def test_each_corpus_is_scored_alone_and_all_together(tmp_path: Path) -> None:
    happy = feeling(happy=1.0)
    rows = [
        (0, {"emotion": "happy", "dataset": "one"}),
        (0, {"emotion": "sad", "dataset": "two"}),
        (0, {"emotion": "happy", "path": "three/x.wav"}),
        (0, {"emotion": "happy", "path": "x.wav"}),
    ]
    corpora = score(tmp_path, rows, happy)["corpora"]
    assert {name: tasks["emotion"]["uar"] for name, tasks in corpora.items()} == {
        "one": 1,
        "two": 0,
        "three": 1,
        "m": 1,
        "all": 0.5,
    }


def test_an_event_may_be_anywhere_in_the_percept(tmp_path: Path) -> None:
    percepts = [
        replace(NOTHING, events={"sneeze": 0.9}, environment={"applause": 0.1, "rain": 1.0}),
        replace(NOTHING, events={"sneeze": 0.1}, environment={"applause": 0.8}),
        replace(NOTHING, events={"sneeze": 0.1}, physiological={"sobbing": 0.7, "tired": 1.0}),
    ]
    labels = ["sneezing", "clapping", "crying"]
    report = score(tmp_path, [(i, {"event": e}) for i, e in enumerate(labels)], *percepts)
    found = report["corpora"]["all"]["event"]
    assert found["recall"] == {"sobbing": 1, "sneeze": 1, "applause": 1}
    assert found["lacking"] == []


def test_a_class_the_weights_lack_has_recall_zero(tmp_path: Path) -> None:
    only_rain = replace(NOTHING, environment={"rain": 0.9})
    report = score(tmp_path, [(0, {"env": "rain"}), (0, {"env": "wind"})], only_rain)
    found = report["corpora"]["all"]["env"]
    assert found["lacking"] == ["wind"]
    assert found["recall"] == {"wind": 0, "rain": 1}
    assert found["uar"] == 0.5
    assert found["auc"]["wind"] is None


def test_a_percept_without_an_answer_counts_as_wrong_and_unknown(tmp_path: Path) -> None:
    rows = [(0, {"emotion": "happy"}), (1, {"emotion": "happy"})]
    found = score(tmp_path, rows, feeling(happy=1.0), NOTHING)["corpora"]["all"]["emotion"]
    assert found["labels"] == ["happy", "unanswered"]
    assert (found["uar"], found["unknown"], found["ece"]) == (0.5, 1, 0)


def test_of_percepts_that_never_answer_there_is_no_calibration(tmp_path: Path) -> None:
    rows = [(0, {"emotion": "happy"}), (0, {"emotion": "sad"})]
    found = score(tmp_path, rows, NOTHING)["corpora"]["all"]["emotion"]
    assert (found["uar"], found["ece"], found["ci"]["ece"]) == (0, None, [None, None])


def test_answers_marked_unknown_are_counted_and_the_others_scored_alone(tmp_path: Path) -> None:
    doubtful = replace(feeling(happy=0.6, sad=0.4), unknown=("emotion", "speed"))
    rows = [(0, {"emotion": "happy"}), (1, {"emotion": "sad"})]
    found = score(tmp_path, rows, feeling(happy=1.0), doubtful)["corpora"]["all"]["emotion"]
    assert found["uar"] == 0.5
    assert found["unknown"] == 1
    assert found["known"] == {"n": 1, "uar": 1}


def test_a_beyond_event_is_unknown_with_the_dimension_of_its_kind(tmp_path: Path) -> None:
    doubtful = replace(NOTHING, events={"sneeze": 0.6}, unknown=("nonverbal",))
    found = score(tmp_path, [(0, {"event": "sneezing"})], doubtful)["corpora"]["all"]["event"]
    assert found["unknown"] == 1


def test_labels_are_translated_and_those_without_counterpart_listed(tmp_path: Path) -> None:
    rows = [
        (0, {"emotion": "calm"}),
        (0, {"emotion": "bored"}),
        (0, {"emotion": "bored", "age_group": "teen"}),
        (0, {"emotion": ""}),
    ]
    report = score(tmp_path, rows, feeling(neutral=1.0))
    assert report["unmapped"] == {"emotion": {"bored": 2}}
    assert report["unscored"] == {"age_group": {"teen": 1}}
    assert (report["rows"], report["scored"]) == (4, 1)
    assert report["corpora"]["all"]["emotion"]["recall"] == {"neutral": 1}


def test_excluded_rows_are_not_heard(tmp_path: Path) -> None:
    rows = [(0, {"emotion": "happy"}), (0, {"emotion": "sad", "exclude": "near silence"})]
    report = score(tmp_path, rows, feeling(happy=1.0))
    assert report["excluded"] == 1
    assert report["corpora"]["all"]["emotion"]["n"] == 1


@pytest.mark.parametrize(
    ("name", "rate", "channels"),
    [("a.wav", 16_000, 1), ("a.flac", 44_100, 2), ("a.ogg", 16_000, 1), ("a.wav", 8_000, 1)],
)
def test_a_clip_is_heard_alike_in_any_format(
    tmp_path: Path, name: str, rate: int, channels: int
) -> None:
    record(tmp_path / name, answer=3, rate=rate, channels=channels)
    perceiver = ByPitch(*[NOTHING] * 4)
    manifest = write_manifest(tmp_path / "m.csv", [{"path": name, "gender": "male"}])
    assert evaluate(manifest, tmp_path, perceiver)["scored"] == 1
    assert perceiver.heard == [3]


def test_clips_that_cannot_be_heard_are_listed_with_the_reason(tmp_path: Path) -> None:
    record(tmp_path / "good.wav", 0)
    record(tmp_path / "refused.wav", 5)
    (tmp_path / "broken.ogg").write_bytes(b"OggS, or so it says")
    (tmp_path / "nameless.raw").write_bytes(b"anything")
    soundfile.write(tmp_path / "empty.wav", np.zeros(0, np.float32), EAR_RATE)
    soundfile.write(tmp_path / "nan.wav", np.full(99, np.nan, np.float32), EAR_RATE, "FLOAT")
    names = ["good.wav", "refused.wav", "broken.ogg", "nameless.raw", "empty.wav", "nan.wav"]
    rows = [{"path": name, "emotion": "happy"} for name in [*names, "missing.wav", ""]]
    manifest = write_manifest(tmp_path / "m.csv", rows)
    report = evaluate(manifest, tmp_path, ByPitch(feeling(happy=1.0)))
    reasons = {skip["path"]: skip["reason"] for skip in report["skipped"]}
    assert list(reasons) == [*names[1:], "missing.wav", ""]
    assert reasons["refused.wav"] == "this is not speech"
    assert reasons["empty.wav"] == "holds no sound"
    assert reasons["nan.wav"] == "holds samples that are no numbers"
    assert reasons["missing.wav"] == "No such file or directory"
    assert report["corpora"]["all"]["emotion"]["n"] == 1


def test_a_speakers_clips_are_resampled_together(tmp_path: Path) -> None:
    happy = feeling(happy=1.0)
    truth = [("a", "happy"), ("a", "happy"), ("b", "sad"), ("b", "sad")]
    known = [(0, {"emotion": emotion, "speaker": speaker}) for speaker, emotion in truth]
    found = score(tmp_path, known, happy)["corpora"]["all"]["emotion"]
    assert (found["resampled_by"], found["groups"]) == ("speaker", 2)
    assert found["sources"] == {"happy": 1, "sad": 1}

    unknown = [(0, {"emotion": emotion}) for _, emotion in truth]
    found = score(tmp_path, unknown, happy)["corpora"]["all"]["emotion"]
    assert (found["resampled_by"], found["groups"]) == ("clip", 4)


def test_a_class_of_few_speakers_does_not_widen_the_interval_by_its_absence(tmp_path: Path) -> None:
    truth = ["happy"] * 5 + ["sad"]
    rows = [(0, {"emotion": emotion, "speaker": str(i)}) for i, emotion in enumerate(truth)]
    found = score(tmp_path, rows, feeling(happy=1.0, sad=0.0))["corpora"]["all"]["emotion"]
    assert found["uar"] == 0.5
    assert found["ci"]["uar"] == [0.5, 0.5]


def test_a_role_can_be_chosen(tmp_path: Path) -> None:
    rows = [{"path": f"{i}.wav", "role": r, "gender": "male"} for i, r in enumerate(["dev", "x"])]
    manifest = write_manifest(tmp_path / "m.csv", rows)
    assert [clip.path for clip in read_manifest(manifest, role="dev").clips] == ["0.wav"]
    assert len(read_manifest(manifest).clips) == 2
    with pytest.raises(ManifestError, match="no row of role 'test'"):
        read_manifest(manifest, role="test")


def test_a_limit_draws_the_same_rows_each_time_and_keeps_their_order(tmp_path: Path) -> None:
    rows = [{"path": f"{i:03}.wav", "gender": "male"} for i in range(100)]
    manifest = write_manifest(tmp_path / "m.csv", rows)
    drawn = [clip.path for clip in read_manifest(manifest, limit=10).clips]
    assert len(drawn) == 10
    assert drawn == sorted(drawn) != [row["path"] for row in rows[:10]]
    assert drawn == [clip.path for clip in read_manifest(manifest, limit=10).clips]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"file,emotion\n1.wav,happy\n", "no column 'path'"),
        (b"path,mood\n1.wav,happy\n", "none of the columns gender"),
        (b"", "no column 'path'"),
        (b"path,emotion\n\xff\xfe\n", "no CSV table in UTF-8"),
    ],
)
def test_a_manifest_that_cannot_be_scored_says_why(
    tmp_path: Path, text: bytes, complaint: str
) -> None:
    (tmp_path / "m.csv").write_bytes(text)
    with pytest.raises(ManifestError, match=complaint):
        read_manifest(tmp_path / "m.csv")


def test_ragged_rows_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    text = "\ufeffpath,emotion,gender\n1.wav,happy\n2.wav,sad,male,extra,more\n"
    (tmp_path / "m.csv").write_text(text, "utf-8")
    truths = [clip.truth for clip in read_manifest(tmp_path / "m.csv").clips]
    assert truths == [{"emotion": "happy"}, {"emotion": "sad", "gender": "male"}]


def test_the_report_is_shown_in_a_few_lines(tmp_path: Path) -> None:
    report = score(tmp_path, [(0, {"emotion": "happy"}), (0, {"emotion": "odd"})], feeling(happy=1))
    console = Console(file=io.StringIO(), width=100)
    command.show(report, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "default weights" in shown
    assert "1 labels unmapped, 0 files skipped" in shown


def test_nothing_to_score_gives_a_report_all_the_same(tmp_path: Path) -> None:
    report = score(tmp_path, [(0, {"emotion": "odd"})], NOTHING)
    assert report["corpora"] == {"all": {}}
    assert report["seconds_per_audio_second"] is None
    assert math.isnan(command.pace([]))
