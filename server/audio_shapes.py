"""What programs ask of our voice and our ears over HTTP, and what they are answered."""

from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from server.openapi import EVENTS, SOUND, TEXT, answers
from server.speech_formats import MEDIA, Format

MOST_TEXT = 4096  # characters to speak, as the official service has it
TranscriptFormat = Literal["json", "text", "verbose_json", "srt", "vtt"]


class SpeechRequest(BaseModel):
    """What is to be said. One voice and one model are here: any name means them."""

    input: str = Field(max_length=MOST_TEXT)
    model: str
    voice: str | dict[str, Any]
    instructions: str = Field("", max_length=MOST_TEXT)
    response_format: Format = "mp3"
    speed: float = Field(1.0, ge=0.25, le=4.0)
    stream_format: Literal["audio", "sse"] = "audio"

    @model_validator(mode="before")
    @classmethod
    def _null_is_default(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None}


class TranscriptionRequest(BaseModel):
    """How the words are wanted. The prompt and the temperature have nothing to act on here."""

    model: str
    language: str = "en"
    response_format: TranscriptFormat = "json"
    stream: bool = False
    temperature: float = Field(0.0, ge=0.0, le=1.0)
    prompt: str = ""
    timestamp_granularities: list[Literal["segment"]] = Field([], alias="timestamp_granularities[]")


class Model(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


class Usage(BaseModel):
    type: Literal["duration"] = "duration"
    seconds: int


class Segment(BaseModel):
    id: int
    start: float
    end: float
    text: str


class Transcript(BaseModel):
    text: str
    usage: Usage


class VerboseTranscript(Transcript):
    task: Literal["transcribe"] = "transcribe"
    language: Literal["english"] = "english"
    duration: float
    segments: list[Segment]


SPOKEN = answers(
    {**dict.fromkeys(MEDIA.values(), SOUND), "text/event-stream": EVENTS},
    "The speech, in the format asked for, or as events",
)
WRITTEN = answers(
    {"text/plain": TEXT, "text/vtt": TEXT, "text/event-stream": EVENTS},
    "The words, in the format asked for, or as events",
    Transcript | VerboseTranscript,
)
