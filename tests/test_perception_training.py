"""Teaching the network: from the packaged encoder to a file that hears."""

# ruff: noqa: E402 - what is imported below needs torch

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import soundfile as sf

torch = pytest.importorskip("torch")

from models import weights as store
from models.perception import train
from models.perception.hearing import Card, Hearing
from models.perception.labels import EMOTIONS as ALL_EMOTIONS
from models.perception.stretch import cut
from models.perception.training import clips, encoder, export
from models.perception.training.clips import AGES, GENDERS, OTHER, SOUNDS, Clip
from models.perception.training.finish import CHECKED, Lesson, collect, refit
from models.perception.training.network import HEADS, Network
from models.perception.training.practice import (
    Batch,
    Example,
    Practice,
    Recipe,
    soft_emotion,
    together,
)
from models.perception.training.tune import Losses, Plan, tune
from models.perception.windows import WINDOW
from models.types import EAR_RATE, Samples
from tests.tiny_pack import EMOTIONS, NOT_THERE, SPEECH, tiny_pack

pytestmark = [
    pytest.mark.slow,
    # Of torch's exporter, about itself and about two inputs that share an axis.
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning",
        "ignore::FutureWarning",
        "ignore:# The axis name:UserWarning",
    ),
]

SMALL = Recipe(batch=6, sounds=2)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)  # sums come in one order, and forked workers find no pool


def speech(seconds: float, reader: int = 0) -> Samples:
    file = sorted(SPEECH.glob("*.ogg"))[reader]
    samples: Samples = sf.read(file, frames=round(seconds * EAR_RATE), dtype="float32")[0]
    return samples


def clip(reader: int = 0, **known: str) -> Clip:
    pcm = (speech(2.0, reader) * 32767).astype(np.int16)
    return Clip(pcm, "cremad", f"actor {reader}", **known)


# ---- the encoder


def test_the_packaged_encoder_means_the_same_to_torch() -> None:
    packaged = store.path("moonshine-encoder")
    sound = speech(3.0)[None]
    session = ort.InferenceSession(str(packaged), providers=["CPUExecutionProvider"])
    feed = {"input_values": sound, "attention_mask": np.ones(sound.shape, np.int64)}
    (expected,) = session.run(None, feed)
    with torch.no_grad():
        found = encoder.pretrained(packaged)(torch.from_numpy(sound))[-1].numpy()
    # The package ends with a norm of its own, which training does without.
    found = (found - found.mean(-1, keepdims=True)) / found.std(-1, keepdims=True)
    assert found.shape == expected.shape == (1, len(expected[0]), encoder.WIDTH)
    alike = [np.corrcoef(found[0, :, at], expected[0, :, at])[0, 1] for at in range(encoder.WIDTH)]
    assert min(alike) > 0.99


# ---- what is practised on


def some_clips() -> list[Clip]:
    spoken = [
        clip(at, emotion=EMOTIONS[at % 4], vote="sad", gender=GENDERS[at % 2], age="adult")
        for at in range(6)
    ]
    return [*spoken, clip(7, gender="male"), clip(8, age="child"), clip(9, sound="rain")]


def batches(seed: int, turn: int = 0, recipe: Recipe = SMALL) -> list[Batch]:
    practice = Practice(some_clips(), recipe, seed)
    practice.turn = turn
    return list(practice)


def same(one: list[Batch], other: list[Batch]) -> bool:
    pairs = zip(one, other, strict=True)
    return all(
        torch.equal(getattr(a, field.name), getattr(b, field.name))
        for a, b in pairs
        for field in fields(Batch)
    )


def test_the_same_seed_gives_the_same_batches_to_the_last_bit() -> None:
    first = batches(seed=3)
    assert len(first) == len(Practice(some_clips(), SMALL, 3)) == 2
    assert same(first, batches(seed=3))
    assert not same(first, batches(seed=4))
    assert not same(first, batches(seed=3, turn=1))


def test_batches_are_finite_and_at_one_level_and_their_spans_add_up() -> None:
    for batch in batches(seed=5, recipe=Recipe(batch=6, sounds=2, augment=1.0, mix=1.0)):
        assert torch.isfinite(batch.sound).all()
        assert batch.sound.abs().max() <= 1
        assert torch.allclose(batch.spans.sum(-1), torch.ones(len(batch.spans), 1), atol=1e-5)
        assert len(batch.sound) == len(batch.emotion) == len(batch.gender) == len(batch.sounds)


def test_an_emotion_is_mostly_as_acted_and_partly_as_listeners_took_it() -> None:
    angry, sad = ALL_EMOTIONS.index("angry"), ALL_EMOTIONS.index("sad")
    mistaken = soft_emotion(clip(emotion="angry", vote="sad"), 0.2)
    assert mistaken[[angry, sad]].tolist() == pytest.approx([0.8, 0.2])
    for clear in (clip(emotion="angry", vote="angry"), clip(emotion="angry")):
        assert soft_emotion(clear, 0.2)[angry] == pytest.approx(1.0)
    assert not soft_emotion(clip(vote="sad"), 0.2).any()  # nobody said what it was


def test_what_nobody_knows_of_a_clip_has_no_label() -> None:
    recipe = Recipe(batch=2, sounds=1, made=False, mix=0.0)
    plain = [clip(at, gender="male") for at in range(2)]
    practice = Practice([*plain, clip(9, sound="rain")], recipe, 0)
    rain = SOUNDS.index("rain")
    for batch in practice:
        assert not batch.emotion.any()
        assert batch.gender.tolist() == [GENDERS.index("male"), -1]  # the second is a sound
        assert batch.age.tolist() == [-1, -1]
        known = [SOUNDS[at] for at in range(len(SOUNDS)) if batch.sounds[0, at] >= 0]
        assert {*known} == {"rain", OTHER}
        assert batch.sounds[0, rain] == 0


def test_an_answer_nobody_knows_is_not_taught() -> None:
    recipe = Recipe(batch=4, sounds=1, made=False)
    practice = Practice(some_clips(), recipe, 0)
    batch = next(iter(practice))
    answers = [torch.zeros(4, len(names), requires_grad=True) for names in HEADS.values()]
    Losses(practice)(answers, batch).backward()
    emotion, gender, age, sounds = (answer.grad for answer in answers)
    assert emotion[batch.emotion.sum(1) == 0].abs().sum() == 0
    assert gender[batch.gender < 0].abs().sum() == 0
    assert age[batch.age < 0].abs().sum() == 0
    assert sounds[batch.sounds < 0].abs().sum() == 0
    assert (emotion[batch.emotion.sum(1) > 0].abs().sum(1) > 0).all()
    assert (sounds[batch.sounds >= 0].abs() > 0).all()


def test_a_rare_age_counts_for_more_than_a_common_one() -> None:
    spoken = [clip(0, age="adult")] * 9 + [clip(1, age="child")]
    nothing = np.zeros(len(ALL_EMOTIONS), np.float32), -1
    batch = together(
        [
            Example(speech(2.0), *nothing, AGES.index(age), np.zeros(len(SOUNDS), np.float32))
            for age in ("adult", "child")
        ]
    )
    answers = [torch.zeros(2, len(names), requires_grad=True) for names in HEADS.values()]
    Losses(Practice(spoken, SMALL, 0))(answers, batch).backward()
    adult, child = answers[2].grad.abs().sum(1)
    assert child > 2 * adult > 0


# ---- from recordings to a file


def test_the_same_seed_teaches_the_same_network() -> None:
    def taught() -> list[float]:
        found: list[float] = []
        torch.manual_seed(0)
        network = Network(encoder.Encoder(layers=1))
        practice = Practice(some_clips(), SMALL, 7)
        tune(network, practice, Plan(epochs=1), lambda epoch, step, loss: found.append(loss))
        return found

    first = taught()
    assert len(first) == 2 and np.isfinite(first).all()
    assert taught() == pytest.approx(first, rel=1e-3)


def test_lessons_go_on_over_many_passes_and_some_are_kept_to_check_with() -> None:
    network = Network(encoder.Encoder(layers=1)).eval()
    told: list[None] = []
    practice = Practice(some_clips(), SMALL, 7)
    taught, kept = collect(network, practice, CHECKED + 1, lambda: told.append(None))
    assert len(told) == CHECKED + 1 > len(practice)
    assert len(kept.numbers) == len(kept.sounds) > 0
    assert len(taught.numbers) == len(taught.sounds) > 3 * len(kept.numbers)
    assert not torch.isin(kept.numbers[:, 0], taught.numbers[:, 0]).any()


def test_a_head_learns_its_lesson_but_nothing_of_what_nobody_knows() -> None:
    numbers = 10 * torch.randn(64, 2, generator=torch.Generator().manual_seed(0))
    sums = numbers.sum(1) > 0
    truth = torch.stack([sums.float(), torch.full((64,), -1.0)], 1)
    head = torch.nn.Linear(2, 2)
    with torch.no_grad():
        head.weight[0] = head.bias[0] = 0.0
    before = head.weight[1].detach().clone()
    refit(head, Lesson(numbers, truth), seed=0, epochs=300)
    with torch.no_grad():
        right = (head(numbers)[:, 0] > 0) == sums
    assert right.float().mean() > 0.9
    # Left alone it only shrinks, as all weights do.
    alike = torch.nn.functional.cosine_similarity(head.weight[1], before, dim=0)
    assert alike > 0.999


@dataclass(frozen=True, slots=True)
class Trained:
    """What a whole run of the command leaves."""

    network: Network
    card: Card
    path: Path
    taught: list[Clip]
    held: list[Clip]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    folder = tmp_path_factory.mktemp("pack")
    written: list[tuple[Network, Card]] = []
    split: list[tuple[list[Clip], list[Clip]]] = []
    describe = train.describe

    def exported(network: Network, card: Card, path: Path) -> None:
        written.append((network, card))
        export.export(network, card, path)

    def described(
        network: Network, held: list[Clip], taught: list[Clip], kept: Lesson, weights: str
    ) -> Card:
        split.append((taught, held))
        return describe(network, held, taught, kept, weights)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "LESSONS", 3)
        patch.setattr(train, "export", exported)
        patch.setattr(train, "describe", described)
        out = folder / "made" / "voice.onnx"
        train.main(tiny_pack(folder), folder, out=out, epochs=1)
    [(network, card)], [(taught, held)] = written, split
    yield Trained(network, card, out, taught, held)


@pytest.fixture(scope="module")
def hearing(trained: Trained) -> Iterator[Hearing]:
    opened = Hearing(trained.path)
    yield opened
    opened.close()


def test_a_run_writes_a_file_that_says_what_it_is(trained: Trained, hearing: Hearing) -> None:
    card = hearing.card
    assert card == trained.card
    assert (card.weights, card.licence) == ("default", train.LICENCES["default"])
    assert card.temperature.keys() == HEADS.keys()
    assert all(0.1 < temperature < 10 for temperature in card.temperature.values())
    assert all(0 < sure <= 1 for sure in card.sure.values())
    assert trained.path.stat().st_size < 20e6


def test_only_answers_that_were_taught_are_given(hearing: Hearing) -> None:
    names = hearing.card.names
    assert {*names["emotion"]} == {*EMOTIONS}
    assert {*names["age"]} == {"child", "adult"}
    assert {*names["sounds"]} == {"rain", *train.CONVINCING}
    [heard] = hearing.hear_now([cut(speech(2.0), 0).window])
    assert {head: rows.shape[-1] for head, rows in heard.items()} == {
        head: len(names[head]) for head in HEADS
    }


def test_no_speaker_who_is_held_out_is_taught(trained: Trained) -> None:
    held = {each.speaker for each in trained.held}
    assert held == {"actor 0"}
    assert held.isdisjoint(each.speaker for each in trained.taught)
    recorded, moved = trained.held[: len(trained.held) // 2], trained.held[len(trained.held) // 2 :]
    assert len(recorded) + len(trained.taught) == 11
    # Each is heard again as from another room: the same speech, and not the same sound.
    assert [each.emotion for each in moved] == [each.emotion for each in recorded]
    assert not any(np.array_equal(a.pcm, b.pcm) for a, b in zip(moved, recorded, strict=True))


def test_what_may_not_ship_was_never_needed(trained: Trained) -> None:
    folder = trained.path.parents[1]
    assert NOT_THERE in (folder / "manifest.csv").read_text("utf-8")
    assert not (folder / NOT_THERE).exists()
    with pytest.raises(sf.LibsndfileError):
        clips.read(folder / "manifest.csv", folder, "train", shippable=False)


@pytest.mark.parametrize("seconds", [0.7, 2.0, 3.0])
def test_the_file_answers_as_the_network_does(
    trained: Trained, hearing: Hearing, seconds: float
) -> None:
    window = cut(speech(seconds, reader=12), 0).window
    assert len(window.sound) <= WINDOW
    [heard] = hearing.hear_now([window])
    with torch.no_grad():
        answers = trained.network(
            torch.from_numpy(window.sound[None]), torch.from_numpy(np.stack(window.spans)[None])
        )
    for head, answer in zip(HEADS, answers, strict=True):
        kept = [HEADS[head].index(name) for name in trained.card.names[head]]
        expected = answer[0][:, kept].numpy()
        assert heard[head].shape == expected.shape
        assert np.abs(heard[head] - expected).max() < 0.25  # a logit, with matrices in 8 bits
