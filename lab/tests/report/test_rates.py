"""A study at a fixed rate: latencies count from the due time, and a cell that misses its rate gets no verdict."""

from __future__ import annotations

import dataclasses
import json
import re
from types import SimpleNamespace

import pytest
from command_line import edgejoule

from edgejoule.dictionary.responses import RESPONSES, Better, reported_responses
from edgejoule.findings import Findings, find
from edgejoule.findings.model import Cell, Ranking
from edgejoule.findings.rates import BESIDE_OTHERS, is_asked_for, not_sustained, rate_lines, rate_sentences
from edgejoule.findings.verdict import statements
from edgejoule.report import build

SERVICE, DUE, ENERGY = "read_latency_us_p99", "read_intended_latency_us_p99", "energy_per_op_uj"
DECLARED = f'responses = ["{SERVICE}", "throughput_ops_s", "{ENERGY}"]'
AT_RATE = {"target_ops_s": 9_000, "method": "counted", "analysis": DECLARED}
MISSED = "does not sustain 9,000/s, reached 7,920"


def findings_of(make_store, **fields) -> Findings:
    with make_store(**AT_RATE | fields) as store:
        return find(store, store.find())


def test_at_a_rate_the_latency_from_the_due_time_decides_and_service_time_stands_behind_it(make_store):
    findings = findings_of(make_store)
    assert [r.name for r in findings.responses] == [DUE, SERVICE, "throughput_ops_s", ENERGY]
    assert findings.headline.startswith("Lowest read latency from due time, 99th percentile in all 3 workloads: sqlite")
    assert "read latency (service time), 99th percentile" in findings.verdict[0].text


def test_without_a_rate_service_time_decides(make_store):
    assert findings_of(make_store, target_ops_s=None).responses[0].name == SERVICE


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ([ENERGY, "throughput_ops_s"], [ENERGY, DUE, "throughput_ops_s"]),
        ([SERVICE, DUE], [SERVICE, DUE]),
        (["throughput_ops_s"], ["throughput_ops_s"]),
    ],
)
def test_declared_responses_stay_in_order_and_the_default_has_due_times(declared, expected):
    assert reported_responses(declared, {SERVICE, DUE, ENERGY, "throughput_ops_s"}, modelled=False) == expected


def test_every_operation_has_percentiles_of_both_latencies():
    for operation in ("read", "update", "insert", "scan", "read_modify_write", "delete"):
        for latency in ("latency", "intended_latency"):
            for statistic in ("mean", "p50", "p95", "p99", "p999"):
                assert RESPONSES[f"{operation}_{latency}_us_{statistic}"].unit == "µs"


def test_a_cell_that_misses_its_rate_by_more_than_a_hundredth_gets_no_verdict_on_latency_and_energy(make_store):
    findings = findings_of(make_store, reached={"leveldb": 0.88, "rocksdb": 0.995})
    for name in (DUE, SERVICE, ENERGY):
        for ranking in findings.response(name).rankings:
            assert [c.levels["database"] for c in ranking.without_value] == ["leveldb"]
            assert {c.levels["database"] for c in ranking.cells} == {"sqlite", "rocksdb"}
    cells = findings.response("throughput_ops_s").cells
    assert all(c.mean is not None for c in cells), "the rate that was reached is shown"
    assert all(f"leveldb {MISSED}." in s.text for s in findings.verdict)
    assert f"leveldb, read {MISSED}: no verdict on its latency and energy." in findings.caveats
    assert findings.headline.endswith(". 3 cells do not sustain their rate.")


@pytest.fixture
def runs_of_leveldb(make_store) -> list[int]:
    with make_store(**AT_RATE) as store:
        return [run.run_index for run in store.runs(store.find().id) if run.levels["database"] == "leveldb"]


def test_a_rate_that_only_disturbed_runs_missed_is_missed_with_other_programs_running(make_store, runs_of_leveldb):
    findings = findings_of(make_store, reached={"leveldb": 0.88}, other_cpu=dict.fromkeys(runs_of_leveldb, 0.48))
    beside = "with other programs running"
    assert findings.headline.endswith(f". 3 cells do not sustain their rate {beside}.")
    assert all(f"leveldb {MISSED} {beside}." in s.text for s in findings.verdict)
    assert f"leveldb, read {MISSED} {beside}: no verdict on its latency and energy." in findings.caveats


def test_in_one_condition_the_remark_on_the_rate_names_the_database_and_the_other_programs(make_store):
    fields = AT_RATE | {"workloads": ("read",), "reached": {"leveldb": 0.88}}
    with make_store(**fields) as store:
        runs = [run.run_index for run in store.runs(store.find().id) if run.levels["database"] == "leveldb"]
    headline = findings_of(make_store, **fields, other_cpu=dict.fromkeys(runs, 0.48)).headline
    assert headline.endswith(". leveldb does not sustain 9,000/s with other programs running.")
    assert headline.count("ther programs") == 1


def test_a_rate_that_an_undisturbed_run_missed_is_simply_missed(make_store, runs_of_leveldb):
    other_cpu = dict.fromkeys(runs_of_leveldb[1:], 0.48)
    with make_store(**AT_RATE, reached={"leveldb": 0.88}, other_cpu=other_cpu) as store:
        cells = find(store, store.find()).response(DUE).cells
    assert sorted(c.not_sustained for c in cells if c.not_sustained) == [MISSED, *[f"{MISSED}{BESIDE_OTHERS}"] * 2]


def test_a_bar_shows_the_missed_rate_without_the_other_programs(make_store, runs_of_leveldb):
    other_cpu = dict.fromkeys(runs_of_leveldb, 0.48)
    with make_store(**AT_RATE, reached={"leveldb": 0.88}, other_cpu=other_cpu) as store:
        experiment = store.find()
        report = build(store, experiment, find(store, experiment))
    assert len(re.findall(rf"<text[^>]*>{MISSED}</text>", report)) >= 3, "a longer text does not fit"
    assert f"{MISSED} with other programs running." in report


def test_where_only_one_sustains_the_rate_there_is_nothing_to_compare(make_store):
    findings = findings_of(make_store, databases=("sqlite", "leveldb"), workloads=("read",), reached={"leveldb": 0.88})
    assert findings.headline == "Nothing to compare: leveldb does not sustain 9,000/s."
    assert any(
        s.text.startswith("Nothing to compare sqlite with: no other level has values of read latency from due")
        for s in findings.verdict
    )


def test_the_rate_that_was_missed_stands_in_terminal_report_and_export(make_store, tmp_path):
    with make_store(**AT_RATE, reached={"leveldb": 0.88}) as store:
        experiment = store.find()
        report = build(store, experiment, find(store, experiment))
        place = ["--store", str(store.path)]
    assert re.search(rf"<dd>[^<]*leveldb {MISSED}", report)
    assert len(re.findall(rf"<text[^>]*>{MISSED}</text>", report)) >= 3, "in the place of bars"
    terminal = " ".join(edgejoule(tmp_path, "show", *place).stdout.split())
    assert f"leveldb {MISSED}." in terminal
    exported = json.loads(edgejoule(tmp_path, "report", "--json", *place).stdout)
    assert MISSED in {c["not_sustained"] for r in exported["responses"] for c in r["cells"]}
    table = edgejoule(tmp_path, "export", "--csv", *place).stdout
    assert {"target_ops_s", "target_share"} <= set(table.splitlines()[0].split(","))


def test_the_pictures_of_a_study_at_a_rate_are_of_both_latencies_the_due_time_first(make_store):
    with make_store(**AT_RATE) as store:
        experiment = store.find()
        report = build(store, experiment, find(store, experiment))
    headings = re.findall(r"<h3>((?:read|update), [^<]*)</h3>", report)
    assert headings == [
        "read, latency from due time", "update, latency from due time", "read, service time", "update, service time",
    ]  # fmt: skip


def test_a_missed_rate_is_reported_without_the_factor_that_asks_for_it():
    cell = Cell({"database": "sqlite", "target": 400_000}, 1, 0, None, None, None, None, None, None, None,
                not_sustained="does not sustain 400,000/s, reached 30,800")  # fmt: skip
    alone = dataclasses.replace(cell, levels={"target": 400_000})
    missed = "does not sustain 400,000/s, reached 30,800"
    ranking = Ranking({}, (), (), (alone,))
    design = SimpleNamespace(subject="target")
    assert rate_sentences([ranking], design) == [f"The database {missed}."]
    energy = SimpleNamespace(name=ENERGY, cells=(cell,))
    assert rate_lines([energy]) == [f"sqlite {missed}"]


def test_the_throughput_that_a_factor_asks_for_is_no_finding():
    assert is_asked_for("throughput_ops_s", "target")
    assert not is_asked_for("throughput_ops_s", "database")
    assert not is_asked_for(DUE, "target")
    throughput = SimpleNamespace(name="throughput_ops_s", better=Better.HIGHER, rankings=())
    assert statements([throughput], SimpleNamespace(subject="target")) == ()


def test_the_headline_says_that_a_factor_sets_the_throughput(make_store):
    fields = {"databases": ("sqlite",), "workloads": ("read",), "targets": (1000, 4000), "method": "counted"}
    with make_store(**fields, analysis='responses = ["throughput_ops_s"]') as store:
        headline = find(store, store.find()).headline
    assert headline == "The factor target sets the throughput, so it is not compared; see the tables."


@pytest.mark.parametrize(
    ("target", "share", "message"),
    [
        (60_000, 0.6867, "does not sustain 60,000/s, reached 41,200"),
        (50, 0.9, "does not sustain 50/s, reached 45.0"),
        (0.5, 0.5, "does not sustain 0.5/s, reached 0.250"),
    ],
)
def test_the_message_of_a_missed_rate(target, share, message):
    assert not_sustained(target, share) == message


def test_where_all_runs_failed_no_verdict_is_promised(make_store):
    two = {"databases": ("sqlite", "leveldb"), "workloads": ("read",), "blocks": 1}
    with make_store(**two, failed={0: "no room", 1: "no room"}) as store:
        findings = find(store, store.find())
    assert findings.headline == "All 2 runs failed, so there is no verdict."
    assert "All 2 runs failed; the table of runs says why." in findings.caveats
    assert not any("rest on the others" in c for c in findings.caveats)
