"""A recorded conversation as turns: what belongs to it, and in which order."""

from datetime import UTC, datetime
from typing import Any, Literal

from server.sessions.exchanges import exchanges, turns
from server.sessions.format import Line, SessionFile

WALL = datetime(2026, 3, 14, tzinfo=UTC)
SESSION = SessionFile(id="sess_" + "0" * 20, started=WALL, state="recording", software="attune")


def line(at: int, source: Literal["client", "server", "recorder"], **event: Any) -> Line:
    return Line(n=0, at=at, wall=WALL, source=source, event=event)


def written(item_id: str, role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    content = [{"type": kind, "text": text}]
    return {"id": item_id, "type": "message", "role": role, "content": content}


def put(item_id: str, role: str, text: str, at: int = 0) -> list[Line]:
    """A client writes an item, and the server takes it."""
    item = written(item_id, role, text)
    return [
        line(at, "client", type="conversation.item.create", item=item),
        line(at, "server", type="conversation.item.added", item=item),
    ]


def test_what_a_client_brings_along_from_before_is_no_turn_of_the_session() -> None:
    answer = written("item_e", "assistant", "Rest a little.")
    log = [
        *put("item_a", "assistant", "Hello."),
        *put("item_b", "user", "I have an exam."),
        *put("item_c", "assistant", "What worries you?"),
        *put("item_d", "user", "All of it."),
        line(0, "server", type="conversation.item.added", item=answer),
    ]
    said = turns(SESSION, log)
    assert [turn.text for turn in said] == ["All of it.", "Rest a little."]
    (exchange,) = exchanges(said)
    assert exchange.user and exchange.user.item_id == "item_d"


def test_turns_that_take_no_time_stand_in_the_order_they_were_written() -> None:
    answer = written("item_b", "assistant", "Good morning.")
    log = [
        *put("item_a", "user", "Hello."),
        line(0, "server", type="conversation.item.added", item=answer),
        *put("item_c", "user", "Goodbye."),
    ]
    said = turns(SESSION, log)
    assert [turn.item_id for turn in said] == ["item_a", "item_b", "item_c"]


def test_who_goes_on_after_a_pause_is_answered_by_the_next_reply_not_by_the_one_they_cut() -> None:
    def spoken(item_id: str, role: str, start: int, end: int) -> list[Line]:
        item = {"id": item_id, "type": "message", "role": role, "content": []}
        span = {"item_id": item_id, "role": role, "start": start, "end": end}
        return [
            line(end, "server", type="conversation.item.added", item=item),
            line(end, "recorder", type="recording.turn", **span),
        ]

    log = [
        *spoken("item_a", "user", 0, 48_000),
        *spoken("item_b", "assistant", 60_000, 64_000),
        *spoken("item_c", "user", 57_000, 96_000),  # with 0.3 s before its first sound
        *spoken("item_d", "assistant", 110_000, 150_000),
    ]
    pairs = [
        (each.user and each.user.item_id, each.reply and each.reply.item_id)
        for each in exchanges(turns(SESSION, log))
    ]
    assert pairs == [("item_a", "item_b"), ("item_c", "item_d")]


def test_a_turn_of_which_the_log_tells_nothing_else_stands_where_it_begins() -> None:
    def span(item_id: str, role: str, start: int) -> Line:
        told = {"item_id": item_id, "role": role, "start": start, "end": start + 10}
        return line(start, "recorder", type="recording.turn", **told)

    item = {"id": "item_b", "type": "message", "role": "assistant", "content": []}
    log = [
        line(100, "server", type="conversation.item.added", item=item),
        span("item_b", "assistant", 100),
        span("item_c", "user", 200),
        span("item_a", "user", 0),
    ]
    assert [turn.item_id for turn in turns(SESSION, log)] == ["item_a", "item_b", "item_c"]


def test_a_client_cannot_say_how_it_sounded_or_how_quick_we_were() -> None:
    log = put("item_a", "user", "Hello.")
    percept = {"type": "attune.percept", "item_id": "item_a", "final": True}
    log.append(line(0, "client", **percept, percept={"emotion": {"happy": 1.0}}))
    assert turns(SESSION, log)[0].percept is None
    log.append(line(0, "server", **percept, percept={"emotion": {"sad": 1.0}}))
    assert turns(SESSION, log)[0].percept == {"emotion": {"sad": 1.0}}
