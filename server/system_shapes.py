"""What the system tells of itself over HTTP."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from server.readiness import Backend
from server.sessions.format import ModelUsed


class Shown(BaseModel):
    model_config = ConfigDict(frozen=True)


class Software(Shown):
    version: str
    python: str
    platform: str
    profile: str
    started: datetime
    uptime_sec: float


class Machine(Shown):
    """Of the last two seconds."""

    process_cpu: float = Field(description="Percent of one core.")
    machine_cpu: float = Field(description="Percent of all cores.")
    cores: int = Field(description="That the process may use.")
    memory_mb: float = Field(description="Of this process.")
    machine_memory: float = Field(description="Percent of the machine's that is in use.")
    threads: int
    load_average: list[float] | None = Field(description="Over 1, 5 and 15 minutes.")
    lag_ms: float = Field(description="By which the event loop was late at the worst.")
    lag_p50_ms: float | None = Field(description="Over the last minute.")
    lag_p99_ms: float | None
    stalls: int = Field(description="Since the start: the event loop stood for 20 ms or more.")
    worst_stall_ms: float


class Process(Shown):
    """One of several that serve together."""

    name: str = Field(description="As front 0, or models.")
    memory_mb: float | None = Field(description="What is shared counts in each; null: unknown.")
    seats_taken: int
    answers: bool = Field(description="It gave this answer.")


class Seats(Shown):
    taken: int
    free: int = Field(description="That somebody who comes now could have.")
    total: int = Field(description="That the machine is thought to hold now.")
    most: int = Field(description="That the operator allows.")
    waiting: int = Field(description="People in the queue.")


class Pressed(Shown):
    """How near the machine is to its limit."""

    level: int = Field(description="0 to 4: how much is left out.")
    without: list[Literal["percepts", "partials", "speculation", "seats"]] = Field(
        description="What is done less or not at all, for now."
    )
    strain: float = Field(description="1 is the limit.")
    latency_ms: float | None = Field(
        description="Of turns in the last minute, at the 95th percentile, without deliberate waits."
    )
    target_ms: float
    lag_ms: float = Field(description="By which the event loop was late at the worst.")


class Conversations(Shown):
    """Since the start."""

    opened: int
    refused: int = Field(description="All seats were taken.")
    queued: int = Field(description="Had to wait for a seat.")
    left_queue: int = Field(description="Of those, who hung up before they had one.")
    failed: int = Field(description="Ended by a fault of ours.")
    lost: int = Field(description="The connection broke.")
    replies: int
    failed_replies: dict[str, int] = Field(description="By the role whose model failed.")


class Recordings(Shown):
    enabled: bool
    running: int
    stopped: dict[str, int] = Field(description="Broken off since the start, by reason.")
    disk_free_gb: float | None = Field(description="Where they are written.")


class Percentiles(Shown):
    n: int
    p50: float | None
    p95: float | None
    p99: float | None


class StageTimes(Shown):
    """A stage in ms after the end of speech; `overhead` is what we added ourselves."""

    stage: str
    ever: Percentiles
    lately: Percentiles = Field(description="Over the last 15 minutes.")


class Role(ModelUsed):
    """One role's model, and how it is."""

    role: str
    where: Literal["process", "machine", "remote"]
    state: Literal["ok", "off", "refusing", "failing", "unreachable"] = Field(
        description="Refusing: its server is there, but wants a key or knows no such question."
    )
    host: str | None = Field(description="Of the server that does the work, if one does.")
    ms: float | None = Field(description="It took to answer a plain question.")
    failures: int = Field(description="Replies that failed because of it, since the start.")
    breaker: Literal["closed", "open", "half_open"] = Field(
        description="Open: it failed lately and is not asked; half open: it is tried just now."
    )
    opened: int = Field(description="How often that has happened since the start.")


class Attribute(Shown):
    """Something a voice can tell, and how the weights in use come to know it."""

    dimension: str
    name: str
    heard: bool
    how: str
    figure: str | None = Field(description="How well, where that was measured.")


class Coverage(Shown):
    """What the perception weights in use can hear; no attributes where nothing perceives."""

    weights: str | None
    licence: str | None
    attributes: list[Attribute]


class History(Shown):
    """One figure every so many seconds, the last one now."""

    step_sec: float
    process_cpu: list[float]
    machine_cpu: list[float]
    memory_mb: list[float]
    seats_taken: list[int]
    lag_ms: list[float] = Field(description="The worst in each step.")


class System(Shown):
    software: Software
    machine: Machine
    processes: list[Process] = Field(description="Empty where one does everything.")
    seats: Seats
    pressure: Pressed | None = Field(description="None where it is not measured.")
    conversations: Conversations
    recordings: Recordings
    stages: list[StageTimes]
    models: list[Role]
    backends: list[Backend] = Field(description="Processes the server looks after.")
    perception: Coverage
    history: History | None = Field(description="Of the last five minutes, where asked for.")
