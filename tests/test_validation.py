"""What a client is told of a mistake holds only so much of what it sent."""

from typing import Any

import orjson
import pytest

from server.validation import ECHOED
from tests.serving import serving
from tests.talker import talking

LONG = "x" * 100_000
SAID = f"{'x' * ECHOED}… ({len(LONG)} characters)"


@pytest.mark.parametrize(
    ("session", "code", "param"),
    [
        ({"include": [LONG]}, "invalid_value", "session.include[0]"),
        ({"max_output_tokens": LONG}, "invalid_value", "session.max_output_tokens"),
        (
            {"audio": {"input": {"turn_detection": {"type": LONG}}}},
            "invalid_value",
            "session.audio.input.turn_detection",
        ),
        ({LONG: 1}, "unknown_parameter", f"session.{SAID}"),
    ],
)
async def test_of_a_long_mistake_only_the_beginning_is_said_again(
    session: dict[str, Any], code: str, param: str
) -> None:
    async with serving() as (url, _), talking(url) as talker:
        told = await talker.update(**session)  # an error in the official form, or this fails
        assert told["type"] == "error"
        error = told["error"]
        assert (error["type"], error["code"]) == ("invalid_request_error", code)
        assert error["param"] == param
        assert SAID in error["message"]
        assert len(orjson.dumps(told)) < 1_500


async def test_a_short_mistake_is_said_again_as_it_was() -> None:
    async with serving() as (url, _), talking(url) as talker:
        for given in ("nonsense", "x" * ECHOED):
            error = (await talker.update(include=[given]))["error"]
            assert f"Invalid value '{given}' for 'session.include[0]'" in error["message"]
