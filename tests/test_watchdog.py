"""A loop that is kept from its work is noticed, and where."""

import asyncio
import logging
import time
from collections.abc import Callable

import pytest

from server.watchdog import Watchdog
from tests.serving import serving


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - a thread's doings have no event of the loop
            await asyncio.sleep(0.005)


def keep_the_loop() -> None:
    time.sleep(0.15)


async def kept_until(true: Callable[[], bool]) -> None:
    """On a busy machine a dog may sleep through one stall."""
    async with asyncio.timeout(20):
        while not true():
            keep_the_loop()
            await asyncio.sleep(0.1)


async def test_a_blocking_call_is_told_with_its_place_and_nothing_else(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.watchdog.TELL_SEC", 0.0)  # the machine may have stalled just before
    stalls: list[float] = []
    dog = Watchdog(stalls.append)
    async with dog.on_duty():
        await until(lambda: dog.lag_ms > 0)  # it has begun to ask
        with caplog.at_level(logging.INFO):
            line = keep_the_loop.__code__.co_firstlineno + 1
            await kept_until(lambda: f"test_watchdog.py:{line}" in caplog.text)
    assert max(stalls) > 100
    told = [record.getMessage() for record in caplog.records]  # a busy machine may stall besides
    assert not any("/" in each or "sleep" in each for each in told)


async def test_stalls_in_a_row_are_counted_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stalls: list[float] = []
    dog = Watchdog(stalls.append)
    caplog.set_level(logging.INFO)
    async with dog.on_duty():
        await until(lambda: dog.lag_ms > 0)
        for count in range(1, 3):
            await kept_until(lambda count=count: len(stalls) >= count)  # type: ignore[misc]
    assert len([r for r in caplog.records if "stalled" in r.getMessage()]) == 1


async def test_the_house_counts_its_stalls() -> None:
    async with serving() as (_, house):
        await until(lambda: house.watchdog.lag_ms > 0)
        keep_the_loop()
        await until(lambda: house.vitals.stalls > 0)
        assert house.vitals.worst_stall_ms > 20


async def test_whoever_leaves_is_watched_no_longer() -> None:
    stalls: list[float] = []
    dog = Watchdog(stalls.append)
    async with dog.on_duty():
        await until(lambda: dog.lag_ms > 0)
    stalls.clear()
    keep_the_loop()
    assert not stalls
