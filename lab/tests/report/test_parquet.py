"""Parquet says what CSV and JSON lines say, in real types; a missing value is null."""

from __future__ import annotations

import csv
import io
import json
import sys
import tomllib
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from edgejoule.cli.main import main
from edgejoule.experiment.model import Spec
from edgejoule.experiment.plan import make_plan
from edgejoule.export import parquet
from edgejoule.export.runs_table import RunsColumn, runs_csv, runs_table
from edgejoule.meters.base import Channel, Clock, Domain, Method, ValueKind
from edgejoule.meters.clocks import Arrivals, ClockRelation
from edgejoule.meters.trace import Trace
from edgejoule.store import Intervals, Run, RunData, Store, StoredTrace

pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def store(make_store: Callable[..., Store]) -> Iterator[Store]:
    """Small, with a failed run, a missing energy, and in every trace a failed reading."""
    with make_store(
        blocks=2, databases=("sqlite", "rocksdb"), threads=(1, 4), failed={4: "No space left on device"},
        missing={("energy_j", 2): "the meter was away"}, methods={6: "counted"},
    ) as made:  # fmt: skip
        yield made


def export(store: Store, *arguments: str) -> Any:
    return CliRunner().invoke(main, ["export", *arguments, "--store", str(store.path)])


def written(store: Store, folder: Path, *arguments: str) -> Any:
    """The table that the command writes."""
    target = folder / "out.parquet"
    answer = export(store, *arguments, "--parquet", str(target))
    assert answer.exit_code == 0, answer.output
    assert [each.name for each in folder.glob("*.part")] == []
    return pq.read_table(target)


# Runs


def unlike_csv(table: Any, text: str) -> list[str]:
    """Where the table is not what the CSV says."""
    rows = list(csv.DictReader(io.StringIO(text)))
    result = [] if table.column_names == list(rows[0]) else [f"columns {table.column_names}"]
    for name in set(table.column_names) & set(rows[0]):
        cells = table.column(name).to_pylist()
        same = [_same(row[name], cell) for row, cell in zip(rows, cells, strict=True)]
        result += [f"{name}: {rows[i][name]!r} is {cells[i]!r}" for i, alike in enumerate(same) if not alike]
    return result


def _same(text: str, cell: object) -> bool:
    if cell is None or cell == []:
        return text == ""
    if isinstance(cell, list):
        return text == "; ".join(cell)
    if isinstance(cell, str):
        return text == cell
    return text == repr(cell) and not isinstance(cell, bool)


def test_the_runs_are_those_of_the_csv_to_the_last_digit(store: Store, tmp_path: Path) -> None:
    table = written(store, tmp_path)
    assert unlike_csv(table, export(store, "--csv").stdout) == []
    kinds = {field.name: str(field.type) for field in table.schema}
    assert (kinds["run"], kinds["threads"], kinds["database"]) == ("int64", "int64", "string")
    assert kinds["energy_j.modelled"] == kinds["energy_j.modelled.k2"] == kinds["throughput_ops_s"] == "double"
    assert table.column("energy_j.modelled")[2].as_py() is None
    assert table.column("energy_j.modelled")[6].as_py() is None, "run 7 was counted"
    assert table.column("energy_j.counted")[6].as_py() > 0
    assert table.column("cause")[4].as_py() == "No space left on device"


def changed(
    name: str, change: Callable[[RunsColumn], RunsColumn]
) -> Callable[[Sequence[RunsColumn]], list[RunsColumn]]:
    return lambda columns: [change(column) if name in column.name else column for column in columns]


RUN_MUTANTS: dict[str, Callable[[Sequence[RunsColumn]], Sequence[RunsColumn]]] = {
    "zero for what is missing": changed(
        "energy_j.modelled", lambda c: replace(c, cells=[0.0 if cell is None else cell for cell in c.cells])
    ),
    "words for numbers": changed("_s", lambda c: replace(c, kind=str, cells=[c and f"{c:.3g}" for c in c.cells])),
    "the uncertainties left out": lambda columns: [c for c in columns if not c.name.endswith(".k2")],
    "rows in another order": lambda columns: [replace(c, cells=list(reversed(c.cells))) for c in columns],
    "a name for another": changed("active_s", lambda c: replace(c, name="activity_s")),
}


@pytest.mark.parametrize("mutant", RUN_MUTANTS)
def test_a_mutant_of_the_runs_is_detected(
    mutant: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = parquet.write_runs
    monkeypatch.setattr(parquet, "write_runs", lambda columns, *rest: right(RUN_MUTANTS[mutant](columns), *rest))
    assert unlike_csv(written(store, tmp_path), export(store, "--csv").stdout)


def test_single_precision_is_detected(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = parquet._arrow_type
    monkeypatch.setattr(parquet, "_arrow_type", lambda pa, kind: pa.float32() if kind is float else right(pa, kind))
    assert unlike_csv(written(store, tmp_path), export(store, "--csv").stdout)


def test_a_column_has_unit_method_and_description(store: Store, tmp_path: Path) -> None:
    schema = written(store, tmp_path).schema
    for name in ("energy_per_op_uj.modelled", "energy_per_op_uj.modelled.k2"):
        metadata = schema.field(name).metadata
        assert (metadata[b"unit"].decode(), metadata[b"method"]) == ("µJ", b"modelled")
    assert b"energy per operation" in schema.field("energy_per_op_uj.modelled").metadata[b"description"]
    assert schema.field("throughput_ops_s").metadata[b"method"] == b"timed"
    assert b"unit" not in schema.field("database").metadata
    assert b"modelled, not measured" in schema.metadata[b"energy"]


def run(levels: dict[str, Any], **fields: Any) -> Run:
    return Run(fields.pop("index", 0), 0, levels, "finished", **fields)


def test_levels_keep_their_kind_and_attempts_are_distinguished(store: Store, tmp_path: Path) -> None:
    experiment = store.find()
    factors = {"flag": [True, False], "share": [1, 0.5], "mixed": ["a", 1]}
    design = replace(experiment, spec=experiment.spec.model_copy(update={"factors": factors}))
    runs = [
        run({"flag": True, "share": 1, "mixed": "a"}, set_aside=True, flags=("one", "two")),
        run({"flag": False, "share": 0.5, "mixed": 1}, attempt=1),
    ]
    columns = runs_table(design, runs)
    parquet.write_runs(columns, design, tmp_path / "x")
    rows = pq.read_table(tmp_path / "x").to_pylist()
    assert [row["flag"] for row in rows] == [True, False]
    assert [row["share"] for row in rows] == [1.0, 0.5]
    assert [row["mixed"] for row in rows] == ["a", "1"]
    assert [(row["attempt"], row["set_aside"]) for row in rows] == [(1, True), (2, False)]
    assert [row["flags"] for row in rows] == [["one", "two"], []]
    lines = [line.partition(",synthetic,")[0] for line in runs_csv(columns).splitlines()[1:]]
    assert lines == ["1,1,True,1,a,finished,,one; two,1,yes", "1,1,False,0.5,1,finished,,,2,no"]


# Samples


def unlike_lines(table: Any, text: str) -> list[str]:
    """Where the samples are not those of the JSON lines."""
    lines = [json.loads(line) for line in text.splitlines()]
    rows = table.select(list(lines[0])).to_pylist() if set(lines[0]) <= set(table.column_names) else []
    return [f"{a} is {b}" for a, b in zip(lines, rows, strict=False) if a != b] + ["rows"] * (len(rows) != len(lines))


def test_the_samples_are_those_of_the_json_lines_with_run_and_time(store: Store, tmp_path: Path) -> None:
    table = written(store, tmp_path, "--samples")
    assert unlike_lines(table, export(store, "--samples").stdout) == []
    failed = [row for row in table.to_pylist() if row["value"] is None]
    assert {row["missing_reason"] for row in failed} == {"the meter did not answer"}
    assert sorted({row["run"] for row in failed}) == [1, 2, 3, 4, *range(6, 25)]
    assert min(row["time_s"] for row in table.to_pylist()) == pytest.approx(-0.5, abs=1e-6)


SAMPLE_MUTANTS: dict[str, Callable[[dict[str, Any], Any], dict[str, Any]]] = {
    "zero for a failed reading": lambda c, pa: {**c, "value": c["value"].fill_null(0.0)},
    "no number for a failed reading": lambda c, pa: {**c, "value": c["value"].fill_null(float("nan"))},
    "a reason lost": lambda c, pa: {**c, "missing_reason": pa.nulls(len(c["value"]), pa.string())},
    "another method": lambda c, pa: {**c, "method": parquet._repeated(pa, "measured", len(c["value"]))},
    "a sample lost": lambda c, pa: {name: column[1:] for name, column in c.items()},
}


@pytest.mark.parametrize("mutant", SAMPLE_MUTANTS)
def test_a_mutant_of_the_samples_is_detected(
    mutant: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = parquet._sample_columns
    monkeypatch.setattr(
        parquet, "_sample_columns", lambda pa, *rest: (SAMPLE_MUTANTS[mutant](c, pa) for c in right(pa, *rest))
    )
    assert unlike_lines(written(store, tmp_path, "--samples"), export(store, "--samples").stdout)


def most_in_memory(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch, hoard: list[Trace] | None) -> int:
    """Of the channels' readings, at once, while the samples are written; a hoard keeps them all."""
    right, seen, most = StoredTrace.whole, [], []

    def whole(stored: StoredTrace) -> Trace:
        trace = right(stored)
        seen.append(weakref.ref(trace))
        most.append(sum(each() is not None for each in seen))
        if hoard is not None:
            hoard.append(trace)
        return trace

    with monkeypatch.context() as patch:
        patch.setattr(StoredTrace, "whole", whole)
        written(store, folder, "--samples")
    assert len(most) == 23
    return max(most)


def test_no_two_channels_are_in_memory_and_a_hoarding_mutant_is_detected(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert most_in_memory(store, tmp_path, monkeypatch, None) == 1
    assert most_in_memory(store, tmp_path, monkeypatch, []) == 23


def test_a_long_channel_is_written_in_pieces(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_MAX", 7)
    table = written(store, tmp_path, "--samples")
    assert unlike_lines(table, export(store, "--samples").stdout) == []
    groups = pq.ParquetFile(tmp_path / "out.parquet").metadata
    assert max(groups.row_group(i).num_rows for i in range(groups.num_row_groups)) == 7


START_NS = 50_000_000_000


def on_device_clock(tmp_path: Path, **fields: Any) -> list[dict[str, Any]]:
    """The samples of a run whose meter's clock is not this host's."""
    channel = Channel("m", "p", Domain.BOARD, ValueKind.INSTANT, Method.MEASURED, 0, 0, 0, clock=Clock.DEVICE)
    t_ns = np.arange(1, 6) * 1_000_000_000
    trace = Trace(channel, t_ns, np.full(5, 2.0), 1.0, **fields)
    spec = Spec.model_validate(tomllib.loads('name="s"\nquestion="?"\n[factors]\ndatabase=["noop"]\n[fixed]\nworkload="workloada"'))  # fmt: skip # noqa: E501
    with Store.open(tmp_path / "device.db", create=True) as store:
        plan = make_plan(spec)
        store.create_experiment(spec, "", plan, energy_words="", energy_min_ratio=None, environment={})
        times = Intervals(START_NS, START_NS + 1, START_NS + 1, True)
        finished = Run(0, 0, plan[0].levels, "finished", intervals=times)
        store.record(1, finished, RunData(traces=[trace]))
        return written(store, tmp_path, "--samples").to_pylist()


def test_a_device_clocks_samples_have_the_hosts_time_where_it_is_known(tmp_path: Path) -> None:
    known = ClockRelation(device_ns=1_000_000_000, host_ns=START_NS, drift=0.0, offset_s=0.001, drift_u=0.0)
    arrivals = Arrivals(np.empty(0, np.int64), np.empty(0, np.int64))
    rows = on_device_clock(tmp_path, relation=known, arrivals=arrivals)
    assert [row["time_s"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["t_ns"] for row in rows] == [10**9 * i for i in range(1, 6)]
    assert {row["clock"] for row in rows} == {"device"}


def test_a_time_that_nothing_ties_to_the_hosts_is_null(tmp_path: Path) -> None:
    rows = on_device_clock(tmp_path, arrivals=Arrivals(np.empty(0, np.int64), np.empty(0, np.int64)))
    assert [row["time_s"] for row in rows] == [None] * 5


# What can go wrong


def test_without_pyarrow_the_message_names_the_remedy(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = export(store, "--parquet", str(tmp_path / "x"))
    assert answer.exit_code == 2
    assert "[parquet]'" in answer.stderr
    assert list(tmp_path.glob("*x*")) == []
    assert export(store, "--csv").exit_code == 0


def test_what_cannot_be_written_is_reported_and_leaves_what_was_there(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "make it: mkdir -p" in export(store, "--parquet", str(tmp_path / "none" / "x")).stderr
    target = tmp_path / "x"
    target.write_text("before")
    right = parquet._sample_columns

    def full(pa: Any, which: Run, stored: StoredTrace) -> Iterator[dict[str, Any]]:
        if which.run_index == 3:
            raise OSError(28, "No space left on device")
        return right(pa, which, stored)

    monkeypatch.setattr(parquet, "_sample_columns", full)
    assert "no space is left on the file system" in export(store, "--samples", "--parquet", str(target)).stderr
    assert target.read_text() == "before"
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("beside", [["--csv"], ["--jsonl"], ["-o", "y"], ["--bundle", "y.zip"]])
def test_another_form_beside_it_is_refused(beside: list[str], store: Store) -> None:
    answer = export(store, "--parquet", "x", *beside)
    assert answer.exit_code == 2
    assert "beside it" in answer.stderr
