"""Settings of scoring: what makes no sense is refused where it is told."""

from typing import Any

import pytest
from pydantic import ValidationError

from server.scoring.settings import Settings


@pytest.mark.parametrize(
    "told",
    [
        {"seed": -1},
        {"seed": 2**70},
        {"judge": 5},
        {"judge": {"seed": -1}},
        {"judge": {"temperature": float("nan")}},
        {"judge": {"timeout_sec": 0}},
    ],
)
def test_what_nothing_could_be_scored_with_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate(told)
    assert Settings(seed=0).seed == 0
