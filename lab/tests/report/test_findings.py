"""The statements of findings, and those that they must not make."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from edgejoule.dictionary.responses import RESPONSES
from edgejoule.findings import Findings, ResponseFinding, find
from edgejoule.findings.facts import circumstances
from edgejoule.findings.tables import means
from edgejoule.findings.verdict import caveats
from edgejoule.store import Run

ENERGY = "energy_per_op_uj"


def findings_of(make_store, **fields) -> Findings:
    with make_store(**fields) as store:
        return find(store, store.find())


def ranking(r: ResponseFinding | None, workload: str):
    assert r is not None
    return next(k for k in r.rankings if k.condition["workload"] == workload)


def test_names_the_cheapest_with_the_true_ratio_inside_its_interval(make_store):
    findings = findings_of(make_store, method="counted", blocks=8)
    write = ranking(findings.response("throughput_ops_s"), "write")
    assert [c.levels["database"] for c in write.cells] == ["leveldb", "rocksdb", "sqlite"]
    against = {c.other: c for c in write.contrasts}
    assert against["rocksdb"].ci[0] < 44_000 / 31_000 < against["rocksdb"].ci[1]
    assert against["sqlite"].ci[0] < 44_000 / 9_800 < against["sqlite"].ci[1]
    assert write.decided
    text = next(s.text for s in findings.verdict if s.lead == "write")
    assert re.fullmatch(
        r"Least energy per operation \(counted\) with leveldb: \d+ µJ; [\d.]+× as much with rocksdb and [\d.]+× with "
        r"sqlite\. Highest throughput with leveldb: [\d,]+ ops/s; [\d.]+× that with rocksdb and [\d.]+× with sqlite\.",
        text,
    )


def test_the_verdict_names_ties(make_store):
    findings = findings_of(make_store, method="counted")
    moderate = ranking(findings.response("throughput_ops_s"), "moderate")
    assert {moderate.cells[0].levels["database"], *(c.other for c in moderate.tied)} == {"leveldb", "rocksdb"}
    text = next(s.text for s in findings.verdict if s.lead == "moderate")
    best = moderate.cells[0].levels["database"]
    assert f"Highest throughput with {best} or {moderate.tied[0].other} (tie): " in text


def test_modelled_energy_is_distinguished_only_beyond_the_models_resolution(make_store):
    findings = findings_of(make_store, method="modelled", min_ratio=1.77)
    energy = findings.response(ENERGY)
    read = ranking(energy, "read")
    assert all(c.p is not None and c.p < 0.05 for c in read.contrasts), "statistics alone would tell them apart"
    assert all(c.differs is False and c.model_bound for c in read.contrasts)
    assert len({c.letters for c in read.cells}) == 1
    assert [c.other for c in ranking(energy, "write").behind] == ["sqlite"]
    assert findings.headline == (
        "Least energy per operation (modelled). Moderate: leveldb or rocksdb (tie); sqlite 2.4×. "
        "Write: leveldb or rocksdb (tie); sqlite 4.5×. Read: undecided."
    )


def test_a_ratio_that_the_model_does_not_resolve_is_no_difference(make_store):
    findings = findings_of(make_store, method="modelled", min_ratio=1.77)
    texts = {s.lead: s.text.split(" Highest throughput")[0] for s in findings.verdict}
    assert texts["write"] == (
        "Least energy per operation (modelled) with leveldb or rocksdb (tie): 110 µJ; 4.5× as much with sqlite."
    )
    assert texts["read"] == (
        "Energy per operation (modelled): no difference shows between rocksdb, leveldb and sqlite, ratio 1.18 to 1.89; "
        "the model resolves 1.77×."
    )


def test_a_verdict_without_a_winner_names_the_undecided_conditions(make_store):
    analysis = f'responses = ["{ENERGY}"]'
    findings = findings_of(make_store, method="modelled", min_ratio=100.0, analysis=analysis)
    assert findings.headline == (
        "Energy per operation (modelled) in all 3 workloads: no difference shows between sqlite, leveldb and rocksdb, "
        "ratio 0.98 to 4.84; the model resolves 100×."
    )


def test_many_conditions_are_counted_in_the_headline(make_store):
    findings = findings_of(make_store, threads=(1, 2, 4), blocks=3, method="modelled", min_ratio=1.77)
    rankings = findings.response(ENERGY).rankings
    open_ones = sum(not k.behind for k in rankings)
    assert 0 < open_ones < len(rankings) == 9
    assert findings.headline == (
        f"Least energy per operation (modelled). {9 - open_ones} of 9 conditions: leveldb or rocksdb. "
        "The rest: undecided."
    )


def test_the_same_data_counted_are_distinguished(make_store):
    findings = findings_of(make_store, method="counted")
    assert ranking(findings.response(ENERGY), "read").decided


def test_a_model_without_stated_resolution_gets_no_letters(make_store):
    findings = findings_of(make_store, method="modelled", min_ratio=None)
    energy = findings.response(ENERGY)
    assert all(c.letters is None for c in energy.cells)
    assert all(c.differs is None for k in energy.rankings for c in k.contrasts)
    assert findings.headline.startswith("No comparison of energy per operation (modelled) is possible")
    (analysis,) = (p.analysis for p in energy.parts)
    assert not any(pair.significant for pair in analysis.pairs)
    assert {group.letters for group in analysis.groups} == {None}


def test_energy_of_several_methods_is_shown_but_not_compared(make_store):
    findings = findings_of(make_store, method="modelled", methods={0: "measured"})
    energy = findings.response(ENERGY)
    assert energy.method == "mixed methods"
    assert all(p.analysis is None for p in energy.parts)
    assert all(c.letters is None for c in energy.cells)
    assert energy.cells[0].mean is None or energy.cells[0].ci is None


def test_a_cell_whose_runs_all_failed_is_failed_and_the_rest_is_ranked(make_store):
    with make_store() as store:
        broken = {
            r.run_index: "sqlite: disk I/O error"
            for r in store.runs(store.find().id)
            if r.levels == {"database": "sqlite", "workload": "write"}
        }
    findings = findings_of(make_store, failed=broken)
    write = ranking(findings.response("throughput_ops_s"), "write")
    assert [c.levels["database"] for c in write.cells] == ["leveldb", "rocksdb"]
    assert write.without_value[0].failed == ("sqlite: disk I/O error",) * 5
    assert any("5 of 45 runs failed" in c for c in findings.caveats)


def test_a_failed_run_leaves_an_unbalanced_design_that_is_still_analysed(make_store):
    findings = findings_of(make_store, failed={7: "stopped"})
    assert sum(c.n for c in findings.response(ENERGY).cells) == 44
    assert findings.response(ENERGY).parts[0].analysis is not None


def test_a_missing_value_keeps_its_reason_and_is_never_zero(make_store):
    findings = findings_of(make_store, missing={(ENERGY, 4): "the meter fell silent"})
    holes = [c for c in findings.response(ENERGY).cells if c.missing]
    assert len(holes) == 1
    assert holes[0].missing == ("the meter fell silent",)
    assert holes[0].n == 4
    assert holes[0].minimum > 0


def test_one_replication_gives_means_without_interval_letters_or_winner(make_store):
    findings = findings_of(make_store, blocks=1)
    energy = findings.response(ENERGY)
    assert all(c.mean is not None and c.ci is None and c.letters is None for c in energy.cells)
    assert all(c.differs is None for k in energy.rankings for c in k.contrasts)
    assert findings.headline.startswith("No comparison of energy per operation (modelled) is possible")
    assert any("One run per cell" in c for c in findings.caveats)


def test_one_factor_has_one_condition(make_store):
    findings = findings_of(make_store, workloads=("write",), method="counted")
    assert [dict(k.condition) for k in findings.response(ENERGY).rankings] == [{}]
    assert findings.headline == (
        "Least energy per operation (counted) with leveldb: 111 µJ; 1.5× as much with rocksdb and 4.5× with sqlite."
    )


def test_one_database_makes_the_first_varied_factor_the_subject(make_store):
    findings = findings_of(make_store, databases=("sqlite",), method="counted")
    assert findings.subject == "workload"
    assert findings.headline.startswith("Least energy per operation (counted) with read: ")


def test_three_factors_rank_within_every_combination_of_the_others(make_store):
    findings = findings_of(make_store, threads=(1, 4), blocks=3, method="counted")
    energy = findings.response(ENERGY)
    assert len(energy.rankings) == 6
    assert dict(energy.rankings[1].condition) == {"workload": "read", "threads": 4}
    sources = [row.source for row in energy.parts[0].analysis.anova.table]
    assert "database:workload:threads" in sources


def test_analysis_by_gives_one_anova_per_level(make_store):
    analysis = 'responses = ["energy_per_op_uj"]\nby = "workload"'
    energy = findings_of(make_store, analysis=analysis, method="counted").response(ENERGY)
    assert [dict(p.where) for p in energy.parts] == [{"workload": w} for w in ("read", "moderate", "write")]
    assert all(p.analysis.factors == ("database",) for p in energy.parts)
    assert all(len(p.analysis.pairs) == 3 for p in energy.parts)
    assert ranking(energy, "write").decided


def test_an_effect_names_the_part_of_the_experiment_with_its_factor(make_store):
    analysis = 'responses = ["throughput_ops_s"]\nby = "target"'
    findings = findings_of(make_store, workloads=("read",), targets=(1000, 4000), analysis=analysis)
    assert {effect.name for effect in findings.effects} == {"database, target 1,000", "database, target 4,000"}


def test_the_block_enters_the_analysis_of_randomised_blocks(make_store):
    energy = findings_of(make_store).response(ENERGY)
    assert energy.parts[0].analysis.block == "block"


def test_negative_values_move_the_analysis_to_the_raw_scale_and_report_it(make_store):
    analysis = 'responses = ["energy_net_j"]'
    net = findings_of(make_store, analysis=analysis, shift={"energy_net_j": -6.0}, method="counted").response(
        "energy_net_j"
    )
    assert net.scale == "raw"
    assert "zero or negative" in net.notes[0]
    assert any(c.mean < 0 for c in net.cells)
    assert any(c.difference is not None and c.ratio is None for k in net.rankings for c in k.contrasts)


def test_a_models_resolution_is_not_stated_of_values_without_a_ratio(make_store):
    fields = {"databases": ("leveldb", "sqlite"), "workloads": ("write",), "min_ratio": 1.77, "method": "modelled"}
    analysis = 'responses = ["energy_net_j"]'
    findings = findings_of(make_store, **fields, analysis=analysis, shift={"energy_net_j": -6.0})
    net = findings.response("energy_net_j")
    assert any(c.mean <= 0 for c in net.cells)
    assert any(note.startswith("the model's resolution is a ratio: no difference from a mean") for note in net.notes)
    difference = re.fullmatch(
        r"Energy above idle, settled \(modelled\): no difference .* leveldb and sqlite, "
        r"difference ([\d.−]+) to ([\d.−]+) J\.",
        findings.headline,
    )
    means = [c.mean for c in net.cells]
    low, high = (float(limit.replace("−", "-")) for limit in difference.groups())
    assert (low + high) / 2 == pytest.approx(max(means) - min(means), rel=0.01), "the interval's middle"
    written = [findings.answer.footnote, *net.notes, *(s.text for s in findings.verdict)]
    assert not any("1.77" in text for text in written)


def test_runs_not_done_yet_make_the_verdict_preliminary(make_store):
    findings = findings_of(make_store, planned_only=frozenset(range(27, 45)))
    assert findings.progress.planned == 18
    assert any(c.startswith("Preliminary") for c in findings.caveats)


def test_levels_that_have_not_run_yet_get_no_value_from_the_one_that_has(make_store):
    with make_store() as store:
        others = {r.run_index for r in store.runs(1) if r.levels["workload"] != "moderate"}
    findings = findings_of(make_store, planned_only=frozenset(others))
    first = findings.responses[0]
    assert {c.levels["workload"] for c in first.cells if c.mean is not None} == {"moderate"}
    assert [len(ranking(first, w).cells) for w in ("read", "moderate", "write")] == [0, 3, 0]
    assert [s.text for s in findings.verdict if s.lead != "moderate"] == ["No run has a value."] * 2


def test_an_experiment_without_any_finished_run_has_no_verdict(make_store):
    findings = findings_of(make_store, planned_only=frozenset(range(45)))
    assert findings.responses == ()
    assert "no verdict" in findings.headline


def test_json_is_json_and_every_energy_has_unit_and_method(make_store):
    data = json.loads(json.dumps(findings_of(make_store, missing={(ENERGY, 0): "gone"}).to_json(), allow_nan=False))
    energies = [r for r in data["responses"] + data["others"] if r["unit"] in ("J", "µJ", "W")]
    assert len(energies) >= 5
    assert {r["method"] for r in energies} == {"modelled"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_fourfold_difference_shows_at_any_seed(make_store, seed):
    analysis = 'responses = ["active_s"]\nby = "workload"'
    findings = findings_of(
        make_store, analysis=analysis, databases=("sqlite", "leveldb"), workloads=("write",), seed=seed
    )
    assert findings.response("active_s").rankings[0].decided


def test_a_busy_machine_is_recognised_by_the_little_energy_above_idle(make_store):
    assert not any("above idle" in c for c in findings_of(make_store).caveats)
    busy = findings_of(make_store, shift={"energy_net_j": -5.8})
    assert any("above idle" in c for c in busy.caveats)


def test_energy_above_idle_that_no_run_has_is_not_taken_as_none_of_it(make_store):
    unknown = {("energy_net_j", i): "no quiet window" for i in range(45)}
    assert not any("above idle" in c for c in findings_of(make_store, missing=unknown).caveats)


def test_energy_above_idle_that_few_cells_have_is_compared_with_the_energy_of_those(make_store):
    unknown = {("energy_net_j", i): "no quiet window" for i in range(3, 45)}
    assert not any("above idle" in c for c in findings_of(make_store, missing=unknown).caveats)


def test_a_response_that_a_workload_does_not_have_is_no_hole(make_store):
    findings = findings_of(make_store, without={("read_latency_us_p99", "write")}, method="counted")
    latency = findings.response("read_latency_us_p99")
    assert [c.applies for c in latency.cells] == [c.levels["workload"] != "write" for c in latency.cells]
    assert latency.parts[0].analysis is not None
    assert not any("missing" in c for c in findings.caveats)


def test_a_declared_response_that_no_run_has_is_named_with_the_databases(make_store):
    declared = 'responses = ["throughput_ops_s", "io_reads_per_op"]'
    said = "No run has io_reads_per_op, which analysis.responses declares: leveldb or sqlite does not report it."
    databases = ("sqlite", "leveldb")
    assert said in findings_of(make_store, analysis=declared, databases=databases).caveats
    assert said not in findings_of(make_store, analysis=declared, planned_only=frozenset(range(45))).caveats


def test_the_circumstances_of_a_run_are_reported() -> None:
    facts = {
        "load": {"name": "block-2-sqlite-0123456789ab", "runs_before": 1},
        "cache": {"state": "cold", "resident_bytes_before": 9_000_000, "resident_bytes_after": 8192},
        "memory": {"limit_bytes": 64 << 20, "peak_bytes": 60 << 20, "data_bytes_per_limit": 2.25},
        "executions": 13,
        "worked_share": 0.56,
        "load_percent": {"percent": 50.0, "reached_ops_s": 12345.6},
        "environment": {"before": {}, "after": {"temperature_c": 61.2}},
    }
    assert circumstances(Run(0, 0, {}, "finished", facts=facts)) == [
        "load block-2-sqlite-0123456789ab, after 1 run on it",
        "cold cache, 8 KiB resident",
        "memory 64 MiB, 60 reached; data 2.2 times that",
        "50 % of 12,346 ops/s",
        "k = 13 executions, 56 % of the time at work",
        "61 °C",
    ]
    plain = {"load": {"name": "run-3", "runs_before": 0}, "cache": {"state": "warm"}}
    assert circumstances(Run(0, 0, {}, "finished", facts=plain)) == []
    server = {"cache": {"state": "cold", "resident_bytes_after": 0, "own_cache_bytes": 4096}}
    (said,) = circumstances(Run(0, 0, {}, "finished", facts=server))
    assert said == "cold cache, 0 KiB resident, 4 KiB in the server's own cache"


def test_conditions_that_share_a_level_are_named_by_it(make_store) -> None:
    with make_store(threads=(1, 4), method="counted", min_ratio=None) as store:
        result = find(store, store.find())
    assert " Read: rocksdb. " in result.headline


def test_only_levels_shown_to_be_equal_are_called_equal(make_store) -> None:
    base = 'responses = ["throughput_ops_s"]\n'
    with make_store(databases=("leveldb", "rocksdb"), workloads=("moderate",), blocks=20, analysis=base) as store:
        plain = find(store, store.find())
    with make_store(
        databases=("leveldb", "rocksdb"), workloads=("moderate",), blocks=20, analysis=f"{base}margin = 1.3"
    ) as store:
        declared = find(store, store.find())
    assert plain.responses[0].rankings[0].contrasts[0].equivalent is None
    assert declared.responses[0].rankings[0].contrasts[0].equivalent is True
    if not declared.responses[0].rankings[0].contrasts[0].differs:
        assert "Throughput: equal within 30 % with leveldb and rocksdb." in " ".join(s.text for s in declared.verdict)
        assert "no difference shows" in " ".join(s.text for s in plain.verdict)


def test_a_mean_below_zero_that_only_the_model_has_is_reported(make_store):
    findings = findings_of(make_store)
    first = findings.responses[0]
    below = replace(first, cells=(replace(first.cells[0], mean=-1.0), *first.cells[1:]))
    assert not any("below zero" in c for c in findings.caveats)
    (caveat,) = (c for c in caveats(findings.progress, [below], findings.others, 5) if "below zero" in c)
    assert "the model's mean is below zero in 1 cell whose runs are not" in caveat


def test_databases_of_one_class_that_sync_differently_are_reported(make_store):
    findings = findings_of(make_store, syncs={"sqlite": 0.002, "leveldb": 0.0, "rocksdb": 1.0})
    (caveat,) = (c for c in findings.caveats if c.startswith("Syncs"))
    assert caveat.startswith("Syncs per write differ under durability process ")
    assert caveat.endswith(": rocksdb 1.0, sqlite below 0.01 and leveldb below 0.01.")


@pytest.mark.parametrize("syncs", [{}, {"sqlite": 0.0, "leveldb": 0.09}, {"sqlite": 1.0, "rocksdb": 1.1}])
def test_databases_that_sync_alike_or_do_not_count_syncs_need_no_message(make_store, syncs):
    assert not any("Syncs" in c for c in findings_of(make_store, syncs=syncs).caveats)


SYNCS = {"workloads": ("write",), "analysis": 'responses = ["syncs_per_write"]'}


def test_counts_that_are_constant_are_compared_exactly(make_store):
    findings = findings_of(make_store, **SYNCS, syncs={"sqlite": 2.0, "leveldb": 1.0, "rocksdb": 1.0})
    assert findings.headline == (
        "Lowest syncs of the database for each write with leveldb or rocksdb (equal): 1.00; 2.0× as much with sqlite; "
        "exact."
    )
    (row,) = findings.answer.rows
    assert row.verdict == "leveldb or rocksdb (equal); sqlite 2.0× (exact)"
    assert row.best == ("leveldb", "rocksdb")
    assert findings.answer.footnote.startswith("Counts are constant in each cell and compared exactly. 15 runs")
    assert [s.text for s in findings.verdict] == []
    assert [line[-1] for line in means(findings.answer.response).rows] == ["exact"] * 3
    assert [(c.other, c.ratio, c.ci, c.differs, c.exact) for c in row.ranking.contrasts] == [
        ("rocksdb", 1.0, None, False, True),
        ("sqlite", 2.0, None, True, True),
    ]
    assert [part.reason for part in findings.responses[0].parts] == [
        "counts are constant in each cell and compared exactly"
    ]
    assert not any("replications are identical" in caveat for caveat in findings.caveats)


def test_constant_counts_of_several_conditions_are_compared_exactly(make_store):
    fields = {"databases": ("sqlite", "leveldb"), "analysis": 'responses = ["syncs_per_write"]'}
    findings = findings_of(make_store, **fields, syncs={"sqlite": 3.0, "leveldb": 1.0})
    assert findings.headline == (
        "Lowest syncs of the database for each write in all 3 workloads: leveldb; sqlite 3.0× (exact)."
    )


def test_counts_that_are_equal_and_constant_are_equal(make_store):
    fields = SYNCS | {"databases": ("sqlite", "leveldb")}
    findings = findings_of(make_store, **fields, syncs={"sqlite": 1.0, "leveldb": 1.0})
    assert findings.headline == "Syncs of the database for each write: equal (exact) with sqlite and leveldb."
    assert findings.answer.rows[0].verdict == "equal (exact)"


def test_a_count_that_is_none_has_no_ratio_and_is_compared_by_the_difference(make_store):
    fields = SYNCS | {"databases": ("sqlite", "leveldb")}
    findings = findings_of(make_store, **fields, syncs={"sqlite": 1.0, "leveldb": 0.0})
    assert findings.headline == (
        "Lowest syncs of the database for each write with leveldb: 0; 1.00 more with sqlite; exact."
    )
    assert findings.answer.rows[0].verdict == "leveldb; sqlite worse (exact)"


def test_one_run_a_cell_and_constants_that_are_no_counts_are_not_compared_exactly(make_store):
    fields = SYNCS | {"databases": ("sqlite", "leveldb"), "syncs": {"sqlite": 2.0, "leveldb": 1.0}}
    assert "each cell has one run" in findings_of(make_store, **fields, blocks=1).headline
    share = 'responses = ["target_share"]'
    shares = findings_of(make_store, **(fields | {"analysis": share}), target_ops_s=60_000, reached={"sqlite": 0.5})
    assert "replications are identical" in shares.headline


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        ("syncs_per_write", True), ("device_flushes_per_op", True), ("device_write_bytes", True),
        ("process_write_bytes@a", True), ("active_s", False), ("read_latency_us_p99", False), ("energy_j", False),
        ("target_share", False), ("failure_share", False), ("driver_share", False),
    ],
)  # fmt: skip
def test_counts_are_distinguished_from_measurements(name, counted):
    assert RESPONSES[name].is_count is counted


TWO_FACTORS = {
    "databases": ("sqlite",), "workloads": ("write",), "threads": (2, 1), "targets": (4000, 1000), "method": "counted",
    "min_ratio": None, "blocks": 6,
}  # fmt: skip


def test_the_headline_is_about_the_factor_with_the_largest_effect(make_store):
    findings = findings_of(make_store, **TWO_FACTORS)
    assert findings.subject == "target"
    assert re.fullmatch(
        r"Least energy per operation \(counted\) with target 4,000: [\d.]+ mJ; 4\.\d× as much with target 1,000\.",
        findings.headline.replace("µJ", "mJ"),
    )


def test_every_factor_and_interaction_has_its_sentence_the_largest_effect_first(make_store):
    findings = findings_of(make_store, **TWO_FACTORS)
    assert [e.factors for e in findings.effects] == [("target",), ("threads",), ("threads", "target")]
    shares = [e.share for e in findings.effects]
    assert shares == sorted(shares, reverse=True)
    assert findings.effects[0].lead.startswith("target (8")
    assert findings.effects[1].text.startswith("Least energy per operation (counted) with 2 threads: ")
    assert findings.effects[2].text == "No interaction of threads and target shows."
    assert [s.lead for s in findings.verdict] == ["2 threads", "1 thread"]
    assert all(len(e.text.split()) <= 25 for e in findings.effects)


def test_the_experiment_can_choose_the_factor_of_the_headline(make_store):
    findings = findings_of(
        make_store, **TWO_FACTORS, analysis='responses = ["energy_per_op_uj", "throughput_ops_s"]\ncompare = "threads"'
    )
    assert findings.subject == "threads"
    assert findings.headline.startswith("Least energy per operation (counted) with 2 threads: ")
    assert findings.effects[0].factors == ("target",)


def test_the_database_stays_in_the_headline_where_it_varies(make_store):
    findings = findings_of(make_store, method="counted")
    assert findings.subject == "database"
    assert {e.factors for e in findings.effects} == {("database",), ("workload",), ("database", "workload")}
    depends = next(e.text for e in findings.effects if len(e.factors) == 2)
    assert re.fullmatch(r"The effect of database depends on workload: it differs by up to \d\.\d+×\.", depends)


def test_an_interaction_that_the_model_does_not_resolve_is_none(make_store):
    findings = findings_of(make_store, method="modelled", min_ratio=100.0)
    text = next(e.text for e in findings.effects if len(e.factors) == 2)
    assert re.fullmatch(
        r"No interaction of database and workload shows: \d\.\d+× by the means, and the model resolves 100×\.", text
    )


def test_factors_without_a_test_are_reported_by_their_means(make_store):
    findings = findings_of(make_store, **(TWO_FACTORS | {"blocks": 1}))
    assert [e.factors for e in findings.effects] == [("threads",), ("target",)]
    assert all(e.share is None and e.text.endswith("; not tested.") for e in findings.effects)


def test_the_headline_reports_that_databases_are_equal_within_the_declared_margin(make_store):
    equal = {"databases": ("leveldb", "rocksdb"), "workloads": ("moderate",), "blocks": 20, "method": "counted"}
    analysis = 'responses = ["throughput_ops_s"]\nmargin = 1.05'
    assert findings_of(make_store, **equal, analysis=analysis).headline == (
        "Throughput: equal within 5 % with leveldb and rocksdb."
    )


def test_conditions_are_never_named_by_a_factor_with_an_s_behind_it(make_store):
    headline = findings_of(make_store, workloads=("write",), threads=(1, 4), method="counted").headline
    assert headline == (
        "Least energy per operation (counted) in both conditions: leveldb; rocksdb 1.6×, sqlite 3.7× to 4.6×."
    )
