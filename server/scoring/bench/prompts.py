"""What the server is told before a clip is played: EchoMind's three strengths, in our words."""

from collections.abc import Mapping
from typing import Any

from models.perception.labels import DIMENSIONS
from server.scoring.annotation import Annotation, Prompt
from server.scoring.bench.cues import coarse

ASSISTANT = "You are a helpful assistant."
DESK = "You work at the help desk of a company and talk with its customers."
TOPIC = "What is talked about: {}."
ONE_TURN = "Answer what you are about to hear in a single turn."
# By coarse dimension: what an enhanced prompt asks to consider beside the words.
CONSIDER = {
    "speaker": (
        "Take into account what is said and what the voice tells of the person. Address them as "
        "suits them, fit what you say to them, and make no difference between women and men."
    ),
    "paralinguistic": "Take into account what is said and also how the voice sounds.",
    "environment": "Take into account what is said and also what can be heard in the background.",
}
SITUATION = "The situation: {}"
CHOOSE = (
    "You are a helpful assistant. You get a question about a recording of somebody speaking, with "
    "several options. Choose the one that fits best and explain nothing. Write exactly: "
    "The answer is: [X], with the letter of your choice in place of X."
)
LIKELY = 0.5  # of a sound that may be there or not


def instructions(annotation: Annotation, prompt: Prompt, group: str | None = None) -> str:
    """Those of a conversation; `group` is the coarse dimension that the script is about."""
    told: list[str] = []
    if prompt != "zero":
        group = group or coarse(annotation.cue)
        enhanced = CONSIDER.get(group or "", "") if prompt == "enhanced" else ""
        told.append(DESK if enhanced and group == "speaker" else ASSISTANT)
        if annotation.topic:
            told.append(TOPIC.format(annotation.topic.replace("_", " ")))
        told.append(ONE_TURN)
        if enhanced:
            told.append(enhanced)
    if annotation.context:
        told.append(SITUATION.format(annotation.context))
    return "\n".join(told)


def material(annotation: Annotation, words: str, heard: str) -> str:
    """What a language model has to know for a multiple choice; `heard` is a percept in words."""
    lines = [f'The recording says: "{words}"' if words else "No words were understood."]
    if heard:
        lines.append(f"How it sounds: {heard}.")
    lines += [f"Question: {annotation.question}", "Options:", *annotation.options]
    return "\n".join(lines)


def asked(annotation: Annotation) -> str:
    """The last thing said to it: a plain question, that nobody takes for small talk."""
    letters = [chr(65 + place) for place in range(len(annotation.options))]
    return f"Which option is right, {', '.join(letters[:-1])} or {letters[-1]}?"


def described(percept: Mapping[str, Any]) -> str:
    """All that a percept may be relied on for, in words, with how likely it is.

    More than a reply is ever told: questions ask for gender and age, too.
    """
    found: list[str] = []
    for dimension in DIMENSIONS.values():
        if dimension.name in percept.get("unknown", ()):
            continue
        chances: Mapping[str, float] = percept.get(dimension.field) or {}
        told = {name: chances[name] for name in dimension.answers if name in chances}
        if not dimension.exclusive:
            likely = [name for name in told if told[name] >= LIKELY]
        else:
            likely = [max(told, key=lambda name: told[name])] if told else []
        named = dimension.name.replace("_", " ")
        found += [f"{named}: {name} ({told[name]:.0%})" for name in likely]
    return ", ".join(found)
