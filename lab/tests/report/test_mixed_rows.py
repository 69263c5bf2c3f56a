"""Exports of several experiments in one file: what their rows do not share is said, and not averaged in silence."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from edgejoule.cli.main import main
from edgejoule.store import Store

Row = dict[str, str]
RATE = ["--response", "throughput_ops_s", "--factors", "database"]


@pytest.fixture
def rows(make_store: Callable[..., Store]) -> Iterator[list[Row]]:
    with make_store(blocks=3, databases=("sqlite", "rocksdb")) as store:
        done = CliRunner().invoke(main, ["export", "--csv", "--store", str(store.path)])
        yield list(csv.DictReader(io.StringIO(done.stdout)))


def analysed(folder: Path, rows: list[Row], *arguments: str) -> Result:
    path = folder / "runs.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return CliRunner().invoke(main, ["analyse", str(path), *arguments])


def elsewhere(rows: list[Row], **changes: str) -> list[Row]:
    """The same runs an hour later, with other surroundings."""
    later = [{**row, "started": row["started"].replace("T", "T1", 1), **changes} for row in rows]
    return [*rows, *later]


def test_the_table_has_experiment_start_host_and_fixed_settings(rows: list[Row]) -> None:
    one = rows[0]
    assert (one["experiment"], one["experiment_id"], len(one["spec"])) == ("synthetic", "1", 12)
    assert one["started"].startswith("2026-")
    assert one["started"].endswith("Z")
    assert {"host", "durability", "target", "recordcount"} <= one.keys()


def test_samples_name_their_run(make_store: Callable[..., Store]) -> None:
    with make_store(blocks=2, databases=("sqlite", "rocksdb")) as store:
        done = CliRunner().invoke(main, ["export", "--samples", "--store", str(store.path)])
        samples = [json.loads(line) for line in done.stdout.splitlines()]
        assert {(sample["run"], sample["attempt"]) for sample in samples} == {(run, 1) for run in range(1, 13)}


def test_rows_of_one_experiment_give_no_warning(rows: list[Row], tmp_path: Path) -> None:
    done = analysed(tmp_path, rows, *RATE)
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(analysed(tmp_path, rows, *RATE, "--json").stdout)["warnings"] == []


def test_settings_that_differ_are_named_with_what_makes_them_factors(rows: list[Row], tmp_path: Path) -> None:
    mixed = elsewhere(rows, durability="power", host="other", experiment="second")
    done = analysed(tmp_path, mixed, *RATE)
    assert done.exit_code == 0
    assert "warning:" in done.stderr
    assert "the rows differ in columns that the analysis does not use: experiment: synthetic in 18 rows" in done.stderr
    assert "durability: make it a factor (--factors database,durability) or analyse its levels apart" in done.stderr
    (first, *others) = json.loads(analysed(tmp_path, mixed, *RATE, "--json").stdout)["warnings"]
    assert "second in 18 rows" in first
    assert [text.partition(":")[0] for text in others] == ["host", "durability"]
    used = [*RATE[:-1], "database,durability,host", "--by", "experiment"]
    assert "host and" not in analysed(tmp_path, mixed, *used).stderr
    assert analysed(tmp_path, elsewhere(rows, durability="power"), *RATE[:-1], "database,durability").stderr == ""


def test_a_setting_that_changes_with_a_factor_cannot_be_told_from_it(rows: list[Row], tmp_path: Path) -> None:
    mixed = [{**row, "durability": "power" if row["database"] == "rocksdb" else "process"} for row in rows]
    assert (
        "durability: changes together with database: these rows cannot tell" in analysed(tmp_path, mixed, *RATE).stderr
    )


LATENCY = "read_intended_latency_us_p99"


def test_cells_that_missed_their_rate_are_named(make_store: Callable[..., Store], tmp_path: Path) -> None:
    fields = {"databases": ("sqlite", "rocksdb"), "workloads": ("read",), "blocks": 3, "target_ops_s": 60_000.0}
    with make_store(**fields, reached={"rocksdb": 0.7}) as store:
        done = CliRunner().invoke(main, ["export", "--csv", "--store", str(store.path)])
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    latency = ["--response", LATENCY, "--factors", "database"]
    warning = f"database rocksdb does not sustain 60,000/s, reached 42,000: their {LATENCY} is that of a lower rate"
    assert warning in " ".join(analysed(tmp_path, rows, *latency).stderr.split())
    (text,) = json.loads(analysed(tmp_path, rows, *latency, "--json").stdout)["warnings"]
    assert warning in text
    assert "sqlite" not in text
    assert analysed(tmp_path, rows, "--response", "cpu_us_per_op", *latency[2:]).stderr == ""
    reached = [row | {"target_share": "0.995"} for row in rows]
    assert analysed(tmp_path, reached, *latency).stderr == ""
    named = [row | {"target_ops_s": "fast"} for row in rows]
    assert (analysed(tmp_path, named, *latency).exit_code, analysed(tmp_path, named, *latency).stderr) == (0, "")


def test_rows_that_are_there_twice_are_counted(rows: list[Row], tmp_path: Path) -> None:
    assert "18 of 36 rows repeat others" in analysed(tmp_path, [*rows, *rows], *RATE).stderr


def test_joules_of_another_method_that_are_left_out_are_counted(rows: list[Row], tmp_path: Path) -> None:
    def measured(row: Row) -> Row:
        return {**row, "energy_j.measured": row["energy_j.modelled"], "energy_j.modelled": ""}

    other = [measured(row) for row in elsewhere(rows)[len(rows) :]]
    mixed = [{**row, "energy_j.measured": ""} for row in rows] + other
    arguments = ["--response", "energy_j.modelled", "--factors", "database", "--scale", "log"]
    done = analysed(tmp_path, mixed, *arguments)
    assert "18 rows have energy_j.measured instead of energy_j.modelled and are left out" in done.stderr


@pytest.mark.parametrize("column", ["method", "unit"])
def test_joules_of_two_methods_or_units_in_one_column_are_refused(rows: list[Row], tmp_path: Path, column: str) -> None:
    long: list[dict[str, Any]] = [
        {"database": row["database"], "energy": row["energy_j.modelled"], "method": "modelled", "unit": "J"}
        for row in rows
    ]
    arguments = ["--response", "energy", "--factors", "database"]
    assert analysed(tmp_path, long, *arguments).exit_code == 0
    other = {"method": "measured", "unit": "mJ"}[column]
    mixed = long + [{**row, column: other} for row in long]
    done = analysed(tmp_path, mixed, *arguments)
    assert done.exit_code == 2
    assert (
        f"has numbers of {column} {' and '.join(sorted([long[0][column], other]))}, which are not compared"
        in done.stderr
    )
    assert analysed(tmp_path, mixed, *arguments, "--by", column).exit_code == 0


def written(path: Path, rows: list[Row]) -> str:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def block_levels(done: Result) -> int:
    """The degrees of freedom of the blocks, and 1."""
    assert done.exit_code == 0, done.output
    (row,) = [row for row in json.loads(done.stdout)["anova"] if row["source"] == "block"]
    return int(row["df"]) + 1


def test_blocks_of_two_experiments_are_different_blocks(rows: list[Row], tmp_path: Path) -> None:
    blocks = len({row["block"] for row in rows})
    asked = [*RATE, "--block", "block", "--json"]
    assert block_levels(analysed(tmp_path, rows, *asked)) == blocks
    both = elsewhere(rows, experiment="second", experiment_id="2")
    done = analysed(tmp_path, both, *asked)
    assert block_levels(done) == 2 * blocks
    assert "block: the blocks of 2 experiments are different blocks" in json.loads(done.stdout)["warnings"][-1]


def test_several_files_are_joined_by_the_names_of_their_columns(rows: list[Row], tmp_path: Path) -> None:
    second = [
        {"scan_latency_us_p99": "5", **row, "experiment": "second", "experiment_id": "2", "threads": "8"}
        for row in elsewhere(rows)[len(rows) :]
    ]
    files = [written(tmp_path / "one.csv", rows), written(tmp_path / "two.csv", second)]
    done = CliRunner().invoke(main, ["analyse", *files, *RATE, "--block", "block", "--json"])
    assert block_levels(done) == 2 * len({row["block"] for row in rows})
    warnings = json.loads(done.stdout)["warnings"]
    assert any(text.startswith("threads: make it a factor") for text in warnings)
    assert not any("scan_latency" in text for text in warnings)
    appended = tmp_path / "appended.csv"
    appended.write_text("".join(Path(file).read_text() for file in files))
    refused = CliRunner().invoke(main, ["analyse", str(appended), *RATE])
    assert "if this file has several tables, give each as a file of its own" in refused.stderr


def test_responses_behind_the_settings_are_no_settings(rows: list[Row], tmp_path: Path) -> None:
    mixed = [
        {**row, "read_modify_write_latency_us_p999": str(at), "energy_j.measured": str(at), "energy_j.measured.k2": "1"}
        for at, row in enumerate(rows)
    ]
    assert analysed(tmp_path, mixed, *RATE).stderr == ""


def test_at_most_ten_warnings_are_shown(rows: list[Row], tmp_path: Path) -> None:
    mixed = [{**row, **{f"setting{n}": str(at % 2) for n in range(30)}} for at, row in enumerate(rows)]
    done = json.loads(analysed(tmp_path, mixed, *RATE, "--json").stdout)
    assert len(done["warnings"]) == 10
    assert done["warnings"][-1] == "22 more columns in which the rows differ"
