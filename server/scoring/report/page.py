"""The report as one HTML page that needs nothing else: no script, no request, no font."""

from collections.abc import Sequence
from pathlib import Path

from server.recording.whole_files import PRIVATE_FOLDER, replace
from server.scoring.report.blocks import Section
from server.scoring.report.clips import Conversations
from server.scoring.report.html import Html, joined, tag
from server.scoring.report.html_blocks import section
from server.scoring.report.material import Material, read
from server.scoring.report.sections.every import sections

TITLE = "How it listens and answers"
PAGE = Path("report") / "index.html"
STYLE = Path(__file__).with_name("style.css")
MARK = tag(
    "svg",
    tag("circle", cx=16, cy=16, r=14.5, fill="none", stroke="currentColor", stroke_width=2),
    tag(
        "path",
        d="M7 16h2.5l2.2-6 3.6 13 3.4-9.5 1.7 2.5H25",
        fill="none",
        stroke="currentColor",
        stroke_width=2.4,
        stroke_linecap="round",
        stroke_linejoin="round",
    ),
    viewBox="0 0 32 32",
    aria_hidden="true",
)


def write(scores: Path, out: Path, conversations: Conversations | None = None) -> None:
    """Read a report's scores and lay `report/index.html` into its folder."""
    material = read(scores)
    target = out / PAGE
    # Not its parents: a folder that was deleted meanwhile stays so.
    target.parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    replace(target, page(material, conversations, named(out)).encode())


def page(material: Material, conversations: Conversations | None = None, name: str = "") -> str:
    parts = sections(material, conversations)
    return document(TITLE, below(material, name), material.head.software, parts)


def named(out: Path) -> str:
    """The run: a benchmark's report lies in a folder of the run's."""
    found = out.resolve()
    return found.parent.name if found.name == PAGE.parent.name else found.name


def below(material: Material, name: str = "") -> str:
    """Which run, over what, of when."""
    made = material.head.made
    titles = {each.name: each.title for each in material.head.benchmarks}
    data = [titles.get(each) or each for each in material.apart["benchmark"]]
    over = ", ".join(data) or "recorded conversations"
    told = f"{over}, scored on {made.day} {made:%B %Y}"
    return f"{name}: {told}" if name else told[:1].upper() + told[1:]


def document(title: str, below: str, software: str, parts: Sequence[Section]) -> str:
    """A whole page; `software` made it."""
    links = (tag("li", tag("a", each.title, href=f"#{each.name}")) for each in parts)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{title} · {below}"),
        tag("style", Html(STYLE.read_text("utf-8"))),
    )
    body = tag(
        "body",
        tag(
            "header",
            tag("p", MARK, "Attune", class_="eyebrow"),
            tag("h1", title),
            tag("p", below),
            tag("nav", tag("ol", *links), aria_label="Parts of this report"),
        ),
        tag("main", *map(section, parts)),
        tag("footer", f"Made by {software}. It runs no script and asks nobody for anything."),
    )
    return joined(Html("<!doctype html>\n"), tag("html", head, body, lang="en"), "\n")
