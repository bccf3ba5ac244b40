"""What a judge makes of talking over one another: Full-Duplex-Bench's rating and its behaviours."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.scoring.duplex.behaviour import NO_OVERLAP, RESPOND, RESUME, RIGHT
from server.scoring.exchange import NO_WORDS, Exchange
from server.scoring.judging.rubric import rubric
from server.scoring.judging.sitting import Judged, Sitting, judge, self_agreement
from server.scoring.score import Instrument, Measure, Score, Unscored, tried
from server.scoring.settings import Settings
from server.sessions.exchanges import RecordedTurn

NAME = "relevance"
RATING, BEHAVIOUR = "interruption_rating", "overlap_behaviour"
VOICES = {
    "user_interruption": "the user interrupts",
    "user_backchannel": "the user says a word to show that they listen",
    "talking_to_other": "the user talks to somebody else",
    "background_speech": "somebody in the background talks",
}
INTERRUPTION = "interruption"  # of 1.0; those of 1.5 are not rated, their behaviour is told
# How often each of the rubric's four behaviours was seen, as the benchmark's table has them.
SHARES = {
    RESPOND: "overlap_responds",
    RESUME: "overlap_resumes",
    "UNCERTAIN": "overlap_is_uncertain",
    "UNKNOWN": "overlap_is_unknown",
}
NO_INTERRUPTION = "nobody interrupted"


def _share(name: str, title: str, about: str) -> Measure:
    return Measure(
        name, title, "duplex", about, "As judged for `overlap_behaviour`.", "%", None, 0, 100
    )


MEASURES = (
    Measure(
        RATING, "Answers the interruption", "duplex",
        "How well the reply after an interruption of Full-Duplex-Bench 1.0 answers it.",
        "Full-Duplex-Bench's judge is GPT-4-turbo with a prompt of its own; the reply's words are "
        "those the log says were heard. Recorded talks count too, where a reply was cut short.",
        "", True, 0, 5,
    ),
    Measure(
        BEHAVIOUR, "Behaves rightly when talked over", "duplex",
        "Whether the reply responds to an interruption, and goes on when others talk.",
        "Full-Duplex-Bench's judge is GPT-4o with a prompt of its own, on time-aligned words; ours "
        "reads what was being said, whether it was cut short, and what was said next.",
        "%", True, 0, 100,
    ),
    _share(SHARES[RESPOND], "Responds", "Whether it takes up what was said over it."),
    _share(SHARES[RESUME], "Resumes", "Whether it goes on with what it was saying."),
    _share(SHARES["UNCERTAIN"], "Is uncertain", "Whether it asks to repeat, or if it was meant."),
    _share(SHARES["UNKNOWN"], "Does neither", "Whether it says nothing, or nothing of the kind."),
    self_agreement(NAME, "Full-Duplex-Bench", "duplex"),
)  # fmt: skip


class Relevance(Judged):
    name = NAME
    version = 3
    rubrics = ("interruption", "overlap")

    def judged(self, sitting: Sitting) -> dict[str, Score]:
        rating = tried([RATING], lambda: self._rating(sitting))
        return rating | tried([BEHAVIOUR, *SHARES.values()], lambda: self._behaviour(sitting))

    def _rating(self, sitting: Sitting) -> Mapping[str, Score]:
        exchange = sitting.exchange
        marked = exchange.annotation.overlap_start
        task = exchange.annotation.task
        if task == INTERRUPTION and marked is not None:
            told = _over(exchange, marked)
            told["reply"] = _next(exchange, marked)
        elif task is None and exchange.before and exchange.before[-1].interrupted:
            told = {"interruption": exchange.user_words(), "reply": exchange.reply_words()}
            told["was_being_said"] = exchange.before[-1].text or ""
        else:
            raise Unscored(NO_INTERRUPTION)
        return sitting.ask(rubric("interruption"), told).scores({"rating": RATING})

    def _behaviour(self, sitting: Sitting) -> Mapping[str, Score]:
        exchange = sitting.exchange
        task, marked = exchange.annotation.task, exchange.annotation.overlap_start
        if task not in RIGHT or marked is None:
            raise Unscored(NO_OVERLAP)
        told = _over(exchange, marked)
        told["who_talked_over_it"] = VOICES[task]
        after = _replies(exchange, marked)
        told["was_said_next"] = [turn.text for turn in after if turn.text]
        verdict = sitting.ask(rubric("overlap"), told)
        shown = [str(answer["behaviour"]) for answer in verdict.answers]
        right = RIGHT[task]
        value = 100.0 * sum(each == right for each in shown) / len(shown)
        why = f"{', '.join(shown)}; right would be {right}. {verdict.why('behaviour')}".strip()
        shares = {
            name: Score(100.0 * shown.count(each) / len(shown)) for each, name in SHARES.items()
        }
        return {BEHAVIOUR: Score(value, why, raw=verdict.raw), **shares}


def _over(exchange: Exchange, marked: int) -> dict[str, Any]:
    """What was being said when somebody began to talk over it, and what they said."""
    if not exchange.consent.transcript:
        raise Unscored(NO_WORDS)
    sounding = [
        turn for turn in exchange.company if turn.role == "assistant" and turn.start < marked
    ]
    if not sounding or not sounding[-1].text:
        raise Unscored("nothing was being said")
    last = sounding[-1]
    return {
        "was_being_said": last.text,
        "was_cut_short": last.interrupted,
        "interruption": exchange.annotation.labels.get("turn") or _spoken(exchange, marked),
    }


def _spoken(exchange: Exchange, marked: int) -> str:
    """What was recognised of whoever talked over it; nothing, if it was taken for no turn."""
    said = [
        turn.text
        for turn in exchange.company
        if turn.role == "user" and turn.end > marked and turn.text
    ]
    return said[0] if said else ""


def _replies(exchange: Exchange, marked: int) -> Sequence[RecordedTurn]:
    turns = exchange.company
    return [turn for turn in turns if turn.role == "assistant" and turn.start >= marked]


def _next(exchange: Exchange, marked: int) -> str:
    for turn in _replies(exchange, marked):
        if turn.text:
            return turn.text
    raise Unscored("no reply")


def build(settings: Settings) -> Instrument:
    return Relevance(judge(settings))
