"""What the report shows of RocksDB's level 0, of stalled writes, and of a federation's decisions."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import pytest
from command_line import edgejoule

from edgejoule.findings import find
from edgejoule.report import build, level0

REMOTE = {
    "place": "high", "reason": "a stall is <near>", "outcome": "installed", "stall_predicted": True,
    "predicted_s": 0.6, "actual_s": 0.5, "moved_bytes": 4_000_000,
}  # fmt: skip
LOST = {**REMOTE, "place": "medium", "outcome": "fell back: the worker is lost", "actual_s": None, "actual_j": None}
DEPTHS = {"rocksdb": (1, 2, 8, 3), "leveldb": (1, 1)}
DECIDED = {"rocksdb": ({}, REMOTE, REMOTE, LOST)}


def section(make_store, name: str, **fields: Any) -> str:
    with make_store(workloads=("write",), blocks=2, **fields) as store:
        experiment = store.find()
        html = build(store, experiment, find(store, experiment))
    result = re.search(rf'<section id="{name}">.*?</section>', html, re.DOTALL)
    return result[0] if result else ""


def test_each_cell_with_a_level_0_has_a_picture_of_it_on_common_axes(make_store):
    shown = section(make_store, "level0", level0=DEPTHS)
    assert shown.count("<svg") == 2
    assert "sqlite" not in shown
    assert len(set(re.findall(r">(\d+)</text>", shown.split("<svg")[1]))) >= 2
    assert set(re.findall(r'class="tick"[^>]*>([\d.]+)<', shown.split("<svg")[1])) == set(
        re.findall(r'class="tick"[^>]*>([\d.]+)<', shown.split("<svg")[2])
    )


def test_stretches_in_which_writes_were_held_back_are_bands_and_their_sum_is_reported(make_store):
    shown = section(make_store, "level0", level0=DEPTHS)
    stalls = len(re.findall(r'class="stall"', shown))
    held_back = [float(s) for s in re.findall(r"writes held back for ([\d.]+) of", shown)]
    assert (stalls > 0) == any(held_back)


def test_decisions_are_marks_above_the_depth(make_store):
    shown = section(make_store, "level0", level0=DEPTHS, decided=DECIDED)
    assert shown.count("</title>▲</text>") == 3
    assert shown.count("</title>△</text>") == 1
    assert "to high; a stall is &lt;near&gt;; predicted 0.6 s; took 0.5 s" in shown
    assert "▲" not in section(make_store, "level0", level0=DEPTHS)


def test_decisions_are_counted_by_the_server_that_did_the_compaction(make_store):
    shown = section(make_store, "decisions", level0=DEPTHS, decided=DECIDED)
    assert re.findall(r"<title>rocksdb: (\d+ [^<]*)</title>", shown) == ["2 at low", "4 at high", "2 of no use"]
    (row,) = re.findall(r"<tr>.*?</tr>", shown.split("<tbody>")[1], re.DOTALL)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)
    assert cells[-7:] == ["8", "2", "4", "2", "6 of 8", "20% (6)", "20% (6)"]


def test_a_report_without_such_events_has_no_word_of_them(make_store):
    assert section(make_store, "level0") == section(make_store, "decisions") == ""


def test_of_too_many_steps_the_deepest_of_each_slice_of_time_is_drawn():
    steps = [(i / 1000, 9 if i == 5_001 else i % 3) for i in range(10_000)]
    thinned = level0._thinned(steps, 10.0)
    assert len(thinned) <= level0.STEPS_MAX
    assert max(files for _, files in thinned) == 9


@pytest.mark.parametrize(("field", "value"), [("files", -1), ("files", "many")])
def test_a_bundle_keeps_the_events_and_refuses_damaged_ones(make_store, tmp_path, field, value):
    with make_store(blocks=1, level0=DEPTHS, decided=DECIDED) as store:
        path = store.path
    assert edgejoule(tmp_path, "export", "--store", str(path), "--bundle", "all.zip").returncode == 0
    done = edgejoule(tmp_path, "import", "all.zip", "--store", "other.db")
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE events SET json = json_set(json, '$.{field}', ?) WHERE json LIKE '%level0\"%'", (value,))
    assert edgejoule(tmp_path, "export", "--store", str(path), "--bundle", "bad.zip").returncode == 0
    refused = edgejoule(tmp_path, "import", "bad.zip", "--store", "third.db")
    assert refused.returncode != 0
    assert "events" in refused.stderr
