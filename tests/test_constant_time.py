"""Secrets are compared whole: how long it takes tells nobody how much of a guess was right."""

import hmac
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any, cast

import pytest
from fastapi import Request
from starlette.websockets import WebSocket

from server import access, export_desk, guests, parking
from server.access import Access
from server.client_secrets import ClientSecrets
from server.config import Config
from server.export_download import Workshop
from server.guests import KEY_PROTOCOL, Guests
from server.http_refusals import Refusal
from server.parking import Parking
from server.relink import Relink
from server.report_tickets import Tickets

TALKERS = [f"the token of talker {number}" for number in range(3)]
OPERATOR = "the operator's own token"
WRONG = ["none at all", TALKERS[0][:-2], TALKERS[0] + "x", "\xe9" * 20, "\xff", "x" * 10_000]


class Compared:
    """compare_digest, and what it was asked to compare."""

    def __init__(self) -> None:
        self.pairs: list[tuple[bytes, bytes]] = []

    def __call__(self, one: str | bytes, other: str | bytes) -> bool:
        pair = one, other
        first, second = (each.encode("ascii") if isinstance(each, str) else each for each in pair)
        self.pairs.append((first, second))
        return hmac_compare(first, second)


hmac_compare: Callable[[bytes, bytes], bool] = hmac.compare_digest


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Compared:
    """In place of the real one wherever secrets are compared."""
    spy = Compared()
    monkeypatch.setattr(hmac, "compare_digest", spy)  # client secrets, tickets of reports
    for module in (access, guests, parking, export_desk):
        monkeypatch.setattr(module, "compare_digest", spy)
    return spy


def hashed(token: str) -> bytes:
    return sha256(token.encode("latin-1")).hexdigest().encode()


def house() -> Guests:
    config = Config.model_validate(
        {"profile": "standin", "talker_tokens": TALKERS, "operator_token": OPERATOR}
    )
    return Guests(config, Access(OPERATOR), ClientSecrets(None))


async def by_request(guests: Guests, token: str) -> None:
    header = (b"authorization", b"Bearer " + token.encode("latin-1"))
    await guests.check(Request({"type": "http", "headers": [header], "client": ("::1", 1)}))


async def by_protocol(guests: Guests, token: str) -> None:
    async def never(*_: object) -> Any:
        raise AssertionError("nothing is read or written before the token is known")

    offered = ["realtime", KEY_PROTOCOL + token]
    scope = {"type": "websocket", "headers": [], "subprotocols": offered, "client": ("::1", 1)}
    guests.admit(WebSocket(scope, never, never))


@pytest.mark.parametrize("show", [by_request, by_protocol])
@pytest.mark.parametrize("token", [*TALKERS, OPERATOR, *WRONG])
async def test_whatever_is_shown_is_compared_with_every_token_there_is(
    compared: Compared, show: Callable[[Guests, str], Awaitable[None]], token: str
) -> None:
    door = house()
    try:
        await show(door, token)
        admitted = True
    except Refusal as refusal:
        assert refusal.status == 401
        admitted = False
    assert admitted == (token in (*TALKERS, OPERATOR))
    known = [hashed(each) for each in (*TALKERS, OPERATOR)]
    assert compared.pairs == [(hashed(token), each) for each in known]


@pytest.mark.parametrize("token", ["right", "wrong", "\xe9", ""])
def test_the_secret_of_a_session_is_compared_by_its_hash(compared: Compared, token: str) -> None:
    secret = hashed("right")
    is_talker = Access(None).is_talker(token.encode("latin-1"), secret.decode())
    assert is_talker == (token == "right")
    assert compared.pairs == [(hashed(token), secret)]


def test_a_token_to_come_back_with_is_compared_by_its_hash(compared: Compared) -> None:
    parked = Parking(60.0)
    token = parked.ticket("sess_1", cast(Relink, _Line()))
    assert token
    owner, session_id, secret = token.split(".")
    for guess in ("wrong", "é", "", secret[:-1]):
        assert parked.claim(f"{owner}.{session_id}.{guess}") is None
        assert (sha256(secret.encode()).digest(), sha256(guess.encode()).digest()) in compared.pairs
    asked = len(compared.pairs)
    assert parked.claim(token) and len(compared.pairs) > asked


class _Line:
    patience_sec = 0.0


def test_the_signature_of_a_client_secret_is_compared_whole(compared: Compared) -> None:
    secrets = ClientSecrets("a signing key of thirty-two letters or more")
    value, _ = secrets.make({}, 600)
    packed, _, signature = value.partition(".")
    for shown in (signature, "A" + signature[1:], signature[:-1], ""):
        assert (secrets.opened(f"{packed}.{shown}") is not None) == (shown == signature)
        assert compared.pairs.pop() == (shown.encode(), signature.encode())
    assert secrets.opened(f"{packed}.é") is None  # no signature has such letters


def test_the_signature_of_a_reports_ticket_is_compared_whole(compared: Compared) -> None:
    tickets = Tickets()
    until, _, signature = tickets.of("a report").partition("-")
    for shown in (signature, "0" * 64, ""):
        assert tickets.holds("a report", f"{until}-{shown}") == (shown == signature)
        assert compared.pairs.pop() == (shown.encode(), signature.encode())
    assert not tickets.holds("a report", f"{until}-é")


@pytest.mark.parametrize("ticket", ["wrong", "é"])
async def test_the_ticket_of_an_export_is_compared_whole(compared: Compared, ticket: str) -> None:
    desk = export_desk.Desk(cast(Workshop, None))
    desk._ticket = "right"
    with pytest.raises(Refusal):
        await desk.fetch(ticket)
    await desk.close()
    assert compared.pairs == [(ticket.encode(), b"right")]
