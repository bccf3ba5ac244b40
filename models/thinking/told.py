"""How a tuned model is told what was heard and planned, and how it tells what it thinks.

A note in square brackets follows the user's last words. Training and talking share this form, so a
change here asks for new adapters (models/tuning).
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from models.thinking.plan import ReplyPlan, Strategy
from models.thinking.remarks import remark

SYSTEM = "You are Attune, a kind listener."
THINK = "Think first."

_THOUGHT = re.compile(
    r"\s*\[Need: (?P<need>[^\].]*)\. Do: (?P<do>[^\].]*)\. Tone: (?P<tone>\w+)\.\]\s*"
)


class Told(StrEnum):
    """What the note holds beside what was heard."""

    PLAN = "plan"  # what the rules would do
    THINK = "think"  # to think first, which the model does in a note of its own


@dataclass(frozen=True, slots=True)
class Thought:
    """What a model put into its note."""

    need: str
    strategies: tuple[Strategy, ...]
    emotion: str


def note(plan: ReplyPlan, told: Told) -> str:
    """What stands behind the user's last words where a reply is due."""
    more = _planned(plan) if told is Told.PLAN else THINK
    return f"[{' '.join(filter(None, (remark(plan.heard), more)))}]"


def cue(plan: ReplyPlan) -> str:
    """Only what was heard, for whom the state is asked of; empty where nothing was."""
    heard = remark(plan.heard)
    return f"[{heard}]" if heard else ""


def thought(plan: ReplyPlan) -> str:
    """A plan as the model should think it, before the reply."""
    return f"[{_planned(plan)}]"


def parted(text: str) -> tuple[Thought | None, str]:
    """What was thought and what is to be said; all of it is said where no thought stands first."""
    found = _THOUGHT.match(text)
    if not found:
        return None, text
    names = (name.strip().replace(" ", "_") for name in found["do"].split(","))
    known = tuple(Strategy(name) for name in names if name in list(Strategy))
    return Thought(found["need"].strip(), known, found["tone"]), text[found.end() :]


def _planned(plan: ReplyPlan) -> str:
    done = ", ".join(strategy.value.replace("_", " ") for strategy in plan.strategies)
    return f"Need: {plan.said.need}. Do: {done}. Tone: {plan.emotion}."
