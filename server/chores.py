"""What a process does for the recordings, beside making them."""

from enum import Enum


class Chores(Enum):
    ALL = "all"  # repair what a crash left, now and then, and keep no longer than was set
    REPAIR = "repair"  # once: the process before it was killed
    NONE = "none"  # another does
