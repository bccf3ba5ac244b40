"""What every drawing is made of. Colours are classes of the page's style."""

from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from server.scoring.report.figures import number
from server.scoring.report.html import Html, cleaned, tag

LETTER = 7.0  # how wide one is, about, at the drawings' size


def drawing(width: float, height: float, title: str, *inside: object) -> Html:
    """A figure that says what it is to those who cannot see it."""
    return tag(
        "svg",
        tag("title", title),
        *inside,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        role="img",
        aria_label=title,
        class_="drawing",
    )


def label(
    x: float,
    y: float,
    said: str,
    *,
    anchor: str = "start",
    kind: str = "",
    most: int | None = None,
) -> Html:
    """Words on the middle line; what is too long is cut, and told whole where one points at it."""
    shown = shortened(said, most) if most else cleaned(said)
    whole = tag("title", said) if shown != cleaned(said) else None
    return tag(
        "text",
        shown,
        whole,
        x=x,
        y=y,
        dominant_baseline="central",
        text_anchor=None if anchor == "start" else anchor,
        class_=kind or None,
    )


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    kind: str,
    *,
    about: str = "",
    style: str | None = None,
    round_: float = 2.0,
) -> Html:
    return tag(
        "rect",
        tag("title", about) if about else None,
        x=x,
        y=y,
        width=max(0.0, width),
        height=max(0.0, height),
        rx=round_ or None,
        class_=kind,
        style=style,
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def dot(x: float, y: float, kind: str, *, size: float = 5.0, about: str = "") -> Html:
    told = tag("title", about) if about else None
    return tag("circle", told, cx=x, cy=y, r=size, class_=kind)


def shortened(said: str, most: int) -> str:
    plain = " ".join(cleaned(said).split())
    return plain if len(plain) <= most else plain[: most - 1].rstrip() + "…"


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.begin + (self.end - self.begin) * min(1.0, max(0.0, part))


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values between two ends, and those ends' round neighbours inside."""
    if not (isfinite(low) and isfinite(high)) or high <= low:
        return [low]
    step = rounded((high - low) / about)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [each * step for each in range(first, last + 1)]


def rounded(about: float) -> float:
    """The next round number that is not smaller."""
    power = 10.0 ** floor(log10(about))
    return next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= about * 0.999)


def tick(value: float, step: float) -> str:
    """As short as the step allows."""
    digits = 0 if step >= 1 and float(step).is_integer() else max(1, ceil(-log10(step) - 1e-9))
    if digits and round(step * 10**digits, 6) % 1:
        digits += 1
    return number(value, digits)


def ruler(scale: Scale, top: float, bottom: float, unit: str = "", about: int = 5) -> list[Html]:
    """Thin lines with their values under them."""
    marks = ticks(scale.low, scale.high, about)
    step = marks[1] - marks[0] if len(marks) > 1 else 1.0
    drawn: list[Html] = []
    for value in marks:
        x = scale.at(value)
        drawn.append(line(x, top, x, bottom, "grid"))
        told = tick(value, step) + (f" {unit}" if unit and value is marks[-1] else "")
        drawn.append(label(x, bottom + 11, told, anchor="middle", kind="faint"))
    return drawn
