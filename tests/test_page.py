"""The plain page: what the weights in use hear, and under which licence, is there to read."""

import re

import pytest

from models.perceiver_off import Off
from models.perception import coverage
from models.standin import StandinPerceiver
from server.page import heard, page
from tests.serving import serving, standins
from tests.test_app import get

RESEARCH_ONLY = ("surprise", "horn")


class Licensed(StandinPerceiver):
    """A Perceiver whose weights say what they are."""

    def __init__(self, weights: str, licence: str) -> None:
        super().__init__()
        self.weights = weights
        self.licence = licence


def footer(shown: str) -> str:
    found = re.findall(r"<footer>(.*?)</footer>", shown, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


async def test_the_licence_of_research_weights_is_at_the_foot_of_the_page() -> None:
    perceiver = Licensed("research", "non-commercial research only")
    async with serving(standins(perceiver=perceiver)) as (url, _):
        status, shown = await get(url, "/")
    assert status == 200 and "/v1/realtime" in shown
    assert "research weights" in footer(shown)
    assert "non-commercial research only" in footer(shown)


@pytest.mark.parametrize("weights", coverage.WEIGHTS)
def test_the_foot_of_the_page_says_what_the_weights_in_use_hear(weights: str) -> None:
    shown = footer(page(Licensed(weights, "Apache-2.0")))
    assert f"the {weights} weights" in shown
    assert all(name in shown for name in heard(weights))


def test_the_default_hears_less_than_research_and_never_claims_the_difference() -> None:
    default, research = heard("default"), heard("research")
    assert {"angry", "female", "whisper"} <= {*default} < {*research}
    assert {*RESEARCH_ONLY} <= {*research} - {*default}


@pytest.mark.parametrize("perceiver", [Off(), StandinPerceiver()])
def test_without_weights_there_is_no_footer(perceiver: Off | StandinPerceiver) -> None:
    shown = page(perceiver)
    assert "<footer>" not in shown and "<!--" not in shown


def test_a_licence_is_shown_as_it_is_written() -> None:
    assert "&lt;b&gt; &amp; co" in footer(page(Licensed("default", "<b> & co")))
