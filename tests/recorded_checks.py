"""What lies on the disk, held against what people know they said and allowed."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import orjson
import soundfile
from jsonschema import Draft202012Validator

from models.standin import WORDS
from models.types import WIRE_RATE
from server.config import ROOT
from server.consent import Consent
from server.recording.folder import verify
from server.sessions.format import AUDIO_FILE, EVENTS_FILE, SESSION_FILE, SessionFile
from tests.marked import Pcm, Track
from tests.simulated_person import Truth

EXPECTED = {"conversation_already_has_active_response"}  # people type while they are spoken to
GRACE_SEC = 1.0  # what a kill may cost
UNDER_WAY = 15 * WIRE_RATE  # the reply to a turn that began before the consent is over by then
MARKED = re.compile(rb"zq[b-t]{14}")
STANDINS_SAY = re.compile(
    rb"\b(?:" + "|".join(w for w in WORDS if w != "delta").encode() + rb"|heard you)\b"
)
BASE64 = re.compile(rb"[A-Za-z0-9+/]{400}")
SCHEMAS = ROOT / "server" / "sessions" / "schemas"
EVERY = 20  # events of which one is held against the schema; `verify` reads them all


@dataclass(slots=True)
class Findings:
    """How much was looked at, and what was wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    lost_sec: list[float] = field(default_factory=list)  # of a killed session, in wall time

    def expect(self, holds: bool, what: str) -> bool:
        self.counts["checks"] += 1
        if not holds:
            self.failures.append(what)
        return holds


@dataclass(frozen=True, slots=True)
class Kept:
    """A person's folder, and what they allowed as far as it can have been heard."""

    truth: Truth
    folder: Path
    session: SessionFile

    @property
    def name(self) -> str:
        return f"{self.truth.session_id} (person {self.truth.plan.number}, {self.truth.plan.kind})"

    @property
    def heard(self) -> int:
        """Of how many words on consent the folder knows."""
        return len(self.session.consent)

    @property
    def consent(self) -> Consent:
        given = self.truth.consents[: self.heard]
        return given[-1][1] if given else Consent()

    def since(self, scope: str) -> int | None:
        """From which sample on the scope is allowed; None: not at all."""
        since = None
        for at, consent in self.truth.consents[: self.heard]:
            since = (at if since is None else since) if getattr(consent, scope) else None
        return since

    @property
    def allowed_words(self) -> set[str]:
        allowed, _ = self.truth.words.sorted(self.heard)
        return allowed | ({self.truth.user_agent} if self.consent.personal else set())


def folders(runs: Path, truths: Sequence[Truth], findings: Findings) -> list[Kept]:
    """Every folder with the person it is of; a person without consent has none."""
    found = {folder.name: folder for folder in runs.glob("????-??-??/*")}
    kept = []
    for truth in truths:
        findings.counts[f"people: {truth.plan.kind}"] += 1
        findings.counts[f"ended: {'killed' if truth.killed_at else truth.ended}"] += 1
        folder = found.pop(truth.session_id, None)
        name = f"{truth.session_id} (person {truth.plan.number}, {truth.plan.kind})"
        errors = set(truth.errors) - EXPECTED
        findings.expect(not errors, f"{name} was told of errors: {errors}")
        if not truth.consents:
            findings.expect(folder is None, f"{name} never consented and has a folder")
        elif folder is None:
            sure = truth.surely_written(GRACE_SEC)
            findings.expect(truth.consents[0][0] >= sure, f"{name} has no folder")
        else:
            session = SessionFile.model_validate_json((folder / SESSION_FILE).read_bytes())
            kept.append(Kept(truth, folder, session))
    findings.expect(not found, f"folders of nobody: {sorted(found)[:3]}")
    findings.counts["folders"] = len(kept)
    return kept


def check_consents(kept: Kept, findings: Findings) -> None:
    """Each is told with its sample, and none that had arrived is missing."""
    told = [(c.at, Consent(c.transcript, c.audio, c.research)) for c in kept.session.consent]
    given = kept.truth.consents
    findings.expect(told == given[: len(told)], f"{kept.name}: consents {told} were {given}")
    sure = kept.truth.surely_written(GRACE_SEC)
    # One at the very sample that was asked about may have come after the question.
    arrived = [c for c in given if c[0] < sure or kept.truth.lost_nothing]
    findings.expect(len(told) >= len(arrived), f"{kept.name}: a consent is missing")
    findings.counts["consents"] += len(told)


def check_shape(kept: Kept, findings: Findings) -> None:
    session = kept.session
    findings.expect(
        session.state in ("finished", "repaired"), f"{kept.name}: it is {session.state}"
    )
    findings.counts[f"state: {session.state}"] += 1
    for problem in verify(kept.folder):
        findings.expect(False, f"{kept.name}: {problem}")
    whole = Draft202012Validator(orjson.loads((SCHEMAS / "session.schema.json").read_bytes()))
    line = Draft202012Validator(orjson.loads((SCHEMAS / "event.schema.json").read_bytes()))
    told = orjson.loads((kept.folder / SESSION_FILE).read_bytes())
    findings.expect(whole.is_valid(told), f"{kept.name}: {SESSION_FILE} breaks its schema")
    for raw in _lines(kept.folder)[::EVERY]:
        findings.expect(line.is_valid(raw), f"{kept.name}: line {raw.get('n')} breaks its schema")


def _lines(folder: Path) -> list[dict[str, object]]:
    file = folder / EVENTS_FILE
    raw = file.read_bytes().splitlines() if file.exists() else []
    return [orjson.loads(line) for line in raw]


# --- sound


def check_sound(kept: Kept, findings: Findings) -> None:
    """Every sample in its place, and nothing in any other."""
    truth, name, begin = kept.truth, kept.name, kept.since("audio")
    file = kept.folder / AUDIO_FILE
    if begin is None:
        findings.expect(not file.exists(), f"{name}: there is audio, which was not allowed")
        return
    sure = truth.surely_written(GRACE_SEC)
    if not file.exists():
        findings.expect(sure <= begin, f"{name}: the audio is missing")
        return
    both, rate = soundfile.read(file, dtype="int16", always_2d=True)
    left, right = both[:, 0], both[:, 1]
    findings.expect(rate == WIRE_RATE, f"{name}: {rate} Hz")
    findings.expect(not both[:begin].any(), f"{name}: something sounds before the consent")
    track = Track(truth.plan.number, truth.plan.seconds + 30).whole(truth.captured, truth.loud)
    whole = _agreement(left, track, begin)
    findings.expect(whole >= sure, f"{name}: the user's sound is right up to {whole} of {sure}")
    rest = left[whole : truth.captured]
    stray = rest.any() and not np.array_equal(rest[rest != 0], track[whole : len(left)][rest != 0])
    findings.expect(not stray, f"{name}: the user's sound is not where it was captured")
    findings.expect(not left[truth.captured :].any(), f"{name}: sound that was never captured")
    if truth.lost_nothing:
        findings.expect(len(left) == truth.captured, f"{name}: {len(left)} of {truth.captured}")
    if truth.killed_at is not None and (times := [t for t, at in truth.arrived if at <= whole]):
        findings.lost_sec.append(max(0.0, truth.killed_at - max(times)))
    findings.counts["user samples right"] += max(0, whole - begin)
    findings.counts["user samples due"] += max(0, sure - begin)
    if truth.plan.acknowledges:
        check_reply(kept, right, begin, len(right) if truth.lost_nothing else sure, findings)
    _check_turns(kept, left, right, begin, findings)


def _agreement(found: Pcm, true: Pcm, begin: int) -> int:
    """Up to which sample the two are the same."""
    end = min(len(found), len(true))
    wrong = np.flatnonzero(found[begin:end] != true[begin:end])
    return begin + int(wrong[0]) if len(wrong) else end


def check_reply(kept: Kept, right: Pcm, begin: int, end: int, findings: Findings) -> None:
    """What the person's loudspeaker played, when it played it."""
    played = np.zeros(max(len(right), kept.truth.captured), np.int16)
    for at, pcm in kept.truth.sounded:
        samples = np.frombuffer(pcm, "<i2")
        played[at : at + len(samples)] = samples
    end = min(end, len(right))
    # What was under way to the loudspeaker when the person consented had been said before.
    right = right.copy()
    under_way = right[begin : begin + UNDER_WAY]
    under_way[under_way == 0] = played[begin : begin + len(under_way)][under_way == 0]
    wrong = np.flatnonzero(right[begin:end] != played[begin:end])
    where = f"{len(wrong)} samples from {begin + int(wrong[0])}" if len(wrong) else ""
    findings.expect(not len(wrong), f"{kept.name}: the reply is not as it was played: {where}")
    findings.counts["reply samples right"] += max(0, end - begin) - len(wrong)
    findings.counts["reply samples due"] += max(0, end - begin)


def _check_turns(kept: Kept, left: Pcm, right: Pcm, begin: int, findings: Findings) -> None:
    """The index of turns: a reply sounds only within one, and a user's has a voice in it."""
    if not kept.truth.lost_nothing:
        return
    outside = right.copy()
    for turn in kept.session.turns:
        if turn.role == "assistant":
            outside[turn.start : turn.end] = 0
        elif turn.start >= begin:
            voice = np.abs(left[turn.start : turn.end]).max(initial=0)
            findings.expect(voice > 1000, f"{kept.name}: {turn.item_id} is no turn of the user")
        findings.counts["turns"] += 1
    stray = np.flatnonzero(outside)
    where = f"{len(stray)} samples from {stray[0]}" if len(stray) else ""
    findings.expect(not len(stray), f"{kept.name}: a reply sounds outside its turn: {where}")


# --- words


def check_words(kept: Kept, findings: Findings) -> None:
    """What may be kept of the words is there, and none said before that was allowed."""
    held = b"".join(file.read_bytes() for file in kept.folder.iterdir() if file.suffix != ".flac")
    found = {each.decode() for each in MARKED.findall(held)}
    strange = found - kept.allowed_words - quoted(kept)
    findings.expect(not strange, f"{kept.name}: {len(strange)} words without consent")
    if kept.truth.lost_nothing:
        missing = kept.allowed_words - found
        findings.expect(not missing, f"{kept.name}: {len(missing)} words are missing")
    findings.counts["words kept"] += len(found)
    findings.expect(not BASE64.search(held), f"{kept.name}: something in base64")
    if not kept.consent.transcript:
        said = STANDINS_SAY.search(held)
        findings.expect(not said, f"{kept.name}: spoken words without consent")
    if not kept.consent.personal:
        findings.expect(b"attune.percept" not in held, f"{kept.name}: percepts without consent")
    _check_transcripts(kept, findings)


def quoted(kept: Kept) -> set[str]:
    """Words of before that are told by nothing but replies begun since: those are new."""
    since = kept.since("transcript")
    if since is None:
        return set()
    begun: set[object] = set()  # replies, and their items
    told: set[str] = set()
    elsewhere: set[str] = set()
    for line in _lines(kept.folder):
        event, at = line["event"], line["at"]
        assert isinstance(event, dict) and isinstance(at, int)
        response = event.get("response") or {}
        reply = event.get("response_id") or response.get("id")
        item = event.get("item_id") or (event.get("item") or {}).get("id")
        if event["type"] == "response.created" and at >= since:
            begun.add(reply)
        if event["type"] == "response.output_item.added" and reply in begun:
            begun.add(item)
        words = {each.decode() for each in MARKED.findall(orjson.dumps(event))}
        (told if begun & {reply, item} else elsewhere).update(words)
    return told - elsewhere


def _check_transcripts(kept: Kept, findings: Findings) -> None:
    """No transcript of a turn that began before it was allowed."""
    since = kept.since("transcript") or 0
    early = {turn.item_id for turn in kept.session.turns if turn.start < since}
    for line in _lines(kept.folder):
        event = line["event"]
        assert isinstance(event, dict)
        if event.get("item_id") in early and (event.get("transcript") or event.get("delta")):
            findings.expect(False, f"{kept.name}: {event['type']} of a turn before the consent")
