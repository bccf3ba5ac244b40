"""Conversations that go on in this process, as those who ask for recorded sessions see them."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

from server.consent import Consent
from server.sessions.index import Filter, Page
from server.sessions.library import Library
from server.sessions.store import BrokenSession, UnknownSession


class Live(Protocol):
    """The conversations that are being recorded in this process."""

    @property
    def running(self) -> Iterable[str]:
        """Those of which something is kept now."""

    async def forget(self, session_id: str, consent: Consent | None) -> bool:
        """Keep only what the consent covers, nothing for None; False if it is not one of ours."""

    async def written(self, session_id: str) -> None:
        """Wait, though not for long, until one that has just begun, or is over, is on the disk."""


def find(library: Library, running: Iterable[str], sought: Filter) -> Page:
    """What is sought, among it those that have only just begun; blocking code."""
    for session_id in running:
        with suppress(UnknownSession, BrokenSession):  # nothing of it is written yet
            library.row(session_id)  # by which the index gets to know it
    return library.find(sought)
