"""A client secret: what it opens, for how long, and that nobody else can make one."""

from collections.abc import Callable

import pytest

from server.client_secrets import LONGEST, ClientSecrets, TooLong

KEY = "a signing key of thirty-two letters or more"


def at(moment: float) -> Callable[[], float]:
    return lambda: moment


def test_a_secret_ends_when_it_says() -> None:
    value, until = ClientSecrets(KEY, at(1_000)).make({"type": "realtime"}, 600)
    assert until == 1_600
    assert ClientSecrets(KEY, at(1_599)).opened(value) == {"type": "realtime"}
    assert ClientSecrets(KEY, at(1_600)).opened(value) is None


def test_a_secret_is_known_to_every_process_with_the_key_and_to_no_other() -> None:
    value, _ = ClientSecrets(KEY).make({}, 600)
    assert ClientSecrets(KEY).opened(value) == {}
    assert ClientSecrets(KEY + "!").opened(value) is None
    assert ClientSecrets(None).opened(value) is None


def test_nothing_in_a_secret_can_be_changed() -> None:
    secrets = ClientSecrets(KEY)
    value, _ = secrets.make({"instructions": "Be brief."}, 600)
    for place in range(len(value)):
        other = "A" if value[place] != "A" else "B"
        changed = value[:place] + other + value[place + 1 :]
        # The last letter of base64 may hold bits that mean nothing; ours are compared as text.
        assert secrets.opened(changed) is None, place
    for nonsense in ("", "ek_", "ek_.", "ek_é.x", "ek_" + "A" * 10_000, value + "="):
        assert secrets.opened(nonsense) is None


def test_a_secret_fits_into_a_header_line() -> None:
    secrets = ClientSecrets(KEY)
    value, _ = secrets.make({"instructions": "Speak softly, and ask back. " * 300}, 600)
    assert len(value) <= LONGEST
    many = " ".join(str(number**5) for number in range(5_000))
    with pytest.raises(TooLong):
        secrets.make({"instructions": many}, 600)
