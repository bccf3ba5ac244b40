"""The sound of the reply: quality, emotion, alignment with the user, and perception's own marks."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from models import weights
from models.audio import resample
from models.perception.labels import DIMENSIONS
from models.types import EAR_RATE, WIRE_RATE, Samples
from server.consent import Consent
from server.scoring import instruments
from server.scoring.exchange import Exchange, Pcm
from server.scoring.score import JudgeNamed, Unavailable, Unscored
from server.scoring.settings import EncoderSettings, Settings
from server.scoring.sound import (
    clip,
    distillmos,
    dnsmos,
    entrainment,
    listening,
    mel,
    nisqa,
    perceived,
    reply_emotion,
    utmos,
    voices,
)
from server.scoring.sound.memo import Memo
from server.scoring.sound.voice_fit import FITTING, PERCEIVED, VOCALBENCH
from tests.scoring_parts import conversation, exchange, turn

SPEECH = Path(__file__).parent / "data" / "speech"
ALL = Settings()


def glide() -> Samples:
    """Five seconds at 16 kHz that are the same everywhere: twelve harmonics and a little noise."""
    t = np.arange(5 * EAR_RATE) / EAR_RATE
    angle = 2 * np.pi * np.cumsum(140 + 30 * np.sin(2 * np.pi * 0.7 * t)) / EAR_RATE
    voice = sum(np.sin(k * angle) / k for k in range(1, 13))
    noise = np.random.default_rng(7).standard_normal(len(t))
    sound = 0.12 * voice * (0.55 + 0.45 * np.sin(2 * np.pi * 3.5 * t)) + 0.004 * noise
    return np.asarray(sound, np.float32)


def spoken(name: str) -> Samples:
    sound, rate = soundfile.read(SPEECH / f"{name}.ogg", dtype="float32")
    assert rate == EAR_RATE
    clipped: Samples = np.clip(sound, -1, 1)
    return clipped


def wire(samples: Samples) -> Pcm:
    """One side at 24 kHz, as it is recorded."""
    return np.rint(resample(samples, EAR_RATE, WIRE_RATE) * 32_767).astype(np.int16)


def replying(samples: Samples, **more: Any) -> Exchange:
    """An exchange whose reply sounds so, after a second in which the user is silent."""
    reply = wire(samples)
    sound = np.zeros((WIRE_RATE + len(reply), 2), np.int16)
    sound[WIRE_RATE:, 1] = reply
    end = len(sound) / WIRE_RATE
    return exchange(sound=sound, spans=((0.0, 0.9), (1.0, end)), **more)


# ---- the mel spectra; values by librosa 0.11, of the glide at 16 kHz


def test_bands_are_those_librosa_gives_nisqa() -> None:
    seen = mel.Mel(EAR_RATE, 4096, 320, 160, 48, 20_000, power=1, mirrored=True)(glide())
    levels = mel.decibels(np.square(seen), 1.0, 1e-8)
    assert levels.shape == (501, 48)
    for (band, frame), level in {
        (0, 0): 2.0758, (5, 100): -11.1205, (20, 250): -47.3643, (33, 400): -37.8787,
        (47, 500): -74.3979,
    }.items():  # fmt: skip
        assert levels[frame, band] == pytest.approx(level, abs=0.01)
    assert levels.mean() == pytest.approx(-38.0399, abs=0.001)


def test_bands_are_those_librosa_gives_p808() -> None:
    seen = mel.Mel(EAR_RATE, 321, 321, 160, 120, 8_000, power=2, mirrored=False)(glide()[:EAR_RATE])
    levels = mel.decibels(seen, float(seen.max()), 1e-10)
    assert levels.shape == (100, 120)
    for (band, frame), level in {(3, 0): -9.3716, (60, 50): -46.9708, (119, 99): -50.5692}.items():
        assert levels[frame, band] == pytest.approx(level, abs=0.01)


def test_bands_above_half_the_rate_stay_empty() -> None:
    triangles = mel.filters(24_000, 4096, 48, 20_000.0)
    assert (triangles.sum(axis=0) == 0).sum() == 5
    assert triangles[5, 0] == pytest.approx(0.004613161, rel=1e-4)
    assert triangles[155, 10] == pytest.approx(0.007572908, rel=1e-4)


def test_long_sounds_give_the_frames_of_short_ones() -> None:
    taken = mel.Mel(EAR_RATE, 512, 320, 160, 20, 8_000, power=1, mirrored=False)
    whole = taken(glide())
    assert len(whole) > mel._AT_ONCE
    assert np.allclose(whole[:90], taken(glide()[:16_000])[:90])


# ---- what is there to be heard


def test_a_reply_is_heard_at_the_rate_that_is_asked_for() -> None:
    heard = clip.reply_clip(replying(glide()))
    assert len(heard) == 5 * EAR_RATE
    assert np.corrcoef(heard, glide())[0, 1] > 0.999
    assert len(clip.reply_clip(replying(glide()), WIRE_RATE)) == 5 * WIRE_RATE


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: exchange(reply=None), "no reply"),
        (lambda: exchange(sound=np.zeros((60_000, 2), np.int16)), "the reply is silent"),
        (lambda: replying(glide()[:1_600]), "the reply is too short"),
        (
            lambda: replying(glide(), consent=Consent(transcript=True, research=True)),
            "no consent to sound",
        ),
    ],
)
def test_what_cannot_be_heard_says_why(made: Any, why: str) -> None:
    with pytest.raises(Unscored, match=why):
        clip.reply_clip(made())


# ---- DNSMOS


@pytest.fixture(scope="module")
def dns() -> dnsmos.Dnsmos:
    try:
        return dnsmos.build(ALL)
    except Unavailable as error:
        pytest.skip(str(error))


# By the speechmos 0.0.1.1 package with librosa 0.11, at 16 kHz.
GLIDE = {
    "dnsmos_ovrl": 1.42006,
    "dnsmos_sig": 1.94498,
    "dnsmos_bak": 1.4133,
    "dnsmos_p808": 2.26996,
}
READER = {
    "dnsmos_ovrl": 2.79217, "dnsmos_sig": 3.42542, "dnsmos_bak": 3.22647, "dnsmos_p808": 3.88867,
}  # fmt: skip


def rated(by: dnsmos.Dnsmos, sound: Samples) -> dict[str, float | None]:
    return {name: score.value for name, score in by.rate(sound).items()}


def test_dnsmos_is_that_of_the_package(dns: dnsmos.Dnsmos) -> None:
    assert rated(dns, glide()) == pytest.approx(GLIDE, abs=0.002)


@pytest.mark.slow
def test_dnsmos_of_a_reader_is_that_of_the_package(dns: dnsmos.Dnsmos) -> None:
    assert rated(dns, spoken("1363-135842-0000")) == pytest.approx(READER, abs=0.002)


@pytest.mark.slow
def test_dnsmos_of_a_recorded_reply_is_that_of_the_package(dns: dnsmos.Dnsmos) -> None:
    told = dns.measure(replying(spoken("1624-142933-0000")))  # resampled there and back
    expected = {"dnsmos_ovrl": 3.09242, "dnsmos_sig": 3.4019, "dnsmos_bak": 4.04052}
    assert {name: told[name].value for name in expected} == pytest.approx(expected, abs=0.01)
    assert told["dnsmos_p808"].value == pytest.approx(4.10047, abs=0.01)
    assert set(told) == {measure.name for measure in dnsmos.MEASURES}


@pytest.mark.slow
def test_a_long_reply_is_rated_in_windows(dns: dnsmos.Dnsmos) -> None:
    told = dns.rate(np.concatenate([glide(), glide()[::-1], glide()]))
    assert told["dnsmos_ovrl"].value == pytest.approx(1.43988, abs=0.002)
    assert told["dnsmos_p808"].value == pytest.approx(2.29098, abs=0.002)
    assert told["dnsmos_sig"].why == "mean of 6 windows"


@pytest.mark.parametrize(
    ("seconds", "count"), [(0.3, 1), (4.6, 1), (5.0, 1), (9.01, 1), (9.99, 1), (11.0, 2), (15, 6)]
)
def test_windows_lie_a_second_apart(seconds: float, count: int) -> None:
    pieces = dnsmos.windows(np.arange(round(seconds * EAR_RATE), dtype=np.float32))
    assert [len(piece) for piece in pieces] == [144_160] * count
    assert [piece[0] for piece in pieces] == [16_000 * at for at in range(count)]


def test_missing_weights_are_told_with_what_brings_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTUNE_CACHE", str(tmp_path))
    with pytest.raises(Unavailable, match=r"python -m models\.weights$"):
        dnsmos.build(ALL)
    with pytest.raises(Unavailable, match=r"python -m models\.weights --profile scoring$"):
        distillmos.build(ALL)


def test_networks_that_nobody_configured_say_where_to_get_them() -> None:
    with pytest.raises(Unavailable, match=r"nisqa\.tar from github\.com/gabrielmittag/NISQA"):
        nisqa.build(ALL)
    with pytest.raises(Unavailable, match=r"github\.com/tarepan/SpeechMOS"):
        utmos.build(ALL)


def test_an_absent_utmos_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="holds nothing to load UTMOS from"):
        utmos.build(Settings(encoders=EncoderSettings(utmos=tmp_path)))


def test_the_scoring_weights_have_a_profile_of_their_own() -> None:
    rows = {row.name for row in weights.TABLE if weights.Profile.SCORING in row.profiles}
    assert rows == {"dnsmos-p835", "dnsmos-p808", "distillmos"}


def test_no_two_measures_share_a_name_and_all_of_ours_have_a_sentence() -> None:
    ours = (dnsmos, distillmos, nisqa, utmos, reply_emotion, entrainment, perceived)
    told = [measure for module in ours for measure in module.MEASURES]
    assert len({measure.name for measure in told}) == len(told)
    assert all(measure.about.endswith(".") for measure in told)
    assert {module.__name__ for module in ours} <= set(instruments.MODULES.values())


# ---- the emotion in the reply's voice


class Ear:
    """A listener that always hears the same, and counts."""

    judge = JudgeNamed("an ear", "1")

    def __init__(self, chances: dict[str, float]) -> None:
        self.chances, self.asked = chances, 0

    def allowed(self, exchange: Exchange) -> None:
        pass

    def hear(self, clip: Samples) -> listening.Emotion:
        self.asked += 1
        name = max(self.chances, key=self.chances.__getitem__)
        return listening.Emotion(name, dict(self.chances))


def hearing(monkeypatch: pytest.MonkeyPatch, **chances: float) -> Ear:
    ear = Ear(chances)
    monkeypatch.setattr(listening, "listener", lambda url: ear)
    return ear


def sounding(**annotation: Any) -> Mapping[str, Any]:
    return reply_emotion.build(ALL).measure(replying(glide()[:16_000], **annotation))


SAD = {"sad": 0.6, "neutral": 0.2, "happy": 0.1, "angry": 0.0, "surprise": 0.0, "fear": 0.1}


def test_a_reply_that_sounds_as_it_should_is_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    hearing(monkeypatch, **SAD)
    assert sounding(reference_emotions=("sad", "neutral"))["emo_align"].value == 100
    assert sounding(reference_emotions=("happy",))["emo_align"].value == 0
    assert sounding(reference_emotions=("Sadness",))["emo_align"].value == 100
    assert sounding(cue="sobbing")["emo_align"].value == 100
    told = sounding(cue="happy")["emo_align"]
    assert told.value == 0
    assert told.why == "sounds sad; fitting, by our table: happy, surprise; heard by an ear"


def test_alignment_needs_something_to_align_with(monkeypatch: pytest.MonkeyPatch) -> None:
    hearing(monkeypatch, sad=0.9, neutral=0.1)
    assert sounding()["emo_align"].unscored == "no true cue"
    deaf = sounding(reference_emotions=("surprised",))["emo_align"]
    assert deaf.unscored == "the listener cannot hear any fitting emotion"
    odd = sounding(reference_emotions=("saudade", "contempt"))["emo_align"]
    assert odd.unscored == "the data set's emotions have no name here"


def test_every_cue_of_the_taxonomy_has_fitting_emotions() -> None:
    cues = {name for dimension in DIMENSIONS.values() for name in dimension.attributes}
    assert cues <= set(FITTING)
    assert {name for names in FITTING.values() for name in names} <= set(PERCEIVED)


def test_vocalbench_weighs_each_emotion_by_its_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of 0.9 that fall on the five: 0.6 sad, 0.2 neutral, 0.1 happy. To a sad user they are worth
    # 5, 3 and 2: (0.6 * 5 + 0.2 * 3 + 0.1 * 2) / 0.9 = 3.8 / 0.9.
    hearing(monkeypatch, **SAD)
    told = sounding(cue="sad")
    assert told["vocalbench_acoustic"].value == pytest.approx(3.8 / 0.9)
    assert "usual row for sad" in told["vocalbench_acoustic"].why
    assert told["vocal_fit"].unscored == "the truth is known"
    labelled = sounding(cue="cough", labels={"emotion": "Sadness"})["vocalbench_acoustic"]
    assert labelled.value == pytest.approx(3.8 / 0.9)
    # An item's own row comes first: all as fitting as 4.
    own = dict.fromkeys(("angry", "happy", "neutral", "sad", "surprised"), 4.0)
    assert sounding(cue="sad", suitability=own)["vocalbench_acoustic"].value == pytest.approx(4)


def test_vocalbench_is_silent_where_it_has_nothing_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    hearing(monkeypatch, **SAD)
    for annotation, why in (
        ({"cue": "neutral"}, "VocalBench has no row for this emotion"),
        ({"cue": "cough"}, "no true emotion"),
        ({}, "no true emotion"),
        ({"cue": "sad", "suitability": {"sad": 5.0}}, "the item's row lacks emotions"),
    ):
        assert sounding(**annotation)["vocalbench_acoustic"].unscored == why
    hearing(monkeypatch, fear=1.0)
    told = sounding(cue="sad")["vocalbench_acoustic"]
    assert told.unscored == "none of the five emotions was heard"


def test_vocalbench_rows_are_the_published_ones() -> None:
    rows = {name: tuple(row.values()) for name, row in VOCALBENCH.items()}
    assert rows == {
        "angry": (5, 1, 2, 4, 3), "happy": (1, 5, 3, 2, 4),
        "sad": (1, 2, 3, 5, 2), "surprise": (1, 4, 3, 2, 5),
    }  # fmt: skip
    assert list(VOCALBENCH["sad"]) == ["angry", "happy", "neutral", "sad", "surprise"]


def test_without_the_truth_the_perceived_emotion_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    hearing(monkeypatch, **SAD)
    heard = {"emotion": {"happy": 0.7, "neutral": 0.3}, "unknown": []}
    told = sounding(percept=heard)
    # To a happy user sad, neutral and happy are worth 2, 3 and 5.
    assert told["vocal_fit"].value == pytest.approx((0.6 * 2 + 0.2 * 3 + 0.1 * 5) / 0.9)
    assert told["vocal_fit"].why.startswith("against happy, as perceived")
    assert told["vocalbench_acoustic"].unscored == "no true emotion"
    unsure = sounding(percept=heard | {"unknown": ["emotion"]})["vocal_fit"]
    assert unsure.unscored == "no emotion was perceived surely"


def test_a_reply_is_listened_to_once_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    ear = hearing(monkeypatch, **SAD)
    one = replying(glide()[:16_000], cue="sad")
    reply_emotion.build(ALL).measure(one)
    name, chances = reply_emotion.reply_emotion(one, ALL)
    assert (name, chances["sad"], ear.asked) == ("sad", 0.6, 1)
    chances["sad"] = 0.0  # the caller's own
    assert reply_emotion.reply_emotion(one, ALL)[1]["sad"] == 0.6
    reply_emotion.reply_emotion(replying(glide()[:16_000]), ALL)
    assert ear.asked == 2


def test_without_any_listener_others_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(url: str | None) -> listening.Listener:
        raise Unavailable("nobody listens")

    monkeypatch.setattr(listening, "listener", none)
    with pytest.raises(Unscored, match="cannot be heard here"):
        reply_emotion.reply_emotion(replying(glide()[:16_000]), ALL)


def test_a_memo_knows_conversations_and_not_their_names() -> None:
    memo: Memo[int] = Memo()
    one, other = conversation(), conversation()
    assert [memo.get(one, "x", lambda: 1), memo.get(other, "x", lambda: 2)] == [1, 2]
    assert memo.get(one, "x", lambda: 3) == 1
    for what in range(300):
        memo.get(other, what, lambda: 4)
    assert memo.get(one, "x", lambda: 5) == 5  # let go


def test_our_own_perceiver_hears_the_voice_and_is_named() -> None:
    built = reply_emotion.build(ALL)
    assert built.judge is not None
    assert built.judge.name == "Attune perceiver"
    assert "default weights" in built.key
    one = replying(spoken("1624-142933-0000"), cue="neutral")
    name, chances = reply_emotion.reply_emotion(one, ALL)
    assert name == max(chances, key=chances.__getitem__)
    assert set(chances) == {"happy", "sad", "angry", "fear", "disgust", "neutral"}
    assert sum(chances.values()) == pytest.approx(1)
    told = built.measure(one)
    assert told["emo_align"].value in (0, 100)
    assert told["emo_align"].why.endswith("heard by Attune perceiver")


def test_a_hum_is_no_voice() -> None:
    hum = 0.01 * np.random.default_rng(1).standard_normal(2 * EAR_RATE).astype(np.float32)
    with pytest.raises(Unscored, match="the reply's voice cannot be judged"):
        reply_emotion.reply_emotion(replying(hum), ALL)


class Funasr:
    """Answers as the emotion2vec+ process does."""

    labels = ["生气/angry", "开心/happy", "中立/neutral", "其他/other", "难过/sad"]

    def __init__(self) -> None:
        self.scores = [0.05, 0.05, 0.1, 0.2, 0.6]
        self.broken = False

    def __call__(self, sound: bytes) -> dict[str, list[Any]]:
        if self.broken:
            raise RuntimeError("out of memory")
        return {"labels": self.labels, "scores": self.scores}


@pytest.fixture
def funasr() -> Iterator[tuple[Funasr, Settings]]:
    import threading

    from models.perception.emotion2vec_server import Server

    model = Funasr()
    with Server(("127.0.0.1", 0), model) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        yield model, Settings(encoders=EncoderSettings(emotion2vec=url))
        told = listening.listener(url)
        assert isinstance(told, listening.Process)
        told.client.close()
        server.shutdown()
        serving.join()


def test_a_configured_process_listens_in_place_of_ours(funasr: tuple[Funasr, Settings]) -> None:
    model, settings = funasr
    built = reply_emotion.build(settings)
    assert built.judge == JudgeNamed("emotion2vec+", licence="MIT")
    assert "emotion2vec+" in built.key
    told = built.measure(replying(glide()[:16_000], cue="sad"))
    assert told["emo_align"].value == 100
    # 0.8 fall on the five: (0.6 * 5 + 0.1 * 3 + 0.05 * 2 + 0.05 * 1) / 0.8
    assert told["vocalbench_acoustic"].value == pytest.approx(3.45 / 0.8)
    model.scores = [0.1, 0.1, 0.1, 0.5, 0.2]
    assert reply_emotion.reply_emotion(replying(glide()[:16_000]), settings)[0] == "other"


def test_a_process_that_fails_is_asked_again(funasr: tuple[Funasr, Settings]) -> None:
    model, settings = funasr
    one = replying(glide()[:16_000])
    model.broken = True
    with pytest.raises(Unscored, match="^failed: emotion2vec did not answer$"):
        reply_emotion.reply_emotion(one, settings)
    model.broken = False
    assert reply_emotion.reply_emotion(one, settings)[0] == "sad"


def test_a_process_elsewhere_hears_only_what_may_be_researched() -> None:
    away = listening.Process(None, True, JudgeNamed("emotion2vec+", host="gpu.example.org"))  # type: ignore[arg-type]
    private = replying(glide()[:16_000], consent=Consent(transcript=True, audio=True))
    with pytest.raises(Unscored, match="the listener is elsewhere"):
        away.allowed(private)
    away.allowed(replying(glide()[:16_000]))


def test_a_process_that_is_not_there_makes_the_instrument_unavailable() -> None:
    settings = Settings(encoders=EncoderSettings(emotion2vec="http://127.0.0.1:9"))
    with pytest.raises(Unavailable, match="no emotion2vec process answers at http://127"):
        reply_emotion.build(settings)


# ---- alignment with the user


def hummed(hertz: float, level: float, seconds: float = 1.2) -> Samples:
    """A voice of syllables, four a second, at 24 kHz."""
    t = np.arange(round(seconds * WIRE_RATE)) / WIRE_RATE
    voice = sum(np.sin(2 * np.pi * k * hertz * t) / k for k in range(1, 15))
    swell = np.clip(np.sin(2 * np.pi * 4 * t), 0.03, None)
    return np.asarray(level * swell * voice, np.float32)


def talk(*said: tuple[tuple[float, float], tuple[float, float]]) -> list[Exchange]:
    """Exchanges of (pitch, level) by the user and by the reply."""
    length = round(1.2 * WIRE_RATE)
    sound = np.zeros((2 * len(said) * length, 2), np.float32)
    turns = []
    for at, sides in enumerate(said):
        for side, (hertz, level) in enumerate(sides):
            begin = (2 * at + side) * length
            sound[begin : begin + length, side] = hummed(hertz, level)
            role = ("user", "assistant")[side]
            spans = begin / WIRE_RATE, (begin + length) / WIRE_RATE
            turns.append(turn(2 * at + side, role, *spans, "words"))
    whole = conversation(turns, np.rint(sound * 32_767).astype(np.int16))
    return [
        Exchange(whole, number, turns[2 * number], turns[2 * number + 1])
        for number in range(len(said))
    ]


THIRD = 12 * math.log2(1.25)  # semitones


def test_voices_that_move_alike_are_near_and_others_are_not() -> None:
    take = entrainment.build(ALL).measure
    # Both a third up, and the reply twice as loud where the user stays as loud.
    alike = take(talk(((120, 0.1), (200, 0.05)), ((150, 0.1), (250, 0.1)))[0])
    assert alike["pitch_gap_st"].value == pytest.approx(0, abs=0.1)
    assert alike["loudness_gap_db"].value == pytest.approx(20 * math.log10(2) / 2, abs=0.2)
    # One up, the other down: each half a third from its own mean.
    apart = take(talk(((120, 0.1), (250, 0.1)), ((150, 0.1), (200, 0.1)))[1])
    assert apart["pitch_gap_st"].value == pytest.approx(THIRD, abs=0.15)
    assert apart["loudness_gap_db"].value == pytest.approx(0, abs=0.2)
    assert apart["rate_gap"].value == pytest.approx(0, abs=0.5)
    assert apart["reply_rate"].value == pytest.approx(4, abs=1)
    assert apart["reply_pitch_range_st"].value == pytest.approx(0, abs=0.3)


def test_one_exchange_shows_nobodys_usual_voice() -> None:
    told = entrainment.build(ALL).measure(talk(((120, 0.1), (200, 0.1)))[0])
    assert told["pitch_gap_st"].unscored == "needs two turns of each speaker"
    assert told["rate_gap"].value is not None
    assert told["rate_sync"].unscored == "needs 4 exchanges"


def test_synchrony_is_told_once_at_the_end() -> None:
    steps = (110, 130, 150, 170)
    said = talk(*(((low, 0.1), (1.6 * low, 0.1)) for low in steps))
    take = entrainment.build(ALL).measure
    early = take(said[0])
    assert early["pitch_sync"].unscored == entrainment.LATER
    last = take(said[3])
    assert last["pitch_sync"].value == pytest.approx(1, abs=0.01)
    assert last["pitch_sync"].why == "over 4 exchanges"


def test_synchrony_is_told_though_the_last_word_stayed_unanswered() -> None:
    said = talk(*(((low, 0.1), (1.6 * low, 0.1)) for low in (110, 130, 150, 170)))
    whole = said[0].conversation
    unanswered = turn(8, "user", 9.6, 9.6 + 1.2, "And?")
    longer = conversation([*whole.turns, unanswered], whole.cut(0, 10**9))
    last = Exchange(longer, 3, said[3].user, said[3].reply)
    assert entrainment.build(ALL).measure(last)["pitch_sync"].value == pytest.approx(1, abs=0.01)


def pair(user: float | None, reply: float | None) -> voices.Pair:
    return voices.Pair(voices.Voice(pitch=user), voices.Voice(pitch=reply))


def test_synchrony_is_pearsons() -> None:
    # User 1 2 3 4, reply 2 1 4 3: the products of deviations sum to 0.75 * 4 = 3, squares to 5.
    told = [pair(1, 2), pair(2, 1), pair(None, 9), pair(3, 4), pair(4, 3)]
    found, count = voices.synchrony(told, "pitch")
    assert found == pytest.approx(0.6)
    assert count == 4
    with pytest.raises(Unscored, match="one side never changes"):
        voices.synchrony([pair(1, n) for n in (1, 2, 3, 4)], "pitch")
    with pytest.raises(Unscored, match="needs 4 exchanges"):
        voices.synchrony(told[:4], "pitch")


def test_alignment_needs_the_sound() -> None:
    with pytest.raises(Unscored, match="no consent to sound"):
        entrainment.build(ALL).measure(exchange(consent=Consent(transcript=True, research=True)))


def test_a_silent_turn_is_not_measured() -> None:
    told = entrainment.build(ALL).measure(replying(glide()[:32_000]))
    assert told["rate_gap"].unscored == "too little of the user to measure"
    assert told["reply_rate"].value is not None


# ---- perception against the truth


def percept(**fields: Any) -> dict[str, Any]:
    """As attune.percept tells it: nothing out of the ordinary, but for these."""
    plain: dict[str, Any] = {
        "emotion": {"neutral": 0.8, "sad": 0.2, "surprise": 0.0},
        "gender": {"male": 0.9, "female": 0.1},
        "age": {"adult": 0.9, "child": 0.06, "elderly": 0.04},
        "events": {"cough": 0.02, "sigh": 0.1},
        "physiological": {"hoarse": 0.0, "sobbing": 0.1},
        "environment": {"rain": 0.1, "dog": 0.0},
        "volume": {"shout": 0.0, "whisper": 0.1, "normal": 0.9},
        "speed": {"fast": 0.2, "slow": 0.0, "normal": 0.8},
        "unknown": [],
        "weights": "default",
    }
    return plain | fields


def marks(cue: str | None, heard: dict[str, Any] | None, **more: Any) -> tuple[Any, Any, Any]:
    told = perceived.build(ALL).measure(exchange(cue=cue, percept=heard, **more))
    return tuple(told[name].value for name in ("cue_recall", "cue_chance", "cue_unsure"))  # type: ignore[return-value]


def test_a_cue_is_recalled_when_it_is_named() -> None:
    sad = percept(emotion={"neutral": 0.4, "sad": 0.6})
    assert marks("sad", sad) == (100, pytest.approx(60), 0)
    assert marks("sad", percept()) == (0, pytest.approx(20), 0)
    assert marks("male", percept()) == (100, pytest.approx(90), 0)
    assert marks("whisper", percept()) == (0, pytest.approx(10), 0)


def test_what_may_come_together_is_named_from_one_half() -> None:
    both = percept(events={"cough": 0.6, "sigh": 0.7})
    assert marks("cough", both) == (100, pytest.approx(60), 0)
    assert marks("sigh", both)[0] == 100
    assert marks("sigh", percept())[0] == 0  # the likeliest of its kind, and still not likely
    assert marks("scream", percept(events={"scream": 0.9})) == (100, pytest.approx(90), 0)


def test_what_is_declared_unsure_is_not_named() -> None:
    unsure = percept(emotion={"neutral": 0.4, "sad": 0.6}, unknown=["emotion"])
    assert marks("sad", unsure) == (0, pytest.approx(60), 100)
    assert marks("cough", percept(events={"cough": 0.9}, unknown=["nonverbal"])) == (
        0, pytest.approx(90), 100,
    )  # fmt: skip


def test_neutral_is_right_where_nothing_is_named() -> None:
    assert marks("neutral", percept()) == (100, pytest.approx(80), 0)
    assert marks("neutral", percept(events={"cough": 0.8}))[0] == 0
    assert marks("neutral", percept(emotion={"neutral": 0.3, "sad": 0.7}))[0] == 0
    unsure = percept(emotion={"neutral": 0.3, "sad": 0.7}, unknown=["emotion"])
    assert marks("neutral", unsure) == (100, pytest.approx(30), 100)


def test_a_cue_the_weights_cannot_hear_is_missed() -> None:
    told = perceived.build(ALL).measure(exchange(cue="horn", percept=percept()))
    assert (told["cue_recall"].value, told["cue_chance"].value) == (0, 0)
    assert told["cue_recall"].why == "named nothing; these weights cannot hear horn"


@pytest.mark.parametrize(
    ("cue", "heard", "more", "why"),
    [
        (None, percept(), {}, "no true cue"),
        ("sad", None, {}, "no percept"),
        ("sad", percept(weights="given"), {}, "the cue was given, not heard"),
        ("sad", percept(), {"cue_given": "true"}, "the cue was given, not heard"),
        ("blue", percept(), {}, "perception has no such cue"),
    ],
)
def test_perception_is_not_marked_without_truth_or_percept(
    cue: str | None, heard: dict[str, Any] | None, more: dict[str, Any], why: str
) -> None:
    with pytest.raises(Unscored, match=why):
        marks(cue, heard, **more)
