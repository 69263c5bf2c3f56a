"""The report as a file: self-contained, small, honest about every joule."""

from __future__ import annotations

import contextlib
import html.parser
import itertools
import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from edgejoule.findings import find, tables
from edgejoule.report import build, traces
from edgejoule.report.page import ASSETS, _time_range_s
from edgejoule.store import Store

UNIT = re.compile(r"(?<![\w/])(?:µJ|mJ|kJ|J|mW|kW|W)(?![\w/])")
METHOD = re.compile(r"\b(?:measured|counted|modelled|mixed methods)\b")
NAMED = re.compile(r"\b(?:energy|power)\b", re.IGNORECASE)
BLOCKS = {
    "p",
    "li",
    "dt",
    "dd",
    "td",
    "th",
    "caption",
    "summary",
    "h1",
    "h2",
    "h3",
    "h4",
    "figcaption",
    "text",
    "title",
}
LABELS = {"th", "caption", "summary", "figcaption"}
VERBATIM = {"script", "style", "pre"}


class Blocks(html.parser.HTMLParser):
    """Collects (element, text) of every innermost block, and every attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, list[str]]] = []
        self.closed: list[tuple[str, str]] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.verbatim: str | None = None

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.verbatim = tag if tag in VERBATIM else self.verbatim
        if tag in BLOCKS:
            self.open.append((tag, []))

    def handle_endtag(self, tag):
        self.verbatim = None if tag == self.verbatim else self.verbatim
        if self.open and self.open[-1][0] == tag:
            name, texts = self.open.pop()
            self.closed.append((name, "".join(texts)))
            if self.open:
                self.open[-1][1].append("".join(texts))

    def handle_data(self, data):
        if self.verbatim is None:
            if self.open:
                self.open[-1][1].append(data)
            elif data.strip():
                self.closed.append(("text", data))


def without_method(page: str) -> list[str]:
    """Every text with a joule or a watt, or a label of an energy, that does not say where it comes from."""
    blocks = Blocks()
    blocks.feed(page)
    bad = [
        t
        for tag, t in blocks.closed
        if (UNIT.search(t) or (tag in LABELS and NAMED.search(t))) and not METHOD.search(t)
    ]
    bad += [
        v
        for _, n, v in blocks.attributes
        if n in ("aria-label", "data-label") and UNIT.search(v) and not METHOD.search(v)
    ]
    data = re.search(r'id="trace-data">(.*?)</script>', page, re.DOTALL)
    traces = [t for g in json.loads(data[1]) for t in g["traces"]] if data else []
    return bad + [f"trace of run {t['run']}" for t in traces if not METHOD.search(t.get("method", ""))]


@pytest.fixture(autouse=True, scope="module")
def _uplot() -> None:
    assert (ASSETS / "uplot").is_dir(), "uPlot is missing: run make setup"


def page_of(make_store, assets: Path = ASSETS, **fields) -> str:
    with make_store(**fields) as store:
        experiment = store.find()
        return build(store, experiment, find(store, experiment), assets=assets)


@pytest.mark.parametrize(
    "fields",
    [
        {"failed": {7: "no space left"}, "missing": {("energy_per_op_uj", 4): "a step means more than 20 W"}},
        {"threads": (1, 4), "blocks": 2},
        {"blocks": 1},
        {"planned_only": frozenset(range(45))},
        {"databases": ("sqlite",), "workloads": ("read", "write")},
        {"method": "counted"},
        {"analysis": 'responses = ["energy_j", "power_mean_w"]\nscale = "raw"\nby = "workload"'},
    ],
)
def test_no_joule_and_no_watt_stands_without_its_method(make_store, fields):
    assert without_method(page_of(make_store, **fields)) == []


@pytest.mark.parametrize(
    "method", [" (modelled)", "µJ, modelled", "W, modelled", '"method":"modelled"', ", modelled</h3>"]
)
def test_the_walker_catches_a_page_that_drops_a_method(make_store, method):
    page = page_of(make_store)
    mutant = page.replace(method, method.replace("modelled", ""))
    assert mutant != page
    assert without_method(mutant)


QUARTER_S = {"idle": [(-0.5, -0.25), (0.25, 0.5)], "quiet": [(-0.25, 0.0), (0.0, 0.25)]}


def windows_of(page: str) -> list[dict[str, object]]:
    """The traces as the page's script gets them."""
    data = re.search(r'id="trace-data">(.*?)</script>', page, re.S)
    assert data is not None
    return [t for g in json.loads(data[1]) for t in g["traces"]]


def unlike_the_truth(page: str) -> list[str]:
    """Where the idle and quiet windows of the traces are not those of the runs, in figures and in the pictures."""
    result = []
    for trace in windows_of(page):
        for kind, ((b0, b1), (a0, a1)) in QUARTER_S.items():
            windows = [(start, end) for start, end, name in trace["windows"] if name == kind]
            true = [(b0, b1), (trace["settled"] + a0, trace["settled"] + a1)]
            same = len(windows) == 2 and np.allclose(windows, true, atol=2e-4)
            result += [] if same else [f"run {trace['run']}: {kind} {windows}, not {true}"]
    for picture in re.findall(r'<div class="plot".*?</svg>', page, re.S):
        places = {}
        for tag in re.findall(r"<rect[^>]*>", picture):
            band = re.search(r'class="band (\w+)"', tag)
            x, width = (float(re.search(rf'\b{name}="([-\d.]+)"', tag)[1]) for name in ("x", "width"))
            places.setdefault(band[1], []).append((x, x + width))
        order = [places[kind][i] for kind, i in ORDER if len(places.get(kind, [])) > i]
        joined = len(order) == 6 and all(abs(p[1] - q[0]) < 0.15 and q[1] > q[0] for p, q in itertools.pairwise(order))
        result += [] if joined else [f"the picture has its bands at {places}"]
    return result


ORDER = [("idle", 0), ("quiet", 0), ("active", 0), ("settling", 0), ("quiet", 1), ("idle", 1)]


def test_the_traces_mark_the_idle_and_the_quiet_windows_where_they_were(make_store):
    page = page_of(make_store)
    assert unlike_the_truth(page) == []
    assert re.search(r"Before and after:.*idle, no database open;.*the database open, quiet\.", page)


@pytest.mark.parametrize(
    "mutant",
    [
        lambda windows: windows[:2],
        lambda windows: [replace(w, kind={"idle": "quiet", "quiet": "idle"}[w.kind]) for w in windows],
        lambda windows: [replace(w, start_s=w.start_s + 0.1) for w in windows],
        lambda windows: [replace(w, end_s=w.start_s) for w in windows],
    ],
    ids=["one kind", "kinds exchanged", "begins late", "no length"],
)
def test_a_mutant_of_the_windows_is_detected(make_store, mutant, monkeypatch):
    right = traces._windows
    monkeypatch.setattr(traces, "_windows", lambda *run: mutant(right(*run)))
    assert unlike_the_truth(page_of(make_store))


def test_runs_without_windows_draw_and_explain_none(make_store):
    page = page_of(make_store, windows=False)
    assert all(trace["windows"] == [] for trace in windows_of(page))
    assert 'class="band idle"' not in page
    assert "Before and after:" not in page


@pytest.mark.parametrize(("window_s", "begin_s"), [(1.0, -1.4), (300.0, -5.4)])
def test_windows_longer_than_the_run_do_not_squeeze_it(window_s, begin_s):
    run = SimpleNamespace(settled_s=10.0, windows=(traces.Window(-window_s, 0.0, "idle"),))
    assert _time_range_s([run], 10.0) == pytest.approx((begin_s, 10.4))


def test_the_page_loads_nothing(make_store):
    page = page_of(make_store)
    blocks = Blocks()
    blocks.feed(page)
    assert [
        a for a in blocks.attributes if a[1] in ("src", "srcset", "href", "action") and not a[2].startswith("#")
    ] == []
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|importScripts|sendBeacon", page)


def test_a_report_stays_below_one_megabyte(make_store):
    assert len(page_of(make_store, blocks=5).encode()) < 1_000_000


def test_without_uplot_the_traces_are_pictures_and_the_page_reports_it(make_store, tmp_path):
    for name in ("report.css", "trace.js"):
        (tmp_path / name).write_bytes((ASSETS / name).read_bytes())
    page = page_of(make_store, assets=tmp_path)
    assert "Static pictures: uPlot" in page
    assert "<script" not in page
    assert page.count('class="plot"') == 9


def test_user_text_is_escaped_in_the_page(make_store):
    page = page_of(
        make_store, question="Is <script>alert(1)</script> & co. cheap?", failed={0: "</td><img src=x onerror=y>"}
    )
    assert "<script>alert" not in page
    assert "<img" not in page


def test_a_cause_is_reported_once_with_all_cells_that_it_ended(make_store):
    gone = "loading lmdb failed: no space left"
    with make_store(failed={0: gone, 1: gone, 2: "it was killed"}, blocks=2) as store:
        findings = find(store, store.find())
        levels = [run.levels for run in store.runs(1) if run.cause == gone]
    table = tables.failed(findings)
    assert table is not None
    assert [row[-2:] for row in table.rows] == [("2", gone), ("1", "it was killed")]
    assert set(table.rows[0][0].split(", ")) == {str(one["database"]) for one in levels}


def test_each_load_is_reported_once_with_its_time(make_store):
    with make_store() as store:
        findings = find(store, store.find())
    table = tables.loads(findings)
    assert table is not None
    assert table.columns == ("database", "records", "time to the last insert (s)", "time to settled (s)", "records/s",
                             "runs from it")  # fmt: skip
    assert [row[0] for row in table.rows] == ["leveldb", "rocksdb", "sqlite"]
    assert {row[1:] for row in table.rows} == {("20,000", "4.00", "5.00", "5,000", "15")}


def test_failed_and_missing_are_shown_with_their_causes(make_store):
    page = page_of(make_store, failed={7: "rocksdb: no space left"}, missing={("energy_j", 2): "the meter fell silent"})
    assert "failed: rocksdb: no space left" in page
    assert "1 of 45 runs failed" in page


def test_modelled_energy_is_not_regressed_on_time_and_reports_why(make_store):
    page = page_of(make_store)
    assert "No regression of energy on time" in page
    assert "R²" not in page


def test_the_command_to_repeat_the_study_has_its_options(make_store):
    assert "--set" not in page_of(make_store).split("Do it again")[1]
    page = page_of(make_store, overrides={"recordcount": 777, "operationcount": 5})
    assert "--set fixed.recordcount=777" in page
    assert "--set fixed.operationcount=5" in page


def test_letters_and_intervals_of_modelled_energy_name_their_basis(make_store):
    page = page_of(make_store, method="modelled", min_ratio=1.77)
    (energy, *others) = re.findall(r'<p class="note">Mean and its 95 % interval(.*?)</p>', page, re.DOTALL)
    assert energy.startswith(" from replications alone; cells that share a letter are not shown to differ")
    assert "the model does not resolve it (less than 1.77×)" in energy
    assert others
    assert not any("model" in caption or "replications alone" in caption for caption in others)
    assert page.count('<th scope="col" class="n">95 % CI, replications alone</th>') == 2  # cells and pairs
    assert "means with 95 % confidence intervals, replications alone" in page
    assert "for modelled energy it comes from replications alone" in page


def test_measured_energy_has_no_word_about_a_model_in_its_captions(make_store):
    page = page_of(make_store, method="measured")
    assert "replications alone" not in page
    assert "does not resolve" not in page


def test_a_store_with_runs_of_a_database_that_was_removed_is_reported(make_store, tmp_path):
    make_store(databases=("sqlite", "rocksdb"), workloads=("read",)).close()
    with contextlib.closing(sqlite3.connect(tmp_path / "store-0.db")) as database:
        statements = "\n".join(database.iterdump()).replace("rocksdb", "redis-java")
        marks = [
            f"PRAGMA {m} = {database.execute(f'PRAGMA {m}').fetchone()[0]};" for m in ("application_id", "user_version")
        ]
    with contextlib.closing(sqlite3.connect(tmp_path / "removed.db")) as database:
        database.executescript("\n".join([statements, *marks]))
    with Store.open(tmp_path / "removed.db") as store:
        experiment = store.find()
        assert "redis-java" in experiment.spec.factors["database"]
        assert build(store, experiment, find(store, experiment)).count("redis-java") > 10
