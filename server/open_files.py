"""How many files we may have open, sockets among them."""

try:
    import resource
except ModuleNotFoundError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

ENOUGH = 16_384  # for all connections there may be, and what is recorded of each


def ask_for_enough() -> None:
    """As many as we need, where the system lets us have them by being asked."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def allowed() -> int | None:
    """None: as many as one likes."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft
