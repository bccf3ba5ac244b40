"""Conversations a client may come back to: each with a token that works once."""

from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe

from server.relink import Relink


@dataclass(frozen=True, slots=True)
class _Ticket:
    digest: bytes  # of the secret, which itself is not kept
    link: Relink


class Parking:
    """A token is `<owner>.<session id>.<secret>`; the owner says whose conversation it is."""

    def __init__(self, resume_sec: float, owner: str = "0") -> None:
        self._resume_sec = resume_sec
        self._owner = owner
        self._tickets: dict[str, _Ticket] = {}

    def ticket(self, session_id: str, link: Relink) -> str | None:
        """A new token for a conversation, in place of any before; None if there are none here."""
        if not self._resume_sec:
            return None
        secret = token_urlsafe(24)
        link.patience_sec = self._resume_sec
        self._tickets[session_id] = _Ticket(_digest(secret), link)
        return f"{self._owner}.{session_id}.{secret}"

    def claim(self, token: str) -> Relink | None:
        """The conversation a token is for; it cannot be used again."""
        owner, session_id, secret = _parts(token)
        ticket = self._tickets.get(session_id)
        if ticket is None or owner != self._owner:
            return None
        if not compare_digest(ticket.digest, _digest(secret)):
            return None
        del self._tickets[session_id]
        return ticket.link

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
