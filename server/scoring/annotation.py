"""The truth about an exchange, where a data set or a person knows it."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Variant = Literal["target", "neutral", "alternative"]
CueGiven = Literal["true", "none", "perceived"]
Prompt = Literal["zero", "basic", "enhanced"]
Task = Literal[
    "conversation", "asr", "mcq", "empathy_choice",
    "pause", "backchannel", "turn_taking", "interruption",  # Full-Duplex-Bench v1
    "user_interruption", "user_backchannel", "talking_to_other", "background_speech",  # v1.5
]  # fmt: skip
Number = Annotated[int, Field(ge=0, le=1_000_000)]  # of an exchange in its session
Position = Annotated[int, Field(ge=0, le=2**53)]  # of session time; all JSON can hold exactly


class Annotation(BaseModel):
    """Every field may be missing: somebody talking on the page has none of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    benchmark: str | None = None  # "echomind", "vocalbench", "csv", …
    item: str | None = None  # its id in the data set
    group: str | None = None  # items that belong together: a script, an EmpathyEval group
    group_size: Number | None = None  # how many items the data set has in it, played or not
    task: Task | None = None
    variant: Variant | None = None
    topic: str | None = None
    speech: Literal["human", "synthetic"] | None = None
    condition: str | None = None  # of a robustness sweep: "clean", "noise 10 dB", "speed 1.2"
    context: str | None = None  # the situation as text; of context-variant runs
    setting: Literal["context", "tone"] | None = None  # what varies within the group

    text: str | None = None  # what is really said
    cue: str | None = None  # attribute of labels.toml, or "neutral"
    spoken_info: str | None = None  # the cue in the data set's own words
    dimension: str | None = None  # fine category of the cue
    labels: dict[str, str] = {}  # further truths: {"age": "child", "event": "cough"}
    reference: str | None = None  # a right reply
    alternative_reference: str | None = None  # the right reply had the other cue been heard
    reference_emotions: tuple[str, ...] = ()  # those a right reply may sound like
    suitability: dict[str, float] = {}  # VocalBench: how fitting each emotion of a reply is, 1-5

    question: str | None = None  # multiple choice
    options: tuple[str, ...] = ()
    answer: str | None = None  # the letter
    kind: str | None = None  # of question, as the data set names it
    level: Literal["understanding", "reasoning"] | None = None

    speech_end: Position | None = None  # position of session time where the user really ends
    overlap_start: Position | None = None  # where the user begins to talk over the reply
    overlap_end: Position | None = None
    people_timing: tuple[float, ...] = ()  # how likely people's "mm" is over the clip, bin by bin

    cue_given: CueGiven | None = None  # how the run was made
    prompt: Prompt | None = None
