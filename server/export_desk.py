"""Where exports are asked for: one at a time, given up when whoever asked is gone."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from hmac import compare_digest
from secrets import token_urlsafe
from time import monotonic

from fastapi import Request, Response

from server.export_download import Download, Workshop
from server.exports_shapes import ZIP, Made, Progress, Wanted
from server.http_refusals import Refusal
from server.http_streams import Streamed
from server.storage_threads import StorageThreads

LOOK_SEC = 0.25  # how soon a hung-up client is noticed
VALID_SEC = 60.0  # so long one that is made waits to be fetched
STOP_SEC = 5.0
UNKEPT = {"Cache-Control": "no-store"}


class Desk:
    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        # One thread: what is made, sent and thrown away of one export never overlaps.
        self._threads = StorageThreads(1)
        self._current: Download | None = None
        self._ticket, self._until = "", 0.0
        self._timer: asyncio.Task[None] | None = None

    @property
    def progress(self) -> Progress:
        return self._current.progress if self._current else Progress(state="over")

    async def open(self) -> None:
        with suppress(OSError):
            await self._threads.run(self._workshop.tidy)

    async def close(self) -> None:
        """Nothing is left behind, unless the storage is too slow to wait for."""
        if self._timer:
            self._timer.cancel()
        if self._current:
            self._current.stop()
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_SEC):
                    await self._threads.run(self._current.discard)
        self._threads.close()

    async def make(self, wanted: Wanted, request: Request) -> Download:
        """An export that can be sent; it is given up if the client is."""
        before = self._check_free()
        download = self._current = Download(self._workshop, wanted)

        def make() -> None:
            if before:
                before.discard()
            download.make()

        making = asyncio.ensure_future(self._threads.run(make))
        try:
            while not (await asyncio.wait([making], timeout=LOOK_SEC))[0]:
                if await request.is_disconnected():
                    download.stop()
            making.result()
        except BaseException:
            download.stop()
            making.add_done_callback(_taken_note_of)
            raise
        return download

    def keep(self, download: Download) -> Made:
        """Let it wait for its download; whoever has the address may fetch it, once."""
        self._ticket, self._until = token_urlsafe(24), monotonic() + VALID_SEC
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.create_task(self._expire(download))
        return Made(
            name=download.name,
            bytes=download.size,
            sessions=len(download.sessions),
            left_out=download.left_out,
            address=f"/api/exports/{self._ticket}",
        )

    async def fetch(self, ticket: str) -> Response:
        current = self._current
        known = compare_digest(ticket.encode(), self._ticket.encode())
        waits = current and current.state == "ready" and monotonic() < self._until
        if not (current and known and waits):
            message = "This address hands out nothing, or no longer; please export again."
            raise Refusal(404, message, "export_not_found")
        return await self.send(current)

    async def send(self, download: Download) -> Response:
        download.to("sending")
        data = self._data(download)
        first = await anext(data)
        headers = {
            **UNKEPT,
            "Content-Disposition": f'attachment; filename="{download.name}"',
            "Content-Length": str(download.size),
        }
        return Streamed(first, data, ZIP, headers=headers)

    async def _data(self, download: Download) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._threads.stream(download.blocks())) as pieces:
            async for piece in pieces:
                yield piece

    def _check_free(self) -> Download | None:
        """One that nobody fetched in time makes room."""
        current = self._current
        if current is None or current.state == "over":
            return None
        if current.state == "ready" and monotonic() >= self._until:
            return current
        message = "An export is being made already; please try again soon."
        raise Refusal(429, message, "export_running", kind="rate_limit_error")

    async def _expire(self, download: Download) -> None:
        await asyncio.sleep(VALID_SEC)
        if download.state == "ready":
            self._until = 0.0  # from now on nobody can fetch it
            await self._threads.run(download.discard)


def _taken_note_of(making: asyncio.Future[None]) -> None:
    if not making.cancelled():
        making.exception()
