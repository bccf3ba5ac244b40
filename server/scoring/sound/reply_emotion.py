"""Whether a reply sounds as it should: EchoMind's EmoAlign and VocalBench's acoustic score."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from models.errors import BackendError
from models.perception.hub_labels import emotions
from models.perception.labels import EMOTIONS
from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Passing, Score, Unavailable, Unscored, tried
from server.scoring.settings import Settings
from server.scoring.sound import listening
from server.scoring.sound.listening import Emotion, Listener
from server.scoring.sound.voice_fit import FITTING, FIVE, PERCEIVED, VOCALBENCH, Suitability

Take = Callable[[Exchange, Emotion], tuple[float, str]]

_LISTENER = (
    "The authors listen with emotion2vec+ large; without its process our own perceiver does, whose "
    "shipped weights cannot hear surprise."
)
MEASURES = (
    Measure(
        "emo_align",
        "Emotion alignment",
        "voice",
        "How often the reply's voice carries an emotion that fits: 100 if its likeliest does.",
        "How EchoMind's sets of fitting emotions came about is not published: where a data set "
        f"names none, a table of ours says what fits a cue. {_LISTENER}",
        "%",
        True,
        0,
        100,
    ),
    Measure(
        "vocalbench_acoustic",
        "VocalBench, voice",
        "voice",
        "How fitting the emotions in the reply's voice are to the user's true emotion, each as "
        "likely as it is.",
        "Without an item's own row, VocalBench's most frequent one for the true emotion is used; "
        f"other emotions have none. {_LISTENER}",
        "",
        True,
        1,
        5,
    ),
    Measure(
        "vocal_fit",
        "Voice fits what was perceived",
        "voice",
        "As VocalBench's voice score, for people whose true emotion nobody knows: against the "
        "emotion that was perceived.",
        "Our own: it counts on perception being right, and has rows of ours for neutral, fear and "
        "disgust. Never to be mixed with VocalBench's.",
        "",
        True,
        1,
        5,
    ),
)


@dataclass(frozen=True, slots=True)
class ReplyEmotion:
    settings: Settings
    listener: Listener

    @property
    def key(self) -> str:
        named = self.listener.judge
        known = (each for each in (named.name, named.version, named.host) if each)
        return f"reply_emotion 1: {', '.join(known)}"

    @property
    def judge(self) -> JudgeNamed | None:
        return self.listener.judge

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        voice = listening.heard(exchange, self.settings)
        takes = {"emo_align": _align, "vocalbench_acoustic": _acoustic, "vocal_fit": _fit}
        found: dict[str, Score] = {}
        for name, take in takes.items():
            found |= tried([name], partial(self._taken, name, take, exchange, voice))
        return found

    def _taken(self, name: str, take: Take, exchange: Exchange, voice: Emotion) -> dict[str, Score]:
        value, why = take(exchange, voice)
        return {name: Score(value, f"{why}; heard by {self.listener.judge.name}")}


def build(settings: Settings) -> ReplyEmotion:
    return ReplyEmotion(settings, listening.listener(settings.encoders.emotion2vec))


def reply_emotion(exchange: Exchange, settings: Settings) -> tuple[str, dict[str, float]]:
    """What the reply's voice sounds like, and how likely each emotion is, for other instruments."""
    try:
        voice = listening.heard(exchange, settings)
    except Unavailable:
        raise Passing("the emotion of replies cannot be heard here") from None
    return voice.name, dict(voice.chances)


def _align(exchange: Exchange, voice: Emotion) -> tuple[float, str]:
    given = exchange.annotation.reference_emotions
    if given:
        fitting, source = _named(dict.fromkeys(given, 0.0)), "the data set's"
    elif (cue := exchange.cue()) in FITTING:
        fitting, source = dict.fromkeys(FITTING[cue], 0.0), "by our table"
    else:
        raise Unscored("no emotion is known to fit the cue")
    if not any(name in voice.chances for name in fitting):
        raise Unscored("the listener cannot hear any fitting emotion")
    doubt = "" if voice.sure else ", not sure"
    why = f"sounds {voice.name}{doubt}; fitting, {source}: {', '.join(fitting)}"
    return 100.0 if voice.name in fitting else 0.0, why


def _acoustic(exchange: Exchange, voice: Emotion) -> tuple[float, str]:
    true = exchange.annotation
    if true.suitability:
        return _expected(voice, _named(true.suitability)), "by the item's own row"
    emotion = _ours(true.labels.get("emotion") or true.cue or "")
    if emotion is None:
        raise Unscored("no true emotion")
    if emotion not in VOCALBENCH:
        raise Unscored("VocalBench has no row for this emotion")
    return _expected(voice, VOCALBENCH[emotion]), f"by VocalBench's usual row for {emotion}"


def _fit(exchange: Exchange, voice: Emotion) -> tuple[float, str]:
    true = exchange.annotation
    if true.cue is not None or "emotion" in true.labels or true.suitability:
        raise Unscored("the truth is known")
    percept = exchange.percept()
    chances = percept.get("emotion") or {}
    if not chances or "emotion" in percept.get("unknown", ()):
        raise Unscored("no emotion was perceived surely")
    perceived = max(chances, key=chances.__getitem__)
    return _expected(voice, PERCEIVED[perceived]), f"against {perceived}, as perceived"


def _expected(voice: Emotion, row: Suitability) -> float:
    """The row's mean under the chances of its emotions, which are made to add up to 1."""
    names = [name for name in FIVE if name in row]
    total = sum(voice.chances.get(name, 0.0) for name in names)
    if len(names) < len(FIVE):
        raise Unscored("the item's row lacks emotions")
    if total <= 0:
        raise Unscored("none of the five emotions was heard")
    return sum(voice.chances.get(name, 0.0) * row[name] for name in names) / total


def _named(given: Mapping[str, float]) -> dict[str, float]:
    """Under our names for emotions; those that have none are left out."""
    found = {name: value for label, value in given.items() if (name := _ours(label))}
    if not found:
        raise Unscored("the data set's emotions have no name here")
    return found


def _ours(label: str) -> str | None:
    """Data sets say surprised, and fearful."""
    with suppress(BackendError):
        name = emotions((label, *FIVE))[0]  # it wants to be shown two emotions at least
        return name if name in EMOTIONS else None
    return None
