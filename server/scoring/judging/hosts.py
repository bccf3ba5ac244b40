"""Where a judge is: beside us, or elsewhere, where less may go."""

from ipaddress import IPv4Network, IPv6Address, ip_address

import httpx2

from server.scoring.score import Unavailable

_OURS = IPv4Network("127.0.0.0/8")
_OURS_6 = IPv6Address("::1")


def address(url: str) -> httpx2.URL:
    """The URL of a judge, if it can be one; the sentence that says not shows no password."""
    try:
        found = httpx2.URL(url.strip().rstrip("/"))
    except httpx2.InvalidURL:
        found = httpx2.URL()
    if found.scheme not in ("http", "https") or not found.host:
        raise Unavailable("the judge's URL is not one like http://127.0.0.1:8000/v1")
    if found.userinfo or found.query or found.fragment:
        raise Unavailable(
            "the judge's URL holds more than its address: give its key as ATTUNE_JUDGE_KEY"
        )
    return found


def beside_us(url: httpx2.URL) -> bool:
    """Whether it is the loopback: nothing sent there leaves the machine."""
    host = url.host.strip("[]").lower()
    if host == "localhost":
        return True
    try:
        found = ip_address(host)
    except ValueError:  # a name, and whoever answers to it
        return False
    return found == _OURS_6 if isinstance(found, IPv6Address) else found in _OURS
