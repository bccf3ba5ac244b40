"""Whether cost grows in line with the talkers: a straight line and a bent one through it. Pure."""

from collections.abc import Sequence

import numpy as np

from server.bench.figures import STEEPER, Report

FEWEST = 3  # points for a curve to show


def growth(talkers: Sequence[int], costs: Sequence[float]) -> Report:
    """The line through the costs, and how much steeper they climb at the end than on the whole."""
    if len(set(talkers)) < FEWEST:
        return {
            "per_talker": None,
            "base": None,
            "r2": None,
            "steeper_at_the_end": None,
            "linear": None,
            "n": len(talkers),
            "why": f"fewer than {FEWEST} loads kept up",
        }
    x, y = np.array(talkers, float), np.array(costs, float)
    slope, base = np.polyfit(x, y, 1)
    bend, tilt, _ = np.polyfit(x, y, 2)
    left = float(((y - (base + slope * x)) ** 2).sum())
    spread = float(((y - y.mean()) ** 2).sum())
    steeper = (tilt + 2 * bend * x.max()) / slope if slope > 0 else float("nan")
    return {
        "per_talker": round(float(slope), 2),
        "base": round(float(base), 2),
        "r2": round(1 - left / spread, 4) if spread else None,
        "steeper_at_the_end": round(float(steeper), 3) if np.isfinite(steeper) else None,
        "linear": bool(steeper <= STEEPER) if np.isfinite(steeper) else None,
        "n": len(talkers),
        "why": None,
    }
