"""What of an event may be kept: asked when it is written, and again when a consent is withdrawn."""

from typing import Any

from server.consent import Consent
from server.recording.payloads import without_payloads
from server.recording.timing_form import timing_form

# Beside what they set, these hold only a name and secrets, which are kept under no consent.
NEVER_WHOLE = ("attune.consent", "attune.session")
ABOUT = ("id", "item_id", "response_id")
NESTED = (dict, list)
A_TURN = {"item_id", "role", "start", "end"}  # without these it is of no use


def kept(event: dict[str, Any], consent: Consent) -> dict[str, Any] | None:
    """The event as it may be written; None if nothing of it may.

    With `transcript` it is all of it but sound and secrets; else its timing form. How somebody
    sounded is kept with `transcript` or `audio`. To ask again changes nothing, and to ask for less
    gives what asking for less at once would have given.
    """
    kind = event.get("type")
    if kind == "attune.percept" and not consent.personal:
        return None
    bare = without_payloads(event)
    if consent.transcript and kind not in NEVER_WHOLE and not _quotes_a_name(event):
        return bare
    form = timing_form(bare)
    return None if kind == "recording.turn" and A_TURN - form.keys() else form


def _quotes_a_name(event: dict[str, Any]) -> bool:
    """Whether it says what is wrong with the name in an `attune.consent`."""
    problem = event.get("error")
    return isinstance(problem, dict) and problem.get("param") == "name"


def subjects(event: dict[str, Any]) -> set[str]:
    """The ids of the items and responses it tells of.

    For whoever must not keep words from before a consent, which later events say again.
    """
    found: set[str] = set()
    waiting: list[Any] = [event]
    while waiting:  # no recursion: a client may nest as deep as it likes
        inside = waiting.pop()
        if isinstance(inside, dict):
            for key in ABOUT:
                if isinstance(name := inside.get(key), str):
                    found.add(name)
            inside = inside.values()
        waiting.extend(value for value in inside if isinstance(value, NESTED))
    return found
