"""How the server is set up: defaults, then a TOML file, then the environment, then flags."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from models import registry
from server.limits import Limits

ROOT = Path(__file__).parent.parent
PROFILES = ROOT / "profiles"
CONFIG_FILE = "attune.toml"
PREFIX = "ATTUNE_"
SECRET = re.compile(r"(token|tokens|key)(\.\d+)?$")  # settings nobody should read over a shoulder
# Where models.weights keeps its files, and what a scorer shows its judge, a caller a server.
NOT_OURS = ("ATTUNE_CACHE", "ATTUNE_JUDGE_KEY", "ATTUNE_TOKEN")


class ConfigError(Exception):
    """A setting that cannot be used: one line for the person who set it."""


class ModelChoice(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    backend: str
    options: dict[str, Any] = {}


class Perception(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    weights: str | None = Field(None, min_length=1)  # None: what the backend takes by itself


class Recording(BaseModel):
    """Where sessions are kept, once somebody consents, and for how long."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    enabled: bool = True
    runs: str = Field(str(ROOT / "runs"), min_length=1)  # a folder, or any URL fsspec knows
    spool: Path | None = None  # where they are recorded first if `runs` is remote
    keep_days: float | None = Field(None, gt=0)  # older ones are deleted; None: never
    keep_gb: float | None = Field(None, gt=0)  # the oldest beyond it are deleted; None: never
    check_minutes: float = Field(60, gt=0)  # how often that is looked after
    children: bool = True  # False: nothing is kept of a conversation in which a child is heard
    # Makes pseudonyms of names. None: one is made and kept beside the runs.
    speaker_key: SecretStr | None = Field(None, min_length=16)


class Admission(BaseModel):
    """Whom the house lets in when many come."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    # Whether the machine has a say. False: as many as `seats` says, nothing is ever left out, and
    # nobody looks how much memory is free.
    measured: bool = True
    target_ms: float = Field(1500, gt=0)  # from the end of speech to the reply, for 95 % of turns
    queue: int = Field(16, ge=0, le=1_000)  # so many may wait for a seat; 0: nobody
    patience_sec: float = Field(600, gt=0)  # and so long
    share: float = Field(0.25, gt=0, le=1)  # of `seats` that one address may have; loopback all
    # The share of memory that must be free for anybody new; 0: nobody looks. It is a share of the
    # container's, else of the machine's, and of `memory_mb`, which we and our children may use.
    memory_free: float = Field(0.05, ge=0, le=0.3)
    memory_mb: float | None = Field(None, gt=0)


class Scoring(BaseModel):
    """How sessions are scored from the page; the command line has its own options."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    settings: Path | None = None  # a TOML file: judge, encoders, metrics
    workers: int = Field(1, ge=1, le=64)

    @property
    def options(self) -> list[str]:
        """As the scorer's command takes them."""
        given = ["--settings", str(self.settings.absolute())] if self.settings else []
        return [*given, "--workers", str(self.workers)]


Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]


class System(BaseModel):
    """One of those compared in the arena: how it differs from the server's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    label: str = Field("", max_length=80)  # shown after the vote; empty: its name
    instructions: str = Field("", max_length=8_000)  # the persona
    perception: bool = True  # False: it has the words alone
    voice: Literal["planned", "flat"] = "planned"  # flat: every reply in the voice's own manner
    profile: str | None = Field(None, min_length=1)  # another profile's models
    models: dict[str, ModelChoice] = {}  # single roles that differ


class Arena(BaseModel):
    """Two systems answer the same spoken turn, and people say blindly which they like better."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    enabled: bool = True
    # By names of small letters, digits, _ and -; none: those that are shipped.
    systems: dict[Name, System] = {}


class BackendProcess(BaseModel):
    """A server of models that is started with ours, and again when it dies or hangs."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    command: list[Annotated[str, Field(min_length=1)]] = Field(min_length=1)  # from the checkout
    ready: str = Field(pattern=r"^https?://")  # answers, with anything but a 5xx, while it is well
    env: dict[str, str] = {}  # beside our own environment
    start_sec: float = Field(600, gt=0)  # until it must have answered for the first time
    check_sec: float = Field(5, gt=0)  # between two looks
    patience_sec: float = Field(5, gt=0)  # for the answer to one
    misses: int = Field(3, ge=1)  # in a row, after which it hangs
    log: Path | None = None  # None: .cache/backends/NAME.log
    log_mb: float = Field(20, gt=0)  # of its newest output are kept

    def log_file(self, name: str) -> Path:
        return self.log or ROOT / ".cache" / "backends" / f"{name}.log"


class Watching(BaseModel):
    """What others are told of how the server is doing."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    metrics: bool = True  # /metrics, for Prometheus
    # Whether /metrics wants no token. None: only where nobody else can reach us.
    open_metrics: bool | None = None
    # Where traces of turns go: OTLP over HTTP, as http://collector:4318/v1/traces.
    traces: str | None = Field(None, pattern=r"^https?://")


Colour = Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$")]


class Ui(BaseModel):
    """How the pages look and speak: one section for whoever shows them under their own name."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field("Attune", min_length=1, max_length=60)
    tagline: str | None = Field(None, max_length=200)  # None: ours, in the page's language
    logo: Path | None = None  # an SVG or PNG
    accent: Colour = "#0b6e63"
    accent_dark: Colour = "#57c7b6"  # the same on dark paper
    greeting: str | None = Field(None, max_length=300)  # the first line of every conversation
    persona: str = Field("", max_length=8_000)  # who answers, as instructions to the reply model
    language: Literal["auto", "en", "zh"] = "auto"  # of the pages; auto: the browser's
    consent_file: Path | None = None  # text that explains what is asked, in place of ours
    show_age_gender: bool = False
    kiosk: bool = False  # for a stand: only the conversation, which returns to its beginning
    demo: bool = True  # offer prepared recordings to those without a microphone
    demo_folder: Path | None = None  # other recordings than ours, with a demo.toml
    # Any other text of the pages, by language and name: text.en."talk.start" = "Say hello".
    text: dict[Literal["en", "zh"], dict[str, str]] = {}


def _listed(value: Any) -> Any:
    """A list as one writes it in an environment variable: with commas."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


Token = Annotated[SecretStr, Field(min_length=16)]


class Config(BaseSettings):
    """The frozen tree. In the environment: HOST, PORT, and ATTUNE_ before any other name."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix=PREFIX, env_nested_delimiter="__"
    )
    host: str = Field("127.0.0.1", validation_alias="HOST", min_length=1)
    port: int = Field(7860, validation_alias="PORT", ge=0, le=65535)
    profile: str = "embedded"
    models: dict[str, ModelChoice] = {}  # single roles that differ from the profile
    perception: Perception = Perception()
    recording: Recording = Recording()
    scoring: Scoring = Scoring()
    ui: Ui = Ui()
    arena: Arena = Arena()
    watching: Watching = Watching()
    # Processes to look after, by names of small letters, digits, _ and -.
    backends: dict[Name, BackendProcess] = {}
    operator_token: SecretStr | None = Field(None, min_length=16)  # opens all recorded sessions
    operator_token_file: Path | None = None  # the same in a file, as secrets are mounted
    # Each lets its holders talk; where there are none, whoever can reach the server may.
    talker_tokens: Annotated[list[Token], NoDecode, BeforeValidator(_listed)] = []
    talker_token: Token | None = None  # one more
    talker_token_file: Path | None = None  # more of them, a line each
    # Signs client secrets. None: one is made at every start, for all processes of this machine.
    client_secret_key: SecretStr | None = Field(None, min_length=32)
    make_tokens: bool = False  # python -m ui: where tokens are needed and none is set, make some
    insecure: bool = False  # anybody who can reach the server may talk, wherever it listens
    tls_cert: Path | None = None  # a certificate with its chain, in PEM
    tls_key: Path | None = None
    # Proxies whose word on a client's address and scheme is taken: addresses or networks.
    forwarded_allow_ips: Annotated[list[str], NoDecode, BeforeValidator(_listed)] = []
    clock: Literal["wall", "samples"] = "wall"
    seats: int = Field(64, ge=1)  # at most: see admission
    processes: int = Field(1, ge=1, le=64)  # that serve the port; they share one set of models
    admission: Admission = Admission()
    limits: Limits = Limits()
    resume_sec: float = Field(30, ge=0, le=600)  # a lost client may come back for; 0: never
    drain_sec: float = Field(10, ge=0, le=600)  # to finish the sentence in when we are stopped
    ping_sec: float = Field(10, gt=0, le=600)  # between two, and for the answer to one
    # Web pages that may connect beside our own, as https://example.org.
    origins: Annotated[list[str], NoDecode, BeforeValidator(_listed)] = []
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"  # json: one object a line, for machines

    @property
    def metrics_open(self) -> bool:
        chosen = self.watching.open_metrics
        return not self.exposed if chosen is None else chosen

    @property
    def on_loopback(self) -> bool:
        return self.host in ("127.0.0.1", "localhost", "::1")

    @property
    def exposed(self) -> bool:
        """Whether others than this machine's users can reach us: by the network or a proxy."""
        return not self.on_loopback or bool(self.forwarded_allow_ips)

    @property
    def talkers(self) -> list[str]:
        given = [*self.talker_tokens, *([self.talker_token] if self.talker_token else [])]
        return [token.get_secret_value() for token in given]

    @property
    def asks_for_tokens(self) -> bool:
        """Whether nobody may talk who shows none."""
        return bool(self.talkers) or (self.exposed and not self.insecure)


def read(path: Path | None = None, flags: dict[str, Any] | None = None) -> Config:
    """The effective config, or a ConfigError with one line to act on."""
    file = path or Path(CONFIG_FILE)
    settings: dict[str, Any] = {}
    if path is not None or file.exists():
        try:
            settings = tomllib.loads(file.read_text("utf-8"))
        except OSError as error:
            raise ConfigError(f"{file}: {error.strerror or error}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file} is not valid TOML: {error}") from None
    _check_names(os.environ)
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    try:
        config = _above(settings)(**_aliased(given))
    except ValidationError as error:
        raise ConfigError(_one_line(error)) from None
    except SettingsError as error:
        raise ConfigError(f"a setting in the environment is no JSON: {error}") from None
    if config.clock == "samples" and not config.on_loopback:
        raise ConfigError("the samples clock is for tests and replays: it needs a loopback host")
    return config


def choices(config: Config) -> dict[str, registry.Choice]:
    """The profile's backends, with the roles that were chosen one by one."""
    chosen = of_profile(config.profile)
    for role, choice in config.models.items():
        chosen[role] = registry.Choice(choice.backend, choice.options)
    if (weights := config.perception.weights) and (perceiver := chosen.get("perceiver")):
        options = {**perceiver.options, "weights": weights}
        chosen["perceiver"] = registry.Choice(perceiver.backend, options)
    return chosen


def of_profile(name: str) -> dict[str, registry.Choice]:
    file = PROFILES / f"{name}.toml"
    if not file.exists():
        known = ", ".join(sorted(path.stem for path in PROFILES.glob("*.toml")))
        raise ConfigError(f"unknown profile '{name}'; choose one of: {known}")
    return registry.read(file)


def _above(settings: dict[str, Any]) -> type[Config]:
    """The Config whose lowest source is what a file set."""

    class Effective(Config):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            file = InitSettingsSource(settings_cls, _aliased(settings))
            return init_settings, env_settings, file

    return Effective


def _aliased(settings: dict[str, Any]) -> dict[str, Any]:
    """Host and port under the environment's names, which are the ones pydantic knows."""
    return {n.upper() if n in ("host", "port") else n: value for n, value in settings.items()}


def _check_names(environment: Mapping[str, str]) -> None:
    """A misspelt variable would otherwise be passed over in silence."""
    known = ["HOST", "PORT"]
    known += [PREFIX + n.upper() for n in Config.model_fields if n.upper() not in known]
    for name in environment:
        if name.startswith(PREFIX) and name not in NOT_OURS and name.split("__")[0] not in known:
            raise ConfigError(f"unknown variable '{name}'; the settings are: {', '.join(known)}")


def _one_line(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"]) or "config"
    if first["type"] == "extra_forbidden":
        return f"unknown setting '{name}'; the settings are: {', '.join(Config.model_fields)}"
    # A secret with a typing error in it is a secret still.
    given = "" if SECRET.search(name) else f" = {first['input']!r}"
    return f"{name}{given} will not do: {first['msg']}"
