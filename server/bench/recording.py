"""What recording costs: the same talkers once unrecorded and once recorded, on one server."""

from collections.abc import Callable

from server.bench.figures import Report
from server.bench.process import Served
from server.bench.talkers import WINDOW_SEC, load
from server.consent import Consent

TALKERS = 50
EVERYTHING = Consent(True, True, True)


async def measure(server: Served, seconds: float, step: Callable[[str], None]) -> Report:
    """The recording section of the report: a frame's handling is what the event loop feels."""
    window = seconds or WINDOW_SEC
    step(f"{TALKERS} talkers, not recorded")
    without = await load(server, "binary", TALKERS, window, None)
    step(f"{TALKERS} talkers, recorded")
    recorded = await load(server, "binary", TALKERS, window, EVERYTHING)
    return {
        "without": without,
        "recorded": recorded,
        "cpu_ratio": _ratio(recorded["cpu_percent"], without["cpu_percent"]),
        "frame_p99_ratio": _ratio(recorded["frame_ms"]["p99"], without["frame_ms"]["p99"]),
    }


def _ratio(value: float | None, base: float | None) -> float | None:
    return round(value / base, 2) if value and base else None
