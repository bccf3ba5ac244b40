"""Using every model once, so that the first person to speak does not wait for caches to fill."""

import logging

from models.errors import BackendError
from models.protocols import Models
from models.trying import TRIALS

log = logging.getLogger(__name__)


async def warm(models: Models) -> None:
    for role, trial in TRIALS.items():
        if role == "thinker":  # rules need no warming, and a large model would only plan
            continue
        try:
            await trial(models)
        except BackendError as error:  # one that is served elsewhere may still be on its way
            log.warning("%s is not ready: %s", role, error)
