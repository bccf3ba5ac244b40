"""The same clip under worse circumstances: noise, another pace, a telephone."""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import soundfile

from models.audio import resample
from models.types import WIRE_RATE, Samples
from server.client import voiced_frames
from server.scoring.bench.errors import BenchmarkError
from server.scoring.bench.tempo import stretched

CLEAN = "clean"
VOICE_FRAME = WIRE_RATE // 100
# By name: the rate at which it codes, and soundfile's words for it.
CODECS = {
    "mulaw": (8_000, "WAV", "ULAW"),
    "alaw": (8_000, "WAV", "ALAW"),
    "gsm": (8_000, "WAV", "GSM610"),
    "opus": (24_000, "OGG", "OPUS"),
    "vorbis": (24_000, "OGG", "VORBIS"),
    "mp3": (24_000, "MP3", "MPEG_LAYER_III"),
}
SLOWEST, FASTEST = 0.5, 2.0
LOUDEST_DB, FAINTEST_DB = -40.0, 100.0  # of noise, below the voice


@dataclass(frozen=True, slots=True)
class Condition:
    """`change` gives the clip as it is then played; `pace` is how much shorter it becomes."""

    name: str
    change: Callable[[Samples], Samples]
    pace: float = 1.0


def conditions(
    noise: str = "", speed: str = "", rate: str = "", codec: str = ""
) -> list[Condition]:
    """Those of a command line, each a list with commas; undisturbed comes first."""
    found = [Condition(CLEAN, lambda clip: clip)]
    found += [_noise(_number(each, "noise")) for each in _listed(noise)]
    found += [_speed(_number(each, "speed")) for each in _listed(speed)]
    found += [_rate(_number(each, "rate")) for each in _listed(rate)]
    found += [_codec(each) for each in _listed(codec)]
    return list({each.name: each for each in found}.values())


def noisy(clip: Samples, snr_db: float) -> Samples:
    """With pink noise so far below the voice, the same noise for a clip of the same length."""
    voiced = voiced_frames(clip)
    frames = clip[: len(clip) // VOICE_FRAME * VOICE_FRAME].reshape(-1, VOICE_FRAME)
    voice = frames[voiced] if len(voiced) else clip
    power = float(np.mean(voice.astype(np.float64) ** 2))
    noise = pink(len(clip))
    level = np.sqrt(power / 10 ** (snr_db / 10) / max(float(np.mean(noise**2)), 1e-12))
    mixed: Samples = clip + (level * noise).astype(np.float32)
    peak = float(np.abs(mixed).max(initial=0.0))
    return mixed if peak <= 1.0 else (mixed / peak).astype(np.float32)


def pink(length: int, seed: int = 7) -> np.ndarray:
    """Noise of equal power in every octave above 50 Hz."""
    white = np.fft.rfft(np.random.default_rng(seed).standard_normal(length))
    hertz = np.fft.rfftfreq(length, 1 / WIRE_RATE)
    white[hertz < 50] = 0
    white[1:] /= np.sqrt(np.maximum(hertz[1:], 1.0))
    return np.fft.irfft(white, length)


def coded(clip: Samples, name: str) -> Samples:
    """Through a codec and back."""
    rate, form, subtype = CODECS[name]
    file = BytesIO()
    soundfile.write(file, resample(clip, WIRE_RATE, rate), rate, subtype, format=form)
    file.seek(0)
    back, _ = soundfile.read(file, dtype="float32")
    return resample(np.ascontiguousarray(back), rate, WIRE_RATE)


def _noise(snr_db: float) -> Condition:
    if not LOUDEST_DB <= snr_db <= FAINTEST_DB:
        raise BenchmarkError(
            f"--noise takes numbers from {LOUDEST_DB:g} to {FAINTEST_DB:g}, not {snr_db:g}."
        )
    return Condition(f"noise {snr_db:g} dB", lambda clip: noisy(clip, snr_db))


def _speed(factor: float) -> Condition:
    """As somebody who speaks faster: the pitch stays."""
    _refuse_pace("speed", factor)
    return Condition(f"speed {factor:g}", lambda clip: stretched(clip, factor), factor)


def _rate(factor: float) -> Condition:
    """As a tape that runs faster: pace and pitch change together."""
    _refuse_pace("rate", factor)
    return Condition(
        f"rate {factor:g}",
        lambda clip: resample(clip, round(WIRE_RATE * factor), WIRE_RATE),
        factor,
    )


def _refuse_pace(flag: str, factor: float) -> None:
    if not SLOWEST <= factor <= FASTEST:
        raise BenchmarkError(f"--{flag} takes numbers from {SLOWEST} to {FASTEST}, not {factor:g}.")


def _codec(name: str) -> Condition:
    if name not in CODECS:
        raise BenchmarkError(f"--codec knows {', '.join(CODECS)}, not '{name}'.")
    return Condition(f"codec {name}", lambda clip: coded(clip, name))


def _listed(told: str) -> list[str]:
    return [each.strip() for each in told.split(",") if each.strip()]


def _number(told: str, flag: str) -> float:
    try:
        number = float(told)
    except ValueError:
        raise BenchmarkError(f"--{flag} takes numbers with commas, not '{told}'.") from None
    if not np.isfinite(number):
        raise BenchmarkError(f"--{flag} takes numbers with commas, not '{told}'.")
    return number
