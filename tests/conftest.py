"""What holds for all tests: recordings go to a folder that passes, logging is left as it was found,
and under CI=true a browser or vLLM test may not be skipped."""

import logging
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from absl.logging import get_absl_handler

# rouge-score's absl closes, when logging is set up anew, the stream it was imported with: pytest's.
get_absl_handler().python_handler.setStream(sys.__stderr__)

MUST_RUN = ("browser", "vllm")  # marks whose tools `make test-all` brings


@pytest.fixture(scope="session", autouse=True)
def passing_runs(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path, None, None]:
    """Where sessions are recorded by servers that were told nothing else, as processes, too."""
    runs = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTUNE_RECORDING__RUNS", str(runs))
        yield runs


@pytest.fixture(autouse=True)
def logging_left_alone() -> Generator[None, None, None]:
    """A command that begins to log writes to the output of its own test, which closes with it."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    for handler in list(root.handlers):
        if handler not in before:
            root.removeHandler(handler)
    root.setLevel(level)


def _refuse(report: pytest.TestReport | pytest.CollectReport) -> None:
    # A skip's longrepr is (file, line, reason).
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"under CI=true this may not be skipped ({reason})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    must_run = any(item.get_closest_marker(mark) for mark in MUST_RUN)
    expected_failure = hasattr(report, "wasxfail")  # pytest reports these as skipped, too
    if os.environ.get("CI") == "true" and report.skipped and must_run and not expected_failure:
        _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    # A module that skips itself while it is imported never gets to carry its marks.
    report = yield
    if os.environ.get("CI") == "true" and report.skipped and isinstance(collector, pytest.Module):
        source = collector.path.read_text()
        if any(f"mark.{mark}" in source for mark in MUST_RUN):
            _refuse(report)
    return report
