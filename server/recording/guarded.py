"""A fault of the recorder ends the recording, and never the conversation."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class Failing(Protocol):
    def fail(self, error: Exception) -> None: ...


Self = TypeVar("Self", bound=Failing)
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def guarded(
    method: Callable[Concatenate[Self, Given], Answer],
) -> Callable[Concatenate[Self, Given], Answer | None]:
    """A method that raises nothing: its object is told instead."""

    @wraps(method)
    def tried(self: Self, /, *args: Given.args, **kwargs: Given.kwargs) -> Answer | None:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self.fail(error)
            return None

    return tried
