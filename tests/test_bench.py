"""The benchmark's pure parts: what it makes of what it saw. Nothing here measures anything."""

import json
from pathlib import Path

import numpy as np
import orjson
import pytest

from models.types import WIRE_RATE
from server.bench import talkers
from server.bench.barge import Attempt, outcome
from server.bench.figures import TARGETS, Target, judged, percentile, share, summary
from server.bench.listener import Listener
from server.bench.microphone import Microphone
from server.bench.player import FADE_SEC, GAP_SEC, Player
from server.bench.sounds import noise, recorded, recorded_turns, sound
from server.bench.talkers import PAUSE_SEC, PIECE_SEC, VOICE_SEC, costs, script
from server.client import Call, Piece, voice_span
from server.consent import Consent
from server.sessions.format import SessionFile
from tests.serving import serving

SECOND = WIRE_RATE


def near(value: float) -> object:
    return pytest.approx(value, abs=1e-6)


# -- figures ---------------------------------------------------------------------------------


def test_a_percentile_lies_between_its_neighbours() -> None:
    assert percentile([10.0, 20.0, 30.0, 40.0, 50.0], 50) == 30.0
    assert percentile([0.0, 10.0], 95) == 9.5
    assert percentile([], 50) is None


def test_a_summary_leaves_out_what_never_came_and_says_how_much_it_counts() -> None:
    assert summary([1.0, None, 3.0]) == {"p50": 2.0, "p95": 2.9, "n": 2}
    assert summary([None]) == {"p50": None, "p95": None, "n": 0}
    assert summary([5.0], 50, 99) == {"p50": 5.0, "p99": 5.0, "n": 1}


def test_a_share_of_nothing_is_unknown_rather_than_nought() -> None:
    assert share([True, False, False, False]) == {"rate": 0.25, "n": 4}
    assert share([]) == {"rate": None, "n": 0}


def test_a_target_is_met_up_to_its_limit_and_open_where_nothing_was_measured() -> None:
    targets = [Target("a", "x.p50", 5), Target("b", "x.p95", 5), Target("c", "y.z", 0)]
    found = judged({"x": {"p50": 5, "p95": 5.1}, "y": {"z": None}}, targets)
    assert [(each["what"], each["reached"], each["met"]) for each in found] == [
        ("a", 5, True),
        ("b", 5.1, False),
        ("c", None, None),
    ]


def test_every_target_is_open_in_an_empty_report_and_in_one_that_failed() -> None:
    for report in ({}, {"latency": {"failed": "no server"}, "talkers": None}):
        assert [each["met"] for each in judged(report)] == [None] * len(TARGETS)


# -- the simulated player --------------------------------------------------------------------


def test_pieces_that_come_early_play_one_after_the_other() -> None:
    player = Player()
    for at in (1.0, 1.01, 1.02):
        player.receive(at, SECOND // 2)
    assert player.empty_at == near(2.5)
    assert player.played(1.75) == near(0.75 * SECOND)
    assert player.played(9.0) == near(1.5 * SECOND)
    assert player.underruns == 0


def test_a_piece_that_comes_late_leaves_a_gap() -> None:
    player = Player()
    player.receive(0.0, SECOND)
    player.receive(1.5, SECOND)
    assert player.underruns == 1
    assert player.sounding(0.5) and not player.sounding(1.2) and player.sounding(1.6)
    assert player.played(2.0) == near(1.5 * SECOND)


def test_on_hold_it_fades_and_keeps_the_rest_for_later() -> None:
    player = Player()
    player.receive(0.0, SECOND)
    player.hold(0.4)
    assert player.silent_from(0.3) == near(0.4 + FADE_SEC)
    assert player.played(5.0) == near((0.4 + FADE_SEC) * SECOND)
    player.receive(0.5, SECOND)  # was under way
    assert not player.sounding(0.6)
    player.resume(6.0)
    assert player.empty_at == near(6.0 + 2.0 - 0.4 - FADE_SEC)
    assert player.played(9.0) == near(2.0 * SECOND)


def test_held_twice_it_keeps_what_it_had() -> None:
    player = Player()
    player.receive(0.0, SECOND)
    player.hold(0.4)
    player.hold(0.45)
    player.resume(1.0)
    assert player.played(9.0) == near(SECOND)


def test_stopped_it_fades_and_plays_nothing_any_more() -> None:
    player = Player()
    player.receive(0.0, SECOND)
    player.stop(0.4)
    player.receive(0.41, SECOND)
    assert player.empty_at == near(0.4 + FADE_SEC)


def test_stopped_while_held_it_forgets_what_it_kept() -> None:
    player = Player()
    player.receive(0.0, SECOND)
    player.hold(0.4)
    player.stop(0.8)
    player.resume(0.9)
    assert player.silent_from(0.3) == near(0.4 + FADE_SEC)
    assert player.played(9.0) == near((0.4 + FADE_SEC) * SECOND)


def test_it_is_silent_once_what_it_has_is_played() -> None:
    player = Player()
    player.receive(0.0, SECOND)
    assert player.silent_from(0.3) == near(1.0)
    assert player.silent_from(1.2) == near(1.2)


def test_a_late_packet_is_not_silence_but_a_longer_gap_is() -> None:
    player = Player()
    player.receive(0.0, SECOND)
    player.receive(1.0 + GAP_SEC / 2, SECOND)
    player.receive(2.0 + GAP_SEC * 2, SECOND)
    assert player.silent_from(0.5) == near(2.0 + GAP_SEC / 2)


class Wire:
    """The end of a call that takes down what is sent."""

    def __init__(self) -> None:
        self.sent: list[str | bytes] = []

    async def send(self, message: str | bytes) -> None:
        self.sent.append(message)


def listener() -> tuple[Listener, Call, Wire]:
    wire = Wire()
    call = Call(wire)  # type: ignore[arg-type]
    return Listener(call, Microphone(call.append, 0.04)), call, wire


def told(call: Call, at: float, kind: str, **fields: object) -> None:
    call.events.append({"type": kind, **fields})
    call.times.append(at)


def test_a_listener_acts_in_the_order_of_arrival_however_late_it_looks() -> None:
    hearing, call, _ = listener()
    call.pieces += [Piece(0.0, np.zeros(SECOND, np.float32))]
    told(call, 0.2, "attune.hold")
    told(call, 1.0, "attune.resume")
    call.pieces += [Piece(1.1, np.zeros(SECOND, np.float32))]
    hearing.catch_up()
    assert hearing.player.silent_from(0.1) == near(0.2 + FADE_SEC)
    assert hearing.player.played(9.0) == near(2 * SECOND)
    told(call, 1.3, "input_audio_buffer.speech_started")
    hearing.catch_up()
    hearing.catch_up()  # nothing is done twice
    assert hearing.player.played(9.0) == near((0.5 + 2 * FADE_SEC) * SECOND)


def over_a_reply(*happened: tuple[float, str]) -> Attempt:
    """Someone's voice begins at 1.0, half a second into a piece of 1.5 s of reply."""
    hearing, call, _ = listener()
    call.pieces += [Piece(0.5, np.zeros(3 * SECOND // 2, np.float32))]
    for at, kind in happened:
        told(call, at, kind)
    hearing.catch_up()
    someone = sound("someone", "recorded", tone(1.0, 0.3))
    return outcome(someone, 1.0, list(zip(call.events, call.times, strict=True)), hearing.player)


def test_an_interruption_is_timed_from_voice_to_silence_and_to_decision() -> None:
    found = over_a_reply((1.2, "attune.hold"), (1.5, "input_audio_buffer.speech_started"))
    assert found.silence_ms == pytest.approx(200 + FADE_SEC * 1000)
    assert found.decision_ms == pytest.approx(500)
    assert found.held and not found.resumed


def test_a_reply_that_speaks_on_before_it_gives_way_is_told() -> None:
    found = over_a_reply(
        (1.2, "attune.hold"), (1.7, "attune.resume"), (1.9, "input_audio_buffer.speech_started")
    )
    assert found.silence_ms == pytest.approx(200 + FADE_SEC * 1000)
    assert found.resumed


def test_a_stock_client_falls_silent_when_it_is_told_that_someone_speaks() -> None:
    found = over_a_reply((1.4, "input_audio_buffer.speech_started"))
    assert found.silence_ms == pytest.approx(400 + FADE_SEC * 1000)
    assert not found.held and not found.resumed


def test_a_sound_that_nobody_noticed_has_no_times() -> None:
    found = over_a_reply()
    assert found.silence_ms is None and found.decision_ms is None and not found.resumed


async def test_a_listener_acknowledges_what_has_really_sounded() -> None:
    hearing, call, wire = listener()
    await hearing.acknowledge(at=0.1)
    assert wire.sent == []  # there is no reply to speak of yet
    told(call, 0.0, "response.output_item.added", response_id="resp_1", item={"id": "item_1"})
    call.pieces += [Piece(0.0, np.zeros(SECOND, np.float32), "resp_1")]
    told(call, 0.25 - FADE_SEC, "attune.hold")
    hearing.microphone.sent = 4800
    await hearing.acknowledge(at=0.1)
    await hearing.acknowledge(at=0.9)
    acks = [orjson.loads(message) for message in wire.sent]
    assert [ack["played_samples"] for ack in acks] == [SECOND // 10, SECOND // 4]
    assert acks[0] == {
        "type": "attune.playback",
        "response_id": "resp_1",
        "item_id": "item_1",
        "played_samples": SECOND // 10,
        "input_samples": 4800,
    }


def test_a_voice_stops_the_reply_that_sounds_and_not_the_next_one() -> None:
    hearing, call, _ = listener()
    call.pieces += [Piece(0.0, np.zeros(SECOND, np.float32), "resp_1")]
    told(call, 0.5, "input_audio_buffer.speech_started")
    call.pieces += [Piece(0.6, np.zeros(SECOND, np.float32), "resp_1")]  # was under way
    call.pieces += [Piece(2.0, np.zeros(SECOND, np.float32), "resp_2")]
    hearing.catch_up()
    played = [player.played(9.0) for player in hearing.players.values()]
    assert played == [near((0.5 + FADE_SEC) * SECOND), near(SECOND)]
    assert [player.underruns for player in hearing.players.values()] == [0, 0]


async def test_a_call_in_binary_mode_sends_its_sound_bare() -> None:
    _, call, wire = listener()
    await call.append(np.full(2, 0.5, np.float32))
    call.binary = True
    await call.append(np.full(2, 0.5, np.float32))
    named, bare = wire.sent
    assert isinstance(named, str) and orjson.loads(named)["type"] == "input_audio_buffer.append"
    assert bare == np.full(2, 16384, "<i2").tobytes()


# -- what is said ----------------------------------------------------------------------------


def tone(seconds: float, level: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    time = np.arange(round(seconds * SECOND)) / SECOND
    return (level * np.sin(2 * np.pi * 440 * time)).astype(np.float32)


def test_a_voice_is_found_under_rumble_and_noise() -> None:
    rng = np.random.default_rng(0)
    clean = np.concatenate([tone(0.5, 0), tone(1.0, 0.3), tone(0.5, 0)])
    time = np.arange(len(clean)) / SECOND
    rumble = 0.2 + 0.1 * np.sin(2 * np.pi * 20 * time)
    hiss = 0.003 * rng.standard_normal(len(clean))
    for samples in (clean, (clean + rumble + hiss).astype(np.float32)):
        start, end = voice_span(samples)
        assert start == pytest.approx(0.5 * SECOND, abs=SECOND // 50)
        assert end == pytest.approx(1.5 * SECOND, abs=SECOND // 50)


def test_a_click_at_the_edge_is_no_voice() -> None:
    samples = np.concatenate([tone(0.5, 0), tone(1.0, 0.3), tone(0.5, 0)])
    samples[-5:] = 0.3
    assert voice_span(samples)[1] == pytest.approx(1.5 * SECOND, abs=SECOND // 50)


def test_the_longest_pause_is_measured_between_voices_only() -> None:
    parts = [
        tone(2.0, 0),
        tone(0.5, 0.3),
        tone(0.2, 0),
        tone(0.5, 0.3),
        tone(0.4, 0),
        tone(0.5, 0.3),
    ]
    spoken = sound("three words", "recorded", np.concatenate([*parts, tone(1.0, 0)]))
    assert spoken.longest_pause_ms == pytest.approx(400, abs=20)


def test_silence_has_no_voice_to_find() -> None:
    assert voice_span(np.zeros(SECOND, np.float32)) == (0, SECOND)
    assert voice_span(np.zeros(3, np.float32)) == (0, 3)


def test_sentences_broken_off_are_no_turns() -> None:
    turns = {each.name for each in recorded_turns()}
    everyone = {each.name for each in recorded()}
    assert len(turns) >= 10 and turns < everyone
    assert "201-122255-0000.ogg" not in turns  # its words end with a comma
    assert "1069-133699-0000.ogg" not in turns  # its voice goes on where the file was cut


def test_noises_are_short_and_never_clip() -> None:
    noises = dict(noise())
    assert len(noises) == 12
    for samples in noises.values():
        assert 0 < np.abs(samples).max() < 0.5
        assert len(samples) < 2.5 * SECOND


async def test_a_microphone_hears_what_is_said_where_it_says_so() -> None:
    pieces: list[np.ndarray[tuple[int], np.dtype[np.float32]]] = []
    piece_sec = 0.002

    class Enough(Exception):
        pass

    async def take(piece: np.ndarray[tuple[int], np.dtype[np.float32]]) -> None:
        pieces.append(piece)
        if len(pieces) == 2:
            said.append((microphone.say(tone(0.003, 0.5)), microphone.say(tone(0.001, 0.5))))
        if len(pieces) == 6:
            raise Enough

    said: list[tuple[float, float]] = []
    microphone = Microphone(take, piece_sec)
    with pytest.raises(Enough):
        await microphone.run()
    heard = np.concatenate(pieces)
    [(first, second)] = said
    assert second - first == pytest.approx(0.003)
    begin = round(2 * piece_sec * SECOND)
    spoken = np.concatenate([tone(0.003, 0.5), tone(0.001, 0.5)])
    assert np.abs(heard[:begin]).max() < 0.01
    assert np.abs(heard[begin : begin + len(spoken)] - spoken).max() < 0.01
    assert np.abs(heard[begin + len(spoken) :]).max() < 0.01


@pytest.mark.parametrize("mode", ["binary", "json"])
def test_a_script_is_a_turn_and_a_pause(mode: str) -> None:
    messages = script(mode)
    assert len(messages) == round((VOICE_SEC + PAUSE_SEC) / PIECE_SEC[mode])
    assert all(isinstance(message, bytes) == (mode == "binary") for message in messages)


def tally(frame_ms: list[float], errors: list[str]) -> dict[str, object]:
    return {"frame_ms": frame_ms, "errors": errors, "turns": 9, "answered": 8, "lag_p99_ms": 1.5}


def test_what_a_talkercosts_is_the_servers_time_shared_out() -> None:
    found = costs(0.3, 0.1, 50, [tally([1.0, 2.0], []), tally([3.0], [])])
    assert found["kept_up"] and found["cpu_percent_per_talker"] == 0.6
    assert found["others_cpu_percent"] == 10.0
    assert found["frame_ms"] == {"p50": 2.0, "p99": 2.98, "n": 3}
    assert (found["turns"], found["answered"]) == (18, 16)


@pytest.mark.parametrize(
    ("frame_ms", "errors"), [([2000.0], []), ([1.0], ["TimeoutError"]), ([], [])]
)
def test_a_server_that_lags_behind_has_no_cost_to_boast_of(
    frame_ms: list[float], errors: list[str]
) -> None:
    found = costs(0.4, 0.9, 150, [tally(frame_ms, errors)])
    assert not found["kept_up"] and found["cpu_percent_per_talker"] is None


def kept(runs: Path) -> list[tuple[bool, bool, bool]]:
    """What was allowed in each session there is."""
    files = [SessionFile.model_validate_json(f.read_bytes()) for f in runs.rglob("session.json")]
    return [(c.transcript, c.audio, c.research) for file in files for c in file.consent]


@pytest.mark.parametrize("mode", ["binary", "json"])
async def test_talkers_who_were_told_to_consent_are_recorded(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(talkers, "JOIN_SEC", 0.0)
    monkeypatch.setattr(talkers, "SETTLE_SEC", 0.2)
    async with serving(clock="wall", recording={"runs": str(tmp_path)}) as (url, _):
        await talkers.talk(url, mode, 1, 0.1, 0, None)
        await talkers.talk(url, mode, 1, 0.1, 0, Consent(audio=True))
    assert kept(tmp_path) == [(False, True, False)]
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["errors"] == []
