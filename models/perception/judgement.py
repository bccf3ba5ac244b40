"""From what was heard and measured to a percept: chances made honest, and doubts declared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.percept import Chances, Moment, Percept
from models.perception import manner
from models.perception.fusion import join
from models.perception.hearing import Card, Heard, Logits
from models.perception.labels import DIMENSIONS, ENVIRONMENT, EVENTS, VOCAL
from models.perception.stretch import PIECE, Measured, Part
from models.perception.words import WordsMood
from models.types import EAR_RATE

MOMENT = 0.5  # chance from which something happened
SURE_LOGIT = 30.0  # beyond it a chance differs from 0 or 1 by nothing one could tell
TELLING = 0.01  # share of the loudest part's sound; a fainter part has no say
MEASURED = ("hoarse", "breath", "tired")  # conditions that are told without the network


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that one stretch left: its parts with what the network says, and what was measured."""

    heard: Sequence[tuple[Part, Heard]]
    measured: Measured
    words: WordsMood | None
    seconds: float


def judge(evidence: Evidence, card: Card) -> Percept:
    voice = evidence.measured.voice
    unknown = set(evidence.measured.soundness.unknown())
    emotion, gender, age = (
        _exclusive(evidence, card, head) for head in ("emotion", "gender", "age")
    )
    sounds = _sounds(evidence, card)
    moments = _moments(evidence, card)
    volume, speed = manner.volume(voice), manner.speed(voice)
    measured = manner.physiological(voice)
    mood = join(emotion, evidence.words, voice.prosody, sobbing=sounds.get("sobbing", 0.0))
    physiological = dict(measured or dict.fromkeys(MEASURED, 0.0))
    for name in ("sobbing", "breath"):
        if name in sounds:
            physiological[name] = max(sounds[name], physiological.get(name, 0.0))

    for name, chances in (("emotion", mood.emotion), ("gender", gender), ("age", age)):
        if max(chances.values()) < card.sure[name]:
            unknown.add(name)
    for name, found in (("volume", volume), ("speed", speed), ("physiological", measured)):
        if found is None:
            unknown.add(name)
    for dimension in DIMENSIONS.values():
        of_sounds = dimension.field in ("events", "environment")
        if of_sounds and not any(name in sounds for name in dimension.attributes):
            unknown.add(dimension.name)
    # Nothing stays that could be taken for an answer where there was nothing to hear. The names do:
    # a missing one would say that it cannot be heard at all.
    if unknown.issuperset(DIMENSIONS):
        emotion, gender, age = (_even(card.names[head]) for head in ("emotion", "gender", "age"))
        mood = join(emotion, evidence.words, voice.prosody)
        sounds, physiological = dict.fromkeys(sounds, 0.0), dict.fromkeys(physiological, 0.0)
        moments = ()
    return Percept(
        emotion=mood.emotion,
        gender=gender,
        age=age,
        events={name: sounds[name] for name in EVENTS if name in sounds},
        environment={name: sounds[name] for name in ENVIRONMENT if name in sounds},
        physiological=physiological,
        volume=volume or _even(DIMENSIONS["volume"].answers),
        speed=speed or _even(DIMENSIONS["speed"].answers),
        expressed=mood.expressed,
        perceived=mood.perceived,
        prosody=voice.prosody,
        unknown=tuple(name for name in DIMENSIONS if name in unknown),
        moments=moments,
        conflict=None if "emotion" in unknown else mood.conflict,
        seconds=evidence.seconds,
        weights=card.weights,
    )


def _shares(evidence: Evidence) -> list[float]:
    """How much each part has to say: by its length, and nothing where it is all but silent."""
    loudest = max(part.loudness / max(part.size, 1) for part, _ in evidence.heard)
    return [
        float(part.size if part.loudness / max(part.size, 1) > TELLING * loudest else 0)
        for part, _ in evidence.heard
    ]


def _exclusive(evidence: Evidence, card: Card, head: str) -> Chances:
    logits = np.average(
        [heard[head][0] for _, heard in evidence.heard], axis=0, weights=_shares(evidence)
    )
    logits = logits / card.temperature[head]
    chances = np.exp(logits - logits.max())
    return _named(card.names[head], chances / chances.sum())


def _sounds(evidence: Evidence, card: Card) -> dict[str, float]:
    """What a person did counts where it was surest; surroundings last, and count on the whole."""
    rows = [_chance(heard["sounds"][0], card) for _, heard in evidence.heard]
    surest = np.max(rows, axis=0)
    overall = np.average(rows, axis=0, weights=_shares(evidence))
    return {
        name: float(surest[at] if name in VOCAL else overall[at])
        for at, name in enumerate(card.names["sounds"])
    }


def _moments(evidence: Evidence, card: Card) -> tuple[Moment, ...]:
    """Neighbouring pieces in which the same was heard are one moment."""
    pieces = [
        (start / EAR_RATE, min(start + PIECE, part.start + part.size) / EAR_RATE, chances)
        for part, heard in evidence.heard
        for start, chances in zip(part.pieces, _chance(heard["sounds"][1:], card), strict=True)
    ]
    found: list[Moment] = []
    for at, name in enumerate(card.names["sounds"]):
        if name not in VOCAL:
            continue
        running: Moment | None = None
        for begin, end, chances in pieces:
            if (chance := float(chances[at])) < MOMENT:
                continue
            if running and begin <= running.end:
                running = Moment(name, running.start, end, max(running.probability, chance))
                found[-1] = running
            else:
                running = Moment(name, begin, end, chance)
                found.append(running)
    return tuple(sorted(found, key=lambda moment: moment.start))


def _chance(logits: Logits, card: Card) -> Logits:
    cooled = np.clip(logits / card.temperature["sounds"], -SURE_LOGIT, SURE_LOGIT)
    chances: Logits = 1 / (1 + np.exp(-cooled))
    return chances


def _named(names: Sequence[str], chances: Logits) -> dict[str, float]:
    return {name: float(chance) for name, chance in zip(names, chances, strict=True)}


def _even(names: Sequence[str]) -> Mapping[str, float]:
    return {name: 1 / len(names) for name in names}
