"""An evaluation as tables that a person reads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

ABSENT = "absent"

Told = Mapping[str, Any]  # the figures of one way of telling
Row = tuple[str, Callable[[Told], str]]


def markdown(evaluation: Mapping[str, Any]) -> str:
    return "\n".join(_parts(evaluation)).rstrip() + "\n"


def verdicts(found: Mapping[str, Any]) -> str:
    """What readers of blind pairs chose."""
    lines = [
        f"{found['pairs']} pairs; {found['same']} more, whose replies were the same, not shown.",
        "",
    ]
    rows = []
    for meeting, readers in found["meetings"].items():
        for reader, score in readers.items():
            for name, won in score["contestants"].items():
                share = won["share"]
                low, high = won["interval"] or (None, None)
                told = "–" if share is None else f"{share:.0%} ({low:.0%}–{high:.0%})"
                read = [str(score["read"]), str(score["ties"]), name, str(won["wins"]), told]
                rows.append([meeting, reader, *read, f"{score['p']:.3f}"])
    heads = ["between", "read by", "read", "ties", "contestant", "wins", "share of decided", "p"]
    return "\n".join([*lines, *_table(heads, rows)]) + "\n"


def _parts(evaluation: Mapping[str, Any]) -> Iterator[str]:
    made = evaluation["made"]
    yield "# Evaluation of the reply model\n"
    yield (
        f"{made['scripts']} scripts of {made['split']}, each in three ways; plans by "
        f"{made['plans']}; seed {made['seed']}. In brackets: 95 % intervals by drawing scripts "
        f"again. {made['machine']}.\n"
    )
    columns = {
        f"{name}, {told}": figures
        for name, contestant in evaluation["contestants"].items()
        for told, figures in contestant["told"].items()
    }
    for title, note, rows in SECTIONS:
        yield f"## {title}\n\n{note}\n"
        yield from _table(
            ["", *columns], [[label, *map(of, columns.values())] for label, of in rows]
        )
        yield ""
    yield "### Steering by dimension of the cue\n"
    kinds = sorted({kind for each in columns.values() for kind in each["steering"]["dimensions"]})
    yield from _table(
        ["", *columns],
        [
            [kind, *(share(each["steering"]["dimensions"].get(kind)) for each in columns.values())]
            for kind in kinds
        ],
    )
    yield ""
    rules = evaluation["rules"]
    yield (
        f"The rules' own plans: strategies {number(rules['strategies'])}, emotion "
        f"{share(rules['emotion'])}; to {rules['fixed']} of them no model would be asked.\n"
    )
    yield from _apart(evaluation["contestants"])
    yield from _emobank(evaluation["contestants"])
    yield from _echomind(columns)
    yield f"## Blind pairs\n\n{evaluation['pairs']}"


def _apart(contestants: Mapping[str, Any]) -> Iterator[str]:
    """What does not depend on how a contestant is told."""
    yield "## Beyond replies\n"
    rows = [
        [
            name,
            *(share(found["sane"]) for found in each["chat"].values()),
            _dream(each["dream"]),
        ]
        for name, each in contestants.items()
    ]
    ways = next(iter(contestants.values()))["chat"]
    asked = [f"plain questions answered sanely, {way}" for way in ways]
    yield from _table(["", *asked, "DREAM, accuracy"], rows)
    yield ""


def _dream(found: Mapping[str, Any]) -> str:
    if ABSENT in found:
        return str(found[ABSENT])
    return f"{share(found['accuracy'])}, by chance {found['by chance']:.0%}"


def _emobank(contestants: Mapping[str, Any]) -> Iterator[str]:
    yield "## EmoBank\n"
    rows = []
    for name, each in contestants.items():
        if ABSENT in each["emobank"]:
            yield f"{name}: {each['emobank'][ABSENT]}\n"
            continue
        for side, scales in each["emobank"].items():
            for scale, found in scales.items():
                parts = {"all": found, **found["genres"]}
                rows += [
                    [
                        name,
                        side,
                        scale,
                        kind,
                        share(part["accuracy"]),
                        f"{part['commonest']:.0%}",
                        "–" if part["r"] is None else f"{part['r']:.2f}",
                        str(part["accuracy"]["n"]),
                    ]
                    for kind, part in parts.items()
                ]
    if rows:
        heads = ["", "of", "scale", "genre", "accuracy", "always the commonest", "r", "n"]
        yield from _table(heads, rows)
    yield ""


def _echomind(columns: Mapping[str, Told]) -> Iterator[str]:
    shown = {name: each["echomind"] for name, each in columns.items()}
    yield "## EchoMind's sample\n"
    given = {name: each for name, each in shown.items() if ABSENT not in each}
    if not given:
        yield next((f"{each[ABSENT]}\n" for each in shown.values()), "")
        return
    measures = [
        [label, *(f"{each['overlap'][name]:.3f}" for each in given.values())]
        for label, name in (("BLEU-4", "bleu4"), ("ROUGE-L", "rouge_l"), ("METEOR", "meteor_nosyn"))
    ]
    near = ["similarity", *(number(each["similarity"]) for each in given.values())]
    yield from _table(["", *given], [*measures, near])
    yield ""
    said = next(iter(given.values()))["replies"]
    yield from _table(
        ["said", "heard", *given],
        [
            [row["said"], row["heard"], *(each["replies"][at]["reply"] for each in given.values())]
            for at, row in enumerate(said)
        ],
    )
    yield ""


def share(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "–"
    return f"{found['value']:.0%} ({found['low']:.0%}–{found['high']:.0%}, n {found['n']})"


def number(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "–"
    return f"{found['value']:.3f} ({found['low']:.3f}–{found['high']:.3f})"


def _either(part: str, of: Callable[[Mapping[str, Any]], str]) -> Callable[[Told], str]:
    """A cell of a part that may be absent, and then says why."""

    def cell(told: Told) -> str:
        found = told.get(part, {ABSENT: "–"})
        return str(found[ABSENT]) if ABSENT in found else of(found)

    return cell


def _plain(label: str, digits: str = ".0%") -> Row:
    return label, lambda told: format(told["manner"][label], digits)


def _overlap(label: str, name: str) -> Row:
    return label, lambda told: f"{told['overlap']['all'][name]:.3f}"


def _leaks(told: Told) -> str:
    return "–" if told["leaks"] is None else f"{told['leaks']:.0%}"


def _opening(told: Told) -> str:
    found = told["manner"]["commonest opening"]
    return f"“{found['words']}” {found['share']:.0%}"


SECTIONS: Sequence[tuple[str, str, Sequence[Row]]] = (
    (
        "Steering",
        "The share of replies nearer to their own cue's reference than to the other cue's, by the "
        "author's reference or by three; who does not listen has 50 %. Both replies together: the "
        "share of scripts whose two replies are nearer to their own cue's references than to each "
        "other's; by chance 50 %, and 0 for who says the same twice. By likelihood: the share of "
        "scripts whose own reference is the likelier one. Nothing should follow from gender.",
        (
            ("both cues", lambda told: share(told["steering"]["all"])),
            ("target", lambda told: share(told["steering"]["target"])),
            ("alternative", lambda told: share(told["steering"]["alternative"])),
            ("both replies together", lambda told: share(told["steering"]["follows"])),
            ("three references, both cues", lambda told: share(told["steering_by_all"]["all"])),
            ("three references, target", lambda told: share(told["steering_by_all"]["target"])),
            (
                "three references, both replies together",
                lambda told: share(told["steering_by_all"]["follows"]),
            ),
            ("its own two replies differ", lambda told: share(told["steering"]["differs"])),
            (
                "gender: same as neutral",
                lambda told: share(told["steering"]["gender"]["same as neutral"]),
            ),
            ("likelihood, target", _either("likelihood", lambda of: share(of["target"]))),
            ("likelihood, alternative", _either("likelihood", lambda of: share(of["alternative"]))),
            ("likelihood follows the cue", _either("likelihood", lambda of: share(of["follows"]))),
        ),
    ),
    (
        "Nearness to the references",
        "Of one reference among many good replies: to be compared with each other only. METEOR is "
        "without synonyms.",
        (
            ("similarity, target", lambda told: number(told["similarity"])),
            _overlap("BLEU-4", "bleu4"),
            _overlap("ROUGE-L", "rouge_l"),
            _overlap("METEOR", "meteor_nosyn"),
            ("empathy by the judge, 1–5", _either("judge", lambda of: number(of["empathy"]))),
        ),
    ),
    (
        "Plans",
        "Thoughts beside the author's plans; one that did not come fits nothing.",
        (
            (
                "strategies shared (Jaccard)",
                _either("thinking", lambda of: number(of["strategies"])),
            ),
            ("reply emotion equal", _either("thinking", lambda of: share(of["emotion"]))),
            (
                "without a thought",
                _either("thinking", lambda of: f"{of['without a thought']:.0%}"),
            ),
            ("replies a note was cut from", _leaks),
        ),
    ),
    (
        "Manner",
        "Over all replies, in all three ways.",
        (
            _plain("words", ".1f"),
            _plain("silent"),
            _plain("over three sentences"),
            _plain("markup"),
            _plain("loops"),
            _plain("refuses"),
            _plain("pretends"),
            _plain("distinct-1", ".3f"),
            _plain("distinct-2", ".3f"),
            _plain("self-BLEU", ".3f"),
            ("commonest opening", _opening),
        ),
    ),
)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        _line(heads),
        _line(["---"] * len(heads)),
        *(_line([cell.replace("|", "\\|").replace("\n", " ") for cell in row]) for row in rows),
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
