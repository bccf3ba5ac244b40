"""Replies as a person would hear them: the rules open, the model goes on where it is sure."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing

from models.protocols import Responder
from models.thinking.followups import written
from models.thinking.plan import ReplyPlan
from models.thinking.tuned import SURE, TunedThinker
from models.thinking.wording import ours, theirs
from models.tuning.evaluation.kept import Kept, key
from models.tuning.evaluation.questions import How
from models.tuning.evaluation.replies import TOKENS, Answer, answer
from models.types import Turn


async def given(
    dialogues: Mapping[str, Sequence[Turn]],
    responder: Callable[[], Responder],
    kept: Kept,
    contestant: str,
    model: str,
    report: Callable[[int], None] = lambda _: None,
) -> dict[str, Answer]:
    """The replies by the dialogues' ids; only what was not answered before is asked.

    A reply is known by all that makes it: another plan, bar or written sentence gives another.
    """
    thinker = TunedThinker(lead=True)
    asked: Responder | None = None
    found = {}
    for number, (name, dialogue) in enumerate(dialogues.items(), 1):
        plan = await thinker.think(dialogue, Unasked())
        otherwise = written(plan, theirs(dialogue), ours(dialogue))
        said = [[turn.role, turn.text] for turn in dialogue]
        place = key(model, said, plan.to_json(), otherwise, f"{How.LIVE} {SURE}", TOKENS)
        record = kept.get(place)
        if record is None:
            asked = asked or responder()
            text = await _whole(thinker, plan, dialogue, asked)
            record = {"contestant": contestant, "told": How.LIVE, "question": name, "text": text}
            kept.add(place, record)
        found[name] = answer(str(record["text"]), None)
        report(number)
    return found


async def _whole(
    thinker: TunedThinker, plan: ReplyPlan, dialogue: Sequence[Turn], responder: Responder
) -> str:
    async with aclosing(thinker.answer(plan, "", dialogue, responder, TOKENS)) as words:
        return " ".join([plan.acknowledgement, "".join([word async for word in words])]).strip()


class Unasked:
    """The rules plan by themselves."""

    def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        raise AssertionError("no model is needed to plan")
