"""Scoring reports as a scorer would leave them, made up for the tests: no figure means anything.

made_report(tmp_path / "reports", "march", sessions=[...])
"""

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from server import ids

MADE = datetime(2026, 3, 20, 12, 0, tzinfo=UTC)
METRICS: tuple[dict[str, Any], ...] = (
    {"name": "ctx_fit", "title": "Fits the context", "family": "echomind", "judge": "made judge",
     "about": "How well the reply fits what was said.", "smallest": 1, "largest": 5, "mid": 3.9},
    {"name": "resp_nat", "title": "Sounds natural", "family": "echomind", "judge": "made judge",
     "about": "Whether a person would answer so.", "smallest": 1, "largest": 5, "mid": 4.2},
    {"name": "speech_rel", "title": "Takes up how it was said", "family": "echomind",
     "judge": "made judge", "about": "Whether the reply takes up the cue in the voice.",
     "caveat": "Judged against what was perceived, not against an annotation.",
     "smallest": 1, "largest": 5, "mid": 3.1},
    {"name": "vocal_empathy", "title": "Vocal empathy", "family": "echomind", "judge": "made ear",
     "about": "Whether the voice of the reply fits the person's.",
     "smallest": 1, "largest": 5, "mid": 3.4},
    {"name": "wer", "title": "Words misheard", "family": "sound", "unit": "%",
     "about": "Word errors against a second transcript.", "smallest": 0, "largest": 100,
     "higher_is_better": False, "mid": 7.0},
    {"name": "dnsmos", "title": "Quality of sound", "family": "sound",
     "about": "Predicted by a network.", "smallest": 1, "largest": 5, "mid": 3.3},
    {"name": "latency", "title": "Time to the first sound", "family": "latency", "unit": "ms",
     "about": "From the end of speech.", "higher_is_better": False, "mid": 580.0},
)  # fmt: skip
CUES = ("sad", "happy", "tired", "angry")


def session_ids(count: int) -> list[str]:
    return [ids.new("sess") for _ in range(count)]


def made_report(
    folder: Path,
    name: str,
    *,
    sessions: Sequence[str] = (),
    made: datetime = MADE,
    better: float = 0.0,
    models: Sequence[str] = ("llamacpp", "vllm"),
    page: bool = True,
    **more: Any,
) -> dict[str, Any]:
    """Write `folder/name/` and give back what is in its scores.json."""
    chance = random.Random(name)
    scored = [
        {
            "id": session_id,
            "started": (made - timedelta(days=1 + number % 6)).isoformat(),
            "profile": "embedded",
            "models": {"responder": models[number % len(models)], "speaker": "hibari"},
            "exchanges": 3,
        }
        for number, session_id in enumerate(sessions or session_ids(12))
    ]
    exchanges = [
        _exchange(session, number, chance, better) for session in scored for number in range(3)
    ]
    scores = {
        "schema_version": 1,
        "made": made.isoformat(),
        "software": "attune 0.1.0",
        "took_sec": 93.5,
        "judges": [
            {"name": "made judge", "version": "7", "host": "judge.example.org"},
            {"name": "made ear", "version": "1.2", "licence": "MIT"},
        ],
        "sessions": scored,
        "metrics": [_metric(metric, exchanges) for metric in METRICS],
        "breakdowns": [
            {"by": "responder", "groups": _groups(exchanges, "responder", models)},
            {"by": "emotion", "groups": _groups(exchanges, "emotion", CUES)},
        ],
        "exchanges": exchanges,
        "told_by_a_later_scorer": {"anything": True},
        **more,
    }
    place = folder / name
    (place / "report").mkdir(parents=True)
    if page:
        (place / "report" / "index.html").write_text(PAGE, "utf-8")
        (place / "report" / "look.css").write_text("h1 { color: rgb(1, 2, 3) }", "utf-8")
    (place / "scores.json").write_text(json.dumps(scores), "utf-8")
    return scores


def _exchange(
    session: dict[str, Any], number: int, chance: random.Random, better: float
) -> dict[str, Any]:
    cue = chance.choice(CUES)
    scores = {}
    for metric in METRICS:
        unscored = chance.random() < (0.3 if metric["name"] == "vocal_empathy" else 0.05)
        if unscored:
            why = chance.choice(["no consent to sound", "the judge gave no number"])
            scores[metric["name"]] = {"value": None, "unscored": why}
        else:
            spread = metric["mid"] * 0.22
            value = chance.gauss(metric["mid"] * (1 + better), spread)
            low, high = metric.get("smallest", 0), metric.get("largest", 1e9)
            scores[metric["name"]] = {
                "value": round(min(high, max(low, value)), 2),
                "why": f"Made up: the cue was {cue}.",
            }
    return {
        "session_id": session["id"],
        "number": number,
        "user_item": f"item_u{number}",
        "reply_item": f"item_r{number}",
        "attributes": {"emotion": cue, "responder": session["models"]["responder"]},
        "scores": scores,
    }


def _figures(exchanges: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    found = [each["scores"][name] for each in exchanges]
    values = [each["value"] for each in found if each["value"] is not None]
    mean = sum(values) / len(values) if values else None
    spread = (max(values) - min(values)) / len(values) ** 0.5 / 2 if values else 0
    return {
        "mean": mean,
        "n": len(values),
        "unscored": len(found) - len(values),
        "low": None if mean is None else mean - spread,
        "high": None if mean is None else mean + spread,
    }


def _metric(metric: dict[str, Any], exchanges: Sequence[dict[str, Any]]) -> dict[str, Any]:
    reasons: dict[str, int] = {}
    for each in exchanges:
        if why := each["scores"][metric["name"]].get("unscored"):
            reasons[why] = reasons.get(why, 0) + 1
    said = {key: value for key, value in metric.items() if key != "mid"}
    return {
        "higher_is_better": True, **said, **_figures(exchanges, metric["name"]), "reasons": reasons
    }  # fmt: skip


def _groups(
    exchanges: Sequence[dict[str, Any]], by: str, values: Sequence[str]
) -> list[dict[str, Any]]:
    return [
        {"metric": metric["name"], "value": value, **_figures(chosen, metric["name"])}
        for metric in METRICS
        for value in values
        if (chosen := [each for each in exchanges if each["attributes"][by] == value])
    ]


PAGE = """<!doctype html><meta charset="utf-8"><title>Made up</title>
<link rel="stylesheet" href="look.css"><h1>Made up</h1>
<script>document.title = "a script ran"</script>
"""
