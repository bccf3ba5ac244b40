"""What all connections of one address may use together, of anything that can be counted."""

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from server.neighbours import is_this_machine

REMEMBERED = 4096  # subscribers
SUBSCRIBER_BITS = 64  # of an IPv6 address: all that differ only after these are one subscriber's


class Bucket:
    """Tokens that come back at a steady rate."""

    def __init__(self, per_sec: float, most: float, now: float) -> None:
        self.filled = now  # when
        self._per_sec = per_sec
        self._most = self._tokens = most

    def take(self, amount: float, now: float) -> bool:
        """So many of them, or none and False."""
        self._tokens = min(self._most, self._tokens + (now - self.filled) * self._per_sec)
        self.filled = now
        if self._tokens < amount:
            return False
        self._tokens -= amount
        return True

    def wait_sec(self, amount: float) -> float:
        """Until there could be so many."""
        return max(0.0, (amount - self._tokens) / self._per_sec)


class Budget:
    """A bucket of tokens for each subscriber, which fills up again at a steady rate.

    Only those that are not full are kept. Should there be too many, the one used longest ago is
    forgotten: it is the nearest to being full.
    """

    def __init__(
        self, per_sec: float, most: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_sec = per_sec
        self._most = most
        self._now = now
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()  # last used last

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, whose: str, amount: float = 1.0) -> bool:
        """So many tokens from the subscriber's bucket, or none of them and False."""
        now = self._now()
        self._forget_full(now)
        bucket = self._buckets.pop(whose, None) or Bucket(self._per_sec, self._most, now)
        self._buckets[whose] = bucket
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        return bucket.take(amount, now)

    def wait_sec(self, whose: str, amount: float = 1.0) -> float:
        """Until they could have so many."""
        bucket = self._buckets.get(whose)
        return bucket.wait_sec(amount) if bucket else 0.0

    def _forget_full(self, now: float) -> None:
        """Whoever has used nothing for so long has all again, as if never seen."""
        unused_since = now - self._most / self._per_sec
        while self._buckets:
            oldest = next(iter(self._buckets))
            if self._buckets[oldest].filled > unused_since:
                return
            del self._buckets[oldest]


def subscriber(address: str | None) -> str | None:
    """Whose connections are counted together; None: this machine's own, which are not counted.

    It is the address, but for IPv6, where each subscriber has more of them than could be counted.
    """
    if not address or is_this_machine(address):
        return None
    try:
        known = ip_address(address)
    except ValueError:  # a proxy may write a name
        return address
    if not isinstance(known, IPv6Address):
        return address
    if known.ipv4_mapped:
        return str(known.ipv4_mapped)
    return f"{IPv6Address(int(known) >> SUBSCRIBER_BITS << SUBSCRIBER_BITS)}/{SUBSCRIBER_BITS}"
