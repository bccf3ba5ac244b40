"""Which bytes of a file somebody asks for: HTTP's Range and If-Range, one range at a time."""

import re
from dataclasses import dataclass

_ONE = re.compile(r"bytes=\s*(\d{0,19})\s*-\s*(\d{0,19})\s*", re.IGNORECASE | re.ASCII)


class Unsatisfiable(Exception):
    """The file does not reach so far."""


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes from `begin` up to `end`, of `size`; `partial` if they were asked for as such."""

    begin: int
    end: int
    size: int
    partial: bool = False

    @property
    def length(self) -> int:
        return self.end - self.begin

    @property
    def told(self) -> str:
        """As Content-Range has it."""
        return f"bytes {self.begin}-{self.end - 1}/{self.size}"


def asked(wanted: str | None, if_range: str | None, etag: str, size: int) -> Span:
    """What to send.

    All of it if nothing else was asked for, if the file is another than the asker thinks, or if
    the question is malformed or for several ranges: the standard lets those be passed over.
    """
    everything = Span(0, size, size)
    if wanted is None or (if_range is not None and if_range.strip() != etag):
        return everything
    found = _ONE.fullmatch(wanted.strip())
    if found is None or found.groups() == ("", ""):
        return everything
    first, last = found.groups()
    if not first:  # the last so many bytes
        begin, end = max(0, size - int(last)), size
    else:
        begin, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < begin:
            return everything
    if begin >= size or begin >= end:
        raise Unsatisfiable
    return Span(begin, end, size, partial=True)
