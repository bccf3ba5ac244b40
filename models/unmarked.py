"""A model's tokens without its marks: what is left is meant for a person.

Models let slip what their templates are made of: control tokens, thoughts, the labels of a script,
even the other side's next line. None of it may be seen or spoken, however the tokens split it.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterable

_LONGEST = 48  # characters of a mark; what is longer was never going to be one

_HIDDEN = "think|thinking|thought|reasoning|reflection|scratchpad|tool_call|tool_response"
_MARK = re.compile(
    rf"""
    <(?P<hidden>{_HIDDEN})>
    | (?P<turn>  # one side has finished, or the other begins
        <\|(?:im_end|im_start|end|endoftext|end_of_text|eot_id|eom_id|start_header_id|user)\|>
        | <｜(?:end▁of▁sentence|User)｜> | </s> | <eos> | </?(?:start|end)_of_turn> | \[INST\]
      )
    | <\|[^|<>\n]*\|> | <｜[^｜<>\n]*｜> | <(?:s|pad|unk|bos|mask)> | </(?:{_HIDDEN})>
    | \[/INST\] | <</?SYS>>
    """,
    re.IGNORECASE | re.VERBOSE,
)
_UNFINISHED = re.compile(r"(?:<(?:[|｜][^>\n]*|[</]{0,2}[a-z_]*>?)|\[/?[a-z]*)$", re.IGNORECASE)

# A script's labels, at the beginning of a line.
_LABEL = re.compile(
    r"""
    (?<![^\n])[ \t]*(?P<bold>\**)
    (?: (?P<own>assistant|model)(?:(?P=bold):|:(?P=bold)|\n|<\|end_header_id\|>)
      | (?:user|human)\**: )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LABELS = ("assistant:", "assistant\n", "model:", "model\n", "user:", "human:")


async def plain(tokens: AsyncIterable[str]) -> AsyncGenerator[str, None]:
    """The reply's own words, each as soon as it cannot be part of a mark.

    Ends where the other side's line would begin.
    """
    reader = _Reader()
    async for token in tokens:
        if text := reader.read(token):
            yield text
        if reader.over:
            return
    if text := reader.finish():
        yield text


class _Reader:
    """Tokens in, text without marks out; what may still become a mark waits."""

    def __init__(self) -> None:
        self.over = False
        self._tail = ""
        self._line = ""  # given since the last line's end
        self._said = False
        self._hidden = ""  # the mark that will end what is hidden

    def read(self, token: str) -> str:
        """The text that is certain now."""
        self._tail += token
        text = ""
        while not self.over and (mark := self._next_mark()):
            if not self._hidden:
                text += self._give(self._tail[: mark.start()])
            self._tail = self._tail[mark.end() :]
            self._pass(mark)
        if self.over:
            return text
        if self._hidden:
            self._tail = self._tail[-len(self._hidden) :]  # its end may be in two tokens
            return text
        return text + self._give(self._take(len(self._tail) - self._doubtful()))

    def finish(self) -> str:
        """What waited for nothing."""
        if self._hidden or self.over:
            return ""
        return self._give(self._tail)

    def _next_mark(self) -> re.Match[str] | None:
        if self._hidden:
            return re.search(re.escape(self._hidden), self._tail, re.IGNORECASE)
        marks = _MARK.search(self._tail), self._label()
        return min(filter(None, marks), key=lambda mark: mark.start(), default=None)

    def _label(self) -> re.Match[str] | None:
        # What was given of this line already means that the tail does not begin one.
        return _LABEL.search(self._tail, 1 if self._line.strip(" \t*") else 0)

    def _pass(self, mark: re.Match[str]) -> None:
        if self._hidden:
            self._hidden = ""
        elif mark.re is _LABEL:
            self.over = self._said or mark["own"] is None
        elif mark["hidden"]:
            self._hidden = f"</{mark['hidden']}>"
        elif mark["turn"]:
            self.over = self._said  # before anything was said it only opens the reply

    def _doubtful(self) -> int:
        """How many of the last characters may be the beginning of a mark."""
        begun = _UNFINISHED.search(self._tail[-_LONGEST:])
        doubtful = len(begun[0]) if begun else 0
        _, newline, line = self._tail[: len(self._tail) - doubtful].rpartition("\n")
        if newline or not self._line.strip(" \t*"):
            label = line.strip(" \t*").lower()
            if any(known.startswith(label) for known in _LABELS):
                doubtful += len(line)
        return doubtful

    def _take(self, count: int) -> str:
        taken, self._tail = self._tail[:count], self._tail[count:]
        return taken

    def _give(self, text: str) -> str:
        if not self._said:
            text = text.lstrip()
        self._said = self._said or bool(text)
        self._line = (self._line + text).rpartition("\n")[2]
        return text
