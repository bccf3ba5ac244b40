"""How near two replies are in meaning, whatever their length.

The encoder reads the beginning of a long text only. A reply is therefore taken sentence by
sentence, and its vector is their mean, sentences counting by their words.
"""

from collections.abc import Callable
from functools import cache
from typing import cast

import numpy as np

from models.perception.words import Encoder, Vector, sentences, shared_encoder

Nearness = Callable[[str, str], float]


class Meaning:
    """Remembers every text: references are compared with all contestants' replies."""

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder
        self._vector = cache(self._encoded)

    def near(self, one: str, other: str) -> float:
        """The cosine of their vectors; 0 where one of them says nothing."""
        if not sentences(one) or not sentences(other):
            return 0.0
        return float(np.dot(self._vector(one), self._vector(other)))

    def _encoded(self, text: str) -> Vector:
        self._encoder = self._encoder or shared_encoder()
        parts = sentences(text)
        rows = self._encoder.encode(parts)
        shares = np.array([len(part.split()) for part in parts], np.float32)
        mean = np.einsum("s,sv->v", shares / shares.sum(), rows)
        return cast(Vector, mean / np.linalg.norm(mean))
