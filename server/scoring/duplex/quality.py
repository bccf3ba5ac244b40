"""How good a reply sounds before and after it was talked over, by every network that is here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from models.audio import resample
from models.types import EAR_RATE, Samples
from server.scoring.duplex.ears import Ears, ears
from server.scoring.duplex.manner import LEAST_SEC
from server.scoring.duplex.overlaps import FEW, Heard, change, heard, speech
from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unavailable, Unscored
from server.scoring.settings import Settings
from server.scoring.sound import distillmos, dnsmos, utmos
from server.scoring.sound.clip import FAINTEST

VERSION = 1
_OTHER = (
    "Full-Duplex-Bench 1.5 takes UTMOSv2 for this. Before and after are parted at the end of the "
    "user's talking over the reply, at a word; half a second of speech is needed on either side."
)


def _measure(name: str, title: str, by: str, caveat: str = "") -> Measure:
    about = f"{by} of the reply's speech after the user talked over it, less that before."
    return Measure(name, title, "duplex", about, f"{caveat}{_OTHER}")


MEASURES = (
    _measure(
        "overlap_dnsmos_change",
        "Change of DNSMOS after an overlap",
        "DNSMOS (P.835, overall)",
    ),
    _measure(
        "overlap_distillmos_change",
        "Change of DistillMOS after an overlap",
        "DistillMOS",
    ),
    _measure(
        "overlap_utmos_change",
        "Change of UTMOS after an overlap",
        "UTMOS",
        "By whichever network `encoders.utmos` names, UTMOS22 strong or an exported one. ",
    ),
)


class Rater(Protocol):
    @property
    def key(self) -> str: ...

    @property
    def judge(self) -> JudgeNamed | None: ...

    def rate(self, clip: Samples) -> Mapping[str, Score]:
        """Of a clip at 16 kHz."""
        ...


# By measure: which of its rater's ratings it is the change of.
RATED = {
    "overlap_dnsmos_change": "dnsmos_ovrl",
    "overlap_distillmos_change": "distillmos",
    "overlap_utmos_change": "utmos",
}


@dataclass(frozen=True, slots=True)
class Quality:
    """Raters by measure, or why there is none."""

    ears: Ears
    raters: Mapping[str, Rater | Unavailable]

    @property
    def key(self) -> str:
        here = (f"{name} {rater.key}" for name, rater in self._here().items())
        return f"overlap quality {VERSION} {self.ears.key} {', '.join(here)}"

    @property
    def judge(self) -> JudgeNamed | None:
        named = [rater.judge for rater in self._here().values() if rater.judge]
        if not named:
            return None
        versions = [f"{each.name} {each.version}" for each in named]
        return JudgeNamed(" and ".join(each.name for each in named), ", ".join(versions))

    def measure(self, exchange: Exchange) -> dict[str, Score]:
        whole = heard(exchange, self.ears)
        clips = [_clip(whole, *span) for span in whole.parted(exchange)]
        return {
            name: Score.none(str(rater))
            if isinstance(rater, Unavailable)
            else _change(rater, RATED[name], clips)
            for name, rater in self.raters.items()
        }

    def _here(self) -> dict[str, Rater]:
        return {
            name: rater for name, rater in self.raters.items() if not isinstance(rater, Unavailable)
        }


def build(settings: Settings) -> Quality:
    listening = ears()
    built: tuple[Callable[[Settings], Rater], ...] = (
        dnsmos.build,
        distillmos.build,
        utmos.build,
    )
    raters: dict[str, Rater | Unavailable] = {}
    for name, build_one in zip(RATED, built, strict=True):
        try:
            raters[name] = build_one(settings)
        except Unavailable as missing:
            raters[name] = missing
    return Quality(listening, raters)


def _clip(whole: Heard, begin: float, end: float) -> Samples:
    sound = speech(whole.sides, begin, end)
    if sound is None or sound.duration < LEAST_SEC:
        raise Unscored(FEW)
    if np.abs(sound.samples).max() < FAINTEST:
        raise Unscored("the reply is silent")
    clip: Samples = np.clip(resample(sound.samples, sound.rate, EAR_RATE), -1, 1)
    return clip


def _change(rater: Rater, name: str, clips: Sequence[Samples]) -> Score:
    try:
        before, after = (rater.rate(clip)[name].value for clip in clips)
    except Unscored as reason:
        return Score.none(reason)
    assert before is not None and after is not None, "a rater rates or raises"
    return change(before, after, "", 2)
