"""DNSMOS: how a listener would rate the reply's sound, by Microsoft's networks for calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from models import weights
from models.inference import session
from models.types import EAR_RATE, Samples
from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unavailable
from server.scoring.settings import Settings
from server.scoring.sound.clip import reply_clip
from server.scoring.sound.mel import Mel, decibels

_CAVEAT = (
    "Trained on noisy calls, so clean speech seldom gets above 3.4 overall. EchoMind's column "
    "headed DNMOS looks like UTMOS: not to be compared with it."
)


def _measure(name: str, title: str, about: str) -> Measure:
    return Measure(name, title, "sound", about, _CAVEAT, "", True, 1, 5)


MEASURES = (
    _measure("dnsmos_ovrl", "DNSMOS overall", "P.835: the overall sound of the reply."),
    _measure("dnsmos_sig", "DNSMOS signal", "P.835: how undistorted the reply's speech is."),
    _measure("dnsmos_bak", "DNSMOS background", "P.835: how little the background disturbs."),
    _measure("dnsmos_p808", "DNSMOS P.808", "P.808: the overall quality, by another network."),
)

WINDOW = int(9.01 * EAR_RATE)  # samples the networks are shown
HOP = EAR_RATE
_STEP = 160
_MEL = Mel(EAR_RATE, 321, 321, _STEP, 120, EAR_RATE / 2, power=2, mirrored=False)
# From what the network says to what people said: coefficients as published, highest power first.
_FITTED = {
    "dnsmos_sig": (-0.08397278, 1.22083953, 0.0052439),
    "dnsmos_bak": (-0.13166888, 1.60915514, -0.39604546),
    "dnsmos_ovrl": (-0.06766283, 1.11546468, 0.04602535),
}


@dataclass(frozen=True, slots=True)
class Dnsmos:
    p835: Any
    p808: Any
    key: str = "dnsmos 1: speechmos 0.0.1.1"
    judge: JudgeNamed | None = JudgeNamed("DNSMOS", "speechmos 0.0.1.1", licence="MIT")

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        return self.rate(reply_clip(exchange))

    def rate(self, clip: Samples) -> Mapping[str, Score]:
        """Of a clip at 16 kHz."""
        pieces = windows(clip)
        found: dict[str, list[float]] = {measure.name: [] for measure in MEASURES}
        for piece in pieces:  # one at a time: a batch gains nothing on a CPU
            (said,) = self.p835.run(None, {"input_1": piece[None]})[0]
            for value, (name, fit) in zip(said, _FITTED.items(), strict=True):
                found[name].append(float(np.polyval(fit, value)))
            (rated,) = self.p808.run(None, {"input_1": mel(piece)[None]})[0]
            found["dnsmos_p808"].append(float(rated[0]))
        why = f"mean of {len(pieces)} windows" if len(pieces) > 1 else "one window"
        return {name: Score(float(np.mean(values)), why) for name, values in found.items()}


def build(settings: Settings) -> Dnsmos:
    try:
        return Dnsmos(*(session(weights.path(f"dnsmos-{part}")) for part in ("p835", "p808")))
    except weights.WeightsError as error:
        raise Unavailable(f"DNSMOS cannot be taken: {error}") from error


def windows(clip: Samples) -> list[Samples]:
    """The clip a second on each time; a short one is doubled until it fills a window."""
    while len(clip) < WINDOW:
        clip = np.tile(clip, 2)
    last = max(int(len(clip) // EAR_RATE - WINDOW / EAR_RATE), 0)
    return [clip[at * HOP : at * HOP + WINDOW] for at in range(last + 1)]


def mel(piece: Samples) -> Samples:
    """What the P.808 network is shown: 900 frames of 120 bands, about -1 to 1."""
    bands = _MEL(piece[:-_STEP])
    shown: Samples = ((decibels(bands, float(bands.max()), 1e-10) + 40) / 40).astype(np.float32)
    return shown
