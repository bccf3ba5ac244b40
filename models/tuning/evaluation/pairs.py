"""Replies side by side for a reader who does not know whose they are; the key is kept apart."""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.corpus.exchange import Exchange, Way
from models.tuning.evaluation.questions import How, name

PAIRS, KEY, VERDICTS = "pairs.jsonl", "key.json", "verdicts.jsonl"

Replies = Mapping[tuple[str, How], Mapping[str, str]]  # by contestant and way of telling


@dataclass(frozen=True, slots=True)
class Pair:
    """Two replies to the same words, said in the same way."""

    exchange: Exchange
    told: How
    sides: tuple[str, str]  # the contestants behind A and B
    replies: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Pairs to be read, and how many were not worth reading."""

    pairs: tuple[Pair, ...]
    same: int  # both said the same words


def draw(
    exchanges: Sequence[Exchange], replies: Replies, against: str, most: int, seed: int
) -> Drawn:
    """Each contestant against one of them, in all ways of telling, evenly and by chance.

    A script is taken again only once all were taken, so that a reader meets few twice.
    """
    rng = random.Random(seed)
    meetings = [
        (who, told) for who, told in replies if who != against and (against, told) in replies
    ]
    scripts = rng.sample(list(exchanges), len(exchanges))
    tried, found, same = 0, list[Pair](), 0
    while len(found) < most and meetings and tried < len(scripts) * len(meetings):
        # Another meeting each time, and with every round of scripts another one for each script.
        turn, at = divmod(tried, len(scripts))
        exchange, (who, told) = scripts[at], meetings[(at + turn) % len(meetings)]
        tried += 1
        place = name(exchange.id, Way.TARGET)
        texts = {side: replies[side, told][place] for side in (against, who)}
        one, other = rng.sample((against, who), 2)
        if texts[one] == texts[other]:
            same += 1
            continue
        found.append(Pair(exchange, told, (one, other), (texts[one], texts[other])))
    return Drawn(tuple(found), same)


def write(drawn: Drawn, folder: Path, seed: int) -> bool:
    """The pairs and their key; False where verdicts on earlier ones are there, which stay."""
    if (folder / VERDICTS).exists():
        return False
    lines = [json.dumps(_shown(number, pair), ensure_ascii=False) for number, pair in _named(drawn)]
    text = "".join(f"{line}\n" for line in lines)
    (folder / PAIRS).write_text(text, encoding="utf-8")
    key = {
        "seed": seed,
        "pairs_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "same": drawn.same,
        "pairs": {
            number: {"A": pair.sides[0], "B": pair.sides[1], "told": pair.told}
            for number, pair in _named(drawn)
        },
    }
    (folder / KEY).write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")
    return True


def _named(drawn: Drawn) -> list[tuple[str, Pair]]:
    return [(f"pair-{number:03}", pair) for number, pair in enumerate(drawn.pairs, 1)]


def _shown(number: str, pair: Pair) -> dict[str, Any]:
    """All that a reader may know."""
    cues = pair.exchange.variants[Way.TARGET].cues
    return {
        "pair": number,
        "script": [{"role": line.role, "text": line.text} for line in pair.exchange.lines],
        "cue": [cue.name if cue.sure else f"perhaps {cue.name}" for cue in cues],
        "A": pair.replies[0],
        "B": pair.replies[1],
    }
