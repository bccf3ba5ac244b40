"""Under CI=true, a skipped browser or vLLM test is a failure; elsewhere it is a skip."""

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture
def inner(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project of its own, with our rule and our marks."""
    pytester.makeini("[pytest]\nmarkers =\n    browser: x\n    vllm: x\n    slow: x\n")
    return pytester


def outcomes(inner: pytest.Pytester, source: str) -> dict[str, int]:
    inner.makepyfile("import pytest\n" + source)
    result = inner.runpytest("-p", "tests.conftest", "-p", "no:asyncio", "-p", "no:cacheprovider")
    return result.parseoutcomes()


def skipped_test(mark: str, how: str) -> str:
    # The mark is put in here, or `make test-all` would take this file for a test of that kind.
    body = {
        "call": "def test_x(): pytest.skip('no tool')",
        "decorator": "@pytest.mark.skipif(True, reason='no tool')\ndef test_x(): ...",
        "fixture": "@pytest.fixture\ndef tool(): pytest.skip('no tool')\ndef test_x(tool): ...",
    }[how]
    return f"pytestmark = pytest.mark.{mark}\n{body}"


@pytest.mark.parametrize("how", ["call", "decorator", "fixture"])
@pytest.mark.parametrize("mark", ["browser", "vllm"])
def test_under_ci_a_skipped_test_fails(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, mark: str, how: str
) -> None:
    monkeypatch.setenv("CI", "true")
    counts = outcomes(inner, skipped_test(mark, how))
    assert counts.get("skipped", 0) == 0
    assert counts.get("failed", 0) + counts.get("errors", 0) == 1


def test_under_ci_a_module_that_skips_itself_fails(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    head = "pytest.skip('no tool', allow_module_level=True)\n"
    assert outcomes(inner, head + skipped_test("browser", "call")) == {"errors": 1}


def test_elsewhere_a_skipped_test_is_skipped(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    assert outcomes(inner, skipped_test("vllm", "call")) == {"skipped": 1}


def test_under_ci_other_skips_and_expected_failures_stand(
    inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    assert outcomes(inner, skipped_test("slow", "call")) == {"skipped": 1}
    expected = "@pytest.mark.{}\n@pytest.mark.xfail\ndef test_y(): assert False".format("vllm")
    assert outcomes(inner, expected) == {"xfailed": 1}
