"""Timing reply models side by side."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from models.tuning.evaluation.speed import Pace, middle, side_by_side, timed
from models.types import Turn


class Steady:
    """A Responder that takes its time, and notes what it was asked."""

    def __init__(self, tokens: int, wait: float, order: list[str], name: str = "") -> None:
        self._tokens = tokens
        self._wait = wait
        self._order = order
        self._name = name

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        self._order.append(self._name)
        for _ in range(min(self._tokens, max_tokens)):
            await asyncio.sleep(self._wait)
            yield "word "


async def test_the_first_token_and_the_pace_of_the_rest_are_timed() -> None:
    pace = await timed(Steady(11, 0.02, []), "How are you?")
    assert pace.first_ms >= 20 and pace.tokens_per_sec is not None
    assert pace.tokens_per_sec <= 50.0


async def test_too_short_a_reply_has_no_pace_and_an_empty_one_is_no_error() -> None:
    assert (await timed(Steady(3, 0.0, []), "Well?")).tokens_per_sec is None
    assert (await timed(Steady(0, 0.0, []), "Well?")).tokens_per_sec is None


async def test_both_are_asked_by_turns_and_neither_is_always_first() -> None:
    order: list[str] = []
    one, other = Steady(1, 0.0, order, "one"), Steady(1, 0.0, order, "other")
    found = await side_by_side(one, other, ["a", "b"])
    assert [len(each) for each in found] == [2, 2]
    assert order == ["other", "one", "one", "other"]


def test_medians_leave_out_replies_without_a_pace() -> None:
    assert middle([Pace(1, 10), Pace(3, None), Pace(2, 20)]) == Pace(2, 15)
    assert middle([Pace(1, None)]) == Pace(1, None)
