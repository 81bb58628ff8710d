"""The page in a real browser: it renders without an error, its controls work, it fits a phone."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from testing_reports import ATTACK

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
Open = Callable[..., Any]


@pytest.fixture
def opened(chromium: Any, page_file: Path) -> Iterator[Open]:
    """Opens the page; at the end, nothing may have complained or asked for the network."""
    said: list[str] = []
    contexts: list[Any] = []

    def open_page(**options: Any) -> Any:
        contexts.append(chromium.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda r: said.append(r.url) if r.url.startswith("http") else None)
        page.goto(page_file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_page_renders_and_does_not_scroll_sideways(
    opened: Open, screenshots: Path, size: dict[str, int], scheme: str
) -> None:
    page = opened(viewport=size, color_scheme=scheme)
    page.screenshot(path=screenshots / f"report-{size['width']}-{scheme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.locator("svg.chart").count() > 8
    assert page.locator("h1").is_visible() and page.locator(".tile").count() == 3


def test_no_text_of_a_run_becomes_markup(opened: Open) -> None:
    page = opened(viewport=DESKTOP)
    page.locator("#episode-list .row").first.click()
    assert ATTACK in page.locator("#episode pre").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x]").count() == 0


def test_the_slider_turns_every_calibration_chart(opened: Open) -> None:
    page = opened(viewport=PHONE)
    slider = page.locator("#step")
    slider.focus()
    shown = "[data-frames] g.frame:not([hidden])"
    assert page.locator(shown).evaluate_all("fs => fs.map(f => f.dataset.step)") == ["4", "4"]
    page.keyboard.press("Home")
    assert page.locator(shown).evaluate_all("fs => fs.map(f => f.dataset.step)") == ["0", "0"]
    assert page.locator("output[for=step]").inner_text() == "step 0"


def test_the_cost_charts_switch_between_splits_with_the_keyboard(opened: Open) -> None:
    page = opened(viewport=DESKTOP)
    held_out, training = (page.locator(f"[data-split={s}]").first for s in ("test", "train"))
    assert held_out.is_visible() and not training.is_visible()
    page.locator("input[value=test]").focus()
    page.keyboard.press("ArrowRight")
    assert training.is_visible() and not held_out.is_visible()


def test_filters_narrow_the_episodes_and_arrows_walk_through_them(opened: Open) -> None:
    page = opened(viewport=DESKTOP)
    before = page.locator("#episode-count").inner_text()
    page.select_option("select[data-field=arm]", label="WMRL")
    page.select_option("select[data-field=step]", label="4")
    assert page.locator("#episode-count").inner_text() != before
    rows = page.locator("#episode-list .row")
    assert rows.count() == 48
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    assert rows.nth(1).get_attribute("aria-selected") == "true"
    assert "step 4" in page.locator("#episode .note").first.inner_text()


def test_a_mark_says_its_figures_under_the_pointer_at_a_tap_and_by_key(opened: Open) -> None:
    page = opened(viewport=PHONE, has_touch=True)
    tooltip = page.locator("#tooltip.on")
    page.locator("svg.chart").first.focus()
    page.keyboard.press("ArrowRight")
    assert "score" in tooltip.inner_text()
    page.keyboard.press("Escape")
    assert tooltip.count() == 0
    mark = page.locator("svg.chart").first.locator(".mark").last
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "step 4" in tooltip.inner_text()


def test_the_appearance_can_be_changed(opened: Open) -> None:
    page = opened(viewport=DESKTOP, color_scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.locator("#theme").click()
    assert page.evaluate(colour) != light
    page.locator("#theme").click()
    assert page.evaluate(colour) == light
