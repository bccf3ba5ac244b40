"""What a plan ought to make of a cue: our own reading, since nobody published one."""

from collections.abc import Mapping
from typing import Any, Final

from models.perception.labels import DIMENSIONS

NEUTRAL = "neutral"
_CARING: Final = frozenset({"comforting", "apologetic"})
_WARM: Final = frozenset({"comforting", "pleasant", "apologetic"})
_GLAD: Final = frozenset({"happy", "pleasant", "surprised"})

# The emotions of a reply (models/style.py) that take up how somebody sounded.
EMOTIONS: Final[Mapping[str, frozenset[str]]] = {
    "happy": _GLAD,
    "laughter": _GLAD,
    "surprise": _GLAD,
    "sad": _CARING | {"sad"},
    "sobbing": _CARING | {"sad"},
    "fear": _CARING,
    "angry": _CARING | {"neutral"},  # calm is an answer to anger
    "shout": _CARING | {"neutral"},
    "scream": _CARING,
    "disgust": _CARING | {"neutral", "disgusted"},
    "hoarse": _WARM,
    "breath": _WARM,
    "tired": _WARM,
    "cough": _WARM,
    "sigh": _WARM,
    "yawn": _WARM,
    "moan": _WARM,
    "sneeze": _WARM,
    "throat": _WARM,
    "whisper": _WARM | {"neutral"},
}
# What else shows that a cue was taken up; of the others it is enough that the plan names them.
STRATEGIES: Final = {"child": "address_child", "elderly": "address_elder"}
_NOISY: Final = "adapt_to_noise"
_PLACES: Final = frozenset(
    name for each in DIMENSIONS.values() if each.group == "environment" for name in each.attributes
)
_SPEAKER: Final = frozenset(
    name for name, each in DIMENSIONS.items() if each.group == "paralinguistic"
)
# Nobody is to be treated otherwise for these: every plan fits.
NOT_TAKEN_UP: Final = frozenset({"male", "female"})


def fits(plan: Mapping[str, Any], cue: str) -> bool | None:
    """Whether a plan takes up a cue; None for one we know nothing of."""
    heard = [each for each in plan.get("heard") or () if isinstance(each, Mapping)]
    named = {each.get("name") for each in heard}
    strategies = plan.get("strategies") or ()
    if cue in NOT_TAKEN_UP:
        return True
    if cue == NEUTRAL:  # what is not there must not be acted upon
        return not any(each.get("sure") and each.get("dimension") in _SPEAKER for each in heard)
    if cue in EMOTIONS:
        return plan.get("emotion") in EMOTIONS[cue]
    if cue in STRATEGIES:
        return cue in named or STRATEGIES[cue] in strategies
    if cue in _PLACES:
        return cue in named or _NOISY in strategies
    return cue in named if cue in ("fast", "slow") else None
