"""How the system is, for its operator: load, seats, latency, models and their health."""

import asyncio
import platform
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Query, Response, Security
from starlette.datastructures import Headers

from models.breaker import Breaker
from models.perception import coverage, labels
from models.protocols import Perceiver
from models.registry import Choice
from server.access import AS_OPERATOR, Access, admitted
from server.company import Company
from server.disk import Disk
from server.health import Check, Health
from server.http_refusals import Route
from server.openapi import failures
from server.percentiles import Digest
from server.porter import Porter
from server.pressure import Level, Pressure
from server.pulse import BEAT_SEC, BEATS, Pulse, cores, load_average
from server.readiness import Backend
from server.sessions.format import ModelUsed
from server.system_shapes import (
    Attribute,
    Conversations,
    Coverage,
    History,
    Machine,
    Percentiles,
    Pressed,
    Recordings,
    Role,
    Seats,
    Software,
    StageTimes,
    System,
)
from server.tally import Tally
from server.vitals import Vitals

SHARES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Watch:
    """What there is to look at."""

    vitals: Vitals
    porter: Porter
    seats: int  # at most
    version: str
    profile: str
    models: Mapping[str, ModelUsed]
    perceiver: Perceiver
    records: bool
    disk: Disk  # where recordings are written
    health: Health
    breakers: Mapping[str, Breaker]
    backends: Callable[[], list[Backend]]  # processes that we look after
    chosen: Mapping[str, Choice]
    company: Company
    tally: Callable[[], Awaitable[Tally]]  # of all processes


def router(watch: Watch, access: Access, allowed: Callable[[Headers], bool]) -> APIRouter:
    pulse = watch.porter.pulse
    hears = heard_by(watch.perceiver)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        beating = asyncio.create_task(pulse.beat())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            await watch.health.close()

    routes = APIRouter(
        prefix="/api/system",
        tags=["system"],
        route_class=Route,
        dependencies=[
            Depends(admitted(allowed)),
            Security(AS_OPERATOR),
            Depends(access.operator),
        ],
        responses=failures(400, 401, 403, 429, 500),
        lifespan=lifespan,
    )

    @routes.get("")
    async def show_system(
        response: Response,
        history: Annotated[bool, Query(description="Tell of the last five minutes, too.")] = False,
    ) -> System:
        response.headers["Cache-Control"] = "no-store"
        checks = {check.role: check for check in await _checked(watch)}
        tally = await watch.tally()
        return System(
            software=_software(watch),
            machine=_machine(pulse, watch.vitals),
            processes=watch.company.processes(),
            seats=_seats(watch),
            pressure=_pressure(watch.porter.measured),
            conversations=_conversations(tally),
            recordings=Recordings(
                enabled=watch.records,
                running=tally.recording,
                stopped=dict(tally.stopped),
                disk_free_gb=await watch.disk.free_gb(),
            ),
            stages=stage_times(tally),
            models=[
                _role(used, checks[role], tally.failures[role], watch.breakers[role])
                for role, used in watch.models.items()
            ],
            backends=watch.backends(),
            perception=hears,
            history=_history(pulse) if history else None,
        )

    return routes


async def _checked(watch: Watch) -> list[Check]:
    """How the models are; those in a process of their own go with it."""
    checks, company = await watch.health.checks(), watch.company
    if await company.models_there():
        return checks
    return [
        replace(each, state="unreachable")
        if company.is_shared(each.role, watch.chosen[each.role])
        else each
        for each in checks
    ]


def stage_times(tally: Tally) -> list[StageTimes]:
    """In the order in which stages are reached as a rule."""
    found = [
        StageTimes(
            stage=name,
            ever=percentiles(stage.ever),
            lately=percentiles(stage.lately),
        )
        for name, stage in tally.stages.items()
    ]
    return sorted(found, key=lambda each: (each.ever.p50 or 0.0, each.stage))


def percentiles(digest: Digest) -> Percentiles:
    p50, p95, p99 = digest.percentiles(SHARES)
    return Percentiles(n=digest.count, p50=p50, p95=p95, p99=p99)


def heard_by(perceiver: Perceiver) -> Coverage:
    """What the perceiver's weights were found to hear; nothing is known of others than ours."""
    weights: str | None = getattr(perceiver, "weights", None)
    known = coverage.load() if weights in coverage.WEIGHTS else []
    attributes = []
    for row in known:
        dimension = labels.DIMENSIONS.get(row.dimension)
        if dimension is None or row.attribute not in dimension.attributes:
            continue
        cover = row.covers[weights or ""]
        attributes.append(
            Attribute(
                dimension=row.dimension,
                name=row.attribute,
                heard=cover.how.heard,
                how=cover.how.value,
                figure=str(cover.figure) if cover.figure else None,
            )
        )
    licence: str | None = getattr(perceiver, "licence", None)
    return Coverage(weights=weights, licence=licence, attributes=attributes)


def _software(watch: Watch) -> Software:
    return Software(
        version=watch.version,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        profile=watch.profile,
        started=watch.vitals.started,
        uptime_sec=round(watch.vitals.uptime_sec, 1),
    )


def _machine(pulse: Pulse, vitals: Vitals) -> Machine:
    load, average = pulse.load, load_average()
    p50, p99 = pulse.lag.digest().percentiles((0.5, 0.99))
    return Machine(
        process_cpu=load.process_cpu,
        machine_cpu=load.machine_cpu,
        cores=cores(),
        memory_mb=load.memory_mb,
        machine_memory=pulse.memory_percent,
        threads=pulse.threads,
        load_average=[round(each, 2) for each in average] if average else None,
        lag_ms=load.lag_ms,
        lag_p50_ms=p50,
        lag_p99_ms=p99,
        stalls=vitals.stalls,
        worst_stall_ms=round(vitals.worst_stall_ms, 1),
    )


def _seats(watch: Watch) -> Seats:
    admission = watch.porter.admission
    return Seats(
        taken=admission.taken,
        free=admission.free,
        total=admission.total,
        most=watch.seats,
        waiting=admission.waiting,
    )


def _pressure(measured: Pressure | None) -> Pressed | None:
    if measured is None:
        return None
    reading = measured.reading
    return Pressed(
        level=measured.level,
        without=[each.name.lower() for each in Level if Level.NONE < each <= measured.level],
        strain=reading.strain,
        latency_ms=reading.latency_ms,
        target_ms=reading.target_ms,
        lag_ms=round(reading.lag_ms, 1),
    )


def _conversations(tally: Tally) -> Conversations:
    return Conversations(
        opened=tally.opened,
        refused=tally.refused,
        queued=tally.queued,
        left_queue=tally.left_queue,
        failed=tally.endings["failed"],
        lost=tally.endings["lost"],
        replies=tally.replies,
        failed_replies=dict(tally.failures),
    )


def _role(used: ModelUsed, check: Check, failed: int, breaker: Breaker) -> Role:
    return Role(
        **used.model_dump(),
        role=check.role,
        where=check.where,
        state=check.state,
        host=check.host,
        ms=check.ms,
        failures=failed,
        breaker=breaker.state,
        opened=breaker.opened,
    )


def _history(pulse: Pulse) -> History:
    samples = list(pulse.samples)
    return History(
        step_sec=BEAT_SEC * BEATS,
        process_cpu=[each.process_cpu for each in samples],
        machine_cpu=[each.machine_cpu for each in samples],
        memory_mb=[each.memory_mb for each in samples],
        seats_taken=[each.seats_taken for each in samples],
        lag_ms=[each.lag_ms for each in samples],
    )
