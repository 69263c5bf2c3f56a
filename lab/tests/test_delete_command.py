"""`edgejoule delete`: asks on a terminal, refuses without one, says what went and what stays."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import edgejoule
from small_store import finished, small_spec, with_experiment

from edgejoule.store import Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a store of the experiments 1 to 3, all of one name, and the report of the first."""
    for seed in (1, 2, 3):
        store, experiment = with_experiment(tmp_path / "store.db", small_spec(seed))
        store.record(experiment, *finished(0))
        store.close()
    (tmp_path / "small-1.html").write_text("report")
    return tmp_path


def left(folder: Path) -> list[int]:
    with Store.open(folder / "store.db") as store:
        return [experiment.id for experiment in store.experiments()]


def test_it_deletes_and_says_what_stays(folder: Path) -> None:
    done = edgejoule(folder, "delete", "1", "3", "--yes", "--store", "store.db")
    assert done.returncode == 0, done.stderr
    deleted, given_back, report = done.stdout.splitlines()
    assert deleted == "deleted: small (1) and small (3)"
    assert "given back to the file system; store.db has" in given_back
    assert report == "the report stays: small-1.html"
    assert (folder / "small-1.html").read_text() == "report"
    assert left(folder) == [2]


def test_its_json_has_the_bytes(folder: Path) -> None:
    before = sum(file.stat().st_size for file in folder.glob("store.db*"))
    done = edgejoule(folder, "delete", "1", "1", "--yes", "--json", "--store", "store.db")
    reported = json.loads(done.stdout)
    assert [one["id"] for one in reported["deleted"]] == [1]
    assert reported["reports"] == ["small-1.html"]
    assert reported["freed_bytes"] == before - (folder / "store.db").stat().st_size


def test_while_another_program_reads_the_file_shrinks_later(folder: Path) -> None:
    with contextlib.closing(sqlite3.connect(folder / "store.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM experiments").fetchone() == (3,)
        done = edgejoule(folder, "delete", "1", "--yes", "--store", "store.db")
        assert reader.execute("SELECT count(*) FROM experiments").fetchone() == (3,)
    assert done.returncode == 0, done.stderr
    assert "another program reads store.db; its file shrinks when that one has ended" in done.stdout
    assert left(folder) == [2, 3]


def test_without_a_terminal_it_wants_yes(folder: Path) -> None:
    done = edgejoule(folder, "delete", "1", "--store", "store.db")
    assert done.returncode == 2
    assert "--yes deletes without asking" in done.stderr
    assert left(folder) == [1, 2, 3]


@pytest.mark.parametrize("which", ["small", "9", "other"])
def test_one_that_is_not_clear_deletes_none(folder: Path, which: str) -> None:
    done = edgejoule(folder, "delete", "1", which, "--yes", "--store", "store.db")
    assert done.returncode == 2
    assert left(folder) == [1, 2, 3]


def test_it_waits_for_a_study_beside_the_store(folder: Path) -> None:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = edgejoule(folder, "delete", "1", "--yes", "--store", "store.db")
    assert done.returncode == 1
    assert "a study is measuring with this store" in done.stderr
    assert left(folder) == [1, 2, 3]
    assert edgejoule(folder, "delete", "1", "--yes", "--store", "store.db").returncode == 0


def loaded_database(folder: Path, name: str, size: int) -> Path:
    """A snapshot of that many bytes."""
    kept = folder / name
    (kept / "data").mkdir(parents=True)
    (kept / "data/table").write_bytes(b"x" * size)
    (kept / "files.json").write_text(json.dumps({"table": size}))
    return kept


def test_loaded_databases_are_listed_and_deleted(folder: Path) -> None:
    loaded_database(folder / "snapshots", "leveldb-0123456789ab", 1_000_000)
    loaded_database(folder / "snapshots", "sqlite-0123456789ab.part", 500_000)
    (folder / "snapshots/mine").mkdir()
    listed = edgejoule(folder, "list", "--store", "store.db")
    assert listed.stderr == ("2 loaded databases (1.50 MB) in snapshots; `edgejoule delete --snapshots` deletes them\n")
    assert edgejoule(folder, "delete", "--snapshots", "--store", "store.db").returncode == 2
    done = edgejoule(folder, "delete", "--snapshots", "--yes", "--store", "store.db")
    assert (done.returncode, done.stdout) == (0, "deleted: 2 loaded databases (1.50 MB) in snapshots\n")
    assert [each.name for each in (folder / "snapshots").iterdir()] == ["mine"]
    assert left(folder) == [1, 2, 3]
    done = edgejoule(folder, "delete", "--snapshots", "--yes", "--store", "store.db")
    assert (done.returncode, done.stdout) == (0, "no loaded database in snapshots\n")
    assert edgejoule(folder, "list", "--store", "store.db").stderr == ""


def test_loaded_databases_of_a_data_folder_are_deleted(folder: Path) -> None:
    kept = loaded_database(folder / "card/snapshots", "leveldb-0123456789ab", 1000)
    done = edgejoule(folder, "delete", "--snapshots", "--data", "card", "--yes", "--json", "--store", "store.db")
    reported = json.loads(done.stdout)
    assert [one["name"] for one in reported["deleted"]] == [kept.name]
    assert reported["freed_bytes"] == reported["deleted"][0]["bytes"] > 1000
    assert not kept.exists()


def test_while_a_study_measures_its_loaded_databases_stay(folder: Path) -> None:
    kept = loaded_database(folder / "snapshots", "leveldb-0123456789ab", 1000)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = edgejoule(folder, "delete", "--snapshots", "--yes", "--store", "store.db")
    assert done.returncode == 1
    assert "another study is measuring here" in done.stderr
    assert kept.exists()


@pytest.mark.parametrize("words", [(), ("1", "--snapshots"), ("1", "--data", ".")])
def test_delete_wants_experiments_or_loaded_databases(folder: Path, words: tuple[str, ...]) -> None:
    assert edgejoule(folder, "delete", *words, "--yes", "--store", "store.db").returncode == 2
    assert left(folder) == [1, 2, 3]


@pytest.mark.parametrize(("answer", "code", "kept"), [("y", 0, [2, 3]), ("n", 1, [1, 2, 3]), ("", 1, [1, 2, 3])])
def test_on_a_terminal_it_asks(folder: Path, answer: str, code: int, kept: list[int]) -> None:
    ours, theirs = pty.openpty()
    program = "from edgejoule.cli.main import main; main(prog_name='edgejoule')"
    command = [sys.executable, "-c", program, "delete", "1", "--store", "store.db"]
    os.write(ours, f"{answer}\n".encode())
    done = subprocess.run(
        command, stdin=theirs, capture_output=True, text=True, cwd=folder, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    for end in (ours, theirs):
        os.close(end)
    assert done.returncode == code, done.stderr
    assert "small (1): " in done.stderr
    assert "1 of 3 runs finished, " in done.stderr
    assert "for ever? [y/N]" in done.stderr
    assert left(folder) == kept
