"""What is scored: one thing somebody said and what was answered, with all that is known of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from models.types import WIRE_RATE, AudioChunk
from server.consent import Consent
from server.scoring.annotation import Annotation
from server.scoring.score import Unscored
from server.sessions.exchanges import RecordedTurn
from server.sessions.format import Line, Rating, SessionFile

Pcm = NDArray[np.int16]
Channel = Literal["user", "reply"]
Cut = Callable[[int, int], Pcm]  # positions of session time to [samples, 2]

NO_WORDS, NO_SOUND = "no consent to words", "no consent to sound"


@dataclass(frozen=True)
class Conversation:
    """A whole recorded session. Sound is read when it is asked for, and not kept."""

    session: SessionFile
    consent: Consent  # what it may be used for; nothing of it that is not covered is in here
    turns: Sequence[RecordedTurn]
    lines: Sequence[Line]  # those events that instruments read
    cut: Cut  # raises Unscored where there is no sound
    ratings: Sequence[Rating] = ()
    digest: str = ""  # of what was recorded: another one, another content
    consent_at: Callable[[int], Consent] | None = None  # of what began there; None: the same
    is_still_allowed: Callable[[], bool] = lambda: True  # people may withdraw while it is scored

    @cached_property
    def models(self) -> dict[str, str]:
        """Backends by role, as in `session.json`."""
        return {role: used.backend for role, used in self.session.models.items()}

    def allowed(self, *turns: RecordedTurn | None) -> Consent:
        """What all of these turns may be used for: a consent tells nothing of what was before."""
        held = self.consent
        for turn in turns:
            if turn and self.consent_at:
                held = held.both(self.consent_at(turn.start))
        return held

    def channel(self, which: Channel, begin: int = 0, end: int | None = None) -> AudioChunk:
        """One side of the recording at WIRE_RATE, from and to positions of session time."""
        audio = self.session.audio
        if audio is None:
            raise Unscored(NO_SOUND)
        pcm = self.cut(begin, audio.samples if end is None else end)
        side = pcm[:, 0 if which == "user" else 1]
        return AudioChunk(side.astype(np.float32) / np.float32(32768), WIRE_RATE)


@dataclass(frozen=True)
class Exchange:
    """One exchange of a conversation; its annotation is the truth, where somebody knows it."""

    conversation: Conversation
    number: int
    user: RecordedTurn | None
    reply: RecordedTurn | None
    intended: str | None = None  # the reply as it was written; `reply.text` is what was heard
    stages_ms: Mapping[str, float] = field(default_factory=dict)  # of attune.timing
    annotation: Annotation = Annotation()

    @cached_property
    def consent(self) -> Consent:
        """What both of its turns may be used for."""
        return self.conversation.allowed(self.user, self.reply)

    # -- what instruments ask for; each raises Unscored with the reason where it is missing

    def user_words(self) -> str:
        """What was recognised."""
        self._words_allowed()
        if self.user is None or not self.user.text:
            raise Unscored("nothing was recognised" if self.user else "nobody said anything")
        return self.user.text

    def reply_words(self) -> str:
        """What was heard of the reply."""
        self._words_allowed()
        if self.reply is None or not self.reply.text:
            raise Unscored("no reply")
        return self.reply.text

    def true_words(self) -> str:
        """What was really said."""
        if self.annotation.text is None:
            raise Unscored("no true transcript")
        return self.annotation.text

    def reference(self) -> str:
        """A reply that would be right."""
        if self.annotation.reference is None:
            raise Unscored("no reference reply")
        return self.annotation.reference

    def cue(self) -> str:
        """How it was really said, as an attribute of labels.toml, or "neutral"."""
        if self.annotation.cue is None:
            raise Unscored("no true cue")
        return self.annotation.cue

    def user_sound(self) -> AudioChunk:
        return self._sound("user", self.user)

    def reply_sound(self) -> AudioChunk:
        """The reply as it was played."""
        return self._sound("reply", self.reply)

    def sound_allowed(self) -> None:
        """For those who listen to the whole conversation around it."""
        if not self.consent.audio:
            raise Unscored(NO_SOUND)

    def percept(self) -> Mapping[str, Any]:
        if self.user is None or self.user.percept is None:
            raise Unscored("no percept")
        return self.user.percept

    def plan(self) -> Mapping[str, Any]:
        if self.reply is None or self.reply.plan is None:
            raise Unscored("no plan")
        return self.reply.plan

    @property
    def before(self) -> Sequence[RecordedTurn]:
        """The turns before this exchange, oldest first."""
        first = self.user or self.reply
        return [turn for turn in self.company if first and turn.number < first.number]

    @property
    def company(self) -> Sequence[RecordedTurn]:
        """The turns of the conversation that may be used for whatever this exchange may be."""
        allowed = self.conversation.allowed
        return [
            turn
            for turn in self.conversation.turns
            if allowed(turn).both(self.consent) == self.consent
        ]

    @property
    def started(self) -> datetime:
        return self.conversation.session.started

    def _words_allowed(self) -> None:
        if not self.consent.transcript:
            raise Unscored(NO_WORDS)

    def _sound(self, which: Channel, turn: RecordedTurn | None) -> AudioChunk:
        if not self.conversation.allowed(turn).audio:
            raise Unscored(NO_SOUND)
        if turn is None or not turn.spoken:
            raise Unscored("no reply" if which == "reply" else "nobody said anything")
        return self.conversation.channel(which, turn.start, turn.end)
