"""What is asked about exports over HTTP, and what is answered."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema

from server.openapi import BINARY
from server.sessions.export.making import Form
from server.sessions.format import Shape
from server.sessions_shapes import Which

ZIP = "application/zip"
State = Literal["making", "packing", "ready", "sending", "over"]


# The route reads its body by itself: what describes it must stand on its own.
OneForm = Annotated[Form, WithJsonSchema({"type": "string", "enum": [str(form) for form in Form]})]
Filtered = Annotated[Which, WithJsonSchema(Which.model_json_schema())]


class Wanted(Shape):
    """Which sessions to hand out, and in which form."""

    format: OneForm
    filter: Filtered = Field(Which(), description="As for the list; without it, all of them.")
    all_consented: bool = Field(False, description="Also without consent to research.")
    ticket: bool = Field(
        False, description="Answer with an address to fetch it from once, instead of the file."
    )


class Made(BaseModel):
    """An export that waits to be fetched."""

    name: str
    bytes: int
    sessions: int = Field(description="In it.")
    left_out: int = Field(description="Of those sought: not allowed, or nothing in this form.")
    address: str = Field(description="To be fetched within a minute, once, without a token.")


class Progress(BaseModel):
    """How far the export is that is under way; `over` if there is none."""

    state: State
    done: int = Field(0, description="Sessions looked at.")
    total: int = Field(0, description="Sessions sought.")


def zipped(description: str) -> dict[str, Any]:
    """A response with the export."""
    headers = {
        name: {"description": what, "schema": {"type": kind}}
        for name, what, kind in (
            ("Content-Disposition", "The name of the file.", "string"),
            ("Content-Length", "In bytes.", "integer"),
        )
    }
    return {"description": description, "headers": headers, "content": {ZIP: {"schema": BINARY}}}
