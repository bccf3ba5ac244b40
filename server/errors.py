"""What goes wrong at the wire, said in the protocol's own form."""

from typing import Any


class ClientError(Exception):
    """A client's mistake: answered with an `error` event, and the session lives on."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param

    def payload(self, event_id: str | None) -> dict[str, Any]:
        return {
            "type": "invalid_request_error",
            "code": self.code,
            "message": self.message,
            "param": self.param,
            "event_id": event_id,
        }


def server_error(message: str, code: str = "server_error") -> dict[str, Any]:
    """The payload of an error that is ours or a model's, in one sentence and without details."""
    return {
        "type": "server_error",
        "code": code,
        "message": message,
        "param": None,
        "event_id": None,
    }
