"""BERT's pieces of words: text as the numbers its networks read."""

import json
import unicodedata
from pathlib import Path

LONGEST_WORD = 100  # letters; a longer one is no word
# Chinese writing, which puts no spaces between words.
IDEOGRAPHS = (
    ("\u4e00", "\u9fff"),
    ("\u3400", "\u4dbf"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0002ceaf"),
    ("\U0002f800", "\U0002fa1f"),
)


class WordPiece:
    """An uncased vocabulary, read from the `tokenizer.json` that comes with a network."""

    def __init__(self, path: Path) -> None:
        self._ids: dict[str, int] = json.loads(path.read_text("utf-8"))["model"]["vocab"]
        self._begin, self._end = self._ids["[CLS]"], self._ids["[SEP]"]
        self._unknown = self._ids["[UNK]"]

    def ids(self, text: str, most: int) -> list[int]:
        """The text's numbers between the two marks, cut so that there are `most` in all."""
        pieces = [piece for word in _words(text) for piece in self._pieces(word)]
        return [self._begin, *pieces[: most - 2], self._end]

    def _pieces(self, word: str) -> list[int]:
        """The longest known beginning, then the longest known continuation, and so on."""
        if len(word) > LONGEST_WORD:
            return [self._unknown]
        pieces, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                if (found := self._ids.get(mark + word[start:end])) is not None:
                    pieces.append(found)
                    start = end
                    break
            else:
                return [self._unknown]
        return pieces


def _words(text: str) -> list[str]:
    """Plain lower-case letters without accents; each mark and each ideograph is its own word."""
    spaced = (f" {c} " if _is_mark(c) or _is_ideograph(c) else c for c in _plain(text))
    return "".join(spaced).split()


def _plain(text: str) -> str:
    kept = (character for character in text if not _is_unseen(character))
    letters = unicodedata.normalize("NFD", "".join(kept))
    return "".join(c for c in letters if unicodedata.category(c) != "Mn").lower()


def _is_unseen(character: str) -> bool:
    """Control and format characters; those that break a line count as spaces instead."""
    if character in "\t\n\r":
        return False
    return character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn")


def _is_mark(character: str) -> bool:
    ascii_mark = character.isascii() and not character.isalnum()
    return ascii_mark or unicodedata.category(character).startswith("P")


def _is_ideograph(character: str) -> bool:
    return any(first <= character <= last for first, last in IDEOGRAPHS)
