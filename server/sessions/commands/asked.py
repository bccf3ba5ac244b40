"""What the commands can be asked: options that several of them share."""

from datetime import date, datetime
from typing import Annotated, get_args

import typer

from server.consent import Consent
from server.sessions.index import Filter, Order

DAY = ["%Y-%m-%d"]


class BadOption(Exception):
    """What was asked cannot be: one sentence."""


Since = Annotated[datetime | None, typer.Option(formats=DAY, help="Began on this day or later.")]
Until = Annotated[datetime | None, typer.Option(formats=DAY, help="Began on this day or before.")]
Model = Annotated[str | None, typer.Option(help="Replied, spoke or perceived by this backend.")]
Scopes = Annotated[
    str | None, typer.Option(help="Allowed all of these: transcript,audio,research.")
]
Rated = Annotated[float | None, typer.Option(min=1, max=5, help="Rated so well on average.")]
Longer = Annotated[float | None, typer.Option(min=0, help="At least so many seconds.")]
Shorter = Annotated[float | None, typer.Option(min=0, help="At most so many seconds.")]
Emotion = Annotated[str | None, typer.Option(help="Heard most often in the user's voice.")]
Slower = Annotated[float | None, typer.Option(min=0, help="Median latency in ms, at least.")]
Faster = Annotated[float | None, typer.Option(min=0, help="Median latency in ms, at most.")]
Tag = Annotated[str | None, typer.Option(help="Tagged so.")]
Speaker = Annotated[str | None, typer.Option(help="By this pseudonym, spk_….")]
Text = Annotated[str | None, typer.Option("--notes", help="Has this in its notes.")]


def sought(
    since: datetime | None,
    until: datetime | None,
    model: str | None,
    consent: str | None,
    rating: float | None,
    longer: float | None,
    shorter: float | None,
    emotion: str | None,
    slower: float | None,
    faster: float | None,
    tag: str | None,
    speaker: str | None,
    text: str | None,
) -> Filter:
    """The options as one filter."""
    try:
        scopes = Consent.of(consent or "").scopes
    except ValueError as error:
        raise BadOption(str(error)) from None
    return Filter(
        since=_day(since),
        until=_day(until),
        model=model,
        consent=tuple(scopes),
        rating_min=rating,
        longer=longer,
        shorter=shorter,
        emotion=emotion,
        latency_min_ms=slower,
        latency_max_ms=faster,
        tag=tag,
        speaker=speaker,
        text=text,
        limit=None,
    )


def order(name: str) -> Order:
    for known in get_args(Order):
        if name == known:
            found: Order = known
            return found
    raise BadOption(f"unknown order '{name}'; choose from: {', '.join(get_args(Order))}")


def _day(moment: datetime | None) -> date | None:
    return moment.date() if moment else None
