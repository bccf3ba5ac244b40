"""Joins what the voice says with what the words say, and notices when the two disagree."""

import math
from dataclasses import dataclass

from models.percept import Affect, Chances, Conflict, Prosody
from models.perception.words import WordsMood

# Where each emotion lies, on 1-5: set by hand where rating studies agree (anger and fear are both
# unpleasant and excited, and differ in dominance). No recording we learn from is labelled so: the
# voice's affect is derived from its emotion.
ANCHORS = {
    "happy": Affect(4.6, 4.0, 3.9),
    "sad": Affect(1.7, 2.5, 2.3),
    "angry": Affect(2.0, 4.2, 3.5),
    "fear": Affect(1.7, 4.2, 2.1),
    "disgust": Affect(1.8, 3.7, 3.2),
    "surprise": Affect(3.8, 4.3, 2.7),
    "neutral": Affect(3.0, 3.0, 3.0),
}
# Raters of one and the same emotion word differ by about this much (its standard deviation).
ANCHOR_SPREAD = 0.6
# What words are as evidence of one speaker's state, beside the model's own error: sentences were
# written, and rated by people who did not know the writer. So large that a sure voice counts three
# times as much as the words, and a voice that hesitates between opposites a little less than them.
TRANSFER_SPREAD = 1.0

# The most that words can weigh in the emotion. At 1 two independent and calibrated witnesses would
# join into a calibrated one, but what is said often has no bearing on how it is said. With a voice
# drawn to be calibrated (UAR 0.48), 0.3 gains 0.11 where the words do tell, costs 0.01 on scripts
# that say nothing, and errs towards too little certainty; 1 gains 0.22 and costs 0.05.
WORDS_WEIGHT = 0.3
# No chance is taken for nothing: one network's zero must not veto the other.
LEAST = 1e-3

# What a lively voice adds to arousal, at most, either way.
NUDGE = 0.3
# Ordinary speech and how far people stray from it: mean, spread, and how much it counts. Loudness
# counts half: it says as much of the microphone as of the speaker.
LIVELINESS = {
    "f0_range": (8.0, 4.0, 1.0),  # semitones
    "speaking_rate": (4.5, 1.0, 1.0),  # syllables per second
    "loudness": (-26.0, 8.0, 0.5),  # dBFS
}

UNPLEASANT = ("sad", "angry", "fear", "disgust")
# Below this either side is too unsure of itself to be contradicted. The four unpleasant emotions
# together are as likely as 4 in 7 when nothing is known, so it must be well above that.
CLEAR = 0.7


@dataclass(frozen=True, slots=True)
class Mood:
    """What voice and words come to together."""

    emotion: Chances
    expressed: Affect | None  # by the speaker; None when there was neither voice nor words
    perceived: Affect | None  # as it would strike a listener
    conflict: Conflict | None


def join(
    voice: Chances, words: WordsMood | None, prosody: Prosody, *, sobbing: float = 0.0
) -> Mood:
    """One mood from the voice's emotion, the words' mood, and how the voice was used.

    `voice` may lack emotions its weights cannot hear: those stay unheard, whatever the words say.
    `sobbing` is how likely that was heard; it makes a voice sad that the emotion alone does not.
    """
    return Mood(
        emotion=_emotion(voice, words),
        expressed=_affect(voice, prosody, (words.writer, words.writer_spread) if words else None),
        perceived=_affect(voice, prosody, (words.reader, words.reader_spread) if words else None),
        conflict=_conflict(voice, words, sobbing) if words else None,
    )


# --- emotion


def _emotion(voice: Chances, words: WordsMood | None) -> Chances:
    """The voice's chances, moved by how much the words raise or lower each emotion."""
    if not words or not voice:
        return voice
    weight = WORDS_WEIGHT * _hesitation(voice) * (1 - words.emotion["neutral"])
    scores = {
        name: math.log(max(chance, LEAST))
        + weight * math.log(max(words.emotion[name], LEAST) / words.prior[name])
        for name, chance in voice.items()
    }
    total = sum(math.exp(score) for score in scores.values())
    return {name: math.exp(score) / total for name, score in scores.items()}


def _hesitation(chances: Chances) -> float:
    """0 when one name is certain, 1 when all are alike."""
    entropy = -sum(chance * math.log(chance) for chance in chances.values() if chance > 0)
    return min(1.0, entropy / math.log(len(chances))) if len(chances) > 1 else 0.0


# --- affect


def _affect(voice: Chances, prosody: Prosody, words: tuple[Affect, Affect] | None) -> Affect | None:
    """Both sides' affect, each counting by how sure it is."""
    if not voice:
        return words[0] if words else None

    def joined(side: str, nudge: float = 0.0) -> float:
        heard, spread = _derived(voice, side)
        heard += nudge
        if words:
            said, error = (getattr(affect, side) for affect in words)
            trust_heard, trust_said = 1 / spread**2, 1 / (error**2 + TRANSFER_SPREAD**2)
            heard = (heard * trust_heard + said * trust_said) / (trust_heard + trust_said)
        return min(5.0, max(1.0, heard))

    return Affect(joined("valence"), joined("arousal", _nudge(prosody)), joined("dominance"))


def _derived(voice: Chances, side: str) -> tuple[float, float]:
    """What the anchors come to under the voice's chances, and how far apart they pull."""
    total = sum(voice.values())
    parts = [(chance / total, getattr(ANCHORS[name], side)) for name, chance in voice.items()]
    mean = sum(share * anchor for share, anchor in parts)
    variance = sum(share * (anchor - mean) ** 2 for share, anchor in parts)
    return mean, math.sqrt(variance + ANCHOR_SPREAD**2)


def _nudge(prosody: Prosody) -> float:
    """How much livelier than ordinary the voice was, in steps of arousal."""
    lively = counted = 0.0
    for name, (ordinary, spread, count) in LIVELINESS.items():
        measured: float | None = getattr(prosody, name)
        if measured is not None:
            lively += count * (measured - ordinary) / spread
            counted += count
    return NUDGE * math.tanh(lively / counted) if counted else 0.0


# --- conflict


@dataclass(frozen=True, slots=True)
class _Side:
    """What one side makes of it: pleasant (1), unpleasant (-1) or neither (0), and how surely."""

    sign: int
    name: str
    chance: float


def _side(chances: Chances) -> _Side:
    """Surprise is left out: it can be either."""
    unpleasant = {name: chances.get(name, 0.0) for name in UNPLEASANT}
    return max(
        _Side(1, "happy", chances.get("happy", 0.0)),
        _Side(-1, max(unpleasant, key=unpleasant.__getitem__), sum(unpleasant.values())),
        _Side(0, "neutral", chances.get("neutral", 0.0)),
        key=lambda side: side.chance,
    )


def _conflict(voice: Chances, words: WordsMood, sobbing: float) -> Conflict | None:
    """Clear words against a clear voice. A calm voice contradicts nothing: hard and kind things
    are said calmly every day; nor do plain words, unless they are sobbed."""
    heard, said = _side(voice), _side(words.emotion)
    if words.claims_well:  # there is nothing to be unsure of
        said = _Side(1, "happy" if said.name == "happy" else "neutral", 1.0)
    if sobbing >= CLEAR and sobbing > heard.chance:
        heard = _Side(-1, "sad", sobbing)
    if min(heard.chance, said.chance) < CLEAR:
        return None
    opposed = heard.sign * said.sign < 0
    sobbed = said.sign == 0 and sobbing >= CLEAR
    if not opposed and not sobbed:
        return None
    return Conflict(said.name, heard.name, math.sqrt(heard.chance * said.chance))
