"""The packaged sentence encoder, all-MiniLM-L6-v2 in 8 bits, over whole replies."""

from functools import cache

import numpy as np

from models import weights
from models.inference import session
from models.perception.wordpiece import WordPiece
from server.scoring.score import Unavailable
from server.scoring.words.encoders import Pieces, Vector, mean

NAME = "all-MiniLM-L6-v2 (8 bit)"
LONGEST = 256  # pieces of words; what it was taught with


class MiniLm:
    """One text at a time: how its numbers are rounded would depend on what is beside it."""

    def __init__(self) -> None:
        try:
            self._session = session(weights.path("minilm"), 1)
            self._pieces = WordPiece(weights.path("minilm-tokenizer"))
        except weights.WeightsError as error:
            raise Unavailable("MiniLM is not here: run python -m models.weights") from error

    @property
    def key(self) -> str:
        return f"minilm {weights.find('minilm').sha256[:12]}"

    def pieces(self, text: str) -> Pieces:
        ids = np.array([self._pieces.ids(text, LONGEST)], np.int64)
        shown = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        (hidden,) = self._session.run(None, shown | {"token_type_ids": np.zeros_like(ids)})
        counted = np.ones(ids.shape[1], np.bool_)
        counted[[0, -1]] = False
        return Pieces(hidden[0], counted)

    def vector(self, text: str) -> Vector:
        return mean(self.pieces(text))


@cache
def minilm() -> MiniLm:
    """The one of this process."""
    return MiniLm()
