"""The server with its pages: one port for conversations, API and pages."""

from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, Header, Query, Response
from fastapi.responses import FileResponse, JSONResponse
from starlette.staticfiles import StaticFiles

from models.protocols import Models
from server import app as server_app
from server.company import ALONE, Company
from server.config import Config
from ui import gradio_pages
from ui.doorkeeper import Doorkeeper
from ui.page_settings import PICTURES, PageSettings
from ui.wording import LANGUAGES, spoken

STATIC = Path(__file__).parent / "static"
MARK = STATIC / "core" / "mark.svg"
FRESH = {"Cache-Control": "no-cache"}  # asked for again each time, and answered with 304


def create(models: Models, config: Config, company: Company = ALONE) -> FastAPI:
    """The application, with models that are warm already."""
    settings = PageSettings.of(config, models.perceiver)
    app = server_app.create(models, config, plain_page=False, company=company)

    @app.get("/page/settings.json", include_in_schema=False)
    async def page_settings(
        lang: Annotated[str | None, Query(max_length=8)] = None,
        accept_language: Annotated[str | None, Header()] = None,
    ) -> JSONResponse:
        asked = lang if lang in LANGUAGES and config.ui.language == "auto" else None
        language = asked or spoken(accept_language, config.ui.language)
        return JSONResponse(settings.shown(language), headers=FRESH)

    @app.get("/page/logo", include_in_schema=False)
    @app.get("/favicon.ico", include_in_schema=False)
    async def logo() -> Response:
        file = config.ui.logo or MARK
        # A drawing may hold scripts: opened by itself, it must not run them.
        safe = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        kind = PICTURES[file.suffix.lower()]
        return FileResponse(file, media_type=kind, headers={**FRESH, **safe})

    @app.get("/page/demo/{clip_id}", include_in_schema=False)
    async def demo_clip(clip_id: str) -> Response:
        clip = settings.clips.get(clip_id)
        return FileResponse(clip.file, headers=FRESH) if clip else Response(status_code=404)

    @app.get("/static/js/iframeResizer.contentWindow.min.js", include_in_schema=False)
    async def unframed() -> Response:
        """Gradio's pages ask for it, for frames of theirs in which ours are never shown."""
        return Response("", media_type="text/javascript", headers=FRESH)

    app.mount("/static", Fresh(directory=STATIC))
    gradio_pages.mount(app, config)
    app.add_middleware(Doorkeeper, pages=tuple(page.path for page in gradio_pages.shown(config)))
    return app


class Fresh(StaticFiles):
    """Our scripts and styles: a new release is seen at once."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers.update(FRESH)
        return response
