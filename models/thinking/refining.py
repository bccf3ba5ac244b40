"""A plan, looked over by the reply model itself where that is large enough to have a say."""

import asyncio
import json
import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

from models.errors import BackendError
from models.protocols import Responder
from models.styles import styled
from models.thinking.plan import ReplyPlan, Strategy
from models.thinking.remarks import remark
from models.thinking.rules import SITUATIONS, mannered
from models.types import Turn

TOKENS = 60
TURNS = 6  # of the dialogue; a plan is for now
EMOTIONS = sorted({situation.emotion for situation in SITUATIONS.values()})  # kind ones

ASKED = (
    "You help to plan a spoken reply; you do not write it. Read the dialogue and what was heard in "
    "the last turn. Answer with one line of JSON and nothing else: "
    '{"strategies": [one to three of: ' + ", ".join(Strategy) + '], '
    '"emotion": one of: ' + ", ".join(EMOTIONS) + ', "need": a few words}.'
)  # fmt: skip


async def refined(
    plan: ReplyPlan, dialogue: Sequence[Turn], responder: Responder, within_sec: float
) -> ReplyPlan:
    """The plan as the model would have it; as it was if the model is late, fails, or rambles."""
    if plan.fixed:
        return plan
    try:
        async with asyncio.timeout(within_sec):
            said = await _ask(plan, dialogue, responder)
    except (TimeoutError, BackendError):
        return plan
    return _merged(plan, said)


async def _ask(plan: ReplyPlan, dialogue: Sequence[Turn], responder: Responder) -> str:
    lines = [f"{turn.role}: {turn.text}" for turn in dialogue[-TURNS:] if turn.role != "system"]
    heard = remark(plan.heard) or "Nothing unusual was heard."
    rules = json.dumps({"strategies": plan.strategies, "emotion": plan.emotion})
    question = "\n".join([*lines, f"({heard})", f"Rules of thumb would say: {rules}"])
    said = ""
    prompt = [Turn("system", ASKED), Turn("user", question)]
    async with aclosing(responder.respond(prompt, TOKENS)) as tokens:
        async for token in tokens:
            said += token
            if "}" in token:
                break
    return said


def _merged(plan: ReplyPlan, said: str) -> ReplyPlan:
    """What of the answer makes sense, in the plan's place for it."""
    found = re.search(r"\{.*?\}", said, re.DOTALL)
    try:
        answer = json.loads(found[0]) if found else None
    except ValueError:
        return plan
    if not isinstance(answer, dict):
        return plan
    known = [Strategy(name) for name in _texts(answer.get("strategies")) if name in list(Strategy)]
    emotion, need = answer.get("emotion"), answer.get("need")
    return thought_over(
        plan,
        known,
        emotion if isinstance(emotion, str) else "",
        need if isinstance(need, str) else "",
    )


def thought_over(
    plan: ReplyPlan, strategies: Sequence[Strategy], emotion: str, need: str
) -> ReplyPlan:
    """The plan with what a model thought in its place; as it was if that was nothing."""
    if not strategies and emotion not in EMOTIONS:
        return plan
    # How someone is spoken to stays as it was heard: the model did not hear it.
    manners = [s for s in plan.strategies if s.value.startswith(("address", "adapt"))]
    if emotion not in EMOTIONS or emotion == plan.emotion:
        emotion, style, target = plan.emotion, plan.style, plan.target
    else:
        style = mannered(styled(emotion), plan.heard, plan.said.about)
        target = style.target
    return replace(
        plan,
        strategies=tuple(dict.fromkeys([*(strategies or plan.strategies), *manners])),
        emotion=emotion,
        style=style,
        target=target,
        said=replace(plan.said, need=need[:60] or plan.said.need),
        source="rules+model",
    )


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
