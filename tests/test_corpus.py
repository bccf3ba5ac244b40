"""The corpus is what its datasheet says, and the validator notices where it is not."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from models.corpus import __main__ as command
from models.corpus import plain, references, simple
from models.corpus.exchange import FOLDER, CorpusError, Split, Way, load
from models.corpus.sameness import distinct, grams, openings, self_bleu, words
from models.corpus.validate import FOREIGN, faults, fingerprint
from models.thinking.plan import ReplyPlan
from models.tuning.evaluation import chat

Row = dict[str, Any]


@pytest.fixture(scope="module")
def whole() -> dict[Split, list[Row]]:
    return {split: _rows(FOLDER / f"{split}.jsonl") for split in Split}


@pytest.fixture
def copy(tmp_path: Path, whole: dict[Split, list[Row]]) -> Path:
    """A part of the corpus: enough to find faults in, if too small to be without any."""
    for split, rows in whole.items():
        _write(tmp_path, split, rows[:60])
    shutil.copy(FOLDER / "published.sha256", tmp_path)
    shutil.copy(FOLDER / plain.FILE, tmp_path)
    shutil.copy(FOLDER / simple.FILE, tmp_path)
    shutil.copy(FOLDER / references.FILE, tmp_path)
    return tmp_path


def _rows(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _write(folder: Path, name: str, rows: list[Row]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def test_the_corpus_has_no_fault() -> None:
    assert faults() == []
    assert len(load(Split.TEST)) >= 200


def test_every_plan_is_one_that_the_thinker_could_have_made() -> None:
    for exchange in load(Split.TEST):
        for way in Way:
            plan = exchange.plan(way)
            assert isinstance(plan, ReplyPlan) and plan.source == "author"
            assert plan.to_json()["line"].startswith("heard: ")
            assert {each.sure for each in plan.heard} <= {True, False}


def test_no_plain_question_is_one_that_is_asked_in_evaluation() -> None:
    """Some have the same form, "the capital of …": never with the same answer."""
    for asked in chat.plain()[chat.UNTOLD]:
        theirs = set(words(asked.question.turns[-1].text))
        answers = {word.lower() for word in asked.words}
        for each in plain.load():
            ours = set(words(each.question))
            if len(ours & theirs) >= 0.5 * len(ours | theirs):
                assert not answers & set(words(each.answer)), each.question


def test_plain_replies_take_the_place_of_their_author_s() -> None:
    easy, taught = simple.load(), load(Split.TRAIN)
    exchanges = simple.simplified(taught, easy)
    assert {each.id for each in exchanges} == set(easy)
    for each in exchanges:
        for way, row in easy[each.id].items():
            assert each.variants[way].reply == f"{row.opening} {row.more}"


def plainly(folder: Path) -> list[Row]:
    """The plain replies to one script."""
    taught = {each.id for each in load(Split.TRAIN, folder)}
    rows = [row for row in _rows(folder / simple.FILE) if row["id"] in taught]
    return [row for row in rows if row["id"] == rows[0]["id"]]


def test_every_way_has_one_plain_reply(copy: Path) -> None:
    rows = plainly(copy)
    _write(copy, "simple", rows[:2])
    with pytest.raises(CorpusError, match="has no reply for alternative"):
        simple.load(copy)
    _write(copy, "simple", [*rows, rows[0]])
    with pytest.raises(CorpusError, match="has two replies for target"):
        simple.load(copy)


def test_a_plain_reply_that_was_published_is_noticed(copy: Path) -> None:
    rows = plainly(copy)
    _write(copy, "simple", rows)
    run = grams(f"{rows[0]['opening']} {rows[0]['more']}", FOREIGN)[0]
    (copy / "published.sha256").write_text(fingerprint(run) + "\n", encoding="utf-8")
    assert any(rows[0]["id"] in found and "published" in found for found in faults(copy))


# ---- what the validator notices


@pytest.mark.parametrize(
    "change, fault",
    [
        ({"id": "school-0"}, "no script to learn from"),
        ({"more": "Who won? Who lost?"}, "goes on for more than a sentence"),
        ({"more": "And then"}, "it does not end"),
        ({"opening": "Cheer up."}, "it says 'Cheer up'"),
        ({"opening": "So the day went on and on and on and on."}, "11 words"),
    ],
)
def test_a_plain_reply_that_is_none_is_noticed(
    copy: Path, change: dict[str, str], fault: str
) -> None:
    rows = plainly(copy)
    rows[0] |= change
    if "id" in change:
        rows += [rows[0] | {"way": way} for way in ("neutral", "alternative")]
        rows += [rows[1] | {"way": "target"}]
    _write(copy, "simple", rows)
    assert any("simple" in found and fault in found for found in faults(copy))


def spoil(row: Row, what: str) -> None:
    target = row["variants"]["target"]
    match what:
        case "it does not end":
            target["reply"] = target["reply"].rstrip(".!?…")
        case "cannot be spoken":
            target["reply"] = "Well *that* went as well as it could have, did it not?"
        case "it says 'calm down'":
            target["reply"] = "You should calm down and tell me what the matter is first."
        case "more than 3 sentences":
            target["reply"] = "One now. Two now. Three now. Four now."
        case "a guess is spoken of as heard":
            target["cues"] = [{"name": "sad", "sure": False}]
            target["reply"] = "You sound low about it, so we may go slowly with this one."
        case "something is heard in the neutral variant":
            row["variants"]["neutral"]["cues"] = [{"name": "yawn"}]
        case "two variants are said in the same way":
            row["variants"]["alternative"]["cues"] = target["cues"]
        case "its turns do not alternate":
            row["lines"].append({"role": "assistant", "text": "And so it goes on and on."})
        case "a variant is missing":
            del row["variants"]["alternative"]


FAULTS = (
    "it does not end", "cannot be spoken", "it says 'calm down'", "more than 3 sentences",
    "a guess is spoken of as heard", "something is heard in the neutral variant",
    "two variants are said in the same way", "its turns do not alternate", "a variant is missing",
)  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_of_form_is_found(copy: Path, whole: dict[Split, list[Row]], what: str) -> None:
    rows = json.loads(json.dumps(whole[Split.DEV][:60]))
    spoil(rows[3], what)
    _write(copy, Split.DEV, rows)
    assert any(rows[3]["id"] in fault and what in fault for fault in faults(copy))


def test_a_script_of_another_split_is_a_leak(copy: Path, whole: dict[Split, list[Row]]) -> None:
    rows = json.loads(json.dumps(whole[Split.TEST][:60]))
    rows[0]["lines"] = whole[Split.TRAIN][5]["lines"]
    _write(copy, Split.TEST, rows)
    found = faults(copy)
    assert any("of another split" in fault for fault in found)
    assert any("the same script as" in fault for fault in found)


def test_words_of_a_published_benchmark_are_a_leak(copy: Path) -> None:
    """Whatever stands in the list of fingerprints may not stand in the corpus."""
    first = load(Split.TRAIN)[0].variants[Way.TARGET].reply
    leaked = fingerprint(grams(first, 6)[0])
    (copy / "published.sha256").write_text(f"{leaked}\n", encoding="utf-8")
    assert any("published elsewhere" in fault for fault in faults(copy))


def test_too_few_and_too_much_alike_are_faults(copy: Path, whole: dict[Split, list[Row]]) -> None:
    rows = json.loads(json.dumps(whole[Split.TRAIN][:60]))
    for row in rows:
        row["variants"]["target"]["reply"] = f"Well now then, {row['variants']['target']['reply']}"
    _write(copy, Split.TRAIN, rows)
    found = faults(copy)
    assert any(fault.startswith("only ") for fault in found)
    assert any("open with 'well now then'" in fault for fault in found)
    assert any(fault.startswith("male is heard only") for fault in found)


def test_a_line_that_is_no_exchange_is_named(copy: Path) -> None:
    with (copy / "dev.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "x"}\n')
    with pytest.raises(CorpusError, match=r"dev\.jsonl:\d+: topic: "):
        faults(copy)
    ran = CliRunner().invoke(command.app, ["--folder", str(copy)])
    assert ran.exit_code == 1 and "dev.jsonl" in ran.stderr


def test_every_way_that_is_held_out_has_two_further_references(copy: Path) -> None:
    rows = _rows(FOLDER / references.FILE)
    first = rows[0]
    for changed, told in (
        (rows[1:], f"{first['id']}: {first['way']}: 1 further references"),
        ([{**first, "reply": rows[1]["reply"]}, *rows[1:]], "a reference 2 times"),
        ([{**first, "id": "work-1003"}, *rows[1:]], "no script that is held out"),
        ([{**first, "reply": "Calm down, all of you."}, *rows[1:]], "it says 'Calm down'"),
    ):
        _write(copy, references.FILE.removesuffix(".jsonl"), changed)
        assert any(told in fault for fault in faults(copy)), told


@pytest.mark.slow
def test_the_command_prints_what_the_corpus_holds() -> None:
    ran = CliRunner().invoke(command.app, [])
    assert ran.exit_code == 0, ran.stderr
    assert json.loads(ran.stdout)["exchanges"]["test"] == len(load(Split.TEST))


# ---- how sameness is measured


def test_sameness_of_texts_that_are_the_same_and_of_texts_that_are_not() -> None:
    same, other = ["one two three four five"] * 4, ["a b c d e", "f g h i j", "k l m n o"]
    assert distinct(same, 2) == 1 / 4 and distinct(other, 2) == 1.0
    assert self_bleu(same) == pytest.approx(1.0) and self_bleu(other) < 0.05
    assert openings([*same, *other]).most_common(1) == [("one two three", 4)]
