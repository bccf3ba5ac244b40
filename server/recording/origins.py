"""Which consent held when a turn began: later events repeat its words, and may not keep them."""

from bisect import bisect_right
from typing import Any

from server.consent import Consent
from server.recording.redaction import subjects

MAX_KNOWN = 100_000  # items and responses

NOTHING, EVERYTHING = Consent(), Consent(True, True, True)


class Origins:
    """Remembers the items and responses of a conversation, and what was allowed at their start."""

    def __init__(self) -> None:
        self._changes: list[tuple[int, Consent]] = [(0, NOTHING)]
        self._born: dict[str, Consent] = {}
        self._has_forgotten = False
        self._last_said = EVERYTHING  # under which the user's last turn began
        self._asked_about = EVERYTHING  # and what a reply was asked for

    @property
    def changes(self) -> int:
        """How often consent was given or withdrawn."""
        return len(self._changes) - 1

    @property
    def present(self) -> Consent:
        return self._changes[-1][1]

    def agreed(self, position: int, consent: Consent) -> None:
        """From this position on; what is withdrawn cannot be allowed again for what was said."""
        self._changes.append((position, consent))
        self._born = {name: born.both(consent) for name, born in self._born.items()}
        self._last_said = self._last_said.both(consent)

    def began(self, item: str, position: int) -> None:
        """The user began to say an item here."""
        place = bisect_right(self._changes, position, key=lambda change: change[0])
        born = self.present
        for _, consent in self._changes[max(0, place - 1) :]:
            born = born.both(consent)
        self._know(item, born)

    def of(self, name: str) -> Consent:
        """What may be kept of an item or a response, as far as it is known."""
        return self._born.get(name, NOTHING)

    def allow(self, event: dict[str, Any]) -> Consent:
        """What may be kept of an event, by all that it tells of."""
        kind = event.get("type")
        if isinstance(kind, str) and kind.startswith(("session.", "conversation.created")):
            return self.present  # of settings, and no turn
        allowed = self.present
        names = subjects(event)
        for name in names & self._born.keys():
            allowed = allowed.both(self._born[name])
        new = names - self._born.keys()
        if new and self._has_forgotten:
            allowed = NOTHING  # it may be something that was said long ago
        if kind == "response.created":  # a reply quotes what it answers
            allowed = allowed.both(self._last_said).both(self._asked_about)
            self._asked_about = EVERYTHING
        for name in new:
            self._know(name, allowed)
        if kind == "response.create":
            self._asked_about = allowed
        elif kind == "conversation.item.added" and (item := _users(event)):
            self._last_said = self.of(item)
        return allowed

    def _know(self, name: str, born: Consent) -> None:
        self._born[name] = self._born.get(name, born).both(born)
        if len(self._born) > MAX_KNOWN:
            del self._born[next(iter(self._born))]
            self._has_forgotten = True


def _users(event: dict[str, Any]) -> str | None:
    item = event.get("item")
    return item.get("id") if isinstance(item, dict) and item.get("role") == "user" else None
