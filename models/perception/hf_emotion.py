"""Emotion by a classifier of the model hub: wav2vec2, WavLM, HuBERT and their kind."""

from functools import partial

import numpy as np
import torch
from transformers import AutoFeatureExtractor, AutoModelForAudioClassification

from models import hub
from models.audio import resample
from models.errors import BackendError
from models.percept import Chances
from models.perception.hub_labels import chances, checked, emotions
from models.perception.joined import Joined
from models.perception.perceiver import AttunePerceiver
from models.types import EAR_RATE, AudioChunk
from models.worker import Worker

ROLE = "perceiver"
DEFAULT = "superb/wav2vec2-large-superb-er"  # Apache-2.0; four emotions, taught on IEMOCAP

_SHORTEST = EAR_RATE // 2  # networks of this kind need some sound to stand on: silence is added


class HfEmotion:
    """The network in its own thread."""

    def __init__(self, model: str = DEFAULT, temperature: float = 1.0, device: str = "auto"):
        self._temperature = checked(temperature)
        self._place = hub.device(ROLE, device)
        self._extractor = hub.pretrained(ROLE, AutoFeatureExtractor, model)
        if self._extractor.sampling_rate != EAR_RATE:
            raise BackendError(
                ROLE, f"{model} listens at {self._extractor.sampling_rate} Hz, not at {EAR_RATE}"
            )
        self._network, loaded = hub.pretrained(
            ROLE,
            AutoModelForAudioClassification,
            model,
            dtype=hub.precision(self._place),
            output_loading_info=True,
        )
        # Such a head would be made up at random, and answer all the same.
        body = f"{self._network.base_model_prefix}."
        if lacking := [key for key in loaded["missing_keys"] if not key.startswith(body)]:
            raise BackendError(ROLE, f"{model} is no whole classifier: {min(lacking)} is missing")
        self._network.to(self._place).eval()
        labels = self._network.config.id2label
        self._names = emotions([labels[at] for at in sorted(labels)])
        self._worker = Worker("hf-emotion")

    async def classify(self, audio: AudioChunk) -> Chances:
        return await self._worker.run(partial(self._classify, audio))

    def close(self) -> None:
        self._worker.close()

    def _classify(self, audio: AudioChunk) -> Chances:
        samples = resample(audio.samples, audio.rate, EAR_RATE)
        samples = np.pad(samples, (0, max(0, _SHORTEST - len(samples))))
        heard = self._extractor(samples, sampling_rate=EAR_RATE, return_tensors="pt")
        # One sound fills its batch, so a mask would mask nothing: only the sound is handed on.
        feed = {
            name: heard[name].to(self._place, self._network.dtype)
            for name in self._extractor.model_input_names
            if name != "attention_mask"
        }
        try:
            with torch.inference_mode():
                logits = self._network(**feed).logits[0]
        except RuntimeError as error:  # torch's own; a full GPU among them
            reason = str(error).partition("\n")[0]
            raise BackendError(ROLE, f"the emotion classifier failed: {reason}") from error
        return chances(self._names, logits.double().softmax(-1).tolist(), self._temperature)


def joined(
    model: str = DEFAULT,
    temperature: float = 1.0,
    share: float = 0.5,
    sure: float = 0.5,
    device: str = "auto",
    weights: str = "default",
    threads: int = 1,
) -> Joined:
    """Our own perceiver with a classifier of the hub beside it.

    Args:
        model: of the hub, downloaded before, or a folder.
        temperature: above 1 for a classifier that is too sure of itself.
        share: of the classifier's word in the emotion, 0-1.
        sure: chance from which the emotion is taken for known.
        device: where the classifier runs: "auto", "cpu", "cuda", "cuda:1".
        weights: of our own network: "default" or "research".
        threads: of our own network.
    """
    classifier = HfEmotion(model, temperature, device)
    return Joined(AttunePerceiver(weights, threads), classifier, share, sure)
