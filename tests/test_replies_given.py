"""Which replies are heard in a recording, and what its log says of them."""

from collections.abc import Iterable
from typing import Any

from models.types import WIRE_RATE
from server.recording.entries import Hush, Sound
from server.recording.replies_given import Keeper, RepliesGiven
from server.timeline import Timeline

PIECE = 960
SOUND = b"\x01\x00" * PIECE


class Book:
    """A recording of replies, as bytes and lines; on a clock that one moves oneself."""

    def __init__(self, unheard: Iterable[str] = ()) -> None:
        self.tape = bytearray()
        self.lines: list[dict[str, Any]] = []
        self.failures: list[Exception] = []
        self.timeline = Timeline(0.0)
        hidden = set(unheard)
        self.replies = RepliesGiven(
            self.timeline,
            Keeper(
                self._lay,
                self.lines.append,
                lambda reply: reply not in hidden,
                lambda *_: None,
                self.failures.append,
            ),
        )

    def _lay(self, laid: Iterable[Sound | Hush]) -> None:
        for entry in laid:
            if isinstance(entry, Sound):
                begin, pcm = entry.position, entry.pcm
            else:
                begin, pcm = entry.begin, bytes(2 * (entry.end - entry.begin))
            missing = 2 * begin + len(pcm) - len(self.tape)
            self.tape += bytes(max(0, missing))
            self.tape[2 * begin : 2 * begin + len(pcm)] = pcm

    @property
    def sounding(self) -> list[tuple[int, int]]:
        """From where to where something is heard."""
        spans: list[tuple[int, int]] = []
        for at in range(len(self.tape) // 2):
            if self.tape[2 * at]:
                if spans and spans[-1][1] == at:
                    spans[-1] = (spans[-1][0], at + 1)
                else:
                    spans.append((at, at + 1))
        return spans

    def give(self, reply: str, at: int, pieces: int = 3) -> None:
        for number in range(pieces):
            offset = number * PIECE
            self.replies.sent(reply, f"item of {reply}", offset, SOUND, at + offset, 0.0)

    def pass_time(self, seconds: float) -> None:
        self.timeline.arrived(round(seconds * WIRE_RATE), 0.0)
        self.replies.look_back()

    def turns(self) -> list[tuple[int, int, bool]]:
        told = [line for line in self.lines if line["type"] == "recording.turn"]
        return [(line["start"], line["end"], line["interrupted"]) for line in told]


def test_a_reply_is_in_the_log_from_its_first_piece_on() -> None:
    book = Book()
    book.give("one", 100)
    assert book.turns() == [(100, 100 + PIECE, False)]
    book.pass_time(1.0)
    assert book.turns()[-1] == (100, 100 + 3 * PIECE, False)


def test_a_reply_to_what_may_not_be_kept_is_not_heard_and_the_next_one_is() -> None:
    book = Book(unheard=["one"])
    book.give("one", 100)
    book.give("two", 100 + 3 * PIECE)
    assert book.sounding == [(100 + 3 * PIECE, 100 + 6 * PIECE)]


def test_a_reply_that_may_not_be_kept_stays_unheard_when_one_before_it_moves_it() -> None:
    book = Book(unheard=["one", "two"])
    book.give("one", 100)
    book.give("two", 100 + 3 * PIECE)
    book.replies.played("one", PIECE, 5_000 + PIECE)  # it began much later than we thought
    assert book.sounding == []


def test_a_client_that_goes_on_reporting_is_believed_when_it_stops() -> None:
    book = Book()
    book.give("one", 0, pieces=40)
    book.replies.played("one", PIECE, PIECE)
    book.replies.played("one", 2 * PIECE, 2 * PIECE)
    book.replies.spoken("one")
    book.pass_time(2.5)
    assert book.sounding == [(0, 2 * PIECE)] and book.turns()[-1] == (0, 2 * PIECE, True)


def test_a_single_report_says_nothing_about_the_rest() -> None:
    book = Book()
    book.give("one", 0, pieces=40)
    book.replies.played("one", PIECE, PIECE)
    book.replies.played("one", 0, 2 * PIECE)
    book.replies.spoken("one")
    book.pass_time(2.5)
    assert book.sounding == [(0, 40 * PIECE)] and book.turns()[-1] == (0, 40 * PIECE, False)


def test_what_was_not_reported_at_the_end_of_the_conversation_was_not_heard() -> None:
    book = Book()
    book.give("one", 0, pieces=40)
    book.replies.played("one", PIECE, PIECE)
    book.replies.played("one", 2 * PIECE, 2 * PIECE)
    book.replies.close()
    assert book.sounding == [(0, 2 * PIECE)]


def test_a_reply_of_which_nothing_sounded_is_a_turn_without_length() -> None:
    book = Book()
    book.give("one", 100)
    book.replies.cut_off("one", 0, "")
    assert book.sounding == [] and book.turns()[-1] == (100, 100, True)


def test_the_words_heard_of_a_reply_cut_short_are_in_the_log() -> None:
    book = Book()
    book.give("one", 100)
    book.replies.cut_off("one", PIECE, "I see")
    (heard,) = [line for line in book.lines if line["type"] == "recording.heard"]
    assert heard["transcript"] == "I see" and heard["item_id"] == "item of one"


def test_a_mistake_is_told_and_raises_nothing() -> None:
    book = Book()
    book.replies.sent("one", "item", 0, None, 0, 0.0)  # type: ignore[arg-type]
    assert len(book.failures) == 1
