import io
import json
import logging
import sys

from server.log_lines import JsonLines


def test_a_line_for_machines_tells_where_an_error_was_and_not_what_it_said() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    record_from = logging.Logger("attune.test")
    record_from.addHandler(handler)
    try:
        raise ValueError("what somebody said")
    except ValueError:
        record_from.error("session %s failed\nbadly", "sess_1", exc_info=sys.exc_info())
    (line,) = stream.getvalue().splitlines()
    told = json.loads(line)
    assert told["message"] == "session sess_1 failed\nbadly"
    assert told["level"] == "error"
    assert told["logger"] == "attune.test"
    assert "ValueError at test_log_lines.py" in told["error"]
    assert "somebody" not in line
