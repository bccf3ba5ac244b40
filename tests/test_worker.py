"""The bridge between blocking code and the event loop."""

import asyncio
import threading
from collections.abc import Generator, Iterator
from contextlib import aclosing

import pytest

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
