"""What was meant, by vectors: against values of the packages whose part ours takes.

Those under "bert_score" and "sentence-transformers" were computed by bert_score 0.3.13 and
sentence-transformers 5.7.0 (transformers 4.57.6, torch 2.15.0) from the folders that
tests/tiny_encoders.py builds, one pair at a time:

    score([reply], [reference], model_type=folder, num_layers=2, use_fast_tokenizer=True)
    SentenceTransformer(folder).encode([reply]) @ SentenceTransformer(folder).encode([reference]).T
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.perception.words import shared_encoder
from server.scoring.annotation import Annotation
from server.scoring.exchange import Exchange
from server.scoring.score import Score, Unavailable, Unscored
from server.scoring.settings import EncoderSettings, Settings
from server.scoring.words import bertscore, hub_encoders, meaning, minilm, understanding
from server.scoring.words.bertscore import Match, read_baseline
from server.scoring.words.encoders import Absent, Pieces, cosine, fingerprint
from server.scoring.words.hub_encoders import HubPieces, HubSentences
from server.scoring.words.meaning import Meaning
from server.scoring.words.recipe import Recipe
from tests import tiny_encoders
from tests.scoring_parts import exchange

SORRY = "I'm sorry, you sound down. Do you want to talk about your results?"
SAD = "Oh, you sound really down about it. Would you like to talk about your test results?"
HAPPY = "That's wonderful! Sounds like great news. I'm excited to hear about your results!"


def told(reply: str | None, **annotation: Any) -> Exchange:
    return replace(exchange(reply=reply), annotation=Annotation(**annotation))


def pieces(*rows: tuple[float, float]) -> Pieces:
    """The first is a mark."""
    counted = np.arange(len(rows)) > 0
    return Pieces(np.array(rows, np.float32), counted)


# -- BERTScore's matching


def test_marks_may_be_matched_but_do_not_count() -> None:
    candidate = pieces((0, 1), (1, 0), (0.6, 0.8))
    reference = pieces((0, 1), (1, 0))

    found = bertscore.match(candidate, reference)

    # the second word is nearest to the mark: (1 + 0.8) / 2, and 2 · 0.9 / 1.9
    assert found.precision == pytest.approx(0.9)
    assert found.recall == pytest.approx(1)
    assert found.f == pytest.approx(1.8 / 1.9)


def test_the_length_of_vectors_does_not_matter() -> None:
    candidate, reference = pieces((0, 5), (7, 0), (3, 4)), pieces((0, 2), (0.5, 0))

    assert bertscore.match(candidate, reference).f == pytest.approx(1.8 / 1.9)


def test_precision_is_of_the_reply_and_recall_of_the_reference() -> None:
    one, two = pieces((0, -1), (1, 0)), pieces((0, -1), (1, 0), (0, 1))

    # (0, 1) has nothing near: its best is 0
    assert astuple(bertscore.match(one, two)) == pytest.approx((1, 1 / 2, 2 / 3))
    assert astuple(bertscore.match(two, one)) == pytest.approx((1 / 2, 1, 2 / 3))


def test_a_text_without_words_matches_nothing() -> None:
    assert bertscore.match(pieces((0, 1)), pieces((0, 1), (1, 0))) == bertscore.NONE
    assert bertscore.match(pieces((0, 1), (1, 0)), pieces((0, 1))) == bertscore.NONE


def test_rescaling_puts_the_baseline_at_nought() -> None:
    baseline = Match(0.2, 0.5, 0.4)

    assert bertscore.rescaled(baseline, baseline) == bertscore.NONE
    assert bertscore.rescaled(Match(1, 1, 1), baseline) == Match(1, 1, 1)
    found = bertscore.rescaled(Match(0.6, 0.75, 0.1), baseline)
    assert astuple(found) == pytest.approx((0.5, 0.5, -0.5))


@pytest.mark.parametrize("between", [",", "\t"])
def test_a_baseline_is_read_for_its_layer(tmp_path: Path, between: str) -> None:
    path = tmp_path / "baseline.tsv"
    rows = ("LAYER,P,R,F", "0,0.1,0.1,0.1", "9,0.35,0.36,0.37")
    path.write_text("\n".join(rows).replace(",", between))

    assert read_baseline(path, 9) == Match(0.35, 0.36, 0.37)
    with pytest.raises(Unavailable, match="nothing usable for layer 3"):
        read_baseline(path, 3)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "is not there"),
        ("LAYER,P,R,F\nnine,1,1,1", "no table of LAYER,P,R,F"),
        ("A,B\n1,2", "no table of LAYER,P,R,F"),
        ("LAYER,P,R,F\n9,0.3,0.3,1", "nothing usable for layer 9"),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, content: str | None, reason: str) -> None:
    path = tmp_path / "baseline.tsv"
    if content:
        path.write_text(content)

    with pytest.raises(Unavailable, match=reason):
        read_baseline(path, 9)


def test_cosines_are_those_of_the_angle() -> None:
    one, other = np.array([3, 4], np.float32), np.array([4, 3], np.float32)

    assert cosine(one, other) == pytest.approx(24 / 25)
    assert cosine(one, -one) == pytest.approx(-1)
    assert cosine(one, np.zeros(2, np.float32)) == 0


# -- the packaged encoder


def test_the_packaged_encoder_is_the_one_that_listens() -> None:
    near, far = shared_encoder().nearness(SAD, [SORRY, HAPPY])
    ours = minilm.minilm()
    sad = ours.vector(SAD)

    # it listens to several at once, and 8 bits round by what is beside
    assert cosine(sad, ours.vector(SORRY)) == pytest.approx(near, abs=0.03)
    assert cosine(sad, ours.vector(HAPPY)) == pytest.approx(far, abs=0.03)


def test_the_packaged_encoder_reads_whole_replies() -> None:
    long = "I was there. " * 30
    ours = minilm.minilm()

    assert len(ours.pieces(f"{long} It was sad.").rows) == 2 + 30 * 4 + 4
    assert len(ours.pieces(long * 9).rows) == minilm.LONGEST
    assert ours.pieces("It was sad.").counted.tolist() == [False, True, True, True, True, False]


@pytest.fixture(scope="module")
def packaged() -> Any:
    built: Any = meaning.build(Settings())
    return built


def test_a_reply_near_the_reference_scores_above_one_that_is_not(packaged: Any) -> None:
    near = packaged.measure(told(SORRY, reference=SAD, alternative_reference=HAPPY))
    far = packaged.measure(told("How great! Well done.", reference=SAD))

    for name in ("bertscore_minilm", "similarity_minilm"):
        assert 0 < far[name].value < near[name].value - 10 < 90


def test_a_reply_is_steered_to_its_cue(packaged: Any) -> None:
    to = {"reference": SAD, "alternative_reference": HAPPY}
    fro = {"reference": HAPPY, "alternative_reference": SAD}

    sad, happy = packaged.measure(told(SORRY, **to)), packaged.measure(told(SORRY, **fro))

    steered = sad["steering_minilm"].value
    assert steered > 10
    assert happy["steering_minilm"].value == pytest.approx(-steered)
    # the two cosines it is made of
    difference = sad["similarity_minilm"].value - happy["similarity_minilm"].value
    assert steered == pytest.approx(difference)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (None, "no reference reply for another cue"),
        (SAD, "both cues have the same reference reply"),
    ],
)
def test_steering_needs_two_references(packaged: Any, other: str | None, reason: str) -> None:
    scores = packaged.measure(told(SORRY, reference=SAD, alternative_reference=other))

    assert scores["steering_minilm"] == Score.none(reason)


@pytest.mark.parametrize("text", [SAD, "Yes.", "25 %", "日本語 🙂", "naïve café"])
def test_the_same_words_are_as_near_as_can_be(packaged: Any, text: str) -> None:
    scores = packaged.measure(told(text, reference=text))

    assert scores["bertscore_minilm"].value == pytest.approx(100, abs=1e-3)
    assert scores["similarity_minilm"].value == pytest.approx(100, abs=1e-3)


@pytest.mark.parametrize("reply", [None, "", " "])
def test_no_reply_is_not_left_out(packaged: Any, reply: str | None) -> None:
    scores = packaged.measure(told(reply, reference=SAD, alternative_reference=HAPPY))

    assert scores["bertscore_minilm"] == scores["similarity_minilm"] == Score(0.0, "no reply")
    assert scores["steering_minilm"] == Score.none("no reply")


def test_without_an_encoder_the_reference_names_are_unscored(packaged: Any) -> None:
    scores = packaged.measure(told(SORRY, reference=SAD))

    assert set(scores) == {measure.name for measure in meaning.MEASURES}
    for name, option in (
        ("bertscore", "bertscore"), ("bertscore_rescaled", "bertscore"), ("similarity", "semsim"),
    ):  # fmt: skip
        assert scores[name] == Score.none(f"no encoder is configured: encoders.{option}")


def test_without_a_reference_nothing_is_scored(packaged: Any) -> None:
    with pytest.raises(Unscored, match="no reference reply"):
        packaged.measure(told(SORRY))


def test_without_any_encoder_the_instrument_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise Unavailable("MiniLM is not here")

    monkeypatch.setattr(meaning, "minilm", missing)

    with pytest.raises(Unavailable, match="run python -m models.weights"):
        meaning.build(Settings())


def test_recognised_words_are_compared_by_meaning() -> None:
    built = understanding.build(Settings())
    said = replace(
        exchange("I got my test result back today."),
        annotation=Annotation(text="I got my test results back today."),
    )

    scores = built.measure(said)

    assert set(scores) == {measure.name for measure in understanding.MEASURES}
    assert 90 < (scores["semsim_minilm"].value or 0) < 100
    assert scores["semsim"] == Score.none("no encoder is configured: encoders.semsim")
    assert scores["wer"].value == pytest.approx(100 / 7)


class Fixed:
    """Reads every text as the same pieces."""

    key, layer = "fixed", 2

    def __init__(self, **texts: Pieces) -> None:
        self._texts = texts

    def pieces(self, text: str) -> Pieces:
        return self._texts[text]

    def vector(self, text: str) -> Any:
        return self._texts[text].rows[1]


def test_each_measure_has_its_own_encoder() -> None:
    own = Fixed(reply=pieces((0, 1), (1, 0), (0.6, 0.8)), right=pieces((0, 1), (1, 0)))
    whole = Fixed(reply=pieces((0, 1), (3, 4)), right=pieces((0, 1), (4, 3)))
    instrument = Meaning("key", Absent("no MiniLM"), own, Match(0, 0, 0.5), whole)

    scores = instrument.measure(told("reply", reference="right"))
    silent = instrument.measure(told(None, reference="right"))

    assert scores["bertscore"].value == pytest.approx(100 * 1.8 / 1.9)
    assert scores["bertscore"].why == "precision 90.0, recall 100.0"
    assert scores["bertscore_rescaled"].value == pytest.approx(100 * (1.8 / 1.9 - 0.5) / 0.5)
    assert scores["similarity"].value == pytest.approx(96)
    assert scores["bertscore_minilm"] == scores["steering_minilm"] == Score.none("no MiniLM")
    # the package has 0 for an empty text, and rescales that, too
    assert silent["bertscore"].value == silent["similarity"].value == 0
    assert silent["bertscore_rescaled"].value == pytest.approx(-100)


# -- how a folder wants to be used


def written(folder: Path, files: Mapping[str, Any]) -> Path:
    for name, told_ in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(told_))
    return folder


def parts(*kinds: str) -> list[dict[str, str]]:
    return [{"type": f"sentence_transformers.models.{kind}", "path": kind} for kind in kinds]


def test_a_plain_network_is_used_by_its_mean(tmp_path: Path) -> None:
    assert Recipe.read(tmp_path, "encoders.semsim") == Recipe("", "mean", None, "", False)


def test_a_recipe_is_read(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "modules.json": parts("Transformer", "Pooling", "Normalize"),
            "Transformer/sentence_bert_config.json": {"max_seq_length": 99, "do_lower_case": True},
            "Pooling/config.json": {
                "pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False,
                "include_prompt": True,
            },
            "config_sentence_transformers.json": {
                "prompts": {"q": "query: "}, "default_prompt_name": "q",
            },
        },
    )  # fmt: skip

    found = Recipe.read(tmp_path, "encoders.semsim")

    assert found == Recipe("Transformer", "lasttoken", 99, "query: ", True)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"modules.json": parts("Transformer", "Dense")}, "an unknown part: Dense"),
        ({"modules.json": parts("Pooling")}, "files that do not fit"),
        (
            {
                "modules.json": parts("Transformer", "Pooling"),
                "Pooling/config.json": {
                    "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True,
                },
            },
            "pools in a way that is not known here",
        ),
        (
            {
                "modules.json": parts("Transformer", "Pooling"),
                "Pooling/config.json": {"pooling_mode": "mean", "include_prompt": False},
                "config_sentence_transformers.json": {
                    "prompts": {"q": "query: "}, "default_prompt_name": "q",
                },
            },
            "leaves its prompt out",
        ),
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_guessed(
    tmp_path: Path, files: Mapping[str, Any], reason: str
) -> None:
    with pytest.raises(Unavailable, match=reason):
        Recipe.read(written(tmp_path, files), "encoders.semsim")


def test_an_encoder_that_is_not_there_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Unavailable, match="no encoder is configured: encoders.bertscore"):
        HubPieces(None, "encoders.bertscore")
    with pytest.raises(Unavailable, match="the folder given as encoders.semsim is not there"):
        HubSentences(tmp_path / "none", "encoders.semsim")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Unavailable, match="needs torch and transformers: pip install"):
        HubSentences(tmp_path, "encoders.semsim")


def test_other_weights_have_another_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(bytes(3 << 20))
    (tmp_path / ".git").mkdir()
    before = fingerprint(tmp_path)
    (tmp_path / ".git" / "index").write_text("whatever")
    assert fingerprint(tmp_path) == before

    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\1")

    assert fingerprint(tmp_path) != before


# -- real networks, tiny ones

PAIRS = (
    ("oh no, you are so sad.", "i hear that you are sad"),
    ("great!", "oh, that sounds great! well done."),
    ("i want to talk", "i want to talk"),
    ("what went wrong? tell me more", "how do you feel about the results?"),
    ("xyzzy", "he is happy"),
)
BASELINE = "LAYER,P,R,F\n0,0.1,0.1,0.1\n1,0.2,0.2,0.2\n2,0.3,0.31,0.32\n"
# bert_score: precision, recall, F and F rescaled
BERT_SCORE = (
    (0.910532, 0.916711, 0.913612, 0.872958),
    (0.944406, 0.913598, 0.928747, 0.895216),
    (1.0, 1.0, 1.0, 1.0),
    (0.805081, 0.819498, 0.812226, 0.723861),
    (0.76532, 0.731243, 0.747894, 0.629255),
)
# sentence-transformers, by pooling
SENTENCES = {
    "qwen": (0.283309, 0.586137, 1.0, 0.851435, 0.643788),
    "mean": (0.984456, 0.996584, 1.0, 0.947548, 0.967412),
    "cls": (0.981119, 0.990243, 1.0, 0.972636, 0.978043),
    "max": (0.982091, 0.990302, 1.0, 0.945108, 0.962679),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    root = tmp_path_factory.mktemp("encoders")
    form = tiny_encoders.sentence_form
    tiny_encoders.qwen(root / "qwen")
    form(tiny_encoders.bert(root / "mean"), pooling_mode_mean_tokens=True)
    form(tiny_encoders.bert(root / "cls"), prompt="tell me : ", pooling_mode_cls_token=True)
    form(tiny_encoders.bert(root / "max"), pooling_mode_max_tokens=True)
    tiny_encoders.bert(root / "bert")
    (root / "baseline.tsv").write_text(BASELINE)
    return root


@pytest.mark.slow
def test_bertscore_is_that_of_the_package(folders: Path) -> None:
    encoder = HubPieces(folders / "bert", "encoders.bertscore", 2)
    baseline = read_baseline(folders / "baseline.tsv", 2)

    for (reply, reference), values in zip(PAIRS, BERT_SCORE, strict=True):
        found = bertscore.match(encoder.pieces(reply), encoder.pieces(reference))
        again = bertscore.rescaled(found, baseline)
        mine = (found.precision, found.recall, found.f, again.f)
        assert mine == pytest.approx(values, abs=5e-6)


@pytest.mark.slow
def test_layers_are_those_after_so_many_blocks(folders: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    text = "you are so sad."
    tokenizer = AutoTokenizer.from_pretrained(folders / "bert")
    network = AutoModel.from_pretrained(folders / "bert").eval()
    network.encoder.layer = network.encoder.layer[:3]  # as the package cuts it
    cut = network(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].detach().numpy()

    found = HubPieces(folders / "bert", "encoders.bertscore", 3).pieces(text)

    assert found.rows == pytest.approx(cut, abs=1e-5)
    assert found.counted.tolist() == [False] + [True] * (len(cut) - 2) + [False]


@pytest.mark.slow
@pytest.mark.parametrize("name", SENTENCES)
def test_sentence_vectors_are_those_of_the_package(folders: Path, name: str) -> None:
    encoder = HubSentences(folders / name, "encoders.semsim")

    found = [cosine(encoder.vector(one), encoder.vector(other)) for one, other in PAIRS]

    assert found == pytest.approx(SENTENCES[name], abs=5e-6)


@pytest.mark.slow
def test_configured_encoders_give_the_reference_names(folders: Path) -> None:
    encoders = EncoderSettings(
        semsim=folders / "qwen",
        bertscore=folders / "bert",
        bertscore_layer=2,
        bertscore_baseline=folders / "baseline.tsv",
    )
    settings = Settings(encoders=encoders)
    reply, right = PAIRS[0]
    heard = replace(exchange(reply), annotation=Annotation(text=right))

    scores = meaning.build(settings).measure(told(reply, reference=right))
    understood = understanding.build(settings).measure(heard)

    assert scores["bertscore"].value == pytest.approx(91.3612, abs=5e-4)
    assert scores["bertscore_rescaled"].value == pytest.approx(87.2958, abs=5e-4)
    assert scores["similarity"].value == pytest.approx(28.3309, abs=5e-4)
    assert understood["semsim"].value == pytest.approx(28.3309, abs=5e-4)
    assert meaning.build(settings).key != meaning.build(Settings()).key
    one = hub_encoders.sentences(encoders.semsim, "encoders.semsim", "cpu")
    assert one is hub_encoders.sentences(encoders.semsim, "encoders.semsim", "cpu")


@pytest.mark.slow
def test_long_texts_are_cut_and_not_refused(folders: Path) -> None:
    long = "you are so sad. " * 40

    found = HubPieces(folders / "bert", "encoders.bertscore", 2).pieces(long)
    vector = HubSentences(folders / "mean", "encoders.semsim").vector(long)

    assert len(found.rows) == 32
    assert np.linalg.norm(vector) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layer", "reason"), [(None, "give encoders.bertscore_layer"), (5, "but there are 4 layers")]
)
def test_a_layer_must_be_known(folders: Path, layer: int | None, reason: str) -> None:
    with pytest.raises(Unavailable, match=reason):
        HubPieces(folders / "bert", "encoders.bertscore", layer)


@pytest.mark.slow
def test_the_layer_of_a_known_kind_is_that_of_the_package(tmp_path: Path) -> None:
    pytest.importorskip("transformers")

    assert HubPieces(tiny_encoders.bert(tmp_path, 12), "encoders.bertscore").layer == 9


@pytest.mark.slow
def test_a_network_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    tiny_encoders.bert(tmp_path / "cut", lacking=["encoder.layer.1"])
    tiny_encoders.bert(tmp_path / "unpooled", lacking=["pooler"])
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "config.json").write_text("{}")

    with pytest.raises(Unavailable, match="is not whole: encoder.layer.1"):
        HubPieces(tmp_path / "cut", "encoders.bertscore", 2)
    with pytest.raises(Unavailable, match="holds no encoder"):
        HubPieces(tmp_path / "none", "encoders.bertscore", 2)
    assert HubPieces(tmp_path / "unpooled", "encoders.bertscore", 2).layer == 2
