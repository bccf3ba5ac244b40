"""What the reply model is asked: how to speak, and the dialogue so far."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from models.cue import cue
from models.types import Turn

DEFAULT = "You are a kind and helpful AI assistant named Attune."
SPOKEN = "You answer in one or two short sentences."
# A small model falls into chat, rather than essays, after an exchange like this.
GREETING = (Turn("user", "Hi"), Turn("assistant", "Hello! How can I help you today?"))

# In tokens. All of it, with the reply, stays inside a context of 2048.
INSTRUCTIONS = 500
DIALOGUE = 1000
TURN = 700
CUE = 60
TEMPLATE = 5  # around each turn
# Old turns go in blocks, so that what is left keeps its beginning, and the model its cache of
# that, for several turns in a row.
BLOCK = 300


def messages(instructions: str, dialogue: Sequence[Turn]) -> list[Turn]:
    """The system's turn and as much of the dialogue as fits, the fixed part first.

    Users who paused and went on have said one thing: their turns are joined. Empty turns are
    dropped, and the oldest when there are too many. Beyond their bounds, instructions lose their
    end and a turn its beginning. How the last was said is remarked at its very end: up to there
    the prompt is what the model may have read while it was being said.
    """
    own = instructions.strip()
    own = own[: _length(own, INSTRUCTIONS)]
    system = Turn("system", f"{own or DEFAULT} {SPOKEN}")
    return [system, *(() if own else GREETING), *_remarked(_recent(_merged(dialogue)))]


def _merged(dialogue: Iterable[Turn]) -> list[Turn]:
    turns: list[Turn] = []
    for turn in dialogue:
        text = " ".join(turn.text.split())
        if text and turns and turns[-1].role == turn.role == "user":
            percept = turn.percept or turns[-1].percept
            turns[-1] = Turn("user", f"{turns[-1].text} {text}", percept)
        elif text:
            turns.append(Turn(turn.role, text, turn.percept))
    return [replace(turn, text=turn.text[-_length(turn.text, TURN) :]) for turn in turns]


def _remarked(turns: Sequence[Turn]) -> list[Turn]:
    """The turns as plain text, with a remark on how the last was said if the user said it."""
    plain = [Turn(turn.role, turn.text) for turn in turns]
    if turns and turns[-1].role == "user" and turns[-1].percept:
        remark = cue(turns[-1].percept)
        plain[-1] = Turn("user", f"{turns[-1].text} {remark}".rstrip())
    return plain


def _recent(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns that fit; the last one always."""
    sizes = [TEMPLATE + _tokens(turn.text) for turn in turns]
    excess = sum(sizes) - DIALOGUE
    if excess <= 0:
        return turns
    drop = -(-excess // BLOCK) * BLOCK  # in whole blocks
    first = 0
    # Nor does an answer stay whose question has gone.
    while first < len(turns) - 1 and (drop > 0 or turns[first].role == "assistant"):
        drop -= sizes[first]
        first += 1
    return turns[first:]


def _tokens(text: str) -> int:
    """About how many, rather too many: four letters each, and a byte of anything else."""
    letters = sum(c.isascii() and (c.isalpha() or c.isspace()) for c in text)
    return -(-letters // 4) + len(text.encode()) - letters


def _length(text: str, tokens: int) -> int:
    """How many characters of a text make so many tokens."""
    return len(text) * tokens // max(_tokens(text), tokens, 1)
