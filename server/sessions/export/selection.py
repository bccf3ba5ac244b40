"""What of a session may leave this machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import soundfile
from numpy.typing import NDArray

from server.consent import SCOPES, Consent
from server.recording.permitted import permitted
from server.sessions.exchanges import KINDS, Exchange, RecordedTurn, exchanges, turns
from server.sessions.format import AUDIO_FILE, Consented, Rating, SessionFile
from server.sessions.stored import BrokenSession, StoredSession


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why a session is not exported."""

    why: str


@dataclass(frozen=True, slots=True)
class Since:
    """The positions from which on each scope holds to the end; None where it does not."""

    transcript: int | None
    audio: int | None
    research: int | None

    @classmethod
    def of(cls, words: Sequence[Consented]) -> "Since":
        """A consent says nothing about what was said before it, nor before it was renewed."""
        begun: dict[str, int | None] = dict.fromkeys(SCOPES)
        for word in words:
            for scope in SCOPES:
                if not getattr(word, scope):
                    begun[scope] = None
                elif begun[scope] is None:
                    begun[scope] = word.at
        return cls(**begun)

    def at(self, position: int) -> Consent:
        """What may be handed out of what began there."""

        def holds(since: int | None) -> bool:
            return since is not None and since <= position

        return Consent(holds(self.transcript), holds(self.audio), holds(self.research))


@dataclass(frozen=True, slots=True)
class Chosen:
    """A session with what of it may be handed out, and nothing else."""

    file: SessionFile
    consent: Consent
    exchanges: Sequence[Exchange]
    ratings: Sequence[Rating]
    sound_from: int  # of what sounded before, nothing is handed out
    _stored: StoredSession

    def sound(self, turn: RecordedTurn) -> NDArray[np.int16] | None:
        """The turn's own channel; None where there is none to hand out."""
        audio = self.file.audio
        if audio is None or turn.start < self.sound_from or not turn.spoken:
            return None
        samples = self._stored.cut(turn.start, turn.end)[:, 0 if turn.role == "user" else 1]
        return samples if len(samples) else None

    def blocks(self, size: int) -> Iterator[NDArray[np.int16]]:
        """Both channels of all of it, piece by piece; silent where nothing may be handed out."""
        if self.file.audio is None:
            return
        try:
            with self._stored.open_audio() as raw, soundfile.SoundFile(raw) as audio:
                position = 0
                for block in audio.blocks(size, dtype="int16", always_2d=True):
                    block[: max(0, self.sound_from - position)] = 0
                    position += len(block)
                    yield block
        except soundfile.LibsndfileError:
            raise BrokenSession(f"{AUDIO_FILE} of {self.file.id} cannot be read") from None


def allowance(file: SessionFile, *, all_consented: bool = False) -> Consent | LeftOut:
    """What may be handed out of a session, by its state and its last word on consent."""
    if file.state == "deleted":
        return LeftOut("deleted")
    if file.state == "recording":
        return LeftOut("still being recorded")
    if file.allowed is None:
        return LeftOut("no consent")
    consent = permitted(file)
    if not consent.scopes:
        return LeftOut("consent refused")
    if not consent.research and not all_consented:
        return LeftOut("no consent to research")
    return consent


def chosen(stored: StoredSession, *, all_consented: bool = False) -> Chosen | LeftOut:
    """A session cut down to what may be handed out.

    The folder should hold no more than its consent covers. Nobody's words should depend on that
    alone: what is not covered is taken out here again.
    """
    file = stored.file()
    consent = allowance(file, all_consented=all_consented)
    if isinstance(consent, LeftOut):
        return consent
    since = Since.of(file.consent)
    covered = [
        covered_turn(turn, since.at(turn.start))
        for turn in turns(file, stored.lines(KINDS))
        if all_consented or since.at(turn.start).research
    ]
    research = 0 if all_consented else since.research or 0
    sound_from = max(since.audio or 0, research)
    ratings = stored.ratings()
    return Chosen(
        covered_file(file, consent), consent, exchanges(covered), ratings, sound_from, stored
    )


def covered_file(file: SessionFile, consent: Consent) -> SessionFile:
    """What `session.json` tells beyond what is allowed is taken out."""
    return file.model_copy(
        update={
            "secret_sha256": None,
            "client": file.client if consent.personal else None,
            "speaker": file.speaker if consent.personal else None,
            "prompts": file.prompts if consent.transcript else None,
            "audio": file.audio if consent.audio else None,
        }
    )


def covered_turn(turn: RecordedTurn, consent: Consent) -> RecordedTurn:
    return replace(
        turn,
        text=turn.text if consent.transcript else None,
        plan=turn.plan if consent.transcript else None,
        percept=turn.percept if consent.personal else None,
    )
