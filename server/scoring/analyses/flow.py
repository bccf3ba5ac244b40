"""Where poor replies went wrong: the words, the cue, the plan, the voice, or the reply itself."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel

from server.scoring.analyses.stages import STEPS, Status
from server.scoring.scored import Row, Scored

JUDGED = ("speech_rel", "ctx_fit")
POOR = 2.0  # a judge's score up to which a reply is poor
STEERING = "steering_minilm"
SIMILARITIES = ("similarity", "similarity_minilm")
LOWEST = 25  # per cent of a run that count as poor by similarity
ENOUGH = 8  # similarities without which a quartile says nothing

CONVERSATION = (None, "conversation")  # an answer to a question of choice is no reply
BEGIN, REPLY, FINE, UNKNOWN = "replies", "reply", "fine", "unknown"
RULE = (
    "A reply is poor if a judge gave it 2 or less for taking up the cue or for fitting the context."
)
PROXY = (
    "Where no judge was asked, it is poor if it is nearer to the reply another cue would have asked"
    " for than to its own, or if its likeness to the reference is in the lowest quarter of the run:"
    " by likeness a quarter is poor by construction, so that how many are says nothing."
)


class Tally(BaseModel):
    fine: int = 0
    wrong: int = 0
    unknown: int = 0


class Stage(BaseModel):
    name: str
    title: str
    about: str
    good: Tally
    poor: Tally


class Node(BaseModel):
    name: str
    title: str


class Link(BaseModel):
    """Replies that go from one node to the next; a stage that went wrong is an end of its own."""

    source: str
    target: str
    good: int
    poor: int


class Poor(BaseModel):
    """One poor reply, and the first thing known to have gone wrong."""

    session_id: str
    number: int
    where: str
    by: Literal["judge", "proxy"]
    stages: dict[str, Status]


class Flow(BaseModel):
    rule: str
    good: int
    poor: int
    undecided: int  # neither judged nor comparable with a reference
    by_judge: int  # of good and poor
    by_proxy: int
    stages: list[Stage]
    nodes: list[Node]
    links: list[Link]
    went_wrong: dict[str, int]  # poor replies by the first stage known to be wrong
    replies: list[Poor]


def analyse(scored: Scored) -> Flow | None:
    lowest = {name: _lowest(scored, name) for name in SIMILARITIES}
    verdicts = [
        (row, *_verdict(row, lowest)) for row in scored.rows if row.annotation.task in CONVERSATION
    ]
    told = [
        (row, poor, by, {step.name: step.status(row) for step in STEPS})
        for row, poor, by in verdicts
        if poor is not None and by is not None
    ]
    if not told:
        return None
    ends = [(poor, _end(statuses, poor)) for _, poor, _, statuses in told]
    replies = [
        Poor(session_id=row.session_id, number=row.number, where=end, by=by, stages=statuses)
        for (row, poor, by, statuses), (_, end) in zip(told, ends, strict=True)
        if poor
    ]
    first = Counter(reply.where for reply in replies)
    judged = sum(by == "judge" for _, _, by, _ in told)
    return Flow(
        rule=RULE if judged == len(told) else f"{RULE} {PROXY}",
        good=len(told) - len(replies),
        poor=len(replies),
        undecided=len(verdicts) - len(told),
        by_judge=judged,
        by_proxy=len(told) - judged,
        stages=[
            Stage(
                name=step.name,
                title=step.title,
                about=step.about,
                good=_tally(statuses[step.name] for _, poor, _, statuses in told if not poor),
                poor=_tally(statuses[step.name] for _, poor, _, statuses in told if poor),
            )
            for step in STEPS
        ],
        nodes=_nodes(),
        links=_links(ends),
        went_wrong={name: first[name] for name in (*_names(), REPLY, UNKNOWN)},
        replies=replies,
    )


def _verdict(
    row: Row, lowest: Mapping[str, float | None]
) -> tuple[bool | None, Literal["judge", "proxy"] | None]:
    """Whether a reply is poor, and who says so."""
    judged = [row.values[name] for name in JUDGED if name in row.values]
    if judged:
        return min(judged) <= POOR, "judge"
    hints = [row.values[STEERING] < 0] if STEERING in row.values else []
    for name in SIMILARITIES:
        limit = lowest[name]
        if limit is not None and name in row.values:
            hints.append(row.values[name] < limit)
            break
    return (any(hints), "proxy") if hints else (None, None)


def _lowest(scored: Scored, metric: str) -> float | None:
    told = scored.values(metric)
    values = [value for row, value in told if row.annotation.task in CONVERSATION]
    return float(np.percentile(values, LOWEST)) if len(values) >= ENOUGH else None


def _end(statuses: Mapping[str, Status], poor: bool) -> str:
    """The first stage known to be wrong; what is not known is not taken to be fine."""
    for name, status in statuses.items():
        if status == "wrong":
            return name
    if UNKNOWN in statuses.values():
        return UNKNOWN
    return REPLY if poor else FINE


def _tally(statuses: Iterable[Status]) -> Tally:
    counts = Counter(statuses)
    return Tally(fine=counts["fine"], wrong=counts["wrong"], unknown=counts["unknown"])


def _names() -> list[str]:
    return [step.name for step in STEPS]


def _nodes() -> list[Node]:
    ends = {
        REPLY: "The reply itself",
        FINE: "Nothing went wrong",
        UNKNOWN: "Not known",
    }
    return [
        Node(name=BEGIN, title="Replies"),
        *(Node(name=f"after_{step.name}", title=f"{step.name} not known wrong") for step in STEPS),
        *(Node(name=step.name, title=step.title) for step in STEPS),
        *(Node(name=name, title=title) for name, title in ends.items()),
    ]


def _links(ends: Sequence[tuple[bool, str]]) -> list[Link]:
    """From stage to stage, less those that end there."""
    links, left, source = [], Counter(ends), BEGIN
    for name in _names():
        links.append(
            Link(source=source, target=name, good=left[False, name], poor=left[True, name])
        )
        del left[False, name], left[True, name]
        going = Counter[bool]()
        for (poor, _), count in left.items():
            going[poor] += count
        after = f"after_{name}"
        links.append(Link(source=source, target=after, good=going[False], poor=going[True]))
        source = after
    for name in (REPLY, FINE, UNKNOWN):
        links.append(
            Link(source=source, target=name, good=left[False, name], poor=left[True, name])
        )
    return [link for link in links if link.good or link.poor]
