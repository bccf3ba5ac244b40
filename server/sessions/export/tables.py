"""Exchanges and sessions as rows of a table."""

import json
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import pyarrow as pa

from models.types import WIRE_RATE
from server.sessions.exchanges import Exchange
from server.sessions.export.selection import Chosen
from server.sessions.format import Rating
from server.sessions.heard import in_words, known, noticed

Row = dict[str, Any]

_TIME = pa.timestamp("ms", tz="UTC")
_NAMES = pa.list_(pa.string())

EXCHANGES = pa.schema(
    [
        ("session_id", pa.string()),
        ("exchange", pa.int32()),
        ("speaker", pa.string()),
        ("started", _TIME),
        ("user_turn", pa.int32()),
        ("user_start", pa.int64()),
        ("user_end", pa.int64()),
        ("user_text", pa.string()),
        ("reply_turn", pa.int32()),
        ("reply_start", pa.int64()),
        ("reply_end", pa.int64()),
        ("reply_text", pa.string()),
        ("interrupted", pa.bool_()),
        ("latency_ms", pa.float64()),
        ("heard", pa.string()),
        ("heard_surely", _NAMES),
        ("emotion", pa.string()),
        ("emotion_chance", pa.float64()),
        ("valence", pa.float64()),
        ("arousal", pa.float64()),
        ("percept", pa.string()),
        ("plan_emotion", pa.string()),
        ("plan_strategies", _NAMES),
        ("reply_rating_user", pa.float64()),
        ("reply_rating_expert", pa.float64()),
        ("session_rating_user", pa.float64()),
        ("session_rating_expert", pa.float64()),
        ("responder", pa.string()),
        ("voice", pa.string()),
        ("perceiver", pa.string()),
        ("consent", _NAMES),
    ]
)

SESSIONS = pa.schema(
    [
        ("session_id", pa.string()),
        ("speaker", pa.string()),
        ("started", _TIME),
        ("seconds", pa.float64()),
        ("state", pa.string()),
        ("ended", pa.string()),
        ("exchanges", pa.int32()),
        ("interruptions", pa.int32()),
        ("recorded_from", pa.int64()),
        ("gap_seconds", pa.float64()),
        ("rating_user", pa.float64()),
        ("rating_expert", pa.float64()),
        ("profile", pa.string()),
        ("responder", pa.string()),
        ("voice", pa.string()),
        ("perceiver", pa.string()),
        ("consent", _NAMES),
        ("user_agent", pa.string()),
        ("echo_cancellation", pa.bool_()),
        ("noise_suppression", pa.bool_()),
        ("auto_gain_control", pa.bool_()),
        ("capture_rate", pa.int32()),
        ("instructions", pa.string()),
        ("replay_of", pa.string()),
        ("software", pa.string()),
    ]
)


def exchange_row(session: Chosen, exchange: Exchange) -> Row:
    """One exchange, as EXCHANGES has it."""
    user, reply = exchange.user, exchange.reply
    percept = user.percept if user else None
    emotion = known(percept, "emotion")
    affect = ((percept or {}).get("vad") or {}).get("expressed") or {}
    plan = (reply.plan if reply else None) or {}
    return {
        "session_id": session.file.id,
        "exchange": exchange.number,
        "speaker": session.file.speaker,
        "started": session.file.started,
        "user_turn": user.number if user else None,
        "user_start": user.start if user else None,
        "user_end": user.end if user else None,
        "user_text": user.text if user else None,
        "reply_turn": reply.number if reply else None,
        "reply_start": reply.start if reply else None,
        "reply_end": reply.end if reply else None,
        "reply_text": reply.text if reply else None,
        "interrupted": reply.interrupted if reply else None,
        "latency_ms": reply.latency_ms if reply else None,
        "heard": in_words(percept) or None,
        "heard_surely": [each.name for each in noticed(percept) if each.sure] if percept else None,
        "emotion": emotion[0] if emotion else None,
        "emotion_chance": emotion[1] if emotion else None,
        "valence": affect.get("valence"),
        "arousal": affect.get("arousal"),
        "percept": json.dumps(percept, ensure_ascii=False) if percept else None,
        "plan_emotion": plan.get("emotion"),
        "plan_strategies": plan.get("strategies"),
        **_rated("reply_rating", session.ratings, reply.item_id if reply else ""),
        **_rated("session_rating", session.ratings, None),
        **_models(session),
        "consent": session.consent.scopes,
    }


def session_row(session: Chosen) -> Row:
    """One session, as SESSIONS has it."""
    file, client = session.file, session.file.client
    capture = client.capture if client else None
    replies = [exchange.reply for exchange in session.exchanges if exchange.reply]
    gaps = sum(end - begin for begin, end in file.audio.gaps) if file.audio else None
    return {
        "session_id": file.id,
        "speaker": file.speaker,
        "started": file.started,
        "seconds": seconds(session),
        "state": file.state,
        "ended": file.ended.why if file.ended else None,
        "exchanges": len(session.exchanges),
        "interruptions": sum(reply.interrupted for reply in replies),
        "recorded_from": file.audio.recorded_from if file.audio else None,
        "gap_seconds": gaps / file.audio.rate if file.audio and gaps is not None else None,
        **_rated("rating", session.ratings, None),
        "profile": file.profile,
        **_models(session),
        "consent": session.consent.scopes,
        "user_agent": client.user_agent if client else None,
        "echo_cancellation": capture.echo_cancellation if capture else None,
        "noise_suppression": capture.noise_suppression if capture else None,
        "auto_gain_control": capture.auto_gain_control if capture else None,
        "capture_rate": capture.sample_rate if capture else None,
        "instructions": file.prompts.instructions if file.prompts else None,
        "replay_of": file.replay_of,
        "software": file.software,
    }


def seconds(session: Chosen) -> float:
    """How long the session took."""
    file = session.file
    ends = [turn.end for exchange in session.exchanges for turn in exchange.both]
    ends += [file.ended.at] if file.ended else []
    ends += [file.audio.samples] if file.audio else []
    return max(ends, default=0) / WIRE_RATE


def _models(session: Chosen) -> Row:
    used = session.file.models
    names = {"responder": "responder", "voice": "speaker", "perceiver": "perceiver"}
    return {column: used[role].backend if role in used else None for column, role in names.items()}


def _rated(column: str, ratings: Sequence[Rating], item_id: str | None) -> Row:
    """What users and experts think of one reply, or with None of the whole, on average."""
    told: Row = {}
    for by in ("user", "expert"):
        scores = [
            fmean(rating.scores.values())
            for rating in ratings
            if rating.by == by and rating.item_id == item_id and rating.scores
        ]
        told[f"{column}_{by}"] = fmean(scores) if scores else None
    return told
