"""Options and hooks that the whole suite shares."""

import functools
from collections.abc import Generator

import pytest
from hypothesis import settings

# A deadline is an absolute time, which a busy machine misses.
settings.register_profile("wmrl", deadline=None)
settings.load_profile("wmrl")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--require-sandbox`` and ``--require-browser``."""
    parser.addoption(
        "--require-sandbox",
        action="store_true",
        help="fail, instead of skip, the tests marked `sandbox` (for a kernel that can isolate)",
    )
    parser.addoption(
        "--require-browser",
        action="store_true",
        help="fail, instead of skip, the tests marked `browser` (where Chromium is installed)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker of tests in a browser."""
    config.addinivalue_line("markers", "browser: drives a headless Chromium")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test marked ``sandbox`` where the default sandbox is unavailable."""
    if item.get_closest_marker("sandbox") and (reason := sandbox_fault()):
        pytest.skip(f"the default sandbox is unavailable: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skip into a failure where an option requires what the test's marker needs."""
    report = yield
    for marker in ("sandbox", "browser"):
        option = f"--require-{marker}"
        if report.skipped and item.get_closest_marker(marker) and item.config.getoption(option):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            report.outcome = "failed"
            report.longrepr = f"{option}: {reason}"
    return report


@functools.cache
def sandbox_fault() -> str:
    """Why the default sandbox is unavailable; "" where it works."""
    from wmrl_envs.autoresearch.sandbox import Sandbox
    from wmrl_envs.errors import SandboxUnavailable

    try:
        with Sandbox(preload=()) as sandbox:
            sandbox.report()
    except SandboxUnavailable as error:
        return str(error)
    return ""
