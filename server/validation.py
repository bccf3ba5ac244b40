"""Pydantic's complaints, turned into the protocol's error codes."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from server.errors import ClientError

ECHOED = 200  # characters of what a client sent, in what it is told of it
MANY = 100  # mistakes: to tell one of more would take longer than to find them


def client_error(error: ValidationError, prefix: str = "") -> ClientError:
    """The first complaint, as the official service would word it."""
    if (mistakes := error.error_count()) > MANY:
        where = f" in '{prefix}'" if prefix else ""
        return ClientError(
            "invalid_value", f"There are {mistakes} mistakes{where}.", prefix or None
        )
    first = error.errors(include_url=False, include_context=True)[0]
    param = _param(first, prefix)
    why = first["msg"]
    if tag := first.get("ctx", {}).get("tag"):  # the one thing pydantic quotes of what was sent
        why = why.replace(tag, _echoed(tag))
    match first["type"]:
        case "missing":
            return ClientError(
                "missing_required_parameter", f"Missing required parameter: '{param}'.", param
            )
        case "extra_forbidden":
            return ClientError("unknown_parameter", f"Unknown parameter: '{param}'.", param)
        case kind if kind.endswith("_type"):
            return ClientError("invalid_type", f"Invalid type for '{param}': {why}.", param)
        case _:
            given = first["input"]
            given = _echoed(given) if isinstance(given, str) else given
            said = f" {given!r}" if isinstance(given, str | int | float | bool) else ""
            return ClientError("invalid_value", f"Invalid value{said} for '{param}': {why}.", param)


def _echoed(given: str) -> str:
    """Enough of what was sent for whoever sent it to know it again, and how long it was."""
    return given if len(given) <= ECHOED else f"{given[:ECHOED]}… ({len(given)} characters)"


def _param(detail: ErrorDetails, prefix: str) -> str:
    """`session.audio.input.format.type`: the path a client would write.

    Pydantic names the chosen member of a union in the path; the client never wrote it.
    """
    path = prefix
    for part in detail["loc"]:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier() and part[0].islower() and "-" not in part and part not in _TAGS:
            path += f".{_echoed(part)}" if path else _echoed(part)
    return path or "event"


# Discriminator values that pydantic puts into the path of an error.
_TAGS = {"server_vad", "semantic_vad", "str", "int", "bool"}
