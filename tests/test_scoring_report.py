"""The report: what it shows, that it is right, and that nothing said is more than text there."""

import base64
import io
import json
import re
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from models.types import WIRE_RATE
from server.consent import Consent
from server.scoring import catalogue
from server.scoring.analyses.every import MODULES
from server.scoring.exchange import Conversation
from server.scoring.report import clips, markdown, page, reading
from server.scoring.report.drawings.canvas import Scale, tick, ticks
from server.scoring.report.drawings.dots import Point, dots
from server.scoring.report.drawings.flow import TALL, Link, Node, flow
from server.scoring.report.drawings.heat import Heat, heat
from server.scoring.report.drawings.histogram import histogram
from server.scoring.report.drawings.scatter import Place, scatter
from server.scoring.report.drawings.strip import strip
from server.scoring.report.drawings.waterfall import Span, waterfall
from server.scoring.report.figures import chance, number, signed
from server.scoring.report.html import Html, tag, text
from server.scoring.report.markdown_blocks import escaped
from server.scoring.report.material import RANKING, SHOWN, read
from server.scoring.report.published import tables
from server.scoring.report.reading import BrokenScores, pieces
from server.scoring.report.sections import attributes, beside, cue_gap, robustness
from server.scoring.results import BrokenPart, Results, ToldExchange, UsedModel
from server.sessions.format import ModelFile, ModelUsed
from tests.scoring_example import results, saved, talk
from tests.scoring_example_rows import rows
from tests.scoring_parts import ALL, conversation, turn

SCRIPTS = 8
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"`|*_[x](http://evil.example)"
    "\x00\x1b[2J\u202eltr\u2066 & <b>bold</b> ${x}\ud800"
)
# Keys whose values are ids or come out of a closed list.
FIXED = (
    "session_id id made started name metric by source target strand setting about dimension of "
    "cue_given variant task speech user_item reply_item prompt level finding benchmark family kind "
    "judge condition"
)
ELEMENTS = (
    "html head meta title style body header main footer section nav ol ul li a h1 h2 h3 p dl dt dd "
    "pre code div span small strong bdi blockquote audio details summary figure figcaption table "
    "thead tbody tr th td svg g rect line circle path text"
)


@cache
def example() -> Results:
    return results(rows(SCRIPTS))


@cache
def shown() -> str:
    """The page of the example."""
    with tempfile.TemporaryDirectory() as folder:
        return page.page(read(saved(Path(folder), example())), talk)


def material(tmp_path: Path, told: Results | dict[str, Any] | None = None) -> Any:
    if isinstance(told, dict):
        (tmp_path / "scores.json").write_text(json.dumps(told))
        return read(tmp_path / "scores.json")
    return read(saved(tmp_path, told or example()))


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, whole: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(whole)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def poisoned(value: Any, key: str = "") -> Any:
    """Hostile words wherever words are free."""
    if key in FIXED.split():
        return value
    if isinstance(value, dict):
        return {each: poisoned(inside, each) for each, inside in value.items()}
    if isinstance(value, list):
        return [poisoned(each, key) for each in value]
    return HOSTILE + value if isinstance(value, str) else value


@cache
def poison() -> dict[str, Any]:
    told = example().model_dump(mode="json")
    told["analyses"] = {**told["analyses"]}
    for name in ("exchanges", "broken", "left_out", "judges", "sessions", "benchmarks"):
        told[name] = poisoned(told[name])
    told["left_out"] = {HOSTILE: 3}
    told["software"] = HOSTILE
    told["run"] = {
        "command": ["python", HOSTILE], "python": HOSTILE, "packages": {HOSTILE: HOSTILE},
        "machine": HOSTILE, "settings": {HOSTILE: HOSTILE}, "instruments": {HOSTILE: HOSTILE},
    }  # fmt: skip
    for each in told["metrics"]:
        each |= {"title": HOSTILE + each["title"], "about": HOSTILE, "caveat": HOSTILE}
        each |= {"unit": HOSTILE, "judge": HOSTILE, "reasons": {HOSTILE: 1}, "family": HOSTILE}
    for system in told["analyses"]["human"]["systems"]:
        system["name"] = HOSTILE
    for breakdown in told["breakdowns"]:
        for group in breakdown["groups"]:
            group["value"] = group["value"] if breakdown["by"] == "cue" else HOSTILE
    for analysis in ("robustness", "cue_gap", "variants"):
        told["analyses"][analysis] = poisoned(told["analyses"][analysis])
    for each in told["exchanges"]:
        each["plan"] = {"line": HOSTILE, "acknowledgement": HOSTILE}
    told["exchanges"][0]["words"]["user"] = HOSTILE * 200  # 10,000 letters and more
    loaded: dict[str, Any] = json.loads(json.dumps(told))
    return loaded


# ---- reading


@pytest.mark.parametrize("window", [1, 2, 3, 7, 64, 1 << 20])
def test_a_file_is_read_alike_in_pieces_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    whole = {
        "a": -12.5e-3, "exchanges": [{"n": -1e3, "s": 'é"\\u0041]},['}, {}, {"l": [1, [2]]}],
        "b": None, "c": {"exchanges": [1]}, "d": True,
    }  # fmt: skip
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(whole, indent=1))
    monkeypatch.setattr(reading, "AT_ONCE", window)
    found = list(pieces(path))
    assert [value for name, value in found if name == "exchanges"] == whole["exchanges"]
    assert {name: value for name, value in found if name != "exchanges"} == {
        "a": -12.5e-3, "b": None, "c": {"exchanges": [1]}, "d": True,
    }  # fmt: skip


def test_exchanges_are_given_one_by_one_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scores.json"
    path.write_text('{"exchanges": [' + ",".join(['{"x": "' + "y" * 900 + '"}'] * 2000) + "]}")
    monkeypatch.setattr(reading, "AT_ONCE", 4096)
    longest = 0
    more = reading._Reader._more

    def watched(self: Any) -> bool:
        nonlocal longest
        found = more(self)
        longest = max(longest, len(self._text))
        return found

    monkeypatch.setattr(reading._Reader, "_more", watched)
    assert sum(1 for _ in pieces(path)) == 2000
    assert longest < 3 * 4096


@pytest.mark.parametrize(
    "broken", ["", "[]", "{", '{"exchanges": [{}', '{"a": 1', '{"a" 1}', "[" * 100_000, "\x00"]
)
def test_a_file_that_is_no_report_is_told_in_a_sentence(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "scores.json"
    path.write_text(broken)
    with pytest.raises(BrokenScores, match=r"^scores\.json .*\.$"):
        read(path)


def test_json_that_is_not_of_the_form_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    for wrong in ('{"schema_version": 1}', '{"exchanges": [3]}', '{"exchanges": [{"scores": 3}]}'):
        path.write_text(wrong)
        with pytest.raises(BrokenScores, match=r"^scores\.json is no report: .*\.$"):
            read(path)


# ---- what is kept of it


def told(number: int, value: float | None, **more: Any) -> dict[str, Any]:
    score = {"value": value} if value is not None else {"unscored": "none"}
    session = f"sess_{number:020x}"
    return {"session_id": session, "number": 0, "scores": {"speech_rel": score}, **more}


def whole(exchanges: list[dict[str, Any]], better: bool | None = True) -> dict[str, Any]:
    metric = {"name": "speech_rel", "title": "Cue", "mean": 2.0, "n": 1, "higher_is_better": better}
    return {
        "exchanges": exchanges, "schema_version": 1, "made": "2026-03-20T12:00:00Z",
        "software": "attune", "metrics": [metric],
    }  # fmt: skip


def numbers(some: tuple[ToldExchange, ...]) -> list[int]:
    return [int(each.session_id[5:], 16) for each in some]


def test_the_worst_and_the_best_are_the_ends_of_the_ranking(tmp_path: Path) -> None:
    values = [(37 * n) % 101 for n in range(101)]  # every value from 0 to 100 once
    exchanges = [told(value, float(value)) for value in values] + [told(500, None)]
    found = material(tmp_path, whole(exchanges)).ranked
    assert numbers(found.worst) == [0, 1, 2, 3, 4, 5]
    assert numbers(found.best) == [100, 99, 98, 97, 96, 95]
    found = material(tmp_path, whole(exchanges, better=False)).ranked
    assert numbers(found.worst) == [100, 99, 98, 97, 96, 95]
    assert numbers(found.best) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("count", [1, 2, 5, 11, 12, 13, 40])
def test_no_exchange_is_among_the_worst_and_the_best_at_once(tmp_path: Path, count: int) -> None:
    found = material(tmp_path, whole([told(n, float(n)) for n in range(count)])).ranked
    shown = numbers(found.worst) + numbers(found.best)
    assert len(shown) == len(set(shown)) == min(count, 2 * SHOWN)


def test_equal_exchanges_are_told_apart_by_their_other_metrics(tmp_path: Path) -> None:
    exchanges = [told(n, 1.0) for n in range(20)]
    for n, each in enumerate(exchanges):
        each["scores"]["ves"] = {"value": (n * 7) % 20}
    found = material(tmp_path, whole(exchanges)).ranked
    assert found.worst[0].scores["ves"].value == 0
    assert found.best[0].scores["ves"].value == 19


def test_figures_beside_published_ones_are_of_clean_speech_only(tmp_path: Path) -> None:
    def item(number: int, value: float, condition: str | None) -> dict[str, Any]:
        truth = {"benchmark": "echomind", "cue_given": "none", "condition": condition}
        return told(number, value, annotation=truth)

    exchanges = [item(0, 2.0, None), item(1, 4.0, "clean"), item(2, 1.0, "noise 5 dB")]
    [tally] = material(tmp_path, whole(exchanges)).tallies.values()
    assert (tally["speech_rel"].mean, tally["speech_rel"].n) == (3.0, 2)


def test_the_worst_and_the_best_are_of_what_people_get(tmp_path: Path) -> None:
    def item(number: int, given: str, condition: str) -> dict[str, Any]:
        truth = {"benchmark": "echomind", "cue_given": given, "condition": condition}
        return told(number, float(number), annotation=truth)

    tried = [item(0, "none", "clean"), item(1, "perceived", "noise 5 dB"), item(9, "true", "clean")]
    usual = [item(n, "perceived", "clean") for n in (4, 5)]
    found = material(tmp_path, whole([*tried, *usual])).ranked
    assert (numbers(found.worst), numbers(found.best)) == ([4], [5])
    found = material(tmp_path, whole(tried)).ranked
    assert (numbers(found.worst), numbers(found.best)) == ([0, 1], [9])


# ---- figures


def test_figures_are_written_as_people_write_them() -> None:
    assert number(-1234.5, 1) == "−1,234.5"
    assert number(-0.001, 2) == "0.00"
    assert number(None) == "–"
    assert chance(0.0004) == "p < 0.001"
    assert chance(0.05) == "p = 0.050"
    assert signed(0.5) == "+0.50"
    assert signed(-0.5) == "−0.50"
    assert signed(0.0001) == "0.00"


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0, 100) == [0, 20, 40, 60, 80, 100]
    assert ticks(1, 5) == [1, 2, 3, 4, 5]
    assert [tick(value, 0.25) for value in ticks(3.1, 4.0, 4)] == ["3.25", "3.50", "3.75", "4.00"]
    assert ticks(2, 2) == [2]


# ---- drawings


def drawn(svg: Html) -> ET.Element:
    return ET.fromstring(svg)


def test_a_scale_maps_its_ends_and_its_middle() -> None:
    scale = Scale(1, 5, 100, 500)
    assert [scale.at(value) for value in (1, 2, 3, 5, 9)] == [100, 200, 300, 500, 500]


def test_dots_stand_at_their_values_and_whiskers_at_their_ends() -> None:
    svg = drawn(dots("T", [Point("abcd", 50, 25, 75, "x")], low=0, high=100, width=400))
    left = 4 * 7 + 14  # letters and a gap
    at = [left + (400 - 24 - left) * part for part in (0.25, 0.5, 0.75)]
    (dot,) = svg.iter("circle")
    assert float(dot.attrib["cx"]) == pytest.approx(at[1], abs=0.01)
    whiskers = [each for each in svg.iter("line") if "whisker" in each.attrib["class"]]
    places = sorted((float(each.attrib["x1"]), float(each.attrib["x2"])) for each in whiskers)
    expected = [(at[0], at[0]), (at[0], at[2]), (at[2], at[2])]
    assert np.array(places) == pytest.approx(np.array(expected), abs=0.01)


def test_bars_of_a_histogram_are_as_tall_as_their_counts() -> None:
    svg = drawn(histogram("T", [0, 1, 2, 3], [1, 4, 0], [("p50", 1.5)]))
    bars = [float(each.attrib["height"]) for each in svg.iter("rect")]
    assert bars[0] * 4 == pytest.approx(bars[1], abs=0.05)
    assert bars[2] == 0
    assert [each.text for each in svg.iter("text")][-1] == "p50"


def test_few_values_are_dots_that_do_not_cover_each_other() -> None:
    svg = drawn(strip("T", [300.0, 100.0, 100.0], [("p50", 100.0)]))
    places = sorted((float(d.attrib["cx"]), float(d.attrib["cy"])) for d in svg.iter("circle"))
    assert places[0][0] == places[1][0] < places[2][0]
    assert places[0][1] != places[1][1] and places[2][1] == places[1][1]


def test_the_last_name_over_a_heat_map_has_room() -> None:
    name = "Reply latency, recorded, in all of them"
    svg = drawn(heat("T", [("", "a")], ["x", name], {(0, 0): Heat(0.5, "1")}))
    assert name in [each.text for each in svg.iter("text")]
    reach = 7 * len(name) * np.cos(np.radians(38))
    left = 7 + 16
    assert float(svg.attrib["width"]) >= left + 70 * 1.5 + reach


def test_a_heat_map_writes_every_value_and_colours_by_share() -> None:
    cells = {(0, 0): Heat(0.25, "2.5", "n 3"), (1, 1): Heat(1.7, "9")}
    svg = drawn(heat("T", [("g", "a"), ("g", "b")], ["x", "y"], cells))
    styles = [each.attrib.get("style") for each in svg.iter("rect")]
    assert styles == ["--share:25%", None, None, "--share:100%"]
    words = [each.text for each in svg.iter("text")]
    assert words == ["x", "y", "g", "a", "2.5", "n 3", "b", "9"]


def test_bars_of_a_waterfall_follow_each_other() -> None:
    svg = drawn(waterfall("T", [Span("a", 0, 100), Span("b", 100, 400, "think")]))
    first, second = svg.iter("rect")
    assert float(second.attrib["x"]) == pytest.approx(
        float(first.attrib["x"]) + float(first.attrib["width"]), abs=0.02
    )
    assert float(second.attrib["width"]) == pytest.approx(
        3 * float(first.attrib["width"]), rel=0.001
    )


def test_bands_of_a_flow_are_as_thick_as_what_goes_through() -> None:
    nodes = [Node("all", 0, 10), Node("on", 1, 6), Node("out", 1, 4, "poor")]
    links = [Link(0, 1, 6), Link(0, 2, 4, "poor")]
    svg = drawn(flow("T", ("A", "B"), nodes, links))
    heights = [float(each.attrib["height"]) for each in svg.iter("rect")]
    assert heights == pytest.approx([TALL, 0.6 * TALL, 0.4 * TALL])
    bands = []
    for band in svg.iter("path"):
        found = re.fullmatch(r"M\S+ (\S+)C.* \S+ (\S+)V(\S+)C.* \S+ (\S+)Z", band.attrib["d"])
        assert found is not None
        bands.append([float(each) for each in found.groups()])  # left, right, and both below
    (top, right, below_right, below), (second, _, _, end) = bands
    assert [below - top, below_right - right] == pytest.approx([0.6 * TALL] * 2, abs=0.2)
    assert second == pytest.approx(below, abs=0.2)  # the next band begins where the first ends
    assert end - second == pytest.approx(0.4 * TALL, abs=0.2)


def test_a_scatter_puts_more_to_the_right_and_above() -> None:
    places = [Place("low", 1, 1), Place("high", 5, 5, (4, 5), (4, 5))]
    svg = drawn(scatter("T", places, "x", "y", (1, 5), (1, 5)))
    low, high = svg.iter("circle")
    assert float(high.attrib["cx"]) > float(low.attrib["cx"])
    assert float(high.attrib["cy"]) < float(low.attrib["cy"])


def test_every_drawing_says_what_it_is() -> None:
    found = shown()
    svgs = re.findall(r"<svg[^>]*>(?:<title>(.*?)</title>)?", found)
    labelled = re.findall(r'<svg[^>]*role="img" aria-label="([^"]+)"', found)
    hidden = re.findall(r'<svg[^>]*aria-hidden="true"', found)
    assert len(labelled) + len(hidden) == len(svgs)
    assert len(labelled) > 25
    assert found.count("<figcaption>") == len(re.findall("<figure>", found))


# ---- nothing said is more than text


def test_text_is_escaped_and_markup_is_not() -> None:
    assert text("<a href='x'>\"&") == "&lt;a href=&#x27;x&#x27;&gt;&quot;&amp;"
    assert tag("p", "<b>", tag("i", "&"), title='"', class_="x") == (
        '<p title="&quot;" class="x">&lt;b&gt;<i>&amp;</i></p>'
    )
    assert text("a\x00\u202eb\ud800\r\nc") == "a��b�\nc"


def test_hostile_words_anywhere_stay_words_on_the_page(tmp_path: Path) -> None:
    found = Elements(page.page(material(tmp_path, poison()), talk))
    assert found.tags <= set(ELEMENTS.split())
    assert [name for _, name, _ in found.attributes if name.startswith("on")] == []
    links = [value for _, name, value in found.attributes if name in ("href", "action")]
    assert all(re.fullmatch(r"#[a-z-]+", each) for each in links)
    sources = [value for _, name, value in found.attributes if name in ("src", "srcset", "data")]
    assert len(sources) == 2 * SHOWN
    assert all(each.startswith("data:audio/mpeg;base64,") for each in sources)
    styles = {value for _, name, value in found.attributes if name == "style"}
    assert all(re.fullmatch(r"--share:\d+%", each) for each in styles)
    assert any("</script><script>alert(1)" in each for each in found.words)
    assert not any(letter in "".join(found.words) for letter in "\x00\x1b\u202e\u2066")


def test_ten_thousand_letters_are_cut(tmp_path: Path) -> None:
    long = told(0, 1.0, words={"user": "lengthy " * 2500, "reply": "ok"})
    found = page.page(material(tmp_path, whole([long])))
    assert "… and 18,500 more letters" in found
    assert found.count("lengthy ") <= 190


def test_hostile_words_anywhere_stay_words_in_markdown(tmp_path: Path) -> None:
    found = markdown.markdown(material(tmp_path, poison()))
    outside = re.sub(r"(?sm)^(`{3,})\n.*?\n\1$", "", found)  # of code
    assert len(outside) > len(found) / 2
    assert not re.search(r"(?<!\\)<", outside)
    assert not re.search(r"(?<!\\)\]\(", outside)
    assert "http://" not in outside
    for table in re.findall(r"(?:^\|.*\n)+", outside, flags=re.M):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1


def test_marks_that_begin_a_line_are_taken_as_they_are() -> None:
    assert escaped("- a") == "\\- a"
    assert escaped("1. a") == "1\\. a"
    assert escaped("# a\n## b") == "\\# a \\#\\# b"
    assert escaped("www.x.example and HTTP://y") == "www\\.x.example and HTTP\\://y"
    assert escaped("a`b|c\\") == "a\\`b\\|c\\\\"


def test_code_is_fenced_by_more_than_it_holds(tmp_path: Path) -> None:
    bad = whole([])
    bad["run"] = {
        "command": ["x", "```` oh"], "python": "", "packages": {}, "machine": "", "settings": {},
        "instruments": {},
    }  # fmt: skip
    assert "\n`````\nx '```` oh'\n`````\n" in markdown.markdown(material(tmp_path, bad))


def test_the_page_asks_nobody_for_anything() -> None:
    found = shown()
    style = re.search(r"(?s)<style>(.*)</style>", found)
    assert style is not None
    assert "url(" not in style[1] and "@import" not in style[1]
    assert "<script" not in found and "<link" not in found and "<iframe" not in found
    assert not re.search(r"""(?:src|href|srcset|poster)\s*=\s*["']?\s*(?:https?:)?//""", found)


# ---- what it says


def section(shown: str, name: str) -> str:
    found = re.search(rf'(?s)<section id="{name}">(.*?)</section>', shown)
    assert found is not None, name
    return found[1]


def words(markup: str) -> str:
    return " ".join(" ".join(Elements(markup).words).split())


def test_every_part_is_there_in_its_order() -> None:
    found = shown()
    assert re.findall(r'<section id="([a-z-]+)">', found) == [
        "run", "headline", "beside", "cues", "confusion", "cue-gap", "choices", "variants", "flow",
        "robustness", "latency", "duplex", "counterfactual", "human", "judges", "exchanges",
        "unscored", "made",
    ]  # fmt: skip
    assert "could not be told" not in words(found)
    for name in ("confusion", "cue-gap", "choices", "flow", "robustness", "latency", "human"):
        assert "<figure>" in section(found, name), name


def test_the_page_says_what_the_analyses_found() -> None:
    told = example().analyses
    gap = next(each for each in told["cue_gap"]["metrics"] if each["recovered"])
    assert f"{100 * gap['recovered']['share']:.0f}" in words(section(shown(), "cue-gap"))
    alpha = told["human"]["agreement"][0]["agreement"]["alpha"]
    assert f"{abs(alpha):.2f}" in words(section(shown(), "human"))
    goes = next(each for each in told["human"]["correlations"] if each["matching"])
    rho, n = goes["correlation"]["rho"], goes["correlation"]["n"]
    assert f"ρ {'−' * (rho < 0)}{abs(rho):.2f}, n = {n}" in words(section(shown(), "human"))
    kind = told["choices"]["asked"][0]["levels"][0]["kinds"][0]
    accuracy = f"{kind['accuracy']['mean']:.0f} % (guessing {kind['chance']:.0f})"
    assert f"{accuracy}, n = {kind['accuracy']['n']}" in words(section(shown(), "choices"))
    lost = told["flow"]
    assert f"of {lost['good'] + lost['poor']} are poor" in words(section(shown(), "flow"))
    stage = next(each for each in told["latencies"]["stages"] if each["name"] == "first_token")
    row = f"first token {stage['n']} {stage['p50']:,.0f} {stage['p90']:,.0f} {stage['p95']:,.0f}"
    assert row in words(section(shown(), "latency"))
    pair = told["counterfactual"]["pairs"][0]
    assert pair["sentence"] in words(section(shown(), "counterfactual"))
    final = told["duplex"]["humdial"]["final"]
    assert f"Final {final:.1f}" in words(section(shown(), "duplex"))


def test_parts_without_an_analysis_are_one_list_of_sentences(tmp_path: Path) -> None:
    bare = example().model_copy(update={"analyses": {}, "breakdowns": []})
    shown = page.page(material(tmp_path, bare))
    assert re.findall(r'<section id="([a-z-]+)">', shown) == [
        "run", "headline", "beside", "human", "exchanges", "absent", "unscored", "made",
    ]  # fmt: skip
    part = section(shown, "absent")
    assert re.findall("<dt>(.*?)</dt>", part) == [
        "By cue", "Perceived and true cue", "What hearing the cue is worth", "Multiple choice",
        "Context and tone", "Where poor replies went wrong", "Robustness", "Latency",
        "Who speaks when", "Counterfactual pairs and EmpathyEval", "The judges themselves",
    ]  # fmt: skip
    assert "No exchange has timings." in part
    assert "No ratings by people yet." in section(shown, "human")


PARTS = {
    "confusion": "confusion", "cue_gap": "cue-gap", "choices": "choices", "variants": "variants",
    "flow": "flow", "robustness": "robustness", "latencies": "latency", "duplex": "duplex",
    "counterfactual": "counterfactual", "empathy_eval": "counterfactual", "human": "human",
    "judges": "judges",
}  # fmt: skip


def test_an_analysis_that_failed_is_not_told_as_nothing(tmp_path: Path) -> None:
    names = list(MODULES)
    assert set(names) == set(PARTS)
    problems = [BrokenPart(where=f"analysis {name}", problem="it failed: E") for name in names]
    bare = example().model_copy(update={"analyses": {}, "broken": problems})
    shown = page.page(material(tmp_path, bare))
    for name in names:
        told = section(shown, PARTS[name])
        assert '<p class="warning">This could not be looked at: it failed: E.</p>' in told, name
        assert "No ratings by people yet" not in told


def test_an_analysis_of_a_form_nobody_knows_does_not_stop_the_rest(tmp_path: Path) -> None:
    odd = {name: {"odd": 1} for name in example().analyses}
    shown = page.page(material(tmp_path, example().model_copy(update={"analyses": odd})))
    assert "<table>" in section(shown, "headline")


def no_judge(**more: Any) -> Results:
    """A run in which nobody judged."""
    metrics = [
        each.model_copy(
            update={"mean": None, "n": 0, "unscored": 5, "reasons": {"no judge is configured": 5}}
        )
        if each.judge or each.family == "voice"
        else each
        for each in example().metrics
    ]
    declined = {each.name: {"no judge is configured": 99} for each in metrics if each.judge}
    judged = {"asked": [], "judged": {}, "self_agreement": [], "declined": declined}
    analyses = {**example().analyses, "judges": judged}
    return example().model_copy(update={"metrics": metrics, "analyses": analyses, **more})


def test_where_nobody_judged_nothing_is_said_of_how_steady_a_judge_is(tmp_path: Path) -> None:
    told = words(section(page.page(material(tmp_path, no_judge())), "judges"))
    assert "No judge was asked in this run." in told
    assert "asked once" not in told and "Agreement with itself" not in told


def test_what_was_not_judged_is_counted_alike_in_both_tables(tmp_path: Path) -> None:
    shown = page.page(material(tmp_path, no_judge()))
    found = [
        re.search(r"no judge is configured ([\d,]+) ", words(section(shown, name)))
        for name in ("judges", "unscored")
    ]
    assert found[0] and found[1] and found[0][1] == found[1][1] != "99"


def test_a_half_of_empathy_that_has_no_figure_says_why(tmp_path: Path) -> None:
    told = words(section(page.page(material(tmp_path, no_judge())), "headline"))
    assert re.search(
        r"how the reply sounds Nothing of this could be scored: no judge is configured "
        r"\(\d+ metrics\)\.",
        told,
    )


def test_the_title_names_the_run_and_the_data_set(tmp_path: Path) -> None:
    out = tmp_path / "abl"
    page.write(saved(out, example()), out)
    title, *_ = re.findall("<title>(.*?)</title>", (out / page.PAGE).read_text())
    rest = "fullduplex, empathyeval"
    assert title == f"How it listens and answers · abl: EchoMind, {rest}, scored on 2 April 2026"
    assert page.named(tmp_path / "abl" / "report") == "abl"
    talked = page.below(material(tmp_path, whole([told(1, 2.0)])), "plain")
    assert talked.startswith("plain: recorded conversations, scored on ")


def test_markdown_says_where_the_sound_is(tmp_path: Path) -> None:
    found = markdown.markdown(material(tmp_path))
    assert "Sound is only in the HTML report" in found and "not at hand" not in found


def test_the_models_of_the_sessions_are_told_with_their_files(tmp_path: Path) -> None:
    used = ModelUsed(
        backend="llamacpp",
        version="xllamacpp 2026.10",
        files=[ModelFile(name="smollm2.gguf", sha256="b179c9523d0e6a0f98a3")],
    )
    run = example().run
    assert run is not None
    models = [UsedModel(role="responder", used=used, sessions=12)]
    run = run.model_copy(update={"commit": "abc1234-dirty", "models": models})
    shown = page.page(material(tmp_path, example().model_copy(update={"run": run})))
    made = words(section(shown, "made"))
    assert "responder llamacpp xllamacpp 2026.10 smollm2.gguf b179c9523d0e 12" in made
    assert "Commit abc1234-dirty" in made


def altered(tmp_path: Path, analysis: str, **more: Any) -> str:
    """The page where an analysis says something else."""
    told = {**example().analyses, analysis: {**example().analyses[analysis], **more}}
    return page.page(material(tmp_path, example().model_copy(update={"analyses": told})))


def test_recordings_that_were_played_again_are_told(tmp_path: Path) -> None:
    told = words(section(altered(tmp_path, "confusion", again=17), "confusion"))
    assert "17 further exchanges played a recording once more" in told


def test_a_standing_without_an_interval_has_one_dash(tmp_path: Path) -> None:
    standings = [
        {**each, "low": None, "high": None}
        for each in example().analyses["empathy_eval"]["standings"]
    ]
    shown = altered(tmp_path, "empathy_eval", standings=standings)
    assert "– to –" not in words(section(shown, "counterfactual"))


def test_stages_after_the_first_sound_are_a_sentence(tmp_path: Path) -> None:
    fall = {**example().analyses["latencies"]["waterfall"], "later": {"first_token": 1234.4}}
    told = words(section(altered(tmp_path, "latencies", waterfall=fall), "latency"))
    assert "Reached after the first sound, on average: first token (1,234 ms)." in told


def test_situations_have_columns_of_their_own(tmp_path: Path) -> None:
    mean = {"mean": 3.0, "low": None, "high": None, "n": 2}
    over = {"mean": 0.5, "low": None, "high": None, "p": None, "n": 2}
    long = "Somebody has just come home from a very long day at work."
    metric = {
        "metric": "bleu4", "title": "BLEU-4", "variants": {"At a wedding.": mean, long: mean},
        "over_first": {long: over},
    }  # fmt: skip
    table = {"setting": "context", "strand": "linguistic", "metrics": [metric]}
    still = {"mean": None, "low": None, "high": None, "n": 0}
    group = {
        "setting": "context", "groups": 3, "plays": 9, "steered": still, "planned_apart": still,
    }  # fmt: skip
    shown = altered(tmp_path, "variants", tables=[table], groups=[group], steering=[])
    told = words(section(shown, "variants"))
    short = "Somebody has just come home from a very…"
    assert f"At a wedding. {short} {short} − At a wedding. BLEU-4 3.00 (2) 3.00 (2) +0.50" in told
    assert "3 scripts had replies in two situations or more, 9 times in all" in told


def test_without_ratings_nothing_is_called_human(tmp_path: Path) -> None:
    shown = page.page(material(tmp_path, results(rows(4), people=False)))
    assert words(section(shown, "human")).endswith("No ratings by people yet.")


def test_words_and_voice_stand_in_tables_of_their_own() -> None:
    part = section(shown(), "headline")
    linguistic, paralinguistic, rest = re.split("<h3>", part)[1:4]
    assert "Linguistic empathy" in linguistic and "Paralinguistic empathy" in paralinguistic
    assert "Takes up the cue" in linguistic and "Takes up the cue" not in paralinguistic
    assert "Vocal empathy (VES)" in paralinguistic and "Vocal empathy (VES)" not in linguistic
    assert "EChat-eval, emotion" in rest  # judged at once by its authors: in neither half


def test_a_mean_stands_with_its_interval_and_its_number() -> None:
    part = section(shown(), "headline")
    metric = next(each for each in example().metrics if each.name == "ctx_fit")
    row = next(each for each in re.findall(r"(?s)<tr>.*?</tr>", part) if "Fits the context" in each)
    low, high = (f"{end:.2f}" for end in (metric.low, metric.high))
    assert f"{metric.mean:.2f} {low} to {high} 1 to 5 {metric.n} {metric.unscored}" in words(row)


def test_what_was_not_scored_is_told_with_its_reasons() -> None:
    part = words(section(shown(), "unscored"))
    for sentence in (
        "no encoder is configured", "no consent to sound", "no consent to research 3",
        "still being recorded 1", "audio.flac ends too soon.",
    ):  # fmt: skip
        assert sentence in part


def test_the_exact_command_and_versions_are_told() -> None:
    part = words(section(shown(), "made"))
    assert "python -m server.scoring runs --out reports/april" in part
    assert "onnxruntime 1.31.1" in part
    assert "qwen3-omni-30b 2026-01 judge.example.org Apache-2.0" in part


def test_words_that_may_not_be_shown_are_not_there(tmp_path: Path) -> None:
    mute = [each.model_copy(update={"words": None}) for each in example().exchanges]
    shown = section(
        page.page(material(tmp_path, example().model_copy(update={"exchanges": mute}))), "exchanges"
    )
    assert "The words may not be shown." in shown
    assert "<blockquote>" not in shown


# ---- beside what others published


def test_published_tables_are_whole_and_hold_the_best_values_that_were_published() -> None:
    found = {each.name: each for each in tables()}
    for each in found.values():
        assert all(len(row) == len(each.columns) for row in each.rows.values()), each.name

    def best(table: str, column: str) -> tuple[str, float]:
        columns = [each.title for each in found[table].columns]
        place = columns.index(column)
        values = {
            name: value
            for name, row in found[table].rows.items()
            if isinstance(value := row[place], float)
        }
        low = found[table].columns[place].higher_is_better is False
        name = (min if low else max)(values, key=lambda each: values[each])
        return name, values[name]

    # The best value of each metric as the papers and leaderboards print it.
    assert best("echomind", "WER") == ("Audio-Flamingo3", 2.93)
    assert best("echomind", "SemSim") == ("Qwen2.5-Omni-7B", 99.27)
    assert best("echomind", "Und. ACC") == ("GPT-4o-Audio", 66.25)
    assert best("echomind", "Reas. ACC") == ("GPT-4o-Audio", 68.04)
    assert best("echomind", "NISQA") == ("VITA-Audio", 4.99)
    assert best("echomind", "DNMOS") == ("LLaMA-Omni2", 4.46)
    assert best("echomind", "EmoAlign") == ("GPT-4o-Audio", 51.31)
    assert best("echomind", "VES") == ("GPT-4o-Audio", 3.34)
    assert best("echomind", "BLEU")[1] == 2.54
    assert best("echomind", "METEOR")[1] == 18.37
    assert best("echomind", "BERTScore")[1] == 82.70
    assert best("echomind", "C3") == ("Step-Audio", 4.43)
    assert best("echomind", "C4") == ("GPT-4o-Audio", 3.42)
    assert best("echat", "Event") == ("OSUM-EChat (people)", 88.0)
    assert found["echat"].rows["OSUM-EChat without both"] == (51.6, 40.3, 39.1, 10.4, 54.2)
    assert best("humdial", "RESPOND") == ("Easy-Turn + OSUM-EChat", 80.2)
    assert best("humdial", "Delay") == ("First baseline", 1.841)
    assert best("voicebench", "Overall") == ("GPT-4o-Audio", 86.42)
    assert best("empathyeval", "Score")[1] == 0.814
    assert best("fullduplex", "Interr. rating") == ("PersonaPlex", 4.21)
    assert best("fullduplex", "Interr. latency") == ("Moshi", 0.257)
    assert best("fullduplex", "Backch. TOR") == ("GPT-Realtime", 0.0)


def test_no_metric_of_ours_stands_in_a_column_it_must_not() -> None:
    for table in tables():
        for column in table.columns:
            assert column.ours not in column.never
            assert not (column.ours or "").endswith(("_minilm", "_nosyn"))
            assert not (column.title == "DNMOS" and (column.ours or "").startswith("dnsmos"))


def test_every_metric_the_report_asks_for_is_one_that_is_measured() -> None:
    known = {each.name for given in catalogue.every().values() for each in given}
    asked = {
        name
        for table in tables()
        for column in table.columns
        for name in (column.ours, *column.never)
        if name is not None and not name.startswith("analysis:")
    }
    chosen = {*attributes.CHOSEN, *attributes.LINGUISTIC, *attributes.VOCAL}
    assert asked | chosen | {*RANKING, *cue_gap.MAIN, *robustness.DRAWN} <= known


def test_a_packaged_encoders_figure_never_stands_in_the_references_column() -> None:
    part = section(shown(), "beside")
    assert "published, other judge" in part.lower()
    table = re.search(r"(?s)<table>.*?</table>", part)
    assert table is not None
    heads = [words(each) for each in re.findall(r"(?s)<th scope=\"col\".*?</th>", table[0])]
    ours = re.findall(r'(?s)<tr class="ours">.*?</tr>', table[0])
    assert len(ours) == 6  # the true cue, none, ours: each for people's and synthetic speech
    for row in ours:
        cells = [words(each) for each in re.findall(r"(?s)<t[hd].*?</t[hd]>", row)]
        told = dict(zip(heads, cells, strict=True))
        for title in ("SemSim ↑", "DNMOS ↑ ‡", "BERTScore ↑ ‡", "METEOR ↑"):
            assert told[title] == "–"
    perceived = next(row for row in ours if "cue perceived, basic prompt, synthetic" in row)
    values = [
        row.values["speech_rel"]
        for row in rows(SCRIPTS)
        if row.annotation.cue_given == "perceived"
        and row.annotation.condition == "clean"
        and row.annotation.speech == "synthetic"
        and "speech_rel" in row.values
    ]
    assert words(perceived).endswith(f"{np.mean(values):.2f}")


def test_empathy_evals_score_stands_beside_the_leaderboard() -> None:
    part = words(section(shown(), "beside"))
    score = example().analyses["empathy_eval"]["standings"][0]["score"]
    assert f"Attune, as it is {score:.3f}" in part
    assert "The challenge's winner 0.814 457 137 0.786 343 113 0.920 114 24" in part
    assert "Qwen2.5-Omni-7B 0.389 249 35 – – – – 60 –" in part


def beside_told(
    tmp_path: Path, name: str, exchanges: list[dict[str, Any]], **head: Any
) -> dict[str, dict[str, str]]:
    """Our rows beside a table, by name: cells by title of their column."""
    scores = material(tmp_path, {**whole(exchanges), **head})
    published = next(each for each in tables() if each.name == name)
    titles = [column.title for column in published.columns]
    return {
        row.cells[0].text: {
            title: cell.text
            for title, cell in zip(titles, row.cells[1:], strict=True)
            if cell.text != "–"
        }
        for row in beside._ours(published, scores)
    }


def item(values: dict[str, float], **truth: str) -> dict[str, Any]:
    scores = {name: {"value": value} for name, value in values.items()}
    given = {"user_item": "u", "reply_item": "r", "annotation": truth, "scores": scores}
    return {"session_id": "sess_" + "0" * 20, "number": 0, **given}


def test_a_column_is_over_its_own_tasks_and_a_row_over_one_speech_and_prompt(
    tmp_path: Path,
) -> None:
    how = {"benchmark": "echomind", "cue_given": "perceived", "speech": "synthetic"}
    talked = {**how, "task": "conversation", "prompt": "basic"}
    exchanges = [
        item({"wer_raw": 4.0}, **how, task="asr"),
        item({"wer_raw": 90.0, "choice_reasoning": 100.0}, **how, task="mcq"),
        item({"wer_raw": 30.0, "speech_rel": 3.0}, **talked),
        item({"wer_raw": 40.0, "speech_rel": 5.0}, **{**talked, "prompt": "enhanced"}),
        item({"wer_raw": 50.0, "speech_rel": 1.0}, **{**talked, "speech": "human"}),
    ]
    assert beside_told(tmp_path, "echomind", exchanges) == {
        "Attune, cue perceived, basic prompt, synthetic speech": {
            "WER": "4.00", "Reas. ACC": "100.00", "C4": "3.00"},
        "Attune, cue perceived, enhanced prompt, synthetic speech": {
            "WER": "4.00", "Reas. ACC": "100.00", "C4": "5.00"},
        "Attune, cue perceived, basic prompt, people's speech": {"WER": "50.00 §", "C4": "1.00"},
    }  # fmt: skip


def test_figures_of_full_duplex_bench_are_of_its_first_version_by_speech(tmp_path: Path) -> None:
    how = {"benchmark": "fullduplex", "cue_given": "perceived"}
    exchanges = [
        item({"pause_take_over": 1.0}, **how, task="pause", speech="synthetic"),
        item({"pause_take_over": 0.0}, **how, task="pause", speech="human"),
        item({"interruption_rating": 5.0}, **how, task="interruption", speech="synthetic"),
        item({"interruption_rating": 1.0}, **how, task="user_interruption"),
        item({"take_over": 0.0}, **how, task="user_backchannel"),
    ]
    assert beside_told(tmp_path, "fullduplex", exchanges) == {
        "Attune, cue perceived": {
            "Pause TOR, synthetic": "1.000", "Pause TOR, Candor": "0.000",
            "Interr. rating": "5.000",
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("folder", "told"),
    [("/nets/models--Qwen--Qwen3-Embedding-0.6B/snapshots/1", "98.00"), ("/nets/other", "98.00 ‡")],
)
def test_another_encoder_than_theirs_is_marked(tmp_path: Path, folder: str, told: str) -> None:
    run = {
        "command": [], "python": "", "packages": {}, "machine": "", "instruments": {},
        "settings": {"encoders": {"semsim": folder}},
    }  # fmt: skip
    asr = item({"semsim": 98.0}, benchmark="echomind", task="asr")
    [row] = beside_told(tmp_path, "echomind", [asr], run=run).values()
    assert row == {"SemSim": told}


def test_humdials_composite_stands_beside_its_published_rows(tmp_path: Path) -> None:
    analyses = {"duplex": {"humdial": {"respond": 70.0, "resume": 40.0, "delay_sec": 1.5}}}
    talk = item({"overlap_behaviour": 100.0}, benchmark="fullduplex", task="user_interruption")
    ablated = item({}, benchmark="fullduplex", task="user_interruption", cue_given="none")
    found = beside_told(tmp_path, "humdial", [talk], analyses=analyses)
    assert found == {"Attune, as it is": {"RESPOND": "70.0", "RESUME": "40.0", "Delay": "1.500"}}
    assert beside_told(tmp_path, "humdial", [ablated], analyses=analyses) == {}
    unjudged = {"duplex": {"humdial": {**analyses["duplex"]["humdial"], "behaviour": "timed"}}}
    found = beside_told(tmp_path, "humdial", [talk], analyses=unjudged)
    [told] = found.values()
    assert told == {"Delay": "1.500"}, "no judge was asked: only the delay may be compared"


def test_a_composite_without_a_judge_says_so(tmp_path: Path) -> None:
    told = {"respond": 70.0, "resume": 40.0, "delay_sec": 1.5, "delay_score": 50.0, "final": 54.0}

    def composite(behaviour: str) -> str:
        found = {"v1": [], "v15": [], "changes": [], "humdial": {**told, "behaviour": behaviour}}
        drawn = page.page(material(tmp_path, {**whole([]), "analyses": {"duplex": found}}))
        return words(section(drawn, "duplex"))

    timed, judged = composite("timed"), composite("judged")
    assert "A composite after HumDial's, from the recording alone" in timed
    assert "No judge was asked" in timed and "not to be held against published" in timed
    assert "HumDial's composite" in judged and "No judge was asked" not in judged


def test_silence_is_told_beside_what_is_judged(tmp_path: Path) -> None:
    truth = {"benchmark": "echomind", "task": "conversation"}
    silent = {**item({"bleu4": 0.0}, **truth), "reply_item": None}
    exchanges = [item({"speech_rel": 5.0, "bleu4": 4.0}, **truth), silent]
    [name] = beside_told(tmp_path, "echomind", exchanges)
    assert name == "Attune, as it is; 50\N{NARROW NO-BREAK SPACE}% got no reply"
    over = {"exchanges": 2, "data": ["echomind"], "asked": 2, "unanswered": 1}
    shown = page.page(material(tmp_path, {**whole(exchanges), "headline": over}))
    assert "1 exchange of 2 got no reply" in words(section(shown, "headline"))


def test_the_headline_says_what_it_is_over() -> None:
    over = example().headline
    part = words(section(shown(), "headline"))
    assert (
        f"Means over {over.exchanges} exchanges of echomind, empathyeval, fullduplex "
        f"(cue as perceived, clean), with 95 % bootstrap intervals; {over.clusters} scripts are "
        "drawn, each with all its plays. Fewer than 5 have no interval. Not among them, but in "
        "tables of their own: cue none (8), cue true (8), noise 10 dB (4), speed 1.2 (2)."
    ) in part
    assert "They pool variant: alternative, neutral, target." in part


def test_peoples_own_talk_is_told_apart_from_a_benchmarks_items(tmp_path: Path) -> None:
    group = {"metric": "speech_rel", "mean": 4.75, "n": 3}
    told = {
        **whole([]), "headline": {"data": ["echomind"], "exchanges": 9},
        "breakdowns": [{"by": "benchmark", "groups": [{**group, "value": "own talk"},
                                                      {**group, "value": "echomind"}]}],
    }  # fmt: skip
    part = section(page.page(material(tmp_path, told)), "headline")
    assert "Cue ↑ 4.75" in words(part.split("People&#x27;s own talk, apart")[1])


def test_a_data_sets_licence_and_its_failed_items_are_told() -> None:
    opening = words(section(shown(), "run"))
    made = len(rows(SCRIPTS))
    assert f"{made} of {made + 2} plays, 2 failed; from https://data.example.org" in opening
    assert "licence: CC BY-NC-SA 4.0" in opening and "2 items of data sets failed" in opening
    part = words(section(shown(), "unscored"))
    assert "Items of EchoMind that failed" in part
    assert "the server did not answer in time 2" in part
    assert "case 902: the server did not answer in time" in part


def test_replies_that_are_poor_by_construction_are_told_as_such(tmp_path: Path) -> None:
    flow = {**example().analyses["flow"], "by_proxy": 12}
    analyses = {**example().analyses, "flow": flow}
    shown = page.page(material(tmp_path, example().model_copy(update={"analyses": analyses})))
    told = words(section(shown, "flow"))
    assert "Of 12 no judge was asked: among those, a quarter of the run is poor by cons" in told


# ---- sound


def exchange_told(user: str | None = "item_0", reply: str | None = "item_1") -> ToldExchange:
    return ToldExchange(session_id="sess_" + "0" * 20, number=0, user_item=user, reply_item=reply)


def heard(clip: clips.Clip) -> "np.ndarray[Any, np.dtype[np.float64]]":
    data = base64.b64decode(clip.address.removeprefix("data:audio/mpeg;base64,"))
    sound, rate = soundfile.read(io.BytesIO(data))
    assert rate == WIRE_RATE and sound.ndim == 1
    return np.asarray(sound)


def test_a_clip_holds_both_sides_from_before_the_first_word_to_after_the_last() -> None:
    found = clips.clip(exchange_told(), talk)
    assert found.about == "4.9 s, both sides"
    sound = heard(found)
    assert len(sound) / WIRE_RATE == pytest.approx(4.9, abs=0.1)
    loud = [float(np.abs(sound[round(s * WIRE_RATE) :][:4800]).max()) for s in (0.5, 2.2, 3.5)]
    assert loud[0] > 0.2 and loud[2] > 0.2 and loud[1] < 0.05


def test_a_long_exchange_is_cut_to_where_the_speakers_change() -> None:
    pcm = np.zeros((60 * WIRE_RATE, 2), np.int16)
    pcm[30 * WIRE_RATE : 30 * WIRE_RATE + 2400, 1] = 20_000  # the reply's first sound
    turns = [turn(0, "user", 0, 29), turn(1, "assistant", 30, 59)]
    found = clips.clip(exchange_told(), lambda _: conversation(turns, pcm))
    assert found.about == "20.0 s, both sides; cut to the change of speakers"
    sound = heard(found)
    assert len(sound) / WIRE_RATE == pytest.approx(20, abs=0.1)
    assert int(np.abs(sound).argmax()) / WIRE_RATE == pytest.approx(10, abs=0.2)


def test_sound_is_there_only_where_it_may_be() -> None:
    no_sound = Consent(transcript=True, audio=False, research=True)
    deaf = replace(talk("sess_" + "0" * 20), consent=no_sound)
    assert clips.clip(exchange_told(), lambda _: deaf).about == "No consent to sound."
    silent = conversation([turn(0, "user", 0, 1)], None, consent=ALL)
    assert clips.clip(exchange_told(), lambda _: silent).about == "No consent to sound."
    assert clips.clip(exchange_told("other", None), talk).about == "Nothing was spoken."
    assert clips.clip(exchange_told(), None).address == ""


def test_sound_that_cannot_be_read_does_not_stop_the_report(tmp_path: Path) -> None:
    def gone(_: str) -> Conversation:
        raise KeyError("gone")

    shown = section(page.page(material(tmp_path), gone), "exchanges")
    assert shown.count("The sound could not be read.") == 2 * SHOWN


# ---- files


def test_the_page_and_the_markdown_lie_in_the_reports_folder(tmp_path: Path) -> None:
    path = saved(tmp_path, example())
    page.write(path, tmp_path)
    markdown.write(path, tmp_path)
    shown = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert shown.startswith("<!doctype html>\n<html") and shown.endswith("</html>\n")
    assert (tmp_path / "report.md").read_text("utf-8").startswith("# How it listens and answers")
    assert (tmp_path / "report" / "index.html").stat().st_mode & 0o077 == 0


def test_a_folder_that_was_deleted_meanwhile_stays_so(tmp_path: Path) -> None:
    path = saved(tmp_path / "work", example())
    for write in (page.write, markdown.write):
        with pytest.raises(FileNotFoundError):
            write(path, tmp_path / "gone")
    assert not (tmp_path / "gone").exists()
