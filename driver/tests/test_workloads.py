"""Loads and runs every bundled workload file on real databases, with small counts."""

from pathlib import Path

import pytest
from driving import REPOSITORY, Event, done_of, drive, events_from, returns_of

FILES = sorted(path.name for path in (REPOSITORY / "driver" / "workloads").iterdir() if path.suffix != ".md")
RECORDS = 500
OPERATIONS = 400
READS_OF_NEGATIVE_KEYS = {"mixgraph-all-dist"}  # as in db_bench, half of the keys drawn are negative
UPDATES_ONLY = {"write-intensive", "lunar-write-only", "mobibench-update"}


def loaded_and_run(workload: str, database: str, data: Path, *arguments: str) -> Event:
    where = ("-db", database, "-P", workload, "-p", f"{database}.path={data}", "--durability", "none", "--seed", "1")
    events_from("load", *where, "-p", f"recordcount={RECORDS}", *arguments)
    run = events_from("run", *where, "-p", f"recordcount={RECORDS}", "-p", f"operationcount={OPERATIONS}", *arguments)
    return run[-1]


@pytest.mark.parametrize("database", ["sqlite", "leveldb", "lunar"])
@pytest.mark.parametrize("workload", FILES)
def test_a_workload_finds_the_rows_of_its_load_and_does_its_operations(
    workload: str, database: str, tmp_path: Path
) -> None:
    end = loaded_and_run(workload, database, tmp_path / "data")
    assert end["operations"] == OPERATIONS
    assert end["failures"] == 0
    assert (end["not_found"] == 0) == (workload not in READS_OF_NEGATIVE_KEYS), returns_of(end)


@pytest.mark.parametrize("workload", [name for name in FILES if name.startswith(("lunar-", "mobibench-"))])
def test_lunar_and_sqlite_give_the_same_answers_to_the_workloads_of_the_lunar_paper(
    workload: str, tmp_path: Path
) -> None:
    def answers(database: str) -> tuple[object, ...]:
        end = loaded_and_run(workload, database, tmp_path / database)
        return returns_of(end), end["payload_read_bytes"], end["payload_write_bytes"]

    assert answers("lunar") == answers("sqlite")


@pytest.mark.parametrize("mode", ["none", "disorder", "metadata", "data", "full"])
def test_lunar_keeps_the_values_of_dataintegrity_in_every_mode(mode: str, tmp_path: Path) -> None:
    checked = ("-p", "dataintegrity=true", "-p", f"lunar.mode={mode}", "-threads", "2")
    end = loaded_and_run("workloadf", "lunar", tmp_path / "data", *checked)
    assert end["verify_failures"] == end["not_found"] == 0
    assert returns_of(end)["VERIFY"] == {"OK": done_of(end, "READ")}


def test_the_readme_names_every_file() -> None:
    """Files of one family share a row: `board-latest-read`, `-write`."""
    rows = (REPOSITORY / "driver" / "workloads" / "README.md").read_text().splitlines()
    for workload in FILES:
        family, _, variant = workload.rpartition("-")
        named = (f"`{workload}`" in row or (f"`{family}-" in row and f"`-{variant}`" in row) for row in rows)
        assert any(named), workload


@pytest.mark.parametrize("workload", sorted(UPDATES_ONLY))
def test_a_workload_of_updates_reads_nothing(workload: str, tmp_path: Path) -> None:
    end = loaded_and_run(workload, "sqlite", tmp_path / "data")
    assert returns_of(end) == {"UPDATE": {"OK": OPERATIONS}}


SIZES = {"64b": 64, "16kb": 16384, "uniform": 1024}


@pytest.mark.parametrize("size", SIZES)
def test_the_board_study_s_records_have_their_size(size: str, tmp_path: Path) -> None:
    end = loaded_and_run(f"board-{size}-read", "leveldb", tmp_path / "data")
    assert end["payload_read_bytes"] == OPERATIONS * SIZES[size]


@pytest.mark.parametrize("share", [("read-heavy", 0.9), ("balanced", 0.5), ("update-heavy", 0.1)])
def test_the_lunar_paper_s_mixes_have_their_shares_of_reads(share: tuple[str, float], tmp_path: Path) -> None:
    mix, expected = share
    end = loaded_and_run(f"lunar-{mix}", "sqlite", tmp_path / "data")
    # At most four standard deviations of a binomial count.
    assert abs(done_of(end, "READ") - OPERATIONS * expected) < 4 * (OPERATIONS * expected * (1 - expected)) ** 0.5


BENCHMARKS = (
    "fillseq fillseqsync fillseqbatch fillrandom fillrandsync fillrandbatch overwrite overwritebatch readrandom readseq"
    " fillrand100K fillseq100K readrand100K"
)


@pytest.mark.parametrize("benchmark", BENCHMARKS.split())
def test_each_benchmark_of_sqlite_bench_runs_on_sqlite(benchmark: str, tmp_path: Path) -> None:
    where = ("-db", "sqlite", "-P", "sqlite-bench", "-p", f"sqlite.path={tmp_path / 'data'}", "--seed", "1")
    what = ("-p", "recordcount=2000", "-p", f"sqlite-bench.benchmark={benchmark}")
    loaded = events_from("load", *where, *what)[-1]["operations"]
    assert loaded == (2 if "100K" in benchmark else 20 if "sync" in benchmark else 2000)
    end = events_from("run", *where, *what)[-1]
    assert end["operations"] == loaded
    assert end["failures"] == end["not_found"] == 0
    assert set(returns_of(end)) <= {"INSERT", "READ", "SCAN"}


def test_a_sequential_fill_of_more_rows_than_it_has_is_refused(tmp_path: Path) -> None:
    what = ("-p", "recordcount=1000", "-p", "operationcount=500", "-p", "sqlite-bench.benchmark=fillseqsync")
    done = drive("run", "-db", "sqlite", "-P", "sqlite-bench", "-p", f"sqlite.path={tmp_path / 'data'}", *what)
    assert done.returncode == 2
    assert "10 rows" in done.stderr


@pytest.mark.parametrize("journal_mode", ["delete", "truncate", "persist", "wal", "memory", "off"])
def test_mobibench_syncs_each_transaction_in_the_journal_modes_that_can(journal_mode: str, tmp_path: Path) -> None:
    where = ("-db", "sqlite", "-P", "mobibench-insert", "-p", f"sqlite.path={tmp_path / 'data'}")
    what = ("-p", f"sqlite.journal_mode={journal_mode}", "-p", "recordcount=50", "-p", "operationcount=50")
    events_from("load", *where, *what)
    events = events_from("run", *where, *what)
    assert events[0]["durability"]["class"] == "power"
    assert events[0]["database"]["options"]["journal_mode"] == journal_mode
    syncs = sum(component.get("syncs", 0) for component in events[-1]["components"].values())
    syncs += int(events[-1]["database_stats"]["main_file_syncs"])
    assert syncs >= 50
