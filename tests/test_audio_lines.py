"""Sound in the log: a line for every stretch, and no sample in two lines or none."""

from typing import Any

from models.types import WIRE_RATE
from server.recording.audio_lines import AudioLines


class Log:
    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.audio = AudioLines(lambda source, event: self.lines.append((source, event)))


def test_messages_that_follow_each_other_make_one_line() -> None:
    log = Log()
    for begin in range(0, 4_800, 480):
        log.audio.message()
        log.audio.heard(begin, begin + 480)
    assert log.lines == []
    log.audio.flush()
    event = {"type": "input_audio_buffer.append", "samples": [0, 4_800], "messages": 10}
    assert log.lines == [("client", event)]


def test_a_line_is_no_longer_than_a_second() -> None:
    log = Log()
    for begin in range(0, 3 * WIRE_RATE, 480):
        log.audio.heard(begin, begin + 480)
    log.audio.flush()
    spans = [event["samples"] for _, event in log.lines]
    assert spans == [[n * WIRE_RATE, (n + 1) * WIRE_RATE] for n in range(3)]


def test_a_gap_begins_a_new_line() -> None:
    log = Log()
    log.audio.heard(0, 480)
    log.audio.heard(9_600, 10_080)
    log.audio.flush()
    assert [event["samples"] for _, event in log.lines] == [[0, 480], [9_600, 10_080]]


def test_each_reply_has_lines_of_its_own() -> None:
    log = Log()
    log.audio.sent("resp_1", "item_1", 0, 960)
    log.audio.sent("resp_1", "item_1", 960, 1_920)
    log.audio.sent("resp_2", "item_2", 0, 960)
    log.audio.flush()
    told = [(event["response_id"], event["reply_samples"]) for _, event in log.lines]
    assert told == [("resp_1", [0, 1_920]), ("resp_2", [0, 960])]


def test_flushing_twice_tells_nothing_twice() -> None:
    log = Log()
    log.audio.heard(0, 480)
    log.audio.flush()
    log.audio.flush()
    assert len(log.lines) == 1
