"""Whisper as transcriber: transformers' network, decoded one step at a time."""

from collections.abc import Generator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import WhisperForConditionalGeneration, WhisperProcessor

from models import hub, weights
from models.asr_moonshine import pieces, repeated
from models.audio import resample
from models.errors import BackendError
from models.types import EAR_RATE, AudioChunk, Samples
from models.worker import Worker

ROLE = "transcriber"
TABLED = "openai/whisper-large-v3-turbo"  # the one whose files the table of weights knows

_SHORTEST = EAR_RATE // 10  # no word is shorter than 0.1 s
_SILENT = 10 ** (-60 / 20)  # full scale is 1; where it is fainter, Whisper makes words up
_TOKENS_PER_SEC, _TOKENS_SPARE = 8, 8  # nobody speaks faster; more is the decoder raving
_BREATH = 8  # tokens between two moments at which others may have the thread
# Whisper's own rule for words that come of its habits, not of the sound.
_NO_SPEECH, _UNSURE = 0.6, -1.0  # the chance of no speech; the words' mean log probability
# What it learnt from films' subtitles, and nobody says in a conversation.
_SUBTITLES = ("♪", "©", "thank you for watching", "thanks for watching")


@dataclass(frozen=True, slots=True)
class _Guess:
    """Tokens without start and end, how sure they are on the whole, and the chance of none."""

    tokens: list[int]
    sureness: float
    no_speech: float


class Whisper:
    """The network in its own thread. Conversations take turns every few tokens."""

    def __init__(self, model: str = TABLED, language: str = "en", device: str = "auto") -> None:
        """Loads the network.

        Args:
            model: of the hub, downloaded before, or a folder.
            language: the one that is spoken ("en", "de"); empty to let the network find out.
            device: where it runs: "auto", "cpu", "cuda", "cuda:1".
        """
        self._place = hub.device(ROLE, device)
        self._precision = hub.precision(self._place)
        folder = str(_fetched()) if model == TABLED else model
        self._processor = hub.pretrained(ROLE, WhisperProcessor, folder)
        self._network = hub.pretrained(
            ROLE, WhisperForConditionalGeneration, folder, dtype=self._precision
        )
        self._network.to(self._place).eval()
        rules = self._network.generation_config
        self._start: int = self._network.config.decoder_start_token_id
        self._end: int = self._network.config.eos_token_id
        self._plain: int = self._processor.tokenizer.convert_tokens_to_ids("<|notimestamps|>")
        self._never = [*(rules.suppress_tokens or []), *range(self._end + 1, self._plain + 1)]
        self._never_first = list(rules.begin_suppress_tokens or [])
        self._task: int | None = (getattr(rules, "task_to_id", None) or {}).get("transcribe")
        # A network for English alone has no names of languages, and is told none.
        self._languages: dict[str, int] = getattr(rules, "lang_to_id", None) or {}
        if self._languages and language and f"<|{language}|>" not in self._languages:
            names = ", ".join(sorted(name.strip("<|>") for name in self._languages))
            raise BackendError(
                ROLE, f"Whisper knows no language {language!r}; choose one of: {names}"
            )
        self._language = self._languages.get(f"<|{language}|>")
        self._worker = Worker("whisper")

    async def transcribe(self, audio: AudioChunk) -> str:
        # Leaving early closes the generator: a cancelled transcription stops within a breath.
        async with aclosing(self._worker.stream(self._hear(audio))) as heard:
            return " ".join([words async for words in heard if words])

    def close(self) -> None:
        self._worker.close()

    def _hear(self, audio: AudioChunk) -> Generator[str, None, None]:
        """Nothing at every breath, and after each piece of sound its words."""
        for piece in pieces(resample(audio.samples, audio.rate, EAR_RATE)):
            if len(piece) < _SHORTEST or np.abs(piece).max() < _SILENT:
                continue
            try:
                guess = yield from self._decode(piece)
            except RuntimeError as error:  # torch's own; a full GPU among them
                reason = str(error).partition("\n")[0]
                raise BackendError(ROLE, f"Whisper failed: {reason}") from error
            yield self._words(guess)

    def _decode(self, samples: Samples) -> Generator[str, None, _Guess]:
        """The likeliest token at every step, until the end or a limit."""
        step = _Steps(self._network, self._features(samples))
        first = step([self._start])
        no_speech = float(first.softmax(-1)[self._plain - 1])  # its token stands before that one
        prompt = [*self._spoken(first), self._plain]
        logits = step(prompt)
        yield ""
        limit = int(len(samples) / EAR_RATE * _TOKENS_PER_SEC) + _TOKENS_SPARE
        limit = min(limit, self._network.config.max_target_positions - len(prompt) - 1)
        tokens: list[int] = []
        log_probs: list[float] = []
        while len(tokens) < limit:
            logits[self._never + ([] if tokens else self._never_first)] = -torch.inf
            token = int(logits.argmax())
            log_probs.append(float(logits.log_softmax(-1)[token]))
            if token == self._end:
                break
            tokens.append(token)
            if looping := repeated(tokens):
                del tokens[-looping:], log_probs[-looping:]
                break
            if len(tokens) % _BREATH == 0:
                yield ""
            logits = step([token])
        return _Guess(tokens, float(np.mean(log_probs)), no_speech)

    def _features(self, samples: Samples) -> torch.Tensor:
        heard = self._processor.feature_extractor(
            samples, sampling_rate=EAR_RATE, return_tensors="pt"
        )
        features: torch.Tensor = heard.input_features.to(self._place, self._precision)
        return features

    def _spoken(self, first: torch.Tensor) -> list[int]:
        """The tokens that name language and task; an unnamed language is the likeliest one."""
        if not self._languages:
            return []
        known = list(self._languages.values())
        language = self._language or known[int(first[known].argmax())]
        return [language] if self._task is None else [language, self._task]

    def _words(self, guess: _Guess) -> str:
        if guess.no_speech > _NO_SPEECH and guess.sureness < _UNSURE:
            return ""
        text: str = self._processor.tokenizer.decode(guess.tokens, skip_special_tokens=True)
        spoken = any(map(str.isalnum, text)) and not any(s in text.lower() for s in _SUBTITLES)
        return text.strip() if spoken else ""


class _Steps:
    """The decoder after one sound: takes tokens, and gives the logits of the one that follows."""

    def __init__(self, network: Any, features: torch.Tensor) -> None:
        self._network = network
        self._place = features.device
        with torch.inference_mode():
            self._sound = network.get_encoder()(features)
        self._past: Any = None

    def __call__(self, tokens: list[int]) -> torch.Tensor:
        with torch.inference_mode():
            out = self._network(
                encoder_outputs=self._sound,
                decoder_input_ids=torch.tensor([tokens], device=self._place),
                past_key_values=self._past,
                use_cache=True,
            )
        self._past = out.past_key_values
        logits: torch.Tensor = out.logits[0, -1].float().clone()
        return logits


def _fetched() -> Path:
    """The folder in which the table of weights keeps its Whisper."""
    names = [row.name for row in weights.TABLE if row.origin.name == TABLED]
    return [weights.path(name) for name in names][0].parent
