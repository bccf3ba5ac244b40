"""When words were said, as far as the places of speech tell. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from server.scoring.duplex.segments import Segment


@dataclass(frozen=True, slots=True)
class TimedWord:
    text: str
    start: float
    end: float


def spread(words: Sequence[str], speech: Sequence[Segment]) -> list[TimedWord]:
    """The words laid over the speech in their order, each as long as it is spelt.

    A word that a pause would fall into lies where most of it would have been.
    """
    total = sum(each.length for each in speech)
    letters = [max(1, sum(map(str.isalnum, word))) for word in words]
    if not words or total <= 0:
        return []
    second = total / sum(letters)
    timed, told = [], 0
    for word, count in zip(words, letters, strict=True):
        start, end = told * second, (told + count) * second
        timed.append(TimedWord(word, *_placed(start, end, speech)))
        told += count
    return timed


def during(words: Iterable[TimedWord], begin: float, end: float) -> list[TimedWord]:
    """The words of which at least a part is said between two moments."""
    return [word for word in words if word.start < end and word.end > begin]


def per_minute(words: Sequence[TimedWord]) -> float | None:
    """Words a minute from the first to the end of the last; None for too few to tell."""
    if len(words) < 2 or (seconds := words[-1].end - words[0].start) <= 0:
        return None
    return len(words) * 60 / seconds


def _placed(start: float, end: float, speech: Sequence[Segment]) -> tuple[float, float]:
    """Seconds of speaking, pauses left out, as seconds of session time, in one segment."""
    passed = 0.0
    best = (0.0, 0.0, 0.0)  # how much of it, from, to
    for each in speech:
        part = Segment(passed, passed + each.length).within(start, end)
        if part and part.length > best[0]:
            shift = each.start - passed
            best = (part.length, part.start + shift, part.end + shift)
        passed += each.length
    return best[1], best[2]
