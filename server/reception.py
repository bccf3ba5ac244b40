"""Where those who ask for recorded sessions are met: who they are, and what can be had."""

from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from fastapi import Request

from server.access import Access, Role
from server.consent import Consent
from server.http_refusals import Refusal
from server.recording.permitted import permitted
from server.sessions.format import SessionFile
from server.sessions.library import Library, RemarksNotAllowed, TooManyRatings
from server.sessions.store import (
    BrokenSession,
    DeletedSession,
    NoAudio,
    StoredSession,
    UnknownSession,
)
from server.storage_threads import StorageThreads

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody who may, at a session that is there."""

    role: Role
    session: StoredSession
    record: SessionFile | None  # None: it cannot be read

    @property
    def file(self) -> SessionFile:
        if self.record is None:
            raise broken()
        return self.record

    @property
    def held(self) -> Consent:
        return permitted(self.file)


class Reception:
    """Where requests meet the library."""

    def __init__(self, library: Library, access: Access, threads: StorageThreads) -> None:
        self.library = library
        self._access = access
        self._threads = threads

    async def visit(self, request: Request, session_id: str) -> Visit:
        """Whoever has no business with a session is told that there is none."""
        token = self._access.token(request)
        found = await self.run(partial(self._found, session_id))
        if self._access.is_operator(token):
            if found is None:
                raise unknown()
            return Visit(Role.OPERATOR, *found)
        secret = found[1].secret_sha256 if found and found[1] else None
        if found is None or not self._access.is_talker(token, secret):
            self._access.failed(request)
            raise unknown()
        return Visit(Role.TALKER, *found)

    async def run(self, call: Callable[[], T]) -> T:
        with _failures_told():
            return await self._threads.run(call)

    async def stream(self, source: Generator[T, None, None]) -> AsyncGenerator[T, None]:
        async with aclosing(self._threads.stream(source)) as items:
            with _failures_told():
                async for item in items:
                    yield item

    def _found(self, session_id: str) -> tuple[StoredSession, SessionFile | None] | None:
        try:
            session = self.library.session(session_id)
            return session, session.file()
        except UnknownSession:
            return None
        except BrokenSession:
            return session, None


def unknown() -> Refusal:
    message = "There is no such session, or this token does not open it."
    return Refusal(404, message, "session_not_found")


def broken() -> Refusal:
    message = "A file of this session cannot be read; `verify` says which."
    return Refusal(500, message, "session_broken", kind="server_error")


def deleted() -> Refusal:
    return Refusal(410, "This session was deleted.", "session_deleted")


@contextmanager
def _failures_told() -> Iterator[None]:
    """What goes wrong with the storage, as an answer."""
    try:
        yield
    except DeletedSession:
        raise deleted() from None
    except UnknownSession:
        raise unknown() from None
    except RemarksNotAllowed:
        message = "The person allowed nothing but timings to be kept: scores only."
        raise Refusal(409, message, "words_not_allowed") from None
    except TooManyRatings:
        raise Refusal(409, "This session has enough ratings.", "too_many_ratings") from None
    except NoAudio:
        raise Refusal(404, "No sound was kept of this session.", "no_audio") from None
    except BrokenSession as error:
        raise broken() from error
    except OSError as error:
        message = "The recorded sessions cannot be reached just now."
        raise Refusal(503, message, "storage_failed", kind="server_error") from error
