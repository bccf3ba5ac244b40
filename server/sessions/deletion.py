"""What came of taking a session away, or a part of it."""

from dataclasses import dataclass, field


class StillRecording(Exception):
    """The session is being written; what was asked is written down, and done once that is over."""


@dataclass(frozen=True, slots=True)
class Deletion:
    id: str
    removed: list[str]  # files, in words for people
    exports: list[str]  # copies already handed out, which nobody can take back
    left: list[str] = field(default_factory=list)  # made of it, but where we may not delete

    def take_along(self, replay: "Deletion", *, is_changed: bool) -> None:
        """A replay holds the same voice: it goes the same way."""
        if is_changed:
            self.removed.append(f"its replay {replay.id}")
        self.exports.extend(each for each in replay.exports if each not in self.exports)
        self.left.extend(each for each in replay.left if each not in self.left)


@dataclass(frozen=True, slots=True)
class Recovery:
    """What had been left undone."""

    repaired: list[str] = field(default_factory=list)  # session ids
    changed: list[str] = field(default_factory=list)
    uploaded: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # sentences
