"""A comparison to report on, its page, and a browser to read it with."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from testing_reports import ATTACK, write_arm, write_lines

from wmrl_envs.benchmarks.report.page import build_page
from wmrl_envs.benchmarks.report.runs import find_runs

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="session")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of three arms; what can be text is hostile."""
    root = tmp_path_factory.mktemp("comparison")
    for seed in (0, 1):
        for arm in ("real", "world-model", "wmrl"):
            write_arm(root / f"seed-{seed}" / arm, arm, seed, attack=ATTACK)
    pictures = root / "seed-0" / "wmrl" / "episodes"
    pictures.mkdir()
    Image.new("RGB", (60, 20), "teal").save(pictures / "lift_the_pot.png")
    command = {"argv": ["demo", "--seeds", "2", ATTACK], "versions": {"numpy": ATTACK}}
    write_lines(root / "command.json", [command])
    return root


@pytest.fixture(scope="session")
def html(comparison: Path) -> str:
    return build_page(find_runs([comparison]), f"Report {ATTACK}")


@pytest.fixture(scope="session")
def page_file(html: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def screenshots(pytestconfig: pytest.Config) -> Path:
    """Where screenshots are kept; git ignores it."""
    folder = pytestconfig.rootpath / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
