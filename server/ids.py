"""Identifiers of the wire."""

import os
from itertools import count
from secrets import token_hex

_PROCESS = token_hex(6)  # nobody can guess another conversation's ids
_count = count()


def _renew() -> None:
    global _PROCESS
    _PROCESS = token_hex(6)


if hasattr(os, "register_at_fork"):  # or processes that part would give the same ids
    os.register_at_fork(after_in_child=_renew)


def new(prefix: str) -> str:
    """`item_…`, `resp_…`, `sess_…`, `conv_…`: unique, and random to anyone else."""
    return f"{prefix}_{token_hex(10)}"


def event() -> str:
    """`event_…`: unique, and made in a moment, for there are many."""
    return f"event_{_PROCESS}{next(_count):08x}"
