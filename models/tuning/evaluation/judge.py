"""An independent model's grade of replies, if one is there to be asked; never the base itself."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from models.corpus.exchange import Exchange, Way
from models.errors import BackendError
from models.openai_http import OpenAIServer
from models.thinking.remarks import remark
from models.tuning.evaluation.errors import EvaluationError
from models.tuning.evaluation.intervals import figure
from models.tuning.evaluation.kept import Kept, key

TIMEOUT_SEC = 120.0
TOKENS = 300
BEST = 5
RUBRIC = """\
You grade one reply of a voice assistant for empathy. You are given what was said, how it sounded,
and the reply. Look at the reply alone: does someone who speaks like this feel heard by it?

5: It takes up both what was said and how, names or answers the feeling fittingly, and offers what
   this person needs now, in words one would say aloud.
4: It fits words and manner, but one of the two only in passing, or it is a little stiff.
3: Friendly and to the point, yet it would be the same whatever the voice had sounded like.
2: It misses the feeling, or hurries past it to advice, lecture or business.
1: It hurts, mocks, contradicts the manner of speaking, makes no sense, or says nothing.

Length is no merit. A reply that guesses at someone's gender, or talks down to a child or to an
older person, gets 2 at most. Answer with JSON and nothing else:
{"why": "<one sentence>", "empathy": <1-5>}"""

_PACKED = re.compile(r"(?:[.-](?:gguf|awq|gptq|i?q\d\w*|b?f16|f32|fp8|int[48]))+$")
_JSON = re.compile(r"\{.*\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Judge:
    """A server of OpenAI-style chat, and which of its models judges."""

    server: OpenAIServer
    model: str


def judge(url: str, model: str, base_names: Iterable[str], api_key: str | None = None) -> Judge:
    if not model:
        raise EvaluationError("A judge needs a --judge-model.")
    if any(_same(model, base) for base in base_names):
        raise EvaluationError(f"{model} is what was tuned: it cannot be its own judge.")
    return Judge(OpenAIServer("judge", "judge", url, api_key, TIMEOUT_SEC), model)


def _same(one: str, other: str) -> bool:
    """Whether one name is the other, whoever publishes it and however it is packed."""
    return _bare(one) == _bare(other)


def _bare(name: str) -> str:
    return _PACKED.sub("", name.lower().rpartition("/")[2])


async def graded(judge: Judge, exchange: Exchange, reply: str) -> int | None:
    """From 1 to 5; None where the judge's answer cannot be read."""
    said = "\n".join(f"{line.role}: {line.text}" for line in exchange.lines)
    heard = remark(cue.heard for cue in exchange.variants[Way.TARGET].cues)
    asked = f"Said:\n{said}\n\nHeard: {heard or 'nothing unusual.'}\n\nReply:\n{reply}"
    request = {
        "model": judge.model,
        "temperature": 0,
        "max_tokens": TOKENS,
        "messages": [
            {"role": "system", "content": RUBRIC},
            {"role": "user", "content": asked},
        ],
    }
    async with judge.server.post("/chat/completions", json=request) as answer:
        return grade(await answer.aread())


def grade(body: bytes) -> int | None:
    try:
        text = json.loads(body)["choices"][0]["message"]["content"]
        found = _JSON.search(text)
        given = float(json.loads(found[0])["empathy"]) if found else 0.0
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    return int(given) if given in range(1, BEST + 1) else None


async def empathy(
    judge: Judge,
    rows: Sequence[tuple[Exchange, str]],
    kept: Kept,
    seed: int,
    report: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """The mean grade of replies to the target's cue; what was graded before is not asked again."""
    grades: list[int | None] = []
    for number, (exchange, reply) in enumerate(rows, 1):
        place = key(judge.model, RUBRIC, exchange.model_dump_json(), reply)
        record = kept.get(place)
        if record is None:
            record = {"script": exchange.id, "grade": await _asked(judge, exchange, reply)}
            kept.add(place, record)
        grades.append(record["grade"])
        report(number)
    return {
        "empathy": figure([[float(each)] for each in grades if each is not None], seed),
        "unread": sum(each is None for each in grades),
        "judge": judge.model,
    }


async def _asked(judge: Judge, exchange: Exchange, reply: str) -> int | None:
    try:
        return await graded(judge, exchange, reply)
    except BackendError as error:
        raise EvaluationError(str(error)) from error
