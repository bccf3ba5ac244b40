"""Data sets in the layouts they are published in, made here from noise and invented words."""

import json
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
import pytest
import soundfile

from models.types import WIRE_RATE
from server.scoring.bench.cues import cue
from server.scoring.bench.errors import BenchmarkError, ItemError
from server.scoring.bench.item import Item
from server.scoring.bench.loaders import NAMES, load
from server.scoring.bench.loaders.echomind import letter, listed
from server.scoring.bench.sound import last_audible, read_clip
from server.sessions.export.spoken_info import PLACES, STRINGS


def clip(file: Path, seconds: float = 0.05, rate: int = 16_000) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(0).uniform(-0.3, 0.3, round(seconds * rate))
    soundfile.write(file, noise, rate)
    return file


def write(file: Path, told: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(told), "utf-8")


def found(name: str, folder: Path) -> list[Item]:
    items = list(load(name, folder))
    for item in items:
        assert item.annotation.benchmark == name
    return items


# ---- EchoMind


def echomind(folder: Path) -> None:
    data = folder / "data_synthesis"
    script = {
        "case_id": "id_7",
        "topic": "school",
        "spoken_info": "sad-toned expressive voice",
        "speak_A": "I saw the list today.",
        "target_audio_info": {
            "target_input_audio_file": "sad/id_7_sad_school_target.wav",
            "target_response_text": "Oh no.",
        },
        "neutral_audio_info": {"neutral_input_audio_file": "sad/id_7_sad_school_neutral.wav"},
        "alternative_audio_info": {
            "alternative_input_audio_file": "sad/id_7_sad_school_alternative.wav",
            "alternative_spoken_info": "happy-toned expressive voice",
            "alternative_response_text": "Lovely!",
        },
    }
    old = {
        "case_id": "id_8",
        "topic": "family",
        "spoken_info": "elderly",
        "speak_A": "Where is it?",
        "target_audio_info": {"target_input_audio_file": "elderly/id_8_target.wav"},
    }
    question = {
        "question_id": "u1",
        "case_id": "id_7",
        "audio_dir": "sad",
        "audio_name": "id_7_sad_school_target.wav",
        "question": "How does it sound?",
        "options_text": "A. Sad\nB. Happy",
        "answer": "A",
        "question_type": "Speech Emotion Recognition",
    }
    write(data / "script_info_synthesis.json", [script, old])
    write(data / "MCQ" / "understanding.json", [question])
    write(data / "MCQ" / "reasoning.json", [{**question, "question_id": "r1", "answer": "[B]"}])


def test_echomind_gives_three_renderings_of_a_script_and_its_questions(tmp_path: Path) -> None:
    echomind(tmp_path)
    target, neutral, alternative, elderly, first, second = found("echomind", tmp_path)
    assert target.audio == tmp_path / "data_synthesis/audio/sad/id_7_sad_school_target.wav"
    assert [item.annotation.cue for item in (target, neutral, alternative, elderly)] == [
        "sad", "neutral", "happy", "elderly",
    ]  # fmt: skip
    told = target.annotation
    assert (told.item, told.group, told.variant, told.setting) == ("id_7", "id_7", "target", "tone")
    assert (told.text, told.topic, told.speech) == ("I saw the list today.", "school", "synthetic")
    assert (told.reference, told.alternative_reference) == ("Oh no.", "Lovely!")
    assert alternative.annotation.alternative_reference == "Oh no."
    assert neutral.annotation.dimension == "emotion", "that of its script"
    assert (neutral.about, elderly.about) == ("paralinguistic", "speaker")
    assert elderly.annotation.variant == "target", "it has no neutral rendering"

    asked = first.annotation
    assert (asked.task, asked.level, asked.answer) == ("mcq", "understanding", "A")
    assert (asked.options, asked.kind) == (("A. Sad", "B. Happy"), "Speech Emotion Recognition")
    assert (asked.cue, asked.variant, asked.text) == ("sad", "target", "I saw the list today.")
    assert (second.annotation.level, second.annotation.answer) == ("reasoning", "B")
    assert first.audio == target.audio


@pytest.mark.parametrize(
    ("rendering", "cue", "dimension"),
    [("target", "sad", "emotion"), ("neutral", "neutral", "emotion"),
     ("alternative", "happy", "emotion")],
)  # fmt: skip
@pytest.mark.parametrize("where", ["sad", "audio/sad", None])
def test_a_question_of_echomind_is_about_the_rendering_that_is_played(
    rendering: str, cue: str, dimension: str, where: str | None, tmp_path: Path
) -> None:
    echomind(tmp_path)
    # Only the fields that are documented: no case_id tells the script.
    question = {
        "question_id": "u9", "audio_name": f"id_7_sad_school_{rendering}.wav",
        "question": "How does it sound?", "options_text": "A. Sad\nB. Happy",
        **({"audio_dir": where} if where else {}),
    }  # fmt: skip
    write(tmp_path / "data_synthesis/MCQ/understanding.json", [question])
    told = found("echomind", tmp_path)[4].annotation
    assert (told.item, told.group, told.variant) == ("u9", "id_7", rendering)
    assert (told.cue, told.dimension) == (cue, dimension)
    assert (told.text, told.topic) == ("I saw the list today.", "school")


def test_a_question_of_echomind_about_an_unknown_clip_is_told_no_other_clips_cue(
    tmp_path: Path,
) -> None:
    echomind(tmp_path)
    asked = {"question_id": "u", "case_id": "id_7", "spoken_info": "sad", "options_text": "A. x"}
    names = ("id_9_target.wav", "id_9_neutral.wav", "id_9_alternative.wav")
    questions = [{**asked, "audio_name": name} for name in names]
    write(tmp_path / "data_synthesis/MCQ/understanding.json", questions)
    items = found("echomind", tmp_path)[4:7]
    assert [item.annotation.cue for item in items] == ["sad", "neutral", None]
    assert {item.annotation.text for item in items} == {None}


def test_echomind_tells_people_from_machines(tmp_path: Path) -> None:
    echomind(tmp_path)
    (tmp_path / "data_synthesis").rename(tmp_path / "data_human")
    here = tmp_path / "data_human"
    (here / "script_info_synthesis.json").rename(here / "script_info_human.json")
    assert {item.annotation.speech for item in found("echomind", tmp_path)} == {"human"}
    assert len(found("echomind", here)) == 6, "the folder of the recordings itself does as well"


def test_echominds_sample_pack_is_read_too(tmp_path: Path) -> None:
    rendering = {"input_wav": "audio/a.wav", "reference_response": "Oh."}
    variants = {
        "target": {**rendering, "attribute": "Sigh"},
        "neutral": {**rendering, "attribute": "neutral", "reference_response": "Good."},
    }
    pack_of = {
        "dialogues": [{"case_id": "1", "script": "Fine.", "topic": "work", "variants": variants}],
        "mcq": [
            {
                "type": "Coarse Grained", "level": "understanding", "script": "Well.",
                "target": "Laughter", "audio": "audio/b_target.wav", "question": "What?",
                "options": ["A. Yes", "B. No"], "answer": "B",
            }
        ],
    }  # fmt: skip
    write(tmp_path / "sample.json", pack_of)
    target, neutral, question = found("echomind", tmp_path)
    assert (target.annotation.cue, target.annotation.dimension) == ("sigh", "nonverbal")
    assert neutral.annotation.cue == "neutral"
    assert neutral.annotation.alternative_reference == "Oh."
    assert (question.annotation.cue, question.annotation.answer) == ("laughter", "B")
    write(tmp_path / "sample.json", {"dialogues": [{}]})
    with pytest.raises(BenchmarkError, match="is not EchoMind's sample"):
        found("echomind", tmp_path)


@pytest.mark.parametrize(
    ("told", "name"),
    [
        *((text, name) for name, text in {**STRINGS, **PLACES}.items()),
        *((name, name) for name in (*STRINGS, *PLACES)),
        ("surprised-toned expressive voice", "surprise"),
        ("Elderly", "elderly"),
        ("breathless sound", "breath"),
        ("sound of happy music", "music"),
        ("sound of children speaking", "children"),
        ("<ANGER>", "angry"),
        ("OLD", "elderly"),
        ("raining", "rain"),
        ("adult", None),
        ("a purple voice", None),
        ("", None),
        (None, None),
    ],
)
def test_a_cue_in_others_words_gets_our_name_or_none(told: str | None, name: str | None) -> None:
    assert cue(told) == name


def test_options_get_their_letters_and_answers_lose_their_dress() -> None:
    assert listed("A. Yes\nB. No\n") == ("A. Yes", "B. No")
    assert listed(["Yes", "No"]) == ("A. Yes", "B. No")
    assert listed({"A": "Yes", "B": "No"}) == ("A. Yes", "B. No")
    assert listed(None) == ()
    told = ["C", "[C]", "c.", "C. The third", "(C)", "Child", "", None]
    assert [letter(each) for each in told] == ["C", "C", "C", "C", "C", None, None, None]


# ---- EmpathyEval


def test_empathyeval_ties_situations_and_tones_into_groups(tmp_path: Path) -> None:
    item = {
        "context": "It rained.",
        "utterance": "Great.",
        "response": "Oh dear.",
        "options": {"opt-A": "./audio/a.wav", "opt-B": "audio/b.wav"},
    }
    meld = tmp_path / "phase1-test_multi-context_meld"
    emov = tmp_path / "phase1-test_multi-emotion_emovdb"
    write(
        meld / "phase1-test_meld_release.json",
        [
            {**item, "question_id": f"d3_u2_{n}", "utterance_audio": "./u.wav", "answer": "opt-B"}
            for n in (1, 2)
        ],
    )
    write(
        emov / "phase1-test_emovdb_release.json",
        [{**item, "question_id": f"s5_e{n}", "utterance_audio": f"u{n}.wav"} for n in (1, 2)],
    )
    first, second, sad, glad = found("empathyeval", tmp_path)
    told = first.annotation
    assert (told.task, told.setting, told.context) == ("empathy_choice", "context", "It rained.")
    assert (told.item, told.group) == ("d3_u2_1", second.annotation.group)
    assert told.options == (f"A. {meld}/audio/a.wav", f"B. {meld}/audio/b.wav")
    assert (told.answer, first.audio) == ("B", meld / "u.wav")
    assert (sad.annotation.setting, sad.annotation.answer) == ("tone", None)
    assert sad.annotation.group == glad.annotation.group == "emovdb/s5"
    assert {item.annotation.group_size for item in (first, second, sad, glad)} == {2}


# ---- EChat-eval


def test_echat_keeps_every_label_and_finds_the_one_that_tells(tmp_path: Path) -> None:
    lines = [
        {"id": "e1", "audio": "wav/1.wav", "query": "Hm?", "emotion": "<ANGER>", "response": "Oh."},
        {"audio": "wav/2.wav", "query": "Hm?", "labels": {"emotion": "NEUTRAL", "age": "OLD"}},
        {"audio": "wav/3.wav", "query": "Hm?", "event": "cough", "emotion": "sad", "task": "multi"},
        {"audio": "wav/4.wav", "query": "Hm?", "emotion": "neutral", "source": "real"},
        {"audio": "wav/5.wav", "query": "Hm?", "emotion": "<&&>"},
    ]
    (tmp_path / "emotion.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    items = found("echat", tmp_path)
    assert [item.annotation.cue for item in items] == ["angry", "elderly", "sad", "neutral", None]
    assert items[0].annotation.labels == {"emotion": "angry"}
    assert (items[0].annotation.item, items[0].annotation.reference) == ("e1", "Oh.")
    assert items[1].annotation.labels == {"emotion": "neutral", "age": "elderly"}
    assert items[2].annotation.labels == {"emotion": "sad", "event": "cough"}
    assert [item.annotation.kind for item in items[:3]] == ["emotion", "emotion", "multi"]
    assert items[3].annotation.speech == "human"
    assert items[4].annotation.labels == {}
    assert len({item.annotation.item for item in items}) == 5


# ---- VocalBench


def test_vocalbench_brings_how_fitting_each_feeling_is(tmp_path: Path) -> None:
    record = {
        "Qid": "emotion-000", "Audio": "emotion/000.wav", "Question": "Why me?",
        "Question_emo": "surprised", "Score": [1, 4, 3, 2, 5],
    }  # fmt: skip
    write(tmp_path / "emotion.json", [record])
    here = clip(tmp_path / "audio/emotion/000.wav")
    (item,) = found("vocalbench", tmp_path)
    assert (item.annotation.cue, item.annotation.text) == ("surprise", "Why me?")
    assert item.annotation.suitability == {
        "angry": 1, "happy": 4, "neutral": 3, "sad": 2, "surprised": 5,
    }  # fmt: skip
    assert item.audio == here


# ---- Full-Duplex-Bench


def test_full_duplex_folders_tell_their_task_and_where_the_turn_ends(tmp_path: Path) -> None:
    interrupt = {"context": "Tell me of Rome.", "interrupt": "And Paris?", "timestamp": [4.5, 6.0]}
    clip(tmp_path / "synthetic_user_interruption/1/input.wav")
    write(tmp_path / "synthetic_user_interruption/1/interrupt.json", [interrupt])
    clip(tmp_path / "candor_turn_taking/2/input.wav")
    write(tmp_path / "candor_turn_taking/2/turn_taking.json", [{"timestamp": [3.25, 5.0]}])
    write(tmp_path / "candor_turn_taking/2/transcription.json", {"text": "So yes.", "chunks": []})
    clip(tmp_path / "synthetic_pause_handling/3/input.wav")
    write(tmp_path / "synthetic_pause_handling/3/pause.json", [{"timestamp": [1.0, 2.0]}])
    clip(tmp_path / "icc_backchannel/4/input.wav")
    meta = {"context_text": "Hi.", "current_turn_text": "Mm.", "timestamps": [2.0, 2.5]}
    for task in ("user_interruption", "user_backchannel", "talking_to_other", "background_speech"):
        clip(tmp_path / "v1.5" / task / "5/input.wav")
        clip(tmp_path / "v1.5" / task / "5/clean_input.wav")
        write(tmp_path / "v1.5" / task / "5/metadata.json", meta)
    clip(tmp_path / "something_else/6/input.wav")

    items = {item.annotation.item: item for item in found("fullduplex", tmp_path)}
    assert {name: item.annotation.task for name, item in items.items()} == {
        "synthetic_user_interruption/1": "interruption",
        "candor_turn_taking/2": "turn_taking",
        "synthetic_pause_handling/3": "pause",
        "icc_backchannel/4": "backchannel",
        "user_interruption/5": "user_interruption",
        "user_backchannel/5": "user_backchannel",
        "talking_to_other/5": "talking_to_other",
        "background_speech/5": "background_speech",
    }
    first = items["synthetic_user_interruption/1"]
    assert first.overlap_sec == (4.5, 6.0)
    assert first.annotation.text == "Tell me of Rome. And Paris?"
    assert (first.annotation.labels, first.annotation.speech) == (
        {"turn": "And Paris?"}, "synthetic",
    )  # fmt: skip
    turn = items["candor_turn_taking/2"]
    assert (turn.end_sec, turn.overlap_sec) == (3.25, None)
    assert (turn.annotation.text, turn.annotation.speech) == ("So yes.", "human")
    assert items["synthetic_pause_handling/3"].overlap_sec is None
    assert items["talking_to_other/5"].overlap_sec == (2.0, 2.5)


@pytest.mark.parametrize("odd", [-1.0, 1e300])
def test_a_timestamp_beyond_all_clips_is_none(tmp_path: Path, odd: float) -> None:
    clip(tmp_path / "candor_turn_taking/1/input.wav")
    write(tmp_path / "candor_turn_taking/1/turn_taking.json", [{"timestamp": [odd, 5.0]}])
    (one,) = found("fullduplex", tmp_path)
    assert one.end_sec is None


# ---- a table


def test_a_table_may_have_any_column_of_an_annotation(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(
        "audio,text,cue,reference,options,labels,question,answer,level\n"
        'a.wav,"Well, yes.",Sad,Oh.,,"{""age"": ""child""}",,,\n'
        "b.wav,No.,,,A. Yes|B. No,,Is it?,b,reasoning\n",
        "utf-8",
    )
    for place in (table, tmp_path):
        talk, question = found("csv", place)
        assert (talk.audio, talk.annotation.task) == (tmp_path / "a.wav", "conversation")
        assert (talk.annotation.cue, talk.annotation.dimension) == ("sad", "emotion")
        assert (talk.annotation.text, talk.annotation.reference) == ("Well, yes.", "Oh.")
        assert talk.annotation.labels == {"age": "child"}
        asked = question.annotation
        assert (asked.task, asked.answer, asked.options) == ("mcq", "B", ("A. Yes", "B. No"))
        assert talk.annotation.item != asked.item


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("text,cue\nHm,sad\n", "no column 'audio'"),
        ("audio,mood\na.wav,sad\n", "has a column 'mood'"),
        ("audio,cue\na.wav,gloomy\n", "Line 2 .* unknown cue"),
        ("audio,variant\na.wav,fourth\n", "Line 2 .* 'variant' that cannot be"),
        ("audio,labels\na.wav,{\n", "Line 2 .*'labels' is no JSON"),
        ("text,audio\nHm,a.wav\nHm\n", "Line 3 .* names no audio"),
        ("text,audio\nHm,\n", "Line 2 .* names no audio"),
        ("audio,text\na.wav,Hm,Oh,Ah\n", "Line 2 .* more cells than there are columns"),
        ("audio,speech_end\na.wav,1180591620717411303424\n", "Line 2 .* 'speech_end' that cannot"),
        ("audio\n../a.wav\n", "names a file outside of itself"),
        ("audio\nlink.wav\n", "names a file outside of itself"),
        ("audio\n/etc/hostname\n", "Line 2 .* not relative to the table"),
        ("audio\na\0.wav\n", "names a file that cannot be"),
    ],
)
def test_a_table_that_cannot_be_understood_says_where(
    tmp_path: Path, lines: str, problem: str
) -> None:
    clip(tmp_path / "a.wav")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "link.wav").symlink_to(tmp_path / "a.wav")
    (folder / "t.csv").write_text(lines, "utf-8")
    with pytest.raises(BenchmarkError, match=problem):
        found("csv", folder)


def test_the_last_cells_of_a_row_may_be_missing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("audio,text,cue\n a.wav,Hm\n", "utf-8")
    (one,) = found("csv", tmp_path)
    assert (one.audio, one.annotation.text, one.annotation.cue) == (tmp_path / "a.wav", "Hm", None)


# ---- what is not there


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_that_is_no_such_data_set_says_where_to_get_it(name: str, tmp_path: Path) -> None:
    for folder, what in ((tmp_path / "gone", "is not there"), (tmp_path, "does not look like")):
        with pytest.raises(BenchmarkError, match=what) as problem:
            list(load(name, folder))
        said = str(problem.value)
        assert "Get " in said and "\n" not in said
    with pytest.raises(BenchmarkError, match="There is no benchmark 'else'; there are echomind"):
        list(load("else", tmp_path))


def test_a_data_set_does_not_lead_out_of_its_folder(tmp_path: Path) -> None:
    record = {"Qid": "1", "Audio": "../../secret.wav", "Question": "?", "Question_emo": "sad"}
    write(tmp_path / "emotion.json", [record])
    with pytest.raises(BenchmarkError, match="outside of itself"):
        found("vocalbench", tmp_path)


def test_json_that_is_broken_is_told_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"audio": "a.wav", "query": "x"}\n{"audio\n', "utf-8")
    with pytest.raises(BenchmarkError, match=r"Line 2 of .*a\.jsonl is no JSON"):
        found("echat", tmp_path)


# ---- sound


@pytest.mark.parametrize("told", ["right", "endless", "nothing", "half"])
def test_a_wav_is_read_to_its_end_whatever_its_header_says(tmp_path: Path, told: str) -> None:
    file = clip(tmp_path / "a.wav", 0.5)
    data = bytearray(file.read_bytes())
    length = {"endless": 0xFFFFFFFF, "nothing": 0, "half": 8_000}.get(told, 16_000)
    assert data[36:40] == b"data"
    data[40:44] = pack("<I", length)
    file.write_bytes(data)
    assert len(read_clip(file)) == WIRE_RATE // 2


def test_what_follows_the_sound_of_a_wav_is_no_sound(tmp_path: Path) -> None:
    file = clip(tmp_path / "a.wav", 0.5)
    file.write_bytes(file.read_bytes() + b"LIST" + pack("<I", 4) + b"made")
    assert len(read_clip(file)) == WIRE_RATE // 2


@pytest.mark.parametrize("data", [None, b"", b"RIFF", b"hello there"])
def test_a_clip_that_cannot_be_read_is_one_items_problem(
    tmp_path: Path, data: bytes | None
) -> None:
    file = tmp_path / "a.wav"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(ItemError, match="its audio"):
        read_clip(file)


def test_the_end_of_speech_is_behind_the_last_sample_one_could_hear() -> None:
    sound = np.zeros(1_000, np.float32)
    sound[[100, 599]] = -0.1, 0.1
    sound[900] = 0.001  # 60 dB below full scale
    assert last_audible(sound) == 600
    assert last_audible(np.zeros(10, np.float32)) == 10
