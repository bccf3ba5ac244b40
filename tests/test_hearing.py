"""Windows of many conversations on their way through one network."""

import asyncio
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from models.errors import BackendError
from models.perception.hearing import MOST, Card, Heard, Hearing, Window
from models.perception.windows import activity, powers
from tests.made_network import CARD, MadeNetwork
from tests.made_voices import noise


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> MadeNetwork:
    network = MadeNetwork()
    network.stands_in(monkeypatch)
    return network


@pytest.fixture
def hearing(network: MadeNetwork) -> Iterator[Hearing]:
    hearing = Hearing(Path("made.onnx"))
    yield hearing
    network.may_end.set()
    hearing.close()


def window(number: int, size: int = 8000, spans: int = 2) -> Window:
    """Each number sounds different."""
    sound = noise(size, 0.01 * (number + 1), seed=number)
    return Window(sound, [activity(powers(sound))] * spans)


def same(found: Sequence[Heard], expected: Sequence[Heard]) -> bool:
    return len(found) == len(expected) and all(
        one.keys() == other.keys() and all(np.array_equal(one[h], other[h]) for h in one)
        for one, other in zip(found, expected, strict=True)
    )


async def asking(*calls: asyncio.Task[list[Heard]]) -> None:
    """Let the calls come so far that their windows wait."""
    for _ in calls:
        await asyncio.sleep(0)


# --- answers


async def test_each_head_answers_for_every_span(hearing: Hearing) -> None:
    (heard,) = await hearing.hear([window(0, spans=3)])
    shapes = {head: answer.shape for head, answer in heard.items()}
    assert shapes == {head: (3, len(names)) for head, names in CARD.names.items()}


async def test_answers_come_in_the_order_of_the_windows(hearing: Hearing) -> None:
    windows = [window(number) for number in range(4)]
    alone = [heard for w in windows for heard in await hearing.hear([w])]
    assert same(await hearing.hear(windows), alone)
    assert same(hearing.hear_now(windows), alone)
    assert not same(alone[:1], alone[1:2])


async def test_nothing_asked_is_nothing_run(hearing: Hearing, network: MadeNetwork) -> None:
    assert await hearing.hear([]) == []
    assert network.batches == []


async def test_the_network_works_in_its_thread_while_the_loop_goes_on(
    hearing: Hearing, network: MadeNetwork
) -> None:
    network.may_end.clear()
    call = asyncio.create_task(hearing.hear([window(0)]))
    await asyncio.to_thread(network.begun.wait, 10)  # a blocked loop would not come back from it
    assert not call.done()
    network.may_end.set()
    await call
    assert all(name.startswith("hearing") for name in network.threads)


# --- together


async def test_windows_of_several_conversations_go_through_together(
    hearing: Hearing, network: MadeNetwork
) -> None:
    windows = [window(number) for number in range(4)]
    alone = hearing.hear_now(windows)
    network.batches.clear()
    network.begun.clear()
    network.may_end.clear()
    calls = [asyncio.create_task(hearing.hear([windows[0]]))]
    await asyncio.to_thread(network.begun.wait, 10)
    calls += [asyncio.create_task(hearing.hear([w])) for w in windows[1:]]
    await asking(*calls)
    network.may_end.set()
    found = [heard for heards in await asyncio.gather(*calls) for heard in heards]
    assert network.sizes == [1, 3]
    assert same(found, alone)


async def test_windows_of_different_sizes_go_one_kind_after_the_other(
    hearing: Hearing, network: MadeNetwork
) -> None:
    kinds = [window(0), window(1, size=9000), window(2), window(3, spans=5), window(4)]
    assert same(await hearing.hear(kinds), hearing.hear_now(kinds))
    assert network.sizes[:3] == [3, 1, 1]


async def test_no_more_go_together_than_keep_nobody_waiting(
    hearing: Hearing, network: MadeNetwork
) -> None:
    await hearing.hear([window(number % 3) for number in range(2 * MOST + 1)])
    assert network.sizes == [MOST, MOST, 1]


# --- given up


async def test_windows_of_a_call_given_up_are_not_run_and_the_others_are(
    hearing: Hearing, network: MadeNetwork
) -> None:
    network.may_end.clear()
    first = asyncio.create_task(hearing.hear([window(0)]))
    await asyncio.to_thread(network.begun.wait, 10)
    given_up = asyncio.create_task(hearing.hear([window(1), window(2)]))
    third = asyncio.create_task(hearing.hear([window(3)]))
    await asking(given_up, third)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    network.may_end.set()
    assert len(await first) == len(await third) == 1
    assert network.sizes == [1, 1]
    np.testing.assert_array_equal(network.batches[1][0], window(3).sound)


async def test_giving_up_in_the_middle_of_a_run_leaves_who_is_in_it_unharmed(
    hearing: Hearing, network: MadeNetwork
) -> None:
    network.may_end.clear()
    first = asyncio.create_task(hearing.hear([window(0)]))
    await asyncio.to_thread(network.begun.wait, 10)
    given_up = asyncio.create_task(hearing.hear([window(1)]))
    other = asyncio.create_task(hearing.hear([window(2)]))
    await asking(given_up, other)
    first_may_end, network.begun, network.may_end = network.may_end, Event(), Event()
    first_may_end.set()
    await first
    await asyncio.to_thread(network.begun.wait, 10)
    assert network.sizes == [1, 2]  # the two others are in the network now
    given_up.cancel()
    network.may_end.set()
    assert same(await other, hearing.hear_now([window(2)]))
    with pytest.raises(asyncio.CancelledError):
        await given_up


# --- failures


async def test_a_network_that_fails_tells_everyone_who_waits_and_works_again(
    hearing: Hearing, network: MadeNetwork
) -> None:
    network.failure = RuntimeError("out of luck")
    calls = [hearing.hear([window(n), window(n, size=9000)]) for n in range(3)]
    async with asyncio.timeout(10):
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, BackendError) for result in results)
    assert all("perception failed: out of luck" in str(result) for result in results)
    network.failure = None
    assert len(await hearing.hear([window(0)])) == 1


def test_a_card_is_read_as_it_was_written() -> None:
    assert Card.read(CARD.write()) == CARD


@pytest.mark.parametrize("content", [b"", b"no network at all", b"\x08\x07\x12\x04"])
def test_a_broken_file_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "voice.onnx"
    file.write_bytes(content)
    with pytest.raises(BackendError, match=r"weights voice\.onnx cannot be read") as caught:
        Hearing(file)
    assert caught.value.role == "perceiver"


def test_a_missing_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"weights gone\.onnx cannot be read"):
        Hearing(tmp_path / "gone.onnx")


def test_a_network_without_its_card_is_refused(
    network: MadeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "get_modelmeta", lambda: None)
    with pytest.raises(BackendError, match="cannot be read"):
        Hearing(Path("made.onnx"))


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self._mark,)


def test_a_pickle_in_the_networks_place_is_refused_and_never_opened(tmp_path: Path) -> None:
    mark, file = tmp_path / "sprung", tmp_path / "voice.onnx"
    file.write_bytes(pickle.dumps(Trap(mark)))
    with pytest.raises(BackendError, match="cannot be read"):
        Hearing(file)
    assert not mark.exists()
    pickle.loads(file.read_bytes())
    assert mark.exists()  # so the trap was a good one
