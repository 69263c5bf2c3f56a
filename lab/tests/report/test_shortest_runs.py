"""The report of runs whose intervals last some nanoseconds."""

from __future__ import annotations

import sqlite3

import pytest

from edgejoule.findings import find
from edgejoule.report import build
from edgejoule.store import Store


@pytest.mark.parametrize("length_ns", [1, 40, 2_000])
@pytest.mark.parametrize("windows", [True, False])
def test_the_report_shows_runs_of_some_nanoseconds(make_store, tmp_path, length_ns: int, windows: bool) -> None:
    make_store(workloads=("write",), blocks=2, windows=windows, level0={"rocksdb": (1, 2)}).close()
    path = tmp_path / "store-0.db"
    with sqlite3.connect(path) as database:
        database.execute(
            "UPDATE runs SET active_end_ns = active_start_ns + ?, settled_end_ns = active_start_ns + ?",
            (length_ns, length_ns + 10),
        )
    database.close()
    with Store.open(path) as store:
        experiment = store.find()
        assert "<svg" in build(store, experiment, find(store, experiment))
