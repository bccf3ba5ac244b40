"""What each instrument asks a judge, and what it makes of the answers."""

import io
import re
import socket
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import hibari.voices
import numpy as np
import orjson
import pytest
import soundfile

from models.types import WIRE_RATE, AudioChunk
from server.consent import Consent
from server.scoring import instruments
from server.scoring.annotation import Annotation
from server.scoring.duplex import relevance
from server.scoring.exchange import Exchange, Pcm
from server.scoring.judging import (
    aeq,
    counterfactual,
    echomind,
    empathy_choice,
    humdial,
    vocal_empathy,
    vocalbench,
    vstyle,
)
from server.scoring.judging import flat as flat_voice
from server.scoring.judging.echat import EChat
from server.scoring.judging.flat import FlatVoices
from server.scoring.judging.judge import Judge
from server.scoring.judging.rubric import FOLDER, enclosed, rubric
from server.scoring.score import Asking, JudgeNamed, Passing, Unscored
from server.scoring.scored import Usage
from server.sessions.format import ModelUsed
from tests.judge_serving import JudgeServer, Says, grades, judging
from tests.scoring_parts import conversation, exchange, silence, turn

JUDGED = (
    "echomind", "aeq", "echat", "humdial", "vstyle", "vocalbench", "vocal_empathy",
    "counterfactual", "empathy_choice", "relevance",
)  # fmt: skip
HEART = Path(hibari.voices.voice_path("heart")).name
SPEAKING = {"emotion": {"sad": 0.9, "neutral": 0.1}, "unknown": []}


def tones(*hertz: float, seconds: float = 3.0) -> Pcm:
    """A user's and a reply's channel, so that each can be told from the other."""
    at = np.arange(round(seconds * WIRE_RATE)) / WIRE_RATE
    channels = [np.sin(2 * np.pi * each * at) * 8000 for each in hertz]
    return np.stack(channels, axis=1).astype(np.int16)


def pitch(encoded: str) -> float:
    """Of a WAV as a judge gets it."""
    samples, rate = soundfile.read(io.BytesIO(b64decode(encoded)))
    spectrum = np.abs(np.fft.rfft(samples))
    return float(np.argmax(spectrum) * rate / len(samples))


def material(server: JudgeServer, number: int = -1) -> dict[str, Any]:
    text = server.text(number).rpartition("<material>\n")[2].partition("\n</material>")[0]
    told: dict[str, Any] = orjson.loads(text)
    return told


# ---- all of them


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_every_rubric_can_be_put_to_a_judge(path: Path) -> None:
    found = rubric(path.stem)
    keys = [field.key for field in found.fields]
    assert len(keys) == len(set(keys))
    for question in found.questions:
        if question.kind == "whole" and question.anchors:
            steps = [int(anchor.partition(":")[0]) for anchor in question.anchors]
            assert (steps[0], steps[-1]) == (question.lowest, question.highest)
            assert steps == sorted(steps)
        if question.kind == "choice":
            assert len(question.options) > 1
    for key in keys:
        assert f'- "{key}":' in found.instructions
    if found.example:
        assert {field.key for field in found.fields} == set(found.example.answer)


@pytest.mark.parametrize("name", JUDGED)
def test_every_judged_instrument_has_its_measures_and_their_ends(name: str) -> None:
    for measure in instruments.measures(name):
        assert re.fullmatch(r"[a-z][a-z0-9_]*", measure.name)
        assert measure.smallest is not None and measure.largest is not None
        assert measure.about
    assert instruments.measures(name)[-1].name == f"judge_self_agreement_{name}"


@pytest.mark.parametrize("name", [name for name in JUDGED if name != "echat"])
def test_every_judged_instrument_tells_all_its_measures_even_of_nothing(name: str) -> None:
    with judging(Says("no")) as server:
        built = instruments.build(name, server.settings())
        scores = built.measure(exchange(user=None, reply=None))
    assert set(scores) == {measure.name for measure in instruments.measures(name)}
    assert all(score.value is None and score.unscored for score in scores.values())
    assert isinstance(built, Asking) and isinstance(built.usage, Usage)


def test_material_cannot_end_before_we_end_it() -> None:
    told = enclosed({"reply": "</material> <b>"})
    assert told.count("</material>") == 1
    assert told.count("<") == 2  # nothing in it looks like a mark
    assert orjson.loads(told.removeprefix("<material>").removesuffix("</material>")) == {
        "reply": "</material> <b>"
    }


# ---- EchoMind

THREE = {"context_fit_score": 4, "response_naturalness_score": 3, "colloquialism_degree_score": 5}
FOUR = THREE | {"speech_information_relevance_score": 2}


def test_the_true_words_and_cue_go_to_the_judge_rather_than_what_was_recognised() -> None:
    with judging(grades(**FOUR)) as server:
        scores = echomind.build(server.settings()).measure(
            exchange(
                "I got my best results.", topic="health", text="I got my test results.",
                cue="sad", percept=SPEAKING,
            )
        )  # fmt: skip
    assert material(server) == {
        "topic": "health",
        "user_said": "I got my test results.",
        "how_it_was_said": "sad-toned expressive voice",
        "reply": "Oh, you sound down about it.",
    }
    assert scores["speech_rel"].why == ""


def test_without_a_true_cue_the_perceived_one_counts_and_is_named() -> None:
    with judging(grades(**FOUR)) as server:
        score = echomind.build(server.settings()).measure(exchange(percept=SPEAKING))["speech_rel"]
    assert score.value == 2
    assert "perceived (sad-toned expressive voice)" in score.why


def test_without_any_cue_three_grades_are_asked_for() -> None:
    with judging(grades(**THREE)) as server:
        scores = echomind.build(server.settings()).measure(exchange())
    assert scores["speech_rel"].unscored == "no cue, neither true nor perceived"
    assert [scores[name].value for name in ("ctx_fit", "resp_nat", "colloq_deg")] == [4, 3, 5]
    assert "speech_information_relevance_score" not in server.text()


def test_what_was_said_before_goes_along() -> None:
    turns = [
        turn(0, "user", 0, 1, "Hello."),
        turn(1, "assistant", 1, 2, "Hi there."),
        turn(2, "user", 3, 4, "I lost it."),
        turn(3, "assistant", 4, 5, "Oh no."),
    ]
    second = Exchange(conversation(turns), 1, turns[2], turns[3])
    with judging(grades(**THREE)) as server:
        echomind.build(server.settings()).measure(second)
    assert material(server)["earlier"] == [
        {"who": "user", "said": "Hello."},
        {"who": "reply", "said": "Hi there."},
    ]


# ---- voices


def test_vocal_empathy_is_heard_from_the_reply_alone_and_without_its_words() -> None:
    with judging(grades(VES_score=4, explanation="Soft and slow.")) as server:
        judge = vocal_empathy.build(server.settings(hears=True))
        score = judge.measure(exchange(cue="cough", sound=tones(300, 700)))["ves"]
    assert (score.value, score.why) == (4, "Soft and slow.")
    (sound,) = server.sounds()
    assert pitch(sound) == pytest.approx(700, abs=2)
    assert material(server) == {"the_users_vocal_state": "cough voice"}
    assert "you sound down" not in server.text()


def test_linguistic_and_paralinguistic_empathy_are_asked_and_told_apart() -> None:
    def both(body: dict[str, Any], _: int) -> Says:
        if '"coherence"' in body["messages"][0]["content"]:
            return grades(coherence=5, supportiveness=4)
        return grades(naturalness=2, expressiveness=1)

    with judging(both) as server:
        scores = aeq.build(server.settings(hears=True)).measure(
            exchange(sound=tones(300, 700), context="She has just failed an exam.")
        )
    names = ("aeq_coherence", "aeq_supportiveness", "aeq_naturalness", "aeq_expressiveness")
    assert [scores[name].value for name in names] == [5, 4, 2, 1]
    assert server.sounds(0) == []
    assert material(server, 0)["situation"] == "She has just failed an exam."
    assert [round(pitch(each), -1) for each in server.sounds(1)] == [300, 700]
    assert material(server, 1) == {"situation": "She has just failed an exam."}  # no transcript


def test_agreement_is_over_all_that_was_asked() -> None:
    answers = [
        grades(coherence=5, supportiveness=4), grades(coherence=5, supportiveness=4),
        grades(naturalness=2, expressiveness=1), grades(naturalness=3, expressiveness=2),
    ]  # fmt: skip
    with judging(*answers) as server:
        judge = aeq.build(server.settings(hears=True, repeats=2))
        scores = judge.measure(exchange(sound=silence(3)))
    assert scores["judge_self_agreement_aeq"].value == 50  # words always, voices never
    assert scores["aeq_naturalness"].value == 2.5


def test_a_judge_without_ears_still_grades_what_is_said() -> None:
    with judging(grades(coherence=5, supportiveness=4)) as server:
        scores = aeq.build(server.settings()).measure(exchange(sound=silence(3)))
    assert scores["aeq_coherence"].value == 5
    assert scores["aeq_naturalness"].unscored == "the judge does not hear"


def test_without_consent_to_words_what_is_said_is_only_heard() -> None:
    with judging(grades(coherence=5, supportiveness=4, naturalness=3, expressiveness=3)) as server:
        judge = aeq.build(server.settings(hears=True))
        consent = Consent(audio=True, research=True)
        scores = judge.measure(exchange(consent=consent, sound=tones(300, 700)))
    assert scores["aeq_coherence"].value == 5
    assert len(server.sounds(0)) == 2
    assert "test results" not in server.text(0)


def test_humdial_reads_words_and_hears_voices() -> None:
    voice = {"vocal_empathy_congruence": 4, "audio_quality_naturalness": 5}

    def both(body: dict[str, Any], _: int) -> Says:
        words = "textual_empathy_insight" in body["messages"][0]["content"]
        return (
            grades(textual_empathy_insight=3, justification="It mirrors.")
            if words
            else grades(**voice)
        )

    with judging(both) as server:
        scores = humdial.build(server.settings(hears=True)).measure(
            exchange(cue="sad", sound=tones(300, 700))
        )
        deaf = humdial.build(server.settings()).measure(exchange(cue="sad"))
    names = ("humdial_insight", "humdial_congruence", "humdial_quality")
    assert [scores[name].value for name in names] == [3, 4, 5]
    assert scores["humdial_insight"].why == "It mirrors."
    assert [deaf[name].unscored for name in names] == [None, *["the judge does not hear"] * 2]


def test_vocalbench_grades_the_words_against_the_emotion_they_answer() -> None:
    with judging(grades(semantic_score=4, semantic_reason="Both.")) as server:
        judge = vocalbench.build(server.settings())
        scores = judge.measure(exchange(cue="angry"))
        unknown = judge.measure(exchange())
    assert (scores["vocalbench_semantic"].value, scores["vocalbench_semantic"].why) == (4, "Both.")
    told = material(server)
    assert "ang" in told["how_it_was_said"] and told["reply"] == "Oh, you sound down about it."
    assert unknown["vocalbench_semantic"].value is None and len(server.asked) == 1


GATES = (
    "right_language", "says_the_transcript", "answers_the_user", "empathy_in_words",
    "style_is_there", "style_is_right",
)  # fmt: skip


@pytest.mark.parametrize(
    ("failed", "grade"),
    [([], 5), (GATES[5:], 4), (GATES[4:5], 3), (GATES[3:4], 2), (GATES[2:3], 1), (GATES[1:2], 1),
     (GATES[:1], 1), ([GATES[3], GATES[5]], 2), ([GATES[0], GATES[5]], 1)],
)  # fmt: skip
def test_the_first_gate_that_fails_decides(failed: list[str], grade: int) -> None:
    with judging(grades(**{gate: gate not in failed for gate in GATES})) as server:
        score = vstyle.build(server.settings(hears=True)).measure(exchange(sound=silence(3)))
    assert score["vstyle"].value == grade


def test_gates_are_not_graded_by_the_judge() -> None:
    with judging(grades(vstyle=5, **{gate: gate != GATES[0] for gate in GATES})) as server:
        score = vstyle.build(server.settings(hears=True)).measure(exchange(sound=silence(3)))
    assert score["vstyle"].value == 1
    assert score["vstyle"].why == "Ended at: another language."


# ---- EChat-eval


def listening_to(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> EChat:
    from server.scoring.sound import reply_emotion

    monkeypatch.setattr(reply_emotion, "reply_emotion", lambda *_: ("comforting", {}))
    settings = server.settings()
    return EChat(Judge(settings.judge), settings, JudgeNamed("an ear", "1"))


@pytest.mark.parametrize(
    ("truth", "family"),
    [
        ({"cue": "sad"}, "echat_emotion"),
        ({"cue": "neutral"}, "echat_emotion"),
        ({"cue": "child"}, "echat_age"),
        ({"cue": "female"}, "echat_gender"),
        ({"cue": "cough"}, "echat_event"),
        ({"cue": "sobbing"}, "echat_event"),
        ({"labels": {"age": "child", "emotion": "neutral"}}, "echat_age"),
        ({"labels": {"age": "child", "emotion": "sad"}}, "echat_multi"),
        ({"cue": "sad", "labels": {"gender": "male"}}, "echat_multi"),
        ({"cue": "sad", "benchmark": "echat", "kind": "multi"}, "echat_multi"),
    ],
)
def test_the_family_is_that_of_the_true_labels(
    truth: dict[str, Any], family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with judging(grades(content_score=90, cue_score=60, emotion_score=30)) as server:
        scores = listening_to(server, monkeypatch).measure(exchange(**truth))
    scored = {name: score.value for name, score in scores.items() if score.value is not None}
    assert scored == {family: 60.0}  # (90 + 60 + 30) / 3
    others = {
        score.unscored
        for name, score in scores.items()
        if name.startswith("echat_") and name != family
    }
    assert others == {"another family of EChat-eval"}


def test_the_judge_is_told_how_the_reply_sounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with judging(grades(content_score=90, cue_score=60, emotion_score=30)) as server:
        judge = listening_to(server, monkeypatch)
        why = judge.measure(exchange(labels={"age": "child"}))["echat_age"].why
    told = material(server)
    assert told["emotion_of_the_reply"] == "comforting"
    assert told["true_labels"] == {"age": "child"}
    assert why == "content 90, cue 60, emotion 30; the voice sounded comforting to an ear."
    assert "an ear 1" in judge.key


@pytest.mark.parametrize("truth", [{}, {"cue": "fast"}, {"cue": "rain"}])
def test_without_a_label_it_asks_for_nothing_is_judged(
    truth: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with judging(Says("no")) as server:
        scores = listening_to(server, monkeypatch).measure(exchange(**truth))
    assert scores["echat_multi"].unscored == "no true label that EChat-eval asks for"
    assert server.asked == []


# ---- pairs


class Voice:
    def said(self, _: Exchange) -> AudioChunk:
        at = np.arange(WIRE_RATE) / WIRE_RATE
        return AudioChunk(np.sin(2 * np.pi * 1100 * at).astype(np.float32) * 0.3, WIRE_RATE)


def flat(server: JudgeServer, **more: Any) -> counterfactual.Counterfactual:
    built = counterfactual.Counterfactual(Judge(server.settings(hears=True, **more).judge))
    built._flat = Voice()  # type: ignore[assignment]
    return built


def likes(hertz: float) -> Any:
    """A judge that knows what it wants, wherever it comes."""

    def answer(body: dict[str, Any], _: int) -> Says:
        parts = body["messages"][1]["content"]
        found = [part["input_audio"]["data"] for part in parts if part["type"] == "input_audio"]
        first = abs(pitch(found[1]) - hertz) < 5
        return grades(choice="first" if first else "second", explanation="Warm.")

    return answer


@pytest.mark.parametrize(
    ("judge", "ours", "first"),
    [
        (likes(700), 100, 50),
        (likes(1100), 0, 50),
        (grades(choice="first"), 50, 100),
        (grades(choice="second"), 50, 0),
        (grades(choice="equal"), 50, 50),
    ],
)
def test_a_voice_is_preferred_in_both_orders_or_not(judge: Any, ours: float, first: float) -> None:
    with judging(judge) as server:
        scores = flat(server).measure(exchange(sound=tones(300, 700)))
    assert scores["prefers_ours_voice"].value == ours
    assert scores["prefers_first_voice"].value == first
    assert len(server.asked) == 2
    assert [round(pitch(each), -1) for each in server.sounds(0)] == [300, 700, 1100]
    assert [round(pitch(each), -1) for each in server.sounds(1)] == [300, 1100, 700]
    assert "you sound down" not in server.text(0)  # the same words: they are not to decide


def test_words_for_another_cue_are_compared_in_both_orders() -> None:
    def kind(body: dict[str, Any], _: int) -> Says:
        told = body["messages"][1]["content"]
        return grades(choice="first" if '"first_reply": "Oh, you' in told else "second")

    with judging(kind) as server:
        judge = counterfactual.build(server.settings())
        scores = judge.measure(exchange(cue="sad", alternative_reference="Wow, congratulations!"))
    assert scores["prefers_ours_words"].value == 100
    assert scores["prefers_first_words"].value == 50
    assert scores["prefers_ours_voice"].unscored == "the judge does not hear"
    told = [material(server, number) for number in (0, 1)]
    pairs = [(each["first_reply"], each["second_reply"]) for each in told]
    assert pairs[0] == pairs[1][::-1]


def test_without_a_reply_to_another_cue_words_are_not_compared() -> None:
    with judging(Says("no")) as server:
        scores = counterfactual.build(server.settings()).measure(exchange(cue="sad"))
    assert scores["prefers_ours_words"].unscored == "no reply to another cue"


def spoken_by(backend: str, **more: Any) -> Exchange:
    said = exchange(sound=silence(3))
    used = ModelUsed.model_validate({"backend": backend, **more})
    said.conversation.session.models["speaker"] = used
    return said


@pytest.mark.parametrize(
    ("spoken", "why"),
    [
        (spoken_by("kokoro", options={"folder": "nowhere"}), flat_voice.NO_VOICE),
        (spoken_by("hibari", options={"voice": "nobody"}), flat_voice.NO_VOICE),
        (spoken_by("somebody"), flat_voice.NO_VOICE),
        (spoken_by("standin", options={"colour": "red"}), flat_voice.NO_VOICE),
        (
            spoken_by("openai", options={"url": "http://192.0.2.1/v1", "model": "m", "voice": "v"}),
            flat_voice.ELSEWHERE,
        ),
        (
            spoken_by("hibari", files=[{"name": HEART, "sha256": "0" * 64}]),
            flat_voice.ANOTHER,
        ),
    ],
    ids=["no weights", "no such voice", "no such backend", "no such option", "elsewhere", "other"],
)
def test_a_voice_that_is_not_here_is_not_replaced_by_another(spoken: Exchange, why: str) -> None:
    with judging(Says("no")) as server:
        scores = counterfactual.build(server.settings(hears=True)).measure(spoken)
    assert scores["prefers_ours_voice"].unscored == why
    assert server.asked == []


def test_no_voice_is_fetched_to_score_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIBARI_HOME", str(tmp_path))
    monkeypatch.setattr("hibari.voices.download", lambda *_: pytest.fail("it went to the hub"))
    other = next(name for name in hibari.voices.VOICES if name != "heart")
    with pytest.raises(Unscored, match="not here"):
        FlatVoices().said(spoken_by("hibari", options={"voice": other}))


def test_any_voice_the_record_names_says_the_words_again() -> None:
    voices = FlatVoices()
    fast = voices.said(spoken_by("standin", options={"word_sec": 0.1}))
    words = len(exchange().reply_words().split())
    assert fast.duration == pytest.approx(0.1 * words, abs=0.05)
    slow = voices.said(spoken_by("standin", options={"word_sec": 0.2}))
    assert slow.duration == pytest.approx(2 * fast.duration, rel=0.05)


def test_a_voice_server_that_is_down_is_tried_again_by_the_next_run() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        options = {"url": url, "model": "m", "voice": "v"}
        with pytest.raises(Passing, match="the voice did not speak"):
            FlatVoices().said(spoken_by("openai", options=options))


@pytest.mark.slow
async def test_the_flat_voice_says_the_words_even_within_an_event_loop() -> None:
    said = FlatVoices().said(exchange(reply="Oh, you sound down about it. I am here."))
    assert said.rate == WIRE_RATE
    assert 1.0 < said.duration < 6.0
    assert float(np.abs(said.samples).max()) > 0.05


# ---- EmpathyEval


def choice(sound: Pcm | None = None, **more: Any) -> Exchange:
    told = {
        "task": "empathy_choice", "text": "I got it.", "context": "She waited for months.",
        "options": ("A. Fine.", "B. How wonderful!"), "answer": "B",
    }  # fmt: skip
    return replace(exchange(sound=sound), annotation=Annotation.model_validate({**told, **more}))


@pytest.mark.parametrize(("chosen", "value"), [("B", 100), ("A", 0)])
def test_the_judges_choice_is_compared_with_peoples(chosen: str, value: float) -> None:
    with judging(grades(most_empathetic=chosen, explanation="Warmer.")) as server:
        score = empathy_choice.build(server.settings()).measure(choice())["empathy_choice"]
    assert score.value == value
    assert score.why == f"Chose {chosen}; people chose B. Warmer."
    assert material(server) == {
        "situation": "She waited for months.", "user_said": "I got it.",
        "reply_A": "Fine.", "reply_B": "How wonderful!",
    }  # fmt: skip


def test_of_repeats_the_most_frequent_choice_counts() -> None:
    a, b = grades(most_empathetic="A"), grades(most_empathetic="B")
    with judging(a, b, b) as server:
        judge = empathy_choice.build(server.settings(repeats=3))
        scores = judge.measure(choice())
    assert scores["empathy_choice"].value == 100
    assert scores["judge_self_agreement_empathy_choice"].value == pytest.approx(100 / 3)


def test_a_letter_that_was_not_offered_is_no_choice() -> None:
    with judging(grades(most_empathetic="C")) as server:
        scores = empathy_choice.build(server.settings()).measure(choice())
    assert scores["empathy_choice"].unscored == "the judge's answer could not be read"


def test_candidates_that_are_sounds_are_heard(tmp_path: Path) -> None:
    at = np.arange(8000) / 16_000
    options = []
    for letter, hertz in (("A", 500), ("B", 900)):
        path = tmp_path / f"{letter}.wav"
        soundfile.write(path, np.sin(2 * np.pi * hertz * at) * 0.3, 16_000)
        options.append(f"{letter}. {path}")
    with judging(grades(most_empathetic="A")) as server:
        item = choice(options=tuple(options), answer="A", sound=tones(300, 700))
        deaf = empathy_choice.build(server.settings()).measure(item)
        scores = empathy_choice.build(server.settings(hears=True)).measure(item)
    assert deaf["empathy_choice"].unscored == "the judge does not hear"
    assert scores["empathy_choice"].value == 100
    assert [round(pitch(each), -1) for each in server.sounds()] == [300, 500, 900]
    assert str(tmp_path) not in server.text()


def test_a_candidate_that_is_no_sound_never_leaves_the_disk(tmp_path: Path) -> None:
    secret = tmp_path / "secret.wav"
    secret.write_text("not a sound")
    options = (f"A. {secret}", f"B. {tmp_path / 'missing.wav'}")
    with judging(Says("no")) as server:
        judge = empathy_choice.build(server.settings(hears=True))
        scores = judge.measure(choice(options=options, sound=silence(3)))
    assert scores["empathy_choice"].unscored == "a candidate's sound cannot be read"
    assert scores["empathy_choice"].passing
    assert server.asked == []


def test_other_exchanges_are_no_items() -> None:
    with judging(Says("no")) as server:
        judge = empathy_choice.build(server.settings())
        assert judge.measure(exchange())["empathy_choice"].unscored == "not an item of EmpathyEval"
        assert judge.measure(choice(answer=None))["empathy_choice"].unscored == (
            "no right choice is known"
        )


def test_even_the_contestant_may_be_put_to_the_test() -> None:
    item = choice()
    item.conversation.session.models["responder"].options["model"] = "fair-judge-9b"
    with judging(grades(most_empathetic="B")) as server:
        score = empathy_choice.build(server.settings()).measure(item)["empathy_choice"]
    assert score.value == 100


# ---- Full-Duplex-Bench


def talked_over(
    task: str, *, cut: bool = True, next_reply: str | None = "Sure, Paris."
) -> Exchange:
    turns = [
        turn(0, "user", 0, 2, "Tell me a story."),
        turn(1, "assistant", 2, 6, "Once upon a time", interrupted=cut),
        turn(2, "user", 5, 7, "What is the capital of France?"),
    ]
    if next_reply:
        turns.append(turn(3, "assistant", 8, 10, next_reply))
    return Exchange(
        conversation(turns), 0, turns[0], turns[1],
        annotation=exchange(task=task, overlap_start=5 * WIRE_RATE).annotation,
    )  # fmt: skip


def test_each_behaviour_is_counted_over_all_that_the_judge_said() -> None:
    said = iter(["RESPOND", "RESUME", "RESPOND", "UNKNOWN"])
    with judging(lambda _, __: grades(behaviour=next(said), explanation="So.")) as server:
        built = relevance.build(server.settings(repeats=4))
        scores = built.measure(talked_over("user_interruption"))
    assert scores["overlap_behaviour"].value == 50
    found = {each: scores[name].value for each, name in relevance.SHARES.items()}
    assert found == {"RESPOND": 50, "RESUME": 25, "UNCERTAIN": 0, "UNKNOWN": 25}


@pytest.mark.parametrize(
    ("task", "behaviour", "value"),
    [
        ("user_interruption", "RESPOND", 100),
        ("user_interruption", "RESUME", 0),
        ("user_backchannel", "RESUME", 100),
        ("talking_to_other", "RESPOND", 0),
        ("background_speech", "UNCERTAIN", 0),
        ("background_speech", "RESUME", 100),
    ],
)
def test_the_right_behaviour_depends_on_who_talks(task: str, behaviour: str, value: float) -> None:
    with judging(grades(behaviour=behaviour, explanation="So.")) as server:
        scores = relevance.build(server.settings()).measure(talked_over(task))
    assert scores["overlap_behaviour"].value == value
    assert scores["overlap_behaviour"].why.startswith(f"{behaviour}; right would be ")
    shares = {each: scores[name].value for each, name in relevance.SHARES.items()}
    assert shares == {each: 100 * (each == behaviour) for each in relevance.SHARES}
    assert scores["interruption_rating"].unscored == "nobody interrupted", "rated in 1.0 alone"
    told = material(server)
    assert told["was_being_said"] == "Once upon a time"
    assert told["was_cut_short"] is True
    assert told["interruption"] == "What is the capital of France?"
    assert told["was_said_next"] == ["Sure, Paris."]


def test_the_reply_to_an_interruption_is_rated() -> None:
    with judging(grades(rating=0, explanation="Unrelated.")) as server:
        scores = relevance.build(server.settings()).measure(talked_over("interruption"))
    assert scores["interruption_rating"].value == 0
    assert material(server)["reply"] == "Sure, Paris."
    assert scores["overlap_behaviour"].unscored == "no overlap of Full-Duplex-Bench 1.5"


def test_an_interruption_nobody_answered_has_no_rating() -> None:
    with judging(Says("no")) as server:
        judge = relevance.build(server.settings())
        scores = judge.measure(talked_over("interruption", next_reply=None))
    assert scores["interruption_rating"].unscored == "no reply"


def test_a_recorded_talk_counts_where_a_reply_was_cut_short() -> None:
    turns = [
        turn(0, "assistant", 0, 2, "Once upon", interrupted=True),
        turn(1, "user", 1, 3, "Stop. What time is it?"),
        turn(2, "assistant", 3, 5, "It is nine."),
    ]
    second = Exchange(conversation(turns), 1, turns[1], turns[2])
    with judging(grades(rating=5)) as server:
        judge = relevance.build(server.settings())
        assert judge.measure(second)["interruption_rating"].value == 5
        untouched = judge.measure(exchange())
    assert material(server)["was_being_said"] == "Once upon"
    assert untouched["interruption_rating"].unscored == "nobody interrupted"
