"""What a person lets us keep of a conversation."""

from dataclasses import dataclass

SCOPES = ("transcript", "audio", "research")


@dataclass(frozen=True, slots=True)
class Consent:
    """Without any: anonymous timings only. `research` allows exports and scores of what is kept."""

    transcript: bool = False  # the words of both sides, and the plans of the replies
    audio: bool = False  # the sound of both sides
    research: bool = False

    @classmethod
    def of(cls, listed: str) -> "Consent":
        """As one writes it on a command line: `transcript,audio`, or `none`."""
        names = [name.strip() for name in listed.split(",") if name.strip()]
        if names == ["none"]:
            return cls()
        for name in names:
            if name not in SCOPES:
                raise ValueError(
                    f"unknown consent '{name}'; choose from: {', '.join(SCOPES)}, none"
                )
        return cls(**dict.fromkeys(names, True))

    @property
    def scopes(self) -> list[str]:
        return [scope for scope in SCOPES if getattr(self, scope)]

    @property
    def personal(self) -> bool:
        """Whether anything about the person may be kept: how they sounded, with what they spoke."""
        return self.transcript or self.audio

    def both(self, other: "Consent") -> "Consent":
        """What this one and the other allow."""
        return Consent(
            self.transcript and other.transcript,
            self.audio and other.audio,
            self.research and other.research,
        )
