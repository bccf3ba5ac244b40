"""python -m server.scoring.catalogue: lay the table of all metrics into docs/scoring.md."""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from server.scoring import instruments
from server.scoring.score import Measure

DOC = Path(__file__).parents[2] / "docs" / "scoring.md"
BEGIN, END = "<!-- metrics: begin -->", "<!-- metrics: end -->"


def every() -> dict[str, tuple[Measure, ...]]:
    """All measures by instrument, in the order of the report."""
    return {name: instruments.measures(name) for name in instruments.MODULES}


def table(measures: Iterable[tuple[str, Sequence[Measure]]]) -> str:
    """One section an instrument, as Markdown."""
    return "\n\n".join(_section(name, given) for name, given in measures)


def _section(name: str, given: Sequence[Measure]) -> str:
    """What holds for several of its metrics is said once, below."""
    times = Counter(each.caveat for each in given)
    shared = [caveat for caveat, count in times.items() if caveat and count > 1]
    lines = [
        f"### {name}",
        "",
        "| metric | scale | what it is, and how it differs |",
        "|---|---|---|",
    ]
    for each in given:
        several = each.caveat in shared
        note = f"[{shared.index(each.caveat) + 1}]" if several else _cell(each.caveat)
        about = f"{_cell(each.about)} {note}".strip()
        lines.append(f"| `{each.name}` | {_scale(each)} | {about} |")
    lines += [f"\n[{nth}] {caveat}" for nth, caveat in enumerate(shared, 1)]
    return "\n".join(lines)


def written(text: str) -> str:
    """The document with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(every().items())}\n\n{END}{after}"


def _scale(measure: Measure) -> str:
    better = {True: "↑", False: "↓", None: ""}[measure.higher_is_better]
    low, high = ("" if end is None else f"{end:g}" for end in (measure.smallest, measure.largest))
    ends = f"{low}–{high}" if low and high else f"≥ {low}" if low else f"≤ {high}" if high else ""
    return " ".join(part for part in (ends, measure.unit, better) if part)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    DOC.write_text(written(DOC.read_text("utf-8")), "utf-8")
    sys.stdout.write(f"{DOC}\n")
