"""What a session's words on consent, one after another, leave allowed. Pure."""

from collections.abc import Sequence
from datetime import datetime

from server.consent import Consent
from server.sessions.format import Consented, SessionFile


def permitted(session: SessionFile) -> Consent:
    """What may be kept of the session now; nothing, if nobody said so."""
    return meant(session.allowed) if session.allowed else Consent()


def permitted_at(words: Sequence[Consented], at: int, wall: datetime) -> Consent:
    """What may still be kept of a moment: what was allowed then and was never withdrawn since."""
    moment = (at, wall)
    result = Consent()
    for word in words:
        said = meant(word)
        result = said if (word.at, word.wall) <= moment else result.both(said)
    return result


def recorded_from(session: SessionFile) -> int | None:
    """Since when sound may be kept without a break; None if it may not be."""
    since: int | None = None
    for word in session.consent:
        if not word.audio:
            since = None
        elif since is None:
            since = word.at
    return since


def meant(word: Consented) -> Consent:
    """One word on consent, without when it was said."""
    return Consent(word.transcript, word.audio, word.research)
