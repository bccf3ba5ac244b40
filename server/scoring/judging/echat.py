"""EChat-eval's five families: replies to an emotion, age, gender, sound event, or several."""

from collections.abc import Mapping

from server.scoring.exchange import Exchange
from server.scoring.judging import material
from server.scoring.judging.judge import Judge
from server.scoring.judging.rubric import rubric
from server.scoring.judging.sitting import Judged, Sitting, judge, self_agreement
from server.scoring.score import Instrument, JudgeNamed, Measure, Score, Unscored, tried
from server.scoring.settings import Settings

NAME = "echat"
FAMILIES = {
    "emotion": ("echat_emotion", "Reply to an emotion"),
    "age": ("echat_age", "Reply to an age"),
    "gender": ("echat_gender", "Reply to a gender"),
    "event": ("echat_event", "Reply to a sound event"),
    "multi": ("echat_multi", "Reply to several cues"),
}
KEYS = ("content_score", "cue_score", "emotion_score")
NO_LABEL = "no true label that EChat-eval asks for"
OTHER_FAMILY = "another family of EChat-eval"
PLAIN = frozenset({"neutral", "adult", "normal", "other", "none", "unknown", ""})
# Fine categories of our taxonomy under the names EChat-eval has for what can be heard.
LABELS = {"emotion": "emotion", "age": "age", "gender": "gender", "nonverbal": "event"}
EVENTS = frozenset({"sobbing", "scream", "sneeze", "throat"})  # which it counts among them

MEASURES = (
    *(
        Measure(
            name, title, "echat",
            "Mean of three grades: the reply's content, whether it takes up the true labels, and "
            "whether the emotion in its voice suits them.",
            "EChat-eval's judge is ChatGPT-4o; its prompt, its dimensions and its classifier of "
            "the reply's emotion are not published. Dimensions are ours, the classifier is named "
            "in each reason.",
            "", True, 0, 100,
        )
        for name, title in FAMILIES.values()
    ),
    self_agreement(NAME, "EChat-eval", "echat"),
)  # fmt: skip


class EChat(Judged):
    name = NAME
    rubrics = (NAME,)

    def __init__(self, judge: Judge, settings: Settings, listener: JudgeNamed) -> None:
        super().__init__(judge)
        self._settings = settings
        self._listener = listener

    @property
    def key(self) -> str:
        return f"{super().key}; emotion by {self._listener.name} {self._listener.version}"

    def judged(self, sitting: Sitting) -> dict[str, Score]:
        names = [name for name, _ in FAMILIES.values()]
        return tried(names, lambda: self._graded(sitting))

    def _graded(self, sitting: Sitting) -> Mapping[str, Score]:
        exchange = sitting.exchange
        labels = true_labels(exchange)
        family, _ = FAMILIES[_family(exchange, labels)]
        sitting.judge.admit(exchange)  # before a network has to listen in vain
        told = material.about(exchange) | {
            "user_said": material.said(exchange),
            "true_labels": labels,
            "reply": exchange.reply_words(),
        }
        told["emotion_of_the_reply"] = emotion = self._emotion(exchange)
        verdict = sitting.ask(rubric(NAME), told)
        means = {key: verdict.mean(key) for key in KEYS}
        parts = ", ".join(f"{key.removesuffix('_score')} {mean:g}" for key, mean in means.items())
        voice = f"the voice sounded {emotion} to {self._listener.name}."
        why = f"{parts}; {voice} {verdict.why(KEYS[0])}".strip()
        others = {name: Score.none(OTHER_FAMILY) for name, _ in FAMILIES.values()}
        return others | {family: Score(sum(means.values()) / len(means), why, raw=verdict.raw)}

    def _emotion(self, exchange: Exchange) -> str:
        from server.scoring.sound.reply_emotion import reply_emotion

        label, _ = reply_emotion(exchange, self._settings)
        return label


def true_labels(exchange: Exchange) -> dict[str, str]:
    """By EChat-eval's kinds. What says nothing (neutral, adult) only counts if nothing else is."""
    from models.perception.labels import DIMENSIONS

    truth = exchange.annotation
    found = {kind: truth.labels[kind] for kind in LABELS.values() if kind in truth.labels}
    if truth.cue:
        dimension = next((n for n, d in DIMENSIONS.items() if truth.cue in d.attributes), "")
        kind = "event" if truth.cue in EVENTS else LABELS.get(dimension)
        if truth.cue == "neutral":
            kind = "emotion"
        if kind:
            found.setdefault(kind, truth.cue)
    telling = {kind: label for kind, label in found.items() if label.casefold() not in PLAIN}
    if not (telling or found):
        raise Unscored(NO_LABEL)
    return telling or found


def _family(exchange: Exchange, labels: Mapping[str, str]) -> str:
    """As the data set says; else by how many labels are true."""
    if exchange.annotation.benchmark == "echat" and exchange.annotation.kind in FAMILIES:
        return exchange.annotation.kind
    return "multi" if len(labels) > 1 else next(iter(labels))


def build(settings: Settings) -> Instrument:
    asked = judge(settings)
    from server.scoring.sound.listening import listener

    return EChat(asked, settings, listener(settings.encoders.emotion2vec).judge)
