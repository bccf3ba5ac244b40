"""Asking a responder every question once, and what of its answers is speech."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from models.protocols import Responder
from models.thinking.guards import without_notes
from models.thinking.told import Thought, Told, parted
from models.tuning.evaluation.kept import Kept, key
from models.tuning.evaluation.questions import Question, in_json

TOKENS = 160  # of one answer, its thought included


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered, parted into what it thought and what it said."""

    text: str  # all of it
    thought: Thought | None
    speech: str  # as it would be said: never any of a note
    leaked: bool  # whether a note had to be cut from it


def answer(text: str, told: Told | None) -> Answer:
    """What is said goes through the guard that is there when it is live."""
    thought, said = parted(text) if told is Told.THINK else (None, text)
    speech = without_notes(said)
    return Answer(text, thought, " ".join(speech.split()), speech != said)


async def collect(
    questions: Sequence[Question],
    responder: Callable[[], Responder],
    kept: Kept,
    contestant: str,
    model: str,
    report: Callable[[int], None] = lambda _: None,
) -> dict[str, Answer]:
    """The answers by the questions' ids; only what was not answered before is asked.

    The responder is made when it is first needed: reading old answers needs no model.
    """
    asked: Responder | None = None
    found = {}
    for number, question in enumerate(questions, 1):
        place = key(model, in_json(question), TOKENS)
        record = kept.get(place)
        if record is None:
            asked = asked or responder()
            record = {
                "contestant": contestant,
                "told": question.told,
                "question": question.id,
                "text": await _whole(asked, question),
            }
            kept.add(place, record)
        found[question.id] = answer(str(record["text"]), question.told)
        report(number)
    return found


async def _whole(responder: Responder, question: Question) -> str:
    async with aclosing(responder.respond(list(question.turns), TOKENS)) as tokens:
        return "".join([token async for token in tokens]).strip()
