"""The reply as it was written, as it was heard, and as it sounds."""

from dataclasses import dataclass

from server.scoring.duplex.ears import Ears, ears, spoken_words
from server.scoring.exchange import NO_SOUND, NO_WORDS, Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unavailable, Unscored
from server.scoring.settings import Settings
from server.scoring.words.normal import normal
from server.scoring.words.understanding import word_errors

VERSION = 1
MEASURES = (
    Measure(
        "reply_wer", "Words lost in the voice", "duplex",
        "Word errors of a recogniser that listens to the recorded reply, against what was to be "
        "said.",
        "Moonshine tiny listens, so its own errors count, too: compare voices rather than papers. "
        "Both are normalised as Whisper does. A reply that was cut short is held against what "
        "was heard of it.", "%", False, 0,
    ),
    Measure(
        "intended_heard_wer", "Words not heard", "duplex",
        "Word errors of what was heard of the reply, by the log, against what was written.",
        "It is above 0 only where the reply was interrupted or cut short.", "%", False, 0,
    ),
    Measure(
        "cut_share", "Share not heard", "duplex",
        "The share of the written reply's words that were never heard.", "", "", False, 0, 1,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Heard:
    """The log tells two of three measures; without ears, they are all there is."""

    ears: Ears | None

    @property
    def key(self) -> str:
        return f"heard {VERSION} {self.ears.key if self.ears else 'deaf'}"

    @property
    def judge(self) -> JudgeNamed | None:
        return None

    def measure(self, exchange: Exchange) -> dict[str, Score]:
        if not exchange.consent.transcript:
            raise Unscored(NO_WORDS)
        if exchange.reply is None:
            raise Unscored("no reply")
        if not exchange.reply.spoken:
            raise Unscored("the reply was not spoken")
        return _logged(exchange) | {"reply_wer": self._listened(exchange)}

    def _listened(self, exchange: Exchange) -> Score:
        assert exchange.reply is not None, "looked at above"
        if not exchange.consent.audio:
            return Score.none(NO_SOUND)
        whole = exchange.intended if not exchange.reply.interrupted else None
        said = whole or exchange.reply.text
        if not said:
            return Score.none("nothing of it was heard")
        if self.ears is None:
            return Score.none("the recogniser's weights are missing")
        try:
            heard = " ".join(self.ears.words(exchange.reply_sound()))
            return Score(word_error_rate(said, heard), heard)
        except Unscored as missing:
            return Score.none(missing)


def build(settings: Settings) -> Heard:
    try:
        return Heard(ears())
    except Unavailable:
        return Heard(None)


def word_error_rate(said: str, heard: str) -> float:
    """Percent, over normalised words."""
    found = word_errors(normal(said), normal(heard)).value
    assert found is not None, "it is one, or Unscored is raised"
    return found


def _logged(exchange: Exchange) -> dict[str, Score]:
    assert exchange.reply is not None, "looked at above"
    if not exchange.intended:
        missing = Score.none("what was written is not logged")
        return {"intended_heard_wer": missing, "cut_share": missing}
    heard = exchange.reply.text or ""
    written = spoken_words(exchange.intended)
    if not written:
        missing = Score.none("no words to compare with")
        return {"intended_heard_wer": missing, "cut_share": missing}
    lost = max(0, len(written) - len(spoken_words(heard)))
    told = f"{lost} of {len(written)} words"
    try:
        errors = Score(word_error_rate(exchange.intended, heard), told)
    except Unscored as missing_words:
        errors = Score.none(missing_words)
    return {"intended_heard_wer": errors, "cut_share": Score(lost / len(written), told)}
