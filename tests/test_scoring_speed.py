"""Many exchanges are scored in little memory. How fast, `python -m server.scoring.speed` tells."""

from pathlib import Path

import pytest

from server.scoring.results import Results
from server.scoring.speed import CHEAP, item, made, scored

PER_SESSION = 10
MOST_MB = 700
MORE_MB = 60  # of a thousand exchanges more: what is told of one is light


@pytest.mark.slow
def test_memory_hardly_grows_with_the_number_of_exchanges(tmp_path: Path) -> None:
    peaks = []
    for sessions in (10, 110):
        room = tmp_path / str(sessions)
        for nth in range(sessions):
            made(room / "runs", nth, PER_SESSION)
            item(room, nth, PER_SESSION)
        peaks.append(scored(room, room / "out", CHEAP).peak_mb)
        results = Results.model_validate_json((room / "out/scores.json").read_bytes())
        assert len(results.exchanges) == sessions * PER_SESSION
        assert next(each for each in results.metrics if each.name == "rouge_l").n == (
            sessions * PER_SESSION
        )
    print(f"peak memory: {peaks[0]:.0f} MB for 100 exchanges, {peaks[1]:.0f} MB for 1,100")
    assert peaks[1] < MOST_MB and peaks[1] - peaks[0] < MORE_MB
