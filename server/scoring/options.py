"""Options that several scoring commands take, in the same words."""

from typing import Annotated

import typer

Metrics = Annotated[
    list[str] | None,
    typer.Option(help="Metrics, instruments or families, with commas; else all."),
]
JudgeModel = Annotated[str | None, typer.Option(help="The judge's name there.")]
JudgeHears = Annotated[bool | None, typer.Option("--judge-hears", help="It takes sound, too.")]
JudgeRepeats = Annotated[int | None, typer.Option(help="How often it is asked each thing.")]
