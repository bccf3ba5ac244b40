"""What figures are broken down by: how an exchange was made, heard and annotated. Pure."""

from server.scoring.exchange import Exchange
from server.sessions.heard import chances, known

ROLES = ("responder", "speaker", "perceiver")
HEARD = ("emotion", "age")
NOT_SURE = "not sure"
# Of the annotation, in the order of the report.
ANNOTATED = (
    "benchmark", "task", "variant", "setting", "cue_given", "prompt", "speech", "condition",
    "topic", "cue", "dimension", "level", "kind",
)  # fmt: skip
ORDER = (*ROLES, "profile", *HEARD, *ANNOTATED)


def attributes(exchange: Exchange) -> dict[str, str]:
    conversation = exchange.conversation
    found: dict[str, str | None] = {role: conversation.models.get(role) for role in ROLES}
    found["profile"] = conversation.session.profile
    percept = exchange.user.percept if exchange.user is not None else None
    for field in HEARD:
        if chances(percept, field):
            found[field], _ = known(percept, field) or (NOT_SURE, 0.0)
    found |= {name: getattr(exchange.annotation, name) for name in ANNOTATED}
    return {name: value for name, value in found.items() if value is not None}
