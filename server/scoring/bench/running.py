"""Playing what is wanted, several at a time: one that fails is told and counted."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from models.types import WIRE_RATE
from server.client import CallError
from server.consent import Consent
from server.scoring.bench.errors import BenchmarkError, ItemError
from server.scoring.bench.fetching import Fetcher
from server.scoring.bench.folder import ResultFolder
from server.scoring.bench.placing import placed
from server.scoring.bench.planning import Play
from server.scoring.bench.sound import last_audible, read_clip
from server.scoring.bench.talk import talk
from server.scoring.played import Played
from server.sessions.place import StorageFailed
from server.sessions.stored import BrokenSession, StoredSession

IN_A_ROW = 10  # so many failures without a success, and the server is given up

Progress = Callable[[int, int, str], None]  # done, of how many, and a problem if there was one


@dataclass(slots=True)
class Runner:
    """One run over a result folder."""

    folder: ResultFolder
    url: str
    consent: Consent
    token: str | None = None
    realtime: bool = True
    concurrency: int = 1
    progress: Progress = lambda done, total, problem: None
    _in_a_row: int = field(default=0)

    async def run(self, wanted: Sequence[Play]) -> None:
        """Everything that was not played before; raises BenchmarkError if the server is gone."""
        left = [play for play in wanted if play.key not in self.folder.done]
        done = len(wanted) - len(left)
        self.folder.write(len(wanted))
        self.progress(done, len(wanted), "")
        fetcher = Fetcher(self.url, self.folder.runs, self.token)
        waiting = iter(left)

        async def work() -> None:
            nonlocal done
            for play in waiting:
                problem = await self._tried(play, fetcher)
                done += 1
                self.progress(done, len(wanted), problem)

        try:
            await fetcher.ready()
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.concurrency, len(left))):
                    group.create_task(work())
        except ExceptionGroup as group_of:
            raise group_of.exceptions[0] from None
        finally:
            await fetcher.close()
            self.folder.write(len(wanted), over=len(self.folder.done) >= len(wanted))
        self.folder.write(len(wanted), over=True)

    async def _tried(self, play: Play, fetcher: Fetcher) -> str:
        """What went wrong, or nothing."""
        try:
            await self._play(play, fetcher)
            self._in_a_row = 0
            return ""
        except (ItemError, CallError) as error:
            problem = str(error)
        except (BrokenSession, StorageFailed, OSError) as error:
            problem = f"its session could not be kept: {type(error).__name__}"
        self.folder.fail(play.name, problem)
        self._in_a_row += 1
        if self._in_a_row >= IN_A_ROW:
            raise BenchmarkError(f"{IN_A_ROW} items failed in a row, the last: {problem}.")
        return f"{play.name}: {problem}"

    async def _play(self, play: Play, fetcher: Fetcher) -> None:
        clip = await asyncio.to_thread(read_clip, play.item.audio)
        # Known of the clip as it was: noise would be audible to its end.
        end = play.item.end_sec or last_audible(clip) / WIRE_RATE
        clip = await asyncio.to_thread(play.condition.change, clip)
        name = self.folder.about.name
        talked = await talk(play, clip, self.url, name, self.consent, realtime=self.realtime)
        session = await fetcher.fetch(talked.session_id, talked.secret)
        if self.folder.about.software is None:
            models = {role: used.model_dump() for role, used in session.models.items()}
            self.folder.about = self.folder.about.model_copy(
                update={"software": session.software, "models": models}
            )
        date = f"{session.started:%Y-%m-%d}"
        stored = StoredSession(session.id, date, self.folder.runs)
        pace = play.condition.pace
        where = await asyncio.to_thread(placed, stored, talked, end / pace)
        truth = {"speech_end": where.speech_end}
        if overlap := play.item.overlap_sec:
            truth |= {
                "overlap_start": where.at(overlap[0] / pace),
                "overlap_end": where.at(overlap[1] / pace),
            }
        annotation = play.annotation.model_copy(update=truth)
        self.folder.add(Played(session_id=session.id, number=where.number, annotation=annotation))
