"""What stops a benchmark, or one item of it."""


class BenchmarkError(Exception):
    """The run cannot go on, or cannot begin: one sentence."""


class ItemError(Exception):
    """One item could not be played: a short phrase. The others go on."""
