"""What ends a scoring."""


class ScoringError(Exception):
    """Why there are no scores: one plain sentence."""


class Stopped(BaseException):
    """Somebody wants it to end; what was scored is kept. No instrument may swallow it."""
