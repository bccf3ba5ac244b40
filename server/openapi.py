"""What the HTTP interface says of itself: the pieces of a true `/openapi.json`."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

Described = dict[int | str, dict[str, Any]]  # answers by status, as FastAPI takes them

BINARY = {"type": "string", "format": "binary"}
SOUND = {"schema": BINARY}
TEXT = {"schema": {"type": "string"}}
EVENTS = {  # each of them: before OpenAPI 3.2 there is no other word for it
    "schema": {
        "type": "object",
        "properties": {"data": {"type": "string", "contentMediaType": "application/json"}},
        "required": ["data"],
    }
}
REASONS = {
    400: "Something in the request will not do",
    401: "A token is missing, or is not the right one",
    403: "Not to be asked from here, or not by anybody",
    404: "There is no such session for whoever asks, or nothing of the kind was kept of it",
    409: "It cannot be done to this session now",
    410: "The session was deleted",
    413: "The request is too large",
    416: "The file does not reach so far",
    429: "Too many requests",
    500: "Something cannot be read, or went wrong on our side",
    501: "Something that is needed for it is not installed",
    503: "What is needed for the answer cannot be reached just now",
}


class Problem(BaseModel):
    message: str
    type: str
    param: str | None
    code: str | None


class Failure(BaseModel):
    """How every refusal looks: OpenAI's form."""

    error: Problem


class DescribedApp(FastAPI):
    """An application that names in its description the refusals it really gives."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            described = super().openapi()
            shapes = described.setdefault("components", {}).setdefault("schemas", {})
            # FastAPI's own form of refusal, which our routes never give.
            shapes.pop("HTTPValidationError", None)
            shapes.pop("ValidationError", None)
            for operation in _operations(described["paths"]):
                operation["responses"].pop("422", None)
            for shape in (Problem, Failure):
                shapes[shape.__name__] = _schema(shape)
        assert self.openapi_schema is not None
        return self.openapi_schema


def failures(*statuses: int) -> Described:
    """The refusals a route may give."""
    schema = {"$ref": "#/components/schemas/Failure"}
    return {
        status: {
            "description": REASONS[status],
            "content": {"application/json": {"schema": schema}},
        }
        for status in statuses
    }


def answers(content: Mapping[str, Any], description: str, model: Any = None) -> Described:
    """A good answer in one of several media types; the model is for JSON."""
    found: dict[str, Any] = {"description": description, "content": dict(content)}
    return {200: {**found, "model": model} if model else found}


def asks(shape: type[BaseModel], media: str = "application/json", **more: Any) -> dict[str, Any]:
    """The body of a request that the route reads by itself; `more` are fields it has besides."""
    schema = _schema(shape)
    if more:
        schema["properties"] = {**more, **schema["properties"]}
        schema["required"] = [*more, *schema.get("required", [])]
    return {"requestBody": {"required": True, "content": {media: {"schema": schema}}}}


def lines_of(shape: type[BaseModel]) -> dict[str, Any]:
    """JSON lines, each of this shape."""
    return {"schema": _schema(shape)}


def _schema(shape: type[BaseModel]) -> dict[str, Any]:
    return dict(_schema_of(shape))


@cache
def _schema_of(shape: type[BaseModel]) -> dict[str, Any]:
    schema = shape.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return schema


def _operations(paths: Mapping[str, Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    for path in paths.values():
        yield from path.values()
