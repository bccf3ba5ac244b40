"""The manner of speaking, derived from what was measured: how loud, how fast, in what condition.

No recordings labelled whisper, shout, fast, slow, hoarse, breathless or tired were at hand: these
chances follow from the signal by rules, not from training. The rules' thresholds were set so that
ordinary recorded speech (read, acted neutral, learners', children's) seldom crosses them, and tried
on speech re-voiced with noise, stretched, and acted with high anger. Loudness is not used: it says
more of the microphone than of the voice.
"""

import math

from models.percept import Chances
from models.perception.prosody import Voice

_LEAST_SPEECH = 0.5  # seconds before anything is said
_LEAST_PACE = 1.0  # seconds before anything is said of the speed
_NOISY = 6.0  # dB SNR below which missing voice may just be drowned
_CLEAN = 20.0  # dB SNR from which roughness is the voice's and not the room's


def volume(voice: Voice) -> Chances | None:
    """Shouted, whispered or normal; None if it cannot be told.

    A whisper has syllables and no voice; gusts of breath are slower than syllables. A shout is high
    for any speaker and bright: effort tenses the folds and flattens the spectrum. It takes both,
    since a high voice or a bright microphone alone is common; a low voice's shout is missed.
    """
    measured = voice.prosody
    if voice.voicing is None or voice.brightness is None:
        return None
    if measured.speech_seconds < _LEAST_SPEECH:
        return None
    if measured.snr is not None and measured.snr < _NOISY:
        return None
    rate = measured.speaking_rate or 0.0
    whisper = _above(-voice.voicing, -0.36, 0.04) * _above(rate, 3.0, 0.15)
    shout = 0.0
    if measured.f0_mean is not None:
        height = _above(math.log2(measured.f0_mean), math.log2(262), 0.07)
        shout = (1 - whisper) * height * _above(voice.brightness, -6.5, 1.0)
    return {"shout": shout, "whisper": whisper, "normal": 1 - shout - whisper}


def speed(voice: Voice) -> Chances | None:
    """Fast, slow or normal; None if it cannot be told.

    The limits are those of the counted rate, which runs low for fast speech and high for slow.
    The less was said, the further out they lie, and the less sure.
    """
    measured = voice.prosody
    if measured.speaking_rate is None or measured.speech_seconds < _LEAST_PACE:
        return None
    if measured.snr is not None and measured.snr < _NOISY:
        return None
    doubt = 0.2 + 0.3 / measured.speech_seconds
    margin = 0.5 / measured.speech_seconds
    fast = _above(measured.speaking_rate, 5.4 + margin, doubt)
    # Long pauses make an unhurried speaker slow, though less than drawn-out words do.
    pace = measured.speaking_rate * (1 - 0.5 * (measured.pause_ratio or 0.0))
    slow = (1 - fast) * _above(-pace, -2.8 + margin, doubt)
    return {"fast": fast, "slow": slow, "normal": 1 - fast - slow}


def physiological(voice: Voice) -> Chances | None:
    """Hoarse, out of breath or tired, each by itself; None if it cannot be told.

    Cautious on purpose: each needs several signs at once, tiredness never passes one half.
    """
    measured = voice.prosody
    if voice.voicing is None or voice.hissing is None or voice.brightness is None:
        return None
    if measured.speech_seconds < _LEAST_PACE or measured.snr is None or measured.snr < _CLEAN:
        return None
    rate = measured.speaking_rate or 0.0
    # Breath is hiss without voice like a whisper, but in gusts too long for syllables.
    breath = _above(voice.hissing, 0.25, 0.03) * _above(-rate, -3.0, 0.2)
    hoarse = tired = 0.0
    if measured.jitter is not None and measured.hnr is not None and measured.shimmer is not None:
        hoarse = (
            _above(voice.voicing, 0.45, 0.03)
            * _above(measured.jitter, 0.03, 0.003)
            * _above(measured.shimmer, 0.14, 0.01)
            * _above(-measured.hnr, -5.0, 0.5)
        )
    if measured.f0_range is not None:
        tired = 0.5 * (
            _above(-measured.f0_range, -5.0, 0.6)
            * _above(-rate, -3.0, 0.2)
            * _above(-voice.brightness, 13.0, 1.0)
        )
    return {"hoarse": hoarse, "breath": breath, "tired": tired}


def _above(value: float, middle: float, doubt: float) -> float:
    """The chance that a value lies beyond a limit that is known only to within a doubt."""
    return 1 / (1 + math.exp(min(max((middle - value) / doubt, -60.0), 60.0)))
