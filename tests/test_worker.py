"""The bridge between blocking code and the event loop."""

import asyncio
import threading
from collections.abc import Generator, Iterator
from contextlib import aclosing
from time import monotonic

import pytest

from models.due import Due, later, needed
from models.worker import Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker("test")
    yield worker
    worker.close()


class Counting:
    """A blocking generator of numbers that tells when and where it was closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()
        self.threads: set[str] = set()

    def numbers(self) -> Generator[int, None, None]:
        try:
            for number in range(1_000_000):
                self.threads.add(threading.current_thread().name)
                yield number
        finally:
            self.closed.set()


async def test_a_call_runs_in_the_workers_thread_and_the_loop_goes_on(worker: Worker) -> None:
    release = threading.Event()

    def blocked() -> str:
        assert release.wait(10)
        return threading.current_thread().name

    call = asyncio.ensure_future(worker.run(blocked))
    await asyncio.sleep(0)  # the loop still turns while the call blocks
    release.set()
    assert (await call).startswith("test")


async def test_the_model_is_never_entered_twice(worker: Worker) -> None:
    inside = threading.Lock()

    def enter() -> bool:
        alone = inside.acquire(blocking=False)
        if alone:
            inside.release()
        return alone

    assert all(await asyncio.gather(*(worker.run(enter) for _ in range(50))))


async def test_an_error_in_a_call_reaches_the_one_who_asked_and_nobody_else(worker: Worker) -> None:
    def fail() -> None:
        raise ArithmeticError("of the model")

    with pytest.raises(ArithmeticError):
        await worker.run(fail)
    assert await worker.run(lambda: 3) == 3


async def test_a_call_cancelled_in_the_queue_is_never_made(worker: Worker) -> None:
    release, made = threading.Event(), threading.Event()
    first = asyncio.ensure_future(worker.run(lambda: release.wait(10)))
    second = asyncio.ensure_future(worker.run(made.set))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second  # only now has the cancelling reached the queue
    release.set()
    assert await first
    await worker.run(lambda: None)  # whatever stood before it in the queue is done
    assert not made.is_set()


async def test_a_stream_gives_every_item_in_order_from_the_workers_thread(worker: Worker) -> None:
    source = Counting()
    seen = []
    async with aclosing(worker.stream(source.numbers())) as numbers:
        async for number in numbers:
            seen.append(number)
            if number == 20:
                break
    assert seen == list(range(21))
    assert all(name.startswith("test") for name in source.threads)


async def test_leaving_a_stream_closes_its_source(worker: Worker) -> None:
    source = Counting()
    held = source.numbers()  # held, so that the garbage collector does not close it for us
    async with aclosing(worker.stream(held)) as numbers:
        assert await anext(numbers) == 0
    await worker.run(lambda: None)
    assert source.closed.is_set()


async def test_cancelling_in_the_middle_of_a_step_closes_the_source_after_it(
    worker: Worker,
) -> None:
    entered, release, closed = threading.Event(), threading.Event(), threading.Event()

    def slow() -> Generator[int, None, None]:
        try:
            entered.set()
            assert release.wait(10)
            yield 1
        finally:
            closed.set()

    async def listen() -> None:
        async with aclosing(worker.stream(slow())) as items:
            async for _ in items:
                pass

    listening = asyncio.ensure_future(listen())
    await asyncio.to_thread(entered.wait, 10)
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    assert not closed.is_set()  # the step is still in the thread
    release.set()
    await worker.run(lambda: None)
    assert closed.is_set()


async def test_two_streams_take_turns(worker: Worker) -> None:
    order: list[str] = []

    def steps(name: str) -> Generator[None, None, None]:
        for _ in range(5):
            order.append(name)
            yield

    async def listen(name: str) -> None:
        async with aclosing(worker.stream(steps(name))) as items:
            async for _ in items:
                pass

    await asyncio.gather(listen("a"), listen("b"))
    assert order == ["a", "b"] * 5


async def test_a_stream_left_after_the_worker_ended_still_closes_its_source() -> None:
    worker, source = Worker("short"), Counting()
    held = source.numbers()
    async with aclosing(worker.stream(held)) as numbers:
        await anext(numbers)
        worker.close()
    assert source.closed.is_set()


async def test_what_is_needed_first_is_done_first_and_then_who_has_waited_longest(
    worker: Worker,
) -> None:
    release, order = threading.Event(), list[str]()

    async def ask(name: str, when: float) -> None:
        with needed(lambda: when):
            await worker.run(lambda: order.append(name))

    busy = asyncio.ensure_future(worker.run(lambda: release.wait(10)))
    await asyncio.sleep(0)
    asked = [("later", 9.0), ("first", 5.0), ("second", 5.0), ("at once", 1.0)]
    calls = [asyncio.ensure_future(ask(*each)) for each in asked]
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(busy, *calls)
    assert order == ["at once", "first", "second", "later"]


async def test_a_call_that_may_be_for_nothing_is_made_last_unless_that_changes_while_it_waits(
    worker: Worker,
) -> None:
    release, order, sure = threading.Event(), list[str](), set[str]()

    async def ask(name: str) -> None:
        with needed(lambda: 1.0, lambda: name in sure):
            await worker.run(lambda: order.append(name))

    busy = asyncio.ensure_future(worker.run(lambda: release.wait(10)))
    await asyncio.sleep(0)
    calls = [asyncio.ensure_future(ask(name)) for name in ("unsure", "sure by then")]
    await asyncio.sleep(0)
    calls.append(asyncio.ensure_future(worker.run(lambda: order.append("came later"))))
    await asyncio.sleep(0)
    sure.add("sure by then")
    release.set()
    await asyncio.gather(busy, *calls)
    assert order == ["sure by then", "came later", "unsure"]


async def test_a_long_reply_delays_anothers_first_sentence_by_no_more_than_a_step(
    worker: Worker,
) -> None:
    """The long one is heard already and has sound in reserve; the other's person waits."""
    steps: list[str] = []
    entered, release = threading.Event(), threading.Event()

    def sentences(name: str, count: int) -> Generator[None, None, None]:
        for number in range(count):
            steps.append(name)
            if name == "long" and number == 5:
                entered.set()
                assert release.wait(10)
            yield

    async def speak(name: str, count: int, when: Due) -> None:
        with needed(when):
            async with aclosing(worker.stream(sentences(name, count))) as items:
                async for _ in items:
                    pass

    long = asyncio.ensure_future(speak("long", 40, later))
    await asyncio.to_thread(entered.wait, 10)
    short = asyncio.ensure_future(speak("short", 3, monotonic))
    await asyncio.sleep(0)  # it is asked for while the long one is in its step
    release.set()
    await asyncio.gather(long, short)
    assert steps[6] == "short", "it waited for the step under way, and for no other"
    # Between its steps the thread may take up one of the other's, never more.
    assert steps[6:11].count("short") == 3 and steps.count("long") == 40


async def test_a_task_begun_within_a_need_has_it_too(worker: Worker) -> None:
    release, order = threading.Event(), list[str]()
    busy = asyncio.ensure_future(worker.run(lambda: release.wait(10)))
    with needed(lambda: 2.0):
        late = asyncio.ensure_future(worker.run(lambda: order.append("late")))
    with needed(lambda: 1.0):
        early = asyncio.ensure_future(worker.run(lambda: order.append("early")))
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(busy, late, early)
    assert order == ["early", "late"]
