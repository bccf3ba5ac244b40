"""Pictures of the evaluation's report, as SVG: `python -m models.perception.plots`.

They carry both a light and a dark dress and take the reader's. Beside reports, the command draws
files of bars, {"title", "whose", "bars": [{"label", "value", "low", "high"}]}, such as ablations.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

COMMAND = "python -m models.perception.plots"

_STYLE = """
.plot { --paper: #ffffff; --edge: #dfe3e8; --ink: #1f2933; --soft: #5f6b78; --grid: #e9ecf0;
  --fill: #2b6cb0; --over: #ffffff; --mark: #d9822b; }
@media (prefers-color-scheme: dark) { .plot { --paper: #14181d; --edge: #2d343c; --ink: #e6e9ed;
  --soft: #9aa6b2; --grid: #272d34; --fill: #63a4e8; --over: #0d1117; --mark: #e8a35c; } }
.plot text { font: 13px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
  fill: var(--ink); font-variant-numeric: tabular-nums; }
.plot .head { font-size: 16px; font-weight: 600; }
.plot .soft { fill: var(--soft); font-size: 12px; }
.plot .over { fill: var(--over); }
.plot .mid { text-anchor: middle; }
.plot .end { text-anchor: end; }
.plot .paper { fill: var(--paper); stroke: var(--edge); }
.plot .fill { fill: var(--fill); }
.plot .cell { fill: var(--grid); }
.plot .grid { stroke: var(--grid); }
.plot .line { stroke: var(--ink); stroke-width: 1.5; fill: none; }
.plot .ideal { stroke: var(--ink); stroke-dasharray: 4 4; opacity: 0.6; }
.plot .mark { stroke: var(--mark); stroke-width: 3; }
"""

_MARGIN = 24
_TOP = 94  # below the three lines of heading
_LETTER = 7.3  # mean width at 13 px


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure with its interval, if it has one."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


def confusion(title: str, whose: str, order: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """What was taken for what: each row adds up to 100 %; classes that never occurred have none."""
    rows = [(name, row) for name, row in zip(order, counts, strict=True) if sum(row)]
    size = 48
    left = _MARGIN + _width([f"{name}  {sum(row)}" for name, row in rows]) + 12
    lean = _width(order) * 0.62  # the height of a name set at 40 degrees
    top = _TOP + lean + 10
    parts = []
    for x, name in enumerate(order):
        at = f"{left + (x + 0.42) * size:.1f} {top - 8:.1f}"
        parts.append(f'<text transform="translate({at}) rotate(-40)">{escape(name)}</text>')
    for y, (name, row) in enumerate(rows):
        middle = top + (y + 0.5) * size + 4.5
        total = sum(row)
        parts.append(
            f'<text class="end" x="{left - 10}" y="{middle}">{escape(name)}'
            f'<tspan class="soft" dx="8">{total}</tspan></text>'
        )
        for x, count in enumerate(row):
            parts += _share(left + x * size, top + y * size, size - 3, count / total)
    width = left + len(order) * size + max(_MARGIN, lean * 0.9)
    height = top + len(rows) * size + _MARGIN
    below = whose, "rows: the truth; columns: what was heard; % of a row"
    return _plot(title, below, width, height, parts)


def _share(x: float, y: float, size: float, share: float) -> Iterator[str]:
    box = f'x="{x:.1f}" y="{y:.1f}" width="{size}" height="{size}" rx="4"'
    yield f'<rect class="cell" {box}/>'
    if not share:
        return
    yield f'<rect class="fill" {box} fill-opacity="{share:.3f}"/>'
    dress = "mid over" if share > 0.55 else "mid"
    percent = f"{share:.0%}".rstrip("%") if share >= 0.005 else "<1"
    middle = f'x="{x + size / 2:.1f}" y="{y + size / 2 + 4.5:.1f}"'
    yield f'<text class="{dress}" {middle}>{escape(percent)}</text>'


def reliability(title: str, whose: str, bins: Mapping[str, Sequence[Any]], ece: Any) -> str:
    """How often an answer was right, by how sure it was; below, how many were so sure."""
    side, strip = 300, 56
    left, base = _MARGIN + 52, _TOP + side
    foot = base + 56 + strip
    step = side / len(bins["n"])
    parts = []
    for tick in range(6):
        at, percent = tick / 5 * side, f"{tick * 20}"
        parts += [
            f'<path class="grid" d="M{left} {base - at:.1f}h{side}'
            f'M{left + at:.1f} {_TOP}v{side}"/>',
            f'<text class="soft end" x="{left - 8}" y="{base - at + 4:.1f}">{percent}</text>',
            f'<text class="soft mid" x="{left + at:.1f}" y="{base + 18}">{percent}</text>',
        ]
    columns = zip(bins["n"], bins["confidence"], bins["accuracy"], strict=True)
    for i, (n, sure, right) in enumerate(columns):
        if n:
            x, wide, tall = left + i * step + 1, step - 2, strip * n / max(bins["n"])
            parts += [
                _box("fill", x, base - side * right, wide, side * right, 'fill-opacity="0.8"'),
                f'<path class="mark" d="M{x:.1f} {base - side * sure:.1f}h{wide:.1f}"/>',
                _box("fill", x, foot - tall, wide, tall, 'fill-opacity="0.5"'),
            ]
    middle = left + side / 2
    parts += [
        f'<path class="ideal" d="M{left} {base}L{left + side} {_TOP}"/>',
        f'<text class="soft mid" x="{middle}" y="{base + 36}">how sure, %</text>',
        f'<text class="soft mid" x="{middle}" y="{foot + 18}">how many answers were so sure</text>',
        f'<text class="soft mid" transform="translate({_MARGIN + 8} {base - side / 2}) '
        'rotate(-90)">right, %</text>',
    ]
    error = "" if ece is None else f", ECE {ece:.3f}"
    below = whose, f"{sum(bins['n']):,} answers{error}; marks: how sure they were"
    return _plot(title, below, left + side + _MARGIN + 8, foot + 18 + _MARGIN, parts)


def bars(title: str, whose: str, given: Sequence[Bar]) -> str:
    """Figures between 0 and 1 side by side, with their 95 % intervals."""
    long, row = 380, 32
    left, top = _MARGIN + _width([bar.label for bar in given]) + 12, _TOP
    height = row * len(given)
    parts = []
    for tick in range(6):
        x = left + tick / 5 * long
        parts += [
            f'<path class="grid" d="M{x:.1f} {top}v{height}"/>',
            f'<text class="soft mid" x="{x:.1f}" y="{top + height + 18}">{tick / 5:.1f}</text>',
        ]
    for i, bar in enumerate(given):
        y = top + i * row
        middle = y + row / 2
        end = left + long * max(bar.value, bar.high or 0.0)
        parts += [
            f'<text class="end" x="{left - 10}" y="{middle + 4.5}">{escape(bar.label)}</text>',
            _box("fill", left, y + 6, long * bar.value, row - 12, 'rx="3" fill-opacity="0.8"'),
            f'<text x="{end + 10:.1f}" y="{middle + 4.5}">{bar.value:.2f}</text>',
        ]
        if bar.low is not None and bar.high is not None:
            low, high = left + long * bar.low, left + long * bar.high
            parts.append(
                f'<path class="line" d="M{low:.1f} {middle}H{high:.1f}'
                f'M{low:.1f} {middle - 5}v10M{high:.1f} {middle - 5}v10"/>'
            )
    width = left + long + 52 + _MARGIN
    return _plot(title, (whose, "with 95 % intervals"), width, top + height + 40, parts)


def pictures(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The name and the drawing of everything a report has to show."""
    whose = f"{report['weights']} weights, {report['role'] or 'all'} of {report['manifest']}"
    given = []
    for corpus, tasks in report["corpora"].items():
        for task, cell in tasks.items():
            stem = f"{report['weights']}-{task}-{corpus}".replace("/", "-")
            name = task.replace("_", " ")
            title = f"{name.capitalize()}, {'all corpora' if corpus == 'all' else corpus}"
            table = cell["labels"], cell["confusion"]
            yield f"{stem}-confusion", confusion(title, whose, *table)
            trust = cell["reliability"], cell["ece"]
            yield f"{stem}-reliability", reliability(title, whose, *trust)
            given.append(Bar(f"{name}, {corpus} ({cell['n']:,})", cell["uar"], *cell["ci"]["uar"]))
    if given:
        ordered = sorted(given, key=lambda bar: bar.label)
        title = "Unweighted average recall by task and corpus"
        yield f"{report['weights']}-uar", bars(title, whose, ordered)


def _box(dress: str, x: float, y: float, wide: float, tall: float, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}"'
    return f'<rect class="{dress}" {place} {more}/>'


def _width(names: Sequence[str]) -> float:
    return max((len(name) for name in names), default=0) * _LETTER


def _plot(
    title: str, below: tuple[str, str], width: float, height: float, parts: Sequence[str]
) -> str:
    # The heading may be wider than what is drawn: it is set larger, and what is below it smaller.
    heading = max(len(title) * _LETTER * 1.35, _width(below) * 0.95)
    width = max(width, heading + 2 * _MARGIN)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" '
            f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" x="0.5" y="0.5" width="{width - 1:.0f}" '
            f'height="{height - 1:.0f}" rx="10"/>',
            f'<text class="head" x="{_MARGIN}" y="34">{escape(title)}</text>',
            *(
                f'<text class="soft" x="{_MARGIN}" y="{55 + 17 * i}">{escape(line)}</text>'
                for i, line in enumerate(below)
            ),
            *parts,
            "</svg>\n",
        ]
    )


def main(
    files: Annotated[list[Path], typer.Argument(help="Reports, or files of bars.")],
    out: Annotated[Path, typer.Option(help="The folder for the pictures.")],
    corpus: Annotated[
        list[str] | None, typer.Option(help="Only these corpora of a report ('all' is one).")
    ] = None,
) -> None:
    """Draw reports of the evaluation."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file in files:
            given = orjson.loads(file.read_bytes())
            if "bars" in given:
                drawn = bars(given["title"], given["whose"], [Bar(**bar) for bar in given["bars"]])
                (out / f"{file.stem}.svg").write_text(drawn, "utf-8")
                continue
            if corpus:
                given["corpora"] = {name: given["corpora"][name] for name in corpus}
            for name, drawing in pictures(given):
                (out / f"{name}.svg").write_text(drawing, "utf-8")
    except (OSError, orjson.JSONDecodeError, KeyError) as error:
        typer.echo(f"plots: {error}", err=True)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(main)
    app(prog_name=COMMAND)
