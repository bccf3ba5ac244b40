"""A run's scores as they might be: made up, seeded, with every part of a report filled.

python -m tests.scoring_example DIR lays scores.json, report.md and report/index.html there.
"""

import random
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from pydantic import BaseModel

from models.types import WIRE_RATE
from server.arena.ballots import Ballot, Verdict
from server.reports import Judge, ScoredSession
from server.reports import Score as ToldScore
from server.scoring import summary
from server.scoring.analyses.every import MODULES, analysis
from server.scoring.arms import arms
from server.scoring.exchange import Conversation, Pcm
from server.scoring.report import markdown, page
from server.scoring.results import (
    BrokenPart,
    FailedItem,
    PlayedSet,
    Results,
    Run,
    ToldExchange,
    Words,
)
from server.scoring.scored import Row, Scored, Usage
from server.sessions.format import Rating
from tests.made_rounds import made_ballot
from tests.scoring_example_rows import JUDGE, MADES, OURS, REPLIES, SAID, measures, rows
from tests.scoring_parts import conversation, turn

MADE = datetime(2026, 4, 2, 10, 30, tzinfo=UTC)
PACKAGES = {"numpy": "2.4.1", "onnxruntime": "1.31.1", "jiwer": "4.0.0"}


def ratings(made: list[Row], seed: int = 7) -> list[tuple[str, Rating]]:
    """By two experts: what they think goes with the judge, more or less."""
    chance = random.Random(seed)
    told = []
    for row in [each for each in made if "speech_rel" in each.values][:40]:
        for rater in ("expert a", "expert b"):
            near = row.values["speech_rel"] + chance.gauss(0, 0.8)
            scores = {
                "speech_rel": max(1, min(5, round(near))),
                "ctx_fit": chance.choice((3, 4, 5)),
            }
            rating = Rating(
                wall=MADE, by="expert", rater=rater, item_id=row.reply_item, scores=scores
            )
            told.append((row.session_id, rating))
    return told


def votes() -> list[Ballot]:
    pairs = ("attune", "flat voice"), ("attune", "no percept"), ("flat voice", "no percept")
    verdicts: tuple[Verdict, ...] = ("a", "a", "b", "tie")
    return [
        made_ballot(first, second, verdicts[number % 4])
        for number in range(36)
        for first, second in (pairs[number % 3],)
    ]


def scored(made: list[Row], *, people: bool = True) -> Scored:
    return Scored(
        rows=made,
        measures=measures(),
        ratings=ratings(made) if people else (),
        votes=votes() if people else (),
        usage=[Usage(JUDGE.name, 420, 3, 812_000, 61_000, 1.92)],
        judges=[JUDGE, OURS],
        draws=200,
    )


def results(made: list[Row], *, people: bool = True, shift: float = 0.0) -> Results:
    """A whole file; `shift` moves every value of speech_rel."""
    if shift:
        made = [replace(row, values=_shifted(row.values, shift)) for row in made]
    whole = scored(made, people=people)
    judges = {each.name: each.judge for each in MADES if each.judge}
    found: dict[str, dict[str, Any]] = {}
    for name in MODULES:
        told: BaseModel | None = analysis(name)(whole)
        if told is not None:
            found[name] = told.model_dump(mode="json")
    return Results(
        schema_version=1,
        made=MADE,
        software="attune 0.1.0",
        took_sec=312.0,
        judges=[Judge.model_validate(asdict(each)) for each in (JUDGE, OURS)],
        sessions=_sessions(made),
        metrics=summary.metrics(made, whole.measures, judges, draws=200, seed=7),
        breakdowns=summary.breakdowns(made, whole.measures, draws=200, seed=7),
        exchanges=[_told(row, number) for number, row in enumerate(made)],
        headline=arms(made).told(made),
        benchmarks=[
            PlayedSet(
                name="echomind",
                title="EchoMind",
                licence="CC BY-NC-SA 4.0",
                source="https://data.example.org/echomind",
                wanted=len(made) + 2,
                played=len(made),
                failed=2,
                problems={"the server did not answer in time": 2},
                failures=[
                    FailedItem(item="case 901", problem="the server did not answer in time"),
                    FailedItem(item="case 902", problem="the server did not answer in time"),
                ],
            )
        ],
        run=Run(
            command=["python", "-m", "server.scoring", "runs", "--out", "reports/april"],
            python="3.11.9",
            packages=PACKAGES,
            machine="Linux x86_64, 8 cores, 32 GB",
            settings={"seed": 7, "draws": 2000, "judge": {"model": JUDGE.name, "repeats": 1}},
            instruments={
                "echomind": "echomind 1 qwen3-omni-30b t0 s7",
                "nisqa": "nisqa.tar is not here",
            },
        ),
        analyses=found,
        broken=[
            BrokenPart(
                where="2026-03-14/sess_ffffffffffffffffffff", problem="audio.flac ends too soon."
            )
        ],
        left_out={"no consent to research": 3, "still being recorded": 1},
    )


def _shifted(values: Mapping[str, float], shift: float) -> dict[str, float]:
    return {name: value + shift * (name == "speech_rel") for name, value in values.items()}


def _sessions(made: list[Row]) -> list[ScoredSession]:
    ids = dict.fromkeys(row.session_id for row in made)
    return [
        ScoredSession(
            id=each,
            started=MADE - timedelta(days=20 - number % 9),
            profile="embedded",
            models={"responder": "llamacpp", "speaker": "hibari", "perceiver": "default"},
            exchanges=sum(row.session_id == each for row in made),
        )
        for number, each in enumerate(ids)
    ]


def _told(row: Row, number: int) -> ToldExchange:
    why = "It takes up what was said, and a little of how."
    scores = {name: ToldScore(value=value, why=why) for name, value in row.values.items()}
    scores |= {name: ToldScore(unscored=reason) for name, reason in row.unscored.items()}
    return ToldExchange(
        session_id=row.session_id,
        number=row.number,
        user_item=row.user_item,
        reply_item=row.reply_item,
        attributes=dict(row.attributes),
        scores=scores,
        words=Words(
            user=SAID[number % 4].lower(),
            truth=SAID[number % 4],
            reply=REPLIES[number % 4],
            intended=REPLIES[number % 4],
            reference=REPLIES[(number + 1) % 4],
        ),
        annotation=row.annotation,
        percept=dict(row.percept or {}),
        plan=dict(row.plan or {}),
        stages_ms=dict(row.stages_ms),
        interrupted=row.interrupted,
    )


@cache
def sound() -> Pcm:
    """Four turns in ten seconds: two tones on each side."""
    at = np.arange(10 * WIRE_RATE) / WIRE_RATE
    user = np.where((at % 5) < 2, np.sin(2 * np.pi * 220 * at), 0)
    reply = np.where((at % 5) > 2.5, np.sin(2 * np.pi * 330 * at), 0)
    return (np.stack([user, reply], axis=1) * 9000).astype(np.int16)


def talk(session_id: str) -> Conversation:
    """The conversation behind any of the sessions."""
    turns = [
        turn(number, role, start, start + 2)
        for number, (role, start) in enumerate(
            (("user", 0.0), ("assistant", 2.5), ("user", 5.0), ("assistant", 7.5))
        )
    ]
    return conversation(turns, sound(), session_id=session_id)


def saved(folder: Path, told: Results) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "scores.json"
    path.write_bytes(orjson.dumps(told.model_dump(mode="json")))
    return path


def main() -> None:
    out = Path(sys.argv[1])
    path = saved(out, results(rows()))
    page.write(path, out, talk)
    markdown.write(path, out)


if __name__ == "__main__":
    main()
