"""Words from a server behind OpenAI's transcription interface: Whisper on vLLM, or any other."""

import numpy as np

from models.audio import resample, wav
from models.openai_http import CONCURRENCY, OpenAIServer
from models.types import EAR_RATE, AudioChunk

SHORTEST = EAR_RATE // 10  # no word is shorter than 0.1 s
AUDIBLE = 10 ** (-60 / 20)  # -60 dBFS


class OpenAITranscriber:
    """A Transcriber that sends every utterance whole, as a WAV file."""

    def __init__(
        self,
        url: str,
        model: str,
        language: str = "en",
        api_key: str | None = None,
        timeout_sec: float = 10.0,
        concurrency: int = CONCURRENCY,
    ) -> None:
        """Connects to nothing yet.

        Args:
            url: of the server, up to and with the version, as in "http://localhost:8000/v1".
            model: as the server names it.
            language: of what is said, in two letters.
            api_key: where the server asks for one.
            timeout_sec: for its turn to be asked, and for the words to come.
            concurrency: utterances sent at the same time; others wait, those needed first in front.
        """
        self._server = OpenAIServer(
            "transcriber", "transcription server", url, api_key, timeout_sec, concurrency
        )
        self._fields = {
            "model": model,
            "language": language,
            "response_format": "json",
            "temperature": "0",
        }

    async def transcribe(self, audio: AudioChunk) -> str:
        samples = resample(audio.samples, audio.rate, EAR_RATE)
        # Whisper and its kin put words into silence: it is not even sent.
        if len(samples) < SHORTEST or np.abs(samples).max() < AUDIBLE:
            return ""
        file = ("speech.wav", wav(samples, EAR_RATE), "audio/wav")
        async with self._server.post(
            "/audio/transcriptions", data=self._fields, files={"file": file}
        ) as answer:
            await answer.aread()
            try:
                text = answer.json()["text"]
            except (ValueError, KeyError, TypeError) as error:
                raise self._server.failed("answered without words") from error
        if not isinstance(text, str):  # as words, a null would be "None"
            raise self._server.failed("answered without words")
        return text.strip()
