"""Everything the statistics say is on the page, in a sentence and in a folded table."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest

from edgejoule.findings import find, statistics, tables
from edgejoule.findings.table import plain
from edgejoule.report.page import build

COUNTED = {"method": "counted", "min_ratio": None}
BY = 'responses = ["energy_per_op_uj", "throughput_ops_s"]\nby = "workload"'


def page_of(make_store, **fields) -> str:
    with make_store(**fields) as store:
        return build(store, store.find(), find(store, store.find()))


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)).replace("&#39;", "'")


# The statements that a report must make about the statistics, and their text.
ASKED = {
    "Hsu's comparison with the best": "is the best; the other 8 are not",
    "effect sizes": "effect (Hedges' g)",
    "lag-1 autocorrelation": "lag-1 autocorrelation",
    "median, least, most": "median least most",
    "lines of energy on time": "slope (W, counted)",
    "equal slopes": "equal slopes: F(2,",
    "CDFs": "Latency distributions",
    "shares of variation": "share of variation ω²",
    "letters": "that share a letter are not shown to differ",
    "A/A": "random halves of the same cell",
    "diagnostics": "no deviation from normal",
}


@pytest.mark.parametrize("item", ASKED)
def test_the_page_shows_what_the_specification_asks_for(make_store, item: str) -> None:
    assert ASKED[item] in text_of(page_of(make_store, **COUNTED))


@pytest.mark.parametrize(
    ("left_out", "item"),
    [
        ("against_best", "Hsu's comparison with the best"),
        ("energy_lines", "equal slopes"),
        ("checks", "lag-1 autocorrelation"),
    ],
)
def test_mutant_that_leaves_a_part_out_is_detected(make_store, monkeypatch, left_out: str, item: str) -> None:
    monkeypatch.setattr(statistics, left_out, lambda *of: None)
    assert ASKED[item] not in text_of(page_of(make_store, **COUNTED))


def test_an_analysis_by_a_factor_shows_each_levels_extremes_and_comparisons(make_store) -> None:
    text = text_of(page_of(make_store, **COUNTED, analysis=BY))
    assert "Lowest and highest median by workload" in text
    assert re.search(r"write 1\d\d leveldb 5\d\d sqlite", text)
    assert text.count("is the best; the other 2 are not") >= 3


@pytest.mark.parametrize(
    ("test", "sentence"),
    [("games-howell", "Welch"), ("kruskal-dunn-holm", "Kruskal-Wallis"), ("kruskal-dunn-holm", "Cliff's δ")],
)
def test_a_test_with_its_own_omnibus_reports_it(make_store, test: str, sentence: str) -> None:
    analysis = f'responses = ["energy_per_op_uj"]\ntest = "{test}"'
    assert sentence in text_of(page_of(make_store, **COUNTED, analysis=analysis))


def test_modelled_energy_gets_no_line_and_the_page_reports_why(make_store) -> None:
    text = text_of(page_of(make_store))
    assert "No lines: modelled energy follows from time" in text
    assert "slope (W" not in text


def test_energies_of_several_methods_get_no_line(make_store) -> None:
    with make_store(**COUNTED, methods={2: "measured"}) as store:
        lines = find(store, store.find()).lines
    assert lines.regression is None
    assert "different methods" in lines.reason


def test_the_line_is_the_truth_the_runs_were_drawn_from(make_store) -> None:
    """Active power 5.2 W; what settles draws 3.8 W and is not proportional to it."""
    with make_store(**COUNTED) as store:
        result = find(store, store.find())
    sqlite = next(line for line in result.lines.regression.lines if line.levels == {"database": "sqlite"})
    assert sqlite.slope == pytest.approx(5.05, abs=0.1)
    assert result.to_json()["energy_against_time"]["regression"]["tests"][0]["name"] == "equal slopes"


def test_a_run_that_leaves_something_to_the_next_is_reported(make_store, monkeypatch) -> None:
    with make_store(**COUNTED) as store:
        result = find(store, store.find())
    quiet = statistics.checks(result)
    assert "No check rejects" in quiet.text
    part = result.responses[0].parts[0]
    object.__setattr__(part.analysis, "serial", type(part.analysis.serial)(0.6, -0.1, 0.001, 45))
    checks = statistics.checks(result)
    assert "1 of 12 checks reject an assumption of the model, where about 0.60 would do so by chance" in checks.text
    assert "runs depend on the run before" in plain(checks.table.rows[0][3])


@pytest.mark.parametrize(
    ("databases", "text"),
    [
        (("sqlite", "leveldb"), "cannot be tested: in blocks, two cells always have the same variance"),
        (("sqlite", "leveldb", "rocksdb"), "p "),
    ],
)
def test_variances_of_two_cells_in_blocks_cannot_be_tested(make_store, databases, text) -> None:
    """Within a block the residual of one cell is that of the other with the opposite sign: p would always be 1."""
    with make_store(**COUNTED, databases=databases, workloads=("write",)) as store:
        checks = statistics.checks(find(store, store.find()))
    assert {text in plain(row[2]) for row in checks.table.rows} == {True}


def test_the_peak_memory_of_server_and_client_are_beside_each_other(make_store) -> None:
    with make_store(**COUNTED) as store:
        result = find(store, store.find())
    other = replace(result.others[0], is_energy=False)
    alone = replace(other, name="rss_peak_mb", label="peak memory", unit="MB")
    served = replace(other, name="server_rss_peak_mb", label="peak memory of the server", unit="MB")
    embedded = tables.intervals(replace(result, others=(alone,)))
    assert [c for c in embedded.columns if "memory" in c] == ["peak memory (MB)"]
    both = tables.intervals(replace(result, others=(alone, served)))
    assert [c for c in both.columns if "memory" in c] == [
        "peak memory of the server (MB)", "peak memory of the client (MB)",
    ]  # fmt: skip


def test_a_percentile_of_merged_runs_is_related_to_that_of_the_tables(make_store) -> None:
    text = text_of(page_of(make_store))
    assert "all replications of a cell merged. So a percentile here is that of all operations together" in text
    assert "the tables and the verdict compare the means of each run's own percentile" in text


@pytest.mark.slow
def test_270_runs_with_traces_are_a_page_below_a_megabyte(make_store) -> None:
    with make_store(blocks=30, **COUNTED) as store:
        result = find(store, store.find())
        begun = time.monotonic()
        page = build(store, store.find(), result)
    print(f"{len(page.encode()):,} bytes, {time.monotonic() - begun:.2f} s")
    assert len(result.runs) == 270
    assert len(page.encode()) < 1_000_000
