"""What a model is told beside the words: nothing, its part, or all that was heard and planned."""

from enum import StrEnum

from models.thinking.plan import AT_ODDS, ReplyPlan
from models.thinking.remarks import remark


class Strength(StrEnum):
    """How much a model is told, after EchoMind's three strengths of prompts."""

    ZERO = "zero"  # the dialogue, and nothing of ours
    BASIC = "basic"  # who it is, and that it speaks
    ENHANCED = "enhanced"  # and what was heard, with what to make of it


GUIDANCE = (
    "You hear how people speak, not only what they say. A note in square brackets after the last "
    "words tells what was heard and how a good listener would answer. Let it shape what you say "
    "and how; never read it out or mention it. What it says plainly you may speak of gently. "
    "Where it says perhaps, only allow for it: leave room, ask, name no feeling. Never remark on "
    "anyone's gender or age, never diagnose, never say you know exactly how they feel. You answer "
    "in one to three short sentences that are spoken aloud: no lists, no markup."
)


def note(plan: ReplyPlan) -> str:
    """What was heard and planned, for a model that can use it; empty where nothing stands out."""
    parts = [heard] if (heard := remark(plan.heard)) else []
    if plan.conflict and plan.conflict.strength >= AT_ODDS:
        parts.append(
            f"The words seem {plan.conflict.words}, the voice {plan.conflict.voice}: "
            "trust the voice, gently."
        )
    if not parts:
        return ""
    steps = ", then ".join(strategy.value.replace("_", " ") for strategy in plan.strategies)
    parts.append(f"They may need {plan.said.need}. Answer with {steps}; sound {plan.emotion}.")
    return f"[{' '.join(parts)}]"
