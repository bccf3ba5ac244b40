"""How much there is to read in a message, found out before any of it is read.

What JSON costs is what is built of it: a megabyte of small lists takes a hundred times as long as
one of sound, and twenty times its size in memory. So the brackets and commas are counted, and what
has too many is never read. Within sound there are none, and within strings they build nothing.
"""

import re
from typing import NamedTuple

from server.errors import ClientError

MOST_MARKS = 20_000  # brackets and commas in a message: to read it then takes 20 ms at worst
MARK_BYTES = 50  # so many letters cost as much as one of them
MOST_TEXT = 5 * 1024 * 1024  # bytes of a message beside its sound
SMALL = 16 * 1024  # characters: nothing within could be too much
MOST_ESCAPES = 500_000  # among more of them nobody looks for the ends of strings
SOUNDS = 16  # in one message, as an item has parts ...
NEAR = 128 * 1024  # ... each so many characters after the one before
_SOUND = re.compile(r'"audio"\s*:\s*"')


class Bulk(NamedTuple):
    """What a message has of everything that costs time."""

    size: int  # in bytes
    text: int  # of these, beside sound
    marks: int

    @property
    def weight(self) -> int:
        """All of it, in bytes."""
        return self.size + self.marks * MARK_BYTES

    def check(self) -> None:
        """A ClientError if the message is too much to be read."""
        if self.text > MOST_TEXT:
            message = f"A message may have at most {MOST_TEXT} bytes beside its sound."
            raise ClientError("message_too_long", message)
        if self.marks > MOST_MARKS:
            message = f"A message may have at most {MOST_MARKS} brackets and commas."
            raise ClientError("message_too_long", message)


def bulk(message: str | bytes) -> Bulk:
    """Of a message as it came. A frame is nothing but sound."""
    if isinstance(message, bytes):
        return Bulk(len(message), 0, 0)
    text, _ = apart(message)
    length = _bytes(text)
    marks = _marks(text) if length <= MOST_TEXT else 0
    return Bulk(len(message) - len(text) + length, length, marks)


def apart(message: str) -> tuple[str, list[str]]:
    """A message without the sound it holds, and the sound.

    Where it begins is told by what no string can hold: a quote, a colon and another quote. It ends
    at the next quote; what has one within, after a backslash, is left in its place.
    """
    if len(message) <= SMALL:
        return message, []
    text: list[str] = []
    sounds: list[str] = []
    at = 0
    while len(sounds) < SOUNDS and (found := _SOUND.search(message, at, at + NEAR)):
        end = message.find('"', found.end())
        if end < 0 or message[end - 1] == "\\":
            break
        text.append(message[at : found.end()])
        sounds.append(message[found.end() : end])
        at = end
    return "".join([*text, message[at:]]), sounds


def _bytes(text: str) -> int:
    if text.isascii() or len(text) > MOST_TEXT:  # more than enough, however it is counted
        return len(text)
    return len(text.encode())


def _marks(text: str) -> int:
    """Brackets and commas; those within strings are told apart only where there are many."""
    count = _built(text)
    if count <= MOST_MARKS or text.count("\\") > MOST_ESCAPES:
        return count
    bare = text.replace(r"\\", "").replace(r"\"", "")  # each quote left begins or ends a string
    if (members := bare.count('"') // 4) > MOST_MARKS:  # a name and a value to each mark
        return members
    return _built("".join(bare.split('"')[::2]))


def _built(text: str) -> int:
    return text.count("{") + text.count("[") + text.count(",")
