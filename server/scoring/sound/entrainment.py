"""Prosodic alignment: how near the reply's pace, pitch and loudness come to the user's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unscored
from server.scoring.settings import Settings
from server.scoring.sound.voices import Pair, last_answered, own_mean, pairs, synchrony

LATER = "told at the session's last exchange"
_OWN = (
    "Each side against its own mean in the session, since voices and microphones differ: needs two "
    "turns of each."
)
_BOTH = "Pearson's correlation over at least four exchanges, told once for each session."


def _gap(name: str, title: str, about: str, unit: str, caveat: str = "") -> Measure:
    return Measure(name, title, "voice", about, caveat, unit, False, 0)


def _sync(name: str, title: str, about: str) -> Measure:
    return Measure(name, title, "voice", about, _BOTH, "", True, -1, 1)


MEASURES = (
    _gap("rate_gap", "Pace gap", "How far the reply's pace is from the user's.", "syllables/s"),
    _gap("pitch_gap_st", "Pitch gap", "How far apart both moved from their pitch.", "st", _OWN),
    _gap(
        "loudness_gap_db",
        "Loudness gap",
        "How far apart both moved from their usual loudness.",
        "dB",
        _OWN,
    ),
    _sync("rate_sync", "Pace synchrony", "Whether replies are faster where the user is."),
    _sync("pitch_sync", "Pitch synchrony", "Whether replies are higher where the user is."),
    _sync("loudness_sync", "Loudness synchrony", "Whether replies are louder where the user is."),
    Measure(
        "reply_rate",
        "Reply's pace",
        "voice",
        "Syllables a second, pauses apart.",
        "",
        "syllables/s",
    ),
    Measure(
        "reply_pitch_range_st",
        "Reply's pitch range",
        "voice",
        "Between the 5th and the 95th percentile of the reply's pitch: a flat voice has little.",
        unit="st",
    ),
)


@dataclass(frozen=True, slots=True)
class Entrainment:
    key: str = "entrainment 1"
    judge: JudgeNamed | None = None

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        exchange.reply_sound()  # says what is missing, if it is
        all_pairs = pairs(exchange.conversation)
        if exchange.number >= len(all_pairs):
            raise Unscored("no reply")
        here = all_pairs[exchange.number]
        last = exchange.number == last_answered(exchange.conversation)
        takes: dict[str, Callable[[], Score]] = {
            "rate_gap": lambda: _rate_gap(here),
            "pitch_gap_st": lambda: _own_gap(all_pairs, here, "pitch"),
            "loudness_gap_db": lambda: _own_gap(all_pairs, here, "loudness"),
            "rate_sync": lambda: _in_step(all_pairs, "rate", last),
            "pitch_sync": lambda: _in_step(all_pairs, "pitch", last),
            "loudness_sync": lambda: _in_step(all_pairs, "loudness", last),
            "reply_rate": lambda: _plain(here.reply.rate),
            "reply_pitch_range_st": lambda: _plain(here.reply.pitch_range),
        }
        return {name: _taken(take) for name, take in takes.items()}


def build(settings: Settings) -> Entrainment:
    return Entrainment()


def _taken(take: Callable[[], Score]) -> Score:
    try:
        return take()
    except Unscored as reason:
        return Score.none(reason)


def _plain(value: float | None) -> Score:
    if value is None:
        raise Unscored("too little of the reply to measure")
    return Score(value)


def _told(value: float | None, side: str) -> float:
    if value is None:
        raise Unscored(f"too little of {side} to measure")
    return value


def _rate_gap(here: Pair) -> Score:
    user, reply = _told(here.user.rate, "the user"), _told(here.reply.rate, "the reply")
    return Score(abs(reply - user), f"user {user:.1f}, reply {reply:.1f} syllables/s")


def _own_gap(all_pairs: Sequence[Pair], here: Pair, aspect: str) -> Score:
    user = _told(getattr(here.user, aspect), "the user")
    reply = _told(getattr(here.reply, aspect), "the reply")
    user -= own_mean([pair.user for pair in all_pairs], aspect)
    reply -= own_mean([pair.reply for pair in all_pairs], aspect)
    return Score(abs(reply - user), f"user {user:+.1f}, reply {reply:+.1f} from their means")


def _in_step(all_pairs: Sequence[Pair], aspect: str, last: bool) -> Score:
    if not last:
        raise Unscored(LATER)
    found, count = synchrony(all_pairs, aspect)
    return Score(found, f"over {count} exchanges")
