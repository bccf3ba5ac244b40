"""Which backends exist, and how to build the chosen ones."""

import tomllib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from models.errors import BackendError
from models.protocols import Models

# Named, not imported: a backend's packages load only if it is chosen.
BACKENDS: Mapping[str, Mapping[str, str]] = {
    "voice_detector": {
        "silero": "models.vad_silero:SileroDetector",
        "standin": "models.standin:StandinDetector",
    },
    "turn_judge": {
        "smart-turn": "models.turn_smart:SmartTurn",
        "standin": "models.standin:StandinJudge",
    },
    "transcriber": {
        "moonshine": "models.asr_moonshine:Moonshine",
        "openai": "models.asr_openai:OpenAITranscriber",
        "whisper": "models.asr_whisper:Whisper",
        "standin": "models.standin:StandinTranscriber",
    },
    "perceiver": {
        "attune": "models.perception.perceiver:AttunePerceiver",
        "attune+emotion2vec": "models.perception.emotion2vec:joined",
        "attune+hf": "models.perception.hf_emotion:joined",
        "off": "models.perceiver_off:Off",
        "standin": "models.standin:StandinPerceiver",
    },
    "thinker": {
        "dual": "models.thinking.dual:DualThinker",
        "plain": "models.thinking.plain:PlainThinker",
        "tuned": "models.thinking.tuned:TunedThinker",
    },
    "responder": {
        "llamacpp": "models.responder_llamacpp:LlamaCpp",
        "vllm": "models.responder_vllm:VllmResponder",
        "standin": "models.standin:StandinResponder",
    },
    "speaker": {
        "hibari": "models.speaker_hibari:Hibari",
        "openai": "models.speaker_openai:OpenAISpeaker",
        "kokoro": "models.speaker_kokoro:Kokoro",
        "standin": "models.standin:StandinSpeaker",
    },
}
EXTRAS = {"torch": ".[gpu]", "transformers": ".[gpu]", "huggingface_hub": ".[gpu]"}  # else "."


@dataclass(frozen=True, slots=True)
class Choice:
    """A backend by name, with its constructor's keyword arguments."""

    backend: str
    options: Mapping[str, Any] = field(default_factory=dict)


def read(profile: Path) -> dict[str, Choice]:
    """The choices a profile's [models.*] tables make."""
    tables: dict[str, dict[str, Any]] = tomllib.loads(profile.read_text("utf-8")).get("models", {})
    return {
        role: Choice(table["backend"], table.get("options", {})) for role, table in tables.items()
    }


def build(role: str, choice: Choice) -> Any:
    """The chosen backend, ready to work: an instance of the role's Protocol."""
    backend = _known(f"{role} backend", choice.backend, _known("role", role, BACKENDS))
    module, name = backend.split(":")
    try:
        cls = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        package = (error.name or module).split(".")[0]
        raise BackendError(
            role,
            f"{role} backend {choice.backend!r} needs the package {package!r}: "
            f"run pip install '{EXTRAS.get(package, '.')}'",
        ) from error
    options = signature(cls).parameters
    for option in choice.options:
        _known(f"option of {role} backend {choice.backend!r}", option, options)
    return cls(**choice.options)


def load(choices: Mapping[str, Choice]) -> Models:
    """A backend for every role; closing the result closes each that can be closed."""
    for role in choices:
        _known("role", role, BACKENDS)
    if missing := [role for role in BACKENDS if role not in choices]:
        raise ValueError(f"no backend chosen for: {', '.join(missing)}")
    with ExitStack() as opened:  # closes what was built if a later one fails
        built: dict[str, Any] = {}
        for role in BACKENDS:
            built[role] = build(role, choices[role])
            if close := getattr(built[role], "close", None):
                opened.callback(close)
        return Models(**built, close=opened.pop_all().close)


def _known(kind: str, name: str, table: Mapping[str, Any]) -> Any:
    if name not in table:
        raise ValueError(
            f"unknown {kind} {name!r}; choose one of: {', '.join(table) or '(there are none)'}"
        )
    return table[name]
