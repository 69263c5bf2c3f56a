"""`edgejoule.open_store`: data frames have the report's figures and their units."""

from __future__ import annotations

import contextlib
import math
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from small_store import finished, small_spec, with_experiment

import edgejoule
from edgejoule import open_store
from edgejoule.api import ExperimentResults
from edgejoule.errors import DataError, StoreError, UsageError
from edgejoule.experiment.plan import cells
from edgejoule.extras import install_command
from edgejoule.findings import find
from edgejoule.store import Store

pd = pytest.importorskip("pandas")

MakeStore = Callable[..., Store]
PAGE = Path(__file__).parents[3] / "docs/how-to/python.md"
SMALL = {"databases": ("sqlite", "leveldb"), "workloads": ("read", "write"), "blocks": 3}
RATE, ENERGY = "throughput_ops_s", "energy_per_op_uj"


def results(store: Store) -> ExperimentResults:
    return open_store(store.path).experiment()


def test_the_runs_are_those_of_the_store_with_units_and_methods(make_store: MakeStore) -> None:
    store = make_store(**SMALL)
    runs = results(store).runs()
    stored = store.runs(1)
    assert list(runs.columns[:5]) == ["run", "block", "database", "workload", "flags"]
    assert len(runs) == 12
    assert list(runs["run"]) == [run.run_index + 1 for run in stored]
    for name in (RATE, ENERGY):
        assert list(runs[name]) == [run.value(name) for run in stored]
    units = runs.attrs["units"]
    assert set(units) == set(runs.columns[5:])
    assert (units[RATE], units[ENERGY], units["power_mean_w"]) == ("ops/s", "µJ modelled", "W modelled")
    assert [name for name in units if name.startswith(("energy", "power")) and "modelled" not in units[name]] == []


def test_units_survive_the_usual_selections(make_store: MakeStore) -> None:
    runs = results(make_store(**SMALL)).runs()
    for frame in (
        runs.copy(), runs[runs["database"] == "sqlite"], runs.query("block > 1"), runs.sort_values(RATE), runs.head(2),
        runs[["database", RATE]], runs.assign(twice=2 * runs[RATE]), runs.reset_index(drop=True),
    ):  # fmt: skip
        assert frame.attrs["units"][RATE] == "ops/s"


def test_flagged_runs_stay_and_failed_missing_and_set_aside_ones_are_no_values(make_store: MakeStore) -> None:
    store = make_store(
        **SMALL, failed={5: "the driver ended"}, missing={(RATE, 0): "no interval"}, planned_only=frozenset({11})
    )
    first = store.runs(1)[1]
    store.again(1, 1)
    store.record(1, replace(first, responses=tuple(replace(r, value=7.0) for r in first.responses)), store.data(first))
    runs = results(store).runs().set_index("run")
    assert list(runs.index) == [1, 2, 3, 4, 5, 7, 8, 9, 10, 11]
    assert math.isnan(runs.loc[1, RATE])
    assert not math.isnan(runs.loc[1, ENERGY])
    assert runs.loc[2, RATE] == first.value(RATE), "the first attempt counts"
    assert runs.loc[4, "flags"] == "the driver itself took 12% of the CPU time, bound 10%"
    assert set(runs["flags"].drop(4)) == {""}


@pytest.mark.parametrize("analysis", ["", '\nby = "workload"', '\nscale = "raw"'], ids=["cells", "by", "raw"])
def test_means_are_those_of_the_report(make_store: MakeStore, analysis: str) -> None:
    store = make_store(**SMALL, failed={5: "x"}, analysis=f'responses = ["{ENERGY}", "{RATE}"]{analysis}')
    for name in (RATE, ENERGY):
        reported = find(store, store.find()).response(name)
        assert reported is not None
        means = results(store).means(name)
        assert list(means.columns) == ["database", "workload", "n", "mean", "ci95_low", "ci95_high"]
        of_report = {tuple(c.levels[f] for f in ("database", "workload")): (c.n, c.mean, c.ci) for c in reported.cells}
        for row in means.itertuples(index=False):
            assert (row.n, row.mean, (row.ci95_low, row.ci95_high)) == of_report[row.database, row.workload]
        assert [tuple(cell.values()) for cell in cells(store.find().spec)] == list(
            means[["database", "workload"]].itertuples(index=False, name=None)
        )
        assert means.attrs["scale"] == reported.scale
        unit = "ops/s" if name == RATE else "µJ modelled"
        assert means.attrs["units"] == dict.fromkeys(["mean", "ci95_low", "ci95_high"], unit)


def test_means_by_a_factor_are_the_marginal_means_of_the_report(make_store: MakeStore) -> None:
    store = make_store(**SMALL)
    reported = find(store, store.find()).response(RATE)
    assert reported is not None
    groups = {g.levels["database"]: g for g in reported.parts[0].margins["database"].groups}
    means = results(store).means(RATE, by="database")
    assert list(means["database"]) == ["sqlite", "leveldb"]
    for row in means.itertuples(index=False):
        group = groups[row.database]
        assert (row.n, row.mean, row.ci95_low, row.ci95_high) == (group.n, group.mean, *group.ci95)


def test_means_by_a_factor_have_rows_for_each_analysis(make_store: MakeStore) -> None:
    store = make_store(
        databases=("sqlite", "leveldb"), workloads=("read", "write"), threads=(1, 2), blocks=3,
        analysis=f'responses = ["{RATE}"]\nby = "workload"',
    )  # fmt: skip
    experiment = results(store)
    one, same = experiment.means(RATE, by="threads"), experiment.means(RATE, by=["threads", "workload"])
    pd.testing.assert_frame_equal(one, same)
    assert list(one[["workload", "threads"]].itertuples(index=False, name=None)) == [
        ("read", 1), ("read", 2), ("write", 1), ("write", 2),
    ]  # fmt: skip
    assert one["threads"].dtype == "int64"
    for by in ("workload", ["database", "threads"]):
        with pytest.raises(UsageError, match="means of all factors together, or of one: 'database', 'threads'"):
            experiment.means(RATE, by=by)


def test_a_response_that_is_not_declared_is_analysed_like_one_that_is(make_store: MakeStore) -> None:
    store = make_store(**SMALL, analysis=f'responses = ["{RATE}"]')
    other = make_store(**SMALL, analysis=f'responses = ["{RATE}", "settled_s"]')
    means = results(store).means("settled_s")
    assert means["ci95_low"].notna().all()
    pd.testing.assert_frame_equal(means, results(other).means("settled_s"))


def test_an_interval_that_is_not_known_is_nan_with_its_reason(make_store: MakeStore) -> None:
    store = make_store(**SMALL, other_cpu=dict.fromkeys(range(12), 0.5))
    means = results(store).means(ENERGY)
    assert means["mean"].notna().all()
    assert means["ci95_low"].isna().all()
    assert any("other programs" in note for note in means.attrs["notes"])
    with pytest.raises(DataError, match="energy_per_op_uj by database: other programs"):
        results(store).means(ENERGY, by="database")


def test_what_is_unknown_is_answered_with_what_exists(make_store: MakeStore, tmp_path: Path) -> None:
    store = make_store(**SMALL)
    with pytest.raises(UsageError, match=f"no response 'speed' in synthetic; there are: .*{RATE}"):
        results(store).means("speed")
    with pytest.raises(UsageError, match="no factor 'databse' in synthetic; did you mean 'database'"):
        results(store).means(RATE, by="databse")
    with pytest.raises(UsageError, match="no experiment 'other'; there are: synthetic"):
        open_store(store.path).experiment("other")
    with pytest.raises(StoreError, match="no store here"):
        open_store(tmp_path / "absent.db")
    with pytest.raises(AttributeError, match="has no attribute 'open_stores'"):
        edgejoule.open_stores  # noqa: B018


def test_experiments_are_listed_with_their_progress(make_store: MakeStore) -> None:
    store = make_store(**SMALL, failed={5: "x"}, planned_only=frozenset({11}))
    with open_store(store.path) as opened:
        (row,) = opened.experiments().to_dict("records")
    assert (row["id"], row["name"], row["finished"], row["failed"], row["planned"]) == (1, "synthetic", 10, 1, 1)
    assert str(row["begun"].tz) == "UTC"


def test_reading_changes_no_byte_of_the_store(make_store: MakeStore) -> None:
    store = make_store(**SMALL)
    store.close()
    before = store.path.read_bytes()
    experiment = results(store)
    experiment.runs()
    experiment.means(RATE)
    assert store.path.read_bytes() == before


@pytest.fixture
def page_folder(make_store: MakeStore, tmp_path: Path) -> Path:
    """With the store that the page reads."""
    store = make_store()
    store.close()
    (tmp_path / "results").mkdir()
    path = store.path.rename(tmp_path / "results/store.db")
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE experiments SET name = 'first-look'")
    return tmp_path


def test_the_pages_program_runs(page_folder: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=page_folder, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert "energy_per_op_uj is in µJ modelled" in done.stdout
    assert "ci95_low" in done.stdout


def test_without_pandas_the_message_has_the_command(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_store(**SMALL)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=re.escape(install_command("pandas"))):
        open_store(store.path)


def test_the_package_imports_nothing_until_the_api_is_used() -> None:
    program = "import sys, edgejoule; print(*sorted(n for n in sys.modules if n.startswith(('edgejoule', 'numpy'))))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.stdout.split() == ["edgejoule", "edgejoule.version"]


def test_the_only_cell_of_an_experiment_has_a_mean_and_an_interval(tmp_path: Path) -> None:
    store, number = with_experiment(tmp_path / "s.db", small_spec())
    for index in range(3):
        run, data = finished(index)
        responses = tuple(replace(r, value=r.value and r.value * (1 + 0.1 * index)) for r in run.responses)
        store.record(number, replace(run, responses=responses), data)
    experiment = results(store)
    (row,) = experiment.means("energy_j").itertuples(index=False)
    assert (row.database, row.workload, row.n, row.mean) == (
        "sqlite",
        "workloadc",
        3,
        pytest.approx(1.5 * (1.1 * 1.2) ** (1 / 3)),
    )
    assert row.ci95_low < row.mean < row.ci95_high
    assert experiment.runs().attrs["units"] == {"energy_j": "J counted", "energy_net_j": "J counted"}
    (net,) = experiment.means("energy_net_j").itertuples(index=False)
    assert (net.n, math.isnan(net.mean)) == (0, True)
