"""Replies as a person would hear them: the rules open, the model goes on where it is sure."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing

from models.protocols import Responder
from models.thinking.tuned import SURE, TunedThinker
from models.tuning.evaluation.kept import Kept, key
from models.tuning.evaluation.questions import Dialogue, How
from models.tuning.evaluation.replies import TOKENS, Answer, answer
from models.types import Turn


async def given(
    dialogues: Mapping[str, Dialogue],
    responder: Callable[[], Responder],
    kept: Kept,
    contestant: str,
    model: str,
    report: Callable[[int], None] = lambda _: None,
) -> dict[str, Answer]:
    """The replies by the dialogues' ids; only what was not answered before is asked."""
    thinker = TunedThinker(lead=True)
    asked: Responder | None = None
    found = {}
    for number, (name, dialogue) in enumerate(dialogues.items(), 1):
        place = key(model, _in_json(dialogue), f"{How.LIVE} {SURE}", TOKENS)
        record = kept.get(place)
        if record is None:
            asked = asked or responder()
            text = await _whole(thinker, asked, dialogue[0])
            record = {"contestant": contestant, "told": How.LIVE, "question": name, "text": text}
            kept.add(place, record)
        found[name] = answer(str(record["text"]), None)
        report(number)
    return found


async def _whole(thinker: TunedThinker, responder: Responder, dialogue: Sequence[Turn]) -> str:
    plan = await thinker.think(dialogue, responder)
    async with aclosing(thinker.answer(plan, "", dialogue, responder, TOKENS)) as words:
        return " ".join([plan.acknowledgement, "".join([word async for word in words])]).strip()


def _in_json(dialogue: Dialogue) -> str:
    turns, heard = dialogue
    return json.dumps(
        [[turn.role, turn.text] for turn in turns] + [[each.name, each.sure] for each in heard]
    )
