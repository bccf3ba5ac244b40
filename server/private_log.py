"""Saying in a log line what failed and where, but nothing that anybody said."""

from pathlib import Path
from traceback import extract_tb


def where(error: BaseException) -> str:
    """The kind of error and the calls that led to it; its message may hold a user's words."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(where(inner) for inner in error.exceptions)
    calls = [
        f"{Path(call.filename).name}:{call.lineno}" for call in extract_tb(error.__traceback__)
    ]
    said = f"{type(error).__name__} at {' > '.join(calls) or 'nowhere'}"
    return f"{said}, caused by {where(error.__cause__)}" if error.__cause__ else said
