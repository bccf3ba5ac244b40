"""When what conversations left behind in circles is looked for, and that it is found."""

import asyncio
import gc
import weakref

import pytest

from server.tidying import ENOUGH, LONGEST_SEC, Tidying


class Day:
    """Who talks, and how many have gone, on a clock moved by hand."""

    def __init__(self) -> None:
        self.now, self.here, self.over = 0.0, 3, 0
        self.tidying = Tidying(lambda: self.here, lambda: self.over, lambda: self.now)


def test_while_people_talk_nobody_is_kept_waiting_until_enough_have_gone() -> None:
    day = Day()
    assert not day.tidying.due()
    day.over = ENOUGH - 1
    assert not day.tidying.due()
    day.over = ENOUGH
    assert day.tidying.due() and not day.tidying.due()


def test_once_nobody_talks_it_is_due_at_once_and_only_once() -> None:
    day = Day()
    day.here, day.over = 0, 1
    assert day.tidying.due() and not day.tidying.due()


def test_those_who_talk_for_long_are_tidied_up_after_as_well() -> None:
    day = Day()
    day.now = LONGEST_SEC - 1
    assert not day.tidying.due()
    day.now = LONGEST_SEC
    assert day.tidying.due() and not day.tidying.due()


class Circle:
    def __init__(self) -> None:
        self.self = self


async def test_what_is_left_in_a_circle_goes_when_a_conversation_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("server.tidying.LOOK_SEC", 0.0)
    before = gc.get_threshold()
    day = Day()
    day.here = 0
    gc.disable()  # it must not be found by chance
    try:
        async with day.tidying.at_work(), asyncio.timeout(20):
            left = weakref.ref(Circle())
            day.over = 1
            while left() is not None:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
    finally:
        gc.enable()
    assert gc.get_threshold() == before
