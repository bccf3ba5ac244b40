"""All recording of one process: who is being recorded, and what becomes of it afterwards."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_urlsafe

from models.provenance import Described
from server.chores import Chores
from server.config import Recording
from server.consent import Consent
from server.private_log import where
from server.recording.paper import Paper
from server.recording.recorder import Recorder
from server.recording.scribe import Scribe
from server.sessions import retention
from server.sessions.format import ModelUsed
from server.sessions.library import Library, StillRecording
from server.sessions.speakers import Pseudonyms, key_for

log = logging.getLogger(__name__)

OVER_SEC = 120.0  # after which nobody waits for a folder any more
FINISH_SEC = 10.0  # to wait for a folder somebody wants deleted
CLOSE_SEC = 4.0  # to finish what is being recorded when the server stops; the rest is repaired


def used(models: Mapping[str, Described]) -> dict[str, ModelUsed]:
    """The models of the process, as a session's record shows them."""
    return {role: ModelUsed.model_validate(asdict(each)) for role, each in models.items()}


class Desk:
    """Hands out paper, and knows the conversations that are going on."""

    def __init__(
        self,
        settings: Recording,
        library: Library,
        software: str,
        profile: str,
        models: dict[str, ModelUsed],
    ) -> None:
        self._settings = settings
        self._library = library
        self._software = software
        self._profile = profile
        self._models = models
        self._scribe: Scribe | None = None
        self._pseudonyms: Pseudonyms | None = None
        self._live: dict[str, Recorder] = {}
        self._awaited: dict[str, asyncio.Event] = {}  # folders somebody waits to see finished

    @asynccontextmanager
    async def at_work(self, chores: Chores = Chores.ALL) -> AsyncGenerator[None, None]:
        """Write down, repair what a crash left behind, and keep no longer than was set."""
        if not self._settings.enabled:
            yield
            return
        loop = asyncio.get_running_loop()

        def finished(folder: Path) -> None:
            self._file(folder)
            loop.call_soon_threadsafe(self._tell_finished, folder.name)

        await asyncio.to_thread(self._read_key)
        self._scribe = Scribe(self._library.local, finished)
        doing = asyncio.create_task(self._chores(chores))
        try:
            yield
        finally:
            doing.cancel()
            await asyncio.gather(doing, return_exceptions=True)
            await asyncio.to_thread(self._scribe.close, CLOSE_SEC)

    def paper(self, session_id: str, user_agent: str | None) -> Paper:
        return Paper(
            session_id=session_id,
            secret=token_urlsafe(24),
            started=datetime.now(UTC),
            software=self._software,
            profile=self._profile,
            models=self._models,
            user_agent=user_agent,
            sheets=self._scribe,
            pseudonym=self._pseudonym,
            loop=asyncio.get_running_loop(),
            children=self._settings.children,
        )

    @contextmanager
    def attended(self, recorder: Recorder) -> Generator[None, None, None]:
        """While the conversation goes on it can be told to forget."""
        session_id = recorder.session_id
        self._live[session_id] = recorder
        try:
            yield
        finally:
            del self._live[session_id]
            if recorder.consent and recorder.possible:
                self._awaited.setdefault(session_id, asyncio.Event())
                # Should it never be finished, nobody need wait for it for ever.
                asyncio.get_running_loop().call_later(OVER_SEC, self._tell_finished, session_id)

    @property
    def running(self) -> list[str]:
        """The conversations of which something is kept now."""
        recorders = self._live.items()
        return [each for each, recorder in recorders if recorder.consent and recorder.possible]

    async def written(self, session_id: str) -> None:
        """Wait, though not for long, for a conversation's folder.

        One that is just over has to be whole, one that goes on has to be there at all.
        """
        if recorder := self._live.get(session_id):
            if recorder.begun:
                await asyncio.wait([recorder.begun], timeout=FINISH_SEC)
        elif awaited := self._awaited.get(session_id):
            with suppress(TimeoutError):
                async with asyncio.timeout(FINISH_SEC):
                    await awaited.wait()

    async def forget(self, session_id: str, consent: Consent | None) -> bool:
        """Have a conversation that goes on here keep no more than this; None: nothing at all.

        False if there is none, or nothing of it is kept.
        """
        recorder = self._live.get(session_id)
        if recorder is None or recorder.consent is None or not recorder.possible:
            return False
        if consent is not None:
            gone = recorder.narrow(consent)
            if gone and not (await asyncio.wait([gone], timeout=FINISH_SEC))[0]:
                raise StillRecording(f"{session_id} is being withdrawn; the disk is slow")
            return True
        finished = self._awaited.setdefault(session_id, asyncio.Event())
        recorder.give_up()
        with suppress(TimeoutError):  # what cannot be finished can be deleted all the same
            async with asyncio.timeout(FINISH_SEC):
                await finished.wait()
        return True

    def _pseudonym(self, name: str) -> str | None:
        return self._pseudonyms.of(name) if self._pseudonyms else None

    def _read_key(self) -> None:
        """What makes pseudonyms of names; without it sessions are kept without a speaker."""
        key = self._settings.speaker_key
        try:
            secret = key.get_secret_value() if key else None
            self._pseudonyms = Pseudonyms(key_for(self._library, secret))
        except (OSError, ValueError) as error:
            log.error("names cannot be made pseudonyms: %s", where(error))

    def _tell_finished(self, session_id: str) -> None:
        if awaited := self._awaited.pop(session_id, None):
            awaited.set()

    def _file(self, folder: Path) -> None:
        """A folder is whole: into the store and the index with it."""
        try:
            self._library.added(folder)
        except Exception as error:  # it stays where it is, and is found at the next start
            log.error("session %s could not be stored: %s", folder.name, where(error))

    async def _chores(self, chores: Chores) -> None:
        """At the start, and now and then: repair, and keep no longer than was set."""
        if chores is Chores.NONE:
            return
        while True:
            await asyncio.to_thread(self._recover)
            if chores is Chores.REPAIR:
                return
            if self._settings.keep_days or self._settings.keep_gb:
                await asyncio.to_thread(self._retain)
            await asyncio.sleep(self._settings.check_minutes * 60)

    def _retain(self) -> None:
        try:
            gone = retention.apply(self._library, self._settings)
            if gone:
                log.info("%d sessions deleted, as the settings say", len(gone))
        except Exception as error:
            log.error("sessions could not be looked through: %s", where(error))

    def _recover(self) -> None:
        """What a crash left half written becomes whole."""
        try:
            recovery = self._library.recover()
            if recovery.repaired:
                log.info("%d sessions repaired", len(recovery.repaired))
        except Exception as error:
            log.error("sessions left behind could not be repaired: %s", where(error))
