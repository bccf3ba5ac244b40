"""Which replies are heard in a recording, and what its log says of them."""

from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import numpy as np
import pytest

from models.types import WIRE_RATE
from server.recording.entries import Hush, Sound
from server.recording.replies_given import Keeper, RepliesGiven
from server.timeline import Timeline
from tests.simulated_loudspeaker import Loudspeaker

PIECE = 960
SOUND = b"\x01\x00" * PIECE
SECOND = WIRE_RATE


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

    def report(self, reply: str, begin: int, end: int, lies_at: int) -> None:
        """The client tells of each piece, once it has played it."""
        for played in range(begin + PIECE, end + 1, PIECE):
            self.replies.played(reply, played, lies_at + played)

    def turns(self, reply: str = "") -> list[tuple[int, int, bool]]:
        told = [line for line in self.lines if line["type"] == "recording.turn"]
        return [
            (line["start"], line["end"], line["interrupted"])
            for line in told
            if not reply or line["response_id"] == reply
        ]


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
    assert book.sounding == [(0, 2 * PIECE)]
    book.replies.spoken("one")
    book.pass_time(1)
    assert book.sounding == [(0, 2 * PIECE)] and book.turns()[-1] == (0, 2 * PIECE, True)
    book.pass_time(19)
    assert book.sounding == [(0, 2 * PIECE)] and book.turns()[-1] == (0, 2 * PIECE, True)


def test_of_a_client_that_goes_on_reporting_nothing_is_heard_before_it_says_so() -> None:
    book = Book()
    book.give("one", 0)
    book.report("one", 0, 3 * PIECE, 0)
    book.give("two", SECOND)
    assert book.sounding == [(0, 3 * PIECE)] and book.turns("two") == [(SECOND, SECOND, True)]
    book.report("two", 0, PIECE, SECOND)
    assert book.sounding == [(0, 3 * PIECE), (SECOND, SECOND + PIECE)]
    assert book.turns("two")[-1] == (SECOND, SECOND + PIECE, True)


def test_a_single_report_says_nothing_about_the_rest() -> None:
    book = Book()
    book.give("one", 0, pieces=40)
    book.replies.played("one", PIECE, PIECE)
    book.replies.played("one", 0, 2 * PIECE)
    book.replies.spoken("one")
    book.pass_time(13)
    assert book.sounding == [(0, 40 * PIECE)] and book.turns()[-1] == (0, 40 * PIECE, False)


def test_what_was_not_reported_at_the_end_of_the_conversation_was_not_heard() -> None:
    book = Book()
    book.give("one", 0, pieces=40)
    book.replies.played("one", PIECE, PIECE)
    book.replies.played("one", 2 * PIECE, 2 * PIECE)
    book.replies.close()
    assert book.sounding == [(0, 2 * PIECE)]


def test_a_client_seconds_behind_is_heard_when_it_played() -> None:
    book = Book()
    book.give("one", 0, pieces=25)
    book.report("one", 0, 25 * PIECE, 0)
    book.replies.spoken("one")
    book.give("two", SECOND, pieces=50)
    book.replies.spoken("two")
    for _ in range(8):
        book.pass_time(1)
    book.report("two", 0, 20 * PIECE, 8 * SECOND)
    for _ in range(8):
        book.pass_time(1)
    book.report("two", 20 * PIECE, 50 * PIECE, 15 * SECOND)  # it had run dry
    late = 15 * SECOND + 20 * PIECE
    first, second = (8 * SECOND, 8 * SECOND + 20 * PIECE), (late, late + 30 * PIECE)
    assert book.sounding == [(0, SECOND), first, second]
    book.pass_time(1)
    assert book.turns("two")[-1] == (8 * SECOND, late + 30 * PIECE, False)


def test_a_client_seconds_behind_is_heard_though_its_reply_was_cut_off() -> None:
    book = Book()
    book.give("one", 0, pieces=25)
    book.report("one", 0, 25 * PIECE, 0)
    book.replies.spoken("one")
    book.give("two", SECOND, pieces=50)
    book.replies.cut_off("two", 20 * PIECE, "I see")
    for _ in range(8):
        book.pass_time(1)
    assert book.sounding == [(0, SECOND)]
    book.report("two", 0, 10 * PIECE, 8 * SECOND)
    assert book.sounding == [(0, SECOND), (8 * SECOND, 8 * SECOND + 10 * PIECE)]
    book.pass_time(1)
    assert book.turns("two")[-1] == (8 * SECOND, 8 * SECOND + 10 * PIECE, True)


def test_what_a_client_has_gone_past_was_not_heard() -> None:
    book = Book()
    book.give("one", 0, pieces=100)
    book.replies.spoken("one")
    book.give("two", 4 * SECOND, pieces=100)
    book.report("one", 0, 20 * PIECE, 3 * SECOND)
    first, second = (3 * SECOND, 3 * SECOND + 20 * PIECE), (5 * SECOND, 5 * SECOND + 2 * PIECE)
    assert book.sounding == [first]
    book.report("two", 0, 2 * PIECE, 5 * SECOND)
    assert book.sounding == [first, second]
    book.pass_time(1)
    assert book.turns("one")[-1] == (*first, True)


@pytest.mark.parametrize("tells_ends", [True, False])
def test_the_last_of_a_reply_was_heard_if_its_client_never_tells_of_it(tells_ends: bool) -> None:
    book = Book()
    for number in range(3):
        at = 4 * number * SECOND
        book.give(f"{number}", at, pieces=41)
        ends = tells_ends and number != 1
        book.report(f"{number}", 0, (41 if ends else 40) * PIECE, at)
        book.replies.spoken(f"{number}")
        book.pass_time(4)
    book.replies.close()
    heard = [41, 40, 41] if tells_ends else [41, 41, 41]
    assert [end - begin for begin, end in book.sounding] == [PIECE * each for each in heard]


def test_the_last_of_a_reply_was_not_heard_if_it_was_broken_off() -> None:
    book = Book()
    book.give("one", 0, pieces=41)
    book.report("one", 0, 40 * PIECE, 0)
    book.replies.cut_off("one", 41 * PIECE, "I see")
    book.pass_time(20)
    assert book.sounding == [(0, 40 * PIECE)]


def test_the_last_of_a_reply_was_not_heard_if_the_next_one_was_instead() -> None:
    book = Book()
    book.give("one", 0, pieces=41)
    book.report("one", 0, 40 * PIECE, 0)
    book.replies.spoken("one")
    book.give("two", 41 * PIECE, pieces=5)
    book.report("two", 0, 4 * PIECE, 40 * PIECE)
    book.replies.cut_off("two", 4 * PIECE, "I")
    book.pass_time(20)
    assert book.turns("one")[-1] == (0, 40 * PIECE, True)
    assert book.turns("two")[-1] == (40 * PIECE, 44 * PIECE, True)


def test_a_held_reply_goes_on_when_the_client_says_so() -> None:
    book = Book()
    book.give("one", 0, pieces=40)
    book.report("one", 0, 10 * PIECE, 0)
    book.replies.held("one", 20 * PIECE)
    book.replies.resumed("one", 2 * SECOND)
    assert book.sounding == [(0, 10 * PIECE)]
    book.report("one", 10 * PIECE, 15 * PIECE, 2 * SECOND)
    late = 2 * SECOND + 10 * PIECE
    assert book.sounding == [(0, 10 * PIECE), (late, late + 5 * PIECE)]


def test_a_reply_too_short_to_be_reported_was_not_heard() -> None:
    book = Book()
    book.give("one", 0, pieces=41)
    book.report("one", 0, 40 * PIECE, 0)
    book.replies.spoken("one")
    book.give("two", 2 * SECOND, pieces=1)
    book.replies.spoken("two")
    book.pass_time(20)
    assert book.sounding == [(0, 41 * PIECE)]


def test_what_would_sound_after_the_end_of_the_conversation_is_not_heard() -> None:
    book = Book()
    book.give("one", 0, pieces=41)
    book.pass_time(40 * PIECE / SECOND)
    book.report("one", 0, 40 * PIECE, 0)
    book.replies.close()
    assert book.sounding == [(0, 40 * PIECE)]


def test_a_reply_let_go_keeps_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.recording.reply_track.MAX_HELD", 2)
    book = Book()
    for number in range(4):
        book.give(f"{number}", number * SECOND, pieces=25)
        book.replies.spoken(f"{number}")
    book.pass_time(1)
    book.replies.close()
    for number in range(4):
        assert book.turns(f"{number}")[-1] == (number * SECOND, (number + 1) * SECOND, False)
        assert all(start < end for start, end, _ in book.turns(f"{number}"))


def test_a_reply_that_may_be_kept_leaves_no_trace_where_another_moves_it_from() -> None:
    book = Book(unheard=["one"])
    book.give("one", 100)
    book.give("two", 100 + 3 * PIECE)
    book.replies.played("one", PIECE, 600 + PIECE)  # it began a little later than we thought
    assert book.sounding == [(600 + 3 * PIECE, 600 + 6 * PIECE)]


def test_a_reply_that_may_be_kept_is_heard_where_one_that_may_not_did_not_sound() -> None:
    book = Book(unheard=["one"])
    book.give("one", 0, pieces=50)
    book.replies.spoken("one")
    book.give("two", 2 * SECOND, pieces=50)
    book.report("two", 0, 3 * PIECE, SECOND)
    assert book.sounding == [(SECOND, SECOND + 3 * PIECE)]


class Conversation:
    """Replies given at the pace of speech, to a client that gets everything late."""

    def __init__(self, random: Random, hidden: Iterable[str]) -> None:
        self.book = Book(hidden)
        self.speaker = Loudspeaker()
        self._random = random
        self._lag = random.randrange(8 * SECOND)
        self._line: deque[tuple[int, Callable[[], None]]] = deque()

    @property
    def now(self) -> int:
        return self.book.timeline.position

    def _deliver(self, do: Callable[[], None]) -> None:
        self._lag = max(0, min(8 * SECOND, self._lag + self._random.randrange(-2000, 2000)))
        last = self._line[-1][0] if self._line else 0
        self._line.append((max(last, self.now + self._lag), do))

    def pass_until(self, position: int) -> None:
        while self.now < position:
            while self._line and self._line[0][0] <= self.now:
                self._line.popleft()[1]()
            step = min(PIECE, position - self.now)
            reports = self.speaker.play(self.now, step)
            self.book.pass_time(step / SECOND)
            for reply, at in reports:
                self.book.replies.played(reply.response_id, reply.played, at)

    def reply(self, name: str, sound: bytes, *, whole: bool) -> None:
        """Give it to the end, or break it off and silence the client."""
        pieces = self._random.randrange(1, 150)
        broken_off_at = pieces if whole else self._random.randrange(2 * pieces)
        origin, given = self.now, self.book.replies
        self._deliver(lambda: self.speaker.created({"id": name}))
        for piece in range(pieces):
            offset = piece * PIECE
            late = self._random.randrange(SECOND // 2) if self._random.random() < 0.02 else 0
            self.pass_until(origin + offset - 5 * PIECE + late)
            if piece == broken_off_at:
                given.cut_off(name, max(0, self.now - origin), "")
                self._deliver(self.speaker.stop)
                return
            origin = max(origin, self.now - offset)
            given.sent(name, f"item of {name}", offset, sound, origin + offset, origin / SECOND)
            self._deliver(lambda: self.speaker.receive(name, sound))
        self._deliver(lambda: self.speaker.complete(name))
        self.pass_until(origin + pieces * PIECE)
        given.spoken(name)
        if (
            not whole and self._random.random() < 0.3
        ):  # somebody speaks, before or after all was heard
            self._deliver(self.speaker.stop)


@pytest.mark.parametrize("seed", range(6))
def test_however_late_it_is_played_it_is_kept_as_it_was_played(seed: int) -> None:
    random = Random(seed)
    names = [f"{number}" for number in range(1, 21)]
    hidden = {name for name in names if random.random() < 0.2}
    conversation = Conversation(random, hidden)
    book = conversation.book
    for name in names:
        first = name == "1"  # all of it is heard: this client tells of ends, too
        conversation.reply(name, np.full(PIECE, int(name), "<i2").tobytes(), whole=first)
        wait = 15 * SECOND if first else random.choice([0, PIECE, 3 * SECOND])
        conversation.pass_until(book.timeline.position + wait)
    end = book.timeline.position
    book.replies.close()
    book.replies.look_back()
    played = np.zeros(end, "<i2")
    for at, pcm in conversation.speaker.sounded:
        played[at : at + len(pcm) // 2] = np.frombuffer(pcm, "<i2")
    played[np.isin(played, [int(name) for name in hidden])] = 0
    tape = np.frombuffer(book.tape, "<i2")
    kept = np.zeros(end, "<i2")
    kept[: len(tape)] = tape[:end]
    assert np.count_nonzero(played) > 4 * SECOND
    assert np.array_equal(kept, played) and not tape[end:].any()
    for name in names:
        for start, stop, _ in book.turns(name)[-1:]:
            kept[start:stop][kept[start:stop] == int(name)] = 0
    assert not kept.any()  # each lies within its turn
    assert not book.failures


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
