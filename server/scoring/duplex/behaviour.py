"""What a reply did when somebody talked over it, told by when both sides sound. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.scoring.annotation import Annotation
from server.scoring.duplex.segments import Segment

RESPOND, RESUME = "RESPOND", "RESUME"  # a judge has two more
SILENT = "SILENT"  # sound has one more: it stopped, and nothing came
RIGHT = {
    "user_interruption": RESPOND,
    "user_backchannel": RESUME,
    "talking_to_other": RESUME,
    "background_speech": RESUME,
}
NO_OVERLAP = "no overlap of Full-Duplex-Bench 1.5"
LET_OUT = 0.5  # seconds after the user's end in which a reply may still stop for them


@dataclass(frozen=True, slots=True)
class Behaviour:
    did: str
    why: str


def right(note: Annotation) -> str | None:
    """What an item asks for; None where it asks for nothing of the kind."""
    if note.task is None or note.overlap_start is None:
        return None
    return RIGHT.get(note.task)


def behaviour(
    over: Segment,
    talked_over: Segment,
    user: Sequence[Segment],
    reply: Sequence[Segment],
    logged: Sequence[Segment] = (),
) -> Behaviour:
    """Of the reply, after the user spoke over it.

    Args:
        over: what the user says over the reply.
        talked_over: what was sounding then.
        user: all that the user says.
        reply: all that sounds of replies.
        logged: from where to where the log lays each reply. A reply that falls silent and sounds
            again within one of them went on; without a log nobody can tell, and it is another.
    """
    last = max((each for each in reply if each.start < over.end), default=talked_over)
    until = min((each.start for each in user if each.start > over.end), default=float("inf"))
    later = min((each for each in reply if over.end <= each.start < until), default=None)
    began_again = last.start > talked_over.start  # while they still spoke: it let nobody have it
    if later is None:
        if began_again or last.end >= over.end:
            return Behaviour(RESUME, "it went on, and nothing came after it")
        return Behaviour(SILENT, "it stopped, and nothing came")
    if any(each.within(*last.span) and each.within(*later.span) for each in logged):
        return Behaviour(RESUME, "it went on")
    if began_again or last.end - over.end > LET_OUT:
        return Behaviour(RESUME, "it went on")
    return Behaviour(RESPOND, f"it stopped, and another began after {later.start - over.end:.2f} s")
