"""The store keeps whole runs or nothing, and returns what was written."""

from __future__ import annotations

import json
import sqlite3
import threading
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from small_store import CHANNEL, finished, small_spec, with_experiment

from edgejoule.errors import StoreError, UsageError
from edgejoule.experiment.plan import make_plan
from edgejoule.store import Run, RunData, Store

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"


def test_a_run_comes_back_as_it_went_in(tmp_path: Path) -> None:
    store, experiment = with_experiment(tmp_path / "s.db", small_spec())
    run, data = finished()
    store.record(experiment, run, data)
    back = store.runs(experiment)[0]
    assert back.responses == tuple(sorted(run.responses, key=lambda r: r.name))
    assert (back.flags, back.intervals, back.levels) == (run.flags, run.intervals, run.levels)
    jsonschema.Draft202012Validator(json.loads((SCHEMAS / "run-record.schema.json").read_text())).validate(
        back.record("small")
    )
    kept = store.data(back)
    assert kept.events == data.events
    assert kept.latencies == data.latencies
    (trace,), (given_trace,) = kept.traces, data.traces
    assert trace.channel == CHANNEL
    np.testing.assert_array_equal(trace.t_ns, given_trace.t_ns)
    np.testing.assert_allclose(trace.value, given_trace.value, atol=CHANNEL.resolution / 32)
    assert (trace.reasons, trace.interval_s) == ({3: "permission denied"}, 0.05)


def test_a_finished_run_is_never_overwritten_but_a_failed_one_is(tmp_path: Path) -> None:
    store, experiment = with_experiment(tmp_path / "s.db", small_spec())
    run, data = finished()
    store.record(experiment, Run(0, 0, run.levels, "failed", cause="disk died"), RunData())
    assert store.runs(experiment)[0].cause == "disk died"
    store.record(experiment, run, data)
    with pytest.raises(StoreError, match="not waiting"):
        store.record(experiment, run, data)
    with pytest.raises(StoreError, match="not waiting"):
        store.record(experiment, finished(99)[0], data)


def test_a_full_disk_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store, experiment = with_experiment(path, small_spec())
    store.record(experiment, *finished(0))
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages + 1}")
    before = list(sqlite3.connect(path).iterdump())
    run, data = finished(1)
    big = RunData([{"event": "interval", "monotonic_ns": 1, "detail": "x" * 100_000}], data.traces, data.latencies)
    with pytest.raises(
        StoreError, match=r"nothing was changed: no space is left on the file system of .*; free some there"
    ):
        store.record(experiment, run, big)
    assert list(sqlite3.connect(path).iterdump()) == before


def test_a_foreign_file_is_refused_as_store_and_untouched(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (x)")
    content = other.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Store.open(other, create=True)
    assert other.read_bytes() == content, "not even its journal mode may change"
    with sqlite3.connect(other) as db:
        db.execute("PRAGMA user_version = 1")
    with pytest.raises(StoreError, match="another program"):
        Store.open(other)
    text = tmp_path / "text.db"
    text.write_text("hello, this is no database at all " * 40)
    with pytest.raises(StoreError, match="not a database"):
        Store.open(text, create=True)
    with pytest.raises(StoreError, match="no store here"):
        Store.open(tmp_path / "absent.db")
    assert not (tmp_path / "absent.db").exists()
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(other / "below-a-file.db", create=True)


def test_a_damaged_store_is_reported_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store, experiment = with_experiment(path, small_spec())
    store.record(experiment, *finished(0))
    store.close()
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xa5" * len(content[8192:])
    path.write_bytes(bytes(content))
    with Store.open(path) as damaged, pytest.raises(StoreError, match=r"s\.db: cannot be read"):
        damaged.runs(experiment)


def test_an_experiment_is_selected_by_id_name_or_latest(tmp_path: Path) -> None:
    store, first = with_experiment(tmp_path / "s.db", small_spec())
    assert store.find("small").id == first
    second = store.create_experiment(
        small_spec(2), "", make_plan(small_spec(2)), energy_words="", energy_min_ratio=1.7, environment={}
    )
    assert [store.find(w).id for w in ("latest", str(second), str(first))] == [second, second, first]
    with pytest.raises(UsageError, match=r"2 experiments have the name 'small': 1 \(.*Give a number"):
        store.find("small")
    assert store.find().energy_min_ratio == 1.7
    with pytest.raises(UsageError, match="no experiment 'smal'; there are: small"):
        store.find("smal")


def test_resume_finds_the_same_spec_only_while_runs_are_left(tmp_path: Path) -> None:
    store, experiment = with_experiment(tmp_path / "s.db", small_spec())
    assert store.unfinished(small_spec(seed=2)) is None
    for index in range(3):
        result = store.unfinished(small_spec())
        assert result is not None
        assert result.id == experiment
        store.record(experiment, *finished(index))
    assert store.unfinished(small_spec()) is None


def test_the_golden_run_record_and_experiment_follow_their_schemas() -> None:
    for example, schema, read in (
        ("run-record.json", "run-record", json.loads),
        ("experiment.toml", "experiment", tomllib.loads),
    ):
        rules = json.loads((SCHEMAS / f"{schema}.schema.json").read_text())
        jsonschema.Draft202012Validator(rules).validate(read((SCHEMAS / "examples" / example).read_text()))


def test_a_store_that_several_make_at_once_is_made_once(tmp_path: Path) -> None:
    for i in range(10):
        path, troubles = tmp_path / f"{i}.db", []

        def make(path: Path = path, troubles: list[Exception] = troubles) -> None:
            try:
                Store.open(path, create=True).close()
            except StoreError as error:
                troubles.append(error)

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert troubles == []
