"""What becomes of a reply somebody talks over: Full-Duplex-Bench v1.5 and HumDial."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.types import WIRE_RATE, AudioChunk
from server.scoring.annotation import Annotation, Task
from server.scoring.duplex.behaviour import NO_OVERLAP, behaviour, right
from server.scoring.duplex.ears import Ears, Sides, ears
from server.scoring.duplex.manner import Manner, cutoffs, manner
from server.scoring.duplex.segments import Segment, between, gaps, merged, reaching
from server.scoring.duplex.words_timed import TimedWord, per_minute
from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unscored
from server.scoring.settings import Settings

VERSION = 3
USER_GAP, REPLY_GAP = 0.6, 0.5  # seconds; as the authors merge
TASKS: tuple[Task, ...] = (
    "user_interruption", "user_backchannel", "talking_to_other", "background_speech",
)  # fmt: skip
ITEMS: tuple[Task, ...] = ("interruption", *TASKS)  # of which one is a whole recording
_AROUND = (0.09, 0.15)  # seconds before and after the place where the reply falls silent
_LAST = 1e-6
_NOBODY = "nobody talked over the reply"
FEW = "too little speech before or after"

_FOUND = (
    "Voices are found by Silero in both channels, the reply's echo taken out of the user's; user "
    "gaps up to 0.6 s and reply gaps up to 0.5 s are closed, as the authors do."
)
_ALL = " Of a benchmark's item it is the mean over the whole recording, as the authors take it;"
_SPLIT = (
    "Before and after are parted at the end of the user's talking over it, at a word. Ours is the "
    "logged words spread over the voice, and our own pitch and level; the authors use parakeet and "
    "Praat."
)
MEASURES = (
    Measure(
        "stop_latency_sec", "Time to stop", "duplex",
        "How long both speak at a time, on average.",
        _FOUND + _ALL + " else over all that the user begins to say while this reply sounds. Where "
        "the reply goes on, as it should after an “mm”, it is the length of that.", "s", False, 0,
    ),
    Measure(
        "response_latency_sec", "Time to respond after an overlap", "duplex",
        "From the end of what the user says to the next onset of the reply, on average.",
        _FOUND + _ALL + " the first answer is one of these. Else only after what stopped a "
        "reply.", "s", False, 0,
    ),
    Measure(
        "first_response_sec", "Time to the first response", "duplex",
        "From the end of what the user says first to the first onset of the reply, before anybody "
        "talks over it.", _FOUND + " Replies that begin before the end count as 0.", "s", False, 0,
    ),
    Measure(
        "overlap_rate_change", "Change of pace after an overlap", "duplex",
        "Words a minute after the user talked over the reply, less those before.",
        _SPLIT, "words/min",
    ),
    Measure(
        "overlap_pitch_change_st", "Change of pitch after an overlap", "duplex",
        "Mean pitch after, against that before.", _SPLIT, "st",
    ),
    Measure(
        "overlap_pitch_spread_change_st", "Change of melody after an overlap", "duplex",
        "Standard deviation of the pitch after, less that before.", _SPLIT, "st",
    ),
    Measure(
        "overlap_intensity_change_db", "Change of loudness after an overlap", "duplex",
        "Level of the speech after, less that before.", _SPLIT, "dB",
    ),
    Measure(
        "overlap_intensity_spread_change_db", "Change of dynamics after an overlap", "duplex",
        "Standard deviation of the level after, less that before.", _SPLIT, "dB",
    ),
    Measure(
        "abrupt_cut", "Cut off abruptly", "duplex",
        "Whether the level falls by 18 dB or more within 30 ms where the reply stops for the user.",
        "Only the place where the reply stops is looked at, and levels below -60 dBFS count as "
        "-60; the authors count such falls in all that is said before and after, above the noise.",
        "", False, 0, 1,
    ),
    Measure(
        "overlap_behaviour_timed", "Behaves rightly when talked over, by the recording", "duplex",
        "Whether the reply stops for an interruption and another begins, and goes on when others "
        "talk: told by when both sound, without a judge.",
        _FOUND + " A reply that falls silent and sounds again within one logged reply went on. "
        "Sound does not tell whether an answer answers: Full-Duplex-Bench and HumDial ask a judge, "
        "whose opinion is `overlap_behaviour`.", "%", True, 0, 100,
    ),
)  # fmt: skip
_CHANGES = tuple(each.name for each in MEASURES[3:8])
_ABOUT_ONE = ("abrupt_cut", "overlap_behaviour_timed", *_CHANGES)  # told by one overlap of several


@dataclass(frozen=True, slots=True)
class Overlap:
    """Somebody speaks while the reply does."""

    user: Segment
    reply: Segment

    @property
    def length(self) -> float:
        return min(self.user.end, self.reply.end) - max(self.user.start, self.reply.start)

    @property
    def stopped(self) -> bool:
        """Whether the reply fell silent before the user did."""
        return self.reply.end < self.user.end


@dataclass(frozen=True, slots=True)
class Overlaps:
    ears: Ears

    @property
    def key(self) -> str:
        return f"overlaps {VERSION} {self.ears.key}"

    @property
    def judge(self) -> JudgeNamed | None:
        return None

    def measure(self, exchange: Exchange) -> dict[str, Score]:
        whole = heard(exchange, self.ears)
        times = {
            "stop_latency_sec": _stop(whole.found),
            "response_latency_sec": _response(exchange, whole),
            "first_response_sec": _first_response(exchange, whole.user, whole.reply),
        }
        try:
            over = whole.overlap(exchange.annotation)
        except Unscored as none:
            return times | dict.fromkeys(_ABOUT_ONE, Score.none(none))
        one = {
            "abrupt_cut": _abrupt(over, whole.sides),
            "overlap_behaviour_timed": _behaviour(exchange, over, whole),
        }
        return times | one | _changes(whole, whole.parted(exchange))


@dataclass(frozen=True, slots=True)
class Heard:
    """Both sides, their gaps closed, and where they meet."""

    sides: Sides
    user: Sequence[Segment]
    reply: Sequence[Segment]
    found: Sequence[Overlap]

    def overlap(self, note: Annotation) -> Overlap:
        return overlap(note, self.found, self.user, self.reply)

    def parted(self, exchange: Exchange) -> tuple[tuple[float, float], tuple[float, float]]:
        """From where to where is before the overlap, and from where to where after it."""
        over = self.overlap(exchange.annotation)
        split = _split(over.user.end, self.sides.words)
        if exchange.annotation.overlap_start is not None:  # the item is the whole recording
            return (0.0, split), (split, self.sides.seconds)
        begin = exchange.reply.start / WIRE_RATE if exchange.reply else over.reply.start
        later = (each.start for each in self.user if each.start > over.user.end)
        return (begin, split), (split, next(later, self.sides.seconds))


def heard(exchange: Exchange, ears: Ears) -> Heard:
    """Unscored where there is nothing to be talked over."""
    task = exchange.annotation.task
    if task not in (None, "conversation", *ITEMS):
        raise Unscored("another task")
    if task not in ITEMS and (exchange.reply is None or not exchange.reply.spoken):
        raise Unscored("no reply")
    exchange.sound_allowed()
    sides = ears.sides(exchange.conversation)
    user, reply = merged(sides.user, USER_GAP), merged(sides.reply, REPLY_GAP)
    return Heard(sides, user, reply, met(exchange, user, reply))


def build(settings: Settings) -> Overlaps:
    return Overlaps(ears())


def met(exchange: Exchange, user: Sequence[Segment], reply: Sequence[Segment]) -> list[Overlap]:
    """All of an item; of a talk, those in which the user begins while this reply sounds."""
    both = [Overlap(said, sounded) for sounded in reply for said in reaching(user, *sounded.span)]
    if exchange.annotation.task in ITEMS:
        return both
    assert exchange.reply is not None, "looked at above"
    begin, end = exchange.reply.start / WIRE_RATE, exchange.reply.end / WIRE_RATE
    return [
        each
        for each in both
        if each.reply.within(begin, end) and each.reply.start < each.user.start < end
    ]


def overlap(
    note: Annotation, found: Sequence[Overlap], user: Sequence[Segment], reply: Sequence[Segment]
) -> Overlap:
    """The one that before and after are told by: the annotated one, or the first over a reply."""
    if note.overlap_start is not None:
        begin = note.overlap_start / WIRE_RATE
        end = (note.overlap_end or note.overlap_start + WIRE_RATE) / WIRE_RATE
        return _annotated(begin, end, user, reply)
    for each in found:
        if each.reply.start < each.user.start:
            return each
    raise Unscored(_NOBODY)


def _annotated(
    begin: float, end: float, user: Sequence[Segment], reply: Sequence[Segment]
) -> Overlap:
    near = reaching(user, begin, end)
    if not near:
        raise Unscored("nobody was heard to talk over the reply")
    speaking = max(near, key=lambda each: min(each.end, end) - max(each.start, begin))
    # What was said before it without a pause is not what talks over the reply.
    speaking = Segment(max(speaking.start, begin), speaking.end)
    sounding = reaching(reply, speaking.start, speaking.end)
    if not sounding or sounding[0].start > speaking.start:
        raise Unscored("the reply was not sounding")
    return Overlap(speaking, sounding[0])


def _first_response(exchange: Exchange, user: Sequence[Segment], reply: Sequence[Segment]) -> Score:
    """Of items whose task is to be talked over; elsewhere it is the turn-taking latency."""
    if exchange.annotation.task not in TASKS:
        return Score.none("another task")
    if not user or not reply:
        return Score.none("no reply" if user else "no speech found in the turn")
    onset = reply[0].start
    before = [each for each in user if each.start < onset]
    if not before:
        return Score.none("the reply was first to speak")
    return Score(max(0.0, onset - before[-1].end))


def _stop(found: Sequence[Overlap]) -> Score:
    if not found:
        return Score.none(_NOBODY)
    stopped = sum(each.stopped for each in found)
    mean = sum(each.length for each in found) / len(found)
    return Score(mean, f"the reply stopped at {stopped} of {len(found)} overlaps")


def _response(exchange: Exchange, whole: Heard) -> Score:
    found, waits = whole.found, gaps(whole.user, whole.reply)
    if exchange.annotation.task not in ITEMS:
        ends = {each.user.end for each in found if each.reply.end <= each.user.end}
        if not ends:
            return Score.none("the reply did not stop" if found else _NOBODY)
        waits = [each for each in waits if each.start in ends]
    if not waits:
        return Score.none("no reply after it")
    mean = sum(each.length for each in waits) / len(waits)
    return Score(mean, f"mean of {len(waits)}")


def _abrupt(over: Overlap, sides: Sides) -> Score:
    if not over.stopped:
        return Score.none("the reply did not stop")
    before, after = _AROUND
    # The network lets a voice end late: go by what can be heard.
    heard = sides.audible("reply", over.reply.start, min(over.reply.end + after, sides.seconds))
    end = heard.end if heard else over.reply.end
    sound = sides.sound("reply", max(0.0, end - before), min(end + after, sides.seconds))
    padded = np.pad(sound.samples, (0, round(after * sound.rate)))
    return Score(float(bool(cutoffs(AudioChunk(padded, sound.rate)))))


def _behaviour(exchange: Exchange, over: Overlap, whole: Heard) -> Score:
    if (wanted := right(exchange.annotation)) is None:
        return Score.none(NO_OVERLAP)
    logged = [
        Segment(turn.start / WIRE_RATE, turn.end / WIRE_RATE)
        for turn in exchange.conversation.turns
        if turn.role == "assistant" and turn.spoken
    ]
    shown = behaviour(over.user, over.reply, whole.user, whole.reply, logged)
    told = f"{shown.did}: {shown.why}; right would be {wanted}"
    return Score(100.0 * (shown.did == wanted), told)


# -- before and after


def _changes(whole: Heard, parts: Sequence[tuple[float, float]]) -> dict[str, Score]:
    words = whole.sides.words
    rates = [
        per_minute([word for word in words if begin <= word.start and word.end <= end + _LAST])
        for begin, end in parts
    ]
    return _told(rates, [_manner(whole.sides, *part) for part in parts])


def _split(at: float, words: Sequence[TimedWord]) -> float:
    """The beginning of the word that is being said then, or of the next."""
    return next((word.start for word in words if word.end > at), at)


def speech(sides: Sides, begin: float, end: float) -> AudioChunk | None:
    """All that the reply says between two moments, without its pauses."""
    parts = between(sides.reply, begin, end)
    return AudioChunk.join([sides.sound("reply", *each.span) for each in parts]) if parts else None


def _manner(sides: Sides, begin: float, end: float) -> Manner | None:
    sound = speech(sides, begin, end)
    return manner(sound) if sound else None


def _told(rates: Sequence[float | None], manners: Sequence[Manner | None]) -> dict[str, Score]:
    few = Score.none(FEW)
    found = dict.fromkeys(_CHANGES, few)
    if rates[0] is not None and rates[1] is not None:
        found["overlap_rate_change"] = change(rates[0], rates[1], "words/min")
    before, after = manners
    if before is None or after is None:
        return found
    found["overlap_intensity_change_db"] = change(before.level_db, after.level_db, "dB")
    found["overlap_intensity_spread_change_db"] = change(
        before.level_spread_db, after.level_spread_db, "dB"
    )
    if before.pitch_hz and after.pitch_hz:
        semitones = 12 * float(np.log2(after.pitch_hz / before.pitch_hz))
        told = f"{before.pitch_hz:.0f} → {after.pitch_hz:.0f} Hz"
        found["overlap_pitch_change_st"] = Score(semitones, told)
    if before.pitch_spread_st is not None and after.pitch_spread_st is not None:
        found["overlap_pitch_spread_change_st"] = change(
            before.pitch_spread_st, after.pitch_spread_st, "st"
        )
    return found


def change(before: float, after: float, unit: str, places: int = 1) -> Score:
    return Score(after - before, f"{before:.{places}f} → {after:.{places}f} {unit}".rstrip())
