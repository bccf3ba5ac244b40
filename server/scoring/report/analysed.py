"""What the analyses found, in their own shapes."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from server.scoring.report.blocks import Para, nothing
from server.scoring.report.material import Material

Found = TypeVar("Found", bound=BaseModel)


def failed(material: Material, name: str) -> str:
    """Why an analysis that was tried gave nothing; empty where it has simply nothing to say."""
    for each in material.head.broken:
        if each.where == f"analysis {name}":
            return f"This could not be looked at: {each.problem.rstrip('.')}."
    if name in material.head.analyses:
        return "This could not be looked at: it is of a form that this version does not know."
    return ""


def without(material: Material, name: str, sentence: str) -> Para:
    """In place of what an analysis did not give: that it failed, or why there is nothing."""
    why = failed(material, name)
    return Para(why, "warning") if why else nothing(sentence)


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
