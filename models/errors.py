"""What a backend raises when it cannot do its work."""


class BackendError(Exception):
    """A role's backend failed: one plain sentence for a person; the cause is chained."""

    def __init__(self, role: str, sentence: str) -> None:
        super().__init__(sentence)
        self.role = role
