"""The report as Markdown: the same parts, figures as tables."""

from collections.abc import Sequence
from pathlib import Path

from server.recording.whole_files import replace
from server.scoring.report.blocks import Section
from server.scoring.report.markdown_blocks import escaped, section
from server.scoring.report.material import Material, read
from server.scoring.report.page import TITLE, below, named
from server.scoring.report.sections.every import sections

FILE = "report.md"


def write(scores: Path, out: Path) -> None:
    """Read a report's scores and lay `report.md` into its folder."""
    replace(out / FILE, markdown(read(scores), named(out)).encode())


def markdown(material: Material, name: str = "") -> str:
    return document(f"{TITLE} · {below(material, name)}", sections(material, None))


def document(title: str, parts: Sequence[Section]) -> str:
    return "\n\n".join([f"# {escaped(title)}", *map(section, parts)]) + "\n"
