"""The report in a real browser."""

from __future__ import annotations

import re
import shutil

import pytest
from pdf_text import pdf_pages
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

    def open_page(width: int = 1400, scheme: str = "light", notes: tuple[str, ...] = (), **fields: object):
        """notes: each on the experiment and on its second run."""
        with make_store(**fields) as store:
            experiment = store.find()
            for text in notes:
                for run in (None, 1):
                    store.add_note(experiment.id, text, "ada@bench", run)
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


@pytest.mark.parametrize("width", [390, 1400])
def test_no_note_is_wider_than_the_window(opened, width):
    page = opened(width, notes=("x" * 270, "the heating was on", "y" * 10_000, "z" * 270))
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_nothing_is_cut_off_on_paper(opened):
    page = opened(794, notes=("y" * 10_000,))  # A4 at 96 dots an inch
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


QUESTION = (
    "Which embedded database costs the fewest joules per operation on this machine, and does it depend on the mix of "
    "reads and writes?"
)
#: The lowest edge of the first screen's parts, in pixels of the page.
BOTTOM = """() => Math.max(...["h1", ".headline", ".answer", ".answer tbody tr", ".footnote"].flatMap(
  (which) => Array.from(document.querySelectorAll(which), (e) => e.getBoundingClientRect().bottom + scrollY)))"""
WORDS_BEFORE_THE_FIRST_DOT = """() => {
  const range = document.createRange();
  range.setStart(document.body, 0);
  range.setEndBefore(document.querySelector(".dot"));
  return range.toString().split(/\\s+/).filter(Boolean);
}"""
#: Parts of the first screen that leave the window, with their text.
OUTSIDE = """() => Array.from(document.querySelectorAll("#answer *"))
  .filter((e) => !e.closest(".ticks") && e.getClientRects().length && e.getBoundingClientRect().width > 0)
  .filter((e) => e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().left < 0)
  .map((e) => e.className + ": " + e.textContent)"""
#: Names and reasons that do not fit their place.
SHORTENED = """() => Array.from(document.querySelectorAll(".who, .track .hole"))
  .filter((e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 2).map((e) => e.textContent)"""
OPEN_ALL = "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
#: Tables that are wider than their place, where that does not scroll by keyboard or must not scroll.
CUT = """(mayScroll) => Array.from(document.querySelectorAll("main table:not(.u-legend)")).filter((table) => {
  const place = table.closest(".scroll") || table.parentElement;
  const wide = table.getBoundingClientRect().right > place.getBoundingClientRect().right + 1;
  return wide && !(mayScroll && place.tabIndex === 0 && getComputedStyle(place).overflowX === "auto");
}).map((table) => table.caption.textContent)"""
#: Contrast of each text with the page, and of each dot.
CONTRAST = """() => {
  const light = (rgb) => rgb.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const against = (colour) => {
    const [a, b] = [light(colour), light(getComputedStyle(document.body).backgroundColor)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const least = (which, property) => Math.min(...Array.from(
    document.querySelectorAll(which), (e) => against(getComputedStyle(e)[property])));
  return [least("h1, .headline, #answer th, #answer td, #answer span, #answer p", "color"),
          least("#answer .dot", "borderTopColor")];
}"""
COMPARED = 'responses = ["energy_per_op_uj"]\ncompare = "threads"'
EIGHT = (1, 2, 4, 8, 16, 32, 64, 128)


def test_the_whole_answer_stands_on_the_first_screen(opened):
    page = opened(question=QUESTION)
    assert page.locator(".answer tbody tr").count() == 3
    assert page.locator(".answer .dot").count() == 9
    assert page.evaluate(BOTTOM) <= 900


def test_eight_levels_in_three_workloads_stand_on_the_first_screen(opened):
    page = opened(databases=("sqlite",), threads=EIGHT, blocks=2, analysis=COMPARED)
    assert page.locator(".answer .dot").count() == 24
    assert page.evaluate(BOTTOM) <= 900


@pytest.mark.parametrize(
    "fields", [{}, {"target_ops_s": 60_000.0, "reached": {"sqlite": 0.7}}, {"threads": (1, 8), "blocks": 2}]
)
def test_on_a_telephone_the_answer_begins_on_the_first_screen_and_nothing_is_cut(opened, fields):
    page = opened(390, question=QUESTION, method="counted", **fields)
    assert page.evaluate("document.querySelector('.answer .dot').getBoundingClientRect().bottom") <= 844
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(SHORTENED) == []


LONG_LEVELS = (123_456_789_012_345, 234_567_890_123_456)


def test_on_a_telephone_long_names_stand_above_their_dots(opened):
    page = opened(390, databases=("sqlite",), threads=LONG_LEVELS, blocks=2, analysis=COMPARED, method="counted")
    for line in page.locator(".answer .line").all():
        name, dot = (line.locator(part).bounding_box() for part in (".who", ".dot"))
        assert name["y"] + name["height"] <= dot["y"] + 2
        assert dot["x"] >= line.bounding_box()["x"]
    assert page.evaluate(SHORTENED) == []
    assert page.evaluate(OUTSIDE) == []


def test_on_a_telephone_no_meter_stands_above_the_answer(opened):
    page = opened(390)
    assert page.locator("#details aside").bounding_box()["y"] > page.locator(".footnote").bounding_box()["y"]


@pytest.mark.parametrize("width", [1400, 1920])
def test_names_and_figures_of_the_answer_fit_their_places(opened, width):
    page = opened(width, threads=(1, 8), blocks=2, failed={7: "no space left on the device that holds the database"})
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(SHORTENED) == []


def test_at_most_sixty_words_stand_before_the_first_dot(opened):
    words = opened(question=QUESTION).evaluate(WORDS_BEFORE_THE_FIRST_DOT)
    assert 10 < len(words) <= 60, " ".join(words)


LONG = "the meter did not answer for 2.3 s between two samples, and a gap of more than 1 s cannot be filled " * 2


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"threads": (1, 4, 16), "blocks": 2},
        {"failed": {7: LONG}, "missing": {("energy_per_op_uj", 4): LONG, ("throughput_ops_s", 5): LONG}},
    ],
)
def test_no_table_is_cut_at_1400_pixels(opened, fields):
    page = opened(1400, method="counted", **fields)
    page.evaluate(OPEN_ALL)
    assert page.evaluate(CUT, arg=False) == []


def test_on_a_telephone_a_wide_table_scrolls_in_a_place_that_takes_the_focus(opened):
    page = opened(390)
    page.evaluate(OPEN_ALL)
    assert page.evaluate(CUT, arg=True) == []
    assert page.evaluate(CUT, arg=False) != [], "there are wide tables"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_answer_can_be_read_against_the_page(opened, scheme):
    page = opened(scheme=scheme, threads=EIGHT, databases=("sqlite",), workloads=("read",), blocks=2, method="counted")
    text, dots = page.evaluate(CONTRAST)
    assert text >= 4.5
    assert dots >= 3.0, "WCAG 2.1, 1.4.11"


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_the_first_printed_page_is_the_answer(opened):
    page = opened(question=QUESTION, method="counted")
    verdicts = page.locator(".answer .say").all_inner_texts()
    assert len(verdicts) == 3
    printed = pdf_pages(page.pdf(format="A4"))[0]
    for text in (QUESTION, page.locator(".headline").inner_text(), *verdicts, page.locator(".footnote").inner_text()):
        assert squeezed(text) in printed


def test_folded_tables_are_printed(opened):
    page = opened(method="counted", failed={7: "no space left"})
    printed = "".join(pdf_pages(page.pdf(format="A4")))
    for table in page.locator("main details table").all():
        assert squeezed(table.locator("tbody tr").last.text_content()) in printed, table.locator(
            "caption"
        ).text_content()


def test_all_traces_are_printed(opened):
    page = opened()
    page.emulate_media(media="print")
    assert page.locator(".trace-group:visible h3").all_inner_texts() == ["read", "moderate", "write"]


def test_no_heading_is_the_last_of_its_printed_page(opened):
    page = opened(method="counted")
    headings = tuple(squeezed(text) for text in page.locator("main h2, main h3, main summary").all_text_contents())
    for height_mm in range(230, 300, 5):  # so that many places of the report come to the end of a page
        pages = pdf_pages(page.pdf(width="210mm", height=f"{height_mm}mm"))
        assert len(pages) > 5
        assert not [text[-60:] for text in pages if text.endswith(headings)], height_mm


def test_a_dark_screen_prints_dark_on_white(opened):
    page = opened(scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(CONTRAST)[0] >= 4.5
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


TWO_SERVERS = {
    "databases": ("sqlite", "leveldb"), "workloads": ("moderate",), "blocks": 4, "target_ops_s": 60_000.0,
    "question": "Which of two databases answers at 60,000 operations a second sooner, and for how much CPU time?",
    "analysis": 'responses = ["read_intended_latency_us_p99", "target_share", "cpu_us_per_op"]',
}  # fmt: skip


def test_on_a_telephone_the_glance_of_long_names_is_whole(opened):
    page = opened(390, **TWO_SERVERS)
    place = page.locator("#glance .scroll")
    assert place.evaluate("(e) => e.scrollWidth - e.clientWidth") == 0
    assert place.locator("b").first.is_visible()


def test_on_a_telephone_captions_stay_within_the_window(opened):
    page = opened(390, **TWO_SERVERS)
    rights = "Array.from(document.querySelectorAll('#tables caption'), (e) => e.getBoundingClientRect().right)"
    assert max(page.evaluate(rights)) <= 390


def test_a_table_that_goes_on_beyond_its_edge_has_a_shade_there(opened):
    """The shade is the place's background; the table's own background covers it at the end."""
    page = opened(390, **TWO_SERVERS)
    page.evaluate(OPEN_ALL)
    assert page.evaluate(CUT, arg=True) == []
    backgrounds = "(e) => getComputedStyle(e).backgroundAttachment + getComputedStyle(e).backgroundImage"
    shade = page.locator("#tables .scroll").first.evaluate(backgrounds)
    assert shade.startswith("local, local, scroll, scroll")
    assert shade.count("linear-gradient") == 4


@pytest.mark.parametrize("width", [1400, 1920])
def test_two_lines_of_result_leave_no_empty_column(opened, width):
    page = opened(width, **TWO_SERVERS)
    statements, aside = (page.locator(f"#details {part}").bounding_box() for part in (".statements", "aside"))
    assert aside["y"] >= statements["y"] + statements["height"]
    assert aside["width"] > 0.9 * page.locator("#details").bounding_box()["width"]


@pytest.mark.parametrize("width", [1400, 1920])
def test_latencies_of_one_condition_stand_beside_each_other_under_one_heading(opened, width):
    page = opened(width, **TWO_SERVERS)
    cards = page.locator("#latency .card")
    tops = {card.bounding_box()["y"] for card in cards.all()}
    assert cards.count() == 4
    assert len(tops) == 2
    assert page.locator("#latency h3").count() == 0
    assert page.locator("#latency h4").all_inner_texts() == [
        f"{operation}, {measure}"
        for measure in ("latency from due time", "service time")
        for operation in ("read", "update")
    ]


#: Pixels to the right of each power chart, where half of the last time's label stands, and that half's width.
ROOM = """() => edgejouleCharts().map((u) => {
  const { ctx, bbox } = u, times = u.axes[0]._values, px = devicePixelRatio;
  ctx.font = `${11.5 * px}px system-ui, sans-serif`;
  return [ctx.canvas.width - bbox.left - bbox.width, Math.max(...times.map((t) => ctx.measureText(t).width)) / 2];
})"""


def test_the_last_time_of_a_power_chart_has_room(opened):
    for room, half in opened(1400, **TWO_SERVERS).evaluate(ROOM):
        assert room >= half > 5


def test_tables_of_two_servers_are_whole_on_paper(opened):
    page = opened(794, **TWO_SERVERS)
    page.emulate_media(media="print")
    page.evaluate(OPEN_ALL)
    assert page.evaluate(CUT, arg=False) == []
    first = pdf_pages(page.pdf(format="A4"))[0]
    assert squeezed(page.locator(".headline").inner_text()) in first
    assert squeezed(page.locator(".key-line .factor").inner_text()) in first
