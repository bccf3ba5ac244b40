"""Wire formats and sample rates."""

import numpy as np
import pytest

from models import audio
from models.types import Samples


def tone(hertz: float, rate: int, seconds: float = 1.0, peak: float = 0.5) -> Samples:
    time = np.arange(int(rate * seconds)) / rate
    return (peak * np.sin(2 * np.pi * hertz * time)).astype(np.float32)


def signal_to_noise(clean: Samples, noisy: Samples) -> float:
    """In dB."""
    return float(10 * np.log10(np.sum(clean**2) / np.sum((clean - noisy) ** 2)))


def test_every_16_bit_value_survives_the_way_to_float_and_back() -> None:
    data = np.arange(-32768, 32768).astype("<i2").tobytes()
    assert audio.encode_pcm16(audio.decode_pcm16(data)) == data


def test_pcm16_is_little_endian_and_full_scale_is_one() -> None:
    assert audio.decode_pcm16(b"\x00\x80\x00\x40").tolist() == [-1.0, 0.5]


def test_sound_too_loud_is_clipped_and_does_not_wrap() -> None:
    loud = np.array([1.0, 7.5, -1.0, -7.5], np.float32)
    assert np.frombuffer(audio.encode_pcm16(loud), "<i2").tolist() == [32767, 32767, -32768, -32768]
    for encode, decode in (
        (audio.encode_mulaw, audio.decode_mulaw),
        (audio.encode_alaw, audio.decode_alaw),
    ):
        signs = np.sign(decode(encode(loud))).tolist()
        assert signs == [1, 1, -1, -1]


def test_half_a_sample_is_refused() -> None:
    with pytest.raises(ValueError):
        audio.decode_pcm16(b"\x00\x00\x00")


# Values from the tables of ITU-T G.711, on the 16-bit scale.
def test_mulaw_codes_are_those_of_the_standard() -> None:
    codes = bytes([0xFF, 0x7F, 0xFE, 0xF0, 0xEF, 0x80, 0x00])
    levels = [0, 0, 8, 120, 132, 32124, -32124]
    assert (audio.decode_mulaw(codes) * 32768).tolist() == levels
    assert audio.encode_mulaw(np.zeros(3, np.float32)) == b"\xff" * 3


def test_alaw_codes_are_those_of_the_standard() -> None:
    codes = bytes([0xD5, 0x55, 0xD4, 0xC5, 0xAA, 0x2A])
    levels = [8, -8, 24, 264, 32256, -32256]
    assert (audio.decode_alaw(codes) * 32768).tolist() == levels
    assert audio.encode_alaw(np.zeros(3, np.float32)) == b"\xd5" * 3


def test_every_g711_code_decodes_to_a_level_that_encodes_to_it() -> None:
    codes = bytes(range(256))
    assert audio.encode_alaw(audio.decode_alaw(codes)) == codes
    # µ-law has two zeros; the negative one comes back as the positive.
    assert audio.encode_mulaw(audio.decode_mulaw(codes)) == codes.replace(b"\x7f", b"\xff")


@pytest.mark.parametrize("peak", [0.9, 0.1, 0.01])
def test_g711_keeps_a_tone_clear_at_any_level(peak: float) -> None:
    clean = tone(440, 8000, peak=peak)
    assert signal_to_noise(clean, audio.decode_mulaw(audio.encode_mulaw(clean))) > 30
    assert signal_to_noise(clean, audio.decode_alaw(audio.encode_alaw(clean))) > 30


@pytest.mark.parametrize(("from_rate", "to_rate"), [(24_000, 16_000), (8_000, 24_000)])
@pytest.mark.parametrize("piece", [1, 480, 997])
def test_a_sound_resampled_piece_by_piece_equals_the_sound_resampled_whole(
    from_rate: int, to_rate: int, piece: int
) -> None:
    sound = np.random.default_rng(0).uniform(-0.5, 0.5, 6000).astype(np.float32)
    resampler = audio.Resampler(from_rate, to_rate)
    pieces = [resampler.push(sound[i : i + piece]) for i in range(0, len(sound), piece)]
    joined = np.concatenate([*pieces, resampler.flush()])
    whole = audio.resample(sound, from_rate, to_rate)
    assert len(joined) == len(whole) == len(sound) * to_rate // from_rate
    np.testing.assert_allclose(joined, whole, atol=1e-5)


def test_a_flushed_resampler_begins_anew() -> None:
    resampler = audio.Resampler(24_000, 16_000)
    once, again = (
        np.concatenate([resampler.push(tone(440, 24_000, 0.1)), resampler.flush()])
        for _ in range(2)
    )
    np.testing.assert_array_equal(once, again)


def test_a_tone_keeps_its_pitch_and_level_at_another_rate() -> None:
    heard = audio.resample(tone(1000, 24_000), 24_000, 16_000)
    middle = slice(1000, -1000)
    assert signal_to_noise(tone(1000, 16_000)[middle], heard[middle]) > 60


def test_equal_rates_pass_the_sound_through_at_once() -> None:
    resampler = audio.Resampler(16_000, 16_000)
    sound = tone(440, 16_000, 0.02)
    np.testing.assert_array_equal(resampler.push(sound), sound)
    assert resampler.flush().size == 0
