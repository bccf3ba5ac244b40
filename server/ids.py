"""Identifiers of the wire."""

from itertools import count
from secrets import token_hex

_PROCESS = token_hex(6)  # nobody can guess another conversation's ids
_count = count()


def new(prefix: str) -> str:
    """`item_…`, `resp_…`, `sess_…`, `conv_…`: unique, and random to anyone else."""
    return f"{prefix}_{token_hex(10)}"


def event() -> str:
    """`event_…`: unique, and made in a moment, for there are many."""
    return f"event_{_PROCESS}{next(_count):08x}"
