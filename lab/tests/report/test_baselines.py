"""Gross, the two baselines and the energies above them side by side in the report, or the reason why one is absent."""

from __future__ import annotations

from edgejoule.findings import baselines, find
from edgejoule.findings.table import Table

QUIET = ("power_quiet_w", "energy_net_quiet_j")


def table(make_store, **design) -> Table:
    store = make_store(**design)
    result = baselines.table(find(store, store.find()))
    assert result is not None
    return result


def test_gross_both_baselines_and_both_nets_have_a_column_with_method_and_uncertainty(make_store) -> None:
    result = table(make_store, method="counted")
    titles = [c for c in result.columns if "counted" in c]
    assert [t.split(" (")[0] for t in titles] == [
        "mean power", "power at idle", "power of the open database, quiet", "energy, settled",
        "energy above idle, settled", "energy above the quiet open database, settled",
    ]  # fmt: skip
    first = len(result.columns) - len(titles)
    for row in result.rows:
        assert all(" ± " in str(cell) for cell in row[first:])
        assert str(row[first + 1]).startswith("2.10 ± ")
        assert str(row[first + 2]).startswith("2.40 ± ")


def test_a_baseline_that_no_run_has_is_a_note_with_its_reason_and_no_column(make_store) -> None:
    missing = {(name, index): "nobody stood still" for name in QUIET for index in range(500)}
    result = table(make_store, missing=missing)
    assert not [c for c in result.columns if "quiet" in c]
    assert "no power of the open database, quiet: nobody stood still" in (result.note or "")


def test_one_missing_run_leaves_no_hole_in_the_means(make_store) -> None:
    result = table(make_store, missing={("energy_net_quiet_j", 0): "nobody stood still"})
    assert not [cell for row in result.rows for cell in row if "nobody" in str(cell)]


def test_a_cell_in_which_every_run_misses_it_reports_why_and_shows_no_zero(make_store) -> None:
    store = make_store()
    runs = find(store, store.find()).runs
    missing = {(n, r.number - 1): "nobody stood still" for r in runs if r.levels["database"] == "sqlite" for n in QUIET}
    result = table(make_store, missing=missing)
    last = len(result.columns) - 1
    for row in result.rows:
        assert ("nobody stood still" in str(row[last])) == (row[result.columns.index("database")] == "sqlite")
