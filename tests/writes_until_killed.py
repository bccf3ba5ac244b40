"""A process that records short conversations at the pace of speech until somebody kills it.

    python -m tests.writes_until_killed RUNS SEED

It tells on standard output what it has put, each line once it is put: `time id what position`.
"""

import sys
from pathlib import Path
from random import Random
from time import monotonic, sleep

from server.recording.entries import Closed, Sound, Withdrawn
from server.recording.scribe import Scribe, Sheet
from server.sessions.format import SessionFile
from tests.written import ALL, NONE, agreed, begun, ended, noise, said

TOGETHER = 4
PIECE = 480  # samples: 20 ms, as they come over a wire


class Talk:
    """One conversation, of which a piece passes at a time."""

    def __init__(self, scribe: Scribe, random: Random) -> None:
        self.session: SessionFile = begun()
        self.sheet: Sheet = scribe.open(self.session, lambda reason: self.tell(reason, 0))
        self._withdraws = random.random() < 0.3
        self._left = random.randint(20, 120)
        self._halfway = self._left // 2
        self._position = 0
        self._withdrawn = False

    def tell(self, what: str, position: int) -> None:
        # One write, so that it is told whole or not at all.
        sys.stdout.write(f"{monotonic()} {self.session.id} {what} {position}\n")
        sys.stdout.flush()

    def go_on(self) -> bool:
        """Whether it goes on after this piece."""
        if self._withdraws and self._left == self._halfway:
            self.session = agreed(self.session, NONE, self._position)
            self._withdrawn = True
            self.sheet.put(Withdrawn(self.session, NONE))
            self.tell("withdrawn", self._position)
        if not self._withdrawn:
            number = self._position // PIECE
            for channel in ("user", "reply"):
                self.sheet.put(Sound(channel, self._position, noise(PIECE, number)))
            self.tell("sound", self._position + PIECE)
        self.sheet.put(said(self._position, NONE if self._withdrawn else ALL))
        self.tell("line", self._position)
        self._position += PIECE
        self._left -= 1
        if self._left == 0:
            self.sheet.put(Closed(ended(self.session, self._position)))
            self.tell("closed", self._position)
        return self._left > 0


def main(runs: str, seed: str) -> None:
    random = Random(seed)
    scribe = Scribe(Path(runs), lambda path: None)
    talks = [Talk(scribe, random) for _ in range(TOGETHER)]
    due = monotonic()
    while True:
        talks = [talk if talk.go_on() else Talk(scribe, random) for talk in talks]
        due += PIECE / 24_000
        sleep(max(0.0, due - monotonic()))


if __name__ == "__main__":
    main(*sys.argv[1:])
