"""The report in a real browser."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import sync_playwright

from edgejoule.findings import find
from edgejoule.report import build
from edgejoule.report.page import ASSETS

pytestmark = pytest.mark.browser
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path is not None, "no Chromium here: tools/packages test-all"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def opened(browser, make_store, tmp_path):
    """Opens a report; afterwards no error, no request beyond the file itself."""
    assert (ASSETS / "uplot").is_dir(), "uPlot is not there: python lab/fetch_web_assets.py"
    contexts, troubles, requests = [], [], []

    def open_page(width: int = 1400, scheme: str = "light"):
        with make_store() as store:
            experiment = store.find()
            target = tmp_path / "report.html"
            target.write_text(build(store, experiment, find(store, experiment)), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(target.as_uri())
        page.wait_for_selector(".uplot")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []
    assert [r for r in requests if not r.endswith("/report.html")] == []


def ranges(page) -> list[tuple[float, float]]:
    return [tuple(r) for r in page.evaluate("edgejouleCharts().map((c) => [c.scales.x.min, c.scales.x.max])")]


def test_opens_without_an_error_and_without_a_request(opened):
    page = opened()
    assert page.evaluate("edgejouleCharts().length") == 3


@pytest.mark.parametrize("width", [390, 1600])
def test_nothing_is_wider_than_the_window(opened, width):
    page = opened(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_nothing_is_cut_off_on_paper(opened):
    page = opened(794)  # A4 at 96 dots an inch
    page.emulate_media(media="print")
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 794


def test_dragging_zooms_all_traces_and_a_double_click_shows_everything(opened):
    page = opened()
    before = ranges(page)
    box = page.locator(".trace-group:not([hidden]) .u-over").first
    box.scroll_into_view_if_needed()
    place = box.bounding_box()
    x, y = place["x"], place["y"] + place["height"] / 2
    page.mouse.move(x + place["width"] * 0.3, y)
    page.mouse.down()
    page.mouse.move(x + place["width"] * 0.5, y, steps=8)
    page.mouse.up()
    zoomed = ranges(page)
    width = before[0][1] - before[0][0]
    assert all(abs((b - a) / width - 0.2) < 0.03 for a, b in zoomed)
    assert len(set(zoomed)) == 1
    page.mouse.dblclick(x + place["width"] * 0.5, y)
    assert ranges(page) == before


def test_the_keyboard_zooms_moves_and_resets(opened):
    page = opened()
    before = ranges(page)
    page.locator(".trace-group:not([hidden]) .plot").first.focus()
    page.keyboard.press("+")
    zoomed = ranges(page)
    assert zoomed[0][1] - zoomed[0][0] == pytest.approx((before[0][1] - before[0][0]) / 2)
    page.keyboard.press("ArrowRight")
    assert ranges(page)[0][0] > zoomed[0][0]
    page.keyboard.press("0")
    assert ranges(page) == before


def test_another_condition_shows_its_own_runs_and_the_legend_reports_the_method(opened):
    page = opened()
    page.get_by_role("button", name="write", exact=True).click()
    assert page.locator(".trace-group:not([hidden]) h3").inner_text() == "write"
    assert page.evaluate("edgejouleCharts().length") == 3
    assert "modelled" in page.locator(".trace-group:not([hidden]) .u-legend").first.text_content()


def test_dark_mode_is_dark(opened):
    page = opened(scheme="dark")
    shade = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)")
    assert max(shade) < 60


def test_pointing_at_a_trace_reads_it_out_with_its_method(opened):
    page = opened()
    box = page.locator(".trace-group:not([hidden]) .u-over").first
    box.scroll_into_view_if_needed()
    place = box.bounding_box()
    page.mouse.move(place["x"] + place["width"] * 0.4, place["y"] + 40)
    page.mouse.move(place["x"] + place["width"] * 0.41, place["y"] + 40)
    page.wait_for_function("/\\d W modelled/.test(document.querySelector('.u-legend').textContent)", timeout=5000)


SHADES = """(times) => {
  const u = edgejouleCharts()[0], row = u.ctx.getImageData(0, u.bbox.top + 2, u.ctx.canvas.width, 1).data;
  const settled = JSON.parse(document.getElementById("trace-data").textContent)[0].traces[0].settled;
  const at = ([from, s]) => 4 * Math.round(u.valToPos(s + (from === "settled" ? settled : 0), "x", true));
  return times.map((t) => Array.from(row.slice(at(t), at(t) + 4)).join());
}"""


def test_idle_and_quiet_windows_have_different_shades(opened):
    times = [("begin", s) for s in (-0.55, -0.37, -0.13, 0.53)] + [("settled", s) for s in (0.13, 0.37)]
    outside, idle, quiet, active, quiet_after, idle_after = opened().evaluate(SHADES, times)
    assert outside == "0,0,0,0"
    assert len({outside, idle, quiet, active}) == 4
    assert (quiet_after, idle_after) == (quiet, idle)


def test_without_scripts_every_trace_is_a_picture(browser, make_store, tmp_path):
    with make_store() as store:
        experiment = store.find()
        target = tmp_path / "report.html"
        target.write_text(build(store, experiment, find(store, experiment)), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(target.as_uri())
    assert page.locator(".plot svg:visible").count() == 9
    context.close()
