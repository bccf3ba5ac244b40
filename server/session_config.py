"""What a client may set: the Realtime session object, merged deeply and applied whole."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from models.perception.given import CUES
from models.perception.labels import EMOTIONS
from server.errors import ClientError
from server.sessions.format import SESSION_ID, Capture
from server.validation import client_error

MAX_INSTRUCTIONS = 32_000  # characters
UNNAMED = "attune"  # the model of a client that names none


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Pcm(Part):
    type: Literal["audio/pcm"]
    rate: Literal[24000] = 24000


class Pcmu(Part):
    type: Literal["audio/pcmu"]


class Pcma(Part):
    type: Literal["audio/pcma"]


AudioFormat = Annotated[Pcm | Pcmu | Pcma, Field(discriminator="type")]


class ServerVad(Part):
    """The turn ends after a fixed silence."""

    type: Literal["server_vad"]
    threshold: float = Field(0.5, ge=0.0, le=1.0)
    prefix_padding_ms: int = Field(300, ge=0, le=2_000)
    silence_duration_ms: int = Field(500, ge=100, le=10_000)
    idle_timeout_ms: int | None = Field(None, ge=1_000, le=600_000)
    create_response: bool = True
    interrupt_response: bool = True


class SemanticVad(Part):
    """The turn ends when a model of turn endings says so, or at the eagerness' limit."""

    type: Literal["semantic_vad"]
    eagerness: Literal["low", "medium", "high", "auto"] = "auto"
    create_response: bool = True
    interrupt_response: bool = True


TurnDetection = Annotated[ServerVad | SemanticVad, Field(discriminator="type")]


class Transcription(Part):
    model: str = "moonshine-tiny-en"
    language: str | None = None
    languages: list[str] | None = None
    prompt: str | None = None
    keywords: list[str] | None = None
    delay: Literal["minimal", "low", "medium", "high", "xhigh"] | None = None


class NoiseReduction(Part):
    type: Literal["near_field", "far_field"] | None = None
    strength: float | None = None


class AudioInput(Part):
    format: AudioFormat = Pcm(type="audio/pcm")
    noise_reduction: NoiseReduction | None = None
    transcription: Transcription | None = Transcription()
    turn_detection: TurnDetection | None = SemanticVad(type="semantic_vad")


class VoiceId(Part):
    id: str


class AudioOutput(Part):
    format: AudioFormat = Pcm(type="audio/pcm")
    voice: str | VoiceId = "hibari"
    speed: float = Field(1.0, ge=0.25, le=1.5)


class Audio(Part):
    input: AudioInput = AudioInput()
    output: AudioOutput = AudioOutput()


def _known(cue: str) -> str:
    if cue not in CUES:
        some = ", ".join((*EMOTIONS, "sigh", "rain"))
        raise PydanticCustomError("unknown_cue", f"There is no such cue; some are {some}")
    return cue


class Attune(Part):
    """What is ours: told only to clients that ask for it."""

    events: bool = False  # send `attune.*` events
    binary: bool = False  # audio as binary frames, both ways
    perception: bool = True  # hear how the user speaks, beside the words
    # How the user really sounds, where somebody knows it: taken instead of what is heard.
    cue: Annotated[str, AfterValidator(_known)] | None = None
    capture: Capture | None = None  # how the client records
    replay_of: str | None = Field(None, pattern=f"^{SESSION_ID.pattern}$")

    @property
    def listens(self) -> bool:
        """Whether anybody would notice how the user sounds."""
        return self.perception and self.cue is None


class SessionConfig(Part):
    type: Literal["realtime", "transcription"] = "realtime"
    object: Literal["realtime.session"] = "realtime.session"
    id: str
    model: str
    instructions: str = Field("", max_length=MAX_INSTRUCTIONS)
    output_modalities: list[Literal["text", "audio"]] = Field(["audio"], min_length=1, max_length=1)
    max_output_tokens: Annotated[int, Field(ge=1, le=4096)] | Literal["inf"] = "inf"
    audio: Audio = Audio()
    attune: Attune = Attune()
    # Accepted and echoed so that stock clients work; the embedded reply model calls no tools.
    tools: list[dict[str, Any]] = Field([], max_length=128)
    tool_choice: str | dict[str, Any] = "auto"
    parallel_tool_calls: bool | None = None
    tracing: str | dict[str, Any] | None = None
    truncation: str | dict[str, Any] = "auto"
    prompt: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None
    include: list[Literal["item.input_audio_transcription.logprobs"]] | None = None

    @property
    def speaks(self) -> bool:
        return self.output_modalities == ["audio"]

    @property
    def opted_in(self) -> bool:
        return self.attune != Attune()

    def payload(self) -> dict[str, Any]:
        """The session as `session.created` and `session.updated` show it."""
        if self.type == "transcription":
            shown = self.model_dump(include={"type", "object", "id", "include"})
            return {**shown, "audio": {"input": self.audio.input.model_dump()}}
        hidden = set() if self.opted_in else {"attune"}
        return self.model_dump(exclude=hidden)


def updated(config: SessionConfig, patch: dict[str, Any], *, has_spoken: bool) -> SessionConfig:
    """The config with the patch merged in, or a ClientError and no change at all."""
    for fixed in ("id", "object"):
        if fixed in patch and patch[fixed] != getattr(config, fixed):
            raise ClientError(
                "invalid_value", f"'session.{fixed}' cannot be changed.", f"session.{fixed}"
            )
    model = patch.get("model", config.model)
    if config.model == UNNAMED and isinstance(model, str):
        pass  # the client did not name one when it connected: it may now
    elif model != config.model:
        raise ClientError(
            "invalid_value",
            f"The model is fixed to '{config.model}' when the session opens.",
            "session.model",
        )
    try:
        new = SessionConfig.model_validate(merged(config.model_dump(), patch))
    except ValidationError as error:
        raise client_error(error, "session") from None
    if has_spoken and new.audio.output.voice != config.audio.output.voice:
        raise ClientError(
            "cannot_update_voice",
            "The voice cannot be changed once the session has spoken.",
            "session.audio.output.voice",
        )
    return new


def check_size(settings: BaseModel, most_bytes: int, param: str) -> str:
    """The settings as JSON. A ClientError if they are larger than may be kept and echoed."""
    written = settings.model_dump_json()
    if len(written.encode()) > most_bytes:
        message = f"'{param}' may have at most {most_bytes} bytes as JSON, all settings together."
        raise ClientError("settings_too_long", message, param)
    return written


def merged(base: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Deep merge: only what the patch holds changes, and a null or another `type` replaces."""
    result = dict(base)
    for key, value in patch.items():
        old = base.get(key)
        result[key] = value
        if isinstance(old, dict) and isinstance(value, dict):
            kind = old.get("type")
            if value.get("type", kind) == kind:
                result[key] = merged(old, value)
    return result
