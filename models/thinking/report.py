"""Replies to fixed words and cues, with and without thinking: `python -m models.thinking.report`.

Prints a table to be read by a person, and what can be counted. A sample of EchoMind (its
sample.json) may be brought along: then replies are also compared with its reference replies.
"""

import asyncio
import json
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from models import weights
from models.percept import Percept
from models.perception.words import Encoder, shared_encoder
from models.protocols import Responder, Thinker
from models.responder_llamacpp import LlamaCpp
from models.thinking.guards import apologises, pretends, refuses, stale
from models.thinking.imagined import imagined
from models.thinking.plain import PlainThinker
from models.thinking.plan import Heard
from models.thinking.tuned import TunedThinker
from models.types import Turn

CASES = Path(__file__).with_name("cases.toml")
CERTAIN = 0.9
TOKENS = 160
# EchoMind's names of attributes, where they are not ours.
ECHOMIND = {"elderly": "age", "child": "age", "sad": "emotion", "happy": "emotion",
            "sigh": "nonverbal", "fast": "speed"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    said: str
    cue: Mapping[str, str]
    reference: str = ""

    @property
    def heard(self) -> str:
        return ", ".join(self.cue.values()) or "-"


@dataclass(frozen=True, slots=True)
class Given:
    """One reply, with the line of its plan."""

    text: str
    plan: str


def percept(cue: Mapping[str, str]) -> Percept:
    """A percept in which only the cue is known, and that surely."""
    return imagined(Heard(place, name, CERTAIN, True) for place, name in cue.items())


def cases(file: Path = CASES, sample: Path | None = None) -> list[Case]:
    """The project's own, and EchoMind's with their references if a sample is there."""
    found = [
        Case(row["said"], row["cue"]) for row in tomllib.loads(file.read_text("utf-8"))["cases"]
    ]
    for dialogue in json.loads(sample.read_text("utf-8"))["dialogues"] if sample else ():
        for variant in dialogue["variants"].values():
            name = variant["attribute"].lower()
            cue = {ECHOMIND[name]: name} if name in ECHOMIND else {}
            found.append(Case(dialogue["script"], cue, variant["reference_response"]))
    return found


async def give(thinker: Thinker, responder: Responder, case: Case) -> Given:
    dialogue = [Turn("user", case.said, percept(case.cue))]
    plan = await thinker.think(dialogue, responder)
    async with aclosing(thinker.answer(plan, "", dialogue, responder, TOKENS)) as tokens:
        words = "".join([token async for token in tokens])
    return Given(f"{plan.acknowledgement} {words}".strip(), plan.line)


def counted(found: Sequence[Case], given: Sequence[Given], encoder: Encoder) -> dict[str, float]:
    """What can be said of the replies in numbers."""
    texts = [one.text for one in given]
    words = [text.lower().split() for text in texts]
    pairs = [pair for line in words for pair in zip(line, line[1:], strict=False)]
    # The same words with another cue should get another answer.
    twins = [(a, b) for a in range(len(found)) for b in range(a) if found[a].said == found[b].said]
    said = list(zip([case.said for case in found], texts, strict=True))
    known = [(case.reference, text) for case, text in zip(found, texts, strict=True)]
    figures: dict[str, float] = {
        "replies": len(given),
        "near what was said": _nearness(encoder, said),
        "same reply to another cue": float(np.mean([texts[a] == texts[b] for a, b in twins])),
        "distinct pairs of words": len(set(pairs)) / max(len(pairs), 1),
        "words": float(np.mean([len(line) for line in words])),
        "apologise": sum(map(apologises, texts)),
        "refuse": sum(map(refuses, texts)),
        "pretend": sum(map(pretends, texts)),
        "stale": sum(map(stale, texts)),
    }
    if referred := [pair for pair in known if pair[0]]:
        figures["near the reference"] = _nearness(encoder, referred)
        figures |= _overlap(referred)
    return {name: round(value, 3) for name, value in figures.items()}


def _overlap(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """The words shared with a reference, as translations and summaries are scored."""
    from rouge_score.rouge_scorer import RougeScorer  # of the development tools
    from sacrebleu import corpus_bleu

    references, replies = [one for one, _ in pairs], [other for _, other in pairs]
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    shared = [scorer.score(one, other)["rougeL"].fmeasure for one, other in pairs]
    return {
        "BLEU-4 to the reference": corpus_bleu(replies, [references]).score / 100,
        "ROUGE-L to the reference": float(np.mean(shared)),
    }


def _nearness(encoder: Encoder, pairs: Sequence[tuple[str, str]]) -> float:
    return float(np.mean([encoder.nearness(one, [other])[0] for one, other in pairs]))


async def _compare(found: Sequence[Case]) -> tuple[list[Given], list[Given]]:
    before = await _given(PlainThinker(), LlamaCpp(str(weights.path("smollm2"))), found)
    return before, await _given(TunedThinker(lead=True), LlamaCpp(), found)


async def _given(thinker: Thinker, responder: LlamaCpp, found: Sequence[Case]) -> list[Given]:
    try:
        return [await give(thinker, responder, case) for case in found]
    finally:
        responder.close()


def main(
    out: Annotated[Path | None, typer.Option(help="A JSON file to write as well.")] = None,
    sample: Annotated[Path | None, typer.Option(help="EchoMind's sample.json.")] = None,
) -> None:
    """Show replies with and without thinking, side by side."""
    found = cases(sample=sample)
    before, after = asyncio.run(_compare(found))
    encoder = shared_encoder()
    figures = {"before": counted(found, before, encoder), "after": counted(found, after, encoder)}
    console = Console(width=200)
    table = Table("said", "heard", "before", "after", "plan", show_lines=True)
    for case, old, new in zip(found, before, after, strict=True):
        table.add_row(case.said, case.heard, old.text, new.text, new.plan)
    console.print(table)
    numbers = Table("figure", "before", "after")
    for name, value in figures["before"].items():
        numbers.add_row(name, str(value), str(figures["after"][name]))
    console.print(numbers)
    if out:
        rows = [
            {
                "said": c.said,
                "heard": dict(c.cue),
                "before": b.text,
                "after": a.text,
                "plan": a.plan,
            }
            for c, b, a in zip(found, before, after, strict=True)
        ]
        out.write_text(json.dumps({"figures": figures, "replies": rows}, indent=1), "utf-8")


if __name__ == "__main__":
    typer.run(main)
