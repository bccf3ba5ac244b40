"""Teaching a network: adapters that are learned, resumed, checked, put together and merged."""

# ruff: noqa: E402 - what is imported below needs torch

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("peft")
gguf = pytest.importorskip("gguf")

import transformers
from safetensors.torch import load_file

from models import adapter_files, reply_gguf, train_reply, weights
from models.corpus import simple
from models.corpus.exchange import Split, Way, load
from models.percept import Affect
from models.tuning import adapters, examples
from models.tuning.base import Base
from models.tuning.base import load as load_base
from models.tuning.curves import svg
from models.tuning.emobank import Perspective, Sentence, Sides, of_genres
from models.tuning.encoded import UNSAID, Encoded, Fork, batches, encode, fork, forked, padded
from models.tuning.examples import Example
from models.tuning.lesson import (
    LOG,
    STATE,
    Recipe,
    Step,
    fingerprint,
    learn,
    mean_loss,
    read_log,
    said_loss,
    weigh,
)
from models.types import Turn

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

SMALL = {
    "vocab_size": 49152,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
}
RECIPE = Recipe(epochs=3, batch=4, pace=5e-3)
MADE_OF = {"base": "tiny", "perspectives": Sides.WRITER, "genres": ("blogs",), "rank": 4}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    file = weights.path("smollm2")
    return transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)


OMNI = {
    "text_config": {
        **SMALL,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]},
    },
    "audio_config": {
        "d_model": 16,
        "encoder_layers": 1,
        "encoder_attention_heads": 2,
        "encoder_ffn_dim": 32,
        "output_dim": 32,
        "num_mel_bins": 16,
        "max_source_positions": 50,
    },
    "vision_config": {
        "depth": 1,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_heads": 2,
        "out_hidden_size": 32,
        "fullatt_block_indexes": [0],
    },
}


def tiny(kind: str, folder: Path, tokenizer: Any) -> str:
    """A network of chance of one architecture, as a folder of the model hub has it."""
    torch.manual_seed(0)
    if kind == "Qwen2_5Omni":
        config = transformers.Qwen2_5OmniConfig(thinker_config=OMNI, enable_audio_output=False)
        network = transformers.Qwen2_5OmniForConditionalGeneration(config)
    elif kind == "PanguEmbedded":
        config = transformers.LlamaConfig(**SMALL, attention_bias=True)
        network = transformers.AutoModelForCausalLM.from_config(config)
    else:
        config = getattr(transformers, f"{kind}Config")(**SMALL)
        network = transformers.AutoModelForCausalLM.from_config(config)
    network.save_pretrained(folder)
    if kind == "PanguEmbedded":
        pangu = {
            **SMALL,
            "model_type": "PanguEmbedded",
            "architectures": ["PanguEmbeddedForCausalLM"],
            "auto_map": {
                "AutoModelForCausalLM": "modeling_openpangu_dense.PanguEmbeddedForCausalLM"
            },
            "bias": True,
            "rope_theta": 16000000.0,
            "tie_word_embeddings": False,
        }
        (folder / "config.json").write_text(json.dumps(pangu))
    tokenizer.save_pretrained(folder)
    if kind == "PanguEmbedded":
        named = json.loads((folder / "tokenizer_config.json").read_text())
        named["auto_map"] = {"AutoTokenizer": ["tokenization_openpangu.OfItsOwn", None]}
        (folder / "tokenizer_config.json").write_text(json.dumps(named))
    return str(folder)


@pytest.fixture
def base(tmp_path: Path, tokenizer: Any) -> Base:
    return load_base(tiny("Llama", tmp_path / "tiny", tokenizer))


@pytest.fixture(scope="module")
def taught(tokenizer: Any) -> list[Fork]:
    return forked(tokenizer, examples.empathy(load(Split.DEV)[:8], [], 7))


def trained(base: Base, taught: list[Fork], folder: Path, stop: int = 0) -> Any:
    network = adapters.put_on(base.network, 7, rank=4)

    def report(step: Step, steps: int) -> None:
        if step.step == stop:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        learn(network, taught, taught[:4], RECIPE, folder, 2, report, MADE_OF)
    return network


def weights_of(network: Any) -> Iterator[tuple[str, Any]]:
    return ((n, p.detach()) for n, p in network.named_parameters() if "lora" in n)


# ---- examples as tokens


def test_only_the_answer_is_to_be_said(tokenizer: Any) -> None:
    example = examples.replies(load(Split.DEV)[:1], [])[0]
    row = encode(tokenizer, example)
    said = tokenizer.decode(row.tokens[row.read :])
    assert said == f"{example.answer}{tokenizer.eos_token}"
    batch = padded([fork([row]), fork([Encoded([5, 6], 1)])], 2)
    assert (batch.labels[0] != UNSAID).sum() == len(row.tokens) - row.read
    assert batch.labels[1].tolist()[:3] == [UNSAID, 6, UNSAID]


def test_what_an_answer_begins_with_is_only_read(tokenizer: Any) -> None:
    turns = (Turn("user", "It rains."),)
    row = encode(tokenizer, Example(turns, " Are you wet?", begun="I see."))
    assert tokenizer.decode(row.tokens[row.read :]) == f" Are you wet?{tokenizer.eos_token}"
    assert tokenizer.decode(row.tokens[: row.read]).endswith("assistant\nI see.")


def test_with_plain_replies_one_also_learns_to_go_on() -> None:
    easy = simple.load()
    exchanges = simple.simplified(load(Split.TRAIN), easy)[:40]
    found = examples.empathy(exchanges, [], 7, easy)
    led = [each for each in found if each.begun]
    assert {each.answer.strip() for each in led} <= {
        row.more for ways in easy.values() for row in ways.values()
    }
    assert 0 < len(led) < len(found) < 2 * 3 * len(exchanges)


def test_every_example_comes_once_in_an_epoch(taught: list[Fork]) -> None:
    said = sum(int((batch.labels != UNSAID).sum()) for batch in batches(taught, 5, 2, 1))
    assert said == sum(len(r.tokens) - r.read + len(r.wrong) for f in taught for r in f.rests)
    assert sum(batch.tokens.shape[0] for batch in batches(taught, 5, 2, 1)) == len(taught)


def test_the_ways_of_saying_one_thing_are_read_together(tokenizer: Any, taught: list[Fork]) -> None:
    alone = [encode(tokenizer, each) for each in examples.empathy(load(Split.DEV)[:8], [], 7)]
    assert [len(each.rests) for each in taught] == [3] * 8
    apart = sum(len(row.tokens) for row in alone)
    apart += sum(row.read + len(row.wrong) for row in alone if row.wrong)
    assert sum(map(len, taught)) < 0.65 * apart
    for row, rest in zip(alone, (r for each in taught for r in each.rests), strict=True):
        assert row.tokens[-len(rest.tokens) :] == rest.tokens and rest.read >= 1


def test_examples_that_are_one_and_the_same_up_to_the_answer_can_be_forked() -> None:
    made = fork([Encoded([1, 2, 3, 7], 3), Encoded([1, 2, 3, 8, 9], 3)])
    assert made == Fork([1, 2], [Encoded([3, 7], 1), Encoded([3, 8, 9], 1)])


# ---- learning


def test_what_is_learned_is_less_surprising(base: Base, taught: list[Fork], tmp_path: Path) -> None:
    before = mean_loss(base.network, taught, 4, 2)
    network = trained(base, taught, tmp_path / "out")
    after = mean_loss(network, taught, 4, 2)
    assert before is not None and after is not None and after < before - 0.05
    assert all("lora" in name for name, p in network.named_parameters() if p.requires_grad)


def test_read_together_or_alone_an_answer_is_as_surprising(base: Base, taught: list[Fork]) -> None:
    """Neither the other ways of saying it nor what fills up the batch are seen."""
    alone = [
        fork([Encoded(each.shared + rest.tokens, len(each.shared) + rest.read)])
        for each in taught
        for rest in each.rests
    ]
    one_by_one = [said_loss(base.network, padded([each], 2)).item() for each in alone]
    lengths = [len(each.rests[0].tokens) - each.rests[0].read for each in alone]
    expected = np.average(one_by_one, weights=lengths)
    assert said_loss(base.network, padded(taught, 2)).item() == pytest.approx(expected, abs=1e-4)


def test_the_most_surprising_answers_can_be_left_out(base: Base, taught: list[Fork]) -> None:
    alone = [
        said_loss(base.network, padded([Fork([], [_whole(one, rest)])], 2)).item()
        for one in taught[:3]
        for rest in one.rests
    ]
    batch = padded(taught[:3], 2)
    counts = [len(rest.tokens) - rest.read for one in taught[:3] for rest in one.rests]
    kept = sorted(zip(alone, counts, strict=True))[: len(alone) - int(0.4 * len(alone))]
    expected = sum(loss * n for loss, n in kept) / sum(n for _, n in kept)
    assert said_loss(base.network, batch, 0.4).item() == pytest.approx(expected, abs=1e-3)
    assert said_loss(base.network, batch, 0.4) < said_loss(base.network, batch)


def _rivals(tokenizer: Any, wrong: str = "Off you go.") -> list[Fork]:
    turns = (Turn("user", "They moved the date again."),)
    right = [Example(turns, answer, "a", wrong=wrong) for answer in ("That is hard.", "How good!")]
    return forked(tokenizer, right)


def test_an_answer_that_would_be_wrong_is_weighed_as_if_alone(base: Base) -> None:
    """It stands behind the right one, and neither sees the other."""
    batch = padded(_rivals(base.tokenizer), 2)
    found = weigh(base.network, batch)
    assert batch.rivals.tolist() == [[0, 1], [2, 3]]
    for number, text in enumerate(("That is hard.", "Off you go.", "How good!", "Off you go.")):
        turns = (Turn("user", "They moved the date again."),)
        alone = said_loss(base.network, padded(forked(base.tokenizer, [Example(turns, text)]), 2))
        own = found.losses[found.owners == number].mean()
        assert own.item() == pytest.approx(alone.item(), abs=1e-4)
    right = torch.cat([found.losses[found.owners == number] for number in (0, 2)])
    assert found.loss().item() == pytest.approx(right.mean().item(), abs=1e-5)
    assert said_loss(base.network, padded(_rivals(base.tokenizer, ""), 2)).item() == pytest.approx(
        found.loss().item(), abs=1e-4
    )


def test_the_most_surprising_right_answers_are_left_out_and_no_wrong_one_counts(base: Base) -> None:
    batch = padded(_rivals(base.tokenizer), 2)
    found = weigh(base.network, batch)
    right = [found.losses[found.owners == number] for number in (0, 2)]
    assert found.loss(0.5).item() == pytest.approx(min(each.mean().item() for each in right))


def test_right_answers_are_learned_to_be_told_from_wrong_ones(
    tokenizer: Any, tmp_path: Path
) -> None:
    """Better than by learning to say them alone."""
    place = tiny("Llama", tmp_path / "tiny", tokenizer)
    confused = {}
    for apart in (0.0, 5.0):
        base = load_base(place)
        forks = _rivals(base.tokenizer)
        network = adapters.put_on(base.network, 7, rank=4)
        recipe = Recipe(epochs=8, pace=5e-3, apart=apart)
        learn(network, forks, forks, recipe, tmp_path / str(apart), 2, lambda *_: None, {})
        confused[apart] = weigh(network, padded(forks, 2)).confusion().item()
        assert read_log(tmp_path / str(apart))[-1].told_apart is not None
    assert confused[5.0] < confused[0.0] - 0.05


def test_what_two_genders_say_alike_has_no_wrong_answer() -> None:
    easy = simple.load()
    exchanges = simple.simplified(load(Split.TRAIN), easy)
    found = {each.id: examples.empathy([each], [], 7, easy) for each in exchanges[:300]}
    for each in exchanges[:300]:
        cues = [
            {c.name for c in each.variants[way].cues} - {"male", "female"}
            for way in (Way.TARGET, Way.NEUTRAL, Way.ALTERNATIVE)
        ]
        wrong = [one.wrong for one in found[each.id] if "Think first." not in one.turns[-1].text]
        if all(cues[0] != other for other in cues[1:]):
            assert all(wrong), each.id
        elif not any(cues):
            assert not any(wrong), each.id


def _whole(one: Fork, rest: Encoded) -> Encoded:
    return Encoded(one.shared + rest.tokens, len(one.shared) + rest.read)


def test_stopped_and_run_again_it_gives_the_same_adapter(
    tokenizer: Any, taught: list[Fork], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.tuning.lesson.EVERY", 4)
    place = tiny("Llama", tmp_path / "tiny", tokenizer)
    whole = trained(load_base(place), taught, tmp_path / "whole")
    trained(load_base(place), taught, tmp_path / "parts", stop=10)
    parts = trained(load_base(place), taught, tmp_path / "parts")
    for (name, one), (_, other) in zip(weights_of(whole), weights_of(parts), strict=True):
        torch.testing.assert_close(one, other, msg=name)
    steps = read_log(tmp_path / "parts")
    assert [step.step for step in steps] == list(range(1, steps[-1].step + 1))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"recipe": replace(RECIPE, epochs=9)}, "epochs: 3, now 9"),
        (
            {"made_of": {**MADE_OF, "perspectives": Sides.READER}},
            "perspectives: writer, now reader",
        ),
        ({"made_of": {**MADE_OF, "base": "other", "rank": 8}}, "base: tiny, now other; rank: 4,"),
        ({"taught": 7}, "examples: "),
        ({"held_out": 3}, "examples: "),
    ],
)
def test_another_run_does_not_go_on_in_the_same_folder(
    changed: dict[str, Any], told: str, base: Base, taught: list[Fork], tmp_path: Path
) -> None:
    network = trained(base, taught, tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    now: dict[str, Any] = {
        "recipe": RECIPE,
        "made_of": MADE_OF,
        "taught": 8,
        "held_out": 4,
    } | changed
    parts = taught[: now["taught"]], taught[: now["held_out"]]
    with pytest.raises(ValueError, match="was begun otherwise") as refusal:
        learn(network, *parts, now["recipe"], tmp_path, 2, lambda *_: None, now["made_of"])
    assert told in str(refusal.value) and "another --out" in str(refusal.value)
    assert all(file.read_bytes() == data for file, data in before.items())


def test_a_run_that_does_not_say_what_it_learns_from_does_not_go_on(
    base: Base, taught: list[Fork], tmp_path: Path
) -> None:
    network = trained(base, taught, tmp_path)
    state = torch.load(tmp_path / STATE, weights_only=True)
    state["recipe"] = state.pop("run")  # as an earlier version wrote it
    torch.save(state, tmp_path / STATE)
    with pytest.raises(ValueError, match="does not say what it learns from"):
        learn(network, taught, taught[:4], RECIPE, tmp_path, 2, lambda *_: None, MADE_OF)


def test_a_network_is_known_by_its_numbers_in_whatever_precision(
    tokenizer: Any, tmp_path: Path
) -> None:
    one = load_base(tiny("Llama", tmp_path / "one", tokenizer)).network
    other = load_base(tiny("Qwen2", tmp_path / "other", tokenizer)).network
    known = fingerprint(one)
    assert known == fingerprint(load_base(str(tmp_path / "one")).network)
    assert known == fingerprint(one.to(torch.bfloat16)) != fingerprint(other)
    with torch.no_grad():
        next(one.parameters())[0, 0] += 1
    assert fingerprint(one) != known


def test_a_curve_shows_both_losses() -> None:
    drawn = svg("reply & more", [Step(1, 4.0, None), Step(2, 3.0, 3.5), Step(3, 2.0, 3.1)])
    assert drawn.count('class="one"') == 2 and drawn.count('class="two"') == 2
    assert "reply &amp; more" in drawn


# ---- adapters


def test_a_saved_adapter_is_small_and_known_by_its_hash(
    base: Base, taught: list[Fork], tmp_path: Path
) -> None:
    adapters.save(trained(base, taught, tmp_path / "out"), tmp_path / "a", "tiny")
    adapter_files.check(tmp_path / "a")
    assert {t.dtype for t in load_file(tmp_path / "a" / adapter_files.FILE).values()} == {
        torch.float16
    }
    with (tmp_path / "a" / adapter_files.FILE).open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\xff")
    with pytest.raises(adapter_files.AdapterError, match="not what its hashes say"):
        adapters.worn(base.network, tmp_path / "a")
    config = json.loads((tmp_path / "a" / adapter_files.CONFIG).read_text())
    assert config["target_modules"] == sorted(config["target_modules"])  # the same in every run
    with pytest.raises(adapter_files.AdapterError, match="There is no adapter"):
        adapter_files.check(tmp_path / "nowhere")


def test_joined_adapters_do_what_they_do_in_a_row(
    tokenizer: Any, taught: list[Fork], tmp_path: Path
) -> None:
    place = tiny("Llama", tmp_path / "tiny", tokenizer)
    folders = []
    for number, rank in ((1, 4), (2, 2)):
        network = adapters.put_on(load_base(place).network, number, rank)
        torch.manual_seed(number)
        for _, weight in network.named_parameters():
            if weight.requires_grad:
                torch.nn.init.normal_(weight, std=0.1)
        adapters.save(network, tmp_path / str(number), "tiny")
        folders.append(tmp_path / str(number))
    adapters.joined(folders, tmp_path / "joined")
    row = adapters.merged(load_base(place).network, folders)
    once = adapters.merged(load_base(place).network, [tmp_path / "joined"])
    batch = padded(taught[:2], 2)
    assert said_loss(once, batch).item() == pytest.approx(said_loss(row, batch).item(), abs=1e-3)
    assert json.loads((tmp_path / "joined" / adapter_files.CONFIG).read_text())["r"] == 6


def test_adapters_are_joined_by_one_command(base: Base, tmp_path: Path) -> None:
    """It says what rank a server has to allow, and what licence the one bears."""
    folders = [tmp_path / "understand", tmp_path / "empathy"]
    network = adapters.put_on(base.network, 7, rank=4)
    for folder in folders:
        adapters.save(network, folder, "tiny")
    learned = {"learned_from": {"sentences": 3, "perspectives": "both"}}
    (folders[0] / adapter_files.TRAINED).write_text(json.dumps(learned))
    out = tmp_path / "joined"
    told = ["joined", str(out), *map(str, folders)]
    ran = CliRunner().invoke(adapters.app, told)
    assert ran.exit_code == 0 and "--max-lora-rank 8 " in ran.stdout, ran.output
    adapter_files.check(out)
    assert adapter_files.bears_share_alike(adapter_files.card(out))
    assert adapter_files.card(out) == {"joined": [learned, None]}
    (folders[1] / adapter_files.CONFIG).write_text("{}")
    ran = CliRunner().invoke(adapters.app, told)
    assert ran.exit_code == 1 and "not what its hashes say" in ran.stderr


# ---- the command


def emobank(folder: Path) -> Path:
    """A folder like EmoBank's, of eight sentences."""
    folder.mkdir()
    rows = [f"s{n},{'train' if n < 6 else 'dev'},3,3,3,Sentence {n}." for n in range(8)]
    (folder / "emobank.csv").write_text("\n".join(["id,split,V,A,D,text", *rows]))
    for side in ("writer", "reader"):
        told = [f"s{n},{2 + n / 8},3.0,3.2" for n in range(8)]
        (folder / f"{side}.csv").write_text("\n".join(["id,V,A,D", *told]))
    return folder


@pytest.mark.parametrize("kind", ["Llama", "Qwen2", "PanguEmbedded", "Qwen2_5Omni"])
def test_all_stages_of_a_small_network(kind: str, tokenizer: Any, tmp_path: Path) -> None:
    place = tiny(kind, tmp_path / "tiny", tokenizer)
    bank = emobank(tmp_path / "emobank")
    arguments = ["--base", place, "--out", str(tmp_path / "out"), "--emobank", str(bank)]
    arguments += ["--scripts", "4", "--epochs", "1", "--rank", "2"]
    ran = CliRunner().invoke(train_reply.app, arguments)
    assert ran.exit_code == 0, ran.stderr
    for stage in ("understand", "reply", "empathy"):
        folder = tmp_path / "out" / stage
        adapter_files.check(folder)
        assert (folder / "loss.svg").read_text().startswith("<svg")
        assert json.loads((folder / "trained.json").read_text())["stage"] == stage
    stack = [tmp_path / "out" / "understand", tmp_path / "out" / "empathy"]
    adapters.merged(load_base(place).network, stack)


def test_run_again_with_the_same_options_nothing_is_trained_and_with_others_nothing_is_claimed(
    tokenizer: Any, tmp_path: Path
) -> None:
    place, out = tiny("Llama", tmp_path / "tiny", tokenizer), tmp_path / "out"
    bank = ["--emobank", str(emobank(tmp_path / "emobank"))]
    short = ["--base", place, "--out", str(out), "--scripts", "4", "--epochs", "1"]

    def run(*options: str) -> Any:
        return CliRunner().invoke(train_reply.app, [*short, *options])

    def left() -> dict[Path, bytes]:
        names = (adapter_files.FILE, adapter_files.CONFIG, adapter_files.SUM, "trained.json", LOG)
        return {file: file.read_bytes() for file in out.glob("*/*") if file.name in names}

    assert run(*bank, "--rank", "2").exit_code == 0
    before = left()
    assert len(before) == 3 * 5
    assert run(*bank, "--rank", "2").exit_code == 0 and left() == before
    (tmp_path / "sub").mkdir()
    elsewhere = tiny("Qwen2", tmp_path / "sub" / "tiny", tokenizer)  # of the same name
    for options, told in (
        (["--rank", "2"], "sentences: 1000, now 0"),  # else it would hide EmoBank, and its licence
        ([*bank, "--rank", "2", "--perspectives", "writer"], "perspectives: both, now writer"),
        ([*bank, "--rank", "4"], "rank: 2, now 4"),
        ([*bank, "--rank", "2", "--understood", "3"], "scripts: 300, now 3"),
        ([*bank, "--rank", "2", "--base", elsewhere], "network: "),
        ([*bank, "--rank", "2", "--stage", "reply", "--scripts", "5"], "scripts: 4, now 5"),
    ):
        ran = run(*options)
        assert ran.exit_code == 1 and told in ran.stderr.replace("\n", " "), ran.stderr
    assert left() == before
    # What later stages stand on is part of them.
    again = ["--stage", "understand", "--rank", "2", "--seed", "8"]
    assert run(*bank, *again).exit_code == 1
    (out / "understand" / STATE).unlink()
    assert run(*bank, *again).exit_code == 0
    assert "after: " in run(*bank, "--rank", "2", "--stage", "reply").stderr.replace("\n", " ")


def test_one_learns_from_some_genres_to_be_asked_about_others(tmp_path: Path) -> None:
    felt = dict.fromkeys(Perspective, Affect(3.0, 3.0, 3.0))
    bank = [Sentence(name, "train", "Rain.", felt) for name in ("wsj_1", "SemEval_2", "lw1_3")]
    assert [each.id for each in of_genres(bank, ["fiction", "headlines"])] == ["SemEval_2", "lw1_3"]
    assert of_genres(bank, []) == bank
    for name, why in (("poems", "no genre 'poems'; it has: headlines,"), ("blogs", "say where")):
        ran = CliRunner().invoke(train_reply.app, ["--out", str(tmp_path), "--genre", name])
        assert ran.exit_code == 1 and why in ran.stderr


def test_openpangu_is_read_as_it_was_written(tokenizer: Any, tmp_path: Path) -> None:
    """Its folder names code of its own, which is not run: it is a Llama with biases."""
    place = tiny("PanguEmbedded", tmp_path, tokenizer)
    network = load_base(place).network
    kept = load_file(tmp_path / "model.safetensors")
    biased = [name for name in kept if name.endswith("self_attn.o_proj.bias")]
    assert len(biased) == SMALL["num_hidden_layers"]
    assert all(torch.equal(network.state_dict()[name], value) for name, value in kept.items())
    assert network.config.rope_parameters["rope_theta"] == 16000000.0


def test_of_a_network_with_ears_and_eyes_only_its_words_are_taught(
    tokenizer: Any, tmp_path: Path
) -> None:
    network = adapters.put_on(load_base(tiny("Qwen2_5Omni", tmp_path, tokenizer)).network, 7, 2)
    places = {name for name, each in network.named_parameters() if each.requires_grad}
    assert places and all(".language_model.layers." in name for name in places)


def test_a_later_stage_without_the_earlier_is_told_plainly(tokenizer: Any, tmp_path: Path) -> None:
    place = tiny("Llama", tmp_path / "tiny", tokenizer)
    arguments = ["--base", place, "--out", str(tmp_path / "out"), "--stage", "empathy"]
    ran = CliRunner().invoke(train_reply.app, [*arguments, "--scripts", "2"])
    assert ran.exit_code == 1 and "There is no adapter in" in ran.stderr


# ---- the GGUF that ships


def test_a_merged_gguf_is_the_network_with_its_adapter(tmp_path: Path) -> None:
    """On the packaged model: the changed tensors, read back as a network, are the adapter's."""
    base = load_base("smollm2")
    plain = {name: tensor.clone() for name, tensor in base.network.state_dict().items()}
    network = adapters.put_on(base.network, 7, rank=2)
    torch.manual_seed(1)
    for _, weight in network.named_parameters():
        if weight.requires_grad:
            torch.nn.init.normal_(weight, std=0.1)
    adapters.save(network, tmp_path / "adapter", base.name)
    expected = network.merge_and_unload().state_dict()
    out = tmp_path / "merged.gguf"
    reply_gguf.merge(weights.path("smollm2"), [tmp_path / "adapter"], out)
    found = load_base(str(out)).network.state_dict()
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        difference = (found[name] - tensor).abs().mean().item()
        assert difference < 0.01 * tensor.abs().mean().item() + 1e-6, name
    changed = [name for name in plain if not torch.equal(plain[name], expected[name])]
    assert len(changed) == 7 * 30
    for name in changed:  # and it is the change that arrived, not noise of its size
        asked, given = ((each[name] - plain[name]).flatten() for each in (expected, found))
        assert np.corrcoef(asked.numpy(), given.numpy())[0, 1] > 0.99, name


def test_rows_of_heads_are_put_in_llama_cpps_order() -> None:
    rows = np.arange(8, dtype=np.float32).reshape(8, 1)
    assert reply_gguf.reordered(rows, 2).ravel().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_only_layers_that_adapters_change_have_a_name() -> None:
    assert reply_gguf.network_name("blk.3.attn_q.weight") == "model.layers.3.self_attn.q_proj"
    assert reply_gguf.network_name("blk.3.attn_norm.weight") is None
    assert reply_gguf.network_name("token_embd.weight") is None
