"""Who may sit down: the queue, what it is told, and how many the machine is found to hold."""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from server import ids
from server.admission import Admission, Guest, Refused
from server.capacity import SETTLE_SEC, Capacity, Fixed
from server.pressure import Level, Load, Pressure
from server.processes.seating import SharedSeats, Table
from server.seats import OwnSeats


@dataclass(slots=True)
class Time:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def anybody() -> str:
    """Another one each time."""
    return ids.new("sess")


def house(
    seats: int, room: int = 4, share: int | None = None, time: Callable[[], float] | None = None
) -> Admission:
    return Admission(OwnSeats(seats), Fixed(seats), room, share, time or Time())


def sitting(found: Guest | Refused) -> Guest:
    assert isinstance(found, Guest)
    return found


def test_each_of_several_processes_lets_in_as_many_as_it_finds_it_holds(tmp_path: Path) -> None:
    """Of those in the others it knows that they sit, and no more: they are not in its way."""
    table = Table(64, 2, 4, tmp_path / "lock")
    time, calm = Time(), Strain()
    fronts = [
        Admission(SharedSeats(table, n), Capacity(64, calm, 2, time), 4, None, time)
        for n in range(2)
    ]
    for _ in range(600):  # seconds, in each of which somebody comes to one of the two
        for front in fronts:
            front.sit(anybody())
            front.step()
        time.now += 1
    assert table.taken == 64
    assert [len(front._seated) for front in fronts] == pytest.approx([32, 32], abs=4)


# ---- first come, first served


def test_a_freed_seat_goes_to_the_head_of_the_queue_and_never_to_a_newcomer() -> None:
    admission = house(seats=1)
    first = sitting(admission.sit(anybody()))
    second, third = sitting(admission.wait(anybody())), sitting(admission.wait(anybody()))
    assert [admission.position(guest) for guest in (second, third)] == [1, 2]
    admission.leave(first)
    assert second.sat is not None and third.sat is None
    assert admission.position(third) == 1
    assert admission.sit(anybody()) is Refused.FULL
    admission.leave(second)
    assert third.sat is not None and admission.waiting == 0
    admission.leave(third)
    assert (admission.taken, admission.free) == (0, 1)


def test_a_seat_that_the_machine_has_gained_belongs_to_whoever_waits() -> None:
    time, strain = Time(), Strain()
    admission = Admission(OwnSeats(64), Capacity(64, strain, 2, time), 4, None, time)
    for _ in range(2):
        sitting(admission.sit(anybody()))
    first = sitting(admission.wait(anybody()))
    time.now = SETTLE_SEC  # there would be room for a third
    assert admission.free == 0 and first.sat is None
    assert admission.sit(anybody()) is Refused.FULL
    admission.step()
    assert first.sat == SETTLE_SEC


def test_whoever_leaves_the_queue_lets_those_behind_move_up_and_know_it() -> None:
    admission = house(seats=1)
    admission.sit(anybody())
    ahead, tired, behind = (sitting(admission.wait(anybody())) for _ in range(3))
    admission.leave(tired)
    assert (admission.position(ahead), admission.position(behind)) == (1, 2)
    assert behind.news.is_set() and not ahead.news.is_set()


def test_a_full_queue_takes_nobody_and_no_queue_never_does() -> None:
    admission = house(seats=1, room=1)
    admission.sit(anybody())
    sitting(admission.wait(anybody()))
    assert admission.wait(anybody()) is Refused.FULL
    assert house(seats=1, room=0).wait(anybody()) is Refused.FULL


def test_one_address_has_its_share_and_this_machine_all_it_wants() -> None:
    admission = house(seats=4, share=1)
    guest = sitting(admission.sit(anybody(), "192.0.2.1"))
    assert admission.sit(anybody(), "192.0.2.1") is Refused.SHARE
    assert admission.wait(anybody(), "192.0.2.1") is Refused.SHARE
    sitting(admission.sit(anybody(), "192.0.2.2"))
    for _ in range(2):
        sitting(admission.sit(anybody(), "127.0.0.1"))
    admission.leave(guest)
    sitting(admission.sit(anybody(), "192.0.2.1"))


# ---- one line of several processes


@dataclass(slots=True)
class Fronts:
    """Two processes that share seats and a line."""

    table: Table
    all: list[Admission]
    time: Time


def fronts(folder: Path, seats: int, room: int = 4, holds: tuple[int, int] = (64, 64)) -> Fronts:
    """Each holds so many by its own measure."""
    table, time = Table(seats, 2, room, folder / "lock"), Time()
    found = [
        Admission(SharedSeats(table, n), Measured(seats, holds[n]), room, None, time)
        for n in range(2)
    ]
    return Fronts(table, found, time)


@dataclass(slots=True)
class Measured:
    """As many as were found."""

    most: int
    found: int

    def total(self, taken: int, settled: int) -> int:
        return min(self.most, self.found)

    def step(self, settled: int) -> None:
        pass


def test_those_who_wait_in_several_processes_stand_in_one_line(tmp_path: Path) -> None:
    two = fronts(tmp_path, seats=2)
    one, other = two.all
    leaving = [sitting(front.sit(anybody())) for front in two.all]
    first, second = sitting(one.wait(anybody())), sitting(other.wait(anybody()))
    third = sitting(one.wait(anybody()))
    assert [one.position(first), other.position(second), one.position(third)] == [1, 2, 3]
    assert one.waiting == other.waiting == 3 and (one.waiting_here, other.waiting_here) == (2, 1)
    other.leave(leaving[1])  # its own waits, but not for longest
    assert second.sat is None and one.free == other.free == 0
    assert other.sit(anybody()) is Refused.FULL  # nor has somebody who comes only now
    other.step()
    assert second.sat is None
    one.step()
    assert first.sat is not None and third.news.is_set() and one.position(third) == 2
    other.step()
    assert second.news.is_set() and other.position(second) == 1
    one.leave(leaving[0])
    other.step()
    assert second.sat is not None and third.sat is None


def test_seats_that_come_free_together_are_all_taken_together(tmp_path: Path) -> None:
    two = fronts(tmp_path, seats=8, room=16)
    one, other = two.all
    leaving = [sitting(one.sit(anybody())) for _ in range(8)]
    line = [sitting(front.wait(anybody())) for _ in range(5) for front in (other, one)]
    for guest in leaving:
        one.leave(guest)
    assert two.table.taken == 4  # its own; a seat is kept for each who came before them
    other.step()
    assert [guest.sat is not None for guest in line] == [True] * 8 + [False] * 2
    assert [other.position(line[8]), one.position(line[9])] == [1, 2]


def test_who_comes_new_has_a_seat_that_those_who_wait_leave_over(tmp_path: Path) -> None:
    two = fronts(tmp_path, seats=4)
    one, other = two.all
    leaving = [sitting(one.sit(anybody())) for _ in range(4)]
    line = [sitting(other.wait(anybody())) for _ in range(2)]
    for left, guest in enumerate(leaving):
        assert one.free == max(0, left - 2)
        one.leave(guest)
    assert one.free == 2 and other.free == 2
    for _ in range(2):
        sitting(one.sit(anybody()))
    assert one.sit(anybody()) is Refused.FULL and one.free == other.free == 0
    other.step()
    assert all(guest.sat is not None for guest in line)


def test_who_comes_new_is_let_in_after_those_who_wait_there(tmp_path: Path) -> None:
    two = fronts(tmp_path, seats=3)
    one, other = two.all
    leaving = [sitting(one.sit(anybody())) for _ in range(3)]
    first, second = (sitting(other.wait(anybody())) for _ in range(2))
    for guest in leaving[:2]:
        one.leave(guest)
    assert other.sit(anybody()) is Refused.FULL
    assert first.sat is not None and second.sat is not None
    one.leave(leaving[2])
    sitting(other.sit(anybody()))


def test_seats_are_left_to_those_who_have_waited_longer(tmp_path: Path) -> None:
    rng = random.Random(5)
    two = fronts(tmp_path, seats=3, room=6)
    seated: list[tuple[Admission, Guest]] = []
    line: list[tuple[Admission, Guest]] = []
    for _ in range(2_000):
        front = rng.choice(two.all)
        match rng.randrange(4):
            case 0:
                found = front.sit(anybody())
                if isinstance(found, Guest):
                    passed = [each for each in line if each[1].sat is None]
                    assert two.table.taken + len(passed) <= 3
                    seated.append((front, found))
                elif isinstance(found := front.wait(anybody()), Guest):
                    line.append((front, found))
                else:
                    assert len(line) == 6
            case 1 if seated:
                whose, guest = seated.pop(rng.randrange(len(seated)))
                whose.leave(guest)
            case 2 if line:
                whose, guest = line.pop(rng.randrange(len(line)))
                whose.leave(guest)
            case _:
                front.step()
        sat = [each for each in line if each[1].sat is not None]
        passed = line[: line.index(sat[-1]) + 1 - len(sat)] if sat else []
        assert two.table.taken + len(passed) <= 3  # a seat is kept for each of them
        seated += sat
        line = [each for each in line if each[1].sat is None]
        assert [whose.position(guest) for whose, guest in line] == [*range(1, len(line) + 1)]
        assert two.table.taken == len(seated) and two.table.waiting == len(line)


def test_a_front_that_dies_takes_its_people_out_of_the_line(tmp_path: Path) -> None:
    two = fronts(tmp_path, seats=2)
    one, other = two.all
    for front in two.all:
        sitting(front.sit(anybody()))
    for _ in range(2):
        sitting(one.wait(anybody()))
    last = sitting(other.wait(anybody()))
    assert other.position(last) == 3
    two.table.clear(0)
    other.step()
    assert last.sat is not None and other.waiting == 0


def test_a_full_line_is_full_for_all_processes(tmp_path: Path) -> None:
    two = fronts(tmp_path, seats=1, room=2)
    sitting(two.all[0].sit(anybody()))
    for front in two.all:
        sitting(front.wait(anybody()))
    assert [front.wait(anybody()) for front in two.all] == [Refused.FULL] * 2


def test_a_seat_that_a_full_process_cannot_give_goes_to_the_next_who_can_have_it(
    tmp_path: Path,
) -> None:
    two = fronts(tmp_path, seats=4, holds=(1, 2))
    full, other = two.all
    leaving = sitting(full.sit(anybody()))
    first = sitting(full.wait(anybody()))
    full.step()  # there are seats, and it holds no more
    assert other.free == 2 and full.free == 0
    second = sitting(other.sit(anybody()))
    full.leave(leaving)
    assert first.sat is not None and second.sat is not None
    behind = sitting(full.wait(anybody()))
    full.step()
    assert full.position(behind) == 1 and other.free == 1


def test_a_wait_is_estimated_by_the_seats_that_all_processes_free(tmp_path: Path) -> None:
    two = fronts(tmp_path, seats=2)
    one, other = two.all
    leaving = sitting(one.sit(anybody()))
    two.time.now = 60.0
    one.leave(leaving)
    for front in two.all:
        sitting(front.sit(anybody()))
    first, second = sitting(other.wait(anybody())), sitting(one.wait(anybody()))
    assert one.estimate_sec(one.position(second)) == 60.0  # the second of two, of a minute each
    assert other.position(first) == 1 and other.estimate_sec(1) is None  # nobody has left there


# ---- how long it takes


def test_all_addresses_of_an_ipv6_subscriber_have_one_share() -> None:
    admission = house(seats=8, share=2)
    first = sitting(admission.sit(anybody(), "2001:db8:1:2::1"))
    sitting(admission.sit(anybody(), "2001:db8:1:2:ffff::1"))
    assert admission.sit(anybody(), "2001:db8:1:2::3") is Refused.SHARE
    assert admission.wait(anybody(), "2001:db8:1:2::3") is Refused.SHARE
    sitting(admission.sit(anybody(), "2001:db8:1:3::1"))
    for _ in range(3):
        sitting(admission.sit(anybody(), "::ffff:127.0.0.1"))
    admission.leave(first)
    sitting(admission.sit(anybody(), "2001:db8:1:2::4"))


def test_nothing_is_estimated_before_anybody_has_left() -> None:
    admission = house(seats=1)
    admission.sit(anybody())
    admission.wait(anybody())
    assert admission.estimate_sec(1) is None


def test_a_wait_is_estimated_from_how_long_people_talk() -> None:
    time = Time()
    admission = house(seats=2, time=time)
    short, long = sitting(admission.sit(anybody())), sitting(admission.sit(anybody()))
    time.now = 60.0
    admission.leave(short)
    admission.leave(long)
    sitting(admission.sit(anybody())), sitting(admission.sit(anybody()))
    assert admission.estimate_sec(1) == 30.0  # two of them, of a minute each
    assert admission.estimate_sec(3) == 90.0
    time.now = 120.0  # those who still talk do so longer than was thought
    estimate = admission.estimate_sec(1)
    assert estimate is not None and estimate > 30.0


# ---- how many the machine holds


@dataclass(slots=True)
class Strain:
    level: Level = Level.NONE
    used: float = 0.0
    short_of_memory: bool = False


def test_seats_grow_while_all_is_well_and_never_past_the_operators_number() -> None:
    time, strain = Time(), Strain()
    capacity = Capacity(10, strain, cores=2, now=time)
    totals, settled = [], 0
    for _ in range(10):
        total = capacity.total(settled, settled)
        totals.append(total)
        settled = total
        capacity.step(settled)
    assert totals[0] == 2 and totals[-1] == 10
    assert totals == sorted(totals)
    assert all(after <= before * 1.5 + 1 for before, after in zip(totals, totals[1:], strict=False))
    assert capacity.total(0, 0) == 10  # what was once well is remembered


def test_a_seat_is_there_only_if_what_one_talker_costs_still_fits() -> None:
    strain = Strain(used=0.4)
    capacity = Capacity(64, strain, cores=2, now=Time())
    capacity.step(4)
    assert capacity.total(4, 4) == 6  # half of the way to where it would be full
    strain.used = 0.8
    assert capacity.total(4, 4) == 4  # a fifth would take it to the limit
    strain.used = 0.06
    assert capacity.total(4, 4) == 6  # half as many again, however idle it is
    strain.used = 5.0
    assert 1 <= capacity.total(4, 4) < 4  # never none at all


def test_when_it_was_too_many_fewer_are_let_in_and_a_little_more_is_tried_later() -> None:
    time, strain = Time(), Strain()
    capacity = Capacity(64, strain, cores=16, now=time)
    strain.level = Level.SEATS
    capacity.step(8)
    assert capacity.total(8, 8) == 8  # those who talk stay
    strain.level = Level.NONE
    capacity.step(7)
    assert capacity.total(7, 7) == 7
    found = []
    for _ in range(600):
        time.now += 1
        capacity.step(7)
        found.append(capacity.total(7, 7))
    assert found[0] == 7 and found[-1] > 7 and found == sorted(found)


def test_while_memory_is_short_there_is_no_new_seat_and_nothing_is_learned_from_it() -> None:
    time, strain = Time(), Strain()
    capacity = Capacity(64, strain, cores=16, now=time)
    admission = Admission(OwnSeats(64), capacity, 4, None, time)
    talkers = [sitting(admission.sit(anybody())) for _ in range(3)]
    strain.level, strain.short_of_memory = Level.SEATS, True
    assert admission.sit(anybody()) is Refused.FULL and admission.free == 0
    waits = sitting(admission.wait(anybody()))
    for talker in talkers:  # not even as somebody leaves, nor if nobody is left
        admission.leave(talker)
        time.now += SETTLE_SEC
        admission.step()
    assert (admission.taken, waits.sat) == (0, None)
    strain.level, strain.short_of_memory = Level.NONE, False
    admission.step()
    assert waits.sat == time.now
    assert admission.total == 8  # as many as before


@dataclass(slots=True)
class Machine:
    """A machine that holds so many talkers: with these, a turn takes just what is aimed at."""

    holds: float
    base_ms: float  # for a turn if nobody is there
    target_ms: float
    seen: bool  # whether the work shows in the processor; a model on another machine does not
    now: float = 0.0
    lag_ms: float = 0.0
    talkers: int = 0
    level: Level = Level.NONE
    chance: random.Random = field(default_factory=lambda: random.Random(5))

    @property
    def busy(self) -> float:
        """What is left out makes every talker cheaper."""
        cost = {Level.NONE: 1.0, Level.PERCEPTS: 0.95, Level.PARTIALS: 0.85}.get(self.level, 0.75)
        return min(0.99, cost * self.talkers / self.holds * (1 - self.base_ms / self.target_ms))

    def turn_ms(self) -> float:
        return self.base_ms / (1 - self.busy) * self.chance.uniform(0.9, 1.1)

    def load(self) -> Load:
        share = self.busy if self.seen else 0.05
        return Load(share, share)


class Day:
    """People who come, and talk for some minutes, at a machine that cannot hold them all."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.turns: list[list[float]] = []  # of every minute: how long they took
        self.guests: list[Guest] = []  # all who were not refused
        self.refused = self.most = 0
        self.levels: set[Level] = set()
        self.pressure = Pressure(machine, machine.load, machine.target_ms, self._now)
        capacity = Capacity(200, self.pressure, cores=4, now=self._now)
        self.admission = Admission(OwnSeats(200), capacity, 16, None, self._now)
        self._chance = random.Random(1)
        self._waiting: list[Guest] = []
        self._ends: list[tuple[float, int, Guest]] = []

    def _now(self) -> float:
        return self.machine.now

    def pass_time(self, seconds: int, arrivals: float) -> None:
        """So many people come in a second, on the average."""
        for _ in range(seconds):
            self.machine.now += 1
            while self._ends and self._ends[0][0] <= self.machine.now:
                self.admission.leave(heapq.heappop(self._ends)[2])
            if self._chance.random() < arrivals:
                self._arrive()
            self._talk()
            self.machine.level = self.pressure.step()
            self.levels.add(self.machine.level)
            self.admission.step()

    def _arrive(self) -> None:
        found = self.admission.sit(anybody())
        if not isinstance(found, Guest):
            found = self.admission.wait(anybody())
        if isinstance(found, Guest):
            self.guests.append(found)
            self._waiting.append(found)
        else:
            self.refused += 1

    def _talk(self) -> None:
        for guest in [guest for guest in self._waiting if guest.sat is not None]:
            self._waiting.remove(guest)
            end = self.machine.now + self._chance.expovariate(1 / 180)
            heapq.heappush(self._ends, (end, id(guest), guest))
        self.machine.talkers = self.admission.taken
        self.most = max(self.most, self.machine.talkers)
        while len(self.turns) <= self.machine.now // 60:
            self.turns.append([])
        for _ in range(self.machine.talkers):
            if self._chance.random() < 0.1:  # a turn every ten seconds
                took = self.machine.turn_ms()
                self.turns[-1].append(took)
                self.pressure.turn(took, self.machine.talkers)


@pytest.mark.parametrize("seen", [True, False], ids=["own models", "models elsewhere"])
@pytest.mark.parametrize("holds", [3.0, 12.0, pytest.param(50.0, marks=pytest.mark.slow)])
def test_however_many_come_those_who_talk_are_answered_in_time_and_nobody_is_forgotten(
    holds: float, seen: bool
) -> None:
    target = 1500.0
    day = Day(Machine(holds, 500.0, target, seen))
    day.pass_time(1800, arrivals=holds / 60)  # three times what it can hold
    while day.admission.taken:
        assert day.machine.now < 7200, "the queue never drains"
        day.pass_time(60, arrivals=0.0)
    turns = sorted(took for minute in day.turns for took in minute)
    slow = [minute for minute in day.turns if minute and sorted(minute)[len(minute) // 2] > target]
    assert turns[int(len(turns) * 0.95)] <= target
    assert not slow  # at no time was it slow for all
    assert day.most >= 0.5 * holds  # and the machine was put to use
    assert day.admission.waiting == 0  # everybody who waited sat down,
    sat = [guest.sat for guest in day.guests]
    assert sat == sorted(sat, key=lambda at: at or 0.0)  # in the order they came
    day.pass_time(120, arrivals=0.0)
    assert day.pressure.level is Level.NONE


def test_newcomers_count_as_measured_only_after_a_while() -> None:
    time, strain = Time(), Strain()
    admission = Admission(OwnSeats(64), Capacity(64, strain, 2, time), 0, None, time)
    for _ in range(2):
        sitting(admission.sit(anybody()))
    assert admission.sit(anybody()) is Refused.FULL
    time.now = SETTLE_SEC
    admission.step()
    sitting(admission.sit(anybody()))
