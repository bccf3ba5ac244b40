"""How to score: what the command line, a TOML file or the environment may say."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

SEED = 7
Seed = Annotated[int, Field(ge=0, le=2**53)]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class JudgeSettings(Part):
    """A judge behind an OpenAI-style chat endpoint. Without a URL nothing is judged."""

    url: str | None = Field(None, description="As http://127.0.0.1:8000/v1")
    model: str | None = None
    key: SecretStr | None = None  # from ATTUNE_JUDGE_KEY
    hears: bool = Field(False, description="It takes `input_audio` parts, too.")
    repeats: int = Field(1, ge=1, le=20, description="Calls for each; the mean counts.")
    temperature: float = 0.0
    seed: Seed = SEED
    timeout_sec: float = Field(120.0, gt=0)
    max_tokens: int = Field(1024, ge=64, description="Of one answer; one that thinks needs more.")
    allow_same_model: bool = Field(False, description="Let a model judge its own replies.")
    price_in: float | None = Field(None, description="Per million tokens, in any currency.")
    price_out: float | None = None


class EncoderSettings(Part):
    """Networks of one's own; a path to a local folder in the hub's form, or None."""

    semsim: Path | None = Field(None, description="EchoMind's: Qwen3-Embedding-0.6B")
    bertscore: Path | None = Field(None, description="EchoMind's: bert-base-uncased")
    bertscore_layer: int | None = None
    bertscore_baseline: Path | None = Field(None, description="A TSV as bert_score ships it")
    nisqa: Path | None = Field(None, description="nisqa.tar of NISQA 2.0")
    utmos: Path | None = Field(None, description="The folder of UTMOS22 strong, or UTMOSv2")
    emotion2vec: str | None = Field(None, description="URL of the emotion2vec+ process")
    wordnet: Path | None = Field(None, description="A folder with index.noun; else looked for")


class Settings(Part):
    metrics: tuple[str, ...] = Field((), description="Names, families or instruments; none: all")
    judge: JudgeSettings = JudgeSettings()
    encoders: EncoderSettings = EncoderSettings()
    device: Literal["cpu", "cuda"] = "cpu"
    all_consented: bool = False
    backchannels: Path | None = Field(None, description="icc_gt_distribution.json: people's timing")
    humdial_delays: tuple[float, float] | None = Field(
        None, description="Seconds that get 100 and 50 points of HumDial's delay score"
    )
    draws: int = Field(2000, ge=100, description="Of every bootstrap")
    seed: Seed = SEED
