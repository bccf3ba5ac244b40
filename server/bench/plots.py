"""Pictures of a benchmark's report, as SVG: `python -m server.bench.plots bench.json FOLDER`."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from server.bench.chart import Bar, Series, bars, curves

Drawn = Iterator[tuple[str, str]]


def pictures(report: Mapping[str, Any]) -> Drawn:
    """The name and the drawing of every section that was measured."""
    where = _where(report.get("machine", {}))
    for name, draw in SECTIONS.items():
        section = report.get(name)
        if section and not {"failed", "skipped"} & set(section):
            yield from draw(section, where)


def _where(machine: Mapping[str, Any]) -> str:
    told = [f"{machine['cores']} cores" if machine.get("cores") else "", machine.get("cpu") or ""]
    told += [str(machine.get("date") or "")[:10], f"commit {machine.get('commit') or '?'}"]
    return ", ".join(part for part in told if part)


def _latency(section: Mapping[str, Any], where: str) -> Drawn:
    every = section["all"]
    rows = [("to the first audible sample", every["eos_to_first_audio_ms"])]
    rows = [*every["stages_ms"].items(), *rows]
    shown = [
        Bar(
            name.replace("_", " "),
            figures["p50"],
            "two" if name.startswith("to the") else "one",
            figures["p95"],
            f"{figures['p50']:,.0f}, p95 {figures['p95']:,.0f}",
        )
        for name, figures in rows
        if figures["p95"]  # what the others count from is 0
    ]
    if shown:
        below = (f"p50 and, as a whisker, p95; {section['n']} turns, one talker", where)
        yield "latency-stages", bars("After the end of speech", below, [("ms", shown)])


def _capacity(section: Mapping[str, Any], where: str) -> Drawn:
    loads = [load for load in section["loads"] if load["latency_ms"]["n"]]
    if not loads:
        return
    lines = [
        Series(name, [(load["talkers"], load["latency_ms"][name]) for load in loads], kind)
        for name, kind in (("p50", "one"), ("p95", "two"))
    ]
    within = section["talkers_within_limit"]
    below = (f"{within} talkers keep p95 within {section['limit_ms']:,.0f} ms", where)
    title = "End of speech to first audible sample, by talkers at once"
    limit = section["limit_ms"]
    yield "capacity", curves(title, below, lines, across="talkers", unit="ms", limit=limit)
    seen = [load for load in loads if load["cpu_percent"] is not None]
    if not seen:
        return
    growth = section["cpu_percent_growth"]
    known = growth["per_talker"] is not None
    fit = (growth["base"], growth["per_talker"]) if known else None
    told = f"{growth['per_talker']:g} % of a core each, R² {growth['r2']}" if known else ""
    lines = [
        Series(name, costs, kind, joined=False)
        for name, kind, kept in (("CPU", "one", True), ("did not keep up", "two", False))
        if (costs := [(e["talkers"], e["cpu_percent"]) for e in seen if e["kept_up"] is kept])
    ]
    yield (
        "cost",
        curves(
            "What talkers cost the server, models included",
            (told or growth["why"], where),
            lines,
            across="talkers",
            unit="%",
            fit=fit,
        ),
    )


def _peer(section: Mapping[str, Any], where: str) -> Drawn:
    sides = {
        "Attune": ("attune", "one"),
        "Attune, all by the model": ("attune_asking", "one"),
        "Pipecat": ("pipecat", "two"),
    }
    waits, costs = list[Bar](), list[Bar]()
    for figure in ("p50", "p95"):
        for name, (side, kind) in sides.items():
            value = section[side]["eos_to_first_audio_ms"][figure]
            if value is not None:
                waits.append(Bar(f"{name}, {figure}", value, kind, told=f"{value:,.0f}"))
    for name, (side, kind) in sides.items():
        value = section[side]["cpu_sec_per_turn"]
        costs.append(Bar(f"{name}, CPU of a turn", value, kind, told=f"{value:.2f}"))
    ratio = section["ratio"]
    told = ", ".join(
        f"{name.replace('_', ' ')} {value:g}" for name, value in ratio.items() if value is not None
    )
    below = (f"{section['n']} turns in one run, the same models; ratios: {told}", where)
    title = "End of speech to first audible sample, beside a Pipecat pipeline"
    yield "pipecat", bars(title, below, [("ms", waits), ("s", costs)])


SECTIONS = {"latency": _latency, "capacity": _capacity, "pipecat": _peer}


def main(
    report: Annotated[Path, typer.Argument(help="What python -m server.bench wrote.")],
    out: Annotated[Path, typer.Argument(help="The folder for the pictures.")],
) -> None:
    """Draw a benchmark's report."""
    try:
        given = orjson.loads(report.read_bytes())
        out.mkdir(parents=True, exist_ok=True)
        for name, drawing in pictures(given):
            (out / f"{name}.svg").write_text(drawing, "utf-8")
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        print(f"attune: cannot draw {report}: {error!r}", file=sys.stderr)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    typer.run(main)
