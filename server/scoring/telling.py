"""What is told of an exchange: a light row to count with, and its line of `scores.json`. Pure."""

import sys
from collections.abc import Mapping
from typing import Any

import orjson

from server.scoring.attributes import attributes
from server.scoring.exchange import Conversation, Exchange
from server.scoring.score import Score
from server.scoring.scored import Row

MODELS_USED = "models_used"  # as JSON: of many sessions it is the same, and is kept once


def row_of(exchange: Exchange, scores: Mapping[str, Score]) -> Row:
    user, reply = exchange.user, exchange.reply
    return Row(
        session_id=exchange.conversation.session.id,
        number=exchange.number,
        user_item=user.item_id if user else None,
        reply_item=reply.item_id if reply else None,
        attributes=attributes(exchange),
        values={n: each.value for n, each in scores.items() if each.value is not None},
        unscored={n: each.unscored for n, each in scores.items() if each.unscored is not None},
        annotation=exchange.annotation,
        percept=user.percept if user else None,
        plan=reply.plan if reply else None,
        stages_ms=exchange.stages_ms,
        interrupted=reply.interrupted if reply else False,
    )


def light(row: Row) -> Row:
    """The same with every name in memory once: there may be many rows."""
    return Row(
        row.session_id,
        row.number,
        row.user_item,
        row.reply_item,
        {sys.intern(name): sys.intern(value) for name, value in row.attributes.items()},
        {sys.intern(name): value for name, value in row.values.items()},
        {sys.intern(name): sys.intern(value) for name, value in row.unscored.items()},
        row.annotation,
        row.percept,
        row.plan,
        {sys.intern(name): value for name, value in row.stages_ms.items()},
        row.interrupted,
    )


def exchange_line(exchange: Exchange, row: Row, scores: Mapping[str, Score]) -> bytes:
    """As `ToldExchange` describes it; what is missing is left out."""
    told = {
        "session_id": row.session_id,
        "number": row.number,
        "user_item": row.user_item,
        "reply_item": row.reply_item,
        "attributes": row.attributes,
        "scores": {name: _score(score) for name, score in scores.items()},
        "words": _words(exchange),
        "annotation": row.annotation.model_dump(mode="json", exclude_defaults=True) or None,
        "percept": row.percept,
        "plan": row.plan,
        "stages_ms": row.stages_ms or None,
        "interrupted": row.interrupted or None,
    }
    return orjson.dumps({name: value for name, value in told.items() if value is not None})


def answer_lines(exchange: Exchange, instrument: str, scores: Mapping[str, Score]) -> list[bytes]:
    """What a judge said, with all that was read from it."""
    said: dict[str, list[str]] = {}
    for name, score in scores.items():
        if score.raw:
            said.setdefault(score.raw, []).append(name)
    whose = {"session_id": exchange.conversation.session.id, "number": exchange.number}
    return [
        orjson.dumps({**whose, "instrument": instrument, "measures": names, "raw": raw})
        for raw, names in said.items()
    ]


def session_told(conversation: Conversation, exchanges: int) -> dict[str, Any]:
    """As `ScoredSession` describes it."""
    session = conversation.session
    return {
        "id": session.id,
        "started": session.started.isoformat(),
        "profile": session.profile,
        "models": conversation.models,
        MODELS_USED: orjson.dumps(
            {
                role: used.model_dump(mode="json", exclude={"options"})  # they may hold addresses
                for role, used in session.models.items()
            },
            option=orjson.OPT_SORT_KEYS,
        ).decode(),
        "exchanges": exchanges,
        **({"replay_of": session.replay_of} if session.replay_of else {}),
    }


def _score(score: Score) -> dict[str, Any]:
    if score.value is None:
        return {
            "value": None,
            "unscored": score.unscored,
            **({"why": score.why} if score.why else {}),
        }
    return {"value": score.value, **({"why": score.why} if score.why else {})}


def _words(exchange: Exchange) -> dict[str, str] | None:
    """What was said, with consent; what the data set says of it is nobody's secret."""
    annotation = exchange.annotation
    told = {
        "user": exchange.user.text if exchange.user else None,
        "truth": annotation.text,
        "reply": exchange.reply.text if exchange.reply else None,
        "intended": exchange.intended,
        "reference": annotation.reference,
    }
    if not exchange.consent.transcript:
        return None
    return {name: said for name, said in told.items() if said} or None
