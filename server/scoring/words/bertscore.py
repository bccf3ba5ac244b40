"""BERTScore: each piece of one text with the nearest piece of the other. No idf weights."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from server.scoring.score import Unavailable
from server.scoring.words.encoders import Pieces, Rows


@dataclass(frozen=True, slots=True)
class Match:
    precision: float
    recall: float
    f: float


NONE = Match(0.0, 0.0, 0.0)


def match(candidate: Pieces, reference: Pieces) -> Match:
    """As bert_score has it: marks may be matched, but count for nothing themselves."""
    if not candidate.counted.any() or not reference.counted.any():
        return NONE
    near = np.einsum("cv,rv->cr", _unit(candidate.rows), _unit(reference.rows))
    precision = float(near.max(axis=1)[candidate.counted].mean())
    recall = float(near.max(axis=0)[reference.counted].mean())
    both = precision + recall
    return Match(precision, recall, 2 * precision * recall / both if both else 0.0)


def rescaled(found: Match, baseline: Match) -> Match:
    """So that texts that have nothing to do with each other are near 0. It may be below."""

    def scale(value: float, least: float) -> float:
        return (value - least) / (1 - least)

    return Match(
        scale(found.precision, baseline.precision),
        scale(found.recall, baseline.recall),
        scale(found.f, baseline.f),
    )


def read_baseline(path: Path | None, layer: int) -> Match:
    """A layer's row of a file as bert_score ships it: LAYER,P,R,F."""
    if path is None:
        raise Unavailable("no baseline is configured: encoders.bertscore_baseline")
    try:
        text = path.read_text("utf-8").replace("\t", ",")
        for row in csv.DictReader(text.splitlines()):
            if int(row["LAYER"]) == layer:
                found = Match(float(row["P"]), float(row["R"]), float(row["F"]))
                if max(found.precision, found.recall, found.f) < 1:
                    return found
    except OSError as error:
        raise Unavailable("the file given as encoders.bertscore_baseline is not there") from error
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        raise Unavailable("encoders.bertscore_baseline is no table of LAYER,P,R,F") from error
    raise Unavailable(f"encoders.bertscore_baseline has nothing usable for layer {layer}")


def _unit(rows: Rows) -> Rows:
    return cast(Rows, rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
