"""A recorded session read for scoring: what its consent covers, and nothing else."""

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from server.consent import Consent
from server.recording.redaction import kept
from server.scoring.annotation import Annotation
from server.scoring.exchange import NO_SOUND, Conversation, Cut, Exchange, Pcm
from server.scoring.score import Passing, Unscored
from server.sessions.exchanges import KINDS, exchanges, turns
from server.sessions.exchanges import Exchange as RecordedExchange
from server.sessions.export.selection import (
    LeftOut,
    Since,
    allowance,
    covered_file,
    covered_turn,
)
from server.sessions.format import AUDIO_FILE, EVENTS_FILE, Audio, Line, Rating, SessionFile
from server.sessions.stored import BrokenSession, NoAudio, StoredSession, UnknownSession

FORM = 2  # counts up when what instruments are given changes: older scores are not used again
UNREADABLE = "the sound cannot be read"
BLOCK = 1 << 20

TRANSCRIPT_DONE = "response.output_audio_transcript.done"
TEXT_DONE = "response.output_text.done"
ITEM_DONE = "response.output_item.done"
TIMING = "attune.timing"
# What instruments read of the log, beside the turns.
READ = frozenset((
    TIMING, "attune.hold", "attune.resume", "attune.playback",
    "input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped",
    "conversation.item.truncated",
    "response.created", "response.done", "response.cancel",
    "response.output_item.added", ITEM_DONE, "response.output_audio.delta",
    "response.output_audio.done", "response.output_audio_transcript.delta", TRANSCRIPT_DONE,
    TEXT_DONE,
    "recording.consent", "recording.turn", "recording.heard", "recording.gap",
    "recording.stopped",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Read:
    """A session with its exchanges, and what of it could not be read."""

    conversation: Conversation
    recorded: Sequence[RecordedExchange]
    intended: Mapping[str, str]  # by item: replies as they were written
    stages_ms: Mapping[str, Mapping[str, float]]  # by item, of replies
    problems: list[str] = field(default_factory=list)  # grows while sound is read

    def exchanges(
        self, annotations: Mapping[int, Annotation] | None = None, context: str | None = None
    ) -> list[Exchange]:
        """All of them; or, of an item of a benchmark, those that somebody knows the truth of."""
        if annotations is None:
            return [self._exchange(each, Annotation(), context) for each in self.recorded]
        # An item that nothing was heard of is told of, too: it must not go missing from a mean.
        known = {each.number: each for each in self.recorded}
        for number in annotations:
            if number and number not in known:
                missing = f"items.jsonl names exchange {number}, and there are {len(known)}"
                self.problems.append(missing)
        return [
            self._exchange(known.get(number, RecordedExchange(number, None, None)), truth, context)
            for number, truth in sorted(annotations.items())
        ]

    def _exchange(self, of: RecordedExchange, truth: Annotation, context: str | None) -> Exchange:
        if context is not None and truth.context is None:
            truth = truth.model_copy(update={"context": context})
        item = of.reply.item_id if of.reply else ""
        return Exchange(
            self.conversation,
            of.number,
            of.user,
            of.reply,
            self.intended.get(item),
            self.stages_ms.get(item, {}),
            truth,
        )


def read(stored: StoredSession, *, all_consented: bool = False) -> Read | LeftOut:
    """The session, or why it may not be scored. BrokenSession where it cannot be read.

    The folder should hold no more than its consent covers. Nobody's words should depend on that
    alone: what is not covered is taken out here again.
    """
    file = stored.file()
    consent = allowance(file, all_consented=all_consented)
    if isinstance(consent, LeftOut):
        return consent
    since = Since.of(file.consent)
    log = list(stored.lines({*READ, *KINDS}))
    # Turns are numbered as exports number them: all that may be used, and no other.
    recorded = exchanges([
        covered_turn(turn, since.at(turn.start))
        for turn in turns(file, log)
        if all_consented or since.at(turn.start).research
    ])  # fmt: skip
    shown = covered_file(file, consent)
    sound_from = max(since.audio or 0, 0 if all_consented else since.research or 0)
    problems: list[str] = []
    lines = _covered_lines(log, since, all_consented)
    conversation = Conversation(
        session=shown,
        consent=consent,
        turns=[turn for each in recorded for turn in each.both],
        lines=[line for line in lines if line.event.get("type") in READ],
        cut=_cutting(shown.audio, sound_from, stored, problems),
        ratings=_ratings(stored, problems),
        digest=_digest(shown, stored),
        consent_at=since.at,
        is_still_allowed=partial(still_allowed, stored, consent, all_consented=all_consented),
    )
    replies = [each.reply for each in recorded if each.reply]
    worded = {turn.item_id for turn in replies if since.at(turn.start).transcript}
    return Read(conversation, recorded, _intended(worded, lines), _stages(shown, lines), problems)


def still_allowed(stored: StoredSession, consent: Consent, *, all_consented: bool) -> bool:
    """Whether as much may be used of a session as when it was read."""
    try:
        now = allowance(stored.file(), all_consented=all_consented)
    except (UnknownSession, BrokenSession, OSError):
        return False
    return isinstance(now, Consent) and now.both(consent) == consent


def exchange_digest(exchange: Exchange) -> str:
    """Another once anything it is scored by is another."""
    told = f"{FORM}\n{exchange.conversation.digest}\n{exchange.number}\n"
    told += exchange.annotation.model_dump_json(exclude_defaults=True)
    return hashlib.sha256(told.encode()).hexdigest()


def _covered_lines(log: Iterable[Line], since: Since, all_consented: bool) -> list[Line]:
    covered = []
    for line in log:
        allowed = since.at(line.at)
        if not (allowed.research or all_consented):
            continue
        event = line.event if allowed.transcript else kept(line.event, allowed)
        if event is not None:
            covered.append(line.model_copy(update={"event": event}))
    return covered


def _cutting(
    audio: Audio | None, sound_from: int, stored: StoredSession, problems: list[str]
) -> Cut:
    def broken(problem: str) -> Passing:
        if problem not in problems:
            problems.append(problem)
        return Passing(UNREADABLE)

    def cut(begin: int, end: int) -> Pcm:
        if audio is None:
            raise Unscored(NO_SOUND)
        begin, end = max(begin, 0), min(end, audio.samples)
        try:
            pcm = stored.cut(begin, end)
        except NoAudio:
            raise broken(f"{AUDIO_FILE} of {stored.id} is missing") from None
        except BrokenSession as error:
            raise broken(str(error)) from None
        if len(pcm) < end - begin:
            raise broken(f"{AUDIO_FILE} of {stored.id} ends too soon")
        pcm[: max(0, sound_from - begin)] = 0
        return pcm

    return cut


def _ratings(stored: StoredSession, problems: list[str]) -> list[Rating]:
    try:
        return stored.ratings()
    except BrokenSession as error:
        problems.append(str(error))
        return []


def _digest(session: SessionFile, stored: StoredSession) -> str:
    digest = hashlib.sha256(session.model_dump_json().encode())
    files = [EVENTS_FILE, *([AUDIO_FILE] if session.audio else [])]
    for name in files:
        digest.update(f"\n{name}\n".encode())
        try:
            with stored.open(name) as file:
                while block := file.read(BLOCK):
                    digest.update(block)
        except FileNotFoundError:
            digest.update(b"missing")
    return digest.hexdigest()


def _intended(allowed: Collection[str], lines: Iterable[Line]) -> dict[str, str]:
    """What replies were to say, the surest source first; only of items whose words are allowed."""
    spoken: dict[str, dict[int, str]] = {}
    written: dict[str, str] = {}
    for event in _of_server(lines, (TRANSCRIPT_DONE, TEXT_DONE, ITEM_DONE)):
        if event["type"] == ITEM_DONE:
            item = event.get("item") or {}
            parts = [part.get("text") or part.get("transcript") for part in item.get("content", ())]
            written[str(item.get("id"))] = " ".join(part for part in parts if part)
        elif told := event.get("transcript") or event.get("text"):
            parts_of = spoken.setdefault(str(event.get("item_id")), {})
            parts_of[event.get("content_index") or 0] = told
    intended = written | {
        item: " ".join(part for _, part in sorted(parts.items())) for item, parts in spoken.items()
    }
    return {item: said.strip() for item, said in intended.items() if item in allowed and said}


def _stages(session: SessionFile, lines: Sequence[Line]) -> dict[str, dict[str, float]]:
    """By item, from the last word on its response: it is told again when more is known."""
    responses = {span.item_id: span.response_id for span in session.turns if span.response_id}
    stages: dict[str, dict[str, float]] = {}
    for event in _of_server(lines, READ):
        response = event.get("response_id")
        if not isinstance(response, str):
            continue
        if event["type"] == TIMING:
            stages[response] = _numbers(event.get("stages_ms"))
        elif item := event.get("item_id") or (event.get("item") or {}).get("id"):
            responses.setdefault(item, response)
    return {item: stages[given] for item, given in responses.items() if stages.get(given)}


def _of_server(lines: Iterable[Line], kinds: Collection[str]) -> Iterator[dict[str, Any]]:
    """A client may send anything under any type."""
    for line in lines:
        if line.source == "server" and line.event.get("type") in kinds:
            yield line.event


def _numbers(told: Any) -> dict[str, float]:
    if not isinstance(told, Mapping):
        return {}
    found = {str(k): v for k, v in told.items() if isinstance(v, int | float)}
    return {name: float(value) for name, value in found.items() if math.isfinite(value)}
