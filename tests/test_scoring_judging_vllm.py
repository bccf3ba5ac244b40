"""A real, small model as the judge, behind a real vLLM: a grade or a reason, never a crash."""

from collections.abc import Iterator

import pytest

from server.scoring import instruments
from server.scoring.settings import JudgeSettings, Settings
from tests.scoring_parts import exchange
from tests.vllm_serving import NAME, PYTHON, VllmServer

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]  # vLLM is slow to start

REASONS = {
    "the judge's answer could not be read",
    "the judge does not hear",
    "the judge did not answer: it refused the question",  # its 2048 tokens are few
}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    if not PYTHON.exists():
        pytest.skip("make vllm-cpu makes .venv-vllm")
    server = VllmServer(tmp_path_factory.mktemp("vllm") / "log.txt")
    server.start()
    judge = JudgeSettings(url=server.url, model=NAME, max_tokens=256)
    yield Settings(judge=judge)
    server.stop()


@pytest.mark.parametrize("name", ["echomind", "humdial", "counterfactual"])
def test_a_real_model_judges_or_says_why_not(name: str, settings: Settings) -> None:
    judge = instruments.build(name, settings)
    scores = judge.measure(exchange(cue="sad", alternative_reference="Wow, congratulations!"))
    ends = {measure.name: measure for measure in instruments.measures(name)}
    assert set(scores) == set(ends)
    judged = 0
    for measure, score in scores.items():
        smallest, largest = ends[measure].smallest, ends[measure].largest
        if score.value is not None and smallest is not None and largest is not None:
            assert smallest <= score.value <= largest
            judged += 1
        elif not measure.startswith("judge_self_agreement"):
            assert score.unscored in REASONS
    usage = judge.usage  # type: ignore[attr-defined]
    assert usage.calls >= 1
    if judged:
        assert usage.tokens_in > 100
