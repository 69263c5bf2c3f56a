"""The first screen of a report: a row per condition with the best and a short verdict."""

from __future__ import annotations

import json
import re

from command_line import edgejoule

from edgejoule.findings import Answer, find
from edgejoule.findings.answer import duration_text, footnote
from edgejoule.findings.conditions import VERDICT_WORDS_MAX
from edgejoule.findings.facts import stand_ins
from edgejoule.findings.model import Progress
from edgejoule.findings.templates import fitting
from edgejoule.findings.text import times_text, unit_for
from edgejoule.store import Intervals, Run

DONE = Progress(total=3, finished=3, failed=0, planned=0, flagged=0)


def answer_of(make_store, **fields) -> Answer:
    with make_store(**fields) as store:
        return find(store, store.find()).answer


def verdicts(answer: Answer) -> dict[str, str]:
    return {row.name: row.verdict for row in answer.rows}


def test_a_row_per_condition_names_the_best_and_how_far_the_others_are_behind(make_store):
    answer = answer_of(make_store, method="modelled", min_ratio=1.77)
    assert answer.response.name == "energy_per_op_uj"
    assert [row.name for row in answer.rows] == ["read", "moderate", "write"]
    assert [set(row.best) for row in answer.rows] == [set(), {"leveldb", "rocksdb"}, {"leveldb", "rocksdb"}]
    assert verdicts(answer)["read"] == "undecided"
    assert verdicts(answer)["write"] == "leveldb or rocksdb (tie); sqlite 4.5×"
    assert all(len(row.verdict.split()) <= VERDICT_WORDS_MAX for row in answer.rows)
    assert all(row.ranking is k for row, k in zip(answer.rows, answer.response.rankings, strict=True))


def test_the_footnote_has_method_resolution_runs_flags_and_duration(make_store):
    answer = answer_of(make_store, method="modelled", failed={7: "stopped"}, planned_only=frozenset({44}))
    assert answer.footnote == (
        "Energy is modelled; ratios below 1.77× are not resolved. "
        "45 runs, 1 failed, 1 not done yet, 1 flagged, measured for 1 min 55 s within 7 min 13 s"
    )
    assert answer_of(make_store, method="counted").footnote.startswith("Energy is counted; tested at α = 0.05. 45 runs")


def test_a_pause_between_two_sessions_is_not_measuring_time():
    def run(index: int, begin_s: int) -> Run:
        return Run(index, index, {}, "finished", started_realtime_ns=begin_s * 10**9,
                   intervals=Intervals(5, 5 + 50 * 10**9, 5 + 60 * 10**9, True))  # fmt: skip

    runs = [run(0, 1000), run(1, 1090), run(2, 1000 + 2 * 86400)]
    assert footnote(None, DONE, runs[:1]) == "3 runs, measured for 1 min"
    assert footnote(None, DONE, runs[:2]) == "3 runs, measured for 2 min within 2 min 30 s"
    assert footnote(None, DONE, runs) == "3 runs, measured for 3 min within 48 h 1 min"


def test_where_higher_is_better_the_others_are_lower(make_store):
    answer = answer_of(make_store, analysis='responses = ["throughput_ops_s"]')
    assert verdicts(answer)["write"] == "leveldb; rocksdb 1.4×, sqlite 4.5× lower"
    assert answer.footnote.startswith("Tested at α = 0.05. 45 runs")


def test_one_condition_has_one_row_without_a_name(make_store):
    assert [row.name for row in answer_of(make_store, workloads=("write",)).rows] == [""]


def test_levels_equal_within_the_margin_are_all_best(make_store):
    equal = {"databases": ("leveldb", "rocksdb"), "workloads": ("moderate",), "blocks": 20}
    answer = answer_of(make_store, **equal, analysis='responses = ["throughput_ops_s"]\nmargin = 1.05')
    assert verdicts(answer) == {"": "equal within 5 %"}
    assert set(answer.rows[0].best) == {"leveldb", "rocksdb"}


def test_a_database_below_its_rate_is_in_the_verdict(make_store):
    answer = answer_of(make_store, method="counted", target_ops_s=60_000, reached={"rocksdb": 0.7})
    assert verdicts(answer)["write"] == "leveldb; sqlite 4.5×; rocksdb does not sustain 60,000/s"


def test_a_condition_in_which_no_database_reaches_its_rate_has_no_best(make_store):
    reached = dict.fromkeys(("leveldb", "rocksdb"), 0.7)
    analysis = 'responses = ["energy_per_op_uj", "read_intended_latency_us_p99"]'
    answer = answer_of(make_store, databases=tuple(reached), target_ops_s=60_000, reached=reached, analysis=analysis)
    assert answer.rows == ()


def test_energies_that_other_programs_disturbed_leave_the_rows_to_the_next_response(make_store):
    answer = answer_of(make_store, other_cpu={0: 0.4})
    assert answer.response.name == "throughput_ops_s"


def test_without_a_finished_run_there_are_no_rows(make_store):
    answer = answer_of(make_store, planned_only=frozenset(range(45)))
    assert (answer.response, answer.rows) == (None, ())
    assert answer.footnote == "45 runs, 45 not done yet"


def test_the_answer_is_in_the_json(make_store):
    with make_store() as store:
        data = json.loads(json.dumps(find(store, store.find()).to_json()))["answer"]
    assert set(data) == {"headline", "response", "method", "rows", "footnote"}
    assert set(data["rows"][0]) == {"name", "best", "verdict"}


def shown(folder, store) -> str:
    return edgejoule(folder, "show", "--store", str(store.path)).stdout


def test_show_has_the_mean_of_each_cell_with_its_interval(make_store, tmp_path):
    with make_store(method="counted", workloads=("write",)) as store:
        cells = find(store, store.find()).answer.response.cells
        text = shown(tmp_path, store)
    unit = unit_for("µJ", (c.mean for c in cells))
    for cell in cells:
        between = f"{unit.number(cell.ci[0])} to {unit.number(cell.ci[1])}"
        assert re.search(rf"^{cell.levels['database']} +5 +{unit.number(cell.mean)} +{between}$", text, re.MULTILINE)
    assert text.index(" to ") < text.index("run  block"), "below the answer and above the runs"


def test_show_gives_the_reason_for_a_missing_mean(make_store, tmp_path):
    reached = {"workloads": ("write",), "method": "counted", "target_ops_s": 60_000, "reached": {"rocksdb": 0.7}}
    with make_store(**reached) as store:
        text = shown(tmp_path, store)
    assert re.search(r"^rocksdb +0 +- +- +does not sustain 60,000/s, reached 42,000$", text, re.MULTILINE)


def test_show_has_no_means_of_single_runs(make_store, tmp_path):
    with make_store(workloads=("write",), blocks=1) as store:
        assert "95 % CI" not in shown(tmp_path, store)


def test_the_first_text_that_is_short_enough_is_taken():
    assert fitting(["one two three", "one two", "one"], 2) == "one two"
    assert fitting(["one two three"], 2) == "one two three"


def test_ratios_have_two_digits():
    texts = ["1.07×", "1.1×", "2.8×", "43×", "412×"]
    assert [times_text(x) for x in (1.0651, 1.12, 2.84, 43.2, 412.3)] == texts


def test_durations_have_two_units_at_most():
    assert [duration_text(s) for s in (0.2, 59, 61, 1320, 3600, 86400, 4800)] == [
        "1 s",
        "59 s",
        "1 min 1 s",
        "22 min",
        "1 h",
        "24 h",
        "1 h 20 min",
    ]


def test_a_stand_in_is_recognised_by_its_version():
    runs = [
        Run(
            0,
            0,
            {"database": "mongodb"},
            "finished",
            database={"version": "stand-in: mongo-java-server 1, not MongoDB"},
        ),
        Run(1, 0, {"database": "mongodb-stand-in"}, "finished", database={"version": "stand-in: mongo-java-server 1"}),
        Run(2, 0, {"database": "redis"}, "finished", database={"version": "7.0"}),
    ]
    assert stand_ins(runs) == ["mongodb"]


def test_the_experiment_can_choose_the_response_of_the_headline(make_store):
    declared = 'responses = ["energy_per_op_uj", "throughput_ops_s"]\nheadline = "throughput_ops_s"'
    answer = answer_of(make_store, analysis=declared)
    assert answer.headline.startswith("Highest throughput. Read: rocksdb; leveldb 1.2×, sqlite 1.6× lower. ")
    assert answer.response.name == "throughput_ops_s"


def test_a_headline_on_service_time_is_on_the_time_from_the_due_time_at_a_rate(make_store):
    declared = 'responses = ["energy_per_op_uj", "read_latency_us_p99"]\nheadline = "read_latency_us_p99"'
    answer = answer_of(make_store, analysis=declared, target_ops_s=9_000, method="counted")
    assert answer.response.name == "read_intended_latency_us_p99"
