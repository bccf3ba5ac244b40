"""A recording someone sends: reading it, and cutting it where nobody speaks."""

import io

import numpy as np
import pytest
import soundfile

from models.types import EAR_RATE, FRAME, AudioChunk, Samples
from server import recordings
from server.captions import Caption, srt, vtt
from server.http_refusals import Refusal
from tests.test_audio_api import file, tone


def whole(file: io.BytesIO) -> AudioChunk:
    return AudioChunk(np.concatenate(list(recordings.read(file))))


def level(frame: Samples) -> float:
    """A VoiceActivity: as likely speech as it is loud."""
    return float(np.abs(frame).max())


def cut(picture: str, unit_sec: float = 0.25) -> str:
    """Stretches of a recording in which x is speech, as the characters each reaches into."""
    unit = round(unit_sec * EAR_RATE / FRAME) * FRAME
    samples = np.repeat([float(mark == "x") for mark in picture], unit).astype(np.float32)
    out = ["-"] * len(picture)
    for stretch in filter(None, recordings.stretches(AudioChunk(samples), level)):
        begin = round(stretch.start_sec * EAR_RATE)
        assert out[begin // unit] == "-"  # none overlaps the one before
        np.testing.assert_array_equal(
            stretch.audio.samples, samples[begin : begin + len(stretch.audio.samples)]
        )
        end = begin + len(stretch.audio.samples)
        out[begin // unit] = "S"
        out[(end - 1) // unit] = "E"
    return "".join(out)


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        ("..xxx.....xx..", "-S---E---S--E-"),
        ("xxx", "S-E"),
        ("..xx.xx..", "-S-----E-"),  # too short a silence
        (".........", "---------"),
        ("", ""),
    ],
)
def test_a_recording_is_cut_where_nobody_speaks(picture: str, expected: str) -> None:
    assert cut(picture) == expected


def test_speech_without_a_pause_is_cut_below_30_s_where_it_is_quietest() -> None:
    rng = np.random.default_rng(0)
    samples = (0.5 + 0.3 * rng.random(70 * EAR_RATE)).astype(np.float32)
    gaps = [21.0, 46.0]
    for gap in gaps:
        samples[round(gap * EAR_RATE) : round((gap + 0.2) * EAR_RATE)] *= 0.5
    found = list(filter(None, recordings.stretches(AudioChunk(samples), lambda frame: 1.0)))
    assert max(stretch.audio.duration for stretch in found) < 30
    starts = [stretch.start_sec for stretch in found]
    np.testing.assert_allclose(starts, [0.0, *(gap + 0.1 for gap in gaps)], atol=0.1)
    joined = np.concatenate([stretch.audio.samples for stretch in found])
    np.testing.assert_array_equal(joined, samples)


def test_a_long_recording_lets_others_have_their_turn() -> None:
    heard = 0

    def hear(frame: Samples) -> float:
        nonlocal heard
        heard += 1
        return 0.0

    silence = np.zeros(1000 * FRAME, np.float32)
    before, most = 0, 0
    for turn in recordings.stretches(AudioChunk(silence), hear):
        assert turn is None
        before, most = heard, max(most, heard - before)
    assert most <= recordings.TURN
    pieces = list(recordings.read(io.BytesIO(file(silence))))
    assert max(map(len, pieces)) <= recordings.BLOCK


@pytest.mark.parametrize("form", ["WAV", "FLAC", "MP3", "OGG"])
def test_a_recording_is_read_at_any_rate_with_any_channels(form: str) -> None:
    rate = 44_100
    both = np.stack([tone(1.0, rate), np.zeros(rate, np.float32)], axis=1)
    audio = whole(io.BytesIO(file(both, rate, form)))
    assert audio.rate == EAR_RATE
    assert audio.duration == pytest.approx(1.0, abs=0.06)
    assert np.abs(audio.samples[4000:12000]).max() == pytest.approx(0.15, abs=0.02)


def test_a_recording_of_impossible_values_is_read_as_sound() -> None:
    out = io.BytesIO()
    wild = np.array([np.nan, np.inf, -np.inf, 1e30, 0.5] * 100, np.float32)
    soundfile.write(out, wild, EAR_RATE, format="WAV", subtype="FLOAT")
    out.seek(0)
    samples = whole(out).samples
    assert np.isfinite(samples).all() and np.abs(samples).max() <= 1


def test_damaged_files_are_read_or_refused() -> None:
    rng = np.random.default_rng(0)
    for form in ("WAV", "FLAC", "OGG"):
        sound = bytearray(file(tone(0.2), form=form))
        for _ in range(30):
            data = sound.copy()
            for at in rng.integers(0, len(data), 8):
                data[at] = rng.integers(0, 256)
            try:
                whole(io.BytesIO(data[: rng.integers(1, len(data))]))
            except Refusal as refusal:
                assert refusal.status in (400, 413)


def test_captions_read_as_subtitles() -> None:
    captions = [Caption(0.0, 1.25, "Well."), Caption(3661.0009, 3662.9999, "Then?")]
    assert srt(captions) == (
        "1\n00:00:00,000 --> 00:00:01,250\nWell.\n\n2\n01:01:01,001 --> 01:01:03,000\nThen?\n\n"
    )
    assert vtt(captions) == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:01.250\nWell.\n\n01:01:01.001 --> 01:01:03.000\nThen?\n\n"
    )
