"""What a backend raises when it cannot do its work."""


class BackendError(Exception):
    """A role's backend failed: one plain sentence for a person; the cause is chained."""

    def __init__(self, role: str, sentence: str) -> None:
        super().__init__(sentence)
        self.role = role


class UnfitInput(BackendError):
    """The backend works, but not with what it was given; what others give it may be fine."""


class Hung(BackendError):
    """Nothing came of the backend for as long as we may wait."""


class Crowded(BackendError):
    """Too many of us want the backend at once; it may be well, and was not even asked."""


class OutOfOrder(BackendError):
    """The backend failed before, and was not even asked this time."""
