"""What no log ever holds, whatever was allowed: sound, secrets, secret parts of addresses."""

import re
from typing import Any

DEEPEST = 32  # what is nested deeper no client may send, and goes
BLOB = 256  # letters without a break: nobody talks like that, but data looks so
SERIES = 256  # numbers in a row, which may be samples

_BLOB = re.compile(rf"[A-Za-z0-9+/_=-]{{{BLOB},}}")
_SECRETS = frozenset(
    ("secret", "client_secret", "resume_token", "access_token", "api_key", "authorization")
    + ("password", "headers", "cookie")
)
_LOGIN = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/]*@", re.IGNORECASE)
_AFTER_PATH = re.compile(r"[?#].*", re.DOTALL)


def without_payloads(event: dict[str, Any]) -> dict[str, Any]:
    """The event as it may be written at most: with `{"bytes": n}` for sound, and with a type."""
    bare: dict[str, Any] = _bare(event, DEEPEST)
    if not isinstance(bare.get("type"), str):
        bare["type"] = "unknown"
    if event.get("type") == "response.output_audio.delta" and "delta" in bare:
        sound = event["delta"]
        del bare["delta"]
        bare["audio"] = {"bytes": _size(sound)} if isinstance(sound, str) else None
    return bare


def _bare(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return _BLOB.sub(lambda found: f"<{_size(found.group())} bytes>", value)
    if not isinstance(value, dict | list):
        return value
    if levels == 0:
        return None
    if isinstance(value, dict):
        return {
            _bare(key, 1): _field(key, inner, levels - 1)
            for key, inner in value.items()
            if not _secret(key, inner)
        }
    if len(value) >= SERIES and all(isinstance(inner, int | float) for inner in value):
        return f"<{len(value)} numbers>"
    return [_bare(inner, levels - 1) for inner in value]


def _field(key: str, value: Any, levels: int) -> Any:
    if key == "audio" and isinstance(value, str):
        return {"bytes": _size(value)}
    if key == "audio" and isinstance(value, dict) and _stands_for_sound(value):
        return value
    if key.endswith("url") and isinstance(value, str):
        value = _LOGIN.sub(r"\1", _AFTER_PATH.sub("", value))
    return _bare(value, levels)


def _stands_for_sound(value: dict[str, Any]) -> bool:
    return set(value) == {"bytes"} and isinstance(value["bytes"], int)


def _secret(key: str, value: Any) -> bool:
    """A description of something that is called so, as in a tool's schema, is none."""
    return key.lower() in _SECRETS and (isinstance(value, str) or key.lower() == "headers")


def _size(base64: str) -> int:
    """How many bytes were written so."""
    return max(0, len(base64) * 3 // 4 - base64[-2:].count("="))
