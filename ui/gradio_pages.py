"""The pages as Gradio has them: each is one component of our own, whose script draws it.

Gradio is wrapped here and nowhere else.
"""

import os
import warnings
from dataclasses import dataclass

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported

import gradio
from fastapi import FastAPI

from server.config import Config


@dataclass(frozen=True, slots=True)
class Page:
    name: str  # of its folder in `static`
    path: str
    title: str


TALK = Page("talk", "/", "Talk")
COMPARE = Page("compare", "/compare", "Compare")
PAGES = (
    TALK,
    COMPARE,
    Page("sessions", "/sessions", "Sessions"),
    Page("scores", "/scores", "Scores"),
    Page("system", "/system", "System"),
)
FRAME = "<div class='attune' data-page='{name}' aria-busy='true'></div>"
MOUNT = "import('/static/core/shell.js').then((shell) => shell.open(element, '{name}'));"
HEAD = """
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="{accent}">
<link rel="icon" href="/page/logo">
<link rel="stylesheet" href="/static/core/attune.css">
<link rel="modulepreload" href="/static/core/shell.js">
<style>.attune {{ --accent: {accent}; }} .dark .attune {{ --accent: {accent_dark}; }}</style>
"""


def shown(config: Config) -> tuple[Page, ...]:
    """A kiosk has the conversation and nothing else."""
    if config.ui.kiosk:
        return (TALK,)
    return tuple(page for page in PAGES if page is not COMPARE or config.arena.enabled)


def mount(app: FastAPI, config: Config) -> None:
    """Put the pages at the root of an app; its own routes, which come first, stay what they are."""
    ui = config.ui
    with gradio.Blocks(title=ui.name, analytics_enabled=False, fill_width=True) as blocks:
        _component(TALK)
    for page in shown(config)[1:]:
        with blocks.route(page.title, page.path):
            _component(page)
    fonts = ["system-ui", "sans-serif"]  # none that would have to be fetched from elsewhere
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="SSR mode is not supported")
        gradio.mount_gradio_app(
            app,
            blocks,
            path="",
            ssr_mode=False,
            theme=gradio.themes.Base(font=fonts, font_mono=["ui-monospace", "monospace"]),
            head=HEAD.format(accent=ui.accent, accent_dark=ui.accent_dark),
            footer_links=[],
            show_error=False,
        )


def _component(page: Page) -> None:
    gradio.HTML(
        html_template=FRAME.format(name=page.name),
        js_on_load=MOUNT.format(name=page.name),
        apply_default_css=False,
        container=False,
        padding=False,
    )
