import io
import json
import logging
import sys

from server.log_lines import JsonLines, TextLines


def logged(form: logging.Formatter) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(form)
    logger = logging.Logger("attune.test")
    logger.addHandler(handler)
    try:
        raise ValueError("what somebody said")
    except ValueError:
        logger.error("session %s failed\nbadly", "sess_1", exc_info=sys.exc_info())
    return stream.getvalue()


def test_a_line_for_people_tells_where_an_error_was_and_not_what_it_said() -> None:
    told = logged(TextLines())
    assert "ERROR attune.test session sess_1 failed" in told
    assert "ValueError at test_log_lines.py" in told
    assert "somebody" not in told and "Traceback" not in told


def test_a_line_for_machines_tells_where_an_error_was_and_not_what_it_said() -> None:
    (line,) = logged(JsonLines()).splitlines()
    told = json.loads(line)
    assert told["message"] == "session sess_1 failed\nbadly"
    assert told["level"] == "error"
    assert told["logger"] == "attune.test"
    assert "ValueError at test_log_lines.py" in told["error"]
    assert "somebody" not in line
