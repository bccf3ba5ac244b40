"""Emotion by an emotion2vec+ process: its packages quarrel with ours, so it is asked by URL."""

from functools import partial

import httpx2
from pydantic import BaseModel, ValidationError

from models.audio import encode_pcm16, resample
from models.errors import BackendError
from models.percept import Chances
from models.perception.hub_labels import chances, checked, emotions
from models.perception.joined import Joined
from models.perception.perceiver import AttunePerceiver
from models.types import EAR_RATE, AudioChunk
from models.worker import Worker

ROLE = "perceiver"
URL = "http://127.0.0.1:7861"


class _Answer(BaseModel):
    labels: list[str]
    scores: list[float] = []  # none about its health


class Emotion2vec:
    """One connection in its own thread: the process answers one question at a time."""

    def __init__(self, url: str = URL, temperature: float = 1.0, timeout: float = 2.0) -> None:
        self._url = url.rstrip("/")
        self._temperature = checked(temperature)
        # A proxy for the web is no way to a process of one's own.
        self._http = httpx2.Client(timeout=timeout, trust_env=False)
        try:
            emotions(self._ask("GET", "/health").labels)
        except BaseException:
            self._http.close()
            raise
        self._worker = Worker("emotion2vec")

    async def classify(self, audio: AudioChunk) -> Chances:
        return await self._worker.run(partial(self._classify, audio))

    def close(self) -> None:
        self._worker.close()
        self._http.close()

    def _classify(self, audio: AudioChunk) -> Chances:
        sound = encode_pcm16(resample(audio.samples, audio.rate, EAR_RATE))
        heard = self._ask("POST", "/classify", sound)
        return chances(emotions(heard.labels), heard.scores, self._temperature)

    def _ask(self, method: str, path: str, sound: bytes = b"") -> _Answer:
        try:
            answer = self._http.request(method, self._url + path, content=sound)
            answer.raise_for_status()
            return _Answer.model_validate_json(answer.content)
        except httpx2.HTTPStatusError as error:
            reason = error.response.text.strip() or error.response.reason_phrase
            raise BackendError(ROLE, f"emotion2vec at {self._url} refused: {reason}") from error
        except ValidationError as error:
            raise BackendError(
                ROLE, f"what answers at {self._url} is no emotion2vec process"
            ) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise BackendError(
                ROLE,
                f"no emotion2vec process answers at {self._url}: start one with "
                ".venv-emotion2vec/bin/python -m models.perception.emotion2vec_server",
            ) from error


def joined(
    url: str = URL,
    temperature: float = 1.0,
    share: float = 0.5,
    sure: float = 0.5,
    weights: str = "default",
    threads: int = 1,
) -> Joined:
    """Our own perceiver with an emotion2vec+ process beside it.

    Args:
        url: where the process listens.
        temperature: above 1 for a classifier that is too sure of itself.
        share: of the classifier's word in the emotion, 0-1.
        sure: chance from which the emotion is taken for known.
        weights: of our own network: "default" or "research".
        threads: of our own network.
    """
    classifier = Emotion2vec(url, temperature)
    return Joined(AttunePerceiver(weights, threads), classifier, share, sure)
