"""What a classifier from elsewhere says, in our names."""

import math
import tomllib
from collections.abc import Sequence
from pathlib import Path

from models.errors import BackendError
from models.percept import Chances
from models.perception.labels import EMOTIONS

ROLE = "perceiver"
OTHER = "other"

_NAMES: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def emotions(labels: Sequence[str]) -> list[str]:
    """Our name for each of a classifier's labels, or OTHER.

    Raises:
        BackendError: a label is not in the table, or not two of them are emotions of ours.
    """
    names = []
    for label in labels:
        spelling = label.rpartition("/")[2].strip().lower()
        if spelling not in _NAMES:
            raise BackendError(
                ROLE,
                f"the classifier's label {label!r} is no emotion known here: "
                "name it in models/perception/hub_labels.toml",
            )
        names.append(_NAMES[spelling])
    if len(set(names) - {OTHER}) < 2:
        raise BackendError(ROLE, f"a classifier of {', '.join(labels)} tells no emotions")
    return names


def checked(temperature: float) -> float:
    """The temperature, if it is one: a BackendError while a classifier is built, not in a turn."""
    if not 0 < temperature < math.inf:
        raise BackendError(
            ROLE, f"a classifier's temperature is a number above 0, and not {temperature}"
        )
    return temperature


def chances(names: Sequence[str], shares: Sequence[float], temperature: float) -> Chances:
    """Chances of our emotions, in our order. What they lack to 1 was given to something else.

    `temperature` divides the logits the shares came from: above 1 makes a classifier more modest.

    Raises:
        BackendError: the shares are not one for each name, or no shares of anything.
    """
    if len(shares) != len(names):
        raise BackendError(
            ROLE, f"the classifier gave {len(shares)} scores for its {len(names)} labels"
        )
    most = max(shares, default=0.0)
    if not all(0 <= share < math.inf for share in shares) or not most:
        raise BackendError(ROLE, "the classifier gave scores that are no shares of a whole")
    # Of the largest, which stays 1: at a low temperature all might become 0 otherwise.
    softened = [(share / most) ** (1 / temperature) for share in shares]
    found = dict.fromkeys(names, 0.0)
    for name, share in zip(names, softened, strict=True):
        found[name] += share / sum(softened)
    return {name: found[name] for name in EMOTIONS if name in found}
