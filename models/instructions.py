"""A style in words, for voices that are told how to speak; and such words as a style again.

Both directions share one table: what `instructions` says, `styled_by` understands. What others
write is understood as far as it uses words like these.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from models.style import PLAIN, Style
from models.styles import styled

# For each reply emotion: how we ask for it, and how the words by which others do begin.
EMOTIONS: Mapping[str, tuple[str, str]] = {
    "neutral": ("in a neutral tone", "neutral matter-of-fact"),
    "pleasant": ("in a pleasant, friendly tone", "pleasant friendl warm polite"),
    "happy": ("happily, with a smile in the voice", "happ joy cheer delight excit glad smil"),
    "surprised": ("with surprise", "surpris amaze astonish"),
    "comforting": (
        "in a comforting, caring tone",
        "comfort caring calm sooth empath sympath compassion reassur gentl",
    ),
    "apologetic": ("apologetically, and mean it", "apolog sorry regret"),
    "sad": ("sadly", "sad sorrow melanchol grie mourn"),
    "crying": ("as if close to tears", "tears tearful crying weep sobbing"),
    "angry": ("angrily, but under control", "angr anger furious irritat annoyed"),
    "afraid": ("in an anxious tone, as if afraid", "afraid fear anxious scared frighten worried"),
    "disgusted": ("with disgust", "disgust revolt repuls"),
}


@dataclass(frozen=True, slots=True)
class Manner:
    """A value of one of the style's fields that is worth words, and how those begin."""

    field: str
    value: float
    phrase: str
    stems: str


# Of one field, the phrases that hold another come first.
MANNERS: Sequence[Manner] = (
    Manner("pace", 0.7, "very slowly", "very slow"),
    Manner("pace", 0.85, "slowly", "slow|unhurried"),
    Manner("pace", 1.3, "very fast", "very fast|very quick"),
    Manner("pace", 1.15, "quickly", "quick|fast|brisk|rapid"),
    Manner("pitch", -1.5, "at a lower pitch", "lower pitch|low pitch|deep"),
    Manner("pitch", 1.5, "at a higher pitch", "higher pitch|high pitch|high-pitched"),
    Manner("range", 0.7, "with little melody", "little melody|monoton"),
    Manner("range", 1.3, "with a lively melody", "lively|animated|expressive"),
    Manner("loudness", -9.0, "almost in a whisper", "whisper"),
    Manner("loudness", -4.0, "softly", "soft|quiet"),
    Manner("loudness", 4.0, "loudly", "loud|shout"),
    Manner("tilt", -2.0, "with a mellow sound", "mellow"),
    Manner("tilt", 2.0, "with a bright sound", "bright"),
    Manner("breath", 0.4, "with a breathy voice", "breath"),
    Manner("pause", 1.5, "with long pauses", "long pause|longer pause"),
    Manner("emphasis", 0.6, "with strong emphasis", "strong emphasis|emphatic"),
)
CONTOURS: Mapping[Literal["fall", "level", "rise"], str] = {
    "fall": "a falling tone",
    "level": "a level tone",
    "rise": "a rising tone",
}
# What takes the next words back, "without sounding too sad", and in a list those after them.
ORDER = r"(?:do|must|should) not|(?:do|must|should)n't|never|avoid|stop|refrain from"
DENIAL = r"not(?! only| just)|no|without|less|isn't|neither|instead of|rather than"
DENIED = re.compile(rf"\b(?:(?P<order>{ORDER})|{DENIAL})(?:\s+\S+){{1,4}}")
SENTENCES = re.compile(r"([.;:!?\n]|\bbut\b)")
LINKS = re.compile(r"(,\s*(?:(?:and|or|nor)\b)?|\s(?:and|or|nor)\b)")
LISTED = 3  # words of one thing in a list, at the most
# How something begins that is asked for, and not one more thing of the list before it.
ANEW = re.compile(
    r"\s*(?:speak|talk|say|read|sound|be|use|keep|stay|make|go|try|just|always|more|then|please"
    r"|in|with|at|as)\b"
)
STRESS = re.compile(r"\bstress the words? ([^.;!\n]+)")
QUOTED = re.compile(r"""(?<!\w)(['"])(.{1,60}?)\1(?!\w)""")


def instructions(style: Style) -> str:
    """How to speak, in a few short English sentences; empty for the voice's own manner."""
    asked = [manner.phrase for manner in _standing_out(style)]
    if style.emotion != PLAIN.emotion:
        asked.insert(0, EMOTIONS[style.emotion][0])
    sentences = [f"Speak {'; '.join(asked)}."] if asked else []
    if style.stress:
        sentences.append(f"Stress the words {', '.join(style.stress)}.")
    if style.contour != "own":
        sentences.append(f"End on {CONTOURS[style.contour]}.")
    return " ".join(sentences)


def styled_by(told: str) -> Style:
    """The style that instructions ask for: the first emotion they name, and every manner."""
    told, stress = _stress(re.sub("[‘’]", "'", re.sub("[“”]", '"', told.lower())))
    told = "".join(map(_meant, SENTENCES.split(told)))
    named = {
        at: emotion
        for emotion, (_, stems) in EMOTIONS.items()
        if (at := _place(told, stems.split())) is not None
    }
    style = styled(named[min(named)]) if named else PLAIN
    changes: dict[str, Any] = {}
    for manner in MANNERS:
        if manner.field not in changes and _place(told, manner.stems.split("|")) is not None:
            changes[manner.field] = manner.value
    for contour, phrase in CONTOURS.items():
        if phrase in told:
            changes["contour"] = contour
    if stress:
        changes["stress"] = stress
    return replace(style, **changes)


def _standing_out(style: Style) -> Iterable[Manner]:
    """For each field the manner that is nearest, unless the voice's own is nearer."""
    for field in dict.fromkeys(manner.field for manner in MANNERS):
        value: float = getattr(style, field)
        of_field = [manner for manner in MANNERS if manner.field == field]
        nearest = min(of_field, key=lambda manner: abs(manner.value - value))
        if abs(nearest.value - value) < abs(getattr(PLAIN, field) - value):
            yield nearest


def _stress(told: str) -> tuple[str, tuple[str, ...]]:
    """The instructions without the words to stress, which ask for nothing else; and those."""
    if not (found := STRESS.search(told)):
        return told, ()
    quoted = list(QUOTED.finditer(found[1]))
    named = " ".join(quote[2] for quote in quoted) or found[1]
    end = found.start(1) + quoted[-1].end() if quoted else found.end()
    return told[: found.start()] + told[end:], tuple(re.findall(r"(?!and\b)\b[\w'-]+", named))


def _meant(sentence: str) -> str:
    """The sentence with blanks for what is taken back: "not sad, angry or loud" is nothing.

    "Not too fast, warm and friendly" is warm: a comma goes on with a list only after an order, or
    if the list has an "or".
    """
    parts = LINKS.split(sentence)
    links, things = ["", *parts[1::2]], parts[::2]
    last_or = max((at for at, link in enumerate(links) if "or" in link), default=-1)
    meant, back, order = "", False, False
    for at, (link, thing) in enumerate(zip(links, things, strict=True)):
        if denied := DENIED.search(thing):
            back, order = True, bool(denied["order"])
            thing = thing[: denied.start()] + _blank(denied[0]) + thing[denied.end() :]
        else:
            either = "or" in link
            listed = not ANEW.match(thing) and len(thing.split()) <= LISTED
            joined = "," not in link or order or at <= last_or
            back = back and (either or (listed and joined))
            thing = _blank(thing) if back else thing
        meant += link + thing
    return meant


def _blank(text: str) -> str:
    return " " * len(text)


def _place(told: str, stems: Sequence[str]) -> int | None:
    """Where a word with one of the stems first stands."""
    found = re.search(rf"\b(?:{'|'.join(map(re.escape, stems))})", told)
    return found.start() if found else None
