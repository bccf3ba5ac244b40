"""What the network is taught from: which recordings are read, and how they are made to differ."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from models.perception.sounds import make
from models.perception.training.augment import (
    at_pace,
    coded,
    hiss,
    mixed,
    through_room_and_line,
)
from models.perception.training.clips import OTHER, Clip, held_out, read
from models.types import EAR_RATE, Samples
from tests.tiny_pack import manifest, row

SEEDS = range(12)  # enough to meet every room, line and codec


def noise_and_voice() -> Samples:
    return make("moan", np.random.default_rng(1), 1.5)


# ---- recordings


def written(folder: Path, *rows: dict[str, str], missing: tuple[str, ...] = ()) -> Path:
    """A manifest of these rows, with a second of sound behind each that is not missing."""
    sound = 0.1 * np.sin(np.arange(EAR_RATE) / 20)
    for each in rows:
        if each["path"] not in missing:
            sf.write(folder / each["path"], sound, EAR_RATE)
    return manifest(folder, rows)


def test_what_may_not_ship_is_not_even_opened_for_the_default_weights(tmp_path: Path) -> None:
    kept_away = row("nc.wav", ship_ok="no-NC"), row("unclear.wav", ship_ok="")
    listed = written(
        tmp_path, row("a.wav", speaker="a"), *kept_away, missing=("nc.wav", "unclear.wav")
    )
    assert [clip.speaker for clip in read(listed, tmp_path, "train", shippable=True)] == ["a"]
    with pytest.raises(sf.LibsndfileError):  # for research they would have been
        read(listed, tmp_path, "train", shippable=False)


def test_research_reads_what_may_not_ship_as_well(tmp_path: Path) -> None:
    listed = written(
        tmp_path, row("a.wav", speaker="a"), row("b.wav", speaker="b", ship_ok="no-NC")
    )
    found = read(listed, tmp_path, "train", shippable=False)
    assert [clip.speaker for clip in found] == ["a", "b"]


@pytest.mark.parametrize("kept_away", [{"role": "dev"}, {"exclude": "one of a pair"}])
def test_what_is_set_aside_is_not_even_opened(tmp_path: Path, kept_away: dict[str, str]) -> None:
    aside = row("b.wav", speaker="b", **kept_away)
    listed = written(tmp_path, row("a.wav", speaker="a"), aside, missing=("b.wav",))
    assert [clip.speaker for clip in read(listed, tmp_path, "train", shippable=True)] == ["a"]


def test_labels_become_our_names_and_what_nobody_knows_stays_unknown(tmp_path: Path) -> None:
    listed = written(
        tmp_path,
        row("a.wav", emotion="calm", gender="female", age_group="adult"),
        row("b.wav", emotion="wistful", age_group="teen"),
        row("c.wav", event="laughing"),
        row("d.wav", env="chainsaw"),
    )
    one, two, three, four = read(listed, tmp_path, "train", shippable=True)
    assert (one.emotion, one.gender, one.age, one.sound) == ("neutral", "female", "adult", None)
    assert (two.emotion, two.gender, two.age, two.sound) == (None, None, None, None)
    assert (three.sound, four.sound) == ("laughter", OTHER)


def test_the_listeners_vote_by_voice_alone_is_read_where_there_is_one(tmp_path: Path) -> None:
    listed = written(
        tmp_path,
        row("a.wav", split_orig="voice_vote=S;mm_vote=A"),
        row("b.wav", split_orig="train-clean-100"),
        row("c.wav", split_orig="voice_vote=;mm_vote=A"),
    )
    assert [c.vote for c in read(listed, tmp_path, "train", shippable=True)] == [
        "sad",
        None,
        None,
    ]


def test_any_recording_is_read_as_one_channel_at_the_ears_rate(tmp_path: Path) -> None:
    listed = written(tmp_path, row("a.wav"))
    left = 0.4 * np.sin(2 * np.pi * 300 * np.arange(44_100) / 44_100)
    sf.write(tmp_path / "a.wav", np.stack([left, np.zeros(44_100)], axis=1), 44_100)
    [clip] = read(listed, tmp_path, "train", shippable=True)
    assert clip.samples.dtype == np.float32
    assert len(clip.samples) == pytest.approx(EAR_RATE, abs=EAR_RATE // 50)
    assert np.abs(clip.samples).max() == pytest.approx(0.2, abs=0.01)


def clip(speaker: str, corpus: str = "cremad") -> Clip:
    return Clip(np.zeros(1, np.int16), corpus, speaker)


def test_some_actors_are_held_out_with_all_they_say_and_nobody_else() -> None:
    found = [clip(f"actor {at:02}") for at in range(30)] * 2 + [clip("a reader", "librispeech")]
    found += [clip(f"learner {at:02}", "speechocean762") for at in range(13)]
    held = held_out(found)
    speakers = {each.speaker for each in held}
    assert speakers == {"actor 00", "actor 12", "actor 24", "learner 00", "learner 12"}
    assert len(held) == 8
    assert held_out(list(reversed(found))) == list(reversed(held))


# ---- augmentation

CHANGES: dict[str, Callable[[Samples, np.random.Generator], Samples]] = {
    "room and line": through_room_and_line,
    "codec": coded,
    "noise": lambda samples, rng: mixed(samples, hiss(rng, len(samples)), 10.0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_keeps_the_length_and_is_the_same_for_the_same_seed_only(
    change: Callable[[Samples, np.random.Generator], Samples],
) -> None:
    before = noise_and_voice()
    kept = before.copy()
    changed = [change(before, np.random.default_rng(seed)) for seed in SEEDS]
    again = [change(before, np.random.default_rng(seed)) for seed in SEEDS]
    assert np.array_equal(before, kept)
    for one, other in zip(changed, again, strict=True):
        assert one.shape == before.shape and one.dtype == np.float32
        assert np.isfinite(one).all()
        assert np.array_equal(one, other)
        assert not np.array_equal(one, before)
    assert len({one.tobytes() for one in changed}) > len(SEEDS) // 2


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_silence_and_snippets_come_through_every_change(
    change: Callable[[Samples, np.random.Generator], Samples],
) -> None:
    for before in (np.zeros(EAR_RATE, np.float32), noise_and_voice()[: EAR_RATE // 10]):
        for seed in SEEDS:
            after = change(before, np.random.default_rng(seed))
            assert len(after) == len(before) and np.isfinite(after).all()


def test_a_codec_loses_something_and_shifts_nothing() -> None:
    before = noise_and_voice()
    for seed in SEEDS:
        after = coded(before, np.random.default_rng(seed))
        # Where the two are most alike is where they were.
        alike = np.fft.irfft(np.fft.rfft(after, 1 << 16) * np.conj(np.fft.rfft(before, 1 << 16)))
        assert np.argmax(alike) in (0, 1, len(alike) - 1)
        assert np.corrcoef(before, after)[0, 1] > 0.9


@pytest.mark.parametrize("pace", [0.85, 1.0, 1.15])
def test_a_faster_pace_is_shorter_and_higher(pace: float) -> None:
    tone = np.sin(2 * np.pi * 400 * np.arange(EAR_RATE) / EAR_RATE).astype(np.float32)
    after = at_pace(tone, pace)
    assert len(after) == pytest.approx(EAR_RATE / pace, abs=2)
    hertz = np.argmax(np.abs(np.fft.rfft(after))) * EAR_RATE / len(after)
    assert hertz == pytest.approx(400 * pace, abs=2)


def test_a_mixture_is_as_many_decibels_apart_as_asked() -> None:
    rng = np.random.default_rng(0)
    loud, soft = (rng.normal(0, level, EAR_RATE).astype(np.float32) for level in (0.1, 0.003))
    for below in (-3.0, 6.0, 20.0):
        added = mixed(loud, soft, below) - loud
        apart = 20 * np.log10(loud.std() / added.std())
        assert apart == pytest.approx(below, abs=0.3)
