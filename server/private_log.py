"""Saying in a log line what failed and where, but nothing that anybody said."""

import logging
from pathlib import Path
from traceback import extract_tb

# Libraries that write addresses with their passwords, or headers, when asked for much.
TALKATIVE = ("httpx2", "httpcore2", "websockets", "python_multipart", "s3fs", "botocore", "urllib3")


def hush() -> None:
    """Have only warnings of theirs, whatever level is ours."""
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


def where(error: BaseException) -> str:
    """The kind of error and the calls that led to it; its message may hold a user's words."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(where(inner) for inner in error.exceptions)
    calls = [
        f"{Path(call.filename).name}:{call.lineno}" for call in extract_tb(error.__traceback__)
    ]
    said = f"{type(error).__name__} at {' > '.join(calls) or 'nowhere'}"
    return f"{said}, caused by {where(error.__cause__)}" if error.__cause__ else said
