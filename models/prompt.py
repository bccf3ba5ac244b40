"""What the reply model is asked: how to speak, and the dialogue so far."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from models.types import Turn

DEFAULT = "You are a kind and helpful AI assistant named Attune."
SPOKEN = "You answer in one or two short sentences."
# A small model falls into chat, rather than essays, after an exchange like this.
GREETING = (Turn("user", "Hi"), Turn("assistant", "Hello! How can I help you today?"))

# In tokens. All of it, with the reply, stays inside a context of 2048.
INSTRUCTIONS = 500
DIALOGUE = 1000
TURN = 700
TEMPLATE = 5  # around each turn
# Old turns go in blocks, so that what is left keeps its beginning, and the model its cache of
# that, for several turns in a row.
BLOCK = 300
# How chat templates mark who speaks: in anybody's words it would be somebody else speaking.
_MARKS = re.compile(r"<\|[^|<>\s]{0,40}\|>|</?s>|\[/?INST\]")
LETTERS = bytes(c for c in range(128) if chr(c).isalpha() or chr(c).isspace())


def messages(
    instructions: str, dialogue: Sequence[Turn], guidance: str | None = SPOKEN, note: str = ""
) -> list[Turn]:
    """The system's turn and as much of the dialogue as fits, the fixed part first.

    Without guidance the model is told nothing but what the client wrote.

    Users who paused and went on have said one thing: their turns are joined. Empty turns are
    dropped, and the oldest when there are too many. Beyond their bounds, instructions lose their
    end and a turn its beginning. A note on the last stands at its very end: up to there the
    prompt is what the model may have read while it was being said.
    """
    own = instructions.strip()
    own = own[: _length(own, INSTRUCTIONS)]
    turns = _remarked(_recent(_merged(dialogue)), note)
    if guidance is None:
        return [Turn("system", own), *turns] if own else turns
    system = Turn("system", f"{own or DEFAULT} {guidance}")
    return [system, *(() if own else GREETING), *turns]


def _merged(dialogue: Iterable[Turn]) -> list[Turn]:
    turns: list[Turn] = []
    for turn in dialogue:
        text = " ".join(_MARKS.sub(" ", turn.text).split())
        if text and turns and turns[-1].role == turn.role == "user":
            percept = turn.percept or turns[-1].percept
            turns[-1] = Turn("user", f"{turns[-1].text} {text}", percept, turn.audio)
        elif text:
            turns.append(replace(turn, text=text))
    return [replace(turn, text=turn.text[-_length(turn.text, TURN) :]) for turn in turns]


def _remarked(turns: Sequence[Turn], note: str) -> list[Turn]:
    """The turns without their percepts, and the note behind the last if the user said it."""
    plain = [replace(turn, percept=None) if turn.percept else turn for turn in turns]
    if note and turns and turns[-1].role == "user":
        plain[-1] = replace(plain[-1], text=f"{turns[-1].text} {note}")
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
    data = text.encode()
    others = len(data.translate(None, LETTERS))
    return -(-(len(data) - others) // 4) + others


def _length(text: str, tokens: int) -> int:
    """How many characters of a text make so many tokens."""
    return len(text) * tokens // max(_tokens(text), tokens, 1)
