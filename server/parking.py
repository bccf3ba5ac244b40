"""Conversations a client may come back to: each with a token that works once.

Once is: until the client has been heard over the socket that it opened. One that dies before the
next token has arrived may be tried again.
"""

from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe

from server.relink import Relink
from server.vitals import Vitals


@dataclass(slots=True)
class _Ticket:
    """Digests of the secrets, which themselves are not kept."""

    link: Relink
    digest: bytes
    before: bytes | None = None  # by which the client came back, and may have to once more
    claimed: bytes | None = None  # whichever of the two it was


class Parking:
    """A token is `<owner>.<session id>.<secret>`; the owner says whose conversation it is."""

    def __init__(self, resume_sec: float, owner: str = "0", vitals: Vitals | None = None) -> None:
        self.vitals = vitals or Vitals()
        self._resume_sec = resume_sec
        self._owner = owner
        self._tickets: dict[str, _Ticket] = {}

    def ticket(self, session_id: str, link: Relink) -> str | None:
        """A new token for a conversation, in place of any before; None if there are none here."""
        if not self._resume_sec:
            return None
        secret = token_urlsafe(24)
        link.patience_sec = self._resume_sec
        old = self._tickets.get(session_id)
        claimed = old.claimed if old else None
        self._tickets[session_id] = _Ticket(link, _digest(secret), claimed, claimed)
        return f"{self._owner}.{session_id}.{secret}"

    def claim(self, token: str) -> Relink | None:
        """The conversation a token is for."""
        owner, session_id, secret = _parts(token)
        ticket = self._tickets.get(session_id)
        if ticket is None or owner != self._owner:
            return None
        given = _digest(secret)
        if not any(compare_digest(known, given) for known in (ticket.digest, ticket.before or b"")):
            return None
        ticket.claimed = given
        return ticket.link

    def confirm(self, session_id: str) -> None:
        """The client is there, and knows the latest token: what it came back by is void."""
        if ticket := self._tickets.get(session_id):
            self.vitals.resumed += ticket.claimed is not None
            ticket.before = ticket.claimed = None

    def forget(self, session_id: str) -> None:
        """The conversation is over."""
        self._tickets.pop(session_id, None)


def owner_of(token: str) -> str:
    """Whose conversation a token is for; empty if it is none."""
    return _parts(token)[0]


def _parts(token: str) -> tuple[str, str, str]:
    owner, session_id, secret = [*token.split(".", 2), "", ""][:3]
    return owner, session_id, secret


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()
