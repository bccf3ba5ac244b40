"""When each stage of a turn was reached: the material of `attune.timing` and the benchmark."""

import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Trace:
    """Moments of one turn, in seconds of the process's monotonic clock; the first mark counts."""

    moments: dict[str, float] = field(default_factory=dict)

    def mark(self, stage: str, at: float | None = None) -> None:
        self.moments.setdefault(stage, time.monotonic() if at is None else at)

    def stages_ms(self) -> dict[str, float]:
        """Each stage in milliseconds after the end of speech, in the order reached."""
        origin = self.moments.get("speech_end")
        if origin is None:
            origin = min(self.moments.values(), default=0.0)
        ordered = sorted(self.moments.items(), key=lambda entry: entry[1])
        return {stage: round((at - origin) * 1000, 1) for stage, at in ordered}

    def overhead_ms(self) -> float | None:
        """What we added: the first piece, less the later of the gate and what it waited for.

        A reply that opens with a planned pause waits for its plan, and not for its voice.
        """
        sent, gate = self.moments.get("opened"), self.moments.get("gate")
        if sent is None or gate is None:
            return None
        ready = (self.moments.get(stage, gate) for stage in ("planned", "first_audio"))
        return round((sent - max(gate, *(at for at in ready if at <= sent))) * 1000, 2)
