"""One of two runs that are compared: its figures, and every exchange as values under a name."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from server.reports import SCORES_FILE, Metric
from server.scoring.report.reading import BrokenScores, pieces
from server.scoring.results import Results

# What says that two exchanges are the same item, and what may say so only of the rest.
ITEM = ("benchmark", "task", "item", "variant", "condition", "context", "speech")
RUN = ("cue_given", "prompt")

Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """One exchange: what it is, how it was run, what it belongs to, and its values."""

    item: Key
    run: Key
    cluster: Hashable
    values: Mapping[str, float]


@dataclass(frozen=True)
class Side:
    name: str
    head: Results
    exchanges: list[Answered] = field(repr=False)

    @property
    def metrics(self) -> dict[str, Metric]:
        return {each.name: each for each in self.head.metrics}

    @property
    def judges(self) -> dict[str, str]:
        """By name: with the version, which may be another one."""
        return {each.name: f"{each.name} {each.version or ''}".strip() for each in self.head.judges}


def side(path: Path) -> Side:
    """Of a report's folder, or of its scores."""
    file = path / SCORES_FILE if path.is_dir() else path
    head: dict[str, Any] = {}
    exchanges: list[dict[str, Any]] = []
    origin: dict[str, str] = {}
    try:
        for name, value in pieces(file):
            if name == "exchanges":
                exchanges.append(_light(value))
            else:
                head[name] = value
        results = Results.model_validate({**head, "exchanges": []})
        for session in head.get("sessions", ()):
            origin[session["id"]] = session.get("replay_of") or session["id"]
        found = [_answered(each, origin) for each in exchanges]
    except (ValidationError, KeyError, TypeError, AttributeError, ValueError):
        raise BrokenScores(f"{file} is not a report's {SCORES_FILE}.") from None
    named = path.resolve()
    return Side(named.name if path.is_dir() else named.parent.name, results, found)


def _light(exchange: dict[str, Any]) -> dict[str, Any]:
    """Without words, percepts and reasons."""
    return {
        "session": exchange["session_id"],
        "number": exchange["number"],
        "truth": {
            name: value
            for name, value in (exchange.get("annotation") or {}).items()
            if name in (*ITEM, *RUN, "group")
        },
        "values": {
            name: float(score["value"])
            for name, score in exchange["scores"].items()
            if score.get("value") is not None
        },
    }


def _answered(told: dict[str, Any], origin: Mapping[str, str]) -> Answered:
    """A recording that was played again is the same talk; what comes again is counted on."""
    truth, session = told["truth"], told["session"]
    root = origin.get(session, session)
    if truth.get("item") is not None:
        item: Key = ("item", *(truth.get(name) for name in ITEM))
        cluster: Hashable = (truth.get("benchmark"), truth.get("group") or truth["item"])
    else:
        item, cluster = ("talk", root, told["number"]), root
    run = tuple(truth.get(name) for name in RUN)
    return Answered(item, run, cluster, told["values"])
