"""The arena's parts: systems and their models, one turn put to one system, pairs, sound, votes."""

from collections import Counter
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.errors import BackendError
from models.registry import Choice
from models.standin import StandinSpeaker
from models.style import PLAIN, Style
from models.types import WIRE_RATE, Samples, SpokenChunk
from server.arena.answering import Answer, AnswerFailed, NoAnswer, answer
from server.arena.archive import FRESH_SEC, Archive, NotAllowed
from server.arena.ballots import counted, met
from server.arena.keepsakes import Keepsake
from server.arena.listening import LEAD, LOUDNESS_DB, PEAK_DB, loudness, matched
from server.arena.pairing import paired
from server.arena.rounds import EXPIRE_SEC, MOST, Waiting
from server.arena.stable import AGAIN_SEC, Stable, Unavailable
from server.arena.systems import Contestant, contestants
from server.client import voice_span
from server.config import Config, ConfigError, choices
from server.consent import Consent
from server.sessions.library import Library
from tests.fakes import Sadness
from tests.made_rounds import EVERYTHING, entrant, made_ballot, made_round
from tests.made_sessions import made_session
from tests.object_storage import s3_server
from tests.serving import standins
from tests.talker import VOICE, sound


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less of a turn is said in real time."""
    monkeypatch.setattr("server.arena.answering.LIVE_SEC", 0.1)
    monkeypatch.setattr("server.arena.answering.PATIENCE_SEC", 1.0)


def configured(**systems: Any) -> Config:
    return Config.model_validate({"profile": "standin", "arena": {"systems": systems}})


def said(seconds: float = 1.2) -> Samples:
    """Quiet, a voice, quiet again."""
    hush = np.zeros(WIRE_RATE // 2, np.float32)
    return np.concatenate([hush, sound(VOICE, seconds), hush])


# --- systems


def test_four_systems_are_shipped_that_differ_in_one_faculty_each() -> None:
    attune, words, plain, flat = contestants(Config(profile="embedded"))
    assert [each.name for each in (attune, words, plain, flat)] == [
        "attune", "words", "plain", "flat",
    ]  # fmt: skip
    own = choices(Config(profile="embedded"))
    assert attune.choices == words.choices == flat.choices == own
    assert (attune.perception, words.perception) == (True, False)
    assert (attune.flat_voice, flat.flat_voice) == (False, True)
    assert {role for role in own if plain.choices[role] != own[role]} == {"thinker"}
    assert plain.choices["thinker"].options["strength"] == "zero"
    assert len({each.mark for each in (attune, words, plain, flat)}) == 4


@pytest.mark.parametrize("backend", ["dual", "tuned"])
def test_where_people_in_distress_are_sent_holds_for_the_plain_prompt_too(backend: str) -> None:
    thinker = {"backend": backend, "options": {"helplines": "Call 123."}}
    config = Config.model_validate({"profile": "standin", "models": {"thinker": thinker}})
    plain = contestants(config)[2]
    assert plain.choices["thinker"].options["helplines"] == "Call 123."


def test_a_system_takes_another_profile_and_single_roles() -> None:
    speaker = {"backend": "standin", "options": {"word_sec": 0.1}}
    config = configured(
        one={"profile": "embedded", "models": {"speaker": speaker}, "instructions": "Be brief."},
        two={"label": "The other", "perception": False},
    )
    one, two = contestants(config)
    assert one.choices["responder"].backend == "llamacpp"
    assert one.choices["speaker"] == Choice("standin", {"word_sec": 0.1})
    assert (one.label, one.instructions) == ("one", "Be brief.")
    assert (two.label, two.choices["responder"].backend) == ("The other", "standin")


@pytest.mark.parametrize(
    ("systems", "complaint"),
    [
        ({"one": {}}, "two systems or more"),
        ({"one": {}, "two": {"profile": "nowhere"}}, "arena.systems.two: unknown profile"),
        ({"one": {}, "two": {"models": {"mouth": {"backend": "x"}}}}, "unknown role 'mouth'"),
    ],
)
def test_a_system_that_cannot_be_made_is_told_in_a_line(
    systems: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        contestants(configured(**systems))


def test_a_system_set_up_otherwise_is_another_system() -> None:
    def mark(**how: Any) -> str:
        return contestants(configured(one=how, two={}))[0].mark

    same = mark(label="Other words for it")
    assert mark() == same
    others = [mark(instructions="Be brief."), mark(perception=False), mark(voice="flat"),
              mark(profile="embedded"), mark(models={"thinker": {"backend": "dual"}})]  # fmt: skip
    assert len({same, *others}) == 6


# --- their models


async def test_models_that_are_the_same_are_shared_and_others_loaded_once() -> None:
    own = standins()
    config = configured(one={}, two={"models": {"thinker": {"backend": "dual"}}}, three={
        "models": {"thinker": {"backend": "dual"}}, "voice": "flat"})  # fmt: skip
    stable = Stable(own, choices(config))
    one, two, three = [await stable.models(each) for each in contestants(config)]
    assert one.responder is two.responder is three.responder is own.responder
    assert one.thinker is own.thinker
    assert two.thinker is three.thinker is not own.thinker
    stable.close()


async def test_a_system_that_cannot_be_loaded_is_left_out_for_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    bad = {"responder": {"backend": "vllm", "options": {"nonsense": 1}}}
    config = configured(one={}, two={"models": bad})
    stable = Stable(standins(), choices(config), lambda: now)
    one, two = contestants(config)
    await stable.models(one)
    assert stable.available(two)  # nobody has tried yet
    with pytest.raises(Unavailable):
        await stable.models(two)
    assert not stable.available(two)
    assert stable.available(one)
    assert "goes on without 'two'" in caplog.text
    assert "nonsense" in caplog.text
    now = AGAIN_SEC + 1
    assert stable.available(two)


async def test_a_flat_voice_does_nothing_of_what_is_planned() -> None:
    heard: list[Style] = []

    class Notes(StandinSpeaker):
        async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
            heard.append(style)
            async for chunk in super().speak(clause, style):
                yield chunk

    config = configured(one={"voice": "flat"}, two={})
    stable = Stable(standins(speaker=Notes()), choices(config))
    models = await stable.models(contestants(config)[0])
    async for _ in models.speaker.speak("Hello.", Style(emotion="happy", pace=1.3)):
        pass
    assert heard == [PLAIN]


# --- one turn put to one system


async def asked(speech: Samples, models: Any = None, **how: Any) -> Answer:
    config = configured(one=how, two={})
    stable = Stable(models or standins(), choices(config))
    system = contestants(config)[0]
    return await answer(system, await stable.models(system), speech, voice_span(speech)[1])


async def test_a_system_answers_a_turn_as_it_would_in_a_conversation() -> None:
    given = await asked(said())
    assert given.said
    assert given.text == f"I heard you, you said {given.said}."
    words = len(given.text.split())
    assert len(given.audio) / WIRE_RATE == pytest.approx(0.2 * words, abs=0.05)
    assert given.plan is not None
    assert given.latency_ms is not None
    assert 200 <= given.latency_ms < 2000  # it waits for a pause, in real time
    assert list(given.stages_ms)[0] == "speech_end"


async def test_only_a_system_with_perception_is_told_how_it_sounded() -> None:
    hears = await asked(said(), standins(perceiver=Sadness()))
    deaf = await asked(said(), standins(perceiver=Sadness()), perception=False)
    assert hears.percept is not None
    assert hears.percept["emotion"]["sad"] == 0.9
    assert deaf.percept is None


async def test_of_a_turn_with_a_long_pause_the_last_answer_counts() -> None:
    pause = np.zeros(WIRE_RATE * 2, np.float32)
    given = await asked(np.concatenate([said(0.6), pause, said(1.6)]))
    assert len(given.text.split()) > 7
    assert given.text.endswith(f"{given.said.split()[-1]}.")


async def test_noise_without_words_is_no_turn() -> None:
    class Speechless:
        async def transcribe(self, audio: Any) -> str:
            return ""

    with pytest.raises(NoAnswer):
        await asked(said(), standins(transcriber=Speechless()))


async def test_a_system_whose_model_fails_has_not_answered() -> None:
    class Broken:
        async def respond(self, dialogue: Any, max_tokens: int) -> AsyncGenerator[str, None]:
            raise BackendError("responder", "It is broken.")
            yield ""

    with pytest.raises(AnswerFailed):
        await asked(said(), standins(responder=Broken()))


# --- pairs


def test_pairs_that_met_least_often_meet_next() -> None:
    pairs = [frozenset(pair) for pair in ("ab", "ac", "bc")]
    seen: Counter[frozenset[str]] = Counter()
    for _ in range(30):
        seen[frozenset(paired(["a", "b", "c"], seen))] += 1
    assert [seen[pair] for pair in pairs] == [10, 10, 10]


def test_either_may_come_first() -> None:
    assert {paired(["a", "b"], {}) for _ in range(60)} == {("a", "b"), ("b", "a")}


# --- sound


def tone(level: float, seconds: float, before: float = 0.0, after: float = 0.0) -> Samples:
    time = np.arange(round(seconds * WIRE_RATE)) / WIRE_RATE
    voice = level * np.sin(2 * np.pi * 200 * time)
    quiet = [np.zeros(round(each * WIRE_RATE)) for each in (before, after)]
    return np.concatenate([quiet[0], voice, quiet[1]]).astype(np.float32)


def test_two_answers_become_equally_loud_and_begin_alike() -> None:
    first, second = matched(tone(0.02, 1.5, before=0.8), tone(0.4, 1.0, after=2.0))
    assert loudness(first) == pytest.approx(loudness(second), abs=0.3)
    assert loudness(first) == pytest.approx(LOUDNESS_DB, abs=0.3)
    begins = [int(np.flatnonzero(np.abs(each) > 0.01)[0]) for each in (first, second)]
    assert begins == pytest.approx([LEAD, LEAD], abs=60)
    assert len(second) < 1.5 * WIRE_RATE


def test_where_one_would_be_clipped_both_are_softer() -> None:
    clicks = tone(0.05, 1.0)
    clicks[WIRE_RATE // 2] = 0.9
    first, second = matched(clicks, tone(0.1, 1.0))
    assert np.abs(first).max() == pytest.approx(10 ** (PEAK_DB / 20), rel=1e-3)
    assert loudness(first) == pytest.approx(loudness(second), abs=0.3)


def test_pauses_do_not_make_a_voice_softer() -> None:
    pause = np.zeros(WIRE_RATE * 2, np.float32)
    broken = np.concatenate([tone(0.2, 1), pause, tone(0.2, 1)])
    assert loudness(broken) == pytest.approx(loudness(tone(0.2, 2)), abs=1.0)


# --- rounds in memory


def test_rounds_nobody_votes_on_are_forgotten() -> None:
    now = 0.0
    lobby = Waiting(lambda: now)
    made = [made_round(begun=float(nth)) for nth in range(MOST + 1)]
    for each in made:
        lobby.add(each)
    assert lobby.find(made[0].id) is None  # there was no room any more
    assert lobby.find(made[1].id) is made[1]
    now = 1.5 + EXPIRE_SEC
    assert lobby.find(made[1].id) is None
    assert lobby.find(made[2].id) is made[2]
    assert sum(lobby.pairs.values()) == MOST - 1


# --- votes


def test_votes_count_for_the_system_whichever_side_it_was_on() -> None:
    votes = [
        made_ballot("one", "two", "a"),
        made_ballot("two", "one", "b"),
        made_ballot("two", "one", "a"),
        made_ballot("one", "two", "tie"),
        made_ballot("two", "one", "bad"),
    ]
    found = counted([entrant("one"), entrant("two"), entrant("three")], votes)
    records = {each.name: each.record for each in found.systems}
    one, two = records["one"], records["two"]
    assert (one.wins, one.losses, one.ties, one.bad, one.rounds) == (2, 1, 1, 1, 5)
    assert (two.wins, two.losses) == (1, 2)
    assert records["three"].rounds == 0
    assert found.systems[0].name == "one"
    assert [(p.first, p.second, p.first_wins, p.second_wins) for p in found.pairs][0] == (
        "one", "two", 2, 1,
    )  # fmt: skip


def test_both_bad_says_nothing_of_who_is_stronger() -> None:
    systems = [entrant("one"), entrant("two")]
    votes = [made_ballot("one", "two", "a")]
    bad = [made_ballot("one", "two", "bad") for _ in range(50)]
    assert (
        counted(systems, votes).systems[0].strength
        == counted(systems, votes + bad).systems[0].strength
    )


def test_votes_on_what_a_system_was_before_are_left_out() -> None:
    systems = [entrant("one", "new"), entrant("two")]
    old = made_ballot("one", "two", "a", a=entrant("one", "old"))
    gone = made_ballot("one", "gone", "a", a=entrant("one", "new"))
    now = made_ballot("one", "two", "b", a=entrant("one", "new"))
    found = counted(systems, [old, gone, now])
    assert (found.rounds, found.left_out) == (1, 2)
    assert met([old, gone, now], systems) == {frozenset(("one", "two")): 1}


# --- what is kept


@pytest.fixture
def library(tmp_path: Path) -> Any:
    with Library.open(str(tmp_path)) as opened:
        yield opened


def files(runs: Path) -> list[str]:
    return sorted(p.relative_to(runs).as_posix() for p in (runs / "arena").rglob("*.*"))


def keepsake(consent: Consent, session_id: str | None = None) -> Keepsake:
    made = made_round(consent=consent)
    return Keepsake(consent, made.turn, made.answers, "I liked it.", session_id)


def test_without_consent_only_the_vote_is_kept_and_no_word_of_anybody(
    library: Library, tmp_path: Path
) -> None:
    vote = made_ballot("one", "two", "a")
    Archive(library).add(vote)
    assert files(tmp_path) == [f"arena/votes/{vote.wall:%Y-%m-%d}/{vote.id}.json"]
    assert Archive(library).ballots() == [vote]


@pytest.mark.parametrize(
    ("consent", "sounds", "words"),
    [
        (Consent(transcript=True), False, True),
        (Consent(audio=True), True, False),
        (EVERYTHING, True, True),
    ],
)
def test_sound_and_words_are_kept_as_far_as_allowed(
    library: Library, tmp_path: Path, consent: Consent, sounds: bool, words: bool
) -> None:
    vote = made_ballot("one", "two", "a")
    Archive(library).add(vote, keepsake(consent))
    folder = tmp_path / f"arena/{vote.wall:%Y-%m-%d}/{vote.id}"
    kept = {path.name for path in folder.iterdir()}
    assert kept == {"round.json", *({"turn.flac", "a.flac", "b.flac"} if sounds else ())}
    told = (folder / "round.json").read_text()
    assert ("Well?" in told) == ("Yes." in told) == ("line" in told) == words


def test_a_round_is_deleted_with_all_that_was_kept_of_it(library: Library, tmp_path: Path) -> None:
    archive = Archive(library)
    gone, left = made_ballot("one", "two", "a"), made_ballot("one", "two", "b")
    archive.add(gone, keepsake(EVERYTHING))
    archive.add(left)
    archive.remove(gone)
    assert archive.ballots() == [left]
    assert not [name for name in files(tmp_path) if gone.id in name]


def test_votes_of_other_processes_are_seen_soon(library: Library) -> None:
    now = 0.0
    ours, theirs = Archive(library, lambda: now), Archive(library)
    assert ours.ballots() == []
    theirs.add(vote := made_ballot("one", "two", "a"))
    assert ours.ballots() == []
    now = FRESH_SEC
    assert ours.ballots() == [vote]


def test_a_vote_that_cannot_be_read_is_passed_over(library: Library, tmp_path: Path) -> None:
    Archive(library).add(vote := made_ballot("one", "two", "a"))
    (tmp_path / "arena/votes/2026-01-01").mkdir()
    (tmp_path / "arena/votes/2026-01-01/round_0.json").write_text("{")
    assert Archive(library).ballots() == [vote]


def test_sound_and_words_go_when_they_are_too_old_and_votes_stay(
    library: Library, tmp_path: Path
) -> None:
    archive = Archive(library)
    old = made_ballot("one", "two", "a", wall=datetime.now(UTC) - timedelta(days=9))
    new = made_ballot("one", "two", "b")
    for each in (old, new):
        archive.add(each, keepsake(EVERYTHING))
    assert archive.forget_older(7) == 1
    assert {each.id for each in archive.ballots()} == {old.id, new.id}
    assert [name for name in files(tmp_path) if old.id in name and "votes" not in name] == []
    assert [name for name in files(tmp_path) if new.id in name and "votes" not in name]


def test_with_a_session_goes_what_was_made_of_it(library: Library, tmp_path: Path) -> None:
    session_id = made_session(tmp_path)
    library.rebuild()
    vote = made_ballot("one", "two", "a", source="session")
    Archive(library).add(vote, keepsake(EVERYTHING, session_id))
    folder = tmp_path / f"arena/{vote.wall:%Y-%m-%d}/{vote.id}"
    assert (folder / "turn.flac").exists()
    gone = library.delete(session_id)
    assert str(folder) in gone.removed
    assert not folder.exists()


@pytest.mark.parametrize("now_allowed", ["none", "transcript,audio"])
def test_what_a_session_no_longer_allows_is_not_kept(
    library: Library, tmp_path: Path, now_allowed: str
) -> None:
    session_id = made_session(tmp_path, consent=now_allowed)
    library.rebuild()
    with pytest.raises(NotAllowed):
        Archive(library).add(made_ballot("one", "two", "a"), keepsake(EVERYTHING, session_id))
    assert files(tmp_path) == []


def test_votes_and_sound_lie_in_object_storage_too(tmp_path: Path) -> None:
    with s3_server() as url, Library.open(url, tmp_path) as library:
        archive = Archive(library)
        archive.add(vote := made_ballot("one", "two", "a"), keepsake(EVERYTHING))
        folder = f"arena/{vote.wall:%Y-%m-%d}/{vote.id}"
        assert Archive(library).ballots() == [vote]
        assert set(library.store.runs.stats(folder)) == {
            "round.json", "turn.flac", "a.flac", "b.flac",
        }  # fmt: skip
        archive.remove(vote)
        assert library.store.runs.stats("arena") == {}


def test_a_system_without_a_label_goes_by_its_name() -> None:
    (one, _) = contestants(configured(one={}, two={}))
    assert isinstance(one, Contestant)
    assert one.label == "one"
