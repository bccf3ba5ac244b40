"""A classifier's emotion beside our own: its names, its weight, and the process it may live in."""

import asyncio
import http.client
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import numpy as np
import pytest

from models.errors import BackendError
from models.percept import Chances
from models.perception.emotion2vec import Emotion2vec
from models.perception.emotion2vec_server import MOST, Answer, Server
from models.perception.hub_labels import chances, emotions
from models.perception.joined import Joined, blended
from models.perception.labels import DIMENSIONS, EMOTIONS
from models.perception.perceiver import AttunePerceiver
from models.types import EAR_RATE, AudioChunk
from tests.made_network import MadeNetwork
from tests.made_voices import recorded

VOICE = "1069-133699-0000"
LABELS = ["生气/angry", "开心/happy", "难过/sad", "中立/neutral", "其他/other", "<unk>"]


# ---- names


def test_a_classifiers_labels_are_ours_by_whatever_name() -> None:
    assert emotions(["neu", "hap", "ang", "sad"]) == ["neutral", "happy", "angry", "sad"]
    assert emotions(["Fearful", "Surprised", "calm"]) == ["fear", "surprise", "neutral"]
    assert emotions(LABELS) == ["angry", "happy", "sad", "neutral", "other", "other"]


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        (["happy", "LABEL_3"], "label 'LABEL_3' is no emotion known here: name it in "),
        (["happy", "other"], "a classifier of happy, other tells no emotions"),
        ([], "tells no emotions"),
    ],
)
def test_labels_we_cannot_read_are_refused(labels: list[str], complaint: str) -> None:
    with pytest.raises(BackendError, match=complaint):
        emotions(labels)


def test_every_name_in_the_table_is_an_emotion_or_other() -> None:
    from models.perception.hub_labels import _NAMES

    assert set(_NAMES.values()) == {*EMOTIONS, "other"}


def test_labels_for_one_emotion_add_up_and_others_are_left_out() -> None:
    heard = chances(["neutral", "neutral", "happy", "other"], [0.2, 0.3, 0.1, 0.4], 1.0)
    assert heard == pytest.approx({"happy": 0.1, "neutral": 0.5})


def test_a_temperature_divides_the_logits() -> None:
    logits = np.array([2.0, 0.5, -1.0])
    shares = np.exp(logits) / np.exp(logits).sum()
    softer = np.exp(logits / 3) / np.exp(logits / 3).sum()
    heard = chances(["happy", "sad", "neutral"], list(shares), 3.0)
    assert list(heard.values()) == pytest.approx(list(softer))


def test_even_the_lowest_temperature_leaves_the_likeliest() -> None:
    heard = chances(["happy", "sad", "neutral"], [0.3, 0.3, 0.4], 0.0001)
    assert heard == pytest.approx({"happy": 0.0, "sad": 0.0, "neutral": 1.0})


@pytest.mark.parametrize(
    ("shares", "complaint"),
    [
        ([0.0, 0.0], "scores that are no shares"),
        ([-0.1, 1.1], "scores that are no shares"),
        ([float("nan"), 1.0], "scores that are no shares"),
        ([1.0, float("nan")], "scores that are no shares"),
        ([float("inf"), 0.0], "scores that are no shares"),
        ([0.5, 0.2, 0.3], "gave 3 scores for its 2 labels"),
        ([], "gave 0 scores for its 2 labels"),
    ],
)
def test_scores_that_are_none_are_told_in_a_sentence(shares: list[float], complaint: str) -> None:
    for temperature in (0.5, 1.0, 2.0):
        with pytest.raises(BackendError, match=complaint):
            chances(["happy", "sad"], shares, temperature)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_a_temperature_that_is_none_is_refused_at_once(temperature: float) -> None:
    with pytest.raises(BackendError, match="temperature is a number above 0, and not"):
        Emotion2vec(temperature=temperature)


# ---- weight


def test_two_words_on_the_same_emotions_are_averaged() -> None:
    ours, theirs = {"happy": 0.2, "neutral": 0.8}, {"happy": 0.6, "neutral": 0.4}
    assert blended(ours, theirs, 0.5) == pytest.approx({"happy": 0.4, "neutral": 0.6})
    assert blended(ours, theirs, 1.0) == pytest.approx(theirs)
    assert blended(ours, theirs, 0.0) == ours
    assert blended(ours, {}, 0.5) == ours


def test_what_one_side_cannot_hear_the_other_says_alone() -> None:
    ours = {"happy": 0.3, "fear": 0.4, "neutral": 0.3}
    both = blended(ours, {"happy": 1.0, "neutral": 0.0}, 1.0)
    assert both == pytest.approx({"happy": 0.6, "fear": 0.4, "neutral": 0.0})
    both = blended({"happy": 1.0}, {"happy": 0.5, "surprise": 0.5}, 0.5)
    assert both == pytest.approx({"happy": 0.5, "surprise": 0.5})


def test_who_says_something_else_has_less_to_say() -> None:
    ours = {"happy": 0.0, "neutral": 1.0}
    assert blended(ours, {"happy": 0.1, "neutral": 0.0}, 1.0)["happy"] == pytest.approx(0.1)


# ---- both together


class Says:
    """A classifier that says what it is told to, and remembers what it was shown."""

    def __init__(self, *answers: Chances | BackendError) -> None:
        self.answers = list(answers)
        self.shown: list[int] = []
        self.closed = False

    async def classify(self, audio: AudioChunk) -> Chances:
        self.shown.append(len(audio.samples))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BackendError):
            raise answer
        return answer

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Joined]]:
    """Our perceiver, on a made network, beside a classifier."""
    MadeNetwork().stands_in(monkeypatch)
    opened: list[Joined] = []

    def join(classifier: Says, **options: Any) -> Joined:
        opened.append(Joined(AttunePerceiver(), classifier, **options))
        return opened[-1]

    yield join
    for each in opened:
        each.close()


def surely(emotion: str) -> Chances:
    return dict.fromkeys(EMOTIONS, 0.01) | {emotion: 0.94}


SPEECH = AudioChunk(recorded(VOICE)[: 3 * EAR_RATE])


async def test_a_sure_classifier_makes_the_emotion_known_and_moves_the_affect(
    joined: Callable[..., Joined],
) -> None:
    heard = {}
    for name in ("happy", "sad"):
        perceiver = joined(Says(surely(name)), share=0.9)
        heard[name] = await perceiver.attend().perceive(SPEECH)
        assert max(heard[name].emotion, key=heard[name].emotion.__getitem__) == name
        assert "emotion" not in heard[name].unknown
    happy, sad = heard["happy"].expressed, heard["sad"].expressed
    assert happy and sad and happy.valence > sad.valence + 1
    assert heard["happy"].gender == heard["sad"].gender


async def test_an_unsure_classifier_leaves_the_emotion_unknown(
    joined: Callable[..., Joined],
) -> None:
    even = dict.fromkeys(EMOTIONS, 1 / 7)
    percept = await joined(Says(even), share=1.0).attend().perceive(SPEECH, "I am so happy!")
    assert "emotion" in percept.unknown
    assert percept.conflict is None


async def test_words_against_the_joined_voice_are_a_conflict(joined: Callable[..., Joined]) -> None:
    perceiver = joined(Says(surely("sad")), share=1.0)
    percept = await perceiver.attend().perceive(SPEECH, "I am so happy, this is wonderful!")
    assert percept.conflict and (percept.conflict.words, percept.conflict.voice) == ("happy", "sad")


async def test_a_classifier_is_not_asked_about_what_is_no_speech(
    joined: Callable[..., Joined],
) -> None:
    classifier = Says({"happy": 1.0, "neutral": 0.0})
    silence = AudioChunk(np.zeros(EAR_RATE, np.float32))
    percept = await joined(classifier).attend().perceive(silence)
    assert percept.unknown == tuple(DIMENSIONS)
    assert not classifier.shown


async def test_a_stretch_is_classified_once_and_by_its_latest_seconds(
    joined: Callable[..., Joined],
) -> None:
    classifier = Says({"happy": 0.9, "neutral": 0.1})
    attention = joined(classifier).attend()
    await attention.perceive(SPEECH)
    await attention.perceive(SPEECH, "Good morning.")
    assert classifier.shown == [3 * EAR_RATE]
    longer = np.tile(SPEECH.samples, 5)
    await attention.glance(AudioChunk(longer[: 3 * EAR_RATE + EAR_RATE // 2]))  # near enough
    assert len(classifier.shown) == 1
    await attention.glance(AudioChunk(longer))
    assert classifier.shown[1:] == [10 * EAR_RATE]


async def test_without_its_classifier_our_own_goes_on_and_says_so_once(
    joined: Callable[..., Joined], caplog: pytest.LogCaptureFixture
) -> None:
    gone = BackendError("perceiver", "nobody answers")
    perceiver = joined(Says(gone, gone, {"happy": 1.0, "sad": 0.0}), share=1.0)
    with caplog.at_level(logging.WARNING):
        first, second, third = [await perceiver.attend().perceive(SPEECH) for _ in range(3)]
    assert first == second
    assert first.emotion != third.emotion
    assert [record.getMessage() for record in caplog.records] == [
        "emotion is heard by our own network alone: nobody answers"
    ]


async def test_closing_the_join_closes_the_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    MadeNetwork().stands_in(monkeypatch)
    classifier = Says({})
    Joined(AttunePerceiver(), classifier).close()
    assert classifier.closed


# ---- the emotion2vec process


class Process:
    """The real server with a made model: as loud as it is, so happy is the sound."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.answer: Any = None  # in place of what it hears
        self.asked = 0
        self.server = Server(("127.0.0.1", 0), self.classify)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self._thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()

    def classify(self, sound: bytes) -> Answer:
        self.asked += 1
        if self.failure:
            raise self.failure
        if self.answer is not None:
            answer: Answer = self.answer
            return answer
        loud = float(np.abs(np.frombuffer(sound, "<i2")).max()) / 32_768
        return {"labels": LABELS, "scores": [0.0, loud, 0.0, 0.9 - loud, 0.1, 0.0]}

    def stop(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


@pytest.fixture
def process() -> Iterator[Process]:
    process = Process()
    yield process
    process.stop()


@pytest.fixture
def client(process: Process) -> Iterator[Emotion2vec]:
    client = Emotion2vec(process.url)
    yield client
    client.close()


async def test_the_process_hears_the_sound_we_send(client: Emotion2vec) -> None:
    sound = np.full(EAR_RATE, 0.5, np.float32)
    for audio in (AudioChunk(sound), AudioChunk(np.repeat(sound, 3), 3 * EAR_RATE)):
        heard = await client.classify(audio)
        assert heard["happy"] == pytest.approx(0.5, abs=0.05)
        assert sum(heard.values()) == pytest.approx(0.9, abs=0.01)  # the rest is something else


async def test_conversations_share_the_process(client: Emotion2vec) -> None:
    levels = (0.1, 0.4, 0.7)
    sounds = [AudioChunk(np.full(EAR_RATE, level, np.float32)) for level in levels]
    heard = await asyncio.gather(*(client.classify(sound) for sound in sounds))
    assert [chances["happy"] for chances in heard] == pytest.approx(levels, abs=0.01)


async def test_a_model_that_fails_is_told_in_a_sentence_and_asked_again(
    process: Process, client: Emotion2vec, capfd: pytest.CaptureFixture[str]
) -> None:
    process.failure = RuntimeError("out of memory")
    with pytest.raises(BackendError, match="emotion2vec at http://.* refused: the model failed"):
        await client.classify(AudioChunk(np.zeros(800, np.float32)))
    assert "out of memory" in capfd.readouterr().err
    process.failure = None
    assert await client.classify(AudioChunk(np.zeros(800, np.float32)))


async def test_a_process_that_has_gone_is_told_with_how_to_start_it(process: Process) -> None:
    client = Emotion2vec(process.url)
    process.stop()
    client._http.close()
    client._http = httpx2.Client(timeout=2)  # as if the open connection had been lost
    with pytest.raises(BackendError) as caught:
        await client.classify(AudioChunk(np.zeros(800, np.float32)))
    client.close()
    assert str(caught.value) == (
        f"no emotion2vec process answers at {process.url}: start one with "
        ".venv-emotion2vec/bin/python -m models.perception.emotion2vec_server"
    )


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({}, "^what answers at http://.* is no emotion2vec process$"),
        ([], "is no emotion2vec process"),
        ({"labels": "happy", "scores": [1.0]}, "is no emotion2vec process"),
        ({"labels": LABELS, "scores": ["much"] * 6}, "is no emotion2vec process"),
        ({"labels": LABELS}, "gave 0 scores for its 6 labels"),
        ({"labels": LABELS, "scores": [0.0] * 6}, "scores that are no shares"),
    ],
)
async def test_an_answer_of_another_kind_is_told_in_a_sentence(
    process: Process, client: Emotion2vec, answer: Any, complaint: str
) -> None:
    process.answer = answer
    with pytest.raises(BackendError, match=complaint):
        await client.classify(AudioChunk(np.zeros(800, np.float32)))


def test_a_process_of_another_kind_is_refused_at_once(process: Process) -> None:
    process.server.labels = None  # type: ignore[assignment]
    with pytest.raises(BackendError, match="^what answers at http://.* is no emotion2vec process$"):
        Emotion2vec(process.url)


async def test_a_proxy_for_the_web_is_not_asked(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    client = Emotion2vec(process.url)
    assert await client.classify(AudioChunk(np.zeros(800, np.float32)))
    client.close()


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "nonsense", "http://[bad"])
def test_a_url_without_a_process_is_refused_at_once(url: str) -> None:
    with pytest.raises(BackendError, match="no emotion2vec process answers at"):
        Emotion2vec(url)


def test_the_process_refuses_what_is_no_sound(process: Process) -> None:
    asked = process.asked
    with httpx2.Client(base_url=process.url) as asking:
        assert asking.post("/classify", content=b"").status_code == 400
        assert asking.post("/classify", content=b"123").status_code == 400
        assert asking.post("/other", content=b"12").status_code == 404
        assert asking.get("/other").status_code == 404
        assert asking.get("/health").json() == {"labels": LABELS}
    host, port = process.server.server_address[:2]
    connection = http.client.HTTPConnection(str(host), port, timeout=10)
    connection.putrequest("POST", "/classify")
    connection.putheader("Content-Length", str(MOST + 2))  # its sound need not be sent
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    assert process.asked == asked


@pytest.mark.parametrize("size", ["-1", "abc", "1_0", "9" * 5_000])
def test_a_length_that_is_none_is_refused_and_not_waited_for(
    process: Process, size: str, capfd: pytest.CaptureFixture[str]
) -> None:
    host, port = process.server.server_address[:2]
    connection = http.client.HTTPConnection(str(host), port, timeout=10)
    connection.putrequest("POST", "/classify")
    connection.putheader("Content-Length", size)
    connection.endheaders()
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (400, b"the Content-Length is no number of bytes")
    connection.close()
    assert "Traceback" not in capfd.readouterr().err
