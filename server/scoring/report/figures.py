"""Figures as people read them."""

from typing import Protocol

MINUS, DASH, THIN = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{NARROW NO-BREAK SPACE}"


class Scaled(Protocol):
    """A metric, so far as its figures' form depends on it."""

    @property
    def unit(self) -> str: ...
    @property
    def smallest(self) -> float | None: ...
    @property
    def largest(self) -> float | None: ...


def number(value: float | None, digits: int = 2) -> str:
    """With a true minus; a dash for none."""
    if value is None:
        return DASH
    told = f"{value:,.{digits}f}"
    if told.strip("-0.,") == "":
        told = told.lstrip("-")
    return told.replace("-", MINUS)


def digits(value: float | None, metric: Scaled | None = None) -> int:
    """So many as say something: fewer for larger scales."""
    if metric is not None and metric.unit == "ms":
        return 0
    if metric is not None and metric.smallest is not None and metric.largest is not None:
        return 1 if metric.largest - metric.smallest > 10 else 2
    # Of one metric all figures have the same number, so that they stand under each other.
    mean = getattr(metric, "mean", None)
    size = abs(value or 0.0) if mean is None else abs(mean)
    return 0 if size >= 1000 else 1 if size >= 20 else 2


def measured(value: float | None, metric: Scaled, *, unit: bool = True) -> str:
    """A metric's value with its unit."""
    told = number(value, digits(value, metric))
    return told if value is None or not unit else told + suffix(metric.unit)


def suffix(unit: str) -> str:
    return f"{THIN}{unit}" if unit else ""


def span(low: float | None, high: float | None, metric: Scaled | None = None) -> str:
    """An interval as 3.60 to 4.20."""
    if low is None or high is None:
        return DASH
    most = digits(max(abs(low), abs(high)), metric)
    return f"{number(low, most)} to {number(high, most)}"


def chance(p: float | None) -> str:
    """A probability under chance, as p = 0.012."""
    if p is None:
        return f"p {DASH}"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def signed(value: float, metric: Scaled | None = None) -> str:
    """A difference, with its sign."""
    told = number(value, digits(value, metric))
    return f"+{told}" if told.strip("0.,") and value > 0 else told


def change(
    mean: float | None,
    low: float | None,
    high: float | None,
    p: float | None,
    metric: Scaled | None = None,
) -> str:
    """A difference with its interval and how likely it is by chance."""
    if mean is None:
        return DASH
    if low is None or high is None:
        return f"{signed(mean, metric)}, too few"
    return f"{signed(mean, metric)} [{span(low, high, metric)}], {chance(p)}"


def share(value: float | None) -> str:
    """A part of one as per cent."""
    return DASH if value is None else f"{number(100 * value, 0)}{THIN}%"


def counted(n: int, one: str, many: str | None = None) -> str:
    """As 1 session, 12 sessions."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
