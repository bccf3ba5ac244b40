"""The worst and the best exchanges: to hear, to read, with what was perceived and judged."""

from typing import Any

from server.reports import Metric
from server.scoring.report.blocks import (
    Block,
    Facts,
    Folded,
    Heading,
    Para,
    Row,
    Said,
    Section,
    Sound,
    Table,
    figure,
    nothing,
    plain,
)
from server.scoring.report.clips import Conversations, clip
from server.scoring.report.figures import counted, measured, number
from server.scoring.report.material import Material
from server.scoring.results import ToldExchange
from server.sessions.heard import in_words

MOST_WHY = 700  # letters


def exchanges(material: Material, conversations: Conversations | None) -> Section:
    ranked = material.ranked
    if ranked.metric is None:
        told = nothing("Exchanges cannot be ranked: none of the metrics for that has a value.")
        return Section("exchanges", "Worst and best exchanges", (told,))
    metric = ranked.metric
    order = "lower" if metric.higher_is_better is False else "higher"
    how = (
        f"Ranked by {metric.title} ({metric.name}), the {order} the better; "
        f"{counted(metric.n, 'exchange')} have a value. Equal ones are told apart by the other "
        "metrics. Words and sound are here only where the talker allowed it."
    )
    blocks: list[Block] = [Para(how, "note")]
    for title, part in (("The worst", ranked.worst), ("The best", ranked.best)):
        if part:
            blocks.append(Heading(title))
            blocks += [
                _exchange(each, metric, material.metrics, conversations, each is ranked.worst[0])
                for each in part
            ]
    return Section("exchanges", "Worst and best exchanges", tuple(blocks))


def _exchange(
    told: ToldExchange,
    metric: Metric,
    metrics: dict[str, Metric],
    conversations: Conversations | None,
    opened: bool,
) -> Folded:
    value = told.scores[metric.name].value
    annotation = told.annotation
    cue = f" · {annotation.cue}" if annotation is not None and annotation.cue else ""
    summary = f"{measured(value, metric)}{cue} · {told.session_id}, exchange {told.number}"
    sound = clip(told, conversations)
    inside: list[Block] = [
        Sound(sound.address, sound.about) if sound.address else Para(sound.about, "none"),
        *_words(told),
        Facts(tuple(_facts(told))),
        *_scores(told, metrics),
    ]
    return Folded(summary, tuple(inside), opened)


def _words(told: ToldExchange) -> list[Block]:
    words = told.words
    if words is None:
        return [Para("The words may not be shown.", "none")]
    said: list[Block] = []
    if words.user:
        said.append(Said("User, as recognised", words.user, "user"))
    if words.truth and words.truth != words.user:
        said.append(Said("Truly said", words.truth, "truth"))
    if words.reply:
        who = "Reply, as far as it was heard" if told.interrupted else "Reply"
        said.append(Said(who, words.reply, "reply"))
    if words.intended and words.intended != words.reply:
        said.append(Said("Reply as written", words.intended, "reply"))
    if words.reference:
        said.append(Said("Reference", words.reference, "truth"))
    return said or [Para("Nothing was said that is known as words.", "none")]


def _facts(told: ToldExchange) -> list[tuple[str, str]]:
    facts = []
    annotation = told.annotation
    if annotation is not None:
        if annotation.cue:
            whole = annotation.cue
            if annotation.spoken_info:
                whole += f" ({annotation.spoken_info})"
            facts.append(("True cue", whole))
        item = [annotation.benchmark, annotation.item, annotation.variant, annotation.condition]
        if known := [each for each in item if each]:
            facts.append(("Item", ", ".join(known)))
        if annotation.context:
            facts.append(("Situation", annotation.context))
    facts.append(("Heard", _heard(told.percept)))
    if told.plan:
        facts.append(("Plan", _plan(told.plan)))
    if first := told.stages_ms.get("first_sent"):
        facts.append(("First sound sent", f"{number(first, 0)} ms after the end of speech"))
    if told.interrupted:
        facts.append(("Interrupted", "yes"))
    return facts


def _heard(percept: dict[str, Any] | None) -> str:
    if not percept:
        return "no percept"
    try:
        told = in_words(percept)
    except (KeyError, TypeError, ValueError, AttributeError):  # of a form we do not know
        return "a percept that cannot be read"
    unknown = percept.get("unknown") or ()
    return told + (f"; not sure of {', '.join(map(str, unknown))}" if unknown else "")


def _plan(plan: dict[str, Any]) -> str:
    parts = []
    if line := plan.get("line"):
        parts.append(str(line))
    else:
        parts += [f"{name} {plan[name]}" for name in ("emotion", "situation") if plan.get(name)]
    if said := plan.get("acknowledgement"):
        parts.append(f"“{said}”")
    return "; ".join(parts) or "none told"


def _scores(told: ToldExchange, metrics: dict[str, Metric]) -> list[Block]:
    """What a judge said is shown; what was computed is there to unfold."""
    judged: list[Row] = []
    computed: list[Row] = []
    missing: dict[str, list[str]] = {}
    for name, score in told.scores.items():
        metric = metrics.get(name)
        if metric is None:
            continue
        if score.value is None:
            missing.setdefault(score.unscored or "", []).append(metric.title)
            continue
        why = score.why if len(score.why) <= MOST_WHY else score.why[:MOST_WHY] + "…"
        row = plain(metric.title, figure(measured(score.value, metric)), why)
        (judged if metric.judge else computed).append(row)
    for reason, titles in missing.items():
        computed.append(plain(f"{counted(len(titles), 'metric')} unscored", figure("–"), reason))
    blocks: list[Block] = []
    if judged:
        blocks.append(Table(("Judged", "Value", "Why"), tuple(judged), numeric=frozenset({1})))
    if computed:
        table = Table(("Computed", "Value", "How"), tuple(computed), numeric=frozenset({1}))
        blocks.append(Folded(f"{counted(len(computed), 'computed score')}", (table,)))
    return blocks
