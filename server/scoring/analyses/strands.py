"""Which half of empathy a metric is about: the words or the voice. The two are never merged."""

from typing import Literal

from server.scoring.score import Measure

Strand = Literal["understanding", "linguistic", "paralinguistic", "both"]
STRANDS: tuple[Strand, ...] = ("understanding", "linguistic", "paralinguistic", "both")

STEADY = "judge_self_agreement"

_NAMED: dict[str, Strand] = {
    "ves": "paralinguistic",
    "aeq_coherence": "linguistic",
    "aeq_supportiveness": "linguistic",
    "aeq_naturalness": "paralinguistic",
    "aeq_expressiveness": "paralinguistic",
    "humdial_insight": "linguistic",
    "humdial_congruence": "paralinguistic",
    "humdial_quality": "paralinguistic",
    "prefers_ours_words": "linguistic",
    "prefers_ours_voice": "paralinguistic",
}
_BY_FAMILY: dict[str, Strand] = {
    "understanding": "understanding",
    "perception": "understanding",
    "words": "linguistic",
    "echomind": "linguistic",
    "sound": "paralinguistic",
    "voice": "paralinguistic",
    # Their authors have one judge look at words and voice at once.
    "echat": "both",
    "vstyle": "both",
    "vocalbench": "linguistic",  # its voice is measured, and among voices
}


def strand(measure: Measure) -> Strand | None:
    """None for what is not about empathy: latencies, taking turns, how steady a judge is."""
    if measure.name.startswith(STEADY):
        return None
    return _NAMED.get(measure.name) or _BY_FAMILY.get(measure.family)
