"""How clauses join: what every voice agrees on, so that all keep the same silences."""

import re

AUDIBLE = 10 ** (-45 / 20)  # -45 dBFS
GAP_SEC = 0.06  # after a clause cut in mid-sentence
STOP_SEC = 0.18  # after a sentence


def goes_on(clause: str) -> bool:
    """Whether more follows in the same sentence: clauses within a reply end with a space."""
    return clause[-1:].isspace() and not re.search(r"""[.!?…]["'”’)\]]*\s*$""", clause)
