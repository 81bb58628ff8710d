"""Where the sandbox is unavailable its tests are skipped, unless they are required."""

from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
NO_SANDBOX = "\n\ndef sandbox_fault():\n    return 'no user namespaces'\n"
TESTS = """
import pytest

@pytest.mark.sandbox
def test_marked():
    pass

def test_skipped_for_another_reason():
    pytest.skip("another reason")
"""


@pytest.mark.parametrize(
    ("options", "skipped", "errors"), [((), 2, 0), (("--require-sandbox",), 1, 1)]
)
def test_without_a_sandbox_a_marked_test_is_skipped_or_an_error(
    pytester: pytest.Pytester, options: tuple[str, ...], skipped: int, errors: int
) -> None:
    pytester.makeini("[pytest]\nmarkers = sandbox: needs the sandbox")
    pytester.makeconftest(CONFTEST + NO_SANDBOX)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest("-rs", *options)
    assert result.parseoutcomes() == {
        name: n for name, n in (("skipped", skipped), ("errors", errors)) if n
    }
    result.stdout.fnmatch_lines(["*no user namespaces*"])


@pytest.mark.parametrize(
    ("options", "outcome"), [((), "skipped"), (("--require-browser",), "failed")]
)
def test_without_a_browser_its_tests_are_skipped_or_fail(
    pytester: pytest.Pytester, options: tuple[str, ...], outcome: str
) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.browser
        def test_marked():
            pytest.skip("no Chromium")
        """
    )
    result = pytester.runpytest("-rs", *options)
    assert result.parseoutcomes() == {outcome: 1}
