"""An instrument for tests that counts how often it is asked, in whichever process it is.

What it does beside is told by the words it is given: to fail, to die, to take its time.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unavailable
from server.scoring.scored import Usage
from server.scoring.settings import Settings

COUNT, VERSION = "ATTUNE_TEST_COUNT", "ATTUNE_TEST_VERSION"
MEASURES = (
    Measure("letters", "Letters", "words", "How many letters the reply has.", unit="letters"),
    Measure("digits", "Digits", "perception", "How many digits were said."),
)


class Counting:
    judge = JudgeNamed("the counter", host="counter.example.org")

    def __init__(self) -> None:
        self.key = f"counting {os.environ.get(VERSION, '1')}"
        self.calls = 0

    @property
    def usage(self) -> Usage:
        return Usage("the counter", calls=self.calls, tokens_in=10 * self.calls)

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        self.calls += 1
        with Path(os.environ[COUNT]).open("a", encoding="utf-8") as file:
            file.write(f"{exchange.conversation.session.id} {exchange.number}\n")
        said = exchange.user_words()
        if "slowly" in said:
            time.sleep(60)
        if "a little" in said:
            time.sleep(0.05)
        if "die" in said:
            os._exit(9)
        if "fail" in said:
            raise RuntimeError(said)
        if "burn" in said:
            until = time.process_time() + 0.1
            while time.process_time() < until:
                pass
        reply = exchange.reply_words()
        digits = sum(letter.isdigit() for letter in said)
        return {
            "letters": Score(len(reply), f"{reply} has them", raw=f"raw: {reply}"),
            "digits": Score(float("nan") if "nan" in said else digits),
        }


def build(settings: Settings) -> Counting:
    if COUNT not in os.environ:
        raise Unavailable("nobody counts here")
    return Counting()
