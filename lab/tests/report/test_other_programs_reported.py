"""What findings and report say of runs that other programs disturbed."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from command_line import edgejoule

from edgejoule.findings import Findings, find
from edgejoule.findings.other_programs import exceeded, other_caveats
from edgejoule.report import build
from edgejoule.store import ResponseValue, Run

ENERGY = "energy_per_op_uj"


def experiment(name="reads", sequential=None):
    spec = SimpleNamespace(design=SimpleNamespace(sequential=sequential))
    return SimpleNamespace(name=name, spec=spec, environment={})


def findings_of(make_store, **fields) -> Findings:
    with make_store(method="counted", **fields) as store:
        return find(store, store.find())


def test_watts_of_disturbed_runs_are_shown_and_not_compared(make_store):
    findings = findings_of(make_store, other_cpu={0: 0.31, 7: 0.48})
    assert findings.headline == (
        "Other programs took up to 48 % of the CPU; the watts are not usable. Highest throughput. Read: rocksdb. "
        "Moderate: leveldb or rocksdb. Write: leveldb."
    )
    energy = findings.response(ENERGY)
    assert energy.unusable
    assert all(c.mean is not None and c.letters is None for c in energy.cells)
    assert all(c.differs is None for k in energy.rankings for c in k.contrasts)
    assert not any("energy" in s.text for s in findings.verdict)
    assert all("Highest throughput with" in s.text for s in findings.verdict), "what a clock measures is still compared"
    assert any("energies are shown and not compared" in c for c in findings.caveats)


def test_a_verdict_on_time_stays_with_a_note_on_the_watts(make_store):
    declared = f'responses = ["throughput_ops_s", "{ENERGY}"]'
    headline = findings_of(make_store, analysis=declared, other_cpu={4: 0.2}).headline
    assert headline.startswith("Highest throughput. Read: rocksdb")
    assert headline.endswith(" Other programs took 20 % of the CPU.")


def test_times_of_disturbed_runs_are_marked_as_not_the_databases_alone(make_store, tmp_path):
    with make_store(analysis='responses = ["throughput_ops_s"]', method="counted", other_cpu={4: 0.89}) as store:
        experiment = store.find()
        findings = find(store, experiment)
        page = build(store, experiment, findings)
        path = str(store.path)
    assert {
        "Other programs took 89 % of the CPU in 1 of 45 runs, beyond a tenth of what the runs used: energies are shown "
        "and not compared.",
        "Throughput, latencies and other times are compared, but are not the database's alone.",
    } <= set(findings.caveats)
    assert "Other programs took 89 % of the CPU." in findings.headline
    for text in (page, " ".join(edgejoule(tmp_path, "show", "--store", path).stdout.split())):
        assert "Throughput, latencies and other times are compared, but are not the database" in text
        assert "Other programs took 89 % of the CPU." in text


def test_a_verdict_on_an_untimed_response_does_not_mention_times(make_store):
    declared = f'responses = ["process_write_bytes", "{ENERGY}"]'
    headline = findings_of(make_store, analysis=declared, other_cpu={4: 0.2}).headline
    assert "ther programs" not in headline


def test_quiet_runs_are_compared(make_store):
    findings = findings_of(make_store)
    assert findings.headline.startswith("Least energy per operation (counted). ")
    assert not any("ther programs" in c for c in findings.caveats)


def test_the_warning_when_the_study_began_stands_with_what_must_be_known(make_store):
    assert (
        "When the study began, other programs used 50 % of the CPU." in findings_of(make_store, busy_before=0.5).caveats
    )
    assert not any("began" in c for c in findings_of(make_store, busy_before=0.03).caveats)


@pytest.mark.parametrize(
    ("name", "sequential", "advice"),
    [
        ("reads", None, "repeat the flagged runs: edgejoule run SPEC --rerun-flagged"),
        ("reads", object(), "measure again"),
        ("exec-gzip", None, "measure again"),
    ],
)
def test_the_advice_is_a_command_that_repeats_such_runs(name, sequential, advice):
    run = Run(0, 0, {}, "finished", facts={"other_programs": {"exceeded": ["cpu"]}})
    assert f"Stop the other programs and {advice}." in other_caveats(experiment(name, sequential), [run])


def test_the_report_draws_every_run_and_marks_those_beyond_the_bound(make_store):
    with make_store(method="counted", other_cpu={7: 0.48}, busy_before=0.5) as store:
        experiment = store.find()
        report = build(store, experiment, find(store, experiment))
    section = report.split('<section id="others">')[1].split("</section>")[0]
    assert section.count('class="other"') == 44 + 45, "CPU of all runs but one, and bytes of all"
    assert re.findall(r"<title>run (\d+), [^<]*: 48 %</title>", section) == ["8"]
    assert section.count('class="other over"') == 1
    assert "Other programs took 48 % of the CPU; the watts are not usable." in report
    assert "When the study began, other programs used 50 % of the CPU." in report
    assert "other programs: 48 % of the CPU" in report


def test_the_terminal_reports_it(make_store, tmp_path):
    with make_store(method="counted", other_cpu={7: 0.48}) as store:
        path = str(store.path)
    said = edgejoule(tmp_path, "report", "--store", path).stdout
    assert said.startswith("Other programs took 48 % of the CPU; the watts are not usable.")
    assert "No check rejects an assumption" not in said


@pytest.mark.parametrize("file_system", [None, {"kind": "ext4", "mount_options": "", "size_mb": 2048}])
def test_bytes_of_a_device_that_was_made_for_the_run_are_its_own(file_system):
    facts = {"other_programs": {"exceeded": ["cpu", "write"]}}
    run = Run(0, 0, {}, "finished", facts=facts, settings={"file_system": file_system})
    assert exceeded(run, "cpu")
    assert exceeded(run, "write") is (file_system is None)
    caveats = other_caveats(experiment(), [run])
    assert any("bytes of the device" in caveat for caveat in caveats) is (file_system is None)


def test_bytes_of_other_programs_are_those_of_all_executions_as_in_the_flag():
    value = ResponseValue("other_write_bytes", 183_442, "byte", "timed")
    facts = {"executions": 14, "other_programs": {"exceeded": ["write"]}}
    run = Run(0, 0, {}, "finished", facts=facts, responses=(value,))
    (caveat,) = other_caveats(experiment(), [run])
    assert caveat.startswith("Other programs wrote up to 2.57 MB to the page cache during 1 run, beyond a tenth")


@pytest.mark.parametrize("share", [0.013, 0.1, 1.0])
def test_shares_are_reported_in_two_digits(make_store, share):
    headline = findings_of(make_store, other_cpu={1: share}).headline
    assert {0.013: " 1.3 % ", 0.1: " 10 % ", 1.0: " 100 % "}[share] in headline
