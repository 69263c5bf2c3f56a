"""Phases from a real command to the store, the terminal, the report and a bundle."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from command_line import edgejoule

from edgejoule.commands.phases import EVENT

from .test_command_study import HEAD, REPOSITORY, Bench, _short_machine_check  # noqa: F401 a fixture

BY_FIFO = """
command = '''
echo load >> "$EDGEJOULE_MARKS"; head -c 300000 /dev/zero > data; sleep 0.15
echo query >> "$EDGEJOULE_MARKS"; sleep 0.15
'''
"""
BY_OUTPUT = """
command = 'echo start; echo "phase: load"; sleep 0.15; echo "phase: query"; sleep 0.15'
phase = 'phase: (?:load|query)'
"""


@pytest.mark.parametrize(
    ("workload", "names"), [(BY_FIFO, ["load", "query"]), (BY_OUTPUT, ["phase: load", "phase: query"])]
)
def test_phases_have_joules_seconds_and_bytes_and_lie_in_the_run(
    tmp_path: Path, workload: str, names: list[str]
) -> None:
    bench = Bench(tmp_path, workload)
    bench.run()
    (run,) = bench.runs()
    assert [p["name"] for p in run.facts["phases"]] == names
    assert all(p["duration_s"] > 0 and p["energy_j"] > 0 and p["method"] == "modelled" for p in run.facts["phases"])
    events = [e for e in bench.data(run).events if e["event"] == EVENT]
    assert [e["name"] for e in events] == names
    assert run.intervals is not None
    assert run.intervals.active_start_ns <= events[0]["monotonic_ns"]
    assert events[-1]["monotonic_ns"] + events[-1]["duration_ns"] == run.intervals.active_end_ns
    schema = json.loads((REPOSITORY / "schemas/run-record.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(run.record("programs"))))


def test_phases_are_shown_reported_and_kept_in_a_bundle(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BY_FIFO)
    bench.run()
    shown = bench("show", "--run", "1").stdout
    assert "phases of the command; amounts, energy modelled" in shown
    bench("report", "-o", "report.html")
    html = (tmp_path / "report.html").read_text()
    assert "<h3>Phases</h3>" in html
    assert html.count('class="phase"') == 2
    bench("export", "--bundle", "study.zip")
    edgejoule(tmp_path, "import", "study.zip", "--store", "other.db")
    assert "phases of the command" in edgejoule(tmp_path, "show", "--run", "1", "--store", "other.db").stdout


def test_phases_of_a_repeated_command_are_those_of_one_repetition(tmp_path: Path) -> None:
    workload = 'command = ["sh", "-c", "echo all >> $EDGEJOULE_MARKS; sleep 0.05"]'
    bench = Bench(tmp_path, workload, HEAD.replace("run_s_min = 0", "run_s_min = 0.3"))
    bench.run()
    (run,) = bench.runs()
    (phase,) = run.facts["phases"]
    assert phase["count"] == run.facts["repetitions"] > 1
    assert phase["duration_s"] == pytest.approx(run.value("active_s"), rel=0.5)
    assert phase["energy_j"] <= (run.value("energy_j") or 0) * 1.05
