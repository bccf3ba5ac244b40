"""Pydantic's complaints, turned into the protocol's error codes."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from server.errors import ClientError


def client_error(error: ValidationError, prefix: str = "") -> ClientError:
    """The first complaint, as the official service would word it."""
    first = error.errors(include_url=False, include_context=True)[0]
    param = _param(first, prefix)
    match first["type"]:
        case "missing":
            return ClientError(
                "missing_required_parameter", f"Missing required parameter: '{param}'.", param
            )
        case "extra_forbidden":
            return ClientError("unknown_parameter", f"Unknown parameter: '{param}'.", param)
        case kind if kind.endswith("_type"):
            return ClientError(
                "invalid_type", f"Invalid type for '{param}': {first['msg']}.", param
            )
        case _:
            given = first["input"]
            said = f" {given!r}" if isinstance(given, str | int | float | bool) else ""
            return ClientError(
                "invalid_value", f"Invalid value{said} for '{param}': {first['msg']}.", param
            )


def _param(detail: ErrorDetails, prefix: str) -> str:
    """`session.audio.input.format.type`: the path a client would write.

    Pydantic names the chosen member of a union in the path; the client never wrote it.
    """
    path = prefix
    for part in detail["loc"]:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier() and part[0].islower() and "-" not in part and part not in _TAGS:
            path += f".{part}" if path else part
    return path or "event"


# Discriminator values that pydantic puts into the path of an error.
_TAGS = {"server_vad", "semantic_vad", "str", "int", "bool"}
