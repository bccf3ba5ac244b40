"""A stretch of sound that grows, and what of it is worked out again."""

import numpy as np
import pytest

from models.perception import stretch as module
from models.perception.hearing import Heard
from models.perception.stretch import PIECE, Stretch, cut
from models.perception.windows import SHORTEST, STEP, WINDOW, steps
from models.types import EAR_RATE, Samples
from tests.made_voices import noise, recorded

TICK = EAR_RATE // 2
HEARD: Heard = {"gender": np.zeros((1, 2), np.float32)}


def sound(seconds: float) -> Samples:
    return noise(int(seconds * EAR_RATE), 0.05)


# --- windows


@pytest.mark.parametrize(
    ("seconds", "sizes"),
    [
        (0.1, [0.1]),
        (2.0, [2.0]),
        (3.0, [3.0]),
        (3.4, [3.0]),  # too little is left to judge
        (3.5, [3.0, 0.5]),
        (7.2, [3.0, 3.0, 1.2]),
    ],
)
def test_a_stretch_is_shown_in_whole_windows_and_a_rest(seconds: float, sizes: list[float]) -> None:
    parts = Stretch().parts(sound(seconds))
    assert [part.size / EAR_RATE for part in parts] == sizes
    assert [part.start for part in parts] == [WINDOW * at for at in range(len(sizes))]


def test_a_snippet_is_shown_with_silence_behind() -> None:
    part = cut(sound(0.1), 0)
    shown = part.window.sound
    assert len(shown) == SHORTEST
    assert not shown[part.size :].any()
    assert part.window.spans[0][part.size // STEP + 2 :].sum() == 0


@pytest.mark.parametrize("seconds", [0.1, 0.9, 1.0, 1.6, 3.0])
def test_every_span_has_weights_for_the_networks_steps_and_inside_its_piece(seconds: float) -> None:
    part = cut(np.concatenate([sound(3.0), sound(seconds)]), WINDOW)
    whole, *spans = part.window.spans
    assert len(spans) == len(part.pieces) >= 1
    for span in (whole, *spans):
        assert len(span) == steps(len(part.window.sound))
        assert span.sum() == pytest.approx(1)
    for start, span in zip(part.pieces, spans, strict=True):
        assert WINDOW <= start <= WINDOW + max(part.size - PIECE, 0)
        (at,) = np.nonzero(span)
        assert at.min() >= (start - WINDOW) // STEP
        assert at.max() < (start - WINDOW + PIECE) // STEP


def test_a_quiet_sound_is_shown_like_a_loud_one() -> None:
    loud, quiet = cut(sound(2), 0), cut(sound(2) * np.float32(0.1), 0)
    np.testing.assert_allclose(loud.window.sound, quiet.window.sound, atol=1e-5)
    np.testing.assert_allclose(loud.window.spans, quiet.window.spans, atol=1e-5)


def test_a_louder_part_is_known_to_be_louder() -> None:
    quiet, loud = Stretch().parts(np.concatenate([noise(WINDOW, 0.01), noise(WINDOW, 0.1)]))
    assert loud.loudness == pytest.approx(100 * quiet.loudness, rel=0.1)


# --- what is kept


def test_what_was_heard_of_a_finished_window_is_kept_and_of_the_last_only_the_newest() -> None:
    stretch = Stretch()
    samples = sound(4.5)
    for end in (2.5, 4.0, 4.5):
        for part in stretch.parts(samples[: int(end * EAR_RATE)]):
            stretch.learn(part, HEARD)
    known = {
        (part.start, part.size)
        for end in range(TICK, len(samples) + 1, TICK)
        for part in stretch.parts(samples[:end])
        if stretch.known(part) is not None
    }
    assert known == {(0, WINDOW), (WINDOW, int(1.5 * EAR_RATE))}


def test_a_grown_stretch_is_measured_as_a_whole_one() -> None:
    samples = recorded("201-122255-0000")
    growing = Stretch()
    for end in range(TICK, len(samples), TICK):
        growing.measure(samples[:end])
    assert growing.measure(samples) == Stretch().measure(samples)


def test_the_same_stretch_is_not_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stretch, samples = Stretch(), recorded("201-122255-0000")[: 2 * EAR_RATE]
    measured = stretch.measure(samples)
    monkeypatch.setattr(module, "examine", None)
    assert stretch.measure(samples) is measured


# --- what is no sound


@pytest.mark.parametrize(
    ("samples", "complaint"),
    [
        (np.zeros(0, np.float32), "empty"),
        (np.zeros(1600, np.int16), "float32"),
        (np.zeros((1600, 2), np.float32), "mono"),
        (np.full(1600, np.nan, np.float32), "not numbers"),
        (np.full(1600, -np.inf, np.float32), "not numbers"),
        (np.full(1600, 1e30, np.float32), "louder than full scale"),
        (np.full(1600, -32768, np.float32), "louder than full scale"),
    ],
)
def test_what_is_no_sound_is_refused_and_not_remembered(samples: Samples, complaint: str) -> None:
    stretch, good = Stretch(), recorded("201-122255-0000")[:EAR_RATE]
    with pytest.raises(ValueError, match=complaint):
        stretch.measure(samples)
    assert stretch.measure(good) == Stretch().measure(good)
