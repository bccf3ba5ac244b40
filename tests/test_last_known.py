"""What takes long to ask is asked aside, and nobody waits for it."""

import asyncio
from collections.abc import Callable

import pytest

from server.last_known import OLDEST_SEC, LastKnown


class Slow:
    """Answers once it may."""

    def __init__(self) -> None:
        self.now = 0.0
        self.able = True
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.known = LastKnown(self._answer, lambda: self.now)

    async def _answer(self) -> bool:
        self.asked += 1
        await self.may_answer.wait()
        return self.able


async def test_what_is_answered_soon_is_true_at_once() -> None:
    slow = Slow()
    assert await slow.known.told() is True
    slow.able = False
    assert await slow.known.told() is False


async def test_while_nobody_answers_what_was_known_is_told_until_it_is_too_old() -> None:
    slow = Slow()
    await slow.known.told()
    slow.may_answer.clear()
    slow.now = OLDEST_SEC
    assert await slow.known.told() is True
    slow.now = OLDEST_SEC + 1
    assert await slow.known.told() is None
    assert slow.asked == 2  # one question hangs; no others are put behind it
    slow.able = False
    slow.may_answer.set()
    assert await slow.known.told() is False
    await slow.known.close()


async def test_an_answer_that_came_late_is_told_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("server.last_known.PATIENCE_SEC", 0.0)
    slow = Slow()
    slow.may_answer.clear()
    assert await slow.known.told() is None
    slow.may_answer.set()
    await _until(lambda: slow.known._asking is None)
    slow.may_answer.clear()
    assert await slow.known.told() is True
    await slow.known.close()


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
