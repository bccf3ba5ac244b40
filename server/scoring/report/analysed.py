"""What the analyses found, in their own shapes."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from server.scoring.report.material import Material

Found = TypeVar("Found", bound=BaseModel)


def analysed(material: Material, name: str, kind: type[Found]) -> Found | None:
    """None where there is none, or one of a form this version does not know."""
    told = material.head.analyses.get(name)
    if told is None:
        return None
    try:
        return kind.model_validate(told)
    except ValidationError:
        return None


def title(material: Material, metric: str) -> str:
    """A metric's, for people."""
    found = material.metrics.get(metric)
    return found.title if found is not None else metric.replace("_", " ")
