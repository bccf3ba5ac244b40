"""Which models a front has for itself, and which it shares with all others."""

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from models import registry
from models.protocols import Models
from models.registry import Choice
from models.types import FRAME
from server.processes.messages import Message
from server.processes.remote import (
    Line,
    RemoteJudge,
    RemotePerceiver,
    RemoteResponder,
    RemoteSpeaker,
    RemoteTranscriber,
)

log = logging.getLogger(__name__)

# Asked for every 32 ms of everybody, and tiny; and rules, which have no network.
OWN_ROLES = ("voice_detector", "thinker")
# Without weights: they ask a server, to which each front may have its own connections.
OWN_BACKENDS = {
    "transcriber": ("openai",),
    "perceiver": ("off",),
    "responder": ("vllm",),
    "speaker": ("openai",),
}


def is_own(role: str, choice: Choice) -> bool:
    """Whether a front does this work by itself."""
    return role in OWN_ROLES or choice.backend in OWN_BACKENDS.get(role, ())


async def models_of_a_front(choices: Mapping[str, Choice], line: Line) -> Models:
    """All roles, warm; nobody is asked twice for the same weights."""
    card = (await line.ask("perceiver", "card", Message())).head
    found: dict[str, Any] = {
        "turn_judge": RemoteJudge(line),
        "transcriber": RemoteTranscriber(line),
        "perceiver": RemotePerceiver(line, card),
        "responder": RemoteResponder(line),
        "speaker": RemoteSpeaker(line),
    }
    with ExitStack() as opened:
        for role, choice in choices.items():
            if is_own(role, choice):
                found[role] = registry.build(role, choice)
                if close := getattr(found[role], "close", None):
                    opened.callback(close)
        models = Models(**found, close=opened.pop_all().close)
    models.voice_detector.open()(np.zeros(FRAME, np.float32))
    return models
