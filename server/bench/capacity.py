"""How many talkers real models on this machine keep up with, and what each one more costs."""

from collections.abc import Awaitable, Callable, Sequence

from server.bench.figures import Report
from server.bench.fit import growth
from server.bench.process import Served
from server.loadtest.run import Plan, run

TALKERS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
LIMIT_MS = 1500.0  # p95 of what people wait for
MINUTES, TALKER_MINUTES = 1.0, 3.0  # at the least; few talkers talk longer, so as to take turns
SEATS = 64

Load = Callable[[int, float], Awaitable[Report]]


async def measure(server: Served, seconds: float, step: Callable[[str], None]) -> Report:
    """The capacity section of the report; `seconds` 0 takes the usual time for each load."""

    async def load(talkers: int, minutes: float) -> Report:
        step(f"{talkers} talkers, for {minutes:.1f} min")
        return await run(Plan(server.url, talkers, minutes, seed=talkers, slow_share=0.0))

    return await climb(load, seconds)


async def climb(load: Load, seconds: float, talkers: Sequence[int] = TALKERS) -> Report:
    """More and more talkers, until they wait too long or something breaks."""
    loads: list[Report] = []
    for count in talkers:
        minutes = seconds / 60 if seconds else max(MINUTES, TALKER_MINUTES / count)
        loads.append(point(await load(count, minutes)))
        if not loads[-1]["kept_up"]:
            break
    kept = [each for each in loads if each["kept_up"]]
    seen = [each for each in kept if each["cpu_percent"] is not None]
    return {
        "limit_ms": LIMIT_MS,
        "talkers_within_limit": max((each["talkers"] for each in kept), default=0),
        "loads": loads,
        "cpu_percent_growth": growth(
            [each["talkers"] for each in seen], [each["cpu_percent"] for each in seen]
        ),
    }


def point(found: Report) -> Report:
    """What of a load test makes a point of the curve."""
    overall, server, client = found["overall"], found["server"], found["client"]
    turns, latency = overall["turns"], overall["latency_ms"]
    troubles = overall["lost"] + overall["refused"] + sum(overall["errors"].values())
    troubles += overall["cross_talk"]["n"] or 0
    every = turns["taken"] + turns["written"]
    cpu_sec = server["cpu_sec"]
    return {
        "talkers": found["talkers"],
        "kept_up": bool(not troubles and latency["n"] and latency["p95"] <= LIMIT_MS),
        "latency_ms": latency,
        "stages_ms": overall["stages_ms"],
        "barge_in_to_silence_ms": overall["barge_in"]["to_silence_ms"],
        "turns": turns,
        "underruns": overall["underruns"],
        "troubles": troubles,
        "cross_talk": overall["cross_talk"]["n"],
        "cpu_percent": server["cpu_percent"],
        "cpu_sec_per_turn": round(cpu_sec / every, 2) if every and cpu_sec is not None else None,
        "memory_mb": server["memory_mb"] and server["memory_mb"]["most"],
        "client_cpu_sec": client["cpu_sec"],
        "client_lag_p99_ms": client["lag_p99_ms"],
    }
