"""How near the machine is to its limit: what is measured, and what is left out when."""

from dataclasses import dataclass, field

import pytest

from server.pressure import FALL_SEC, LAG_MS, Level, Load, Memory, Pressure, worked_ms

LEAST = 0.05  # of memory, for anybody new


@dataclass(slots=True)
class Machine:
    """What there is to be measured, and a clock that is moved by hand."""

    now: float = 0.0
    lag_ms: float = 0.0
    load: Load = field(default_factory=lambda: Load(0.1, 0.1))
    memory_free: float | None = 0.5

    def pressure(self, target_ms: float = 1500.0) -> Pressure:
        memory = Memory(lambda: self.memory_free, LEAST)
        return Pressure(self, lambda: self.load, target_ms, lambda: self.now, memory)

    def pass_time(self, pressure: Pressure, seconds: int) -> list[Level]:
        """The level at the end of every second."""
        levels = []
        for _ in range(seconds):
            self.now += 1
            levels.append(pressure.step())
        return levels


def test_an_idle_machine_leaves_nothing_out() -> None:
    machine = Machine()
    assert set(machine.pass_time(machine.pressure(), 60)) == {Level.NONE}


def test_things_are_left_out_one_after_the_other_and_come_back_in_the_same_order() -> None:
    machine = Machine(lag_ms=LAG_MS)
    pressure = machine.pressure()
    rising = machine.pass_time(pressure, 30)
    assert rising == sorted(rising) and set(rising) == set(Level)
    machine.lag_ms = 0.0
    falling = machine.pass_time(pressure, 60)
    assert falling == sorted(falling, reverse=True) and set(falling) == set(Level)
    assert falling.count(Level.PARTIALS) >= FALL_SEC


def test_a_hiccup_is_no_load() -> None:
    machine = Machine()
    pressure = machine.pressure()
    machine.pass_time(pressure, 10)
    machine.lag_ms = 1.5 * LAG_MS
    machine.pass_time(pressure, 1)
    machine.lag_ms = 0.0
    assert set(machine.pass_time(pressure, 20)) == {Level.NONE}


def test_a_strain_between_two_levels_does_not_make_it_flicker() -> None:
    machine = Machine(lag_ms=0.7 * LAG_MS)
    pressure = machine.pressure()
    machine.pass_time(pressure, 60)
    levels = []
    for second in range(120):
        machine.lag_ms = (0.6 + 0.1 * (second % 2)) * LAG_MS
        levels += machine.pass_time(pressure, 1)
    assert set(levels) == {Level.PARTIALS}


def test_slow_turns_are_pressure_only_beyond_what_they_take_anyway() -> None:
    machine = Machine()
    pressure = machine.pressure()
    for _ in range(20):
        pressure.turn(1200.0, talkers=1)
    machine.pass_time(pressure, 20)
    assert pressure.level is Level.NONE  # nobody else is there: it is as quick as it gets
    for _ in range(20):
        pressure.turn(1500.0, talkers=5)
    machine.pass_time(pressure, 30)
    assert pressure.level is not Level.NONE
    machine.pass_time(pressure, 200)
    assert pressure.level is Level.NONE  # nobody has talked for a while: nothing is known


def test_a_machine_that_never_reaches_the_target_is_not_thought_to_be_loaded() -> None:
    machine = Machine()
    pressure = machine.pressure(target_ms=500.0)
    for talkers in (1, 2):
        for _ in range(20):
            pressure.turn(900.0, talkers)
    machine.pass_time(pressure, 30)
    assert pressure.level is Level.NONE
    assert pressure.reading.target_ms > 900.0


def test_one_unlucky_turn_of_a_few_leaves_nothing_out() -> None:
    machine = Machine()
    pressure = machine.pressure()
    for took in (700.0, 720.0, 6000.0):
        pressure.turn(took, talkers=2)
    assert set(machine.pass_time(pressure, 30)) == {Level.NONE}


def test_a_busy_processor_alone_turns_nobody_away() -> None:
    machine = Machine(load=Load(1.0, 0.2))
    pressure = machine.pressure()
    assert max(machine.pass_time(pressure, 120)) is Level.PERCEPTS
    assert pressure.used == pytest.approx(0.4, abs=0.01)  # of the half that is ours in any case


def test_as_memory_runs_out_things_are_left_out_in_order_and_seats_at_the_share_that_is_set() -> (
    None
):
    machine = Machine()
    pressure = machine.pressure()
    seen = []
    for percent in range(20, 0, -1):
        machine.memory_free = percent / 100
        (level,) = machine.pass_time(pressure, 1)
        seen.append(level)
        assert pressure.short_of_memory == (machine.memory_free <= LEAST)
        assert pressure.reading.memory_free == machine.memory_free
    assert seen == sorted(seen) and set(seen) == set(Level)
    assert seen[0] is Level.NONE


def test_memory_that_is_gone_at_once_lets_nobody_in_at_once() -> None:
    machine = Machine()
    pressure = machine.pressure()
    machine.pass_time(pressure, 5)
    machine.memory_free = 0.01
    assert machine.pass_time(pressure, 1) == [Level.SEATS]
    assert pressure.short_of_memory
    assert pressure.used < 0.2  # which says nothing of how many would fit


def test_memory_that_is_back_brings_all_back_in_order_and_does_not_flicker() -> None:
    machine = Machine(memory_free=0.04)
    pressure = machine.pressure()
    machine.pass_time(pressure, 5)
    for second in range(60):  # hardly more than the least is not enough again
        machine.memory_free = LEAST + 0.01 * (second % 2)
        assert machine.pass_time(pressure, 1) == [Level.SEATS]
    machine.memory_free = 0.5
    falling = machine.pass_time(pressure, 60)
    assert falling == sorted(falling, reverse=True) and set(falling) == set(Level)
    assert falling.count(Level.SEATS) >= FALL_SEC - 1
    assert not pressure.short_of_memory


def test_memory_of_which_nothing_is_known_is_no_strain() -> None:
    machine = Machine(memory_free=None)
    assert set(machine.pass_time(machine.pressure(), 20)) == {Level.NONE}


def test_memory_of_which_nothing_is_known_any_more_keeps_nobody_out_for_good() -> None:
    machine = Machine(memory_free=0.01)
    pressure = machine.pressure()
    machine.pass_time(pressure, 3)
    machine.memory_free = None
    machine.pass_time(pressure, 3)  # one look in vain says nothing
    assert pressure.short_of_memory
    machine.pass_time(pressure, 2 * round(FALL_SEC))
    assert not pressure.short_of_memory


@pytest.mark.parametrize(
    ("stages", "worked"),
    [
        # Ready, and silent on purpose until the turn was surely over.
        ({"words": 200, "planned": 220, "first_audio": 500, "gate": 1280, "first_sent": 1281}, 501),
        # Thought of early, and not ready in time.
        ({"words": 200, "planned": 220, "gate": 640, "first_audio": 900, "first_sent": 905}, 905),
        # Thought of only once the turn was over.
        (
            {"words": 200, "judged": 150, "gate": 640, "planned": 650, "first_audio": 900,
             "first_sent": 905},
            465,
        ),
        # The words themselves came late, and the turn could not end before.
        ({"words": 900, "gate": 905, "planned": 910, "first_audio": 1100, "first_sent": 1102},
         1097),
    ],
)  # fmt: skip
def test_what_was_waited_on_purpose_is_no_sign_of_load(
    stages: dict[str, float], worked: float
) -> None:
    assert worked_ms({"speech_end": 0.0, **stages}) == worked


def test_a_reply_to_nothing_spoken_tells_nothing() -> None:
    assert worked_ms({"gate": 0.0, "first_sent": 300.0}) is None
