"""How long everything took, as logged and as recorded."""

from dataclasses import dataclass

import numpy as np

from models.types import WIRE_RATE
from server.scoring.duplex.ears import AUDIBLE, Ears, Sides, ears
from server.scoring.duplex.taking_turns import user_end
from server.scoring.duplex.underruns import Underruns, laid, reported, sounding
from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unavailable, Unscored
from server.scoring.settings import Settings
from server.sessions.exchanges import FIRST_SENT, RecordedTurn

VERSION = 1

# In the order in which a turn reaches them.
STAGES = {
    "words": "the last words were recognised",
    "judged": "the turn was judged to be over",
    "percept": "the perceiver had listened",
    "planned": "the reply was planned",
    "first_token": "the reply model gave its first token",
    "first_clause": "the first words could be spoken",
    "first_audio": "the voice had made its first sound",
    "gate": "the turn was certain to be over",
    FIRST_SENT: "the first sound went out",
}
_RECORDED = ("reply_latency_ms", "timing_error_ms")
_HOLES = ("underruns", "underrun_ms")
_HOW = (
    "Known from what the client reports it has played; where it reports nothing, from how much "
    "longer the reply took than what was sent; where that is not logged either, from digital "
    "silence that begins in the middle of sound, which misses holes that begin in a pause."
)

MEASURES = (
    *(
        Measure(
            f"stage_{stage}_ms", f"Stage: {stage.replace('_', ' ')}", "latency",
            f"Milliseconds from the end of speech until {what}, by the server's clock.",
            "Negative where it was ready before the end of speech was certain.", "ms", False,
        )
        for stage, what in STAGES.items()
    ),
    Measure(
        "reply_latency_ms", "Reply latency, recorded", "latency",
        "From the end of the user's speech in the left channel to the first audible sample of the "
        "reply in the right.",
        "The end is Silero's, to 32 ms; audible is above -45 dBFS. Negative where the reply began "
        "before the end.", "ms", False,
    ),
    Measure(
        "timing_error_ms", "Recorded less logged latency", "latency",
        "Recorded reply latency less the logged moment of the first sound sent.",
        "Holds what the network and the client's buffer add, and where Silero and the server "
        "differ on the end of speech.", "ms",
    ),
    Measure(
        "underruns", "Underruns", "latency",
        "How often the reply fell silent for more than 60 ms with more of it to come.",
        _HOW, "", False, 0,
    ),
    Measure(
        "underrun_ms", "Silence in underruns", "latency",
        "How long it was silent so in all.", _HOW, "ms", False, 0,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Latency:
    """Stages need no ears: without them, they are all there is."""

    ears: Ears | None
    deaf: str = ""  # why there are none

    @property
    def key(self) -> str:
        return f"latency {VERSION} {self.ears.key if self.ears else 'deaf'}"

    @property
    def judge(self) -> JudgeNamed | None:
        return None

    def measure(self, exchange: Exchange) -> dict[str, Score]:
        return self._stages(exchange) | self._recorded(exchange) | _underruns(exchange)

    def _stages(self, exchange: Exchange) -> dict[str, Score]:
        missing = "no timing was logged" if exchange.reply else "no reply"
        logged = exchange.stages_ms
        return {
            f"stage_{stage}_ms": Score(float(logged[stage]))
            if stage in logged
            else Score.none("the stage was not reached" if logged else missing)
            for stage in STAGES
        }

    def _recorded(self, exchange: Exchange) -> dict[str, Score]:
        try:
            if self.ears is None:
                raise Unscored(self.deaf)
            exchange.sound_allowed()
            late = reply_latency_ms(exchange, self.ears.sides(exchange.conversation))
        except Unscored as missing:
            return dict.fromkeys(_RECORDED, Score.none(missing))
        sent = exchange.stages_ms.get(FIRST_SENT)
        return {
            "reply_latency_ms": Score(late),
            "timing_error_ms": Score.none("no timing was logged")
            if sent is None
            else Score(late - sent),
        }


def build(settings: Settings) -> Latency:
    try:
        return Latency(ears())
    except Unavailable:
        return Latency(None, "the weights that hear voices are missing")


def reply_latency_ms(exchange: Exchange, sides: Sides) -> float:
    """From the end of speech on the left to the first audible sample on the right."""
    end = user_end(exchange, sides)
    sound = exchange.reply_sound()
    loud = np.abs(sound.samples) > AUDIBLE
    if not loud.any():
        raise Unscored("the reply cannot be heard")
    assert exchange.reply is not None, "it has a sound"
    return ((exchange.reply.start + int(loud.argmax())) / WIRE_RATE - end) * 1000


def _underruns(exchange: Exchange) -> dict[str, Score]:
    reply = exchange.reply
    if reply is None or not reply.spoken:
        return dict.fromkeys(_HOLES, Score.none("no reply"))
    lines = exchange.conversation.lines
    try:
        found = reported(lines, reply.item_id) or _unreported(exchange, reply)
    except Unscored as missing:
        return dict.fromkeys(_HOLES, Score.none(missing))
    return {
        "underruns": Score(float(len(found.holes_sec)), found.how),
        "underrun_ms": Score(found.total_ms, found.how),
    }


def _unreported(exchange: Exchange, reply: RecordedTurn) -> Underruns:
    samples, lines = exchange.reply_sound().samples, exchange.conversation.lines
    whole = not reply.interrupted
    sent = laid(lines, reply.item_id, samples, reply.start) if whole else None
    return sent or sounding(samples, lines, reply.item_id, reply.start)
