"""Who takes the floor and when: Full-Duplex-Bench v1.0, from both channels of the recording."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from models.types import WIRE_RATE
from server.scoring.duplex.ears import Ears, Sides, ears
from server.scoring.duplex.rules import backchannels, takes_over, timing_distance
from server.scoring.duplex.segments import Segment, between, pauses, reaching
from server.scoring.duplex.words_timed import TimedWord, during
from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unavailable, Unscored, tried
from server.scoring.settings import Settings

VERSION = 2
PAUSE_SEC = 0.2  # a silence between words shorter than this is no chance to take the floor
RESUMED_SEC = 1.0  # who goes on so soon, and for so long, had not ended
WAITED_SEC = 4.0  # a reply that has not come by then was not meant to come
_NEAR = 0.2  # seconds by which a logged turn and what is heard of it may be apart

_TIMING = (
    "Voices are found by Silero, words are the logged reply spread over them (recognised by "
    "Moonshine where none is logged); the authors take word times from parakeet-tdt."
)
_TASK = "Of the benchmark's items for this task only. "
MEASURES = (
    Measure(
        "take_over", "Takes the turn", "duplex",
        "Whether the reply takes the floor: a second or more, or more than three words.",
        _TIMING, "", True, 0, 1,
    ),
    Measure(
        "turn_latency_sec", "Turn-taking latency", "duplex",
        "From the end of the user's turn to the first word of the reply, where it takes the floor.",
        _TIMING + " Replies that begin before the end count as 0.", "s", False, 0,
    ),
    Measure(
        "pause_take_over", "Talks into a pause", "duplex",
        "Whether the reply takes the floor while the user only pauses.",
        _TIMING + " Without a known end of the turn: whether the user went on within a second of "
        "the reply's beginning, for a second or more.", "", False, 0, 1,
    ),
    Measure(
        "backchannel_take_over", "Takes over instead of nodding", "duplex",
        "Whether the reply takes the floor where a short “mm” would do.",
        _TASK + _TIMING, "", False, 0, 1,
    ),
    Measure(
        "backchannel_freq", "Backchannels", "duplex",
        "Short sounds of listening in each second of the user's talk.",
        _TASK + "Segments by Silero with its default settings, as the authors do. Those before one "
        "of up to 3 s that takes the floor do not count: the authors forget them then.",
        "/s", True, 0,
    ),
    Measure(
        "backchannel_jsd", "Backchannels at other times than people's", "duplex",
        "Jensen–Shannon distance of their timing from people's, in bins of 0.2 s; 1 for none.",
        _TASK + "Needs people's timing (icc_gt_distribution.json).", "", False, 0, 1,
    ),
    Measure(
        "interruption_take_over", "Answers an interruption", "duplex",
        "Whether the reply takes the floor after the user interrupted it.",
        _TASK + _TIMING, "", True, 0, 1,
    ),
    Measure(
        "interruption_latency_sec", "Latency after an interruption", "duplex",
        "From the end of the interruption to the next word of the reply.",
        _TASK + _TIMING, "s", False, 0,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TakingTurns:
    ears: Ears
    people: Mapping[str, tuple[float, ...]]  # timing of people's backchannels by item
    people_from: str = ""

    @property
    def key(self) -> str:
        return f"taking_turns {VERSION} {self.ears.key} {self.people_from}".strip()

    @property
    def judge(self) -> JudgeNamed | None:
        return None

    def measure(self, exchange: Exchange) -> dict[str, Score]:
        exchange.sound_allowed()
        sides = self.ears.sides(exchange.conversation)
        parts: tuple[tuple[str, Callable[[Exchange, Sides], dict[str, Score]]], ...] = (
            ("take_over turn_latency_sec", _turn),
            ("pause_take_over", _pause),
            ("backchannel_take_over backchannel_freq backchannel_jsd", self._backchannel),
            ("interruption_take_over interruption_latency_sec", _interruption),
        )
        found: dict[str, Score] = {}
        for names, part in parts:
            found |= tried(names.split(), partial(part, exchange, sides))
        return found

    def _backchannel(self, exchange: Exchange, sides: Sides) -> dict[str, Score]:
        _only("backchannel", exchange)
        end = _true_end(exchange, sides)
        begin = sides.recorded_from
        speech = between(sides.reply, begin, end)
        heard = backchannels(speech, during(sides.words, begin, end) if speech else [])
        told = f"{len(heard.events)} short in {end - begin:.1f} s"
        found = {
            "backchannel_take_over": Score(float(heard.took_over), told),
            "backchannel_freq": Score(len(heard.events) / (end - begin), told),
        }
        note = exchange.annotation
        people = note.people_timing or self.people.get((note.item or "").rpartition("/")[2], ())
        if people and sum(people) > 0:
            events = [Segment(each.start - begin, each.end - begin) for each in heard.events]
            distance = Score(timing_distance(events, end - begin, people), told)
        else:
            distance = Score.none("no timing of people's backchannels")
        return {**found, "backchannel_jsd": distance}


def build(settings: Settings) -> TakingTurns:
    people, told = people_timing(settings.backchannels) if settings.backchannels else ({}, "")
    return TakingTurns(ears(), people, told)


def people_timing(path: Path) -> tuple[dict[str, tuple[float, ...]], str]:
    """By item, as Full-Duplex-Bench ships it, and a name for what the file holds."""
    try:
        table = json.loads(path.read_bytes())
        people = {str(item): tuple(map(float, bins)) for item, bins in table.items()}
    except (OSError, ValueError, AttributeError, TypeError) as problem:
        kind = type(problem).__name__
        raise Unavailable(f"The timing of people's backchannels is unreadable: {kind}.") from None
    return people, f"people:{len(people)}:{sum(map(sum, people.values())):.6f}"


# -- the tasks


def _turn(exchange: Exchange, sides: Sides) -> dict[str, Score]:
    task = exchange.annotation.task
    if task == "turn_taking":
        end = _true_end(exchange, sides)
        words = [word for word in sides.words if word.start >= sides.recorded_from]
    elif task in (None, "conversation"):
        end = user_end(exchange, sides)
        words = _own_words(exchange, sides, end)
    else:
        raise Unscored("another task")
    took = takes_over(words)
    told = f"{len(words)} words"
    if not took:
        return {
            "take_over": Score(0.0, told),
            "turn_latency_sec": Score.none("the turn was not taken"),
        }
    late = words[0].start - end
    return {
        "take_over": Score(1.0, told),
        "turn_latency_sec": Score(max(0.0, late), f"{late:+.3f} s"),
    }


def _pause(exchange: Exchange, sides: Sides) -> dict[str, Score]:
    task = exchange.annotation.task
    if task == "pause":
        early = during(sides.words, sides.recorded_from, _true_end(exchange, sides))
        return {"pause_take_over": Score(float(takes_over(early)), f"{len(early)} words")}
    if task not in (None, "conversation"):
        raise Unscored("another task")
    said = _said(exchange, sides)
    onset = _onset(exchange, sides)
    after = [] if onset is None else [each for each in sides.user if each.end > onset]
    if onset is not None and after and _went_on(after[0], onset):
        return {"pause_take_over": Score(1.0, "the user went on")}
    if not pauses(said, PAUSE_SEC):
        raise Unscored("no pause in the turn")
    return {"pause_take_over": Score(0.0, "the reply waited")}


def _interruption(exchange: Exchange, sides: Sides) -> dict[str, Score]:
    _only("interruption", exchange)
    note = exchange.annotation
    ended = note.overlap_end if note.overlap_end is not None else note.speech_end
    if ended is None:
        raise Unscored("no true end of the interruption")
    end = ended / WIRE_RATE
    words = [word for word in sides.words if word.end > end]
    took = takes_over(words)
    late = max(0.0, words[0].start - end) if words else 0.0
    return {
        "interruption_take_over": Score(float(took), f"{len(words)} words"),
        "interruption_latency_sec": Score(late) if took else Score.none("the turn was not taken"),
    }


# -- where the user and the reply are


def user_end(exchange: Exchange, sides: Sides) -> float:
    """Where the user's speech of this exchange ends, as heard."""
    return _said(exchange, sides)[-1].end


def _said(exchange: Exchange, sides: Sides) -> list[Segment]:
    if exchange.user is None:
        raise Unscored("nobody said anything")
    if not exchange.user.spoken:
        raise Unscored("nothing was spoken")
    begin, end = exchange.user.start / WIRE_RATE, exchange.user.end / WIRE_RATE
    said = reaching(sides.user, begin - _NEAR, end + _NEAR)
    if not said:
        raise Unscored("no speech found in the turn")
    return said


def _own_words(exchange: Exchange, sides: Sides, end: float) -> list[TimedWord]:
    """The words of the exchange's own reply; none is an answer, too, if there was time for one."""
    if exchange.reply is not None:
        if not exchange.reply.spoken:
            raise Unscored("the reply was not spoken")
        return during(sides.words, exchange.reply.start / WIRE_RATE, exchange.reply.end / WIRE_RATE)
    said = _said(exchange, sides)
    if reaching(sides.reply, said[0].start, end):
        raise Unscored("spoken over a reply")
    waited = min([each.start for each in sides.user if each.start > end] + [sides.seconds]) - end
    if waited < WAITED_SEC:
        raise Unscored("the recording ends or goes on too soon")
    return []


def _onset(exchange: Exchange, sides: Sides) -> float | None:
    if exchange.reply is None or not exchange.reply.spoken:
        return None
    begin, end = exchange.reply.start / WIRE_RATE, exchange.reply.end / WIRE_RATE
    speech = sides.reply_speech(begin, end)
    return speech[0].start if speech else None


def _went_on(speech: Segment, onset: float) -> bool:
    """Whether the user, whose speech this is, went on with their turn at the reply's onset."""
    return (
        speech.start - onset <= RESUMED_SEC and speech.end - max(speech.start, onset) >= RESUMED_SEC
    )


def _true_end(exchange: Exchange, sides: Sides) -> float:
    """Where the item's speech ends: as annotated, else as heard."""
    if exchange.annotation.speech_end is not None:
        end = exchange.annotation.speech_end / WIRE_RATE
    elif sides.user:
        end = sides.user[-1].end
    else:
        raise Unscored("no speech found in the turn")
    if end <= sides.recorded_from:
        raise Unscored("the turn was not recorded")
    return end


def _only(task: str, exchange: Exchange) -> None:
    if exchange.annotation.task != task:
        raise Unscored("another task")
