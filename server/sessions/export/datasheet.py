"""What an export is: counted while it is made, told in words beside it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from models.types import WIRE_RATE
from server.sessions.exchanges import RecordedTurn
from server.sessions.export.selection import Chosen
from server.sessions.export.tables import seconds
from server.sessions.heard import known

PERCEIVED = ("gender", "age", "emotion")
UNSURE = "not sure"


@dataclass(slots=True)
class Tally:
    sessions: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    consents: Counter[str] = field(default_factory=Counter)
    speakers: set[str] = field(default_factory=set)
    nameless: int = 0
    exchanges: int = 0
    interrupted: int = 0
    seconds: float = 0.0
    spoken: dict[str, float] = field(default_factory=lambda: {"user": 0.0, "assistant": 0.0})
    recorded: int = 0  # sessions with sound
    first: datetime | None = None
    last: datetime | None = None
    models: Counter[str] = field(default_factory=Counter)
    software: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    capture: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    perceived: dict[str, Counter[str]] = field(
        default_factory=lambda: {name: Counter() for name in PERCEIVED}
    )
    weights: Counter[str] = field(default_factory=Counter)
    ratings: Counter[str] = field(default_factory=Counter)
    replays: int = 0
    repaired: int = 0

    def add(self, session: Chosen) -> None:
        file = session.file
        self.sessions.append(file.id)
        self.consents[", ".join(session.consent.scopes)] += 1
        if file.speaker:
            self.speakers.add(file.speaker)
        else:
            self.nameless += 1
        self.first = min(self.first or file.started, file.started)
        self.last = max(self.last or file.started, file.started)
        self.seconds += seconds(session)
        self.recorded += file.audio is not None
        self.replays += file.replay_of is not None
        self.repaired += file.state == "repaired"
        self.software[file.software] += 1
        self.endings[file.ended.why if file.ended else "not told"] += 1
        for role, used in file.models.items():
            licences = {each.licence for each in used.files} | {used.licence}
            told = ", ".join(sorted(filter(None, licences)))
            name = " ".join(filter(None, [used.backend, used.version]))
            self.models[f"{role}: {name}{f' ({told})' if told else ''}"] += 1
        if file.client:
            for setting in ("echo_cancellation", "noise_suppression", "auto_gain_control"):
                value = getattr(file.client.capture, setting)
                state = "not told" if value is None else "on" if value else "off"
                self.capture[f"{setting.replace('_', ' ')}: {state}"] += 1
        for rating in session.ratings:
            self.ratings[rating.by] += 1
        for exchange in session.exchanges:
            self.exchanges += 1
            for turn in exchange.both:
                self._count(turn)

    def _count(self, turn: RecordedTurn) -> None:
        self.spoken[turn.role] += (turn.end - turn.start) / WIRE_RATE
        self.interrupted += turn.interrupted
        if turn.plan:
            self.languages[str((turn.plan.get("said") or {}).get("language") or "not told")] += 1
        if turn.percept:
            self.weights[str(turn.percept.get("weights"))] += 1
            for name, counts in self.perceived.items():
                answer = known(turn.percept, name)
                counts[answer[0] if answer else UNSURE] += 1


def datasheet(tally: Tally, form: str, made: datetime, *, all_consented: bool) -> str:
    """The sheet, in the order of Gebru et al., *Datasheets for Datasets*."""
    spans = f"{tally.first:%Y-%m-%d} to {tally.last:%Y-%m-%d}" if tally.first else "none"
    rule = (
        "of people who allowed something to be kept, **also where they did not allow research**: "
        "it may not leave the operator's hands"
        if all_consented
        else "of people who allowed what is kept of them to be used for research"
    )
    return f"""# Datasheet

Made {made:%Y-%m-%d %H:%M} UTC, as `{form}`. What stands here was counted while it was made.

## Motivation

Conversations between people and a voice conversation server, kept to study and to measure how such
a server answers what people say and how they say it. *The operator says here for whom and why.*

## Composition

| | |
|---|---|
| sessions | {len(tally.sessions):,} |
| of them with sound | {tally.recorded:,} |
| exchanges | {tally.exchanges:,} |
| interrupted replies | {tally.interrupted:,} |
| hours of conversation | {tally.seconds / 3600:.3f} |
| hours of users speaking | {tally.spoken["user"] / 3600:.3f} |
| hours of replies as heard | {tally.spoken["assistant"] / 3600:.3f} |
| speakers who gave a name (pseudonyms) | {len(tally.speakers):,} |
| sessions without a name | {tally.nameless:,} |
| replays of other sessions | {tally.replays:,} |
| repaired after a crash; the last second may be missing | {tally.repaired:,} |
| recorded | {spans} |
| ratings by users, by experts | {tally.ratings["user"]:,}, {tally.ratings["expert"]:,} |

{_table("Models", tally.models, "sessions")}
{_table("Languages of the words, as a model took them", tally.languages, "turns")}
{_table("How sessions ended", tally.endings, "sessions")}
### Who speaks, as a model heard it

Nobody was asked. These are the guesses of a perception model ({_named(tally.weights)}) about single
turns, counted where it was sure enough to say; one person counts once for every turn. The model
knows two genders and three ages, was trained mostly on acted speech in English, and errs more for
some people than for others: docs/perception.md of the server has the error rates by attribute.
Do not take them for facts about a person, do not train on them as if they were labels, and do not
report them as the demographics of this collection.

{_table("Gender as perceived", tally.perceived["gender"], "turns", 4)}
{_table("Age as perceived", tally.perceived["age"], "turns", 4)}
{_table("Emotion as perceived", tally.perceived["emotion"], "turns", 4)}
## Collection

People talked to the server from their own devices, and were told what is kept before anything was.
Nothing they said before they consented is in here. The left channel is what arrived from their
microphone; the right one the reply as it was played, cut where it was interrupted. What their
devices did to the sound, as far as they say:

{_table("Capture settings", tally.capture, "sessions", 3)}
{_table("Software", tally.software, "sessions", 3)}
## Consent

Only sessions {rule}. Sound is in here only with consent to `audio`; words and plans only with
`transcript`; how a voice was perceived only with one of these.

{_table("Consent given", tally.consents, "sessions", 3)}
{_table("Left out", tally.left_out, "sessions", 3)}
## Preparation

Turns were cut by the server's own turn detection. Transcripts are automatic and hold errors; a
reply's text is what was heard of it before an interruption. Names people gave are replaced by
keyed pseudonyms. Nothing was removed from what people said: they may have named themselves, or
others.

## Use

Voices identify people. Do not try to find out who they are, do not clone their voices, and do not
judge single people by what a model perceived.

## Distribution

*Licence: the operator decides and says so here.* The licences of the models that spoke the replies
may restrict it; they are listed above.

## Maintenance

People may delete their sessions later. `sessions.txt` lists the sessions in here. The server lists
this export when one of them is deleted or its consent withdrawn: whoever made it must then take
that session out of every copy, or make the export anew and replace the copies.
"""


def _named(counts: Counter[str]) -> str:
    return ", ".join(f"weights `{name}`" for name in sorted(counts)) or "none was used"


def _table(title: str, counts: Mapping[str, int], what: str, depth: int = 3) -> str:
    head = f"{'#' * depth} {title}\n\n"
    if not counts:
        return f"{head}None.\n"
    rows = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    lines = [f"| {_cell(name)} | {count:,} |" for name, count in rows]
    return "\n".join([f"{head}| | {what} |", "|---|---|", *lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
