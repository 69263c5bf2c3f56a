"""What report, terminal and bundle show of the phases that a command announced."""

from __future__ import annotations

import json
import re

from command_line import edgejoule

from edgejoule.findings import find
from edgejoule.report import build

NAMES = (
    "load",
    "<query> & more",
    "a phase whose name is far too long for the room that it has in a picture of a run" * 2,
)


def page(make_store, **fields) -> str:
    with make_store(method="measured", **fields) as store:
        experiment = store.find()
        return build(store, experiment, find(store, experiment))


def test_phases_are_drawn_on_the_power_trace_with_their_names_where_there_is_room(make_store):
    picture = page(make_store, phases=NAMES, blocks=1).split('<section id="power">')[1].split("</svg>")[0]
    assert picture.count('class="phase"') == 3
    assert re.findall(r"<title>phase (load|&lt;query&gt; &amp; more): [\d.]+ s</title>", picture)
    assert ">load</text>" in picture
    assert ">a phase whose" not in picture


def test_the_page_s_script_gets_the_phases(make_store):
    html = page(make_store, phases=NAMES, blocks=1)
    data = re.search(r'id="trace-data"[^>]*>(.*?)</script>', html, re.DOTALL)
    if data is None:
        assert "uPlot" in html
        return
    phases = json.loads(data[1])[0]["traces"][0]["phases"]
    assert [name for _, _, name in phases] == list(NAMES)
    assert all(start < end for start, end, _ in phases)


def test_a_table_has_joules_seconds_and_bytes_of_each_phase_and_reports_what_is_missing(make_store):
    html = page(make_store, phases=NAMES[:2], blocks=2)
    table = html.split("<h3>Phases</h3>")[1].split("</table>")[0]
    assert "energy (mJ, measured)" in table or "energy (J, measured)" in table
    assert table.count("<tr") == 1 + 9 * 2
    assert "&lt;query&gt; &amp; more" in table
    assert table.count(">missing<") == 9 * 2, "read_bytes"


def test_a_report_without_phases_has_no_word_of_them(make_store):
    html = page(make_store, blocks=1)
    assert "<h3>Phases</h3>" not in html
    assert 'class="phase"' not in html


def test_show_prints_the_phases_of_a_run(make_store, tmp_path):
    with make_store(method="counted", phases=NAMES[:2], blocks=1) as store:
        path = str(store.path)
    shown = edgejoule(tmp_path, "show", "--store", path, "--run", "1").stdout
    assert "phases of the command; amounts, energy counted" in shown
    row = next(line for line in shown.splitlines() if line.strip().startswith("<query> & more"))
    assert row.split()[-2:] == ["missing", "2"]


def test_a_bundle_keeps_the_phases(make_store, tmp_path):
    with make_store(phases=NAMES, blocks=1) as store:
        path = str(store.path)
    edgejoule(tmp_path, "export", "--store", path, "--bundle", str(tmp_path / "study.zip"))
    edgejoule(tmp_path, "import", str(tmp_path / "study.zip"), "--store", str(tmp_path / "other.db"))
    shown = edgejoule(tmp_path, "show", "--store", str(tmp_path / "other.db"), "--run", "1").stdout
    assert "phases of the command" in shown
