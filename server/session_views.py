"""A recorded session to look at and listen to: its outline, pictures, clips and story."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field

from models.types import WIRE_RATE
from server.access import Role
from server.http_streams import Streamed
from server.openapi import SOUND, answers, failures
from server.reception import Reception, Visit
from server.views import clip as clips
from server.views import story as stories
from server.views.clip import Side
from server.views.colours import Look
from server.views.peaks import Outlines
from server.views.spectrogram import spectrogram
from server.views.story import Story
from server.views.stretch import Channel, opened

PNG, WAV = "image/png", "audio/wav"
MOST_POINTS = 8192
WIDEST, HIGHEST = 4096, 512  # pixels

Start = Annotated[int, Query(ge=0, le=2**53, description="A position: samples at 24 kHz.")]
End = Annotated[
    int | None, Query(ge=0, le=2**53, description="A position; without it, up to the end.")
]


class Waveform(BaseModel):
    """The outline of a stretch: for every point the lowest and the highest sample."""

    rate: int = Field(WIRE_RATE, description="Positions a second.")
    samples: int = Field(description="Of the whole recording.")
    start: int
    end: int
    points: int = Field(description="No more than were asked for; fewer, if there are no more.")
    user: str = Field(description="Lowest, highest of each point: base64 of 16 bit, little-endian.")
    reply: str = Field(description="The same of the reply.")


def add_views(
    routes: APIRouter,
    reception: Reception,
    present: Callable[..., Awaitable[Visit]],
    by_both: Sequence[Any],
    unkept: Mapping[str, str],
) -> None:
    """Add the routes to those of a session; `present` lets in whoever may, where there is one."""
    kept = Annotated[Visit, Depends(present)]
    outlines = Outlines()

    @routes.get("/{session_id}/waveform", dependencies=by_both, responses=failures(400, 404, 410))
    async def waveform(
        visit: kept,
        points: Annotated[int, Query(ge=1, le=MOST_POINTS)] = 1600,
        start: Start = 0,
        end: End = None,
    ) -> Waveform:
        return await reception.run(partial(_waveform, outlines, visit, points, start, end))

    @routes.get(
        "/{session_id}/spectrogram",
        dependencies=by_both,
        response_class=Response,
        responses={**answers({PNG: SOUND}, "Time to the right, mel upwards"),
                   **failures(400, 404, 410)},
    )  # fmt: skip
    async def picture(
        visit: kept,
        channel: Channel = "user",
        start: Start = 0,
        end: End = None,
        width: Annotated[int, Query(ge=1, le=WIDEST)] = 1200,
        height: Annotated[int, Query(ge=1, le=HIGHEST)] = 128,
        look: Annotated[Look, Query(description="The page it is to be seen on.")] = "dark",
    ) -> Response:
        size = width, height
        made = await reception.run(partial(_picture, visit, channel, start, end, size, look))
        return Response(made, media_type=PNG, headers=unkept)

    @routes.get(
        "/{session_id}/clip",
        dependencies=by_both,
        response_class=Response,
        responses={
            **answers({WAV: SOUND}, f"A stretch of the recording, {clips.MOST_SEC} s at most"),
            **failures(400, 404, 410),
        },
    )
    async def clip(
        visit: kept, start: Start = 0, end: End = None, channel: Side = "both"
    ) -> Response:
        data = reception.stream(clips.clip(visit.session, start, end, channel))
        return Streamed(await anext(data), data, WAV, headers=unkept)

    @routes.get("/{session_id}/story", dependencies=by_both, responses=failures(404, 410))
    async def story(visit: kept) -> Story:
        """The conversation turn by turn, with all that may be told of each."""
        return await reception.run(partial(_story, visit))


def _waveform(
    outlines: Outlines, visit: Visit, points: int, start: int, end: int | None
) -> Waveform:
    with opened(visit.session) as recording:
        outline = outlines.of(recording, *recording.stretch(start, end), points)
        return Waveform(
            samples=recording.samples,
            start=outline.start,
            end=outline.end,
            points=len(outline.peaks),
            user=outline.told("user"),
            reply=outline.told("reply"),
        )


def _picture(
    visit: Visit,
    channel: Channel,
    start: int,
    end: int | None,
    size: tuple[int, int],
    look: Look,
) -> bytes:
    with opened(visit.session) as recording:
        return spectrogram(recording, channel, recording.stretch(start, end), size, look)


def _story(visit: Visit) -> Story:
    lines = visit.session.lines(stories.KINDS)
    ratings = visit.session.ratings()
    if visit.role is Role.TALKER:
        ratings = [each for each in ratings if each.by == "user"]
    return stories.story(visit.file, lines, ratings)
