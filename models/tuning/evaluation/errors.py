"""What stops an evaluation."""


class EvaluationError(Exception):
    """It cannot go on as asked; the message is a sentence for people."""
