"""The words an exchange was recorded with. A failure to hear or to answer is empty, not missing."""

from server.scoring.exchange import NO_WORDS, Exchange
from server.scoring.score import Unscored
from server.sessions.exchanges import RecordedTurn


def recognised(exchange: Exchange) -> str:
    """What was understood of what somebody said; empty where that was nothing."""
    if exchange.user is None:
        raise Unscored(NO_WORDS if not exchange.consent.transcript else "no user turn")
    return _kept(exchange, exchange.user)


def answered(exchange: Exchange) -> str:
    """What was heard of the reply; empty where there was none, so that silence is not a way out."""
    return _kept(exchange, exchange.reply)


def expected(exchange: Exchange) -> str:
    """The reference that a reply is held against."""
    if not (right := exchange.reference().strip()):
        raise Unscored("the reference reply is empty")
    return right


def _kept(exchange: Exchange, turn: RecordedTurn | None) -> str:
    if not exchange.consent.transcript:
        raise Unscored(NO_WORDS)
    return turn.text or "" if turn else ""
