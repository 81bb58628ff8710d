"""Options and fixtures that the whole suite shares."""

from collections.abc import Generator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--require-sandbox``."""
    parser.addoption(
        "--require-sandbox",
        action="store_true",
        help="fail, instead of skip, the tests marked `sandbox` (for a kernel that can isolate)",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skip of a test marked ``sandbox`` into a failure under ``--require-sandbox``."""
    report = yield
    required = item.config.getoption("--require-sandbox")
    if required and report.skipped and item.get_closest_marker("sandbox"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"--require-sandbox: {reason}"
    return report
