"""A recording on its way out: the bytes that were asked for, piece by piece."""

from collections.abc import Generator
from dataclasses import dataclass
from hashlib import sha256
from io import SEEK_END

from server.byte_ranges import Span, Unsatisfiable, asked
from server.http_refusals import Refusal
from server.sessions.store import StoredSession

BLOCK = 1 << 18  # bytes held at a time
HEADER = 1 << 12  # a FLAC file begins with a checksum of all its samples


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes; with each, what all of them are."""

    span: Span
    etag: str
    data: bytes = b""

    @property
    def status(self) -> int:
        return 206 if self.span.partial else 200

    @property
    def headers(self) -> dict[str, str]:
        told = {
            "ETag": self.etag,
            "Accept-Ranges": "bytes",
            "Content-Length": str(self.span.length),
        }
        return told | ({"Content-Range": self.span.told} if self.span.partial else {})


def pieces(
    session: StoredSession, wanted: str | None, if_range: str | None
) -> Generator[Piece, None, None]:
    """First an empty one, by which the answer is known; blocking code."""
    with session.open_audio() as file:
        begin = file.read(HEADER)
        size = file.seek(0, SEEK_END)
        etag = f'"{sha256(begin + size.to_bytes(8)).hexdigest()[:32]}"'
        try:
            span = asked(wanted, if_range, etag, size)
        except Unsatisfiable:
            message = f"The recording has {size} bytes."
            headers = {"Content-Range": f"bytes */{size}"}
            raise Refusal(416, message, "range_not_satisfiable", headers=headers) from None
        yield Piece(span, etag)
        file.seek(span.begin)
        left = span.length
        while left:
            data = file.read(min(left, BLOCK))
            if not data:
                raise EOFError("the recording became shorter while it was sent")
            left -= len(data)
            yield Piece(span, etag, data)
