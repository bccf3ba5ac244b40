"""The reply as a clip at the rate a network wants, or why there is nothing to judge."""

import numpy as np

from models.audio import resample
from models.types import EAR_RATE, Samples
from server.scoring.exchange import Exchange
from server.scoring.score import Unscored

SHORTEST = 0.25  # seconds; less is a click
FAINTEST = 10 ** (-60 / 20)  # of full scale; what never gets above it was not heard


def reply_clip(exchange: Exchange, rate: int = EAR_RATE) -> Samples:
    """The whole reply as it was played; raises Unscored where there is nothing to be heard."""
    sound = exchange.reply_sound()
    if sound.duration < SHORTEST:
        raise Unscored("the reply is too short")
    if np.abs(sound.samples).max() < FAINTEST:
        raise Unscored("the reply is silent")
    clip: Samples = np.clip(resample(sound.samples, sound.rate, rate), -1, 1)
    return clip
